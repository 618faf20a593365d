"""A merge that left conflicts in what ``lock`` writes: both sides are read, and made one for ``lock`` to prove."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from lockgrid.adapters.git import Git
from lockgrid.adapters.store import Overlay
from lockgrid.commands.context import Context
from lockgrid.core import extras
from lockgrid.core.conflict import Conflicted, Sides, conflict_line, take_apart
from lockgrid.core.digest import digest_text
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.gridfile import parse_grid, render_grid
from lockgrid.core.lockfile import parse_lockfile
from lockgrid.core.mend import Choice, merge_grids, merge_lockfiles
from lockgrid.core.render import readme
from lockgrid.core.render.requirements import render
from lockgrid.core.uvproject import BLOCKER_FILES, UvProject
from lockgrid.errors import InputError, LockgridError, Problem, ToolError
from lockgrid.model.grid import Grid

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """``context`` reads the merged texts; ``cutoff`` is the later one of both sides; ``files`` were in conflict."""

    context: Context
    cutoff: datetime | None = None
    files: tuple[str, ...] = ()


def mend(context: Context) -> Mended:
    """Take both sides of every file that ``lock`` writes and that a merge left in conflict; most often there is none.

    The sides are those that git has; where it has none, the markers in a file tell. Raises ``InputError`` where what
    is not lockgrid's is in conflict.
    """
    texts = _shared_files(context)
    unmerged = _unmerged(context)
    paths = {f"locks/{path}" for path in context.store.lockfiles()}
    paths |= {path for path in unmerged if path.startswith("locks/") and path.endswith(".txt")}
    choices: list[Choice] = []
    for path in sorted(paths):
        if sides := unmerged.get(path) or _marked(context, path):
            texts[path], chosen = _lockfile(context, path, sides)
            choices += chosen
    cutoff = None
    if sides := unmerged.get(GRID) or _marked(context, GRID):
        texts[GRID], cutoff = _grid(context, sides, texts)
    if not texts:
        return Mended(context=context)
    note = context.progress.note
    note(f"a merge left conflicts in {', '.join(sorted(texts))}: keeping the pins on which both sides agree")
    for sentence in dict.fromkeys(str(choice) for choice in sorted(choices, key=lambda c: c.package)):
        note(sentence)
    store = Overlay(context.store.root, texts)
    return Mended(context=replace(context, store=store), cutoff=cutoff, files=tuple(sorted(texts)))


def require_merged(context: Context) -> None:
    """Raise ``InputError`` where a merge left conflicts in what ``lock`` writes: one side is not all of it."""
    if found := {*_unmerged(context), *context.marked_files()}:
        problems = [Problem(file=path, what="a merge left it in conflict") for path in sorted(found)]
        next_step = "run `lockgrid lock`, which makes one of both sides, and `git add` what it names; then go on here"
        raise InputError(problems, next_step=next_step)


def _unmerged(context: Context) -> dict[str, Sides]:
    """The sides of the files below ``locks/`` as they were committed, where git is in the middle of a merge."""
    try:
        git = Git(context.store.root, context.environ)
    except ToolError:
        return {}  # no git, no merge of its making
    sides = {}
    for path, stages in git.unmerged().items():
        base, ours, theirs = (_text(stages.get(stage)) for stage in (1, 2, 3))
        sides[path] = Sides(ours=ours, theirs=theirs, base=base)
    return sides


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _marked(context: Context, path: str) -> Sides | None:
    """The sides of a lockfile or the grid as its conflict markers tell them; None where they make no sense."""
    try:
        conflicted = take_apart(path, context.store.read(path) or "")
    except InputError:
        return None  # to be made anew, as any such file that cannot be read
    return conflicted.sides if conflicted else None


def _parsed(context: Context, path: str, text: str | None, parse: Callable[[str], T]) -> T | None:
    """What a side is, None where it has no such file or none that can be read."""
    if text is None:
        return None
    try:
        return parse(text)
    except LockgridError as error:
        context.progress.note(f"{error.what}: this side is not looked at")
        return None


def _lockfile(context: Context, path: str, sides: Sides) -> tuple[str, list[Choice]]:
    """The text of the merged lockfile, and what was chosen."""
    ours, theirs, base = (
        _parsed(context, path, text, lambda text: parse_lockfile(path, text))
        for text in (sides.ours, sides.theirs, sides.base)
    )
    if ours and theirs:
        merged, choices = merge_lockfiles(ours, theirs, base)
        return render(merged), choices
    one = ours or theirs
    return (render(one) if one else sides.ours or sides.theirs or ""), []


def _grid(context: Context, sides: Sides, texts: Mapping[str, str]) -> tuple[str, datetime | None]:
    """The text of the merged grid, and the later cut-off. ``texts`` are the merged lockfiles by path."""
    ours, theirs = (_parsed(context, GRID, text, parse_grid) for text in (sides.ours, sides.theirs))
    if ours and theirs:
        grid = merge_grids(ours, theirs, _lockfile_digests(context, (ours, theirs), texts))
    else:
        one = ours or theirs
        if one is None:
            return sides.ours or sides.theirs or "", None
        grid = one
    return render_grid(grid), grid.exclude_newer


def _lockfile_digests(context: Context, grids: Iterable[Grid], texts: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """The digests of the lockfiles as they are now read."""
    found = {path for grid in grids for path, _ in grid.lockfiles}
    now = {path: texts.get(f"locks/{path}") or context.store.read(f"locks/{path}") for path in found}
    return [(path, digest_text(text)) for path, text in sorted(now.items()) if text is not None]


# -- files of which only a part is lockgrid's --------------------------------------------------------------


def _shared_files(context: Context) -> dict[str, str]:
    """Our text of ``pyproject.toml`` and of the README, where they are in conflict; ``lock`` puts its parts in."""
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for path, bare in ((extras.PATH, _bare_manifest), (readme.PATH, _bare_readme)):
        conflicted = take_apart(path, context.store.read(path) or "")
        if conflicted is None:
            continue
        texts[path] = conflicted.ours
        problems += [
            Problem(file=path, key=f"line {line}", what="holds a merge conflict in what is not lockgrid's")
            for line in _foreign(conflicted, bare)
        ]
    if problems:
        raise InputError(problems, next_step="decide these, then run `lockgrid lock`, which mends the rest")
    for path in BLOCKER_FILES:  # always the same text
        if conflict_line(context.store.read(path) or "") is not None:
            texts[path] = ""
    return texts


def _foreign(conflicted: Conflicted, bare: Callable[[str], str]) -> list[int]:
    """The lines of the conflicts that are still there when all that is lockgrid's is taken out of the text."""
    ours = _bare(conflicted.ours, bare)
    if ours is not None and ours == _bare(conflicted.theirs, bare):
        return []
    lines = [hunk.line for hunk in conflicted.hunks if ours is None or _bare(conflicted.text([hunk]), bare) != ours]
    return lines or [hunk.line for hunk in conflicted.hunks]


def _bare(text: str, bare: Callable[[str], str]) -> str | None:
    """None for a text that is broken, as one with only a part of its conflicts decided may be."""
    try:
        return bare(text)
    except LockgridError:
        return None


def _bare_manifest(text: str) -> str:
    return extras.update_extras(text, UvProject(extras={}, lists={}))


def _bare_readme(text: str) -> str:
    empty = Grid(
        exclude_newer=datetime.fromtimestamp(0, UTC), inputs="", environments=(), lockfiles=(), cells=(), uv=""
    )
    return readme.update_readme(text, empty)
