"""Two sides of a merge made one: their lockfiles, and their grids. What they agree on stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from packaging.version import Version

from lockgrid.core.gitwheels import together
from lockgrid.core.lockfile import pins_by_python
from lockgrid.model.grid import CellRecord, Grid, LockedPin, Lockfile
from lockgrid.model.target import python_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Both sides pin a package otherwise: what was taken, of whom (``ours`` or ``theirs``), and why."""

    package: str
    taken: str
    left: str
    side: str
    why: str

    def __str__(self) -> str:
        other = "theirs" if self.side == "ours" else "ours"
        return f"{self.package}: {self.taken} of {self.side}, {self.why}, and not {self.left} of {other}"


def merge_lockfiles(ours: Lockfile, theirs: Lockfile, base: Lockfile | None) -> tuple[Lockfile, list[Choice]]:
    """One lockfile out of two, and what had to be chosen.

    For each Python: the pins on which both agree; of the others that of the side which moved it since ``base``, or the
    newer one where both did or nobody knows; a pin that only one side has, unless the other took it out. It need not
    be a set that fits together: ``lock`` proves it, or has uv resolve with these pins as what it prefers.
    """
    sides = {"ours": pins_by_python(ours), "theirs": pins_by_python(theirs)}
    before = pins_by_python(base) if base else {}
    pythons = sorted({*ours.pythons, *theirs.pythons}, key=python_key)
    chosen: dict[tuple[str, str], list[str]] = {}
    choices: list[Choice] = []
    for python in pythons:
        mine, other = (sides[side].get(python) for side in ("ours", "theirs"))
        if mine is None or other is None:  # a cell of one side alone
            pins = mine or other or {}
        else:
            pins = {}
            for name in sorted({*mine, *other}):
                version, choice = _choose(name, mine.get(name), other.get(name), before.get(python, {}).get(name))
                pins |= {name: version} if version else {}
                choices += [choice] if choice else []
        for pin in pins.items():
            chosen.setdefault(pin, []).append(python)
    merged = [_pin(name, version, where, (ours, theirs)) for (name, version), where in chosen.items()]
    merged.sort(key=lambda pin: (pin.name, python_key(pin.pythons[0])))
    sdists = tuple(sorted({*ours.sdists, *theirs.sdists}))
    return replace(ours, pythons=tuple(pythons), sdists=sdists, pins=tuple(merged)), list(dict.fromkeys(choices))


def _choose(name: str, ours: str | None, theirs: str | None, base: str | None) -> tuple[str | None, Choice | None]:
    """The version of one pin (None: it goes), and the choice where the sides pin different versions."""
    if ours == theirs:
        return ours, None
    if ours is None or theirs is None:
        present = ours or theirs
        return (None if base == present else present), None
    if base in (ours, theirs):
        side, why = ("theirs" if base == ours else "ours"), "which moved it"
    else:
        side, why = ("ours" if Version(ours) > Version(theirs) else "theirs"), "the newer"
    taken, left = (ours, theirs) if side == "ours" else (theirs, ours)
    return taken, Choice(package=name, taken=taken, left=left, side=side, why=why)


def _pin(name: str, version: str, pythons: Sequence[str], sides: Iterable[Lockfile]) -> LockedPin:
    """A pin with the files of each side that has it."""
    found = [pin for side in sides for pin in side.named(name) if pin.version == version]
    hashes = {digest for pin in found for digest in pin.hashes}
    via = {asker for pin in found for asker in pin.via}
    return LockedPin(
        name=name,
        version=version,
        pythons=tuple(pythons),
        hashes=tuple(sorted(hashes)),
        via=tuple(sorted(via)),
    )


def merge_grids(ours: Grid, theirs: Grid, lockfiles: Sequence[tuple[str, str]]) -> Grid:
    """One grid out of two, as what stood before the run: ``lockfiles`` are the digests of the merged ones.

    The later cut-off. A cell counts as proven where both have it so, or where only one has the cell at all: the loss of
    a cell that one side has lost already is no news. An environment that both have changed is in date with neither.
    """
    mine, other = dict(ours.environments), dict(theirs.environments)
    cells = {cell.sort_key: cell for cell in theirs.cells} | {cell.sort_key: cell for cell in ours.cells}
    for cell in theirs.cells:
        cells[cell.sort_key] = _worse(cells[cell.sort_key], cell)
    packages = dict(ours.exclude_newer_package)
    for name, moment in theirs.exclude_newer_package:
        packages[name] = max(moment, packages.get(name, moment))
    # Not the rules of a side whose wheels were judged by others.
    rules = ours.rules if ours.rules == theirs.rules else 0
    return replace(
        ours,
        exclude_newer=max(ours.exclude_newer, theirs.exclude_newer),
        exclude_newer_package=tuple(sorted(packages.items())),
        environments=tuple(sorted((other | mine).items())),
        lockfiles=tuple(lockfiles),
        cells=tuple(sorted(cells.values(), key=lambda cell: cell.sort_key)),
        apart=tuple(sorted({*ours.apart, *theirs.apart})),
        rules=rules,
        findings=(*ours.findings, *(found for found in theirs.findings if found.environment not in mine)),
        sources=(*ours.sources, *(source for source in theirs.sources if source.environment not in mine)),
        git=together((*theirs.git, *ours.git)),
    )


def _worse(one: CellRecord, other: CellRecord) -> CellRecord:
    return other if one.proven and not other.proven else one
