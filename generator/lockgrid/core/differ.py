"""Why two environments cannot share a resolution: the packages over which they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.utils import canonicalize_name

from lockgrid.core.candidates import Facts, installable, matching_versions
from lockgrid.core.prove import applicable
from lockgrid.core.requirement import admits
from lockgrid.core.select import Selection
from lockgrid.core.targets import marker_applies
from lockgrid.model.grid import ProvenCell
from lockgrid.model.spec import Cell, Environment
from lockgrid.model.target import Target


def differ_over(
    one: tuple[Environment, Sequence[ProvenCell]], other: tuple[Environment, Sequence[ProvenCell]], facts: Facts
) -> list[str]:
    """Sentences, one a package that both need in versions that the other cannot have, sorted.

    Both environments have been resolved alone. Where no requirement rules the other's version out, the
    packages that came out differently are named all the same.
    """
    theirs = {cell.target: cell for cell in other[1]}
    hard: dict[str, str] = {}
    soft: dict[str, str] = {}
    for cell in one[1]:
        match = theirs.get(cell.target)
        if match is None:
            continue
        versions = {pin.name: pin.version for pin in match.pins}
        asked, asked_there = _specifiers(one[0], cell, facts), _specifiers(other[0], match, facts)
        for pin in cell.pins:
            rival = versions.get(pin.name)
            if rival is None or rival == pin.version:
                continue
            sentence = f"{pin.name} ({one[0].name}: {pin.version}, {other[0].name}: {rival})"
            clash = _excludes(asked, pin.name, rival) and _excludes(asked_there, pin.name, pin.version)
            (hard if clash else soft).setdefault(pin.name, sentence)
    chosen = hard or soft
    return [chosen[name] for name in sorted(chosen)]


def apart_over(
    earlier: Sequence[tuple[Environment, Sequence[ProvenCell]]],
    later: Sequence[tuple[Environment, Sequence[ProvenCell]]],
    facts: Facts,
) -> list[str]:
    """A sentence for each environment of one resolution with each of another: over what they are locked apart."""
    said = []
    for one in earlier:
        for other in later:
            over = "; ".join(differ_over(one, other, facts)[:5]) or "their overrides or sdists"
            said.append(f"{one[0].name} and {other[0].name} are locked apart: they differ over {over}")
    return said


def _excludes(specifiers: dict[str, set[str]], name: str, version: str) -> bool:
    return not all(admits(specifier, version) for specifier in specifiers.get(name, ()))


def _specifiers(environment: Environment, cell: ProvenCell, facts: Facts) -> dict[str, set[str]]:
    """Everything that a cell asks of each package. Extras are taken from who asks (``via``)."""
    asked: dict[str, set[str]] = {}

    def add(name: str, specifier: str) -> None:
        override = environment.override(name)
        asked.setdefault(name, set()).add(override.specifier if override else specifier)

    for declared in environment.requires:
        requirement = declared.requirement
        if requirement.marker is None or marker_applies(str(requirement.marker), cell.target):
            add(canonicalize_name(requirement.name), str(requirement.specifier))
    for pin in cell.pins:
        metadata = facts.metadata.get(pin.file.sha256)  # of a sdist it may not be at hand: then it explains nothing
        for extras in _asked_extras(pin.name, cell.via) if metadata else ():
            for demanded in applicable(metadata, cell.target, extras):
                add(demanded.name, demanded.specifier)
    return asked


def _asked_extras(name: str, via: Iterable[tuple[str, tuple[str, ...]]]) -> set[frozenset[str]]:
    """The sets of extras with which ``name`` stands as a requirer, the empty set among them."""
    found = {frozenset[str]()}
    for _, requirers in via:
        for requirer in requirers:
            head = requirer.partition("==")[0]
            package, bracket, extras = head.partition("[")
            if package == name and bracket:
                found.add(frozenset(extras.rstrip("]").split(",")))
    return found


def received_exceptions(
    environments: Sequence[Environment], selections: Mapping[Cell, Selection]
) -> list[list[Environment]]:
    """The environments in sets that may share a resolution as far as overrides and sdists go.

    For uv these hold for a whole resolution: an environment that would receive an overridden package, or a
    sdist, without having asked for that exception belongs into another set. One set when all is well.
    """
    received: dict[str, set[str]] = {environment.name: set() for environment in environments}
    for (name, _), selection in selections.items():
        received[name].update(pin.name for pin in selection.pins)
        received[name].update(package for package, _ in selection.unservable)
    sets: list[list[Environment]] = []
    for environment in environments:
        for members in sets:
            if all(_may_share(environment, member, received) for member in members):
                members.append(environment)
                break
        else:
            sets.append([environment])
    return sets


def differing_sources(one: Environment, other: Environment) -> list[str]:
    """The packages that two environments take from different indexes, as ``torch on linux-x86_64``, sorted.

    For uv a source holds for a whole resolution. Platforms that only one of them has do not matter.
    """
    mine, theirs = ({(s.name, s.platform): s.index for s in e.sources} for e in (one, other))
    shared = {t.platform.name for t in one.targets} & {t.platform.name for t in other.targets}
    keys = sorted(key for key in {*mine, *theirs} if key[1] in shared and mine.get(key) != theirs.get(key))
    return [f"{name} on {platform}" for name, platform in keys]


def by_sources(environments: Sequence[Environment]) -> list[list[Environment]]:
    """The environments in sets that take every package from the same index, in order; one set when all do."""
    sets: list[list[Environment]] = []
    for environment in environments:
        for members in sets:
            if not any(differing_sources(member, environment) for member in members):
                members.append(environment)
                break
        else:
            sets.append([environment])
    return sets


def unshareable(environment: Environment, targets: Iterable[Target], facts: Facts) -> str:
    """The package over whose override the environment must stand apart from the start, empty when there is none.

    Where the overriding version cannot be installed, uv would lead others around it to older releases that do
    not need the package: they would be bent and not even hold it.
    """
    for override in environment.overrides:
        allowed = override.name in environment.sdists
        for target in targets:
            project = environment.project(override.name, target)
            versions = matching_versions(project, frozenset({override.specifier}), facts)
            if not installable(project, versions, target, facts, sdist_allowed=allowed, enough=1):
                return override.name
    return ""


def _may_share(one: Environment, other: Environment, received: Mapping[str, set[str]]) -> bool:
    return not (_bent(one, other, received[one.name]) or _bent(other, one, received[other.name]))


def _bent(subject: Environment, rival: Environment, present: set[str]) -> bool:
    """Whether an exception of ``rival`` reaches what ``subject`` received, and is none of its own."""
    for override in rival.overrides:
        mine = subject.override(override.name)
        if override.name in present and (mine is None or mine.specifier != override.specifier):
            return True
    return any(name in present and name not in subject.sdists for name in rival.sdists)
