"""What a refresh does not take: updates that would lose a proven cell, and releases that ``envs/`` rules out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from lockgrid.core.candidates import Facts, best_file
from lockgrid.core.targets import marker_applies
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import CellRecord, OldLocks
from lockgrid.model.index import split_key
from lockgrid.model.spec import Environment, Hold, Override
from lockgrid.model.target import Target

_NAMED = re.compile(r"(?<![\w.-])([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([0-9][A-Za-z0-9.+!_-]*)")
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A release that is not taken, since a proven cell would be lost with it: ``because`` tells which cell, and why."""

    name: str
    version: str
    because: str

    @property
    def release(self) -> tuple[str, Version]:
        """What tells one from another, and their order."""
        return self.name, Version(self.version)


def loss_reasons(lost: Iterable[CellRecord]) -> list[str]:
    """What is said of cells that would be lost, each with its cell."""
    return [f"{c.environment} on {c.platform}, Python {c.python}: {b.text}" for c in lost for b in c.blockers]


def blamed(reasons: Iterable[str], old: OldLocks) -> list[HeldBack]:
    """The releases that the reasons name of packages which the old lockfiles pin in other versions; each once."""
    pinned: dict[str, set[str]] = {}
    for lockfile in old.values():
        for pin in lockfile.pins:
            pinned.setdefault(pin.name, set()).add(pin.version)
    found: dict[tuple[str, str], HeldBack] = {}
    for reason in reasons:
        for name, text in _NAMED.findall(reason):
            try:
                package, version = canonicalize_name(name), str(Version(text.rstrip(".-_+!")))
            except InvalidVersion:
                continue
            if version not in pinned.get(package, {version}):
                key = package, version
                found.setdefault(key, HeldBack(name=package, version=version, because=reason))
    return [found[key] for key in sorted(found)]


def without(cutoff: Cutoff, back: Iterable[HeldBack], facts: Facts) -> Cutoff:
    """The cut-offs under which these releases do not count: for each package the moment before the earliest file.

    The same cut-offs where a release has no upload time.
    """
    own = dict(cutoff.packages)
    for one in back:
        times = [
            file.uploaded
            for key in facts.pages
            if split_key(key)[0] == one.name
            for file in facts.release(key, Version(one.version))
            if file.uploaded
        ]
        if times:
            before = min(times).replace(microsecond=0) - _SECOND
            own[one.name] = min(before, own.get(one.name, cutoff.moment))
    return Cutoff(moment=cutoff.moment, packages=tuple(sorted(own.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A requirement, an override or a hold in ``envs/`` that rules out a release newer than what is locked.

    ``key`` is where in ``file`` it stands, ``text`` what it says, ``version`` the newest release that it rules out and
    ``released`` the upload of its first file, None where the index does not tell.
    """

    file: str
    key: str
    text: str
    package: str
    version: str
    released: datetime | None

    @property
    def sentence(self) -> str:
        """``envs/executorch.toml requires[1]: torch==2.13.0 holds back torch 2.14.0 (released 2026-11-12)``."""
        when = f" (released {self.released:%Y-%m-%d})" if self.released else ""
        return f"{self.file} {self.key}: {self.text} holds back {self.package} {self.version}{when}"


def bounds(environments: Sequence[Environment], old: OldLocks, facts: Facts) -> list[Bound]:
    """What ``envs/`` holds back beyond the lockfiles in ``old``, in order of file and key, each once.

    A release counts that some target of the environment can install a file of, that is old enough, and that is a
    pre-release only where what is asked for names one.
    """
    found: dict[tuple[str, str], Bound] = {}
    for environment in environments:
        locked = _locked(environment, old)
        for stated in _stated(environment):
            bound = _bound(environment, stated, locked.get(stated.name, ()), facts)
            known = found.get((stated.file, stated.key))
            if bound and (known is None or Version(known.version) < Version(bound.version)):
                found[stated.file, stated.key] = bound
    return [found[key] for key in sorted(found, key=lambda key: (key[0], _natural(key[1])))]


def _natural(key: str) -> list[object]:
    """``requires[10]`` after ``requires[9]``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """A bound that an environment states: where, of which package, and the targets that it is for."""

    file: str
    key: str
    text: str
    name: NormalizedName
    specifier: str
    targets: tuple[Target, ...]


def _stated(environment: Environment) -> Iterator[_Stated]:
    for declared in environment.requires:
        name, marker = canonicalize_name(declared.requirement.name), str(declared.requirement.marker or "")
        if environment.override(name) is None:
            yield _Stated(
                file=declared.file,
                key=declared.key,
                text=declared.text.partition(";")[0],
                name=name,
                specifier=str(declared.requirement.specifier),
                targets=tuple(t for t in environment.targets if not marker or marker_applies(marker, t)),
            )
    entries: tuple[tuple[str, Sequence[Override | Hold]], ...]
    entries = (("overrides", environment.overrides), ("hold", environment.holds))
    for table, entry in ((table, entry) for table, found in entries for entry in found):
        yield _Stated(
            file=entry.file,
            key=f"{table}.{entry.name}",
            text=f"{entry.name}{entry.specifier}",
            name=entry.name,
            specifier=entry.specifier,
            targets=environment.targets,
        )


def _locked(environment: Environment, old: OldLocks) -> dict[str, set[str]]:
    """The versions of each package that the environment's lockfiles pin."""
    found: dict[str, set[str]] = {}
    for (name, _), lockfile in old.items():
        for pin in lockfile.pins if name == environment.name else ():
            found.setdefault(pin.name, set()).add(pin.version)
    return found


def _bound(environment: Environment, stated: _Stated, locked: Iterable[str], facts: Facts) -> Bound | None:
    specifier = SpecifierSet(stated.specifier)
    newest = max(map(Version, locked), default=None)
    if newest is None or not len(specifier):
        return None
    allowed = stated.name in environment.sdists
    for key in sorted(environment.projects(stated.name) & facts.pages.keys()):
        targets = [t for t in stated.targets if environment.project(stated.name, t) == key]
        for version in reversed(facts.versions(key)):
            if version <= newest:
                break
            if version.is_prerelease and not specifier.prereleases:
                continue
            if not any(best_file(key, version, t, facts, sdist_allowed=allowed) for t in targets):
                continue
            if specifier.contains(version, prereleases=True):
                break  # it is taken now, or something else holds it back
            times = [f.uploaded for f in facts.release(key, version) if f.uploaded]
            return Bound(
                file=stated.file,
                key=stated.key,
                text=stated.text,
                package=stated.name,
                version=str(version),
                released=min(times, default=None),
            )
    return None
