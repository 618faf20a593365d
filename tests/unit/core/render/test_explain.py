"""The answer of explain."""

from __future__ import annotations

from dataclasses import replace

from lockgrid.core.render.explain import render_explanation
from unit.builders import golden
from unit.grids import GRID


def test_the_explanation_of_every_cell() -> None:
    golden("explain.txt", render_explanation(GRID, GRID.cells))


def test_the_same_reasons_are_said_once_after_all_their_cells() -> None:
    lines = render_explanation(GRID, GRID.cells[3:5]).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == lines[:2]
    assert sum("tosa-tools" in line for line in lines) == 1


def test_a_proven_cell_is_one_line() -> None:
    text = render_explanation(GRID, GRID.cells[1:2])
    assert text == "tosa on linux-x86_64, Python 3.10: proven, 91 packages, 2,980 MB to download\n"


def test_a_reason_without_parts_is_said_as_it_is() -> None:
    cell = replace(GRID.cells[5], blockers=())
    assert cell.because in render_explanation(GRID, [cell])
