"""What is known of the wheels of git sources: from the grid, from a folder of built ones, and as pages for a lock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from packaging.utils import canonicalize_name

from lockgrid.core.candidates import wheel_rank
from lockgrid.core.git import decode_provenance
from lockgrid.errors import HashMismatchError
from lockgrid.model.git import BuiltWheel, Provenance
from lockgrid.model.grid import GitRecord, GitWheel
from lockgrid.model.index import DistMetadata, IndexFile, Page, page_key
from lockgrid.model.spec import Environment, GitSource

#: A commit of a package: its name, the commit, the folder in the repository.
Identity = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one commit of one package. ``urls``: by file name, of wheels that are at hand."""

    tree: str
    build_requires: tuple[str, ...]
    wheels: tuple[GitWheel, ...]
    urls: Mapping[str, str]


def identity(source: GitSource) -> Identity:
    """What decides the content that is built, wherever the repository is."""
    return source.name, source.rev, source.subdirectory


def distinct(environments: Iterable[Environment]) -> list[GitSource]:
    """Each commit of each package once, sorted."""
    found = {identity(source): source for environment in environments for source in environment.git}
    return [found[key] for key in sorted(found)]


def gather(
    sources: Sequence[GitSource],
    records: Iterable[GitRecord],
    built: Iterable[BuiltWheel],
    upgrade: Collection[str] | None,
) -> tuple[dict[Identity, Known], list[str]]:
    """What the grid and a folder know of each source, and a sentence for each wheel there that serves none.

    ``upgrade`` are packages of which a wheel may take the place of one that was locked; None stands for all. Raises
    ``HashMismatchError`` for other bytes under a locked name, and for one commit with two contents.
    """
    known: dict[Identity, Known] = {}
    for record in records:
        key = record.package, record.rev, record.subdirectory
        new = Known(tree=record.tree, build_requires=record.build_requires, wheels=record.wheels, urls={})
        known[key] = _joined(key, known[key], new) if key in known else new
    wanted = {identity(source): source for source in sources}
    said = []
    for wheel in built:
        name = canonicalize_name(wheel.metadata.name)
        if name not in {package for package, _, _ in wanted}:
            continue
        origin = decode_provenance(wheel.provenance)
        identities = (name, origin.rev, origin.subdirectory) if origin else None
        if origin is None or identities not in wanted:
            what = f"was built from commit {origin.rev}" if origin else "does not say what it was built from"
            said.append(f"{wheel.filename} {what}, so it is not used: [git] names another commit of {name}")
            continue
        found = _known(wheel, origin)
        before = known.get(identities)
        if before is not None:
            _check_bytes(before, found, name, upgrade)
            found = _joined(identities, before, found)
        known[identities] = found
    return {key: value for key, value in known.items() if key in wanted}, said


def _known(wheel: BuiltWheel, origin: Provenance) -> Known:
    metadata = wheel.metadata
    entry = GitWheel(
        filename=wheel.filename,
        sha256=wheel.sha256,
        size=wheel.size,
        version=metadata.version,
        platform=origin.platform,
        python=origin.python,
        build=origin.build,
        pins=origin.pins,
        requires=metadata.requires_dist,
        requires_python=metadata.requires_python or "",
        extras=metadata.provides_extra,
    )
    urls = {entry.filename: wheel.url}
    return Known(tree=origin.tree, build_requires=origin.requires, wheels=(entry,), urls=urls)


def _check_bytes(before: Known, found: Known, name: str, upgrade: Collection[str] | None) -> None:
    locked = {wheel.filename: wheel.sha256 for wheel in before.wheels}
    for wheel in found.wheels if upgrade is not None and name not in upgrade else ():
        was = locked.get(wheel.filename, wheel.sha256)
        if was != wheel.sha256:
            raise HashMismatchError(
                f"this wheel has other bytes than when it was locked: sha256 {was} was locked, {wheel.sha256} is here",
                where=wheel.filename,
                next_step=f"find out who changed it, or which compiler made it; if it is meant, "
                f"`lockgrid lock -P {name}` takes it",
            )


def _joined(key: Identity, before: Known, new: Known) -> Known:
    """Both together; of a wheel that both have, the newer."""
    if before.tree != new.tree:
        raise tree_mismatch(key[0], key[1], before.tree, new.tree)
    wheels = {wheel.filename: wheel for wheel in (*before.wheels, *new.wheels)}
    return Known(
        tree=new.tree,
        build_requires=tuple(sorted({*before.build_requires, *new.build_requires})),
        wheels=tuple(wheels[name] for name in sorted(wheels)),
        urls={**before.urls, **new.urls},
    )


