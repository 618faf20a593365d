"""``lockgrid show``: the grid, for machines; ``cli`` draws the table."""

from __future__ import annotations

from typing import Any

from lockgrid.commands.context import Context
from lockgrid.core.gridfile import cell_values
from lockgrid.core.resolution import timestamp
from lockgrid.model.grid import Grid


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
        "cells": [cell_values(cell) for cell in grid.cells],
    }
