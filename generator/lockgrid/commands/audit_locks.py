"""``lockgrid audit`` without files: proofs 4 and 5 once more, on every wheel of every cell in ``locks/``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockgrid.commands.context import Context
from lockgrid.commands.inspect import inspect
from lockgrid.commands.locked import read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.core.accept import record
from lockgrid.core.candidates import Facts
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.gridfile import found_values
from lockgrid.core.keep import locked_pins
from lockgrid.errors import InputError, Problem
from lockgrid.model.contents import Contents
from lockgrid.model.grid import FoundRecord, Grid, Lockfile, OldLocks, ProvenCell
from lockgrid.model.spec import Cell, Spec

_NOTHING = Lockfile(environment="", platform="", pythons=(), sdists=(), pins=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LocksAudit:
    """What was read of the wheels, by sha256, in how many cells, and what was found in them."""

    contents: Mapping[str, Contents]
    cells: int
    findings: tuple[FoundRecord, ...]

    @property
    def failed(self) -> bool:
        """Whether there is a finding that is not accepted."""
        return any(not found.accepted for found in self.findings)


def audit_locks(context: Context) -> LocksAudit:
    """Read and judge every wheel of every proven cell of ``locks/``.

    Raises ``InputError`` where there are no locks or they are not in date, ``ToolError`` when the index fails.
    """
    spec, grid = context.spec(), context.require_grid()
    locks = read_locked(context).locks
    with open_ports(context, spec, spec.environments, locks, grid.exclude_newer) as (_, learner):
        learner.pages(
            environment.project(pin.name, target)
            for environment in spec.environments
            for target in environment.targets
            for pin in (locks.get((environment.name, target.platform.name)) or _NOTHING).pins
        )
        cells = _cells(spec, grid, locks, learner.facts)
        inspected = inspect(learner, cells, anew=True)
    found = [one for environment in spec.environments for one in record(environment, inspected.findings, every=True)]
    return LocksAudit(contents=inspected.contents, cells=len(cells), findings=tuple(found))


def _cells(spec: Spec, grid: Grid, locks: OldLocks, facts: Facts) -> dict[Cell, ProvenCell]:
    proven = {(c.environment, c.platform, c.python) for c in grid.cells if c.proven}
    cells: dict[Cell, ProvenCell] = {}
    problems = []
    for environment in spec.environments:
        for target in environment.targets:
            if (environment.name, target.platform.name, target.python) not in proven:
                continue
            pins = locked_pins(environment, target, locks, facts)
            if pins is None:
                where = f"locks/{environment.name}/{target.platform.name}.txt"
                problems.append(Problem(file=where, what=f"Python {target.python}: a pin has no file on the index"))
            else:
                cell = ProvenCell(environment=environment.name, target=target, pins=tuple(pins))
                cells[environment.name, target] = cell
    if not cells and not problems:
        problems = [Problem(file=GRID, what="no cell of envs/ is proven there")]
    if problems:
        raise InputError(problems, next_step="run `lockgrid lock`")
    return cells


def locks_audit_as_json(result: LocksAudit) -> dict[str, Any]:
    """For ``--json``: the wheels, and the findings in the words of ``grid.toml``."""
    wheels = [
        {
            "filename": one.filename,
            "sha256": sha,
            "binaries": len(one.binaries),
            "members": len(one.members),
            "read": one.read,
            "size": one.size,
        }
        for sha, one in sorted(result.contents.items(), key=lambda item: item[1].filename)
    ]
    return {"cells": result.cells, "wheels": wheels, "findings": [found_values(found) for found in result.findings]}
