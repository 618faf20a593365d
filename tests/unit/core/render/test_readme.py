"""The grid as a Markdown table between two comments."""

from __future__ import annotations

import pytest

from lockgrid.core.render.readme import BEGIN, END, reasons, render_table, update_readme
from unit.builders import golden
from unit.grids import GRID


def test_the_table_as_it_is_written() -> None:
    golden("readme.md", render_table(GRID))


def test_every_row_has_a_column_for_every_python() -> None:
    rows = [line for line in render_table(GRID).splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {6}
    assert rows[0] == "| environment | platform | 3.9 | 3.10 | 3.14 |"


def test_only_what_stands_between_the_comments_changes() -> None:
    text = f"# Title\n\n{BEGIN}\nold\n{END}\n\ntail {END}\n"
    updated = update_readme(text, GRID)
    assert updated == f"# Title\n\n{BEGIN}\n\n{render_table(GRID)}\n{END}\n\ntail {END}\n"
    assert update_readme(updated, GRID) == updated


@pytest.mark.parametrize("text", ["", "# Title\n", f"{BEGIN}\nno end\n", f"no begin\n{END}\n"])
def test_a_readme_without_both_comments_stays(text: str) -> None:
    assert update_readme(text, GRID) == text


def test_nothing_is_lost_where_the_comments_are_in_the_wrong_order() -> None:
    text = f"{END}\nhead\n{BEGIN}\ntail\n"
    assert "tail" in update_readme(text, GRID)


def test_cells_are_grouped_by_their_reason() -> None:
    grouped = reasons(GRID.cells)
    assert [len(cells) for cells in grouped.values()] == [2, 1, 1]
    assert all(cell.because == because for because, cells in grouped.items() for cell in cells)
