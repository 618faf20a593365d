"""``lockgrid explain``: why cells are as they are, out of the grid alone."""

from __future__ import annotations

from typing import Any

from lockgrid.commands.context import Context, unknown_environment
from lockgrid.core.gridfile import found_values
from lockgrid.core.render.explain import findings_of
from lockgrid.core.table import nearest
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import CellRecord, Grid
from lockgrid.model.target import python_key


def explain(
    context: Context, environment: str, platform: str | None, python: str | None
) -> tuple[Grid, list[CellRecord]]:
    """The grid, and the cells of the environment on the platform and Python (all where None).

    ``platform`` and ``python`` may come in either order. Raises ``InputError`` for a name that the grid
    does not have.
    """
    grid = context.require_grid()
    if environment not in {cell.environment for cell in grid.cells}:
        raise InputError([unknown_environment(environment, context.spec())])
    cells = [cell for cell in grid.cells if cell.environment == environment]
    platforms = {cell.platform for cell in cells}
    pythons = {cell.python for cell in cells}
    if (platform or "").startswith("3.") or (python is not None and not python.startswith("3.")):
        platform, python = python, platform
    if platform is not None and platform not in platforms:
        what = f"{environment} has no cells for this platform"
        raise InputError([Problem(file="command line", key=platform, what=what, hint=nearest(platform, platforms))])
    if python is not None and python not in pythons:
        what = f"{environment} has no cells for this Python"
        hint = f"known: {', '.join(sorted(pythons, key=python_key))}"
        raise InputError([Problem(file="command line", key=python, what=what, hint=hint)])
    return grid, [c for c in cells if platform in (None, c.platform) and python in (None, c.python)]


def findings_as_json(grid: Grid, cell: CellRecord) -> list[dict[str, Any]]:
    """The findings on one cell in the words of ``grid.toml``."""
    return [found_values(found) for found in findings_of(grid, [cell])]
