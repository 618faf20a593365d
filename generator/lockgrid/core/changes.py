"""What a lock changes: pins that move, environments that would move along, cells that are lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from lockgrid.core.lockfile import parse_lockfile, pins_by_python
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.grid import CellRecord, OldLocks, ProvenCell
from lockgrid.model.spec import Cell


def new_sdists(cells: Mapping[Cell, ProvenCell], old: OldLocks, wanted: Iterable[str]) -> bool:
    """Whether an environment installs a sdist that its old lockfile did not."""
    names = set(wanted)
    known = {h for lockfile in old.values() for pin in lockfile.pins for h in pin.hashes}
    return any(
        not pin.file.is_wheel and pin.file.sha256 not in known
        for (name, _), cell in cells.items()
        if name in names
        for pin in cell.pins
    )


def moved_pins(cells: Mapping[Cell, ProvenCell], old: OldLocks, names: Iterable[str]) -> dict[str, list[str]]:
    """For each of the environments ``names`` the packages that its old lockfiles pin otherwise; none: left out."""
    moved: dict[str, set[str]] = {}
    wanted = set(names)
    now = {(name, target.platform.name, target.python): cell for (name, target), cell in cells.items()}
    for (name, platform), lockfile in old.items():
        for python, before in pins_by_python(lockfile).items() if name in wanted else ():
            cell = now.get((name, platform, python))
            after = {pin.name: pin.version for pin in cell.pins} if cell else {}
            moved.setdefault(name, set()).update(package for package, _ in before.items() ^ after.items())
    return {name: sorted(packages) for name, packages in moved.items() if packages}


def loss(lost: Sequence[CellRecord]) -> UnsatisfiableError:
    """The error for cells that were proven and would no longer be."""
    lines = [f"    {c.environment} on {c.platform}, Python {c.python}: {c.because}" for c in lost[:8]]
    more = [f"    and {len(lost) - 8} more"] if len(lost) > 8 else []
    return UnsatisfiableError(
        f"{len(lost)} proven cells would be lost though the input did not change:\n" + "\n".join([*lines, *more]),
        next_step="pass --allow-loss to record them as unsupported",
    )


def pin_changes(old: OldLocks, texts: Mapping[str, str]) -> list[str]:
    """One line for each pin that moved, over all lockfiles."""
    before: dict[str, set[str]] = {}
    after: dict[str, set[str]] = {}
    for lockfile in old.values():
        for pin in lockfile.pins:
            before.setdefault(pin.name, set()).add(pin.version)
    for path, text in texts.items():
        for pin in parse_lockfile(path, text).pins:
            after.setdefault(pin.name, set()).add(pin.version)
    lines = []
    for name in sorted(set(before) | set(after)):
        was, now = before.get(name, set()), after.get(name, set())
        if was == now or not before:
            continue
        shown = [", ".join(sorted(versions, key=Version)) for versions in (was, now)]
        if not was:
            lines.append(f"added {name} {shown[1]}")
        elif not now:
            lines.append(f"removed {name} {shown[0]}")
        else:
            lines.append(f"changed {name} {shown[0]} -> {shown[1]}")
    return lines
