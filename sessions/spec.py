"""What a session needs to know of ``envs/<environment>.toml``, its bases merged in."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sessions.failure import Failure


@dataclass(slots=True)
class Spec:
    """``requires`` as (requirement, file that asks for it); ``overridden`` names; and ``[smoke]``, the bases' first."""

    summary: str = ""
    requires: list[tuple[str, str]] = field(default_factory=list)
    overridden: set[str] = field(default_factory=set)
    imports: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)


def read_spec(root: Path, environment: str) -> Spec:
    """The environment. Raises ``Failure``; `lockgrid check` says more about what is wrong with a file."""
    spec = Spec()
    _merge(root, environment, spec, ())
    return spec


def read_platform(root: Path, platform: str) -> dict[str, Any]:
    """The table of a platform in ``envs/targets.toml``; empty when it has none."""
    found = _table(root / "envs" / "targets.toml").get("platforms", {}).get(platform, {})
    return dict(found)


def _merge(root: Path, environment: str, spec: Spec, seen: tuple[str, ...]) -> None:
    if environment in seen:
        raise Failure("grid", f"envs/{environment}.toml extends itself")
    file = f"envs/{environment}.toml"
    table = _table(root / file)
    for base in table.get("extends", ()):
        _merge(root, base, spec, (*seen, environment))
    spec.summary = table.get("summary", spec.summary)
    spec.requires += [(requirement, file) for requirement in table.get("requires", ())]
    spec.overridden |= set(table.get("overrides", {}))
    spec.imports += table.get("smoke", {}).get("imports", ())
    spec.commands += table.get("smoke", {}).get("commands", ())


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure("grid", f"envs/{path.name} cannot be read: {error}") from error
