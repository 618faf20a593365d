"""The cells of ``locks/`` with the files that they install, as the index lists them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lockgrid.commands.context import Context
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.core.candidates import Facts
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.keep import locked_pins
from lockgrid.core.verify import pin_faults
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Grid, OldLocks, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True)
class LockedCells:
    """``cells`` are the proven ones of ``grid``; ``learner`` knows the pages of their pins."""

    spec: Spec
    grid: Grid
    locks: OldLocks
    learner: Learner
    cells: Mapping[Cell, ProvenCell]


@contextmanager
def open_cells(
    context: Context, environments: Collection[str] = (), only: Collection[tuple[str, str]] | None = None
) -> Iterator[LockedCells]:
    """The proven cells of these environments (all where there are none), their files looked up on the index.

    ``only`` leaves the cells of these platforms and Pythons, whatever became of the files of others.
    ``via`` of the cells is empty: it takes the METADATA to know who asks for what. Raises ``InputError`` where there
    are no locks, or a pin has no file on the index any more, and ``ToolError`` when the index fails.
    """
    spec, grid = context.spec(), context.require_grid()
    locks = read_locked(context).locks
    wanted = [e for e in spec.environments if not environments or e.name in environments]
    with open_ports(context, spec, wanted, locks, grid.cutoff) as (_, learner):
        learner.pages(
            environment.project(pin.name, target)
            for environment in wanted
            for target in environment.targets
            if only is None or (target.platform.name, target.python) in only
            if (lockfile := locks.get((environment.name, target.platform.name)))
            for pin in lockfile.pins
        )
        yield LockedCells(spec, grid, locks, learner, _cells(wanted, grid, locks, learner, only))


def _cells(
    wanted: Collection[Environment],
    grid: Grid,
    locks: OldLocks,
    learner: Learner,
    only: Collection[tuple[str, str]] | None,
) -> dict[Cell, ProvenCell]:
    proven = {(c.environment, c.platform, c.python) for c in grid.cells if c.proven}
    proven = {cell for cell in proven if only is None or cell[1:] in only}
    cells: dict[Cell, ProvenCell] = {}
    problems = []
    for environment in wanted:
        for target in environment.targets:
            if (environment.name, target.platform.name, target.python) not in proven:
                continue
            pins = locked_pins(environment, target, locks, learner.facts)
            if pins is None:
                problems += _unserved(environment, target, locks, learner.facts)
            else:
                cell = ProvenCell(environment=environment.name, target=target, pins=tuple(pins))
                cells[environment.name, target] = cell
    if not cells and not problems:
        raise InputError([Problem(file=GRID, what="no cell of envs/ is proven there")], next_step="run `lockgrid lock`")
    if problems:
        raise InputError(problems, next_step="run `lockgrid lock`, or point uv at an index that has the locked files")
    return cells


def _unserved(environment: Environment, target: Target, locks: OldLocks, facts: Facts) -> list[Problem]:
    """Which pins of a cell have no file on the index that serves, and why."""
    key = environment.name, target.platform.name
    lockfile = locks.get(key)
    path = f"locks/{environment.name}/{target.platform.name}.txt"
    if lockfile is None or target.python not in lockfile.pythons:
        return [Problem(file=path, what=f"holds nothing for Python {target.python}")]
    problems = []
    for pin in lockfile.pins:
        alone = {key: replace(lockfile, pins=(pin,))}
        if target.python in pin.pythons and locked_pins(environment, target, alone, facts) is None:
            project, built = environment.project(pin.name, target), pin.name in lockfile.sdists
            faults = pin_faults(pin, project, [target], facts, sdist=built)
            said = "; ".join(dict.fromkeys(f"{fault.file} {fault.what}".strip() for fault in faults))
            what = said or "no locked file of it serves any more"
            problems.append(Problem(file=path, key=f"{pin.name}=={pin.version}, Python {target.python}", what=what))
    return problems
