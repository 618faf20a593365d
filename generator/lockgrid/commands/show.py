"""``lockgrid show``: the grid, with what ``envs/`` says of its environments."""

from __future__ import annotations

from typing import Any

from lockgrid.commands.context import Context
from lockgrid.core.gitrecord import git_values
from lockgrid.core.gridfile import cell_values, found_values, source_values
from lockgrid.core.resolution import timestamp
from lockgrid.errors import InputError
from lockgrid.model.grid import Grid


def show(context: Context) -> tuple[Grid, dict[str, str]]:
    """The grid as it was locked, and the summaries of its environments by name.

    Raises ``InputError`` when there is no grid; ``envs/`` may be broken, then there are no summaries.
    """
    grid = context.require_grid()
    try:
        spec = context.spec()
    except InputError:
        return grid, {}
    locked = {cell.environment for cell in grid.cells}
    return grid, {e.name: e.summary for e in spec.environments if e.summary and e.name in locked}


def grid_as_json(grid: Grid) -> dict[str, Any]:
    """The grid in the words of ``grid.toml``."""
    return {
        "exclude-newer": timestamp(grid.exclude_newer),
        "exclude-newer-package": {name: timestamp(moment) for name, moment in grid.exclude_newer_package},
        "inputs": grid.inputs,
        "uv": grid.uv,
        "apart": list(grid.apart),
        **({"sources": [source_values(record) for record in grid.sources]} if grid.sources else {}),
        **({"git": [git_values(record) for record in grid.git]} if grid.git else {}),
        "lockfiles": dict(grid.lockfiles),
        "cells": [cell_values(cell) for cell in grid.cells],
        "rules": grid.rules,
        "findings": [found_values(found) for found in grid.findings],
    }
