"""The loopback index tells what was added, in every form, and misbehaves as ordered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPMessage, IncompleteRead, RemoteDisconnected
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from support.index import LocalIndex
from support.simple_api import HTML_TYPE, JSON_TYPE
from support.wheels import wheel


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as running:
        yield running


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; redirects are not followed."""

    status: int
    headers: HTTPMessage
    content: bytes


def ask(method: str, url: str, **headers: str) -> Answer:
    """Ask for a URL; the credentials in it are sent."""
    parts = urlsplit(url)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        named["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    with contextlib.closing(HTTPConnection(parts.hostname or "", parts.port, timeout=10)) as connection:
        connection.request(method, parts.path, headers=named)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


def get(index: LocalIndex, path: str, **headers: str) -> Answer:
    return ask("GET", index.base_url + path, **headers)


def page(index: LocalIndex, name: str) -> Any:
    return json.loads(get(index, f"/simple/{name}/", Accept=JSON_TYPE).content)


def test_json_tells_everything_that_was_added(index: LocalIndex) -> None:
    one, two = wheel("a", "1", requires_python=">=3.8"), wheel("a", "2")
    index.add(one, yanked="bad", core_metadata=True, uploaded="2026-02-01T00:00:00Z")
    index.add(two, size=False, uploaded=None, core_metadata="no-hash", sha256="", yanked=True)
    answer = page(index, "a")
    assert (answer["meta"]["api-version"], answer["versions"]) == ("1.4", ["1", "2"])
    metadata = {"sha256": hashlib.sha256(one.metadata).hexdigest()}
    assert answer["files"][0] == {
        "filename": "a-1-py3-none-any.whl",
        "url": index.file_url(one.filename),
        "hashes": {"sha256": one.sha256},
        "requires-python": ">=3.8",
        "yanked": "bad",
        "core-metadata": metadata,
        "dist-info-metadata": metadata,
        "size": len(one.data),
        "upload-time": "2026-02-01T00:00:00Z",
    }
    assert answer["files"][1].keys() == {
        *("filename", "url", "hashes", "yanked", "core-metadata", "dist-info-metadata")
    }
    assert ask("GET", index.file_url(one.filename) + ".metadata").content == one.metadata
    index.remove(one.filename)
    assert page(index, "a")["versions"] == ["2"]
    assert get(index, f"/files/a/{one.filename}").status == 404


@pytest.mark.parametrize(
    ("accept", "html_only", "kind"),
    [
        (f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.01", False, JSON_TYPE),
        (f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.01", True, "text/html"),
        (f"{JSON_TYPE};q=0.1, text/*", False, "text/html"),
        ("*/*", False, "text/html"),
        ("image/png", False, "text/plain"),
    ],
)
def test_content_is_negotiated(index: LocalIndex, accept: str, html_only: bool, kind: str) -> None:
    index.html_only = html_only
    index.add(wheel("a", "1"))
    answer = get(index, "/simple/a/", Accept=accept)
    assert answer.headers["Content-Type"] == kind
    assert answer.status == (406 if accept == "image/png" else 200)


@pytest.mark.parametrize(
    ("header", "status", "told"),
    [
        ("bytes=0-9", 206, "0-9"),
        ("bytes=990-", 206, "990-999"),
        ("bytes=-10", 206, "990-999"),
        ("bytes=900-5000", 206, "900-999"),
        ("bytes=-5000", 206, "0-999"),
        ("bytes=1000-", 416, "*"),
        ("bytes=-0", 416, "*"),
        ("bytes=9-0", 200, None),
        ("lines=1-2", 200, None),
    ],
)
def test_ranges(index: LocalIndex, header: str, status: int, told: str | None) -> None:
    built = wheel("a", "1")
    data = built.data[:1000].ljust(1000, b"-")
    index.add(replace(built, data=data))
    answer = get(index, f"/files/a/{built.filename}", Range=header)
    assert answer.status == status
    assert answer.headers.get("Content-Range") == (told and f"bytes {told}/1000")
    if status == 206 and told:
        start, end = map(int, told.split("-"))
        assert answer.content == data[start : end + 1]
    index.ranges = False
    assert get(index, f"/files/a/{built.filename}", Range=header).content == data


def test_head_conditional_requests_credentials_and_redirects(index: LocalIndex) -> None:
    built = wheel("a", "1")
    index.add(built)
    index.cache_control = "max-age=600"
    path = f"/files/a/{built.filename}"
    head = ask("HEAD", index.base_url + path)
    assert (head.headers["Content-Length"], head.content) == (str(len(built.data)), b"")
    again = get(index, path, If_None_Match=head.headers["ETag"])
    assert (again.status, again.headers["Cache-Control"]) == (304, "max-age=600")
    assert get(index, "/simple/A/").headers["Location"] == "/simple/a/"
    assert index.requests == [
        ("HEAD", path, None, 200),
        ("GET", path, None, 304),
        ("GET", "/simple/A/", None, 301),
    ]
    index.credentials = ("me", "p@ss")
    assert get(index, "/simple/a/").status == 401
    assert ask("GET", index.url_with_credentials + "/a/").status == 200


def test_a_quarantined_project_offers_no_files(index: LocalIndex) -> None:
    index.add(wheel("Evil.One", "1"))
    index.quarantine("evil_one", reason="malware")
    answer = page(index, "evil-one")
    assert answer["project-status"] == {"status": "quarantined", "reason": "malware"}
    assert answer["files"] == []
    assert 'name="pypi:project-status" content="quarantined"' in get(index, "/simple/evil-one/").content.decode()
    index.quarantine("evil-one", offer_files=True)
    assert len(page(index, "evil-one")["files"]) == 1


def test_faults_strike_where_and_as_often_as_ordered(index: LocalIndex) -> None:
    index.add(wheel("a", "1"))
    index.fault("a", status=503, body=b"busy", headers={"Retry-After": "0"}, times=1)
    slow = index.fault("/simple/*", delay=0.1)
    assert get(index, "/simple/a/").content == b"busy"
    start = time.monotonic()
    assert get(index, "/simple/a/").status == 200
    assert time.monotonic() - start >= 0.1
    assert slow.hits == 1
    index.clear_faults()
    index.fault("*.whl", truncate=10)
    with pytest.raises(IncompleteRead):
        get(index, "/files/a/a-1-py3-none-any.whl")
    index.clear_faults()
    index.fault("*.whl", close=True)
    with pytest.raises(RemoteDisconnected):
        get(index, "/files/a/a-1-py3-none-any.whl")
    assert [request.status for request in index.seen("*.whl")] == [200, 0]
    index.clear_faults()
    index.fault("*.whl", drip=5000)
    start = time.monotonic()
    assert len(get(index, "/files/a/a-1-py3-none-any.whl").content) > 500
    assert time.monotonic() - start >= 0.1


def test_stopping_ends_waiting_faults_and_open_connections() -> None:
    with LocalIndex() as index:
        index.add(wheel("a", "1"))
        index.fault("*", delay=60)
        client = socket.create_connection(("127.0.0.1", urlsplit(index.url).port or 0), timeout=5)
        client.sendall(b"GET /simple/a/ HTTP/1.1\r\nHost: x\r\n\r\n")
        start = time.monotonic()
    with client, contextlib.suppress(ConnectionError):
        while client.recv(4096):
            pass
    assert time.monotonic() - start < 1
    with pytest.raises(ConnectionRefusedError):
        get(index, "/simple/a/")
