"""What is said when requirements cannot be met."""

from __future__ import annotations

from lockgrid.core.failure import NEXT, indent, nothing_left, unsolvable
from lockgrid.model.grid import Blocker, Proof
from unit.builders import MAC, environment, target


def test_uvs_explanation_becomes_one_sentence() -> None:
    blocker = unsolvable("Because a depends on b\n  and b is not there,\nno.", [])
    assert (blocker.proof, blocker.missing) == (Proof.RESOLUTION, "a set of versions")
    assert blocker.text == "uv: Because a depends on b and b is not there, no."


def test_a_sdist_that_would_do_is_named_with_the_way_to_allow_it() -> None:
    assert unsolvable("x", ["a", "b"]).missing == "wheels of a, b, or its name in [sdists] with a reason"


def test_long_text_is_wrapped_indented_and_cut() -> None:
    assert indent("a\nb") == "    a\n    b"
    assert all(len(line) <= 114 for line in indent("word " * 100).splitlines())
    lines = indent("\n".join(str(number) for number in range(40))).splitlines()
    assert (len(lines), lines[-1]) == (28, "    ... (13 more lines)")
    assert len(indent("\n".join("x" * 28)).splitlines()) == 28


def test_of_many_long_reasons_each_begins() -> None:
    reasons = [f"reason {number} " + "word " * 200 for number in range(5)]
    lines = indent("\n".join(reasons)).splitlines()
    assert len(lines) <= 28
    assert [line for line in lines if "reason" in line] == [line for line in lines if line.startswith("    reason")]
    assert sum("reason" in line for line in lines) == 5
    assert sum(line.endswith(" ...") for line in lines) == 5


def test_findings_are_told_by_name_with_the_ways_out() -> None:
    blocker = Blocker(proof=Proof.BINARIES, package="a==1", exists="it needs glibc 9", finding="glibc:a")
    error = nothing_left(environment("a", targets=[target()]), {("app", target()): [blocker]})
    assert "a==1: glibc:a: it needs glibc 9" in error.what
    assert error.next_step.startswith("accept a finding by its name under [accept]")


def test_an_environment_without_a_cell_is_an_error_with_each_reason_once() -> None:
    one = Blocker(proof=Proof.TAGS, package="a==1", exists="has no wheel")
    two = Blocker(proof=Proof.TAGS, package="b==1", exists="has no wheel")
    app = environment("a", targets=[target(), target(MAC)])
    error = nothing_left(app, {("app", target()): [one, two], ("app", target(MAC)): [one], ("other", target()): [one]})
    assert error.exit_code == 3
    assert error.what == (
        "envs/app.toml: no cell of app can be installed:\n    a==1 has no wheel\n"
        "    b==1 has no wheel [linux-x86_64; Python 3.12]"
    )
    assert "have files for these targets" in error.next_step


def test_only_requirements_that_contradict_each_other_are_to_be_changed() -> None:
    clash = Blocker(proof=Proof.RESOLUTION, package="a>=2,<1", exists="matches no release")
    assert nothing_left(environment("a"), {("app", target()): [clash]}).next_step == NEXT


def test_where_a_sdist_would_do_the_next_step_says_so() -> None:
    error = nothing_left(environment("a"), {("app", target()): [unsolvable("x", ["a"])]})
    assert error.next_step == "what is missing: wheels of a, or its name in [sdists] with a reason"
