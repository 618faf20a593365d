"""A spec with further holds, for a trial: what ``envs/`` would mean if they stood there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.utils import canonicalize_name

from lockgrid.model.grid import OldLocks
from lockgrid.model.spec import Environment, Hold, Spec

_WHY = "held for a trial"


def with_holds(spec: Spec, held: Mapping[str, str], old: OldLocks) -> tuple[Spec, dict[str, tuple[str, ...]]]:
    """The spec with a hold of each package, a version specifier, in every environment that can have it.

    Those are the environments whose lockfiles pin the package; all of them where none does. They are also returned,
    by package. A hold that an environment already has is met as well.
    """
    holding = {name: _holders(spec, name, old) for name in sorted(held)}
    environments = tuple(
        _hold(environment, {name: held[name] for name, where in holding.items() if environment.name in where})
        for environment in spec.environments
    )
    return replace(spec, environments=environments), holding


def _holders(spec: Spec, name: str, old: OldLocks) -> tuple[str, ...]:
    known = [environment.name for environment in spec.environments]
    pinning = {environment for (environment, _), lockfile in old.items() if lockfile.named(name)}
    return tuple(environment for environment in known if environment in pinning) or tuple(known)


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
