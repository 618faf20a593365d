"""``lockgrid audit`` without files: proofs 4 and 5 once more, on every wheel of every cell in ``locks/``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockgrid.adapters.index import NOT_AT_HAND
from lockgrid.commands.cells import open_cells
from lockgrid.commands.context import Context
from lockgrid.commands.inspect import inspect
from lockgrid.core.accept import record
from lockgrid.core.check import compare
from lockgrid.core.gridfile import found_values
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.contents import Contents
from lockgrid.model.grid import FoundRecord


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
    _check_date(context)
    with open_cells(context) as locked:
        inspected = inspect(locked.learner, locked.cells, anew=True)
    if inspected.unread:
        pins = {pin.file.sha256: pin for cell in locked.cells.values() for pin in cell.pins}
        names = ", ".join(sorted(pins[sha].file.filename for sha in inspected.unread))
        raise ToolError(
            "built from git, and not at hand, so it cannot be looked into", where=names, next_step=NOT_AT_HAND
        )
    environments = locked.spec.environments
    found = [one for environment in environments for one in record(environment, inspected.findings, every=True)]
    found += [one for one in locked.grid.findings if not one.cells]  # acceptances that serve nobody
    return LocksAudit(contents=inspected.contents, cells=len(locked.cells), findings=tuple(found))


def _check_date(context: Context) -> None:
    """Raise ``InputError`` where ``locks/`` is not what ``envs/`` asks for."""
    found = compare(context.spec(), context.require_grid(), context.lockfile_texts())
    if found:
        raise InputError([Problem(file=one.where, what=one.what) for one in found], next_step="run `lockgrid lock`")


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
