"""The grid as plain text: the table of ``show`` and the summary of ``lock``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lockgrid.core.gitwheels import git_lines
from lockgrid.core.render.found import found_lines
from lockgrid.core.render.readme import reasons
from lockgrid.core.resolution import timestamp
from lockgrid.core.sources import source_lines
from lockgrid.model.grid import CellRecord, Grid
from lockgrid.model.target import python_key


def render_grid_table(grid: Grid, summaries: Mapping[str, str], reasons_accepted: Mapping[tuple[str, str], str]) -> str:
    """Rows of environments on platforms, columns of Pythons, then the summaries and each reason once with its cells.

    Then the findings. ``reasons_accepted``: why an environment accepts a finding, by both names.
    """
    pythons = sorted({cell.python for cell in grid.cells}, key=python_key)
    rows: dict[tuple[str, str], dict[str, CellRecord]] = {}
    for cell in grid.cells:
        rows.setdefault((cell.environment, cell.platform), {})[cell.python] = cell
    table = [["environment", "platform", *pythons]]
    for (environment, platform), row in rows.items():
        table.append([environment, platform, *(_shown(row.get(python)) for python in pythons)])
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = [
        "  ".join(
            value.ljust(width) if column < 2 else value.rjust(width)
            for column, (value, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
    if summaries:
        lines += ["", *(f"{name}: {summaries[name]}" for name in sorted(summaries))]
    lines += ["", *_footer(grid)]
    if grid.findings:
        lines += ["", "inside the wheels (details: `lockgrid explain ENV PLATFORM PYTHON`):"]
        unsupported = {(c.environment, c.platform, c.python) for c in grid.cells if not c.proven}
        lines += found_lines(grid.findings, reasons_accepted, unsupported)
    return "\n".join(lines) + "\n"


def _shown(cell: CellRecord | None) -> str:
    if cell is None:
        return ""
    return str(cell.packages) if cell.proven else "-"


def _footer(grid: Grid) -> list[str]:
    proven = sum(cell.proven for cell in grid.cells)
    lines = [f"{proven} of {len(grid.cells)} cells proven, as of {timestamp(grid.exclude_newer)}; packages per cell"]
    for sentence in grid.apart:
        lines.append(sentence)
    lines += [*source_lines(grid.sources), *git_lines(grid.git)]
    for because, cells in reasons(grid.cells).items():
        lines += ["", f"unsupported ({cells[0].failed}): {_cells(cells)}", f"  {because}"]
    return lines


def _cells(cells: Sequence[CellRecord]) -> str:
    """``vgf on linux-x86_64, Python 3.14``; many are grouped by environment and Python."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        grouped.setdefault((cell.environment, cell.python), []).append(cell.platform)
    parts = [
        f"{environment} on {', '.join(where)}, Python {python}" for (environment, python), where in grouped.items()
    ]
    return "; ".join(parts)


def cells_text(cells: Iterable[CellRecord]) -> str:
    """``tosa, vgf on linux-x86_64, Python 3.13, 3.14``: those that share platforms and Pythons in one phrase."""
    pythons: dict[tuple[str, str], list[str]] = {}
    for cell in sorted(cells, key=lambda c: c.sort_key):
        pythons.setdefault((cell.environment, cell.platform), []).append(cell.python)
    platforms: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (environment, platform), found in pythons.items():
        platforms.setdefault((environment, tuple(found)), []).append(platform)
    environments: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (environment, versions), where in platforms.items():
        environments.setdefault((tuple(where), versions), []).append(environment)
    return "; ".join(
        f"{', '.join(names)} on {', '.join(where)}, Python {', '.join(versions)}"
        for (where, versions), names in environments.items()
    )


def render_summary(grid: Grid, written: Sequence[str], removed: Sequence[str], changes: Sequence[str]) -> str:
    """What a lock came to: cells per environment, pins that moved, files that were written."""
    lines = []
    for name in sorted({cell.environment for cell in grid.cells}):
        cells = [cell for cell in grid.cells if cell.environment == name]
        proven = [cell for cell in cells if cell.proven]
        failed = [cell for cell in cells if not cell.proven]
        lines.append(f"{name}: {len(proven)} of {len(cells)} cells proven")
        groups: dict[str, list[CellRecord]] = {}
        for cell in failed:
            packages = ", ".join(dict.fromkeys(b.package for b in cell.blockers if b.package != "uv:"))
            groups.setdefault(packages or cell.because, []).append(cell)
        for packages, group in groups.items():
            pythons = sorted({cell.python for cell in group}, key=python_key)
            platforms = sorted({cell.platform for cell in group})
            lines.append(f"  unsupported on {', '.join(platforms)} with Python {', '.join(pythons)}, over {packages}")
        if failed:
            lines.append(f"  why: `lockgrid explain {name}`")
        findings = [found for found in grid.findings if found.environment == name]
        if findings:
            names = {found.finding.name for found in findings}
            accepted = len({found.finding.name for found in findings if found.accepted})
            said = f", {accepted} of them accepted" if accepted else ""
            word = "finding" if len(names) == 1 else "findings"
            lines.append(f"  {len(names)} {word} inside the wheels{said}: `lockgrid show`")
    lines += grid.apart
    lines += [*source_lines(grid.sources), *git_lines(grid.git)]
    lines += changes
    if not written and not removed:
        lines.append("nothing changed")
    else:
        lines += [f"wrote {path}" for path in written]
        lines += [f"removed {path}" for path in removed]
    return "\n".join(lines) + "\n"
