"""Proof 2: every requirement of every installed file is met by a pin of the cell."""

from __future__ import annotations

import pytest

from lockgrid.core.prove import Closure, applicable, prove_closure, unneeded
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.index import DistMetadata
from lockgrid.model.spec import Environment
from unit.builders import any_wheel, environment, facts, metadata, page, pin, simple_facts, target


def prove(one: Environment, *installed: DistMetadata, released: tuple[DistMetadata, ...] = ()) -> Closure:
    known = simple_facts(*installed, *released)
    return prove_closure(one, target(), [pin(m.name, m.version) for m in installed], known)


def said(closure: Closure) -> list[str]:
    assert all(blocker.proof is Proof.CLOSURE for blocker in closure.blockers)
    return [blocker.text for blocker in closure.blockers]


def test_a_closed_cell_has_no_blocker_and_knows_who_asks_for_each_pin() -> None:
    closure = prove(
        environment("a[x]>=1", "b"),
        metadata("a", "1.0", "b", "c<2; extra == 'x'", "d; extra == 'y'", extras=["x", "y"]),
        metadata("b", "1.0"),
        metadata("c", "1.5", "b>=1"),
    )
    assert said(closure) == []
    assert {name: list(by) for name, by in closure.via.items()} == {
        "a": ["envs/app.toml"],
        "b": ["envs/app.toml", "a==1.0", "a[x]==1.0", "c==1.5"],
        "c": ["a[x]==1.0"],
    }
    assert unneeded(closure) == []


def test_a_requirement_that_no_pin_meets() -> None:
    closure = prove(
        environment("a"), metadata("a", "1.0", "b>=2"), released=(metadata("b", "1.0"), metadata("b", "2.0"))
    )
    assert closure.blockers == [
        Blocker(
            proof=Proof.CLOSURE,
            package="b>=2",
            required_by=("a==1.0",),
            exists="is met by no pin",
            missing="a pin",
            serves=("2.0",),
        )
    ]


def test_a_requirement_on_a_project_of_which_nothing_is_known() -> None:
    assert said(prove(environment("a"), metadata("a", "1.0", "b"))) == ["b (required by a==1.0) is met by no pin"]


def test_a_declared_requirement_that_no_pin_meets() -> None:
    assert said(prove(environment("a", "b==1"), metadata("a", "1.0"))) == [
        "b==1 (required by envs/app.toml) is met by no pin"
    ]


def test_a_pin_of_the_wrong_version() -> None:
    closure = prove(environment("a", "b"), metadata("a", "1.0", "b>=2"), metadata("b", "1.0"))
    assert said(closure) == ["b>=2 (required by a==1.0) is not met by the pin b==1.0"]


def test_a_pre_release_that_was_chosen_meets_a_range() -> None:
    assert said(prove(environment("a>=1"), metadata("a", "2.0rc1"))) == []


def test_an_override_replaces_what_packages_and_the_environment_ask() -> None:
    installed = (metadata("a", "1.0", "b==9"), metadata("b", "1.0"))
    assert said(prove(environment("a", overrides={"b": "==1.0"}), *installed)) == []
    assert said(prove(environment("a", "b==9", overrides={"B": "<2"}), *installed)) == []
    assert said(prove(environment("a", overrides={"b": "==2.0"}), *installed)) == [
        "b==2.0 (required by a==1.0) is not met by the pin b==1.0"
    ]


def test_an_extra_that_the_installed_file_does_not_provide() -> None:
    closure = prove(environment("a[X_1,z]"), metadata("a", "1.0", extras=["y", "x.1"]))
    assert said(closure) == ["a[z]==1.0 (required by envs/app.toml) has no such extra; it provides x.1, y"]
    assert said(prove(environment("a[z]"), metadata("a", "1.0"))) == [
        "a[z]==1.0 (required by envs/app.toml) has no such extra; it provides none"
    ]


def test_an_extra_asked_for_by_a_package_must_exist_too() -> None:
    closure = prove(environment("a"), metadata("a", "1.0", "b[q]"), metadata("b", "1.0", extras=["p"]))
    assert said(closure) == ["b[q]==1.0 (required by a==1.0) has no such extra; it provides p"]


@pytest.mark.parametrize("specifier", [">=3.13", "<3.12", ">=3.12.1", "nonsense"])
def test_requires_python_in_the_file_itself_counts(specifier: str) -> None:
    closure = prove(environment("a"), metadata("a", "1.0", requires_python=specifier))
    assert closure.blockers == [
        Blocker(
            proof=Proof.CLOSURE,
            package="a==1.0",
            exists=f"requires Python {specifier}",
            missing="a release for every Python 3.12",
        )
    ]


