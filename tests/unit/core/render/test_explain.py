"""The answer of explain."""

from __future__ import annotations

from dataclasses import replace

from lockgrid.core.render.explain import findings_of, render_explanation
from unit.builders import golden
from unit.grids import GRID, REASONS


def test_the_explanation_of_every_cell() -> None:
    golden("explain.txt", render_explanation(GRID, GRID.cells, REASONS, fully=False))


def test_a_single_cell_is_explained_with_the_evidence_of_its_findings() -> None:
    golden("explain-cell.txt", render_explanation(GRID, GRID.cells[1:2], REASONS, fully=True))


def test_findings_are_those_of_the_cells_asked_for_and_those_of_no_cell() -> None:
    assert [found.finding.name for found in findings_of(GRID, GRID.cells[1:2])] == ["glibc:b", "file-clash:flatc"]
    assert [found.finding.name for found in findings_of(GRID, GRID.cells[2:3])] == ["file-clash:flatc"]
    assert [found.finding.name for found in findings_of(GRID, GRID.cells[5:6])] == ["accept:any:gone"]


def test_an_accepted_finding_without_envs_says_where_its_reason_is() -> None:
    assert "accepted     the reason is in envs/" in render_explanation(GRID, GRID.cells[1:2], {}, fully=True)


def test_the_same_reasons_are_said_once_after_all_their_cells() -> None:
    lines = render_explanation(GRID, GRID.cells[3:5], {}, fully=False).splitlines()
    head = [line for line in lines if not line.startswith(" ")]
    assert head == [*lines[:2], "inside the wheels: 1 finding"]
    assert sum("tosa-tools" in line for line in lines) == 1


def test_a_proven_cell_is_one_line() -> None:
    text = render_explanation(replace(GRID, findings=()), GRID.cells[1:2], {}, fully=True)
    assert text == "tosa on linux-x86_64, Python 3.10: proven, 91 packages, 2,980 MB to download\n"


def test_a_reason_without_parts_is_said_as_it_is() -> None:
    cell = replace(GRID.cells[5], blockers=())
    assert cell.because in render_explanation(GRID, [cell], {}, fully=False)
