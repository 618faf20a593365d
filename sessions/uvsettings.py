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
from urllib.request import url2pathname

from sessions.failure import Failure
from sessions.machine import ROOT, clean_env
from sessions.spec import read_indexes

# Of uv.toml, as in lockgrid (a test compares): the indexes, and how to reach them.
INDEXES = ("index", "index-url", "extra-index-url")
_VARIABLES = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
# Said with a folder in the place of an index, and else kept out.
_FOLDERS = ("no-index", "find-links")
_TRUE = ("1", "on", "t", "true", "y", "yes")
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
    env, tables = in_folders(clean_env(), list(_tables(clean_env())), os.environ)
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


def in_folders(
    env: Mapping[str, str], tables: Sequence[Mapping[str, Any]], machine: Mapping[str, str]
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """The settings with folders of files (in the place of an index) said as uv takes them, as lockgrid reads them.

    Where no index may be asked, those of ``find-links`` are all there is, beside indexes that are asked by name.
    ``machine`` is the environment as it was found.
    """
    default = env.get("UV_DEFAULT_INDEX") or env.get("UV_INDEX_URL") or ""
    if _holds_files(default):
        env = {key: value for key, value in env.items() if key not in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")}
        tables = [{"index": [{"url": _absolute(default, ROOT), "default": True}]}, *tables]
    found = [
        {**table, "index": [_flat(entry) for entry in table["index"]]} if "index" in table else table
        for table in map(_without_index_url, tables)
    ]
    forbidden = next((table["no-index"] for table in found if "no-index" in table), False)
    if machine.get("UV_NO_INDEX", "").lower() not in _TRUE and forbidden is not True:
        return dict(env), found
    links = [_absolute(word, ROOT) for word in machine.get("UV_FIND_LINKS", "").split(",") if word]
    links += [link for table in found for link in table.get("find-links", ())]
    named = [entry for table in found for entry in table.get("index", ()) if entry.get("name")]
    rest = [{key: value for key, value in table.items() if key not in INDEXES} for table in found]
    explicit = [{**entry, "explicit": True, "default": False} for entry in named]
    return (
        {key: value for key, value in env.items() if key not in _VARIABLES},
        [{"no-index": True, "find-links": links, "index": explicit}, *rest],
    )


def _without_index_url(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table with ``index-url`` among the indexes where it is a folder."""
    if not _holds_files(table.get("index-url", "")):
        return table
    rest = {key: value for key, value in table.items() if key != "index-url"}
    return {**rest, "index": [*table.get("index", ()), {"url": table["index-url"], "default": True}]}


def _flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table of an index; of a folder of files, uv shall look for no pages there."""
    return {**entry, "format": "flat"} if _holds_files(entry["url"]) else entry


def _holds_files(url: str) -> bool:
    """Whether this is a folder with wheels or sdists, and no server or tree of pages."""
    if not url or ("://" in url and not url.startswith("file:")):
        return False
    try:
        path = Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else ROOT / url
        return any(file.name.endswith((".whl", ".tar.gz", ".zip")) for file in path.iterdir())
    except OSError:
        return False


def _absolute(url: str, base: Path) -> str:
    """The URL, or the absolute path: uv reads a path in a file from the folder of the file."""
    return url if "://" in url or url.startswith("file:") else str((base / url).absolute())


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
    folders = _FOLDERS if any(table.get("no-index") is True for table in tables) else ()
    for table in tables:
        for key in (*INDEXES, *folders, *NETWORK_KEYS):
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
    if env.get("UV_NO_CONFIG", "").lower() in _TRUE:
        return
    if named := env.get("UV_CONFIG_FILE"):
        yield _settings(_read(Path(named)), Path(named).absolute().parent)
        return
    if (ROOT / "uv.toml").is_file():
        yield _settings(_read(ROOT / "uv.toml"), ROOT)
    else:
        yield _settings(_read(ROOT / "pyproject.toml").get("tool", {}).get("uv", {}), ROOT)
    for file in _of_user_and_system(env):
        if file.is_file():
            yield _settings(_read(file), file.parent)


def _of_user_and_system(env: Mapping[str, str]) -> Iterator[Path]:
    if os.name == "nt":
        yield Path(env.get("APPDATA", "")) / "uv" / "uv.toml"
        yield Path(env.get("PROGRAMDATA", "C:/ProgramData")) / "uv" / "uv.toml"
        return
    yield Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "uv" / "uv.toml"
    places = [Path(place) for place in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if place]
    found = (place / "uv" / "uv.toml" for place in places)
    yield next((file for file in found if file.is_file()), Path("/etc/uv/uv.toml"))


def _settings(table: Mapping[str, Any], base: Path) -> Mapping[str, Any]:
    """The settings of a file in the folder ``base``, with every path of an index absolute."""
    found = dict(table)
    if "index" in table:
        found["index"] = [{**entry, "url": _absolute(entry["url"], base)} for entry in table["index"]]
    for key in ("extra-index-url", "find-links"):
        if key in table:
            found[key] = [_absolute(url, base) for url in table[key]]
    if table.get("index-url"):
        found["index-url"] = _absolute(table["index-url"], base)
    return found


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Failure("install", f"uv's configuration {file} cannot be read: {error}") from error
