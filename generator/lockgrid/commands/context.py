"""What every verb needs from outside, gathered once by ``cli``: the folder, the environment, the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lockgrid.adapters.store import Store
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.gridfile import parse_grid
from lockgrid.core.lockfile import parse_lockfile
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Grid, Lockfile
from lockgrid.model.spec import Spec
from lockgrid.progress import Progress


@dataclass(frozen=True, slots=True)
class Context:
    """``clock`` gives seconds since the epoch."""

    store: Store
    environ: Mapping[str, str]
    clock: Callable[[], float]
    progress: Progress

    def spec(self) -> Spec:
        """``envs/``, validated; raises ``InputError``."""
        return parse_spec(self.store.read_environments())

    def grid(self) -> Grid | None:
        """``locks/grid.toml``, None when there is none; raises ``InputError`` when it is broken."""
        text = self.store.read(GRID)
        return None if text is None else parse_grid(text)

    def require_grid(self) -> Grid:
        """``locks/grid.toml``; raises ``InputError`` when there is none."""
        grid = self.grid()
        if grid is None:
            raise InputError([Problem(file=GRID, what="there is no grid yet")], next_step="run `lockgrid lock`")
        return grid

    def lockfile_texts(self) -> dict[str, str]:
        """The text of every lockfile that stands below ``locks/``, by its path there."""
        return {path: self.store.read(f"locks/{path}") or "" for path in self.store.lockfiles()}

    def marked_files(self) -> dict[str, int]:
        """The files that ``lock`` writes and that hold conflict markers, each with the number of the first line."""
        from lockgrid.core import extras
        from lockgrid.core.conflict import conflict_line
        from lockgrid.core.render import readme

        paths = [GRID, *(f"locks/{path}" for path in self.store.lockfiles()), extras.PATH, readme.PATH]
        lines = {path: conflict_line(self.store.read(path) or "") for path in paths}
        return {path: line for path, line in lines.items() if line is not None}

    def lockfile(self, path: str) -> Lockfile | None:
        """``locks/<path>``, None when there is none; raises ``InputError`` when it is broken."""
        text = self.store.read(f"locks/{path}")
        return None if text is None else parse_lockfile(f"locks/{path}", text)

    def reasons_accepted(self) -> dict[tuple[str, str], str]:
        """Why environments accept findings, by the names of both; nothing where ``envs/`` is broken."""
        try:
            spec = self.spec()
        except InputError:
            return {}
        return {(e.name, acceptance.name): acceptance.why for e in spec.environments for acceptance in e.accepts}


def unknown_environment(name: str, spec: Spec) -> Problem:
    """The problem of a name on the command line that no file in ``envs/`` has."""
    from lockgrid.core.table import nearest

    known = [environment.name for environment in spec.environments]
    return Problem(file="command line", key=name, what="there is no such environment", hint=nearest(name, known))
