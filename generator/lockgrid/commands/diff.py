"""``lockgrid diff``: the locks of the work tree, or of a revision, against others."""

from __future__ import annotations

from pathlib import Path

from lockgrid.adapters.git import Git
from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.difffacts import Options, look_up
from lockgrid.core.diff import diff
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.snapshot import Snapshot, edited, read_snapshot
from lockgrid.errors import InputError, Problem
from lockgrid.model.diff import GridDiff, Side


def diff_grid(context: Context, revision_or_folder: str = "HEAD", options: Options | None = None) -> GridDiff:
    """The difference from a revision or a folder (another project, or its ``locks/``) to the work tree.

    ``REV1..REV2`` compares two revisions. Raises ``InputError`` for a revision that there is not, for locks that cannot
    be read, and where the work tree has none; ``ToolError`` where git fails. That the network fails is told in the
    result, and no error.
    """
    old_name, new_name = _sides(revision_or_folder)
    old, old_side = _old(context, old_name)
    if new_name:
        new, new_side = at_revision(context, new_name)
    else:
        new, new_side = work_tree(context), Side(name="the work tree")
        if new.grid is None:
            raise InputError([Problem(file=GRID, what="there is no grid yet")], next_step="run `lockgrid lock`")
    facts = look_up(context, old, new, options or Options())
    return diff(old, new, facts, (old_side, new_side))


def _sides(words: str) -> tuple[str, str]:
    """The two revisions of ``REV1..REV2``; the second is empty where the work tree is meant."""
    if ".." not in words or Path(words).is_dir():
        return words, ""
    old, _, new = words.partition("..")
    if new.startswith("."):
        what, hint = "three dots are not understood", f"name two revisions: {old or 'HEAD'}..{new[1:] or 'HEAD'}"
        raise InputError([Problem(file="command line", key=words, what=what, hint=hint)])
    return old or "HEAD", new or "HEAD"


def _old(context: Context, name: str) -> tuple[Snapshot, Side]:
    """The locks in a folder; where the name is that of none with locks, at a revision."""
    folder = Path(name)
    for root in (folder, folder.absolute().parent):
        if (root / GRID).is_file() and (root == folder or (folder / "grid.toml").is_file()):
            return read_snapshot(read_files(Store(root)), origin=name), Side(name=name)
    try:
        return at_revision(context, name)
    except InputError as error:
        if not folder.is_dir():
            raise
        what = f"is a folder without {GRID}, and no revision"
        raise InputError([Problem(file="command line", key=name, what=what)]) from error


def at_revision(context: Context, revision: str) -> tuple[Snapshot, Side]:
    """The locks as committed. Raises ``InputError`` and ``ToolError`` as ``adapters.git`` does."""
    git = Git(context.store.root, context.environ)
    commit = git.resolve(revision)
    snapshot = read_snapshot(git.files(commit), origin=revision)
    if snapshot.grid is None:
        context.progress.note(f"{revision} has no {GRID}: nothing was locked there")
    return snapshot, Side(name=revision, commit=commit)


def work_tree(context: Context) -> Snapshot:
    """The locks as they stand; what was edited since the lock is noted."""
    snapshot = read_snapshot(read_files(context.store))
    for path in edited(snapshot):
        context.progress.note(f"{path} is not as it was locked: see `lockgrid check`")
    return snapshot


def read_files(store: Store) -> dict[str, str]:
    """The files of ``locks/`` that a snapshot is made of."""
    paths = [GRID, *(f"locks/{path}" for path in store.lockfiles())]
    return {path: text for path in paths if (text := store.read(path)) is not None}
