"""Findings on the cells of a grid as lines of text, each once over all environments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from lockgrid.model.grid import FoundRecord


def found_lines(
    records: Iterable[FoundRecord],
    reasons_accepted: Mapping[tuple[str, str], str],
    unsupported: Collection[tuple[str, str, str]] = (),
) -> Iterator[str]:
    """What each finding is, on how many proven cells of which environments, and whether it is accepted.

    ``reasons_accepted``: why an environment accepts a finding, by both names. ``unsupported``: cells that do not
    count, by environment, platform and Python.
    """
    grouped: dict[tuple[str, str, bool], list[FoundRecord]] = {}
    for found in records:
        grouped.setdefault((found.finding.severity, found.finding.name, found.accepted), []).append(found)
    for (severity, name, accepted), several in sorted(grouped.items()):
        cells: dict[str, set[tuple[str, str]]] = {}
        for found in several:
            proven = {cell for cell in found.cells if (found.environment, *cell) not in unsupported}
            cells.setdefault(found.environment, set()).update(proven)
        where = ", ".join(f"{environment} {len(having)}" for environment, having in cells.items() if having)
        yield f"  {severity}{', accepted' if accepted else ''}: {name}" + (f" (cells: {where})" if where else "")
        yield f"    {several[0].finding.what}"
        for why in dict.fromkeys(reasons_accepted.get((found.environment, name), "") for found in several):
            if accepted and why:
                yield f"    accepted: {why}"