def tree_mismatch(package: str, rev: str, was: str, now: str) -> HashMismatchError:
    """The error for a commit whose content is another than it was."""
    return HashMismatchError(
        f"the content of commit {rev} is not what it was: {was} was recorded, {now} is here",
        where=f"[git] {package}",
        next_step="do not build it: somebody forged the commit; find out who changed the repository",
    )


def pages(
    sources: Iterable[GitSource], known: Mapping[Identity, Known]
) -> tuple[dict[str, Page], dict[str, DistMetadata]]:
    """The wheels of each source as the page of an index, by its key, and their METADATA by sha256.

    A wheel that is not at hand has no URL. A source without wheels has a page without releases.
    """
    found: dict[str, Page] = {}
    metadata: dict[str, DistMetadata] = {}
    for source in sources:
        entry = known.get(identity(source))
        releases: dict[str, tuple[IndexFile, ...]] = {}
        digest = sha256()
        for wheel in entry.wheels if entry else ():
            url = entry.urls.get(wheel.filename, "") if entry else ""
            file = IndexFile(
                filename=wheel.filename,
                url=url,
                sha256=wheel.sha256,
                size=wheel.size,
                requires_python=wheel.requires_python or None,
            )
            releases[wheel.version] = (*releases.get(wheel.version, ()), file)
            metadata[wheel.sha256] = wheel_metadata(source.name, wheel)
            digest.update(repr((file.filename, file.sha256, bool(url), wheel)).encode())
        key = page_key(source.name, source.index)
        found[key] = Page(name=source.name, releases=releases, digest=digest.hexdigest())
    return found, metadata


def wheel_metadata(name: str, wheel: GitWheel) -> DistMetadata:
    """What the grid keeps of a wheel's METADATA."""
    return DistMetadata(
        name=name,
        version=wheel.version,
        requires_dist=wheel.requires,
        requires_python=wheel.requires_python or None,
        provides_extra=wheel.extras,
    )


def git_records(
    environments: Iterable[Environment],
    known: Mapping[Identity, Known],
    before: Iterable[GitRecord],
    kept: Collection[str],
) -> tuple[GitRecord, ...]:
    """What the grid is to keep: of the ``environments`` that were locked now, and of those that are ``kept`` as before.

    Wheels for which no environment has a target are left out.
    """
    found = [
        replace(record, environments=names)
        for record in before
        if (names := tuple(name for name in record.environments if name in kept))
    ]
    found += [
        _record(environment, source, entry)
        for environment in environments
        for source in environment.git
        if (entry := known.get(identity(source)))
    ]
    return together(found)


def together(records: Iterable[GitRecord]) -> tuple[GitRecord, ...]:
    """One record for each commit and URL, sorted; of a wheel that two have, the later."""
    found: dict[tuple[Identity, str], GitRecord] = {}
    for record in records:
        key = (record.package, record.rev, record.subdirectory), record.url
        other = found.get(key, record)
        wheels = {wheel.filename: wheel for wheel in (*other.wheels, *record.wheels)}
        found[key] = replace(
            record,
            environments=tuple(sorted({*other.environments, *record.environments})),
            wheels=tuple(wheels[name] for name in sorted(wheels)),
        )
    return tuple(found[key] for key in sorted(found))


def _record(environment: Environment, source: GitSource, entry: Known) -> GitRecord:
    fitting = (w for w in entry.wheels if any(wheel_rank(w.filename, t) is not None for t in environment.targets))
    return GitRecord(
        package=source.name,
        url=source.url,
        rev=source.rev,
        subdirectory=source.subdirectory,
        environments=(environment.name,),
        tree=entry.tree,
        build_requires=entry.build_requires,
        wheels=tuple(fitting),
    )


def git_lines(records: Sequence[GitRecord]) -> Iterator[str]:
    """What people must know of git sources: what is built from what, and what an installer needs for that."""
    for record in records:
        platforms = ", ".join(dict.fromkeys(wheel.platform for wheel in record.wheels))
        names = ", ".join(record.environments)
        yield f"{names}: {record.package} is built from git commit {record.rev[:12]}, for {platforms or 'nothing yet'}"
    if records:
        yield "to install these locks, uv and pip need the wheels that were built: --find-links DIR, or an index"