def test_requires_python_that_admits_the_target_is_fine() -> None:
    assert said(prove(environment("a"), metadata("a", "1.0", requires_python=">=3.10,<3.13"))) == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("b >>> 1", "a==1.0 has the invalid requirement 'b >>> 1'"),
        ("b @ https://index.example/b-1.0.zip", "a==1.0 requires b from a URL, which no lockfile holds"),
        (
            "b; platform_release >= '5'",
            "a==1.0 requires \"b; platform_release >= '5'\", whose marker no target fixes",
        ),
        (
            "b; platform_version == '1' and sys_platform == 'win32'",
            "a==1.0 requires \"b; platform_version == '1' and sys_platform == 'win32'\", whose marker no target fixes",
        ),
    ],
)
def test_lines_that_no_cell_can_be_proven_with(line: str, text: str) -> None:
    installed = (metadata("a", "1.0", line), metadata("b", "1.0"))
    assert text in said(prove(environment("a", "b"), *installed))


def test_a_url_that_does_not_apply_is_no_fault() -> None:
    line = "b @ https://index.example/b-1.0.zip ; sys_platform == 'win32'"
    assert said(prove(environment("a"), metadata("a", "1.0", line))) == []


def test_markers_decide_what_must_be_met() -> None:
    lines = ["b; sys_platform == 'win32'", "c; python_version < '3.12'", "d; extra == 'x'"]
    assert said(prove(environment("a", "e; os_name == 'nt'"), metadata("a", "1.0", *lines, extras=["x"]))) == []


def test_what_either_end_of_a_python_needs_must_be_met() -> None:
    line = "b; python_full_version < '3.12.4'"
    assert said(prove(environment("a"), metadata("a", "1.0", line))) == ["b (required by a==1.0) is met by no pin"]


def test_every_failure_of_a_cell_is_found() -> None:
    closure = prove(
        environment("a[z]", "b"),
        metadata("a", "1.0", "c", "b>=2", requires_python="<3"),
        metadata("b", "1.0"),
    )
    assert sorted(blocker.package for blocker in closure.blockers) == ["a==1.0", "a[z]==1.0", "b>=2", "b>=2", "c", "c"]


def test_a_pin_that_nothing_asks_for_is_told() -> None:
    closure = prove(environment("a"), metadata("a", "1.0"), metadata("b", "1.0", "c"))
    assert said(closure) == []
    assert unneeded(closure) == ["b"]


def test_extras_of_one_package_asked_for_in_two_places_each_count() -> None:
    closure = prove(
        environment("a[x]", "b"),
        metadata("a", "1.0", "c; extra == 'x'", "d; extra == 'y'", extras=["x", "y"]),
        metadata("b", "1.0", "a[y]"),
        metadata("c", "1.0"),
    )
    assert said(closure) == ["d (required by a[y]==1.0) is met by no pin"]


def test_one_wheels_metadata_never_stands_for_anothers() -> None:
    file = any_wheel("a", "1.0")
    known = facts(page("a", file))
    other = any_wheel("a", "1.0.1")
    known.metadata[other.sha256] = metadata("a", "1.0")
    with pytest.raises(KeyError):
        prove_closure(environment("a"), target(), [pin("a", "1.0", file)], known)


def test_only_valid_lines_that_apply_are_followed() -> None:
    one = metadata("a", "1.0", "b>=1", "??", "c; extra == 'x'", "d; sys_platform == 'win32'", extras=["x"])
    assert [d.name for d in applicable(one, target(), frozenset())] == ["b"]
    assert [d.name for d in applicable(one, target(), frozenset({"x"}))] == ["b", "c"]


def test_what_is_asked_for_and_has_no_pin_is_known_by_name() -> None:
    closure = prove(environment("a"), metadata("a", "1.0", "b>=2", "c; sys_platform == 'win32'"))
    assert closure.unmet == {"b"}


def test_the_extras_that_are_asked_of_overridden_packages_are_known() -> None:
    installed = metadata("a", "1.0", "b[X]", "c[y]"), metadata("b", "1.0", extras=["x"])
    closure = prove(environment("a", "b[w]", overrides={"b": "<2"}), *installed, metadata("c", "1.0", extras=["y"]))
    assert closure.extras == {"b": {"w", "x"}}


def test_a_pin_that_nothing_asks_for_decides_nothing() -> None:
    closure = prove(environment("a"), metadata("a", "1.0"), metadata("b", "1.0", "c", requires_python="<3"))
    assert (said(closure), closure.hopeless, unneeded(closure)) == ([], [], ["b"])
