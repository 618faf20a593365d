"""``lockgrid check``: offline, without uv."""

from __future__ import annotations

from lockgrid.commands.context import Context
from lockgrid.core import extras, gridfile
from lockgrid.core.check import Difference, compare
from lockgrid.core.render import readme


def check(context: Context) -> list[Difference]:
    """Every difference between ``envs/`` and what was made of it. Raises ``InputError`` on broken input."""
    spec = context.spec()
    grid = context.grid()
    if grid is None:
        return [Difference(where=gridfile.PATH, what="is missing: nothing is locked", mend="lockgrid lock")]
    store = context.store
    texts = {path: store.read(f"locks/{path}") or "" for path in store.lockfiles()}
    found = compare(spec, grid, texts)
    if gridfile.is_edited(store.read(gridfile.PATH) or ""):
        found.append(Difference(where=gridfile.PATH, what="was edited since the lock", mend="lockgrid lock"))
    manifest = store.read(extras.PATH)
    if manifest is None:
        found.append(Difference(where=extras.PATH, what="is missing", mend="lockgrid lock"))
    else:
        stale = extras.extras_in_step(manifest, spec)
        found += [Difference(where=extras.PATH, what=what, mend="lockgrid lock") for what in stale]
    text = store.read(readme.PATH)
    if text is not None and readme.is_torn(text):
        what = "one of the two comments around the table is gone"
        found.append(Difference(where=readme.PATH, what=what, mend=f"put back {readme.BEGIN} and {readme.END}"))
    elif text is not None and readme.update_readme(text, grid) != text:
        found.append(Difference(where=readme.PATH, what="its table is not the grid", mend="lockgrid lock"))
    return found
