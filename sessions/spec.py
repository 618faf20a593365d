"""What a session needs to know of ``envs/<environment>.toml``, its bases merged in."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sessions.failure import Failure

T = TypeVar("T", dict[str, Any], list[Any], str)
_CHECK = "`nox -s check` says more"


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
    platforms = _typed(_table(root / "envs" / "targets.toml"), "platforms", dict, "envs/targets.toml")
    return dict(_typed(platforms, platform, dict, "envs/targets.toml"))


def read_indexes(root: Path) -> dict[str, str]:
    """``[indexes]`` in ``envs/targets.toml``: the URLs that it gives, by name."""
    entries = _typed(_table(root / "envs" / "targets.toml"), "indexes", dict, "envs/targets.toml")
    urls = {name: entry.get("url") if isinstance(entry, dict) else entry for name, entry in entries.items()}
    return {name: url for name, url in urls.items() if isinstance(url, str)}


def _merge(root: Path, environment: str, spec: Spec, seen: tuple[str, ...]) -> None:
    if environment in seen:
        raise Failure("grid", f"envs/{environment}.toml extends itself")
    file = f"envs/{environment}.toml"
    table = _table(root / file)
    for base in _strings(table.get("extends"), "extends", file):
        _merge(root, base, spec, (*seen, environment))
    smoke = _typed(table, "smoke", dict, file)
    spec.summary = _typed(table, "summary", str, file) or spec.summary
    spec.requires += [(requirement, file) for requirement in _strings(table.get("requires"), "requires", file)]
    spec.overridden |= set(_typed(table, "overrides", dict, file))
    spec.imports += _strings(smoke.get("imports"), "smoke.imports", file)
    for number, command in enumerate(_typed(smoke, "commands", list, file)):
        if not (words := _strings(command, f"smoke.commands[{number}]", file)):
            raise Failure("grid", f"{file}: smoke.commands[{number}] is empty; {_CHECK}")
        spec.commands.append(words)


def _typed(table: dict[str, Any], key: str, kind: type[T], file: str) -> T:
    """The value of a key, empty where it is missing."""
    value = table.get(key, kind())
    if not isinstance(value, kind):
        words = {dict: "a table", list: "a list", str: "a string"}[kind]
        raise Failure("grid", f"{file}: {key} must be {words}; {_CHECK}")
    return value


def _strings(value: Any, key: str, file: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Failure("grid", f"{file}: {key} must be a list of strings; {_CHECK}")
    return value


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure("grid", f"envs/{path.name} cannot be read: {error}") from error
