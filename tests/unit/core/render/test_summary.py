"""The grid for people: the table of show, the summary of lock."""

from __future__ import annotations

from dataclasses import replace

from lockgrid.core.render.summary import render_grid_table, render_summary
from unit.builders import golden
from unit.grids import GRID, REASONS


def test_the_table_of_show() -> None:
    golden("show.txt", render_grid_table(GRID, {"vgf": "a container", "tosa": "a set of operators"}, REASONS))


def test_no_line_of_the_table_ends_in_spaces() -> None:
    assert all(line == line.rstrip() for line in render_grid_table(GRID, {}, {}).splitlines())


def test_a_grid_without_failures_has_no_reasons() -> None:
    proven = replace(GRID, cells=GRID.cells[:3], apart=(), findings=())
    text = render_grid_table(proven, {}, {})
    assert text.endswith("\n3 of 3 cells proven, as of 2026-11-23T00:00:00Z; packages per cell\n")


def test_the_summary_of_a_lock() -> None:
    text = render_summary(GRID, ["locks/build.txt", "locks/grid.toml"], ["locks/old.txt"], ["added a 1.0"])
    golden("summary.txt", text)


def test_a_lock_that_changed_nothing_says_so() -> None:
    text = render_summary(replace(GRID, cells=GRID.cells[:3], apart=(), findings=()), [], [], [])
    assert text == "tosa: 3 of 3 cells proven\nnothing changed\n"


def test_a_removed_file_alone_is_a_change() -> None:
    assert "nothing changed" not in render_summary(GRID, [], ["locks/old.txt"], [])
