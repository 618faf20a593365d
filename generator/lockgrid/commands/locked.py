"""What stands in ``locks/`` before a run, and whether some environments can be locked without the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockgrid.commands.context import Context
from lockgrid.core.check import changed_lockfiles
from lockgrid.core.digest import digest_environment
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.gridfile import is_edited
from lockgrid.core.render.requirements import lockfile_key
from lockgrid.errors import InputError, LockgridError, Problem
from lockgrid.model.finding import RULES
from lockgrid.model.grid import Grid, Lockfile
from lockgrid.model.spec import Environment, Spec


@dataclass(slots=True)
class Locked:
    """What stands in ``locks/``: the grid, the lockfiles that can be read, their texts."""

    grid: Grid | None = None
    locks: dict[tuple[str, str], Lockfile] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def read_locked(context: Context) -> Locked:
    """The old locks; a file that cannot be read as one is made anew, and that is said."""
    old = Locked()
    try:
        old.grid = context.grid()
        if old.grid is not None and is_edited(context.store.read(GRID) or ""):
            context.progress.note(f"{GRID} was edited since the lock: made anew")
            old.grid = None
    except LockgridError as error:
        context.progress.note(f"{error.what}: made anew")
    for path in context.store.lockfiles():
        text = context.store.read(f"locks/{path}") or ""
        old.texts[path] = text
        try:
            lockfile = context.lockfile(path)
        except LockgridError as error:
            context.progress.note(f"{error.what}: its pins are not kept")
            continue
        if lockfile:
            old.locks[lockfile_key(path)] = lockfile
    return old


def require_intact(context: Context, grid: Grid, *paths: str) -> None:
    """Raise ``InputError`` unless these lockfiles of the grid, or all of them, are those that it was proven with."""
    changed = changed_lockfiles(grid, context.lockfile_texts())
    problems = [Problem(file=f"locks/{p}", what=what) for p, what in changed.items() if not paths or p in paths]
    if problems:
        raise InputError(problems, next_step="restore the file from version control, or run `lockgrid lock`")


def _why_stale(environment: Environment, digests: Mapping[str, str]) -> str:
    if environment.name not in digests:
        return "is not locked yet"
    if digests[environment.name] == digest_environment(environment):
        return "its wheels were judged by the rules of another lockgrid"
    return "it, a base or targets.toml changed since the lock"


def check_partial(spec: Spec, wanted: Sequence[Environment], old: Locked) -> None:
    """Locking some environments needs the others to be locked and in date: their files stay as they are."""
    others = [e for e in spec.environments if e not in wanted]
    digests = dict(old.grid.environments) if old.grid else {}
    stale = [e for e in others if digests.get(e.name) != digest_environment(e)]
    unjudged = old.grid is not None and old.grid.rules != RULES
    stale = others if unjudged else stale
    gone = sorted(set(digests) - {e.name for e in spec.environments}) if others else []
    if stale or gone:
        names = " ".join(e.name for e in (*wanted, *stale))
        problems = [
            Problem(
                file=e.file,
                what=_why_stale(e, digests),
                hint="its lockfiles would no longer be what grid.toml says they are",
            )
            for e in stale
        ]
        problems += [Problem(file=f"envs/{n}.toml", what="is gone, and its lockfiles are still there") for n in gone]
        next_step = "run `lockgrid lock`" if gone else f"lock these too: `lockgrid lock {names}`"
        raise InputError(problems, next_step=next_step)
