"""What uv is told in a session: how to reach an index, and nothing else of its configuration files."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from sessions.failure import Failure
from sessions.machine import ROOT, clean_env
from sessions.spec import read_indexes

# Of uv.toml, as in lockgrid (a test compares): the indexes, and how to reach them.
INDEXES = ("index", "index-url", "extra-index-url")
_VARIABLES = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
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
def uv_env(index: str = "", reserved: Collection[str] = (), *, building: bool = False) -> Iterator[dict[str, str]]:
    """The environment for uv: with a configuration file of its own, which holds just that.

    ``reserved`` are names of indexes that serve none but their own packages: uv is told of ``index`` alone, which is
    one of them, or without it of all others. ``building`` asks for both: what builds a sdist may come from the
    others. Raises ``Failure`` where nothing says what their URLs are.
    """
    env = clean_env()
    tables = list(_tables(env))
    if reserved:
        known = {name: _find(name, env, tables) for name in reserved}
        urls = {_bare(entry["url"]) for entry in known.values()}
        if not index or building:
            env, tables = _without(env, tables, {*known, *urls})
        if index:
            env, tables = _with(env, tables, known[index]) if building else _alone(env, tables, known[index])
    text = settings_text(tables)
    with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
        file = Path(folder) / "uv.toml"
        file.write_text(text, encoding="utf-8")
        env.pop("UV_NO_CONFIG", None)
        yield env | {"UV_CONFIG_FILE": str(file)}


def _find(name: str, env: Mapping[str, str], tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The table of an index, from the environment, uv's configuration or ``[indexes]``, as lockgrid looks for it."""
    words = " ".join(env.get(key, "") for key in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX")).split()
    found = [{"name": name, "url": word.removeprefix(f"{name}=")} for word in words if word.startswith(f"{name}=")]
    found += [dict(entry) for table in tables for entry in table.get("index", ()) if entry.get("name") == name]
    if not found and (url := read_indexes(ROOT).get(name)):
        found = [{"name": name, "url": url}]
    if not found:
        hint = f"set UV_INDEX={name}=<its URL>, or name it in uv.toml or in [indexes] of envs/targets.toml"
        raise Failure("install", f"the lock needs the index {name}, and nothing says where that is: {hint}")
    return found[0]


def _alone(
    env: Mapping[str, str], tables: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """The settings with this index and no other."""
    env = {key: value for key, value in env.items() if key not in _VARIABLES} | _credentials(entry, env)
    chosen: list[Mapping[str, Any]] = [{"index": [_plain(entry) | {"default": True}]}]
    return env, chosen + [{key: value for key, value in table.items() if key not in INDEXES} for table in tables]


def _with(
    env: Mapping[str, str], tables: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """The settings with this index as well; uv looks for a version in all of them."""
    env = {**env, **_credentials(entry, env), "UV_INDEX_STRATEGY": "unsafe-best-match"}
    return env, [{"index": [_plain(entry)]}, *tables]


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The table of an index that is asked for everything; without credentials, which no file shall hold."""
    kept = {key: value for key, value in entry.items() if key not in ("explicit", "default")}
    parts = urlsplit(entry["url"])
    return kept | {"url": urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))}


def _credentials(entry: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """User and password in the URL of an index as variables, unless there are some already."""
    key = "".join(c.upper() if c.isalnum() else "_" for c in entry["name"])
    names = f"UV_INDEX_{key}_USERNAME", f"UV_INDEX_{key}_PASSWORD"
    parts = urlsplit(entry["url"])
    if any(env.get(name) for name in names):
        return {}
    return {name: unquote(value) for name, value in zip(names, (parts.username, parts.password), strict=True) if value}


def _bare(url: str) -> str:
    """A URL as it is compared with others: without credentials and the slash at its end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2].lower())).rstrip("/")


def _without(
    env: Mapping[str, str], tables: Sequence[Mapping[str, Any]], reserved: Collection[str]
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """The settings without the indexes of these names and URLs."""

    def may_stay(name: str, url: str) -> bool:
        return name not in reserved and _bare(url) not in reserved

    env = dict(env)
    for key in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        words = [(word, word.partition("=")) for word in env.get(key, "").split()]
        env[key] = " ".join(w for w, (name, _, url) in words if may_stay(name, w) and may_stay("", url))
    kept: list[Mapping[str, Any]] = []
    for table in tables:
        entries = [e for e in table.get("index", ()) if may_stay(e.get("name", ""), e["url"])]
        more = [url for url in table.get("extra-index-url", ()) if may_stay("", url)]
        changed = {"index": entries, "extra-index-url": more}
        kept.append({**table, **{key: value for key, value in changed.items() if key in table}})
    return {key: value for key, value in env.items() if value or key not in _VARIABLES}, kept


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
