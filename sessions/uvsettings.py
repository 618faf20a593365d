"""What uv is told in a session: how to reach an index, and nothing else of its configuration files."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sessions.failure import Failure
from sessions.machine import ROOT, clean_env

# Of uv.toml, as in lockgrid (a test compares): the indexes, and how to reach them.
INDEXES = ("index", "index-url", "extra-index-url")
NETWORK_KEYS = (
    "allow-insecure-host",
    "cache-dir",
    "http-proxy",
    "https-proxy",
    "keyring-provider",
    "native-tls",
    "no-proxy",
    "system-certs",
)


@contextlib.contextmanager
def uv_env() -> Iterator[dict[str, str]]:
    """The environment for uv: with a configuration file of its own, which holds just that."""
    env = clean_env()
    text = settings_text(list(_tables(env)))
    with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
        file = Path(folder) / "uv.toml"
        file.write_text(text, encoding="utf-8")
        env.pop("UV_NO_CONFIG", None)
        yield env | {"UV_CONFIG_FILE": str(file)}


def settings_text(tables: list[Mapping[str, Any]]) -> str:
    """The text of that file, from uv's own, the strongest first: lists of indexes add up, else the first one counts."""
    kept: dict[str, Any] = {}
    for table in tables:
        for key in (*INDEXES, *NETWORK_KEYS):
            if key in table and isinstance(kept.get(key), list):
                kept[key] = [*kept[key], *table[key]] if key in INDEXES else kept[key]
            elif key in table:
                kept.setdefault(key, table[key])
    return "".join(f"{key} = {_toml(value)}\n" for key, value in kept.items())


def _toml(value: Any) -> str:
    """A value in TOML, on one line; JSON's strings are TOML's."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _tables(env: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The configuration files of uv: the one that is named, or the project's, the user's and the system's."""
    if env.get("UV_NO_CONFIG", "").lower() in ("1", "on", "t", "true", "y", "yes"):
        return
    if named := env.get("UV_CONFIG_FILE"):
        yield _read(Path(named))
        return
    if (ROOT / "uv.toml").is_file():
        yield _read(ROOT / "uv.toml")
    else:
        yield _read(ROOT / "pyproject.toml").get("tool", {}).get("uv", {})
    for file in _of_user_and_system(env):
        if file.is_file():
            yield _read(file)


def _of_user_and_system(env: Mapping[str, str]) -> Iterator[Path]:
    if os.name == "nt":
        yield Path(env.get("APPDATA", "")) / "uv" / "uv.toml"
        yield Path(env.get("PROGRAMDATA", "C:/ProgramData")) / "uv" / "uv.toml"
        return
    yield Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "uv" / "uv.toml"
    places = [Path(place) for place in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if place]
    found = (place / "uv" / "uv.toml" for place in places)
    yield next((file for file in found if file.is_file()), Path("/etc/uv/uv.toml"))


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Failure("install", f"uv's configuration {file} cannot be read: {error}") from error
