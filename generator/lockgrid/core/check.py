"""Is ``locks/`` in date? Values in, one difference a line out; no network, no uv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lockgrid.core.digest import digest_environment, digest_inputs, digest_text
from lockgrid.model.finding import RULES
from lockgrid.model.grid import Grid
from lockgrid.model.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What is out of date (``where`` is a file or a cell), and the command that mends it."""

    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; mend with `{self.mend}`"


_LOCK = "lockgrid lock"


def compare(spec: Spec, grid: Grid, texts: Mapping[str, str]) -> list[Difference]:
    """Differences between the input, the grid and the lockfiles (path below ``locks/`` -> text)."""
    return [*_inputs(spec, grid), *_rules(grid), *_cells(spec, grid), *_files(grid, texts)]


def _inputs(spec: Spec, grid: Grid) -> list[Difference]:
    locked = dict(grid.environments)
    present = {e.name: e for e in spec.environments}
    found = []
    for name, environment in present.items():
        if name not in locked:
            found.append(Difference(where=environment.file, what="is not locked yet", mend=_LOCK))
        elif locked[name] != digest_environment(environment):
            what = "it, a base or targets.toml changed since the lock"
            found.append(Difference(where=environment.file, what=what, mend=_LOCK))
    for name in sorted(set(locked) - set(present)):
        found.append(Difference(where=f"envs/{name}.toml", what="is gone, and still locked", mend=_LOCK))
    if not found and grid.inputs != digest_inputs(spec):
        found.append(Difference(where="locks/grid.toml", what="its digest of the inputs is another", mend=_LOCK))
    return found


def _rules(grid: Grid) -> list[Difference]:
    if grid.rules == RULES:
        return []
    what = f"judges what is inside wheels by rules {grid.rules}, and this lockgrid has rules {RULES}"
    return [Difference(where="locks/grid.toml", what=what, mend=_LOCK)]


def _cells(spec: Spec, grid: Grid) -> list[Difference]:
    """Every cell of the input stands in the grid once, and no other does."""
    wanted = {(e.name, t.platform.name, t.python) for e in spec.environments for t in e.targets}
    have = [(c.environment, c.platform, c.python) for c in grid.cells]
    missing = [(cell, "is not in grid.toml") for cell in sorted(wanted - set(have))]
    extra = [(cell, "is in grid.toml and not in envs/") for cell in sorted(set(have) - wanted)]
    twice = [(cell, "is in grid.toml twice") for cell in sorted({c for c in have if have.count(c) > 1})]
    found = [
        Difference(where=f"{name} on {platform}, Python {python}", what=what, mend=_LOCK)
        for (name, platform, python), what in [*missing, *extra, *twice]
    ]
    listed = {path.removesuffix(".txt") for path, _ in grid.lockfiles}
    proven = {f"{c.environment}/{c.platform}" for c in grid.cells if c.proven}
    for path in sorted(proven - listed):
        found.append(Difference(where=f"locks/{path}.txt", what="has proven cells and no digest", mend=_LOCK))
    for cell in grid.cells:
        if not cell.proven and not cell.because:
            where = f"{cell.environment} on {cell.platform}, Python {cell.python}"
            found.append(Difference(where=where, what="is unsupported without a reason", mend=_LOCK))
    return found


def changed_lockfiles(grid: Grid, texts: Mapping[str, str]) -> dict[str, str]:
    """The lockfiles of the grid that are not as it was proven with them: their paths below ``locks/``, and what is."""
    return {
        path: "is missing" if path not in texts else "was edited since the lock"
        for path, digest in grid.lockfiles
        if path not in texts or digest_text(texts[path]) != digest
    }


def _files(grid: Grid, texts: Mapping[str, str]) -> list[Difference]:
    changed = changed_lockfiles(grid, texts).items()
    found = [Difference(where=f"locks/{path}", what=what, mend=_LOCK) for path, what in changed]
    for path in sorted(set(texts) - dict(grid.lockfiles).keys()):
        found.append(Difference(where=f"locks/{path}", what="is no lockfile of the grid", mend=_LOCK))
    return found
