"""Which findings make a cell unsupported, and how the grid keeps the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lockgrid.core.accept import failures, record, stale
from lockgrid.model.finding import Finding
from lockgrid.model.grid import Blocker, FoundRecord, Proof
from lockgrid.model.spec import Acceptance, Environment
from unit.builders import LINUX, MAC, cell, named, parse, pin, target

A = "a-1-py3-none-manylinux2014_x86_64.whl"
B = "b-2-py3-none-any.whl"


def app(accept: str = "", *, base: str = "") -> Environment:
    text = f'extends = ["base"]\nrequires = ["a==1"]\n[accept]\n{accept}'
    return named(parse(app=text, base=f'abstract = true\nrequires = ["a==1"]\n[accept]\n{base}'), "app")


def found(name: str, *, wheels: Sequence[str] = (A,), what: str = "it is so") -> Finding:
    return Finding(name=name, severity="warning", wheels=tuple(wheels), what=what, files=("x/y.so",), count=1)


GLIBC = Finding(
    name="glibc:a",
    severity="error",
    wheels=(A,),
    what="it needs glibc 2.38, and linux-x86_64 (glibc 2.28) promises glibc 2.28",
    files=("x/run", "x/y.so"),
    count=2,
    needs="GLIBC_2.38 of libc.so.6 for f",
    has="glibc 2.28",
)
CELL = ("app", target())
CELLS = {CELL: cell("app", target(), pin("a", "1"), via={"a": ["c==1", "d==1"]})}


def test_an_error_makes_its_cell_unsupported_and_the_reason_names_the_file_and_what_it_needs() -> None:
    ((where, (blocker,)),) = failures([app()], CELLS, {CELL: [GLIBC, found("any:a")]}).items()
    assert (where, blocker.proof, blocker.finding) == (CELL, Proof.BINARIES, "glibc:a")
    assert blocker.text == (
        "a==1 (required by c==1, d==1): glibc:a: "
        "it needs glibc 2.38, and linux-x86_64 (glibc 2.28) promises glibc 2.28 "
        f"(x/run in {A} needs GLIBC_2.38 of libc.so.6 for f)"
    )


def test_a_clash_of_two_wheels_names_both() -> None:
    clash = Finding(
        name="code-clash:x/", severity="error", wheels=(A, B), what="each installs x", files=("x",), has="h"
    )
    ((_, (blocker,)),) = failures([app()], CELLS, {CELL: [clash]}).items()
    assert (blocker.proof, blocker.package) == (Proof.FILES, "a==1 and b==2")
    assert blocker.text == "a==1 and b==2 (required by c==1, d==1): code-clash:x/: each installs x (h)"


@pytest.mark.parametrize(
    ("accept", "fails"),
    [("", True), ('"glibc:a" = "why"', False), ('"glibc:b" = "why"', True), ('"any:a" = "w"', True)],
)
def test_an_error_that_is_accepted_by_its_name_is_none(accept: str, fails: bool) -> None:
    assert (CELL in failures([app(accept)], CELLS, {CELL: [GLIBC]})) is fails


def test_warnings_make_no_cell_unsupported() -> None:
    assert failures([app()], CELLS, {CELL: [found("any:a")]}) == {}


def test_the_grid_keeps_a_finding_once_with_all_its_cells_and_packages() -> None:
    findings = {
        ("app", target(LINUX, "3.12")): [found("any:a", wheels=(B,))],
        ("app", target(LINUX, "3.11")): [found("any:a", wheels=(A,)), found("any:a", what="it is otherwise")],
        ("app", target(MAC, "3.12")): [found("any:a", wheels=(A,))],
        ("other", target(MAC, "3.12")): [found("any:b")],
    }
    one, two = record(app(), findings)
    kept = {r.finding.what: (r.packages, r.cells) for r in (one, two)}
    assert kept == {
        "it is so": (("a==1", "b==2"), (("linux-x86_64", "3.11"), ("linux-x86_64", "3.12"), ("macos-arm64", "3.12"))),
        "it is otherwise": (("a==1",), (("linux-x86_64", "3.11"),)),
    }
    assert not one.accepted


def test_of_errors_the_grid_keeps_those_that_are_accepted() -> None:
    assert record(app(), {CELL: [GLIBC]}) == []
    (kept,) = record(app('"glibc:a" = "why"'), {CELL: [GLIBC]})
    assert (kept.accepted, kept.finding) == (True, replace(GLIBC, wheels=()))
    assert (kept.packages, kept.cells) == (("a==1",), (("linux-x86_64", "3.12"),))


def accepted_in(environment: str, name: str) -> FoundRecord:
    cells = (("linux-x86_64", "3.12"),)
    return FoundRecord(environment=environment, finding=found(name), packages=(), cells=cells, accepted=True)


def test_an_acceptance_of_nothing_is_itself_a_finding() -> None:
    environment = app('"glibc:a" = "why"')
    (one,) = stale([environment], [], {})
    assert (one.environment, one.finding.name, one.finding.severity, one.cells) == (
        "app", "accept:glibc:a", "warning", ()
    )  # fmt: skip
    assert one.finding.what == "envs/app.toml accepts glibc:a, and no cell has that: remove it"
    assert list(stale([environment], [accepted_in("app", "glibc:a")], {})) == []
    assert len(list(stale([environment], [accepted_in("app", "glibc:b")], {}))) == 1


@pytest.mark.parametrize("name", ["glibc:app", "glibc:App ", "glib:app"])
def test_a_misspelt_acceptance_is_told_the_nearest_finding(name: str) -> None:
    records = [replace(accepted_in("app", "glibc:appl"), accepted=False)]
    environment = replace(app(), accepts=(Acceptance(name=name, why="x", file="envs/app.toml"),))
    (one,) = stale([environment], records, {})
    assert one.finding.what.endswith("and no cell has that: did you mean 'glibc:appl'?")
    blocker = Blocker(proof=Proof.BINARIES, package="appl==1", finding="glibc:appl")
    assert list(stale([environment], [], {CELL: (blocker,)})) == [one]


def test_whether_an_advisory_is_still_there_is_not_for_a_lock_to_say() -> None:
    assert list(stale([app('"advisory:GHSA-1" = "why"')], [], {})) == []


def test_an_acceptance_in_a_base_has_to_serve_one_of_those_that_extend_it() -> None:
    base = 'abstract = true\nrequires = ["a==1"]\n[accept]\n"any:a" = "why"'
    spec = parse(base=base, app='extends = ["base"]', other='extends = ["base"]')
    assert list(stale(spec.environments, [accepted_in("other", "any:a")], {})) == []
    assert [one.environment for one in stale(spec.environments, [accepted_in("x", "any:a")], {})] == ["app", "other"]
