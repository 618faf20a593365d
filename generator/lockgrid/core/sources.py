"""``[sources]`` in a lock: which packages came from which index by its name, and what is wrong with that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from packaging.version import Version

from lockgrid.core.candidates import Facts
from lockgrid.core.table import nearest
from lockgrid.errors import HashMismatchError, Problem
from lockgrid.model.grid import OldLocks, ProvenCell, SourceRecord
from lockgrid.model.index import is_git
from lockgrid.model.spec import Cell, Environment, Source

_NOT_FOUND = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*) was not found in the package registry")


def source_problems(
    environments: Iterable[Environment], named: Mapping[str, str], known: Collection[str]
) -> list[Problem]:
    """Sources whose index cannot serve: ``named`` are those that have a URL, and what is wrong with each, or nothing.

    ``known`` are the names of all indexes, for a hint.
    """
    problems = []
    for source in _each(environments):
        what = hint = ""
        if is_git(source.index):
            continue
        if source.index not in named:
            what = f"neither uv's configuration nor [indexes] in envs/targets.toml has an index {source.index!r}"
            hint = f"{nearest(source.index, known)}; define it in uv.toml or in [indexes]"
        elif named[source.index]:
            what, hint = f"{source.index!r} {named[source.index]}", "see uv's index settings"
        if what:
            problems.append(Problem(file=source.file, key=source.key, what=what, hint=hint))
    return problems


def found_by_one_only(explanation: str, environments: Iterable[Environment], facts: Facts) -> list[str]:
    """The packages of which uv says that no index has them, though every page that may serve them was read, sorted.

    To uv an index that refuses to answer (401, 403) has nothing, and of one that ``[sources]`` names it does not
    tell the difference.
    """
    environments = list(environments)
    names = []
    for name in sorted(set(_NOT_FOUND.findall(explanation))):
        projects = {project for environment in environments for project in environment.projects(name)}
        if projects and all(project in facts.pages and not facts.pages[project].missing for project in projects):
            names.append(name)
    return names


def stale_sources(environments: Iterable[Environment], cells: Mapping[Cell, ProvenCell]) -> list[str]:
    """A sentence for each source that no proven cell needs, unless one that is not among ``cells`` might; sorted.

    All environments count: a base may serve several.
    """
    used: set[tuple[str, str]] = set()
    names: dict[tuple[str, str], str] = {}
    pinned: set[str] = set()
    for environment in environments:
        names |= {(source.file, source.key): source.name for source in environment.idle}
        for target in environment.targets:
            cell = cells.get((environment.name, target))
            pinned |= {pin.name for pin in cell.pins} if cell else set()
            for source in environment.sources:
                if source.platform == target.platform.name:
                    names[source.file, source.key] = source.name
                    if cell is None or any(pin.name == source.name for pin in cell.pins):
                        used.add((source.file, source.key))
    said = []
    for (file, key), name in sorted(names.items()):
        if (file, key) not in used:
            hint = nearest(name, pinned)
            tail = f"; {hint}" if hint.startswith("did you mean") and name not in pinned else ""
            where = f" on {key.partition('@')[2]}" if "@" in key else ""
            said.append(f"{file}: {key}: no cell pins {name}{where}, so its source does nothing{tail}")
    return said


def source_records(environments: Iterable[Environment], cells: Mapping[Cell, ProvenCell]) -> list[SourceRecord]:
    """What came from an index that ``[sources]`` names, sorted by environment, package and index."""
    spec = {environment.name: environment for environment in environments}
    dateless = {source.index for e in spec.values() for source in e.sources if source.dateless}
    files: dict[tuple[str, str, str], dict[str, str]] = {}
    platforms: dict[tuple[str, str, str], set[str]] = {}
    for cell in (c for c in cells.values() if c.environment in spec):
        for pin in cell.pins:
            if pin.index and not is_git(pin.index):
                key = cell.environment, pin.name, pin.index
                files.setdefault(key, {})[pin.file.filename] = pin.file.sha256
                platforms.setdefault(key, set()).add(cell.target.platform.name)
    return [
        SourceRecord(
            environment=environment,
            package=package,
            index=index,
            platforms=tuple(sorted(platforms[environment, package, index])),
            files=tuple(sorted(found.items())),
            dateless=index in dateless,
        )
        for (environment, package, index), found in sorted(files.items())
    ]


def check_bytes(new: Iterable[SourceRecord], old: Iterable[SourceRecord], upgrade: Collection[str] | None) -> None:
    """Raise ``HashMismatchError`` when an index now serves other bytes under a name that it had when it was locked.

    ``upgrade`` are packages for which that is meant; None stands for all.
    """
    before = {(r.environment, r.package, r.index, name): sha for r in old for name, sha in r.files}
    for record in new:
        if upgrade is None or record.package in upgrade:
            continue
        for name, sha in record.files:
            was = before.get((record.environment, record.package, record.index, name), sha)
            if was != sha:
                raise HashMismatchError(
                    f"the index {record.index} serves other bytes under this name than when it was locked:"
                    f" sha256 {was} was locked, {sha} is served",
                    where=name,
                    next_step=f"find out who changed it; if it is meant, `lockgrid lock -P {record.package}` takes it",
                )


def replaced_files(
    cells: Mapping[Cell, ProvenCell],
    old: OldLocks,
    records: Iterable[SourceRecord],
    facts: Facts,
    upgrade: Collection[str],
) -> list[str]:
    """A sentence for each file that took the place of locked ones of its version, of which the index has none any more.

    A lockfile does not hold the names of files, so whether one was replaced or taken away is not known. ``records``
    are of the old lock: only what still comes from the same index is looked at.
    """
    was = {(r.environment, r.package, platform): r.index for r in records for platform in r.platforms}
    said: dict[tuple[str, str, str], dict[str, None]] = {}
    for (environment, target), cell in cells.items():
        lockfile = old.get((environment, target.platform.name))
        for pin in cell.pins if lockfile else ():
            same_index = pin.index == was.get((environment, pin.name, target.platform.name), "")
            for locked in lockfile.named(pin.name) if lockfile and same_index and pin.name not in upgrade else ():
                same = locked.version == pin.version and target.python in locked.pythons
                if not same or pin.file.sha256 in locked.hashes:
                    continue
                offered = {file.sha256 for file in facts.release(pin.project, Version(pin.version))}
                if not offered & set(locked.hashes):
                    key = pin.name, pin.version, pin.file.filename
                    said.setdefault(key, {})[f"locks/{environment}/{target.platform.name}.txt"] = None
    return [
        f"{name}=={version}: the index no longer has a file pinned in {', '.join(where)}, and"
        f" {filename} takes its place: make sure that nobody changed it"
        for (name, version, filename), where in said.items()
    ]


def source_lines(records: Sequence[SourceRecord]) -> list[str]:
    """What people must know of sources: what comes from where, and what an installer needs for that."""
    lines = [
        f"{r.environment}: {r.package} comes from the index {r.index} on {', '.join(r.platforms)}" for r in records
    ]
    if lines:
        indexes = " ".join(f"{name}=<its URL>" for name in sorted({r.index for r in records}))
        lines.append(f'to install these locks, uv needs: UV_INDEX="{indexes}" UV_INDEX_STRATEGY=unsafe-best-match')
    return lines


def _each(environments: Iterable[Environment]) -> list[Source]:
    """Each entry of ``[sources]`` once."""
    found = {(s.file, s.key): s for environment in environments for s in environment.sources}
    return [found[key] for key in sorted(found)]
