"""What ``locks/`` held at some time, as a value: of the work tree, of a revision, of another folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgrid.core.digest import digest_text
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.gridfile import parse_grid
from lockgrid.core.lockfile import parse_lockfile
from lockgrid.core.render.requirements import lockfile_key
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Grid, OldLocks

_LOCKFILE = re.compile(r"locks/((?:[^/]+/)?[^/]+\.txt)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """``grid`` is None where nothing was locked. ``texts`` are the files, by path (``locks/tosa/linux-x86_64.txt``)."""

    grid: Grid | None = None
    locks: OldLocks = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


def read_snapshot(files: Mapping[str, str], origin: str = "") -> Snapshot:
    """The locks among ``files`` (path -> text, as ``adapters.git`` reads them); other files are kept as they are.

    ``origin`` is said before the path in messages: a revision, a folder. Raises ``InputError``, for every file that is
    broken or of a schema that this lockgrid does not read.
    """
    problems: list[Problem] = []
    grid: Grid | None = None
    try:
        grid = parse_grid(files[GRID]) if GRID in files else None
    except InputError as error:
        problems += error.problems
    locks = {}
    for path in sorted(files):
        match = _LOCKFILE.fullmatch(path)
        if match is None or ("/" not in match[1] and match[1] != "build.txt"):
            continue
        try:
            locks[lockfile_key(match[1])] = parse_lockfile(path, files[path])
        except InputError as error:
            problems += error.problems
    if problems:
        step = "compare with another revision" if origin else "restore the files, or run `lockgrid lock`"
        raise InputError([_of(origin, problem) for problem in problems], next_step=step)
    return Snapshot(grid=grid, locks=locks, texts=dict(files))


def _of(origin: str, problem: Problem) -> Problem:
    file = f"{origin}:{problem.file}" if origin else problem.file
    return Problem(file=file, key=problem.key, what=problem.what, hint=problem.hint)


def edited(snapshot: Snapshot) -> list[str]:
    """The paths of lockfiles that are not as the grid says that they were locked, sorted."""
    stated = dict(snapshot.grid.lockfiles) if snapshot.grid else {}
    paths = {f"locks/{path}": digest for path, digest in stated.items()}
    return sorted(path for path, digest in paths.items() if digest_text(snapshot.texts.get(path, "")) != digest)
