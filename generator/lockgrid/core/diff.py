"""Two snapshots of ``locks/`` in, everything that differs out; what the locks do not hold comes as ``DiffFacts``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from packaging.version import Version

from lockgrid.core.difffacts import advisory_changes, hashes, licence_changes, moved_versions
from lockgrid.core.movers import CellPins, both, cell_key, groups, moved_files, moves, proven_pins
from lockgrid.core.render.requirements import BUILD
from lockgrid.core.resolution import timestamp
from lockgrid.core.snapshot import Snapshot
from lockgrid.model.advisory import CellName, PinName
from lockgrid.model.diff import (
    CellChange,
    DiffFacts,
    EnvironmentDiff,
    FilesChange,
    FindingChange,
    GridDiff,
    Move,
    Side,
    SizeChange,
)
from lockgrid.model.grid import CellRecord, FoundRecord, Grid


def diff(old: Snapshot, new: Snapshot, facts: DiffFacts, sides: tuple[Side, Side] = (Side(), Side())) -> GridDiff:
    """What changed from ``old`` to ``new``; ``sides`` says what the two are.

    What ``facts`` does not know is told as not known, and never as unchanged.
    """
    before, after = proven_pins(old), proven_pins(new)
    found = moves(before, after)
    files = _files(before, after)
    licences, unknown = licence_changes(found, before, after, facts)
    changed = {sha for change in files for sha in (*change.added, *change.removed)}
    return GridDiff(
        old=_side(sides[0], old.grid),
        new=_side(sides[1], new.grid),
        environments=tuple(_environments(old, new, before, after, found)),
        groups=groups(found),
        files=files,
        filenames={sha: facts.filenames[sha] for sha in sorted(changed & facts.filenames.keys())},
        findings=tuple(_findings(old.grid, new.grid)),
        licences=licences,
        licences_unknown=unknown,
        licences_why=facts.licences_why,
        licences_gap=facts.licences_gap,
        advisories=tuple(advisory_changes(before, after, facts)),
        unaudited=tuple(
            (name, version, facts.unaudited[name, version])
            for name, version in questions(old, new)
            if (name, version) in facts.unaudited
        ),
        advisories_why=facts.advisories_why,
        service=facts.service,
        notes=tuple(_notes(old.grid, new.grid)),
    )


def _side(side: Side, grid: Grid | None) -> Side:
    return replace(side, exclude_newer=timestamp(grid.exclude_newer)) if grid else side


def questions(old: Snapshot, new: Snapshot) -> list[PinName]:
    """The pins to ask advisories of: all versions, before and after, of what an environment pins otherwise."""
    sides = moved_versions(proven_pins(old), proven_pins(new))
    asked = {pin for pins in sides.values() for side in pins for pin in side}
    return sorted(asked, key=lambda pin: (pin[0], Version(pin[1])))


def moved_hashes(old: Snapshot, new: Snapshot) -> dict[PinName, set[str]]:
    """The sha256 of the files of pins that moved, and of versions whose files changed: those to look up."""
    before, after = proven_pins(old), proven_pins(new)
    found: dict[PinName, set[str]] = {}
    for move in moves(before, after):
        for side, version in ((before, move.old), (after, move.new)):
            if version:
                found.setdefault((move.name, version), set()).update(hashes(move, side))
    for change in _files(before, after):
        found.setdefault((change.name, change.version), set()).update((*change.added, *change.removed))
    return found


# -- environments -----------------------------------------------------------------------------------------


def _environments(
    old: Snapshot, new: Snapshot, before: CellPins, after: CellPins, found: Sequence[Move]
) -> Iterable[EnvironmentDiff]:
    was, now = _records(old.grid), _records(new.grid)
    names = {cell[0] for cell in (*was, *now, *before, *after)}
    for name in sorted(names, key=lambda name: (name == BUILD, name)):
        cells = sorted({cell for cell in (*was, *now) if cell[0] == name}, key=cell_key)
        gained = [c for c in cells if c in after and c not in before]
        lost = [c for c in cells if c in before and c not in after]
        had = {package for cell, pins in before.items() if cell[0] == name for package in pins}
        moved = {move.name for move in found if any(cell[0] == name for cell in move.cells)}
        brought = {
            (pin.name, pin.version)
            for cell in gained
            for pin in after[cell].values()
            if pin.name not in had and pin.name not in moved
        }
        yield EnvironmentDiff(
            name=name,
            cells_before=tuple(sorted((c for c in before if c[0] == name), key=cell_key)),
            cells_after=tuple(sorted((c for c in after if c[0] == name), key=cell_key)),
            gained=tuple(CellChange(cell=cell, before=was.get(cell), after=now[cell]) for cell in gained),
            lost=tuple(CellChange(cell=cell, before=was[cell], after=now.get(cell)) for cell in lost),
            sizes=tuple(
                SizeChange(platform=cell[1], python=cell[2], before=was[cell].bytes, after=now[cell].bytes)
                for cell in cells
                if cell in before and cell in after
            ),
            moves=tuple(_only(move, name) for move in found if any(cell[0] == name for cell in move.cells)),
            brought=tuple(sorted(brought, key=lambda pin: (pin[0], Version(pin[1])))),
        )


def _records(grid: Grid | None) -> dict[CellName, CellRecord]:
    return {(c.environment, c.platform, c.python): c for c in (grid.cells if grid else ())}


def _only(move: Move, environment: str) -> Move:
    """The move on the cells of one environment."""
    cells = tuple(cell for cell in move.cells if cell[0] == environment)
    return Move(name=move.name, old=move.old, new=move.new, cells=cells, asked_by=move.asked_by)


# -- files of unchanged versions ---------------------------------------------------------------------------


def _files(before: CellPins, after: CellPins) -> tuple[FilesChange, ...]:
    """Files that came or went though the version stayed and no Python of the lockfile did."""
    cells: dict[tuple[str, str], list[CellName]] = {}
    added: dict[tuple[str, str], set[str]] = {}
    removed: dict[tuple[str, str], set[str]] = {}
    for cell in both(before, after):
        was, now = before.get(cell, {}), after.get(cell, {})
        for name in was.keys() & now.keys():
            old, new = was[name], now[name]
            if old.version != new.version or old.hashes == new.hashes:
                continue
            came, went = moved_files(old, new)
            if came or went:
                key = (name, new.version)
                cells.setdefault(key, []).append(cell)
                added.setdefault(key, set()).update(came)
                removed.setdefault(key, set()).update(went)
    return tuple(
        FilesChange(
            name=key[0],
            version=key[1],
            added=tuple(sorted(added[key])),
            removed=tuple(sorted(removed[key])),
            cells=tuple(cells[key]),
        )
        for key in sorted(cells, key=lambda key: (key[0], Version(key[1])))
    )


# -- findings ----------------------------------------------------------------------------------------------


def _findings(old: Grid | None, new: Grid | None) -> Iterable[FindingChange]:
    """What came and went on proven cells, by name; cells that both grids prove tell a finding that spread."""
    was, now = _found(old), _found(new)
    proven = [{c for c, record in _records(grid).items() if record.proven} for grid in (old, new)]
    for key in sorted(was.keys() | now.keys()):
        one, other = was.get(key, ()), now.get(key, ())
        before, after = _cells(one, proven[0]), _cells(other, proven[1])
        came = after - before
        gone = (before - after) & proven[1] if after else before
        stale = not any(record.cells for record in (*one, *other))  # an acceptance that accepts nothing
        if came or (stale and not one):
            yield _finding("new", other, came)
        if gone or (stale and not other):
            yield _finding("gone", one, gone)
        accepted = [any(r.accepted for r in some) for some in (one, other)]
        if one and other and accepted[0] != accepted[1] and (stay := before & after):
            yield _finding("accepted" if accepted[1] else "unaccepted", other, stay)


def _found(grid: Grid | None) -> dict[tuple[str, str], list[FoundRecord]]:
    found: dict[tuple[str, str], list[FoundRecord]] = {}
    for record in grid.findings if grid else ():
        found.setdefault((record.environment, record.finding.name), []).append(record)
    return found


def _cells(records: Iterable[FoundRecord], proven: set[CellName]) -> set[CellName]:
    return {(record.environment, *cell) for record in records for cell in record.cells} & proven


def _finding(kind: str, records: Sequence[FoundRecord], cells: set[CellName]) -> FindingChange:
    having = [r for r in records if any((r.environment, *cell) in cells for cell in r.cells)] or list(records)
    return FindingChange(
        kind=kind,
        name=having[0].finding.name,
        severity=having[0].finding.severity,
        what=having[0].finding.what,
        packages=tuple(sorted({package for record in having for package in record.packages})),
        environment=having[0].environment,
        cells=tuple(sorted(cells, key=cell_key)),
        accepted=having[0].accepted,
    )


# -- the grids as such -------------------------------------------------------------------------------------


def _notes(old: Grid | None, new: Grid | None) -> Iterable[str]:
    if old is None or new is None:
        if old is not new:
            yield "nothing was locked before" if old is None else "nothing is locked any more"
        return
    if old.rules != new.rules:
        yield f"the insides of wheels are judged by rules {new.rules}, before by {old.rules or 'none'}"
    yield from (f"no longer: {sentence}" for sentence in old.apart if sentence not in new.apart)
    yield from (sentence for sentence in new.apart if sentence not in old.apart)
