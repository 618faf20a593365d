"""What is true: the version or commit that a pin's copies have to repeat."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.utils import canonicalize_name

from lockgrid.core.pins.places import find_place
from lockgrid.core.pins.requirements import requirement_name
from lockgrid.core.pins.text import PlaceError, Text
from lockgrid.core.pins.versions import FULL_COMMIT, read_truth
from lockgrid.core.table import nearest
from lockgrid.model.grid import Lockfile
from lockgrid.model.pins import FileTruth, GitTruth, LiteralTruth, PackageTruth, Source, Truth

#: A file by whether it is one of the tree, and its path there.
FileKey = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that is read: lockfiles by environment and platform, the texts of ``envs/`` by path, other files.

    A file is a text, or a word on why it cannot be read. Files that are one file are one ``Text``.
    """

    locks: Mapping[tuple[str, str], Lockfile] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[FileKey, Text | str] = field(default_factory=dict)


class TruthError(Exception):
    """A truth that cannot be told, and why."""


def find_truth(source: Source, world: World) -> Truth:
    """The truth. Raises ``TruthError``."""
    if isinstance(source, PackageTruth):
        return _package(source, world.locks)
    if isinstance(source, FileTruth):
        return _file(source, world)
    if isinstance(source, GitTruth):
        return _git(source, world.environments)
    return _known(source, "")


def _known(source: LiteralTruth, origin: str) -> Truth:
    truth = read_truth(source.value, origin or "pins.toml")
    if truth is None:
        raise TruthError(f"{source.value!r} is neither a version nor a commit")
    return truth


def _file(source: FileTruth, world: World) -> Truth:
    text = world.files[source.in_tree, source.file]
    if isinstance(text, str):
        raise TruthError(f"{source.file}: {text}")
    try:
        place = find_place(text, source.match)
    except PlaceError as error:
        where = f"{source.file}:{text.position(error.at)[0]}" if error.at >= 0 else source.file
        raise TruthError(f"{where}: {error.what}") from error
    line, _ = text.position(place.start)
    truth = None if place.wildcard else read_truth(place.text, f"{source.file}:{line}")
    if truth is None:
        raise TruthError(f"{source.file}:{line}: {place.text!r} is neither a version (PEP 440) nor a commit")
    return truth


def _package(source: PackageTruth, locks: Mapping[tuple[str, str], Lockfile]) -> Truth:
    """The one version of all cells that are meant; cells that do not pin the package do not count."""
    _refuse_unknown(source, locks)
    found: dict[str, dict[str, set[str]]] = {}  # versions, environments, platforms
    askers: set[str] = set()
    for (environment, platform), lockfile in locks.items():
        if source.environment not in ("", environment) or source.platform not in ("", platform):
            continue
        for pin in lockfile.named(source.package):
            if source.python and source.python not in pin.pythons:
                continue
            asked = [via for via in pin.via if source.required_by and requirement_name(via) == source.required_by]
            if source.required_by and not asked:
                continue
            askers.update(_without_extras(via) for via in asked)
            found.setdefault(pin.version, {}).setdefault(environment, set()).add(platform)
    if not found:
        raise TruthError(_nothing(source, locks))
    if len(found) > 1:
        said = "; ".join(f"{version} in {_places(where)}" for version, where in sorted(found.items()))
        raise TruthError(f"the grid pins {source.package} as {said}: name an environment, a platform or a python")
    ((version, where),) = found.items()
    by = f", which {', '.join(sorted(askers))} asks for" if askers else ""
    return Truth(version, f"locks/ of {', '.join(sorted(where))}{by}")


def _without_extras(via: str) -> str:
    head, bracket, rest = via.partition("[")
    return head + rest.partition("]")[2] if bracket else via


def _places(where: Mapping[str, set[str]]) -> str:
    return ", ".join(f"{environment} ({' '.join(sorted(platforms))})" for environment, platforms in where.items())


def _refuse_unknown(source: PackageTruth, locks: Mapping[tuple[str, str], Lockfile]) -> None:
    pythons = {python for lockfile in locks.values() for python in lockfile.pythons}
    words: list[tuple[str, str, Iterable[str]]] = [
        ("environment", source.environment, {environment for environment, _ in locks}),
        ("platform", source.platform, {platform for _, platform in locks}),
        ("python", source.python, pythons),
    ]
    for what, word, known in words:
        if word and word not in set(known):
            raise TruthError(f"locks/ has no {what} {word!r} ({nearest(word, known)})")


def _nothing(source: PackageTruth, locks: Mapping[tuple[str, str], Lockfile]) -> str:
    names = {pin.name for lockfile in locks.values() for pin in lockfile.pins}
    if not locks:
        return "there are no lockfiles: run `lockgrid lock`"
    if source.package not in names:
        return f"no lockfile pins {source.package} ({nearest(source.package, names)})"
    asked = f" because {source.required_by} asks for it" if source.required_by else ""
    return f"no cell that is meant pins {source.package}{asked}"


def _git(source: GitTruth, environments: Mapping[str, str]) -> Truth:
    """The ``rev`` of a git source, of one environment or of all that have it."""
    found: dict[str, list[str]] = {}
    names: set[str] = set()
    for path, text in sorted(environments.items()):
        stem = path.rpartition("/")[2].removesuffix(".toml")
        if stem == "targets" or source.environment not in ("", stem):
            continue
        for file, name, entry in _git_entries(path, text, environments, frozenset()):
            names.add(name)
            if canonicalize_name(name) == canonicalize_name(source.source):
                rev = entry.get("rev") if isinstance(entry, dict) else None
                if not isinstance(rev, str) or not FULL_COMMIT.fullmatch(rev):
                    raise TruthError(f"{file}: git.{name}.rev is no full commit")
                found.setdefault(rev.lower(), []).append(file)
                break  # the nearest file wins
    if not found:
        of = f"of {source.environment}" if source.environment else "in envs/"
        raise TruthError(f"there is no git source {source.source!r} {of} ({nearest(source.source, names)})")
    if len(found) > 1:
        said = "; ".join(f"{rev[:12]} in {', '.join(dict.fromkeys(files))}" for rev, files in found.items())
        raise TruthError(f"the git source {source.source} is {said}: name an environment")
    ((rev, files),) = found.items()
    return Truth(rev, ", ".join(dict.fromkeys(files)), commit=True)


def _git_entries(
    path: str, text: str, environments: Mapping[str, str], seen: frozenset[str]
) -> Iterable[tuple[str, str, Any]]:
    """The git sources of an environment's file, then those of its bases."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TruthError(f"{path}: broken TOML: {error}") from error
    table = data.get("git")
    for name, entry in table.items() if isinstance(table, dict) else ():
        yield path, name, entry
    bases = data.get("extends")
    for base in bases if isinstance(bases, list) else ():
        below = f"envs/{base}.toml"
        if below in environments and below not in seen:
            yield from _git_entries(below, environments[below], environments, seen | {path, below})
