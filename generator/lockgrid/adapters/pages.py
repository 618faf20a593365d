"""Project pages, from JSON (PEP 691, 700, 792) or HTML (PEP 503, 592, 658, 714), to ``model.index.Page``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, cached_property
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from lockgrid.adapters.uvconfig import strip_credentials
from lockgrid.errors import ToolError
from lockgrid.model.index import IndexFile, Page

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


def parse_page(name: str, url: str, content_type: str, body: bytes) -> Page:
    """Read the page of the project ``name``; ``url`` resolves relative links.

    Raises ``ToolError`` for what is no project page.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        if kind.endswith("json"):
            return _from_json(name, url, json.loads(body))
        if kind.endswith("html"):
            return _from_html(name, url, body.decode("utf-8", "replace"))
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        raise _nonsense(url, f"{type(error).__name__}: {error}") from error
    raise _nonsense(url, f"content type {content_type or 'none'!r}")


def local_page(name: str, files: Iterable[tuple[str, str, str, int]]) -> Page:
    """The page of a project that consists of files on this machine: name, URL, sha256 and bytes of each."""
    return _page(name, [(filename, url, sha, size, None, None, None, "") for filename, url, sha, size in files], False)


def _nonsense(url: str, detail: str) -> ToolError:
    return ToolError(
        f"the index answered with something that is no project page ({detail[:200]})",
        where=strip_credentials(url),
        next_step="check that uv's index settings name a simple index (PEP 503 or 691)",
    )


def _from_json(name: str, url: str, data: dict[str, Any]) -> Page:
    version = str(data["meta"]["api-version"])
    if version.partition(".")[0] != "1":
        raise ValueError(f"simple API version {version}")
    status = data.get("project-status") or {}
    rows = [_json_row(url, entry) for entry in data["files"]]
    return _page(name, rows, status.get("status") == "quarantined")


#: filename, URL, sha256, size, upload time (RFC 3339), Requires-Python, yank reason, sha256 of METADATA.
_Row = tuple[str, str, str, int | None, str | None, str | None, str | None, str]


def _json_row(url: str, entry: dict[str, Any]) -> _Row:
    yanked = entry.get("yanked", False)
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
    filename, link, size = entry["filename"], entry["url"], entry.get("size")
    requires_python = entry.get("requires-python") or None
    if not isinstance(size, int | None) or not isinstance(requires_python, str | None):
        raise TypeError(f"{filename} has the size {size!r} and the requires-python {requires_python!r}")
    return (
        filename,
        link if link.startswith(("https://", "http://")) else urljoin(url, link),
        entry["hashes"].get("sha256", "").lower(),
        size,
        entry.get("upload-time") or None,
        requires_python,
        None if yanked is False else ("" if yanked is True else str(yanked)),
        metadata.get("sha256", "") if isinstance(metadata, dict) else "",
    )


class _Releases(Mapping[str, tuple[IndexFile, ...]]):
    """Releases as JSON of rows, each made into files when it is asked for: a lock looks at few of many."""

    def __init__(self, load: Callable[[], dict[str, str]]) -> None:
        self._load = load
        self._files: dict[str, tuple[IndexFile, ...]] = {}

    @cached_property
    def rows(self) -> dict[str, str]:
        """The JSON by version."""
        return self._load()

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, version: str) -> tuple[IndexFile, ...]:
        if version not in self._files:
            self._files[version] = tuple(_file(row) for row in json.loads(self.rows[version]))
        return self._files[version]


def _file(row: _Row) -> IndexFile:
    filename, url, digest, size, uploaded, requires_python, yanked, metadata_digest = row
    return IndexFile(
        filename=filename,
        url=url,
        sha256=digest,
        size=size,
        uploaded=_moment(filename, uploaded) if uploaded else None,
        requires_python=requires_python,
        yanked=yanked,
        metadata_sha256=metadata_digest,
    )


def _moment(filename: str, uploaded: str) -> datetime:
    """An upload time in UTC, which is also what a time without a zone is in (PEP 700 asks for a ``Z``)."""
    try:
        moment = datetime.fromisoformat(uploaded)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{filename} has the upload time {uploaded!r}") from error


