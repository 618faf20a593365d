"""The project that uv is asked to lock: a group of environments over the cells that they may have.

Each environment is one extra. Its requirements carry a marker where it has fewer cells than the group, so
a cell that cannot be installed never bends the pins of the cells that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import tomlkit
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lockgrid.core.anchor import source_constraints, source_settings, sources_of
from lockgrid.core.targets import platform_markers, targets_marker
from lockgrid.core.undated import Undated
from lockgrid.model.spec import Domain, Environment, Override
from lockgrid.model.target import Target, python_key

PROJECT = "lockgrid-resolution"
# uv wants a lower bound that its own interpreter meets; lockgrid runs on this Python or newer. Which
# Pythons are really meant stands in `environments`, so the bound does not show in the result.
_OLDEST_HOST = (3, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A fact for uv: on these targets no file of this version can be installed (or may be)."""

    name: str
    version: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A pin to keep where nothing speaks against it."""

    name: str
    version: str
    targets: tuple[Target, ...]
    index: str = ""  # its name, where [sources] names one


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One resolution: the environments with the targets to lock for each, and what is already known.

    ``split`` makes uv look at each Python by itself from the start. By itself it forks only where a
    requirement or a Requires-Python makes it, and then may find no version that serves a run of Pythons
    though each of them has one. ``override_extras`` are the extras that packages ask of overridden ones, and
    ``spared`` the targets on which nothing asks for an overridden package. ``absent`` are the targets for which
    the index that ``[sources]`` names for a package has no file of it. The environments agree on their sources.
    ``cutoffs`` are of packages that have another than ``cutoff``; None: uv is not to look at their upload times.
    ``undated`` are packages of whose files some have no such time.
    """

    environments: tuple[Environment, ...]
    domain: tuple[tuple[str, tuple[Target, ...]], ...]
    cutoff: datetime
    exclusions: tuple[Exclusion, ...] = ()
    preferences: tuple[Preference, ...] = ()
    split: bool = False
    override_extras: tuple[tuple[str, tuple[str, ...]], ...] = ()
    spared: tuple[tuple[str, tuple[Target, ...]], ...] = ()
    absent: tuple[tuple[str, tuple[Target, ...]], ...] = ()
    undated: tuple[Undated, ...] = ()
    cutoffs: tuple[tuple[str, datetime | None], ...] = ()

    @property
    def all_domain(self) -> Domain:
        """The environments with the targets to lock for each."""
        return [(environment, self.targets(environment.name)) for environment in self.environments]

    def environment(self, name: str) -> Environment:
        """One of the environments."""
        return next(environment for environment in self.environments if environment.name == name)

    def cells(self) -> Iterator[tuple[Environment, Target]]:
        """Every cell to lock, in order."""
        for environment in self.environments:
            for target in self.targets(environment.name):
                yield environment, target

    def part(
        self,
        environments: Sequence[Environment],
        targets: tuple[Target, ...] | None = None,
        preferences: tuple[Preference, ...] = (),
    ) -> Request:
        """A request over some of the environments, on the same targets or fewer, with what is known of the index."""
        domain = tuple((e.name, self.targets(e.name) if targets is None else targets) for e in environments)
        return replace(self, environments=tuple(environments), domain=domain, preferences=preferences, split=False)

    def with_extras(self, asked: Mapping[str, Iterable[str]]) -> Request:
        """The same with these extras, too, asked of overridden packages: an override of uv's replaces them."""
        known = {name: set(extras) for name, extras in self.override_extras}
        for name, extras in asked.items():
            known.setdefault(name, set()).update(extras)
        rows = tuple((name, tuple(sorted(extras))) for name, extras in sorted(known.items()))
        return replace(self, override_extras=rows)

    def sparing(self, names: Iterable[str], targets: Iterable[Target]) -> Request:
        """The same without these overridden packages on the targets, further to those that are spared them already."""
        known = {name: set(found) for name, found in self.spared}
        for name in names:
            known.setdefault(name, set()).update(targets)
        rows = ((name, tuple(sorted(found, key=lambda t: t.sort_key))) for name, found in sorted(known.items()))
        return replace(self, spared=tuple(rows))

    def targets(self, environment: str) -> tuple[Target, ...]:
        """The targets to lock for one environment."""
        return dict(self.domain)[environment]

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """The union over the environments, in order."""
        union = {target for _, targets in self.domain for target in targets}
        return tuple(sorted(union, key=lambda t: t.sort_key))


def project_toml(request: Request, indexes: Sequence[Mapping[str, object]] = ()) -> str:
    """The ``pyproject.toml`` to lock. ``indexes`` are the tables of those that ``[sources]`` may name."""
    everything = request.all_targets
    lower = min([_OLDEST_HOST, *(python_key(t.python) for t in everything)])
    extras: dict[str, list[str]] = {
        environment.extra: _requirements(environment, request.targets(environment.name), everything)
        for environment in request.environments
    }
    overrides = {o.name: _override(e, o, request) for e in request.environments for o in e.overrides}
    constraints = [f"{h.name}{h.specifier}" for e in request.environments for h in e.holds]
    for exclusion in request.exclusions:
        marker = targets_marker(exclusion.targets, everything)
        constraints.append(f"{exclusion.name}!={exclusion.version}" + (f" ; {marker}" if marker else ""))
    constraints += _undated_constraints(request)
    sourced = sources_of(request)
    constraints += source_constraints(request, sourced)
    document = {
        "project": {
            "name": PROJECT,
            "version": "0",
            "requires-python": f">={lower[0]}.{lower[1]}",
            "optional-dependencies": extras,
        },
        "tool": {
            "uv": {
                "package": False,
                "environments": [m for row in _rows(request) for m in platform_markers(row)],
                "override-dependencies": [overrides[name] for name in sorted(overrides)],
                "constraint-dependencies": sorted(set(constraints)),
                **(source_settings(request, sourced, indexes) if sourced else {}),
            }
        },
    }
    return tomlkit.dumps(document)


