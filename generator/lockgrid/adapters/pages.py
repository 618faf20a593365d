"""Project pages, from JSON (PEP 691, 700, 792) or HTML (PEP 503, 592, 658, 714), to ``model.index.Page``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

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
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _nonsense(url, f"{type(error).__name__}: {error}") from error
    raise _nonsense(url, f"content type {content_type or 'none'!r}")


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
    files = tuple(_json_file(url, entry) for entry in data["files"])
    return Page(name=name, files=files, quarantined=status.get("status") == "quarantined")


def _json_file(url: str, entry: dict[str, Any]) -> IndexFile:
    yanked = entry.get("yanked", False)
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
    uploaded = entry.get("upload-time")
    return IndexFile(
        filename=entry["filename"],
        url=urljoin(url, entry["url"]),
        sha256=entry["hashes"].get("sha256", "").lower(),
        size=entry.get("size"),
        uploaded=datetime.fromisoformat(uploaded).astimezone(UTC) if uploaded else None,
        requires_python=entry.get("requires-python") or None,
        yanked=None if yanked is False else ("" if yanked is True else str(yanked)),
        metadata_sha256=metadata.get("sha256", "") if isinstance(metadata, dict) else "",
    )


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
    files = [_html_file(url, anchor) for anchor in parser.anchors]
    return Page(name=name, files=tuple(files), quarantined=parser.status == "quarantined")


def _html_file(url: str, anchor: dict[str, str | None]) -> IndexFile:
    link = urljoin(url, anchor["href"] or "")
    parts = urlsplit(link)
    kind, _, digest = parts.fragment.partition("=")
    metadata = anchor.get("data-core-metadata") or anchor.get("data-dist-info-metadata") or ""
    return IndexFile(
        filename=unquote(parts.path.rpartition("/")[2]),
        url=link.partition("#")[0],
        sha256=digest.lower() if kind == "sha256" else "",
        requires_python=anchor.get("data-requires-python") or None,
        yanked=(anchor["data-yanked"] or "") if "data-yanked" in anchor else None,
        metadata_sha256=metadata.removeprefix("sha256=") if metadata.startswith("sha256=") else "",
    )


def encode_page(page: Page) -> bytes:
    """A page in short form, for the cache."""
    rows = [
        (
            f.filename,
            f.url,
            f.sha256,
            f.size,
            f.uploaded.timestamp() if f.uploaded else None,
            f.requires_python,
            f.yanked,
            f.metadata_sha256,
        )
        for f in page.files
    ]
    return json.dumps([page.name, page.missing, page.quarantined, rows], separators=(",", ":")).encode()


def decode_page(value: bytes) -> Page:
    """The inverse of ``encode_page``."""
    name, missing, quarantined, rows = json.loads(value)
    files = tuple(
        IndexFile(
            filename=filename,
            url=url,
            sha256=sha256,
            size=size,
            uploaded=datetime.fromtimestamp(uploaded, UTC) if uploaded is not None else None,
            requires_python=requires_python,
            yanked=yanked,
            metadata_sha256=metadata_sha256,
        )
        for filename, url, sha256, size, uploaded, requires_python, yanked, metadata_sha256 in rows
    )
    return Page(name=name, files=files, missing=missing, quarantined=quarantined)
