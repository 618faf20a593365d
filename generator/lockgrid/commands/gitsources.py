"""``[git]`` in one run: the wheels that are known and where they are, uv's view of them, what the grid keeps."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.version import Version

from lockgrid.adapters.gitfetch import GitFetch
from lockgrid.adapters.gitwheels import read_built, write_stubs
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.commands.context import Context
from lockgrid.core.git import REV_HINT, is_short, url_fault
from lockgrid.core.gitwheels import Identity, Known, distinct, gather, pages
from lockgrid.errors import InputError, LockgridError, Problem
from lockgrid.model.grid import FoundRecord, GitRecord, Pin, ProvenCell
from lockgrid.model.index import DistMetadata, Page, is_git, split_key
from lockgrid.model.spec import Cell, Spec

#: The folder of built wheels, where no option names one.
VARIABLE = "LOCKGRID_BUILT"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitWheels:
    """What is known of all git sources: as it is, as pages by key, and the METADATA of the wheels by sha256."""

    known: Mapping[Identity, Known] = field(default_factory=dict)
    pages: Mapping[str, Page] = field(default_factory=dict)
    metadata: Mapping[str, DistMetadata] = field(default_factory=dict)


def git_wheels(
    context: Context,
    spec: Spec,
    records: Iterable[GitRecord],
    folder: Path | None = None,
    upgrade: Collection[str] | None = frozenset(),
) -> GitWheels:
    """What the grid's ``records`` and a folder (else ``$LOCKGRID_BUILT``) know of the git sources of ``spec``.

    Raises ``InputError`` where there is no such folder, and what ``core.gitwheels.gather`` raises.
    """
    sources = distinct(spec.environments)
    if not sources:
        return GitWheels()
    folder = folder or (Path(named) if (named := context.environ.get(VARIABLE)) else None)
    if folder is not None and not folder.is_dir():
        problem = Problem(file="command line", key="--built", what=f"there is no folder {folder}")
        raise InputError([problem], next_step="name the folder that `lockgrid build` wrote")
    built = read_built(folder, {source.name for source in sources}) if folder else []
    known, said = gather(sources, records, built, upgrade)
    for sentence in said:
        context.progress.note(sentence)
    found, metadata = pages(sources, known)
    return GitWheels(known=known, pages=found, metadata=metadata)


@contextmanager
def with_git_indexes(config: UvConfig, wheels: GitWheels) -> Iterator[UvConfig]:
    """Uv's configuration with a flat index for each git source, in a folder that is removed at the end."""
    if not wheels.pages:
        yield config
        return
    with TemporaryDirectory(prefix="lockgrid-git-") as scratch:
        named = dict(config.named)
        for key, page in wheels.pages.items():
            index = split_key(key)[1]
            folder = Path(scratch).resolve() / index
            files = [file for files in page.releases.values() for file in files]
            write_stubs(folder, {file.filename: wheels.metadata[file.sha256] for file in files})
            url = folder.as_uri()
            named[index] = IndexSource(url=url, name=index, explicit=True, table={"url": url, "format": "flat"})
        yield replace(config, named=named)


def own_file(pin: Pin, found: Mapping[str, Page]) -> Pin:
    """A pin that uv took from a stub, with the file that the stub stands for."""
    page = found.get(pin.project) if is_git(pin.index) else None
    if page is None:
        return pin
    files = page.releases.get(str(Version(pin.version)), ())
    return next((replace(pin, file=file) for file in files if file.filename == pin.file.filename), pin)


def unread_pins(cell: ProvenCell, unread: Collection[str]) -> list[Pin]:
    """The pins of a cell whose wheels are not at hand (``unread``, by sha256)."""
    return [pin for pin in cell.pins if pin.file.sha256 in unread]


def carried_records(
    cells: Mapping[Cell, ProvenCell], unread: Collection[str], before: Sequence[FoundRecord]
) -> list[FoundRecord]:
    """The findings that the grid has on wheels which are not at hand, on the cells that still pin them."""
    carried = []
    for record in before:
        where = tuple(
            (target.platform.name, target.python)
            for (name, target), cell in cells.items()
            if name == record.environment
            and (target.platform.name, target.python) in record.cells
            and any(f"{pin.name}=={pin.version}" in record.packages for pin in unread_pins(cell, unread))
        )
        if where:
            carried.append(replace(record, cells=tuple(cell for cell in record.cells if cell in where)))
    return carried


# -- a branch or a tag in the place of a commit -------------------------------------------------------


def read_spec(context: Context) -> Spec:
    """``envs/``, validated; where ``[git]`` names a branch, a tag or a short commit, the error has the one to write."""
    try:
        return context.spec()
    except InputError as error:
        problems = [_with_commit(context, problem) for problem in error.problems]
        raise InputError(problems, next_step=error.next_step) from error


def _with_commit(context: Context, problem: Problem) -> Problem:
    if problem.hint != REV_HINT:
        return problem
    package = problem.key.removeprefix("git.").removesuffix(".rev")
    entry = tomllib.loads(context.store.read(problem.file) or "").get("git", {}).get(package, {})
    url, rev = entry.get("url", ""), entry.get("rev", "")
    if not rev or url_fault(url):
        return problem
    try:
        commit = _look_up(GitFetch(context.environ), url, rev)
    except LockgridError as error:
        return replace(problem, hint=f"it could not be looked up, {error.what}; {REV_HINT}")
    return replace(problem, hint=f'write rev = "{commit}"' if commit else f"the repository has no {rev!r}; {REV_HINT}")


def _look_up(git: GitFetch, url: str, rev: str) -> str:
    """The commit that a branch, a tag or a beginning stands for in a repository, empty where there is none."""
    refs = git.refs(url)
    named = [refs[ref] for ref in (f"refs/tags/{rev}", f"refs/heads/{rev}", rev) if ref in refs]
    if not named and is_short(rev):
        with TemporaryDirectory(prefix="lockgrid-git-") as scratch:
            git.fetch(url, Path(scratch) / "mirror")
            named = [git.commit(Path(scratch) / "mirror", rev)]
    return named[0] if named else ""
