"""Which packages come from another index, where a project says so: ``[sources]`` and ``[indexes]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lockgrid.core.init.follow import RequirementsFile
from lockgrid.core.init.pyproject import ProjectFile
from lockgrid.core.init.values import Collected, Draft, Note, Place
from lockgrid.core.merge import INDEX
from lockgrid.core.targets import marker_applies
from lockgrid.model.target import Target

_GENERIC = ("simple", "whl", "index", "pypi", "packages", "")


@dataclass(frozen=True, slots=True)
class Other:
    """An index besides the usual one, and where it is named. ``url`` holds no credentials."""

    name: str
    url: str
    place: Place


def is_local(requirement: Requirement) -> bool:
    """Whether a version with a local part is asked for, which the usual index takes from nobody."""
    return any("+" in specifier.version for specifier in requirement.specifier)


def other_indexes(files: Iterable[RequirementsFile], projects: Iterable[ProjectFile]) -> dict[str, Other]:
    """The indexes that ``--extra-index-url`` and ``[[tool.uv.index]]`` add, by a name that lockgrid takes."""
    found: dict[str, Other] = {}
    for project in projects:
        for name, url in project.indexes.items():
            bare = _bare(url)
            if bare and INDEX.fullmatch(name):
                found[name] = Other(name, bare, Place(project.file, key="tool.uv.index"))
    for file in files:
        for entry in file.entries:
            for url in entry.values("--extra-index-url"):
                bare = _bare(url)
                # What a variable holds is no business of a file that is committed.
                if bare and not entry.variables and bare not in [other.url for other in found.values()]:
                    name = _free(_called(bare), found)
                    found[name] = Other(name, bare, Place(file.path, entry.line))
    return found


def _bare(url: str) -> str:
    """The URL without credentials; empty for what is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    if not host or "$" in url or any(character.isspace() for character in url):
        return ""
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _called(url: str) -> str:
    """``https://download.index.example/whl/cpu`` is ``index-cpu``."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").split(".")
    words = [labels[-2] if len(labels) > 1 else labels[0]]
    words += [part for part in parts.path.split("/") if part not in _GENERIC][-1:]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(words))


def _free(name: str, known: Mapping[str, object]) -> str:
    number = 2
    wish = name
    while name in known:
        name = f"{wish}-{number}"
        number += 1
    return name


def add_sources(
    drafts: Sequence[Draft],
    others: Mapping[str, Other],
    projects: Iterable[ProjectFile],
    targets: Sequence[Target],
    out: Collected,
) -> list[Other]:
    """Give drafts their ``[sources]``, and return the indexes that these name.

    uv's sources say it. Besides, a local version is of another index for certain: where there is but one, of that.
    """
    used: dict[str, Other] = {}
    for project in projects:
        for package, rows in project.sources.items():
            for index, marker, place in rows:
                keys = _keys(package, marker, targets)
                asking = [draft for draft in drafts if _asks(draft, package)]
                if index not in others or keys is None or not asking:
                    _lost(package, index, place, others, out, keys=keys)
                    continue
                used[index] = others[index]
                for draft in asking:
                    draft.packages |= dict.fromkeys(keys, index)
    if len(others) == 1:
        (only,) = others.values()
        for draft in drafts:
            for requirement in [one.requirement for one in draft.requires if is_local(one.requirement)]:
                name = canonicalize_name(requirement.name)
                keys = _keys(name, str(requirement.marker or ""), targets, somewhere=True)
                if keys and not any(key.partition("@")[0] == name for key in draft.packages if "@" not in key):
                    draft.packages |= dict.fromkeys(keys, only.name)
                    used[only.name] = only
    for draft in drafts:
        _local_without_source(draft, others, targets, out)
    for other in others.values():
        if other.name in used:
            what = f"is index {other.name!r} of envs/targets.toml: only packages under [sources] come from it"
            hint = "say dateless = true there if it tells no upload times; credentials are uv's to know"
        else:
            what = "is not carried over: a package comes from another index only where [sources] says so"
            hint = f'add {other.name} = "{other.url}" under [indexes] in envs/targets.toml, and name = "{other.name}" '
            hint += "under [sources] of an environment for each package: docs/envs.md"
        out.notes.append(Note(other.place, other.url, what, hint))
    return list(used.values())


def _local_without_source(draft: Draft, others: Mapping[str, Other], targets: Sequence[Target], out: Collected) -> None:
    """Note the local versions for which nobody says where they are from: no lock would find them."""
    for one in draft.requires:
        name = canonicalize_name(one.requirement.name)
        keys = _keys(name, str(one.requirement.marker or ""), targets, somewhere=True)
        if not keys or not is_local(one.requirement) or any(key in draft.packages for key in (name, *keys)):
            continue
        what = "a version with a local part is on an index of its own, and "
        what += "several are named" if others else "none is named"
        index = f"{next(iter(others))} or another of them" if others else "that index, named under [indexes]"
        lines = ", ".join(f'{_toml_key(key)} = "..."' for key in keys)
        out.notes.append(Note(one.place, str(one.requirement), what, f"write {lines} under [sources], with {index}"))


def _toml_key(key: str) -> str:
    return f'"{key}"' if "@" in key else key


def _asks(draft: Draft, package: str) -> bool:
    return any(canonicalize_name(one.requirement.name) == package for one in draft.requires)


def _keys(package: str, marker: str, targets: Sequence[Target], *, somewhere: bool = False) -> list[str] | None:
    """The keys of ``[sources]`` for where a marker holds; None where it holds for some Pythons of a platform only.

    ``somewhere``: one Python of a platform is enough.
    """
    if not marker:
        return [package]
    held: dict[str, list[bool]] = {}
    for target in targets:
        held.setdefault(target.platform.name, []).append(marker_applies(marker, target))
    if not somewhere and any(any(row) and not all(row) for row in held.values()):
        return None
    where = [platform for platform, row in held.items() if any(row)]
    return [package] if len(where) == len(held) else [f"{package}@{platform}" for platform in where]


def _lost(package: str, index: str, place: Place, others: Mapping[str, Other], out: Collected, *, keys: object) -> None:
    if index not in others:
        what, hint = f"is not carried over: no URL is known of index {index!r}", "name it under [indexes]"
    elif keys is None:
        what, hint = "is not carried over: [sources] knows platforms and no Pythons", "see docs/envs.md, [sources]"
    else:
        what, hint = f"is not carried over: no environment requires {package} itself", ""
    out.notes.append(Note(place, f"index = {index}", what, hint))
