"""The answer of ``lockgrid explain`` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockgrid.core.resolution import timestamp
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid


def render_explanation(
    grid: Grid, cells: Sequence[CellRecord], reasons_accepted: Mapping[tuple[str, str], str], *, fully: bool
) -> str:
    """Proven cells in a line each; unsupported ones with every blocker, the same reasons said once; then the findings.

    ``reasons_accepted``: why an environment accepts a finding, by both names. ``fully``: findings with their evidence.
    """
    return "\n".join([*_lines(grid, cells), *_findings(grid, cells, reasons_accepted, fully=fully)]) + "\n"


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


def findings_of(grid: Grid, cells: Sequence[CellRecord]) -> list[FoundRecord]:
    """The findings that at least one of these cells has, and those on no cell of their environments."""
    wanted = {(cell.environment, cell.platform, cell.python) for cell in cells}
    environments = {cell.environment for cell in cells}
    return [
        found
        for found in grid.findings
        if any((found.environment, *cell) in wanted for cell in found.cells)
        or (not found.cells and found.environment in environments)
    ]


def _findings(
    grid: Grid, cells: Sequence[CellRecord], reasons_accepted: Mapping[tuple[str, str], str], *, fully: bool
) -> Iterator[str]:
    found = findings_of(grid, cells)
    if found:
        number = len({one.finding.name for one in found})
        yield f"inside the wheels: {number} finding{'s' if number > 1 else ''}"
    for one in found:
        finding = one.finding
        yield f"  {finding.severity}{', accepted' if one.accepted else ''}: {finding.name}"
        yield f"    {finding.what}"
        if one.accepted:
            why = reasons_accepted.get((one.environment, finding.name))
            yield f"    accepted     {why or 'the reason is in envs/'}"
        if fully:
            yield from _evidence(one)


def _evidence(found: FoundRecord) -> Iterator[str]:
    finding = found.finding
    for package in found.packages:
        yield f"    package      {package}"
    for path in finding.files:
        yield f"    file         {path}"
    if finding.count > len(finding.files):
        yield f"                 and {finding.count - len(finding.files):,} more"
    if finding.needs:
        yield f"    needs        {finding.needs}"
    if finding.has:
        yield f"    has          {finding.has}"


def _label(cell: CellRecord) -> str:
    return f"{cell.environment} on {cell.platform}, Python {cell.python}"


def _blocker(blocker: Blocker, cutoff: str) -> Iterator[str]:
    yield f"  {blocker.package}"
    if blocker.required_by:
        yield f"    required by  {', '.join(blocker.required_by)}"
    if blocker.finding:
        yield f"    finding      {blocker.finding}"
        yield f"    found        {blocker.exists}"
        yield "    would serve  other versions were not looked into: require or override one and lock again,"
        yield f'                 or accept "{blocker.finding}" under [accept], with a reason'
        return
    yield f"    exists       {blocker.exists}"
    yield f"    missing      {blocker.missing}"
    serves = ", ".join(blocker.serves) if blocker.serves else "no release up to the cut-off"
    yield f"    would serve  {serves} (as of {cutoff})"
