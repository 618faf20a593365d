"""What a loopback index holds, and the right answer to each request; no sockets, no threads."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

from support import simple_api
from support.metadata import Built, normalize
from support.responses import Response, found, if_none_match, in_range, text
from support.simple_api import CoreMetadata, Listing, Page

FROM_WHEEL: Final = "as the distribution says"


@dataclass(slots=True)
class _Project:
    listings: dict[str, Listing] = field(default_factory=dict)  # by file name, in order of arrival
    status: str = "active"
    reason: str | None = None
    hidden: bool = False  # the page lists no files


@dataclass(kw_only=True, eq=False)
class Catalogue:
    """The files of an index and how it shows them. A test may change any option at any time.

    html_only: answer in HTML whatever the client accepts.
    ranges: honour Range headers; False: ignore them, 200 with everything.
    credentials: (user, password) that HTTP basic authentication must give, else 401.
    cache_control: a Cache-Control header for every page and file.
    api_version: of the simple API; with "1.0" there are no sizes, versions and upload times.
    relative_urls: link to files relative to the page, as many mirrors do.
    html_upload_time: the `data-upload-time` attribute that some HTML indexes have, outside any PEP.
    """

    html_only: bool = False
    ranges: bool = True
    credentials: tuple[str, str] | None = None
    cache_control: str | None = None
    api_version: str = "1.4"
    relative_urls: bool = False
    html_upload_time: bool = False
    base_url: str = field(default="http://127.0.0.1", init=False)  # LocalIndex adds its port
    _projects: dict[str, _Project] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def add(
        self,
        built: Built,
        *,
        uploaded: str | None = "2026-01-01T00:00:00Z",
        yanked: bool | str = False,
        requires_python: str | None = FROM_WHEEL,
        core_metadata: CoreMetadata = False,
        size: bool | int = True,
        sha256: str | None = None,
    ) -> None:
        """Offer a distribution; one of the same file name is replaced.

        uploaded: RFC 3339 time; None: the index does not tell it.
        yanked: True or the reason.
        requires_python: what the index says, by default what the distribution says.
        core_metadata: also serve `<file>.metadata` (PEP 658) with its hash; "no-hash": without
            telling one; "wrong-hash": telling a wrong one.
        size: tell the size, do not (False), or tell this many bytes.
        sha256: tell this hash in place of the right one; "": tell none.
        """
        if requires_python == FROM_WHEEL:
            requires_python = built.requires_python
        listing = Listing(
            built=built,
            uploaded=uploaded,
            yanked=yanked,
            requires_python=requires_python,
            core_metadata=core_metadata,
            size=size,
            sha256=built.sha256 if sha256 is None else sha256,
        )
        with self._lock:
            self._project(built.name).listings[built.filename] = listing

    def remove(self, filename: str) -> None:
        """Take a file away, page entry and content; KeyError if there is none."""
        with self._lock:
            del self._project(self._find(filename).built.name).listings[filename]

    def quarantine(self, name: str, *, reason: str | None = None, offer_files: bool = False) -> None:
        """Quarantine a project (PEP 792). Its page then lists no files, as the PEP demands.

        offer_files: list them all the same, as an index might that only mirrors the status.
        """
        with self._lock:
            self.set_status(name, "quarantined", reason=reason)
            self._project(name).hidden = not offer_files

    def set_status(self, name: str, status: str, *, reason: str | None = None) -> None:
        """Set the project status (PEP 792): active, archived, deprecated or quarantined."""
        with self._lock:
            project = self._project(name)
            project.status, project.reason, project.hidden = status, reason, False

    def file_url(self, filename: str) -> str:
        """Return the absolute URL of a file; KeyError if there is none."""
        with self._lock:
            return self.base_url + _file_path(self._find(filename))

    def respond(self, path: str, header: Callable[[str], str | None]) -> Response:
        """Return the answer to a GET or HEAD of a percent-encoded path.

        `header` gives a request header by its name.
        """
        if not self._authorized(header("Authorization")):
            return text(401, "who are you?\n", WWW_Authenticate='Basic realm="index"')
        with self._lock:
            match [unquote(part) for part in path.split("/")]:
                case ["", "simple", ""]:
                    response = self._page(None, header("Accept"))
                case ["", "simple", name]:
                    return text(301, "", Location=f"/simple/{quote(normalize(name))}/")
                case ["", "simple", name, ""] if name != normalize(name):
                    return text(301, "", Location=f"/simple/{quote(normalize(name))}/")
                case ["", "simple", name, ""] if name in self._projects:
                    response = self._page(name, header("Accept"))
                case ["", "files", name, filename] if name in self._projects:
                    response = self._file(self._projects[name], filename)
                case _:
                    return text(404, "not here\n")
        if self.ranges and path.startswith("/files/"):
            response = in_range(response, header("Range"), header("If-Range"))
        return if_none_match(response, header("If-None-Match"))

    def _authorized(self, given: str | None) -> bool:
        if self.credentials is None:
            return True
        token = base64.b64encode(":".join(self.credentials).encode()).decode()
        return given == f"Basic {token}"

    def _page(self, name: str | None, accept: str | None) -> Response:
        """Return the page of one project, or the list of all."""
        kind = simple_api.negotiate(accept, html_only=self.html_only)
        if kind is None:
            return text(406, "no such content type\n")
        is_json = kind == simple_api.JSON_TYPE
        if name is None:
            root = simple_api.root_json if is_json else simple_api.root_html
            body = root(sorted(self._projects), self.api_version)
        else:
            project = self._projects[name]
            page = Page(
                name=name,
                listings=() if project.hidden else tuple(project.listings.values()),
                status=project.status,
                reason=project.reason,
                api_version=self.api_version,
                html_upload_time=self.html_upload_time,
                url=self._link,
            )
            body = simple_api.project_json(page) if is_json else simple_api.project_html(page)
        return found(body, kind, cache_control=self.cache_control)

    def _file(self, project: _Project, filename: str) -> Response:
        """Return a distribution or its metadata file, or 404."""
        if filename in project.listings:
            body, kind = project.listings[filename].built.data, "application/octet-stream"
        else:
            listing = project.listings.get(filename.removesuffix(".metadata"))
            if listing is None or not listing.core_metadata:
                return text(404, "not here\n")
            body, kind = listing.built.metadata, "text/plain"
        extra = {"Accept-Ranges": "bytes"} if self.ranges else {}
        return found(body, kind, cache_control=self.cache_control, extra=extra)

    def _link(self, listing: Listing) -> str:
        return ("../.." if self.relative_urls else self.base_url) + _file_path(listing)

    def _project(self, name: str) -> _Project:
        return self._projects.setdefault(normalize(name), _Project())

    def _find(self, filename: str) -> Listing:
        for project in self._projects.values():
            if filename in project.listings:
                return project.listings[filename]
        raise KeyError(filename)


def _file_path(listing: Listing) -> str:
    return f"/files/{listing.built.name}/{quote(listing.built.filename)}"