def _undated_constraints(request: Request) -> Iterator[str]:
    everything = request.all_targets
    for one in request.undated:
        targets = [target for target in one.targets if target in everything]
        if one.specifier and targets:
            marker = targets_marker(targets, everything)
            yield f"{one.name}{one.specifier}" + (f" ; {marker}" if marker else "")


def _override(environment: Environment, override: Override, request: Request) -> str:
    """The override for uv, which puts it in the place of the whole requirement: extras and marker are lost."""
    name = override.name
    asked = set(dict(request.override_extras).get(name, ())) | {
        extra
        for declared in environment.requires
        if canonicalize_name(declared.requirement.name) == name
        for extra in map(canonicalize_name, declared.requirement.extras)
    }
    extras = f"[{','.join(sorted(asked))}]" if asked else ""
    everything = request.all_targets
    spared = set(dict(request.spared).get(name, ()))
    marker = targets_marker([target for target in everything if target not in spared], everything)
    return f"{name}{extras}{override.specifier}" + (f" ; {marker}" if marker else "")


def _rows(request: Request) -> list[list[Target]]:
    """The targets in the sets that uv is to look at together."""
    everything = list(request.all_targets)
    if not request.split:
        return [everything]
    pythons = sorted({target.python for target in everything}, key=python_key)
    return [[target for target in everything if target.python == python] for python in pythons]


def _requirements(environment: Environment, targets: tuple[Target, ...], everything: tuple[Target, ...]) -> list[str]:
    gate = targets_marker(targets, everything)
    return [gated(declared.requirement, gate) for declared in environment.requires]


def gated(requirement: Requirement, gate: str) -> str:
    """A requirement that holds only where the marker ``gate`` does; as it is where that is empty."""
    if not gate:
        return str(requirement)
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f"({requirement.marker}) and ({gate})" if requirement.marker else gate
    return f"{requirement.name}{extras}{requirement.specifier} ; {marker}"


def resolver_settings(request: Request, sdists: Sequence[str]) -> dict[str, object]:
    """What uv's configuration must say beside the way to the index: the policy of a lock.

    Wheels only but for ``sdists``, no pre-release that no requirement names, nothing newer than the cut-off.
    For uv, a package that may be built must be: ``sdists`` are those named that have a sdist at all.
    """
    packages = _exclude_newer_package(request)
    return {
        "no-build": True,
        "no-binary-package": list(sdists),
        "prerelease": "explicit",
        "exclude-newer": timestamp(request.cutoff),
        **({"exclude-newer-package": packages} if packages else {}),
    }


def _exclude_newer_package(request: Request) -> dict[str, str | bool]:
    """The cut-offs of single packages as uv takes them; False for none at all."""
    names = {s.name for e in request.environments for s in e.sources if s.dateless} | {u.name for u in request.undated}
    own = {name: timestamp(moment) if moment else False for name, moment in request.cutoffs}
    return own | dict.fromkeys(sorted(names), False)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def preferences_lock(request: Request, urls: Mapping[str, str]) -> str:
    """A ``uv.lock`` that holds nothing but the pins to prefer: what makes uv keep them.

    uv reads the versions out of an existing lock as preferences when its options agree with the request.
    ``urls`` are of the indexes by name, of uv's plain ones under the empty name.
    """
    everything = request.all_targets
    lower = min([_OLDEST_HOST, *(python_key(t.python) for t in everything)])
    packages: list[dict[str, object]] = []
    by_name: dict[str, list[Preference]] = {}
    for preference in request.preferences:
        by_name.setdefault(preference.name, []).append(preference)
    for name, choices in sorted(by_name.items()):
        for choice in sorted(choices, key=lambda p: (p.version, p.index)):
            entry: dict[str, object] = {
                "name": name,
                "version": choice.version,
                "source": {"registry": urls.get(choice.index, "")},
            }
            if len(choices) > 1:
                entry["resolution-markers"] = platform_markers(choice.targets)
            packages.append(entry)
    return tomlkit.dumps(
        {
            "version": 1,
            "revision": 3,
            "requires-python": f">={lower[0]}.{lower[1]}",
            "options": {
                "prerelease-mode": "explicit",
                "exclude-newer": timestamp(request.cutoff),
                **({"exclude-newer-package": own} if (own := _exclude_newer_package(request)) else {}),
            },
            "package": packages,
        }
    )


def exclude_all(name: str, versions: Iterable[str], targets: Iterable[Target]) -> list[Exclusion]:
    """An exclusion of each version on the same targets."""
    chosen = tuple(sorted(set(targets), key=lambda t: t.sort_key))
    return [Exclusion(name=name, version=version, targets=chosen) for version in versions]
