"""What of uv's configuration lockgrid obeys: how to reach an index, and nothing else.

Sources, strongest first: the environment, the project's ``uv.toml`` or ``[tool.uv]``, the user's and the
system's ``uv.toml`` (docs: uv, "Configuration files"). Indexes, credentials, proxies, certificates,
timeouts and the cache are taken; everything that could change a resolution is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from lockgrid.adapters.uvfiles import read_tables
from lockgrid.adapters.uvfolders import NEXT, file_url, folder_of, linked_folders, missing
from lockgrid.errors import InputError, Problem

# The keys of uv.toml that say how to reach an index (beside the indexes themselves).
_NETWORK_KEYS = (
    "allow-insecure-host",
    "cache-dir",
    "http-proxy",
    "https-proxy",
    "keyring-provider",
    "native-tls",
    "no-proxy",
    "system-certs",
)
# The same as environment variables; every other UV_ variable is kept from uv.
_NETWORK_VARIABLES = frozenset(
    {
        "UV_CACHE_DIR",
        "UV_CONCURRENT_DOWNLOADS",
        "UV_CREDENTIALS_DIR",
        "UV_HTTP_CONNECT_TIMEOUT",
        "UV_HTTP_RETRIES",
        "UV_HTTP_TIMEOUT",
        "UV_INSECURE_HOST",
        "UV_KEYRING_PROVIDER",
        "UV_NATIVE_TLS",
        "UV_OFFLINE",
        "UV_REQUEST_TIMEOUT",
        "UV_SYSTEM_CERTS",
    }
)
# What is true of every index of published files: a page is good for ten minutes, a file for ever.
CACHE_CONTROL = {"api": "max-age=600", "files": "max-age=365000000, immutable"}
PAGE_SECONDS = 600
# How uv spells a boolean in the environment, in any case.
_BOOLEANS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("", "0", "f", "false", "n", "no", "off"), False),
}


@dataclass(frozen=True, slots=True)
class IndexSource:
    """One index: its URL (with credentials, if the URL holds any), its name if it has one.

    ``folders`` are those whose files it is, in the place of a server: of several (``find-links``) the URL is the
    first one's.
    """

    url: str
    name: str = ""
    default: bool = False
    explicit: bool = False
    username: str = ""
    password: str = ""
    table: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class UvConfig:
    """``indexes`` in the order in which uv asks them; ``network`` are keys for a ``uv.toml``.

    ``named`` are the indexes, by name, that ``[sources]`` names: asked for the packages that name them, and not
    among ``indexes``. Their URLs hold no credentials; one that has ``default`` set was the default index.
    ``forbidden`` says where no server may be asked by a setting (file and key).
    """

    indexes: tuple[IndexSource, ...]
    network: Mapping[str, Any]
    offline: bool = False
    named: Mapping[str, IndexSource] = field(default_factory=dict)
    forbidden: str = ""

    @property
    def default(self) -> IndexSource | None:
        """The default index, None when nothing names one and uv's own applies."""
        return next((index for index in self.indexes if index.default), None)


