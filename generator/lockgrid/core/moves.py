"""Which packages a candidate moves, from which versions to which, and in which environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from lockgrid.core.lockfile import parse_lockfile, pins_by_python
from lockgrid.core.render.requirements import BUILD, lockfile_key
from lockgrid.model.grid import OldLocks

_Cell = tuple[str, str, str]  # environment, platform, Python


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A package whose pins differ.

    ``old`` and ``new`` are versions in order, of the cells that differ; one of them is empty where the package is new
    or gone. ``environments`` are those whose cells differ; ``build`` is that of ``build.txt``.
    """

    name: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    environments: tuple[str, ...]

    @property
    def text(self) -> str:
        """``torch 2.12.0 -> 2.13.0``."""
        if not self.old:
            return f"added {self.name} {', '.join(self.new)}"
        if not self.new:
            return f"removed {self.name} {', '.join(self.old)}"
        return f"{self.name} {', '.join(self.old)} -> {', '.join(self.new)}"


def moves(old: OldLocks, lockfiles: Mapping[str, str]) -> tuple[Move, ...]:
    """What the lockfiles (texts by path below ``locks/``) move, by package. Cells that are gained or lost move nothing.

    Other files of the same version are no move.
    """
    before = _pins(old)
    after = _pins({lockfile_key(path): parse_lockfile(path, text) for path, text in lockfiles.items()})
    was: dict[str, set[str]] = {}
    now: dict[str, set[str]] = {}
    where: dict[str, set[str]] = {}
    for cell in sorted(before.keys() & after.keys()):
        for name in before[cell].keys() | after[cell].keys():
            pair = before[cell].get(name), after[cell].get(name)
            if pair[0] != pair[1]:
                was.setdefault(name, set()).update([pair[0]] if pair[0] else [])
                now.setdefault(name, set()).update([pair[1]] if pair[1] else [])
                where.setdefault(name, set()).add(cell[0])
    return tuple(
        Move(
            name=name,
            old=tuple(sorted(was[name], key=Version)),
            new=tuple(sorted(now[name], key=Version)),
            environments=tuple(sorted(where[name], key=lambda e: (e == BUILD, e))),
        )
        for name in sorted(where)
    )


def _pins(locks: OldLocks) -> dict[_Cell, dict[str, str]]:
    return {
        (environment, platform, python): pins
        for (environment, platform), lockfile in locks.items()
        for python, pins in pins_by_python(lockfile).items()
    }
