"""A spec with further holds, for a trial: what ``envs/`` would mean if they stood there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.utils import canonicalize_name

from lockgrid.core.requirement import admits
from lockgrid.model.grid import OldLocks
from lockgrid.model.spec import Environment, Hold, Spec

_WHY = "held for a trial"


def with_holds(spec: Spec, held: Mapping[str, str], old: OldLocks) -> tuple[Spec, dict[str, tuple[str, ...]]]:
    """The spec with a hold of each package, a version specifier, in every environment that can have it.

    Those are the environments whose lockfiles pin the package, without one that pins only what the hold rules out: a
    trial is to keep pins, not to move those of others. All environments where no lockfile pins the package. They are
    also returned, by package. A hold that an environment already has is met as well.
    """
    holding = {name: _holders(spec, name, held[name], old) for name in sorted(held)}
    environments = tuple(
        _hold(environment, {name: held[name] for name, where in holding.items() if environment.name in where})
        for environment in spec.environments
    )
    return replace(spec, environments=environments), holding


def _holders(spec: Spec, name: str, specifier: str, old: OldLocks) -> tuple[str, ...]:
    pinned: dict[str, set[str]] = {}
    for (environment, _), lockfile in old.items():
        for pin in lockfile.named(name):
            pinned.setdefault(environment, set()).add(pin.version)
    known = tuple(environment.name for environment in spec.environments)
    having = tuple(environment for environment in known if environment in pinned)
    met = tuple(e for e in having if any(admits(specifier, version) for version in pinned[e]))
    return met or having or known


def _hold(environment: Environment, held: Mapping[str, str]) -> Environment:
    if not held:
        return environment
    holds = {hold.name: hold for hold in environment.holds}
    for package, specifier in held.items():
        name = canonicalize_name(package)
        if (known := holds.get(name)) is not None:
            holds[name] = replace(known, specifier=f"{known.specifier},{specifier}")
        else:
            holds[name] = Hold(name=name, specifier=specifier, why=_WHY, file=environment.file)
    return replace(environment, holds=tuple(holds[name] for name in sorted(holds)))
