"""The project that uv is asked to lock: a group of environments over the cells that they may have.

Each environment is one extra. Its requirements carry a marker where it has fewer cells than the group, so
a cell that cannot be installed never bends the pins of the cells that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import tomlkit
from packaging.utils import canonicalize_name

from lockgrid.core.targets import platform_markers, targets_marker
from lockgrid.model.spec import Environment
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One resolution: the environments with the targets to lock for each, and what is already known.

    ``split`` makes uv look at each Python by itself from the start. By itself it forks only where a
    requirement or a Requires-Python makes it, and then may find no version that serves a run of Pythons
    though each of them has one.
    """

    environments: tuple[Environment, ...]
    domain: tuple[tuple[str, tuple[Target, ...]], ...]
    cutoff: datetime
    exclusions: tuple[Exclusion, ...] = ()
    preferences: tuple[Preference, ...] = ()
    split: bool = False

    def targets(self, environment: str) -> tuple[Target, ...]:
        """The targets to lock for one environment."""
        return dict(self.domain)[environment]

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """The union over the environments, in order."""
        union = {target for _, targets in self.domain for target in targets}
        return tuple(sorted(union, key=lambda t: t.sort_key))


def project_toml(request: Request) -> str:
    """The ``pyproject.toml`` to lock."""
    everything = request.all_targets
    lower = min([_OLDEST_HOST, *(python_key(t.python) for t in everything)])
    extras = {
        environment.extra: _requirements(environment, request.targets(environment.name), everything)
        for environment in request.environments
    }
    overrides = {
        o.name: f"{o.name}{_extras(e, o.name)}{o.specifier}" for e in request.environments for o in e.overrides
    }
    constraints = [f"{h.name}{h.specifier}" for e in request.environments for h in e.holds]
    for exclusion in request.exclusions:
        marker = targets_marker(exclusion.targets, everything)
        constraints.append(f"{exclusion.name}!={exclusion.version}" + (f" ; {marker}" if marker else ""))
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
            }
        },
    }
    return tomlkit.dumps(document)


def _extras(environment: Environment, name: str) -> str:
    """The extras that the environment asks of a package: an override of uv's replaces them too, if it has none."""
    asked = {
        extra
        for declared in environment.requires
        if canonicalize_name(declared.requirement.name) == name
        for extra in declared.requirement.extras
    }
    return f"[{','.join(sorted(asked))}]" if asked else ""


def _rows(request: Request) -> list[list[Target]]:
    """The targets in the sets that uv is to look at together."""
    everything = list(request.all_targets)
    if not request.split:
        return [everything]
    pythons = sorted({target.python for target in everything}, key=python_key)
    return [[target for target in everything if target.python == python] for python in pythons]


def _requirements(environment: Environment, targets: tuple[Target, ...], everything: tuple[Target, ...]) -> list[str]:
    gate = targets_marker(targets, everything)
    lines = []
    for declared in environment.requires:
        requirement = declared.requirement
        if not gate:
            lines.append(declared.text)
            continue
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        marker = f"({requirement.marker}) and ({gate})" if requirement.marker else gate
        lines.append(f"{requirement.name}{extras}{requirement.specifier} ; {marker}")
    return lines


def resolver_settings(request: Request, sdists: Sequence[str]) -> dict[str, object]:
    """What uv's configuration must say beside the way to the index: the policy of a lock.

    Wheels only but for ``sdists``, no pre-release that no requirement names, nothing newer than the cut-off.
    For uv, a package that may be built must be: ``sdists`` are those named that have a sdist at all.
    """
    return {
        "no-build": True,
        "no-binary-package": list(sdists),
        "prerelease": "explicit",
        "exclude-newer": timestamp(request.cutoff),
    }


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def preferences_lock(request: Request, index_url: str) -> str:
    """A ``uv.lock`` that holds nothing but the pins to prefer: what makes uv keep them.

    uv reads the versions out of an existing lock as preferences when its options agree with the request.
    """
    everything = request.all_targets
    lower = min([_OLDEST_HOST, *(python_key(t.python) for t in everything)])
    packages: list[dict[str, object]] = []
    by_name: dict[str, list[Preference]] = {}
    for preference in request.preferences:
        by_name.setdefault(preference.name, []).append(preference)
    for name, choices in sorted(by_name.items()):
        for choice in sorted(choices, key=lambda p: p.version):
            entry: dict[str, object] = {
                "name": name,
                "version": choice.version,
                "source": {"registry": index_url},
            }
            if len(choices) > 1:
                entry["resolution-markers"] = platform_markers(choice.targets)
            packages.append(entry)
    return tomlkit.dumps(
        {
            "version": 1,
            "revision": 3,
            "requires-python": f">={lower[0]}.{lower[1]}",
            "options": {"prerelease-mode": "explicit", "exclude-newer": timestamp(request.cutoff)},
            "package": packages,
        }
    )


def exclude_all(name: str, versions: Iterable[str], targets: Iterable[Target]) -> list[Exclusion]:
    """An exclusion of each version on the same targets."""
    chosen = tuple(sorted(set(targets), key=lambda t: t.sort_key))
    return [Exclusion(name=name, version=version, targets=chosen) for version in versions]
