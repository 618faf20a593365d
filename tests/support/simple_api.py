"""Pages of the simple repository API: PEP 503 HTML and PEP 691 JSON, as pure functions.

With PEP 592 (yanked), 629 (HTML version), 658 and 714 (metadata files), 700 (size, upload-time)
and 792 (project status).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from support.metadata import Built, sha256

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
LEGACY_TYPE = "text/html"

CoreMetadata = bool | Literal["wrong-hash", "no-hash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One file of an index: the bytes, and what the index says of them, which may be untrue."""

    built: Built
    uploaded: str | None  # RFC 3339, or None for an index without dates
    yanked: bool | str  # True: without a reason
    requires_python: str | None
    core_metadata: CoreMetadata
    size: bool | int  # False: not told; a number: told so
    sha256: str  # "": no hash at all

    @property
    def metadata_hash(self) -> str | None:
        """What the index says is the SHA-256 of the metadata file; None if it says none."""
        if self.core_metadata is True:
            return sha256(self.built.metadata)
        return sha256(b"something else") if self.core_metadata == "wrong-hash" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One project as an index tells it; `url` gives the address of a file, without fragment."""

    name: str
    listings: Sequence[Listing]
    status: str  # PEP 792
    reason: str | None
    api_version: str  # "1.0" has no versions, sizes and upload times (PEP 700)
    html_upload_time: bool  # data-upload-time is not in a PEP; some indexes have it and uv reads it
    url: Callable[[Listing], str]


def negotiate(accept: str | None, *, html_only: bool) -> str | None:
    """Return the content type to answer with, or None where the client takes none (406).

    `accept` is the Accept header; without one the answer is HTML, as PEP 691 recommends. Between
    equals JSON wins. `html_only`: as indexes made of plain files, which do not look at the header.
    """
    offered = [JSON_TYPE, HTML_TYPE, LEGACY_TYPE]
    if html_only or not accept or accept.strip() == "*/*":
        return LEGACY_TYPE
    wanted = {kind.replace(".latest+", ".v1+"): q for kind, q in _accepted(accept)}
    best = max(offered, key=lambda kind: _quality(kind, wanted))
    return best if _quality(best, wanted) > 0 else None


def project_json(page: Page) -> bytes:
    """Return the project page as PEP 691 JSON."""
    full = page.api_version != "1.0"
    meta: dict[str, Any] = {"api-version": page.api_version}
    answer: dict[str, Any] = {"meta": meta, "name": page.name}
    if page.status != "active":
        answer["project-status"] = {"status": page.status}
        if page.reason is not None:
            answer["project-status"]["reason"] = page.reason
    if full:
        answer["versions"] = list(dict.fromkeys(entry.built.version for entry in page.listings))
    answer["files"] = [_json_file(entry, page, full=full) for entry in page.listings]
    return json.dumps(answer, indent=1).encode()


def project_html(page: Page) -> bytes:
    """Return the project page as PEP 503 HTML."""
    head = [_meta("pypi:repository-version", page.api_version)]
    if page.status != "active":
        head.append(_meta("pypi:project-status", page.status))
        if page.reason is not None:
            head.append(_meta("pypi:project-status-reason", page.reason))
    return _html(head, (_html_file(entry, page) for entry in page.listings))


def root_json(names: Iterable[str], api_version: str) -> bytes:
    """Return the list of projects as PEP 691 JSON."""
    projects = [{"name": name} for name in names]
    return json.dumps({"meta": {"api-version": api_version}, "projects": projects}).encode()


def root_html(names: Iterable[str], api_version: str) -> bytes:
    """Return the list of projects as PEP 503 HTML, with relative links."""
    head = [_meta("pypi:repository-version", api_version)]
    return _html(head, (f'<a href="{name}/">{name}</a>' for name in names))


def _json_file(entry: Listing, page: Page, *, full: bool) -> dict[str, Any]:
    file: dict[str, Any] = {"filename": entry.built.filename, "url": page.url(entry)}
    file["hashes"] = {"sha256": entry.sha256} if entry.sha256 else {}
    if entry.requires_python is not None:
        file["requires-python"] = entry.requires_python
    if entry.yanked is not False:
        file["yanked"] = entry.yanked
    if entry.core_metadata:
        digest = entry.metadata_hash
        told = {"sha256": digest} if digest else True
        file |= {"core-metadata": told, "dist-info-metadata": told}  # both, says PEP 714
    if full and entry.size is not False:
        file["size"] = len(entry.built.data) if entry.size is True else entry.size
    if full and entry.uploaded is not None:
        file["upload-time"] = entry.uploaded
    return file


def _html_file(entry: Listing, page: Page) -> str:
    fragment = f"#sha256={entry.sha256}" if entry.sha256 else ""
    attributes = {"href": page.url(entry) + fragment}
    if entry.requires_python is not None:
        attributes["data-requires-python"] = entry.requires_python
    if entry.yanked is not False:
        attributes["data-yanked"] = "" if entry.yanked is True else entry.yanked
    if entry.core_metadata:
        digest = entry.metadata_hash
        told = f"sha256={digest}" if digest else "true"
        attributes |= {"data-core-metadata": told, "data-dist-info-metadata": told}
    if page.html_upload_time and entry.uploaded is not None:
        attributes["data-upload-time"] = entry.uploaded
    text = " ".join(f'{key}="{escape(value)}"' for key, value in attributes.items())
    return f"<a {text}>{escape(entry.built.filename)}</a>"


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{escape(content)}">'


def _html(head: Iterable[str], links: Iterable[str]) -> bytes:
    lines = ["<!DOCTYPE html>", "<html><head>", *head, "</head><body>"]
    lines += [f"{link}<br>" for link in links]
    return "\n".join([*lines, "</body></html>", ""]).encode()


def _accepted(accept: str) -> Iterable[tuple[str, float]]:
    """Yield media type and quality of each element of an Accept header."""
    for element in accept.split(","):
        kind, *parameters = (part.strip() for part in element.split(";"))
        quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        yield kind.lower(), float(quality)


def _quality(kind: str, wanted: dict[str, float]) -> float:
    ranges = (kind, kind.split("/")[0] + "/*", "*/*")
    return next((wanted[each] for each in ranges if each in wanted), 0.0)