def strip_credentials(url: str) -> str:
    """The URL without user and password, fit for a message."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))


def read_config(
    project: Path,
    environ: Mapping[str, str],
    sources: Iterable[str] = (),
    urls: Iterable[tuple[str, str]] = (),
    manifest: str | None = None,
) -> UvConfig:
    """Read the configuration that applies in the folder ``project``; raises ``InputError`` on broken files.

    ``manifest`` is the text of its ``pyproject.toml`` where that shall not be read from the disk.

    ``sources`` are the names that ``[sources]`` gives, ``urls`` the indexes of ``[indexes]``: one that uv's own
    configuration names as well is what that says, so that a mirror can stand in for it. A name that is in neither
    is not among ``named``.
    """
    tables = [] if _is_set(environ, "UV_NO_CONFIG") else read_tables(project, environ, manifest)
    forbidden = _no_index(tables, environ)
    indexes = _environment_indexes(environ)
    network: dict[str, Any] = {}
    for table in tables:
        indexes += _table_indexes(table)
        for key in _NETWORK_KEYS:
            if key in table:
                network.setdefault(key, table[key])
    indexes = [_with_folder(_with_credentials(index, environ), project) for index in indexes]
    more = [IndexSource(url=url, name=name, table={"name": name, "url": url}) for name, url in urls]
    more = [_with_credentials(index, environ) for index in more]
    named = _named_indexes([*indexes, *more], set(sources))
    reserved = {index.url for index in named.values()}
    rest = [
        i
        for i in indexes
        if i.name not in named and (i.explicit or _as_uv_says(strip_credentials(i.url)) not in reserved)
    ]
    if forbidden:
        linked = _linked(linked_folders(tables, environ, project, forbidden))
        rest = [*(index for index in rest if index.explicit), linked]
    plain = [index for index in rest if not index.explicit]
    _check_usable([*named.values(), *plain])
    _check_urls(plain)
    return UvConfig(
        indexes=_ordered(rest),
        network=network,
        offline=_is_set(environ, "UV_OFFLINE"),
        named=named,
        forbidden=forbidden,
    )


_SERVE = "serve the files as a simple index, such as with `pypi-server run --disable-fallback --hash-algo sha256`"


def _no_index(tables: Iterable[Mapping[str, Any]], environ: Mapping[str, str]) -> str:
    """Where it is said (file and key) that uv shall ask no index, empty where it may."""
    if _is_set(environ, "UV_NO_INDEX"):
        return "environment: UV_NO_INDEX"
    said = next((table["no-index"] for table in tables if "no-index" in table), False)
    return "uv's settings: no-index" if said is True else ""


def _linked(folders: tuple[Path, ...]) -> IndexSource:
    """The folders of ``find-links`` as the one index that there is."""
    url = file_url(folders[0])
    return IndexSource(url=url, default=True, table={"url": url, "format": "flat"}, folders=folders)


def _with_folder(index: IndexSource, project: Path) -> IndexSource:
    """The index, with the folder that it is if it is one; uv is then told that its files lie there as they are."""
    folder = folder_of(index.url, project)
    if folder is None:
        return index
    url = file_url(folder)
    table = {**index.table, "url": url, "format": "flat"}
    return replace(index, url=url, table=table, folders=(folder,))


def _check_usable(asked: Iterable[IndexSource]) -> None:
    """A flat index that is no folder is a page of links (uv's ``--find-links``): it has no pages of projects."""
    flat = [i for i in asked if not i.folders and i.table.get("format", "simple") != "simple"]
    if flat:
        what = "is 'flat' and no folder, and lockgrid reads folders and simple indexes (PEP 503, 691) alone"
        where = (index.name or strip_credentials(index.url) for index in flat)
        raise InputError(
            [Problem(file="uv's settings", key=f"index {name}: format", what=what) for name in where], next_step=_SERVE
        )


def _check_urls(asked: Sequence[IndexSource]) -> None:
    """What is asked for everything is either folders or servers. ``index_faults`` tells of the named ones."""
    what = "is neither a folder nor an http or https URL, and lockgrid reads no other"
    wrong = [i for i in asked if not i.folders and urlsplit(i.url).scheme not in ("http", "https")]
    if wrong:
        keys = [f"index {strip_credentials(index.url)}" for index in wrong]
        raise InputError([Problem(file="uv's settings", key=key, what=what) for key in keys], next_step=_SERVE)
    here = [index for index in asked if index.folders]
    gone = [found for index in here for folder in index.folders if (found := missing(folder, f"index {index.url}"))]
    if gone:
        raise InputError(gone, next_step=NEXT)
    if here and (len(here) < len(asked) or not any(index.default for index in asked)):
        other = "another index" if len(here) < len(asked) else "uv's default index"
        what = f"is a folder, and {other} is asked as well: lockgrid asks folders alone, or servers alone"
        raise InputError(
            [Problem(file="uv's settings", key=f"index {index.url}", what=what) for index in here], next_step=NEXT
        )


def _named_indexes(indexes: Iterable[IndexSource], names: set[str]) -> dict[str, IndexSource]:
    """The indexes of these names, the first of each, without credentials in the URL; also whether it is the default."""
    indexes = list(indexes)
    defaults = [_as_uv_says(strip_credentials(index.url)) for index in indexes if index.default][:1]
    named: dict[str, IndexSource] = {}
    for index in indexes:
        if index.name not in names or index.name in named:
            continue
        url, (username, password) = _as_uv_says(strip_credentials(index.url)), login(index)
        named[index.name] = replace(
            index,
            url=url,
            default=url in defaults,
            explicit=True,
            username=username,
            password=password,
        )
    return named


def _as_uv_says(url: str) -> str:
    """The URL in normal form (WHATWG): uv's answers are compared with it."""
    parts = urlsplit(url)
    default = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    host = parts.netloc.lower().removesuffix(default) if default else parts.netloc
    return urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))


def index_faults(config: UvConfig) -> dict[str, str]:
    """For each index that ``[sources]`` names what makes it useless as one, as the end of a sentence, or nothing."""
    return {name: _fault(source, config) for name, source in config.named.items()}


def _fault(source: IndexSource, config: UvConfig) -> str:
    if source.default:
        return "is the default index, from which everything comes that has no source"
    if source.folders:
        gone = missing(source.folders[0], source.name)
        return f"is a folder, and {gone.what}" if gone else ""
    if config.forbidden:
        return f"is no folder, and no index may be asked ({config.forbidden})"
    if urlsplit(source.url).scheme not in ("http", "https"):
        return "is neither a folder nor an http or https URL, and lockgrid reads no other"
    rivals = sorted((i for i in config.named.values() if i.name != source.name), key=lambda index: index.name)
    if twin := next((i.name for i in rivals if i.url == source.url), ""):
        return f"has the URL of {twin!r}: give both one name"
    variables = index_variables(source.name)
    rivals += [i for i in config.indexes if i.name and i.name != source.name]
    for rival in rivals:
        if index_variables(rival.name) == variables and (source.username, source.password) != login(rival):
            return f"shares {variables[0]} with {rival.name!r}, and their credentials differ: rename one"
    return ""


