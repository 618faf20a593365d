"""The answer of ``lockgrid explain`` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockgrid.core.resolution import timestamp
from lockgrid.model.grid import Blocker, CellRecord, Grid


def render_explanation(grid: Grid, cells: Sequence[CellRecord]) -> str:
    """Proven cells in a line each; unsupported ones with every blocker, the same reasons said once."""
    return "\n".join(_lines(grid, cells)) + "\n"


def _lines(grid: Grid, cells: Sequence[CellRecord]) -> Iterator[str]:
    groups: dict[tuple[Blocker, ...], list[CellRecord]] = {}
    for cell in cells:
        if cell.proven:
            size = f"{cell.bytes / 1e6:,.0f} MB to download"
            yield f"{_label(cell)}: proven, {cell.packages} packages, {size}"
        else:
            groups.setdefault(cell.blockers, []).append(cell)
    for blockers, group in groups.items():
        for cell in group:
            yield f"{_label(cell)}: unsupported, the proof of {cell.failed} failed"
            if not blockers:
                yield f"  {cell.because}"
        for blocker in blockers:
            yield from _blocker(blocker, timestamp(grid.exclude_newer))


def _label(cell: CellRecord) -> str:
    return f"{cell.environment} on {cell.platform}, Python {cell.python}"


def _blocker(blocker: Blocker, cutoff: str) -> Iterator[str]:
    yield f"  {blocker.package}"
    if blocker.required_by:
        yield f"    required by  {', '.join(blocker.required_by)}"
    yield f"    exists       {blocker.exists}"
    yield f"    missing      {blocker.missing}"
    serves = ", ".join(blocker.serves) if blocker.serves else "no release up to the cut-off"
    yield f"    would serve  {serves} (as of {cutoff})"
