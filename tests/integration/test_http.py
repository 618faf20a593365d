"""lockgrid's own client against a server on loopback: what only a real connection shows."""

from __future__ import annotations

import asyncio
import base64
import gzip
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lockgrid.adapters.http import Answer, Http
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import ToolError


@dataclass
class Said:
    """One answer of the server. ``length`` is what it claims of the body, when that is not the truth."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None


class Server(ThreadingHTTPServer):
    """Answers by path; notes each request's path, user and password, and how many connections there were."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        self.answers: dict[str, list[Said]] = {}
        self.asked: list[tuple[str, str]] = []
        self.connections = 0
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: object, client_address: object) -> None:
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        credentials = self.headers.get("Authorization", "").removeprefix("Basic ")
        self.server.asked.append((self.path, base64.b64decode(credentials).decode()))
        said = self.server.answers.get(self.path, [Said(404)])
        answer = said.pop(0) if len(said) > 1 else said[0]
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.end_headers()
        self.wfile.write(answer.body)
        if answer.length is not None:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    """Two servers: two ports are two origins."""
    made = Server(), Server()
    threads = [threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}) for server in made]
    for thread in threads:
        thread.start()
    yield made
    for server in made:
        server.shutdown()
        server.server_close()
    for thread in threads:
        thread.join()


def get(
    *urls: str, indexes: Sequence[IndexSource] = (), environ: Mapping[str, str] | None = None, accept: int = 200
) -> list[Answer]:
    """Ask all at once."""

    async def run() -> list[Answer]:
        http = Http(UvConfig(indexes=tuple(indexes), network={}), environ or {})
        try:
            return await asyncio.gather(*[http.get(url, accept=(accept,)) for url in urls])
        finally:
            await http.close()

    return asyncio.run(run())


def test_a_redirect_to_another_origin_takes_no_credentials_along(servers: tuple[Server, Server]) -> None:
    index, files = servers
    index.answers["/simple/a/"] = [Said(302, headers={"Location": f"{files.url}/a"})]
    files.answers["/a"] = [Said(body=b"x")]
    source = IndexSource(url=f"{index.url}/simple", username="me", password="sécret")
    (answer,) = get(f"{index.url}/simple/a/", indexes=[source])
    assert (answer.body, answer.url) == (b"x", f"{files.url}/a")
    assert (index.asked, files.asked) == ([("/simple/a/", "me:sécret")], [("/a", "")])


def test_a_redirect_within_the_index_keeps_them(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    index.answers["/simple/a"] = [Said(301, headers={"Location": "/simple/a/"})]
    index.answers["/simple/a/"] = [Said(body=b"x")]
    source = IndexSource(url=f"{index.url}/simple", username="me", password="secret")
    (answer,) = get(f"{index.url}/simple/a", indexes=[source])
    assert answer.url == f"{index.url}/simple/a/"
    assert index.asked == [("/simple/a", "me:secret"), ("/simple/a/", "me:secret")]


def test_redirects_in_a_circle_end(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    index.answers["/a"] = [Said(302, headers={"Location": "/a"})]
    with pytest.raises(ToolError, match="more than 5 redirects") as caught:
        get(f"{index.url.replace('//', '//me:secret@')}/a")
    assert caught.value.where == f"{index.url}/a"
    assert len(index.asked) < 10


@pytest.mark.parametrize("location", ["ftp://files.example/a", "http://[", "file:///etc/hosts"])
def test_a_redirect_to_nowhere_is_told(servers: tuple[Server, Server], location: str) -> None:
    index, _ = servers
    index.answers["/a"] = [Said(302, headers={"Location": location})]
    with pytest.raises(ToolError, match="the request failed"):
        get(f"{index.url}/a")
    assert len(index.asked) == 1


def test_an_answer_that_is_cut_off_is_asked_for_again(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    index.answers["/a"] = [Said(body=b"half", length=8), Said(body=b"the whole")]
    (answer,) = get(f"{index.url}/a")
    assert answer.body == b"the whole"
    index.answers["/b"] = [Said(body=b"half", length=8)]
    with pytest.raises(ToolError, match="the index cannot be reached") as caught:
        get(f"{index.url}/b")
    assert [path for path, _ in index.asked] == ["/a"] * 2 + ["/b"] * 3
    assert caught.value.exit_code == 4


def test_a_compressed_page_is_unpacked_and_a_broken_one_told(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    zipped = gzip.compress(b"page")
    index.answers["/a"] = [Said(body=zipped, headers={"Content-Encoding": "gzip"})]
    index.answers["/b"] = [Said(body=b"no gzip", headers={"Content-Encoding": "gzip"})]
    assert get(f"{index.url}/a")[0].body == b"page"
    with pytest.raises(ToolError, match="the index cannot be reached"):
        get(f"{index.url}/b")


def test_connections_are_few_and_used_again(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    index.answers["/a"] = [Said(body=b"x" * 1000)]
    assert len(get(*[f"{index.url}/a"] * 300)) == len(index.asked) == 300
    assert index.connections <= 40


def test_a_server_that_is_not_there_is_told_with_its_address() -> None:
    closed = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = closed.server_address[1]
    closed.server_close()
    with pytest.raises(ToolError, match=r"the index cannot be reached: .*Connect call failed") as caught:
        get(f"http://me:secret@127.0.0.1:{port}/a")
    assert caught.value.where == f"http://127.0.0.1:{port}/a"


def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate", encoding="utf-8")
    with pytest.raises(ToolError, match=r"SSL_CERT_FILE names .*broken\.pem, which cannot be used"):
        get("https://127.0.0.1:1/a", environ={"SSL_CERT_FILE": str(broken)})
    # OpenSSL takes any folder, and finds nothing to trust in it.
    with pytest.raises(ToolError, match="the index cannot be reached"):
        get("https://127.0.0.1:1/a", environ={"SSL_CERT_DIR": str(tmp_path)})


def test_credentials_in_a_url_are_sent_and_not_told(servers: tuple[Server, Server]) -> None:
    index, _ = servers
    index.answers["/simple/a/"] = [Said(body=b"x")]
    (answer,) = get(f"{index.url.replace('//', '//you:p%40ss@')}/simple/a/")
    assert index.asked == [("/simple/a/", "you:p@ss")]
    assert answer.url == f"{index.url}/simple/a/"
