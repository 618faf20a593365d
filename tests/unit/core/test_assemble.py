"""From proven cells and blockers to the grid, and the comparison with the grid before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.assemble import build_grid, lockfile_texts, lost_cells, records, same_result
from lockgrid.core.digest import digest_environment, digest_inputs, digest_text
from lockgrid.core.lockfile import parse_lockfile
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.finding import RULES, Finding, Severity
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid, Proof
from unit.builders import AFTER, CUTOFF, LINUX, MAC, WINDOWS, cell, environment, index_file, pin, spec_of, target

TAGS = Blocker(proof=Proof.TAGS, package="b==1", required_by=("a==1",), exists="has no wheel", missing="a wheel")
CLOSURE = Blocker(proof=Proof.CLOSURE, package="a==1", exists="requires Python <3", missing="a release")


def record(python: str = "3.12", *, proven: bool = True, name: str = "app", because: str = "no") -> CellRecord:
    return CellRecord(
        environment=name, platform="linux-x86_64", python=python, proven=proven, because="" if proven else because
    )


def found_on(name: str, *, environment: str = "app", severity: Severity = "warning") -> FoundRecord:
    finding = Finding(name=name, severity=severity, wheels=(), what="it")
    return FoundRecord(environment=environment, finding=finding, packages=(), cells=(("linux-x86_64", "3.12"),))


def grid(*cells: CellRecord, environments: tuple[tuple[str, str], ...] = (("app", "sha256:1"),)) -> Grid:
    return Grid(exclude_newer=CUTOFF, inputs="sha256:0", environments=environments, lockfiles=(), cells=cells)


def test_there_is_a_lockfile_for_every_platform_with_a_proven_cell() -> None:
    one = environment("a", targets=[target(LINUX), target(LINUX, "3.11"), target(MAC), target(WINDOWS)])
    cells = {("app", where): cell("app", where, pin("a", "1.0")) for where in (target(LINUX), target(WINDOWS))}
    texts = lockfile_texts([one], cells)
    assert sorted(texts) == ["app/linux-x86_64.txt", "app/windows-x86_64.txt"]
    parsed = parse_lockfile("x", texts["app/linux-x86_64.txt"])
    assert (parsed.environment, parsed.pythons) == ("app", ("3.12",))


def test_a_proven_cell_counts_its_packages_and_bytes() -> None:
    big = index_file("b-1.0-py3-none-any.whl", size=500)
    unknown = index_file("c-1.0-py3-none-any.whl", size=None)
    where = target()
    cells = {("app", where): cell("app", where, pin("a", "1.0"), pin("b", "1.0", big), pin("c", "1.0", unknown))}
    assert records([environment("a")], cells, {}) == [
        CellRecord(environment="app", platform="linux-x86_64", python="3.12", proven=True, packages=3, bytes=1500)
    ]


def test_an_unsupported_cell_names_the_first_proof_that_failed_and_every_reason_once() -> None:
    blockers = {("app", target()): (CLOSURE, TAGS, CLOSURE)}
    (found,) = records([environment("a")], {}, blockers)
    assert (found.proven, found.failed, found.blockers) == (False, "tags", (TAGS, CLOSURE))
    assert found.because == "b==1 (required by a==1) has no wheel; a==1 requires Python <3"


def test_a_cell_that_is_neither_proven_nor_blocked_is_a_bug() -> None:
    with pytest.raises(KeyError):
        records([environment("a")], {}, {})


def test_a_proven_cell_wins_over_an_old_blocker() -> None:
    cells = {("app", target()): cell("app", target(), pin("a", "1.0"))}
    assert records([environment("a")], cells, {("app", target()): (TAGS,)})[0].proven


@pytest.mark.parametrize("proof", list(Proof))
def test_every_proof_has_its_place_in_the_order(proof: Proof) -> None:
    blocker = replace(TAGS, proof=proof)
    (found,) = records([environment("a")], {}, {("app", target()): (blocker,)})
    assert found.failed == proof.value


def test_the_grid_holds_digests_of_inputs_and_lockfiles_and_sorts_its_cells() -> None:
    spec = spec_of(environment("a", targets=[target(python="3.10"), target(python="3.9")]))
    texts = {"b.txt": "two", "a.txt": "one"}
    cells = [record("3.10"), record("3.9"), record("3.9", name="aaa")]
    said = ["app and b are locked apart"]
    findings = [found_on("b"), found_on("a"), found_on("b", severity="error"), found_on("z", environment="aaa")]
    found = build_grid(spec, cells, findings, texts, cutoff=Cutoff(moment=CUTOFF), uv="0.11.0", apart=said)
    assert found == Grid(
        exclude_newer=CUTOFF,
        inputs=digest_inputs(spec),
        environments=(("app", digest_environment(spec.environments[0])),),
        lockfiles=(("a.txt", digest_text("one")), ("b.txt", digest_text("two"))),
        cells=(cells[2], cells[1], cells[0]),
        uv="0.11.0",
        apart=("app and b are locked apart",),
        rules=RULES,
        findings=(findings[3], findings[2], findings[1], findings[0]),
    )


def test_a_later_cut_off_and_other_words_for_a_reason_are_the_same_result() -> None:
    old = grid(record(), record("3.11", proven=False))
    new = replace(old, exclude_newer=AFTER, uv="9", cells=(record(), record("3.11", proven=False, because="other")))
    assert same_result(new, old)


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "sha256:9"},
        {"environments": (("app", "sha256:9"),)},
        {"lockfiles": (("a.txt", "sha256:9"),)},
        {"cells": ()},
        {"cells": (record(proven=False),)},
        {"cells": (record("3.11"),)},
        {"rules": 99},
        {"findings": (found_on("a"),)},
    ],
)
def test_what_changes_a_lock_is_another_result(change: dict[str, object]) -> None:
    old = grid(record())
    assert not same_result(replace(old, **change), old)  # type: ignore[arg-type]


def test_a_proven_cell_that_fails_though_its_input_is_the_same_is_lost() -> None:
    old = grid(record("3.9"), record("3.10"), record("3.11", proven=False))
    new = grid(record("3.9"), record("3.10", proven=False), record("3.11", proven=False), record("3.12", proven=False))
    assert lost_cells(new, old) == [record("3.10", proven=False)]


def test_a_cell_of_changed_input_is_not_lost() -> None:
    old = grid(record())
    for environments in ((("app", "sha256:2"),), (("other", "sha256:1"),)):
        assert lost_cells(grid(record(proven=False), environments=environments), old) == []
