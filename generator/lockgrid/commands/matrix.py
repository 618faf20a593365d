"""``lockgrid matrix``: the proven cells as jobs, all or those that a change touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from lockgrid.adapters.git import Git
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.diff import work_tree
from lockgrid.core.digest import digest_inputs
from lockgrid.core.flows import FOLDER, changed_flows, differing_files
from lockgrid.core.matrix import LIMIT, Job, changed_cells, jobs
from lockgrid.core.snapshot import read_snapshot
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError, Problem


def matrix(
    context: Context, environments: Sequence[str] = (), since: str = "", all_if: Sequence[str] = ()
) -> tuple[Job, ...]:
    """The jobs of the environments, of all where none is named.

    ``since``: those alone whose cells differ from that revision; all where a file below one of ``all_if`` does, and
    where the revision cannot be compared. Raises ``InputError`` for names and revisions that there are not, and where
    nothing is locked; ``ToolError`` where git fails.
    """
    spec, grid = context.spec(), context.require_grid()
    known = [environment.name for environment in spec.environments]
    if problems := [unknown_environment(name, spec) for name in environments if name not in known]:
        raise InputError(problems)
    if grid.inputs != digest_inputs(spec):
        context.progress.note("the locks are not in date with envs/: see `lockgrid check`")
    flows = context.store.tree([FOLDER])
    found = jobs(spec, grid, flows.keys(), environments)
    if since:
        _check_paths(all_if)
        found = _changed(context, found, since, flows, all_if)
    if len(found) > LIMIT:
        context.progress.note(f"{len(found)} jobs: GitHub refuses a matrix of more than {LIMIT}; name environments")
    return found


def _check_paths(paths: Sequence[str]) -> None:
    """They must be below the project: git would not find others there."""
    wrong = [path for path in paths if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    if wrong:
        what, hint = "is not below the project", "write it as from the folder of envs/"
        raise InputError([Problem(file="command line", key=f"--all-if {path}", what=what, hint=hint) for path in wrong])


def _changed(
    context: Context, found: tuple[Job, ...], since: str, flows: Mapping[str, bytes], all_if: Sequence[str]
) -> tuple[Job, ...]:
    if not since.strip("0"):  # what GitHub calls the commit before the first of a branch
        context.progress.note("there is no revision before this one: every cell")
        return found
    git = Git(context.store.root, context.environ)
    commit = git.resolve(since)
    if all_if:
        old_files, new_files = git.blobs(commit, all_if), context.store.tree(all_if)
        for top in all_if:
            if not any(PurePosixPath(path).is_relative_to(top) for path in (*old_files, *new_files)):
                context.progress.note(f"--all-if {top}: there is no such file, neither now nor in {since}")
        if paths := differing_files(old_files, new_files):
            context.progress.note(f"{min(paths)} is not as in {since}: every cell")
            return found
    files = git.files(commit)
    try:
        old_spec = parse_spec({p: t for p, t in files.items() if p.startswith("envs/") and p.count("/") == 1})
        old = read_snapshot(files, origin=since)
    except InputError as error:
        context.progress.note(f"{since} cannot be compared, so every cell: {error.problems[0]}")
        return found
    touched = changed_flows(git.blobs(commit, [FOLDER]), flows, {job.environment for job in found})
    cells = changed_cells((old_spec, old), (context.spec(), work_tree(context)), touched, [job.cell for job in found])
    return tuple(job for job in found if job.cell in cells)
