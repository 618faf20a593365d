"""The grid as a Markdown table, kept between two comments in README.md."""

from __future__ import annotations

from collections.abc import Sequence

from lockgrid.model.grid import CellRecord, Grid
from lockgrid.model.target import python_key

PATH = "README.md"
BEGIN = "<!-- lockgrid: the grid, written by `lockgrid lock` -->"
END = "<!-- lockgrid: end -->"


def update_readme(text: str, grid: Grid) -> str:
    """The README with the table of ``grid`` between the comments; unchanged when it has none."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        return text
    return f"{head}{BEGIN}\n\n{render_table(grid)}\n{END}{tail}"


def is_torn(text: str) -> bool:
    """Whether only one of the two comments is there, or they stand the wrong way round."""
    begin, end = text.find(BEGIN), text.find(END)
    return (begin >= 0 or end >= 0) and not 0 <= begin < end


def render_table(grid: Grid) -> str:
    """One row for each environment on each platform, one column a Python: packages where proven."""
    pythons = sorted({cell.python for cell in grid.cells}, key=python_key)
    lines = [
        f"| environment | platform | {' | '.join(pythons)} |",
        f"| --- | --- |{' ---: |' * len(pythons)}",
    ]
    rows: dict[tuple[str, str], dict[str, CellRecord]] = {}
    for cell in grid.cells:
        rows.setdefault((cell.environment, cell.platform), {})[cell.python] = cell
    for (environment, platform), row in rows.items():
        shown = [_shown(row.get(python)) for python in pythons]
        lines.append(f"| {environment} | {platform} | {' | '.join(shown)} |")
    proven = sum(cell.proven for cell in grid.cells)
    lines += [
        "",
        f"{proven} of {len(grid.cells)} cells are proven; the number is how many packages the cell pins.",
        "`no`: unsupported, and `lockgrid explain` says why. Blank: not in the grid.",
    ]
    return "\n".join(lines) + "\n"


def _shown(cell: CellRecord | None) -> str:
    if cell is None:
        return ""
    return str(cell.packages) if cell.proven else "no"


def reasons(cells: Sequence[CellRecord]) -> dict[str, list[CellRecord]]:
    """Unsupported cells by their reason, in the words of the first: wheels differ by Python, findings do not."""
    grouped: dict[object, list[CellRecord]] = {}
    for cell in cells:
        if not cell.proven:
            found = tuple((b.package, b.finding) for b in cell.blockers)
            key = found if found and all(b.finding for b in cell.blockers) else cell.because
            grouped.setdefault(key, []).append(cell)
    return {group[0].because: group for group in grouped.values()}
