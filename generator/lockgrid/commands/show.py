"""``lockgrid show``: the grid, for machines; ``cli`` draws the table."""

from __future__ import annotations

from typing import Any

from lockgrid.commands.context import Context
from lockgrid.core.resolution import timestamp
from lockgrid.model.grid import CellRecord, Grid


def show(context: Context) -> Grid:
    """The grid as it was locked. Raises ``InputError`` when there is none."""
    return context.require_grid()


def grid_as_json(grid: Grid) -> dict[str, Any]:
    """The grid in the words of ``grid.toml``."""
    return {
        "exclude-newer": timestamp(grid.exclude_newer),
        "inputs": grid.inputs,
        "uv": grid.uv,
        "apart": list(grid.apart),
        "lockfiles": dict(grid.lockfiles),
        "cells": [cell_as_json(cell) for cell in grid.cells],
    }


def cell_as_json(cell: CellRecord) -> dict[str, Any]:
    """One cell; the keys of an unsupported cell are those of ``grid.toml``."""
    head: dict[str, Any] = {
        "environment": cell.environment,
        "platform": cell.platform,
        "python": cell.python,
        "status": "proven" if cell.proven else "unsupported",
    }
    if cell.proven:
        return {**head, "packages": cell.packages, "bytes": cell.bytes}
    blockers = [
        {
            "proof": str(b.proof),
            "package": b.package,
            "required-by": list(b.required_by),
            "exists": b.exists,
            "missing": b.missing,
            "serves": list(b.serves),
        }
        for b in cell.blockers
    ]
    return {**head, "failed": cell.failed, "because": cell.because, "blockers": blockers}
