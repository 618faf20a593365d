"""The cells of ``locks/`` with the files that they install, as the index lists them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from lockgrid.commands.context import Context
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.keep import locked_pins
from lockgrid.core.missing import missing_files
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Grid, OldLocks, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec


@dataclass(frozen=True, slots=True)
class LockedCells:
    """``cells`` are the proven ones of ``grid``; ``learner`` knows the pages of their pins."""

    spec: Spec
    grid: Grid
    locks: OldLocks
    learner: Learner
    cells: Mapping[Cell, ProvenCell]


@contextmanager
def open_cells(context: Context, environments: Collection[str] = ()) -> Iterator[LockedCells]:
    """The proven cells of these environments (all where there are none), their files looked up on the index.

    ``via`` of the cells is empty: it takes the METADATA to know who asks for what. Raises ``InputError`` where there
    are no locks, or a pin has no file on the index any more, and ``ToolError`` when the index fails.
    """
    spec, grid = context.spec(), context.require_grid()
    locks = read_locked(context).locks
    wanted = [e for e in spec.environments if not environments or e.name in environments]
    with open_ports(context, spec, wanted, locks, grid.exclude_newer) as (_, learner):
        learner.pages(
            environment.project(pin.name, target)
            for environment in wanted
            for target in environment.targets
            if (lockfile := locks.get((environment.name, target.platform.name)))
            for pin in lockfile.pins
        )
        yield LockedCells(spec, grid, locks, learner, _cells(wanted, grid, locks, learner))


def _cells(wanted: Collection[Environment], grid: Grid, locks: OldLocks, learner: Learner) -> dict[Cell, ProvenCell]:
    proven = {(c.environment, c.platform, c.python) for c in grid.cells if c.proven}
    cells: dict[Cell, ProvenCell] = {}
    problems = []
    for environment in wanted:
        for target in environment.targets:
            if (environment.name, target.platform.name, target.python) not in proven:
                continue
            pins = locked_pins(environment, target, locks, learner.facts)
            if pins is None:
                where = f"locks/{environment.name}/{target.platform.name}.txt"
                missing = missing_files(environment, target, locks, learner.facts)
                problems += [Problem(file=where, key=one.pin, what=one.what) for one in missing]
            else:
                cell = ProvenCell(environment=environment.name, target=target, pins=tuple(pins))
                cells[environment.name, target] = cell
    if not cells and not problems:
        problems = [Problem(file=GRID, what="no cell of envs/ is proven there")]
    if problems:
        raise InputError(problems, next_step="run `lockgrid lock`")
    return cells
