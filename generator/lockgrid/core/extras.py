"""The extras of the root ``pyproject.toml``: one per environment, nothing else touched (tomlkit)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit

from lockgrid.errors import InputError, Problem
from lockgrid.model.spec import Spec

PATH = "pyproject.toml"


def wanted_extras(spec: Spec) -> dict[str, list[str]]:
    """The extra of each environment that is not apart: what it and its bases require."""
    return {e.name: [declared.text for declared in e.requires] for e in spec.environments if not e.apart}


def extras_in_step(text: str, spec: Spec) -> list[str]:
    """One sentence per extra that is missing, stale or left over; empty when all are in step."""
    project, managed = _read(text)
    have: Mapping[str, Any] = project.get("optional-dependencies", {})
    wanted = wanted_extras(spec)
    said = []
    for name, requirements in wanted.items():
        if name not in have:
            said.append(f"the extra {name} is missing")
        elif list(have[name]) != requirements:
            said.append(f"the extra {name} is not what envs/{name}.toml requires")
    if sorted(managed) != sorted(wanted):
        said.append("[tool.lockgrid] extras does not list them")
    said += [f"the extra {name} has no environment any more" for name in managed if name in have and name not in wanted]
    return said


def update_extras(text: str, spec: Spec) -> str:
    """``pyproject.toml`` with the extras in step; comments and the order of everything else stay.

    ``[tool.lockgrid] extras`` remembers which extras are lockgrid's, so that one whose environment is gone
    can be taken out without touching any that a person wrote.
    """
    if not extras_in_step(text, spec):
        return text
    document = tomlkit.parse(text)
    project, managed = _read(text)
    table: MutableMapping[str, Any] = document["project"]
    if "optional-dependencies" not in project:
        table["optional-dependencies"] = tomlkit.table()
    extras: MutableMapping[str, Any] = table["optional-dependencies"]
    wanted = wanted_extras(spec)
    for name in managed:
        if name in extras and name not in wanted:
            del extras[name]
    for name, requirements in wanted.items():
        if name in extras and list(extras[name]) == requirements:
            continue
        array = tomlkit.array()
        array.extend(requirements)
        extras[name] = array.multiline(True)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    own = tool.setdefault("lockgrid", tomlkit.table())
    if list(own.get("extras", ())) != list(wanted):
        own["extras"] = list(wanted)
    return tomlkit.dumps(document)


def _read(text: str) -> tuple[Mapping[str, Any], list[str]]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError([Problem(file=PATH, what=f"broken TOML: {error}")]) from error
    project = data.get("project")
    if not isinstance(project, dict):
        raise InputError([Problem(file=PATH, key="project", what="this table is missing", hint="a name and a version")])
    _table(project, "optional-dependencies", "project.optional-dependencies")
    own = _table(_table(data, "tool", "tool"), "lockgrid", "tool.lockgrid")
    return project, list(own.get("extras", []))


def _table(parent: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise InputError([Problem(file=PATH, key=path, what="must be a table")])
    return value
