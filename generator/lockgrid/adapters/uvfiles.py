"""The configuration files of uv: which of them apply, strongest first, and whether they speak of indexes as uv does."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lockgrid.adapters.uvfolders import absolute
from lockgrid.errors import InputError, Problem


def read_tables(project: Path, environ: Mapping[str, str], manifest: str | None = None) -> list[Mapping[str, Any]]:
    """The settings that apply in the folder ``project``, the strongest first; raises ``InputError``.

    ``manifest`` is the text of its ``pyproject.toml`` where that shall not be read from the disk.
    """
    if chosen := environ.get("UV_CONFIG_FILE"):
        return [_settings(Path(chosen))]
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "~").expanduser()
    user = Path(environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA") or home / ".config")
    system = [Path(part) for part in (environ.get("XDG_CONFIG_DIRS") or "").split(":") if part] or [Path("/etc/xdg")]
    tables: list[Mapping[str, Any]] = []
    own = project / "uv.toml"
    file = project / "pyproject.toml"
    if own.is_file():
        tables.append(_settings(own))
    elif manifest is not None or file.is_file():
        tables.append(_settings(file, "tool", "uv", text=manifest))
    candidates = [user / "uv" / "uv.toml"]
    candidates += [
        next((p for p in [*(s / "uv" / "uv.toml" for s in system), Path("/etc/uv/uv.toml")] if p.is_file()), own)
    ]
    tables += [_settings(path) for path in candidates if path != own and path.is_file()]
    return tables


def _settings(path: Path, *keys: str, text: str | None = None) -> Mapping[str, Any]:
    """The settings in a file of uv: the table at ``keys``, in which what is said of indexes is of the right type."""
    table = _read(path, text)
    for depth, key in enumerate(keys, start=1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise InputError([Problem(file=str(path), key=".".join(keys[:depth]), what="must be a table")])
    problems = [Problem(file=str(path), key=".".join((*keys, key)), what=what) for key, what in _faults(table)]
    if problems:
        raise InputError(problems)
    return absolute(table, path.absolute().parent)


def _faults(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys about indexes whose values are of a wrong type, and what they must be."""
    entries = table.get("index", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield "index", "must be a list of tables"
        entries = []
    for number, entry in enumerate(entries):
        if not isinstance(entry.get("url"), str) or not entry["url"]:
            yield f"index[{number}].url", "must be a URL"
        if not isinstance(entry.get("name", ""), str):
            yield f"index[{number}].name", "must be a string"
        for key in ("default", "explicit"):
            if not isinstance(entry.get(key, False), bool):
                yield f"index[{number}].{key}", "must be true or false"
    for key in ("extra-index-url", "find-links"):
        more = table.get(key, [])
        if not isinstance(more, list) or not all(isinstance(url, str) for url in more):
            yield key, "must be a list of URLs"
    if not isinstance(table.get("index-url", ""), str):
        yield "index-url", "must be a URL"


def _read(path: Path, text: str | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8") if text is None else text)
    except tomllib.TOMLDecodeError as error:
        raise InputError([Problem(file=str(path), what=f"broken TOML: {error}")]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Problem(file=str(path), what=f"cannot be read: {error}")]) from error
