"""``lockgrid check``: offline, without uv."""

from __future__ import annotations

from collections.abc import Mapping

from lockgrid.commands.context import Context
from lockgrid.core import extras, gridfile
from lockgrid.core.check import Difference, compare
from lockgrid.core.digest import digest_text
from lockgrid.core.render import readme
from lockgrid.core.uvproject import BLOCKER_FILES, read_locks, uv_project
from lockgrid.model.grid import Grid
from lockgrid.model.spec import Spec


def check(context: Context) -> list[Difference]:
    """Every difference between ``envs/`` and what was made of it. Raises ``InputError`` on broken input."""
    spec = context.spec()
    if conflicts := context.marked_files():  # nothing else can be said before
        what = "holds a merge conflict"
        return [Difference(where=f"{p} line {n}", what=what, mend="lockgrid lock") for p, n in conflicts.items()]
    grid = context.grid()
    if grid is None:
        return [Difference(where=gridfile.PATH, what="is missing: nothing is locked", mend="lockgrid lock")]
    store = context.store
    texts = context.lockfile_texts()
    found = compare(spec, grid, texts)
    if gridfile.is_edited(store.read(gridfile.PATH) or ""):
        found.append(Difference(where=gridfile.PATH, what="was edited since the lock", mend="lockgrid lock"))
    manifest = store.read(extras.PATH)
    if manifest is None:
        found.append(Difference(where=extras.PATH, what="is missing", mend="lockgrid lock"))
    else:
        found += _manifest(context, spec, grid, texts, manifest)
    text = store.read(readme.PATH)
    if text is not None and readme.is_torn(text):
        what = "one of the two comments around the table is gone"
        found.append(Difference(where=readme.PATH, what=what, mend=f"put back {readme.BEGIN} and {readme.END}"))
    elif text is not None and readme.update_readme(text, grid) != text:
        found.append(Difference(where=readme.PATH, what="its table is not the grid", mend="lockgrid lock"))
    return found


def _manifest(context: Context, spec: Spec, grid: Grid, texts: Mapping[str, str], manifest: str) -> list[Difference]:
    """What ``uv sync`` needs and does not find."""
    intact = {path: texts[path] for path, digest in grid.lockfiles if digest_text(texts.get(path, "")) == digest}
    wanted = uv_project(spec, grid, read_locks(intact), extras.requires_python(manifest))
    said = extras.extras_in_step(manifest, wanted)
    if len(intact) < len(grid.lockfiles):  # of the lost pins it is said already that they are lost
        said = [what for what in said if not what.startswith("[tool.uv]")]
    stale = [Difference(where=extras.PATH, what=what, mend="lockgrid lock") for what in said]
    for path in BLOCKER_FILES:
        if context.store.read(path) != wanted.files.get(path):
            stale.append(Difference(where=path, what="is not what `uv sync` needs", mend="lockgrid lock"))
    return stale
