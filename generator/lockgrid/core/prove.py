"""Proofs 2 and 3 of a cell (closure and index); proof 1, the tags, is what ``core.select`` could not serve.

Every failure is a ``Blocker``; a cell with none is proven.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from packaging.specifiers import InvalidSpecifier
from packaging.utils import canonicalize_name
from packaging.version import Version

from lockgrid.core.candidates import (
    Facts,
    at_index,
    index_refusal,
    matching_versions,
    serving_versions,
)
from lockgrid.core.describe import why_not
from lockgrid.core.requirement import Demand, admits, demand, parse_demand
from lockgrid.core.select import Selection
from lockgrid.core.targets import admits_python, forbidden_marker, marker_applies
from lockgrid.errors import HashMismatchError
from lockgrid.model.grid import Blocker, Pin, Proof
from lockgrid.model.index import DistMetadata, IndexFile
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


@dataclass(slots=True)
class Closure:
    """The outcome of proof 2: what failed, and who asks for each pin (``via``).

    ``hopeless`` are the versions that no resolution should offer the target again: uv does not look at the
    upper bound of a ``Requires-Python``. ``unmet`` are packages that are asked for and have no pin, ``extras``
    what is asked of overridden packages.
    """

    blockers: list[Blocker] = field(default_factory=list)
    hopeless: list[tuple[str, str]] = field(default_factory=list)
    via: dict[str, dict[str, None]] = field(default_factory=dict)
    unmet: set[str] = field(default_factory=set)
    extras: dict[str, set[str]] = field(default_factory=dict)


def prove_tags(
    environment: Environment, target: Target, selection: Selection, facts: Facts
) -> tuple[list[Blocker], list[tuple[str, str]]]:
    """Proof 1. Also returns the versions that no resolution should offer this target again."""
    blockers = [
        Blocker(proof=Proof.RESOLUTION, package=environment.name, exists=conflict, missing="one version for the target")
        for conflict in selection.conflicts
    ]
    hopeless = []
    for name, version in selection.unservable:
        allowed = name in environment.sdists
        project = environment.project(name, target)
        proof, exists, missing = why_not(project, [Version(version)], target, facts, sdist_allowed=allowed)
        blockers.append(
            Blocker(
                proof=proof,
                package=f"{name}=={version}",
                exists=exists + at_index(project),
                missing=missing,
                serves=serving_versions(project, target, facts, sdist_allowed=allowed),
            )
        )
        hopeless.append((name, version))
    return blockers, hopeless


def prove_index(pins: Sequence[Pin], facts: Facts) -> tuple[list[Blocker], list[tuple[str, str]]]:
    """Proof 3: every file is listed with the hash that uv saw, not yanked, not quarantined, before the cut-off.

    Also returns the versions to offer no more. Raises ``HashMismatchError`` when the page and uv disagree
    on a file's sha256: one of them was lied to.
    """
    blockers = []
    hopeless = []
    for pin in pins:
        page = facts.pages[pin.project]
        reason = ""
        if page.quarantined:
            reason = "is quarantined by the index"
        else:
            listed = facts.file(pin.project, pin.version, pin.file.filename)
            if listed is None:
                reason = f"is no longer on the index ({pin.file.filename})"
            elif listed.sha256 != pin.file.sha256:
                raise HashMismatchError(
                    f"uv saw sha256 {pin.file.sha256} and the index's page says {listed.sha256 or 'nothing'}",
                    where=pin.file.filename,
                    next_step="find out which is right; if uv's cache is old, run `uv cache clean " + pin.name + "`",
                )
            elif refused := index_refusal(listed, facts, pin.project):
                reason = refused.reason
        if reason:
            blockers.append(
                Blocker(
                    proof=Proof.INDEX,
                    package=f"{pin.name}=={pin.version}",
                    exists=reason + at_index(pin.project),
                    missing="a file in good standing",
                )
            )
            hopeless.append((pin.name, pin.version))
    return blockers, hopeless


def prove_closure(environment: Environment, target: Target, pins: Sequence[Pin], facts: Facts) -> Closure:
    """Proof 2, from the METADATA of the very files that the cell installs (``facts.metadata``).

    Every requirement that applies is met by a pin, every extra asked for exists, every ``Requires-Python``
    admits the target.
    """
    walk = _Walk(environment, target, pins, facts)
    walk.run()
    return walk.result


class _Walk:
    """Walks the requirements of one cell from what the environment declares, breadth first."""

    def __init__(self, environment: Environment, target: Target, pins: Sequence[Pin], facts: Facts) -> None:
        self.environment = environment
        self.target = target
        self.pins = {pin.name: pin for pin in pins}
        self.facts = facts
        self.result = Closure(via={pin.name: {} for pin in pins})
        self.queue: deque[tuple[str, frozenset[str]]] = deque()

    def run(self) -> None:
        """Fill ``result``."""
        for declared in self.environment.requires:
            if _applies(demand(declared.requirement), self.target, frozenset()):
                self._follow(demand(declared.requirement), declared.file)
        done: set[tuple[str, frozenset[str]]] = set()
        while self.queue:
            item = self.queue.popleft()
            if item not in done:
                done.add(item)
                self._expand(*item)
        for pin in (pin for name, pin in self.pins.items() if self.result.via[name]):
            specifier = self.facts.metadata[pin.file.sha256].requires_python
            if specifier and not _admits(specifier, self.target):
                self.result.hopeless.append((pin.name, pin.version))
                exists = f"requires Python {specifier}"
                self._fail(f"{pin.name}=={pin.version}", exists, f"a release for every Python {self.target.python}")

    def _expand(self, name: str, extras: frozenset[str]) -> None:
        """Follow what a pin requires when ``extras`` are asked of it."""
        pin = self.pins[name]
        metadata = self.facts.metadata[pin.file.sha256]
        label = f"{name}[{','.join(sorted(extras))}]=={pin.version}" if extras else f"{name}=={pin.version}"
        for requirement in applicable(metadata, self.target, extras):
            self._follow(requirement, label)
        for line in broken_lines(metadata, self.target, extras):
            self._fail(label, line, "valid metadata")

    def _fail(self, package: str, exists: str, missing: str, by: str = "", serves: tuple[str, ...] = ()) -> None:
        self.result.blockers.append(
            Blocker(
                proof=Proof.CLOSURE,
                package=package,
                required_by=(by,) if by else (),
                exists=exists,
                missing=missing,
                serves=serves,
            )
        )

    def _follow(self, demanded: Demand, by: str) -> None:
        """Check one requirement against the pins and queue what it leads to."""
        name = demanded.name
        override = self.environment.override(name)
        specifier = override.specifier if override else demanded.specifier
        pin = self.pins.get(name)
        if pin is None:
            self.result.unmet.add(name)
            serves = _served(self.environment.project(name, self.target), specifier, self.facts)
            self._fail(f"{name}{specifier}", "is met by no pin", "a pin", by, serves)
            return
        self.result.via[name][by] = None
        if not admits(specifier, pin.version):
            exists = f"is not met by the pin {name}=={pin.version}"
            self._fail(f"{name}{specifier}", exists, "a pin that meets it", by)
            return
        metadata = self.facts.metadata[pin.file.sha256]
        asked = demanded.extras
        if override and asked:
            self.result.extras.setdefault(name, set()).update(asked)
        unknown = sorted(asked - {canonicalize_name(extra) for extra in metadata.provides_extra})
        if unknown:
            provided = ", ".join(sorted(metadata.provides_extra)) or "none"
            exists = f"has no such extra; it provides {provided}"
            self._fail(f"{name}[{','.join(unknown)}]=={pin.version}", exists, "the extra", by)
        self.queue.append((name, frozenset()))
        if asked:
            self.queue.append((name, asked))


def _admits(specifier: str, target: Target) -> bool:
    try:
        return admits_python(specifier, target)
    except InvalidSpecifier:
        return False


@cache
def applicable(metadata: DistMetadata, target: Target, extras: frozenset[str]) -> tuple[Demand, ...]:
    """The valid ``Requires-Dist`` lines that apply on the target when ``extras`` are asked for."""
    return tuple(
        demanded
        for line in metadata.requires_dist
        if (demanded := parse_demand(line)) and _applies(demanded, target, extras)
    )


def _applies(demanded: Demand, target: Target, extras: frozenset[str]) -> bool:
    return not demanded.marker or marker_applies(demanded.marker, target, extras)


@cache
def broken_lines(metadata: DistMetadata, target: Target, extras: frozenset[str]) -> tuple[str, ...]:
    """What no cell can be proven with: lines that are not PEP 508, URLs, markers that no target answers."""
    said = []
    for line in metadata.requires_dist:
        demanded = parse_demand(line)
        if demanded is None:
            said.append(f"has the invalid requirement {line!r}")
        elif forbidden_marker(demanded.marker):
            said.append(f"requires {line!r}, whose marker no target fixes")
        elif demanded.url and _applies(demanded, target, extras):
            said.append(f"requires {demanded.name} from a URL, which no lockfile holds")
    return tuple(said)


def _served(name: str, specifier: str, facts: Facts) -> tuple[str, ...]:
    if name not in facts.pages or facts.pages[name].missing:
        return ()
    return tuple(str(v) for v in matching_versions(name, frozenset({specifier}), facts)[-3:])


def unneeded(closure: Closure) -> list[str]:
    """Pins that nothing in the cell asks for."""
    return sorted(name for name, by in closure.via.items() if not by)


def listed_file(pin: Pin, facts: Facts) -> IndexFile:
    """The file of a pin as the index's page lists it: what uv exported, with what only the page knows."""
    return facts.file(pin.project, pin.version, pin.file.filename) or pin.file
