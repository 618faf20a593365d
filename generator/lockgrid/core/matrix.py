"""The proven cells as jobs of continuous integration, and which of them a change touches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from lockgrid.core.digest import digest_environment
from lockgrid.core.flows import has_flow
from lockgrid.core.movers import CellPins, moved_files, proven_pins
from lockgrid.core.render.requirements import BUILD
from lockgrid.core.snapshot import Snapshot
from lockgrid.core.targets import default_runner
from lockgrid.model.advisory import CellName
from lockgrid.model.grid import Grid, LockedPin
from lockgrid.model.spec import Smoke, Spec
from lockgrid.model.target import Platform

#: GitHub runs no more jobs of one matrix.
LIMIT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a job needs to know of its cell. ``runner`` has one label or more, ``session`` is empty without a flow."""

    environment: str
    platform: str
    python: str
    runner: tuple[str, ...]
    lockfile: str
    session: str = ""

    @property
    def cell(self) -> CellName:
        """The name of the cell."""
        return self.environment, self.platform, self.python


def jobs(spec: Spec, grid: Grid, flows: Collection[str], environments: Sequence[str] = ()) -> tuple[Job, ...]:
    """One for each proven cell of the environments (of all where none is named), in the order of the grid.

    ``flows`` are paths below ``tests/flows``.
    """
    platforms = {platform.name: platform for platform in spec.platforms}
    return tuple(
        Job(
            environment=cell.environment,
            platform=cell.platform,
            python=cell.python,
            runner=runner(spec, platforms.get(cell.platform) or Platform(name=cell.platform)),
            lockfile=f"locks/{cell.environment}/{cell.platform}.txt",
            session=cell.environment if has_flow(cell.environment, flows) else "",
        )
        for cell in sorted(grid.cells, key=lambda c: c.sort_key)
        if cell.proven and (not environments or cell.environment in environments)
    )


def runner(spec: Spec, platform: Platform) -> tuple[str, ...]:
    """The labels that ``targets.toml`` gives a platform, or the default."""
    return dict(spec.runners).get(platform.name) or (default_runner(platform),)


def changed_cells(
    old: tuple[Spec, Snapshot], new: tuple[Spec, Snapshot], flows: Collection[str], chosen: Iterable[CellName]
) -> set[CellName]:
    """The cells among ``chosen`` that install or are tested otherwise than before.

    That is: their pins or a file of these, what builds their sdists, what ``envs/`` asks for and smokes, their floor,
    their runner, or their flow (``flows``: the environments whose flow changed).
    """
    before, after = proven_pins(old[1]), proven_pins(new[1])
    same = {name for name in (e.name for e in new[0].environments) if _meaning(old[0], name) == _meaning(new[0], name)}
    steady = {p.name for p in new[0].platforms if p in old[0].platforms and runner(old[0], p) == runner(new[0], p)}
    return {
        cell
        for cell in chosen
        if cell[0] in flows
        or cell[0] not in same
        or cell[1] not in steady
        or cell not in before
        or _otherwise(before[cell].values(), after[cell].values())
        or (_builds(cell, new[1]) and _builders(before, cell[2]) != _builders(after, cell[2]))
    }


def _meaning(spec: Spec, name: str) -> tuple[str, Smoke] | None:
    """What an environment asks for and smokes, its targets apart; None where there is no such environment."""
    found = spec.environment(name)
    return (digest_environment(replace(found, targets=(), accepts=())), found.smoke) if found else None


def _otherwise(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> bool:
    was = {(pin.name, pin.version): pin for pin in before}
    now = {(pin.name, pin.version): pin for pin in after}
    return was.keys() != now.keys() or any(any(moved_files(was[key], now[key])) for key in now)


def _builds(cell: CellName, snapshot: Snapshot) -> bool:
    """Whether the cell installs a sdist."""
    lockfile = snapshot.locks.get((cell[0], cell[1]))
    if lockfile is None:
        return False
    return any(cell[2] in pin.pythons for name in lockfile.sdists for pin in lockfile.named(name))


def _builders(side: CellPins, python: str) -> set[tuple[str, str, tuple[str, ...]]]:
    return {
        (pin.name, pin.version, pin.hashes)
        for cell, pins in side.items()
        if cell[0] == BUILD and cell[2] == python
        for pin in pins.values()
    }