def _by_version(name: str, rows: list[_Row]) -> _Releases:
    """The files by version; what is named after no specification, or after another project, is left out."""
    grouped: dict[str, list[_Row]] = {}
    for row in rows:
        version = _version(name, row[0])
        if version:
            grouped.setdefault(version, []).append(row)
    packed = {version: json.dumps(found) for version, found in grouped.items()}
    return _Releases(lambda: packed)


def _version(name: str, filename: str) -> str:
    """The version in a file name in normal form, empty for a file that is not of this project.

    Of a wheel only the two parts that are asked for are read: pages list tens of thousands.
    """
    try:
        if filename.endswith(".whl"):
            parts = filename.split("-", 2)
            return _normal_version(parts[1]) if _is_name(parts[0], name) else ""
        stated, version = parse_sdist_filename(filename)
        return str(version) if stated == name else ""
    except (InvalidVersion, InvalidSdistFilename, IndexError):
        return ""


@cache
def _normal_version(text: str) -> str:
    return str(Version(text))


@cache
def _is_name(stated: str, name: str) -> bool:
    return canonicalize_name(stated) == name


class _Anchors(HTMLParser):
    """Collects anchors, and the meta tags that PEP 792 puts the status into."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[dict[str, str | None]] = []
        self.status = ""
        self.is_html = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_html = True
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.anchors.append(found)
        if tag == "meta" and found.get("name") == "pypi:project-status":
            self.status = found.get("content") or ""


def _from_html(name: str, url: str, text: str) -> Page:
    parser = _Anchors()
    parser.feed(text)
    if not parser.is_html:
        raise ValueError("no HTML")
    rows = [_html_row(url, anchor) for anchor in parser.anchors]
    return _page(name, rows, parser.status == "quarantined")


def _html_row(url: str, anchor: dict[str, str | None]) -> _Row:
    link = urljoin(url, anchor["href"] or "")
    parts = urlsplit(link)
    kind, _, digest = parts.fragment.partition("=")
    metadata = anchor.get("data-core-metadata") or anchor.get("data-dist-info-metadata") or ""
    return (
        unquote(parts.path.rpartition("/")[2]),
        link.partition("#")[0],
        digest.lower() if kind == "sha256" else "",
        None,
        anchor.get("data-upload-time") or None,  # in no PEP, and some indexes have it; uv reads it too
        anchor.get("data-requires-python") or None,
        (anchor["data-yanked"] or "") if "data-yanked" in anchor else None,
        metadata.removeprefix("sha256=") if metadata.startswith("sha256=") else "",
    )


def encode_page(page: Page) -> tuple[bytes, bytes]:
    """A page that ``parse_page`` made, for the cache: its head, and its body by ``page.digest``."""
    newest = page.newest.isoformat() if page.newest else None
    head = [page.name, page.missing, page.quarantined, page.digest, newest]
    rows = page.releases.rows if isinstance(page.releases, _Releases) else {}
    return json.dumps(head).encode(), json.dumps(rows).encode()


def decode_page(head: bytes, body: Callable[[str], bytes]) -> Page:
    """The inverse of ``encode_page``; ``body`` fetches one by its digest, when it is first looked into."""
    name, missing, quarantined, digest, newest = json.loads(head)
    return Page(
        name=name,
        releases={} if missing else _Releases(lambda: json.loads(body(digest))),
        missing=missing,
        quarantined=quarantined,
        digest=digest,
        newest=datetime.fromisoformat(newest) if newest else None,
    )


def _page(name: str, rows: list[_Row], quarantined: bool) -> Page:
    # Every time is read here, so that one that is none is told with the page: 5,000 take some 3 ms.
    times = [_moment(row[0], row[4]) for row in rows if row[4]]
    newest = max(times) if times and len(times) == len(rows) else None
    releases = _by_version(name, rows)
    digest = sha256(f"{quarantined}".encode())
    for version, packed in releases.rows.items():
        digest.update(f"\n{version} {packed}".encode())
    return Page(name=name, releases=releases, quarantined=quarantined, digest=digest.hexdigest(), newest=newest)