def login(index: IndexSource) -> tuple[str, str]:
    """User and password of an index: those of its variables, or those in its URL."""
    if index.username or index.password:
        return index.username, index.password
    parts = urlsplit(index.url)
    return unquote(parts.username or ""), unquote(parts.password or "")


def index_variables(name: str) -> tuple[str, str]:
    """The variables that hold an index's user and password, the way uv spells its name."""
    key = "".join(c.upper() if c.isalnum() else "_" for c in name)
    return f"UV_INDEX_{key}_USERNAME", f"UV_INDEX_{key}_PASSWORD"


def _is_set(environ: Mapping[str, str], key: str) -> bool:
    value = environ.get(key, "")
    try:
        return _BOOLEANS[value.lower()]
    except KeyError:
        what = f"{value!r} is no boolean"
        raise InputError([Problem(file="environment", key=key, what=what, hint="write 1 or 0")]) from None


def _ordered(indexes: Iterable[IndexSource]) -> tuple[IndexSource, ...]:
    """The indexes in the order in which uv asks them: the default last, each URL once.

    Without a default uv would ask its built-in index. A default that is listed before as well is asked there, in
    its first place, so the mark goes to whichever index is asked last. An explicit index is asked for named
    packages only: it neither takes the place of one that is asked for all nor loses its own to it.
    """
    indexes = list(indexes)
    default = next((index for index in indexes if index.default), None)
    kept: dict[tuple[str, str | None], IndexSource] = {}
    for index in [*(i for i in indexes if not i.default), *([default] if default else [])]:
        key = index.url, index.name if index.explicit else None
        # A dict keeps the place of the first; credentials hang on the name.
        if key not in kept or (index.name and not kept[key].name):
            kept[key] = index
    explicit = [index for index in kept.values() if index.explicit]
    asked = [index for index in kept.values() if not index.explicit]
    if default and not default.explicit:
        asked = [replace(index, default=False) for index in asked]
        asked[-1] = replace(asked[-1], default=True)
    return (*explicit, *asked)


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv: the machine's, less every setting that could change a result.

    Indexes are left out too: they reach uv through the configuration file that lockgrid writes.
    """
    kept = {
        key: value
        for key, value in environ.items()
        if not key.startswith(("UV_", "PIP_", "PYTHON")) and key not in ("VIRTUAL_ENV", "CONDA_PREFIX")
    }
    for key, value in environ.items():
        if key in _NETWORK_VARIABLES or (key.startswith("UV_INDEX_") and key.endswith(("_USERNAME", "_PASSWORD"))):
            kept[key] = value
    # Wrapped to the width of a terminal, what uv says would not hold the words that are looked for.
    return {**kept, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_NO_WRAP": "1"}


def _environment_indexes(environ: Mapping[str, str]) -> list[IndexSource]:
    indexes = []
    for word in f"{environ.get('UV_INDEX', '')} {environ.get('UV_EXTRA_INDEX_URL', '')}".split():
        indexes.append(_named(word))
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    if default:
        named = _named(default)
        indexes.append(IndexSource(url=named.url, name=named.name, default=True, table=named.table))
    return indexes


def _named(word: str) -> IndexSource:
    """``name=url`` or a bare URL."""
    name, separator, url = word.partition("=")
    if separator and "/" not in name and ":" not in name:
        return IndexSource(url=url, name=name, table={"name": name, "url": url})
    return IndexSource(url=word, table={"url": word})


def _table_indexes(table: Mapping[str, Any]) -> list[IndexSource]:
    indexes = [
        IndexSource(
            url=entry["url"],
            name=entry.get("name", ""),
            default=entry.get("default", False),
            explicit=entry.get("explicit", False),
            table=entry,
        )
        for entry in table.get("index", ())
    ]
    indexes += [IndexSource(url=url, table={"url": url}) for url in table.get("extra-index-url", ())]
    if url := table.get("index-url"):
        indexes.append(IndexSource(url=url, default=True, table={"url": url}))
    return indexes


def _with_credentials(index: IndexSource, environ: Mapping[str, str]) -> IndexSource:
    """Credentials from ``UV_INDEX_<NAME>_USERNAME`` and ``_PASSWORD``, the way uv spells the name."""
    username, password = index_variables(index.name)
    return IndexSource(
        url=index.url.rstrip("/"),
        name=index.name,
        default=index.default,
        explicit=index.explicit,
        username=environ.get(username, "") if index.name else "",
        password=environ.get(password, "") if index.name else "",
        table=index.table,
        folders=index.folders,
    )
