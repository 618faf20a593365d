"""What lockgrid keeps in the root ``pyproject.toml``; everything else there is not touched (tomlkit).

An extra for each environment, which ``[tool.lockgrid] extras`` remembers; lists of ``[tool.uv]``, of which the part
between two comments is lockgrid's; the source of ``uvproject.BLOCKER``; and ``requires-python`` and, of uv,
``required-version`` where there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from lockgrid.core.fence import BEGIN, END, fenced, is_torn, leading, replace_fenced
from lockgrid.core.table import toml_fault
from lockgrid.core.uvproject import BLOCKER, BLOCKER_FOLDER, Entry, Hashed, UvProject
from lockgrid.errors import InputError, Problem

if TYPE_CHECKING:
    import tomlkit  # takes long to import, and nothing that only reads needs it

PATH = "pyproject.toml"
_SOURCE = {"path": BLOCKER_FOLDER}


def requires_python(text: str) -> str | None:
    """What the project says of Pythons, None when it says nothing."""
    found = _read(text)[0].get("requires-python")
    return found if isinstance(found, str) else None


def check_manifest(text: str) -> None:
    """Raise ``InputError`` where a ``pyproject.toml`` cannot take what lockgrid keeps in it."""
    uv = _tool(_read(text)[1], "uv")
    document = _parsed(text)
    for key in _LISTS:
        if key in uv:
            _array_text(document, key)


def extras_in_step(text: str, wanted: UvProject) -> list[str]:
    """One sentence for each thing that is missing, stale or left over; empty when all is in step."""
    project, tool = _read(text)
    have: Mapping[str, Any] = project.get("optional-dependencies", {})
    managed = _managed(tool)
    said = []
    for name, requirements in wanted.extras.items():
        if name not in have:
            said.append(f"the extra {name} is missing")
        elif list(have[name]) != list(requirements):
            said.append(f"the extra {name} is not what envs/{name}.toml requires")
    if sorted(managed) != sorted(wanted.extras):
        said.append("[tool.lockgrid] extras does not list them")
    gone = [name for name in managed if name in have and name not in wanted.extras]
    said += [f"the extra {name} has no environment any more" for name in gone]
    if wanted.requires_python and "requires-python" not in project:
        said.append("requires-python is missing")
    return said + _uv_in_step(text, _tool(tool, "uv"), wanted)


def _uv_in_step(text: str, uv: Mapping[str, Any], wanted: UvProject) -> list[str]:
    said, written = [], leading(text)
    if wanted.required_uv and "required-version" not in uv:
        said.append("[tool.uv] required-version is missing")
    for key in _LISTS:
        needed = [_plain(entry) for entry in wanted.lists.get(key, ())]
        if key not in uv and not needed:
            continue
        # As lockgrid wrote it; only where a person has moved it is the whole document taken apart.
        ours = written.get(key)
        if key in uv and (ours != needed or ours != uv[key][: len(needed)]):
            ours = fenced(_array_text(_parsed(text), key))
        if (ours or []) != needed:
            said.append(f"[tool.uv] {key} is not what locks/ needs")
    sources = uv.get("sources", {})
    if (sources.get(BLOCKER) if isinstance(sources, dict) else None) != (_SOURCE if wanted.blocked else None):
        said.append(f"[tool.uv.sources] {BLOCKER} is not what locks/ needs")
    return said


def _parsed(text: str) -> tomlkit.TOMLDocument:
    import tomlkit

    return tomlkit.parse(text)


def update_extras(text: str, wanted: UvProject) -> str:
    """``pyproject.toml`` with everything in step; comments and the order of everything else stay.

    ``[tool.lockgrid] extras`` remembers which extras are lockgrid's, so that one whose environment is gone
    can be taken out without touching any that a person wrote. Raises ``InputError`` where a key that lockgrid needs
    is there in another shape.
    """
    if not extras_in_step(text, wanted):
        return text
    import tomlkit

    document = _parsed(text)
    project, tools = _read(text)
    _put_extras(document["project"], project, _managed(tools), wanted)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    if any(wanted.lists.values()) or "uv" in tool:
        _put_lists(document, tool, wanted)
        _put_source(tool, wanted)
    own = tool.setdefault("lockgrid", tomlkit.table())
    if list(own.get("extras", ())) != list(wanted.extras):
        own["extras"] = list(wanted.extras)
    updated = tomlkit.dumps(document)
    if extras_in_step(updated, wanted):
        what = f"cannot be edited: {'; '.join(extras_in_step(updated, wanted))}"
        raise InputError([Problem(file=PATH, what=what, hint="write [tool.uv] as one table with its keys below it")])
    return updated


def _put_extras(
    table: MutableMapping[str, Any], project: Mapping[str, Any], managed: list[str], wanted: UvProject
) -> None:
    import tomlkit

    if wanted.requires_python and "requires-python" not in project:
        table["requires-python"] = wanted.requires_python
    if "optional-dependencies" not in project:
        table["optional-dependencies"] = tomlkit.table()
    extras: MutableMapping[str, Any] = table["optional-dependencies"]
    for name in managed:
        if name in extras and name not in wanted.extras:
            del extras[name]
    for name, requirements in wanted.extras.items():
        if name in extras and list(extras[name]) == list(requirements):
            continue
        array = tomlkit.array()
        array.extend(requirements)
        extras[name] = array.multiline(True)


def _put_lists(document: tomlkit.TOMLDocument, tool: MutableMapping[str, Any], wanted: UvProject) -> None:
    import tomlkit

    uv = tool.setdefault("uv", tomlkit.table())
    if wanted.required_uv and "required-version" not in uv:
        uv["required-version"] = wanted.required_uv
    for key in _LISTS:
        entries = wanted.lists.get(key, ())
        old = _array_text(document, key) if key in uv else "[]"
        ours = fenced(old)
        if not entries and ours is None:
            continue
        new = replace_fenced(old, [_toml(entry) for entry in entries])
        if not entries and not tomllib.loads(f"list = {new}")["list"]:
            del uv[key]
        elif new != old:
            uv[key] = tomlkit.parse(f"list = {new}\n")["list"]


def _put_source(tool: MutableMapping[str, Any], wanted: UvProject) -> None:
    import tomlkit

    uv = tool["uv"]
    if wanted.blocked:
        inline = isinstance(uv, tomlkit.items.InlineTable)  # which takes no other kind of table
        sources = uv.setdefault("sources", tomlkit.inline_table() if inline else tomlkit.table())
        if dict(sources.get(BLOCKER, {})) != _SOURCE:
            table = tomlkit.inline_table()
            table.update(_SOURCE)
            sources[BLOCKER] = table
    elif BLOCKER in uv.get("sources", {}):
        del uv["sources"][BLOCKER]
        if not uv["sources"]:
            del uv["sources"]


#: The lists of ``[tool.uv]`` in which lockgrid may have a part.
_LISTS = (
    "environments",
    "conflicts",
    "constraint-dependencies",
    "override-dependencies",
    "build-constraint-dependencies",
    "no-build-package",
    "no-binary-package",
)


def _array_text(document: tomlkit.TOMLDocument, key: str) -> str:
    """The text of a list in ``[tool.uv]``, brackets included. Raises ``InputError`` where lockgrid cannot share it."""
    import tomlkit

    item: Any = document["tool"]["uv"][key]
    where = f"tool.uv.{key}"
    if not isinstance(item, tomlkit.items.Array):
        raise InputError([Problem(file=PATH, key=where, what="must be a list", hint='write it as ["...", "..."]')])
    text = item.as_string()
    if is_torn(text):
        what = "one of the two comments around lockgrid's part is gone"
        raise InputError([Problem(file=PATH, key=where, what=what, hint=f"put back {BEGIN!r} and {END!r}")])
    return text


def _plain(entry: Entry) -> object:
    """An entry as TOML gives it back."""
    if isinstance(entry, Hashed):
        return {"requirement": entry.requirement, "hashes": [f"sha256:{digest}" for digest in entry.hashes]}
    return entry if isinstance(entry, str) else [{"extra": extra} for extra in entry]


def _toml(entry: Entry) -> str:
    """An entry in TOML, on one line."""
    if isinstance(entry, Hashed):
        hashes = ", ".join(f'"sha256:{digest}"' for digest in entry.hashes)
        return f"{{ requirement = {_string(entry.requirement)}, hashes = [{hashes}] }}"
    if isinstance(entry, str):
        return _string(entry)
    return "[" + ", ".join(f'{{ extra = "{extra}" }}' for extra in entry) + "]"


def _string(text: str) -> str:
    import tomlkit

    return tomlkit.item(text).as_string()


def _read(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """``[project]`` and ``[tool]``."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError([Problem(file=PATH, what=toml_fault(text, error))]) from error
    project = data.get("project")
    if not isinstance(project, dict):
        raise InputError([Problem(file=PATH, key="project", what="this table is missing", hint="a name and a version")])
    _table(project, "optional-dependencies", "project.optional-dependencies")
    tool = _table(data, "tool", "tool")
    for name in ("lockgrid", "uv"):
        _tool(tool, name)
    return project, tool


def _managed(tool: Mapping[str, Any]) -> list[str]:
    return list(_tool(tool, "lockgrid").get("extras", []))


def _tool(tool: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return _table(tool, name, f"tool.{name}")


def _table(parent: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise InputError([Problem(file=PATH, key=path, what="must be a table")])
    return value
