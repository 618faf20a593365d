"""Faults of envs/ that only the index can reveal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.candidates import Facts
from lockgrid.core.inputs import exception_problems, extra_problems, forced_extra_problems, index_problems
from lockgrid.errors import Problem
from lockgrid.model.spec import Environment
from unit.builders import (
    MAC,
    WINDOWS,
    any_wheel,
    declared,
    environment,
    facts,
    metadata,
    missing_page,
    page,
    pin,
    simple_facts,
    target,
)

FILE = "envs/app.toml"


def released(*versions: str, quarantined: bool = False) -> Facts:
    return facts(page("a", *(any_wheel("a", version) for version in versions), quarantined=quarantined))


def test_a_package_that_the_index_does_not_have() -> None:
    assert index_problems([environment("b", "A>=1")], facts(missing_page("a"), page("b", any_wheel("b", "1.0")))) == [
        Problem(
            file=FILE,
            key="requires[1]",
            what="the index has no package a",
            hint="check the spelling, and uv's index settings",
        )
    ]


@pytest.mark.parametrize(
    ("versions", "hint"),
    [
        (["1.0", "1.1", "2.0rc1"], "the newest is 1.1"),
        (["2.0rc1"], "the newest is 2.0rc1"),
        ([], "it has no release at all"),
    ],
)
def test_a_specifier_that_no_release_meets(versions: list[str], hint: str) -> None:
    assert index_problems([environment("a>=2")], released(*versions)) == [
        Problem(file=FILE, key="requires[0]", what="no release of a matches a>=2", hint=hint)
    ]


@pytest.mark.parametrize(("asked", "told"), [("a==2", False), ("a==1.0+cpu", True), ("a===1.0+cpu", True)])
def test_a_local_version_that_is_not_there_sends_to_sources(asked: str, told: bool) -> None:
    (problem,) = index_problems([environment(asked)], released("1.0"))
    assert problem.hint.startswith("the newest is 1.0")
    assert ("which [sources] names" in problem.hint) == told


def test_an_override_is_what_must_be_met() -> None:
    known = released("1.0")
    assert index_problems([environment("a>=2", overrides={"a": "==1.0"})], known) == []
    (problem,) = index_problems([environment("a", overrides={"a": "==3"})], known)
    assert problem.what == "no release of a matches a==3"


def test_what_can_be_met_or_is_not_known_yet_is_no_problem() -> None:
    assert index_problems([environment("a>=1", "unknown")], released("1.0")) == []


def test_a_quarantined_project_is_not_the_users_fault() -> None:
    assert index_problems([environment("a>=2")], released("1.0", quarantined=True)) == []
    assert index_problems([environment("a>=2")], released(quarantined=True)) == []


def test_the_file_that_declares_is_the_one_named() -> None:
    one = replace(environment(), requires=(declared("a", "envs/base.toml", "requires[3]"),))
    (problem,) = index_problems([one], facts(missing_page("a")))
    assert (problem.file, problem.key) == ("envs/base.toml", "requires[3]")


def forced(*requires: str) -> list[str]:
    known = simple_facts(
        metadata("a", "1.0", extras=["old"]), metadata("a", "2.0", extras=["Ethos_U", "vgf"]), metadata("b", "1.0")
    )
    return [str(problem) for problem in forced_extra_problems([environment(*requires)], known)]


def test_an_extra_that_no_fitting_release_provides_is_named_with_the_nearest() -> None:
    assert forced("a[etos-u]==2.0") == [
        f"{FILE}: requires[0]: a 2.0 provides no extra 'etos-u' (did you mean 'ethos-u'?)"
    ]
    assert forced("b[x]") == [f"{FILE}: requires[0]: b 1.0 provides no extra 'x' (it provides none)"]
    assert forced("a[old]>=2") == [f"{FILE}: requires[0]: a 2.0 provides no extra 'old' (known: ethos-u, vgf)"]


def test_an_extra_that_any_fitting_release_provides_passes() -> None:
    assert forced("a[old,ethos.u]", "a[vgf]>=2", "unknown[x]", "a[x]>=3") == []


def test_every_missing_extra_is_a_problem() -> None:
    assert len(forced("a[x,y]", "b[z]")) == 3


def proven(one: Environment, *provides: str) -> list[Problem]:
    known = simple_facts(metadata("a", "1.0", extras=provides))
    return extra_problems([one], [(one.name, [pin("a", "1.0")])], known)


def test_the_pin_itself_must_provide_the_extra() -> None:
    assert proven(environment("A[X]"), "x") == []
    (problem,) = proven(environment("A[X]"), "y")
    assert problem.what == "A 1.0 provides no extra 'X'"


def test_a_package_without_a_pin_in_this_environment_is_not_judged() -> None:
    known = simple_facts(metadata("a", "1.0"))
    assert extra_problems([environment("a[x]")], [("other", [pin("a", "1.0")])], known) == []


def test_an_extra_that_one_of_the_pins_provides_passes() -> None:
    known = simple_facts(metadata("a", "1.0", extras=["x"]), metadata("a", "2.0"))
    cells = [("app", [pin("a", "1.0")]), ("app", [pin("a", "2.0")])]
    assert extra_problems([environment("a[x]")], cells, known) == []
    assert len(extra_problems([environment("a[x]")], cells[1:], known)) == 1


def test_a_package_is_looked_for_on_the_index_that_is_named_where_it_is_asked_for() -> None:
    known = facts(page("a", any_wheel("a", "1.0")), missing_page("a@cpu"), page("a@mac", any_wheel("a", "1.0+cpu")))
    where = [target(), target(MAC), target(WINDOWS)]
    sources = {"a@linux-x86_64": "cpu", "a@macos-arm64": "mac"}

    def said(requirement: str) -> list[str]:
        one = environment(requirement, targets=where, sources=sources)
        return [problem.what for problem in index_problems([one], known)]

    assert said("a==1.0") == ["the index cpu has no package a"]
    assert said("a==1.0 ; sys_platform != 'linux'") == []
    assert said("a==2 ; sys_platform == 'darwin'") == ["no release of a matches a==2 (index mac)"]


def test_an_exception_must_be_served_by_one_of_its_indexes() -> None:
    where = [target(), target(MAC)]
    one = environment("a", targets=where, sources={"a@linux-x86_64": "cpu"}, overrides={"a": "==1.0"})
    cpu = page("a@cpu", any_wheel("a", "1.0+cpu"))
    assert exception_problems([one], facts(missing_page("a"), cpu)) == []
    (problem,) = exception_problems([one], facts(missing_page("a"), missing_page("a@cpu")))
    assert problem.what == "the index has no package a; the index cpu has no package a"
