"""Which pins move between two snapshots, and which of them move along with which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.version import Version

from lockgrid.core.render.requirements import BUILD
from lockgrid.core.snapshot import Snapshot
from lockgrid.model.advisory import CellName
from lockgrid.model.diff import Group, Move
from lockgrid.model.grid import LockedPin
from lockgrid.model.target import python_key

#: The pins of cells, by the cell and the package.
CellPins = Mapping[CellName, Mapping[str, LockedPin]]


def cell_key(cell: CellName) -> tuple[str, str, tuple[int, int]]:
    """Environment, platform, Python as a version: the order of cells."""
    return cell[0], cell[1], python_key(cell[2])


def proven_pins(snapshot: Snapshot) -> dict[CellName, dict[str, LockedPin]]:
    """The pins of every proven cell. What builds sdists is of the environment ``BUILD``, platform ``any``."""
    records = snapshot.grid.cells if snapshot.grid else ()
    found: dict[CellName, dict[str, LockedPin]] = {
        (c.environment, c.platform, c.python): {} for c in records if c.proven
    }
    for (environment, platform), lockfile in snapshot.locks.items():
        for pin in lockfile.pins:
            for python in pin.pythons:
                if environment == BUILD:
                    found.setdefault((BUILD, lockfile.platform, python), {})[pin.name] = pin
                elif (environment, platform, python) in found:
                    found[environment, platform, python][pin.name] = pin
    return found


def both(before: CellPins, after: CellPins) -> list[CellName]:
    """The cells to compare: those proven before and after. Of what builds sdists, all: it has no cells to gain."""
    cells = (before.keys() & after.keys()) | {c for c in (*before, *after) if c[0] == BUILD}
    return sorted(cells, key=cell_key)


def moves(before: CellPins, after: CellPins) -> tuple[Move, ...]:
    """One for each package and pair of versions, with all cells of all environments where it is so."""
    where: dict[tuple[str, str, str], list[CellName]] = {}
    asked: dict[tuple[str, str, str], set[str]] = {}
    for cell in both(before, after):
        was, now = before.get(cell, {}), after.get(cell, {})
        for name in was.keys() | now.keys():
            old, new = was.get(name), now.get(name)
            versions = old.version if old else "", new.version if new else ""
            if versions[0] != versions[1]:
                key = (name, *versions)
                where.setdefault(key, []).append(cell)
                asked.setdefault(key, set()).update(map(asker, (new or old or _NOBODY).via))
    found = [
        Move(name=key[0], old=key[1], new=key[2], cells=tuple(cells), asked_by=tuple(sorted(asked[key])))
        for key, cells in where.items()
    ]
    return tuple(sorted(found, key=_order))


def moved_files(old: LockedPin, new: LockedPin) -> tuple[set[str], set[str]]:
    """The files (sha256) that came to a pin of the same version and that went from it, though its Pythons stayed.

    A lockfile says of a pin which files all of its Pythons install together, so what may be of a Python that came or
    went is left out.
    """
    came = set(new.hashes) - set(old.hashes) if set(new.pythons) <= set(old.pythons) else set[str]()
    went = set(old.hashes) - set(new.hashes) if set(old.pythons) <= set(new.pythons) else set[str]()
    return came, went


_NOBODY = LockedPin(name="", version="", pythons=(), hashes=())


def asker(label: str) -> str:
    """The name in ``name[extra]==version``; a file of ``envs/`` as it is."""
    return label.partition("==")[0].partition("[")[0]


def _order(move: Move) -> tuple[str, Version, Version, tuple[CellName, ...]]:
    return move.name, Version(move.old or "0"), Version(move.new or "0"), move.cells


def groups(found: Iterable[Move]) -> tuple[Group, ...]:
    """The moves, those together of which one is asked for through the other alone.

    A package belongs to the highest moved one through which every way to it goes, from whatever did not move or from a
    file of ``envs/``: in the words of graphs, to the outermost that dominates it. What asks for a package must have
    moved wherever the package did, or the package moved by itself.
    """
    by_name: dict[str, list[Move]] = {}
    for move in found:
        by_name.setdefault(move.name, []).append(move)
    where = {name: {cell for move in some for cell in move.cells} for name, some in by_name.items()}
    asked: dict[str, set[str]] = {}
    for name, some in by_name.items():
        by = {asker for move in some for asker in move.asked_by if asker != name}
        bound = all(where.get(a, set()) >= set(m.cells) for m in some for a in m.asked_by if a != name)
        asked[name] = by if bound and by <= by_name.keys() else set()
    root = _roots(asked)
    along: dict[str, list[Move]] = {}
    for name, some in by_name.items():
        if root[name] != name:
            along.setdefault(root[name], []).extend(some)
    return tuple(
        Group(name=name, moves=tuple(by_name[name]), along=tuple(along.get(name, ())))
        for name in by_name
        if root[name] == name
    )


def _roots(asked: Mapping[str, set[str]]) -> dict[str, str]:
    """For each name the outermost one that dominates it; an empty set of askers makes a name its own."""
    starts = {name for name, by in asked.items() if not by}
    while True:
        dominators = _dominators(asked, starts)
        lost = sorted(asked.keys() - dominators.keys())
        if not lost:
            break
        starts.add(lost[0])  # packages that only ask for each other
    return {name: next(d for d in sorted(own) if len(dominators[d]) == 1) for name, own in dominators.items()}


def _dominators(asked: Mapping[str, set[str]], starts: set[str]) -> dict[str, set[str]]:
    """For each name that can be reached from ``starts``, those that every way to it goes through, itself included."""
    known = {name: {name} for name in starts}
    changed = True
    while changed:
        changed = False
        for name in sorted(asked.keys() - starts):
            ways = [known[by] for by in asked[name] if by in known]
            if ways and (now := {name} | set.intersection(*ways)) != known.get(name):
                known[name] = now
                changed = True
    return known
