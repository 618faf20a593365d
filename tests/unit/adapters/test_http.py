"""Credentials belong to their own index, failures become sentences. No request leaves the process."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import aiohttp
import pytest

from lockgrid.adapters import http as module
from lockgrid.adapters.http import Answer, Http, Sink
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import ToolError

URL = "https://index.example/simple/a/"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read the real ones takes its time
Attempt = Callable[[str], Answer]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries do not wait, no certificates are read."""

    async def nap(_seconds: float) -> None:
        """No time passes."""

    monkeypatch.setattr(asyncio, "sleep", nap)
    monkeypatch.setattr(module, "_certificates", lambda _config, _environ: NO_CERTIFICATES)


def get(attempt: Attempt, url: str = URL, *, accept: Sequence[int] = (200,)) -> Answer:
    """One question, each attempt at which ``attempt`` answers."""

    async def send(url: str, _headers: Mapping[str, str], sink: Sink, accept: Sequence[int]) -> Answer:
        return told(attempt(url), sink, accept)

    async def run() -> Answer:
        http = Http(UvConfig(indexes=(), network={}), {})
        http._send = send  # type: ignore[method-assign,assignment]
        try:
            return await http.get(url, accept=accept)
        finally:
            await http.close()

    return asyncio.run(run())


def told(answer: Answer, sink: Sink, accept: Sequence[int]) -> Answer:
    """What ``Http._send`` does with an answer."""
    if answer.status in accept:
        sink.begin(answer)
        sink.write(answer.body)
    return replace(answer, body=b"")


def opened(config: UvConfig, environ: Mapping[str, str]) -> Http:
    """A client, closed again: what it was told can be read off it."""

    async def run() -> Http:
        http = Http(config, environ)
        await http.close()
        return http

    return asyncio.run(run())


def answer(status: int, body: bytes = b"") -> Answer:
    return Answer(status=status, url=URL, body=body)


@pytest.mark.parametrize(
    ("index", "sent"),
    [
        (IndexSource(url="https://index.example/simple", username="me", password="secret"), ("me", "secret")),
        (IndexSource(url="https://you:p%40ss@index.example/simple"), ("you", "p@ss")),
        (IndexSource(url="https://token@index.example/simple"), ("token", "")),
        (IndexSource(url="https://other.example/simple", username="me", password="secret"), None),
        (IndexSource(url="https://index.example:8443/simple", username="me", password="secret"), None),
        (IndexSource(url="https://index.example/simple"), None),
        (IndexSource(url="http://index.example/simple", username="me", password="secret"), None),
        (IndexSource(url="https://index.example/simple", username="a:b"), ("a:b", "")),
    ],
)
def test_credentials_go_to_the_host_of_their_index_alone(index: IndexSource, sent: tuple[str, str] | None) -> None:
    assert opened(UvConfig(indexes=(index,), network={}), {})._credentials(URL) == sent


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (503, 3), (429, 3), (404, 1), (401, 1), (403, 1), (418, 1)])
def test_only_what_may_pass_is_tried_again(status: int, tries: int) -> None:
    calls: list[str] = []

    def attempt(url: str) -> Answer:
        calls.append(url)
        return answer(status)

    with pytest.raises(ToolError, match=f"the index answered with status {status}") as caught:
        get(attempt, "https://me:secret@index.example/simple/a/")
    assert len(calls) == tries
    assert caught.value.where == URL
    assert ("credentials" in caught.value.next_step) is (status in (401, 403))


def test_a_failure_that_passes_is_no_failure() -> None:
    answers = iter([answer(503), answer(200, b"x")])
    assert get(lambda _url: next(answers)).body == b"x"


def test_a_status_that_is_accepted_is_an_answer() -> None:
    assert get(lambda _url: answer(404), accept=(200, 404)).status == 404


@pytest.mark.parametrize(
    ("error", "said", "tries"),
    [
        (aiohttp.ClientConnectionError("refused"), "the index cannot be reached: refused", 3),
        (aiohttp.ServerTimeoutError("x"), "the index cannot be reached: no answer in time", 3),
        (aiohttp.ClientPayloadError("cut"), "the index cannot be reached: cut", 3),
        (aiohttp.ServerDisconnectedError(), "the index cannot be reached: Server disconnected", 3),
        (ConnectionResetError("reset"), "the index cannot be reached: reset", 3),
        (aiohttp.InvalidURL("no url"), "the request failed: no url", 1),
    ],
)
def test_a_transport_that_fails_is_a_tool_error(error: Exception, said: str, tries: int) -> None:
    calls: list[str] = []

    def attempt(url: str) -> Answer:
        calls.append(url)
        raise error

    with pytest.raises(ToolError) as caught:
        get(attempt)
    assert (caught.value.what, caught.value.where, caught.value.exit_code) == (said, URL, 4)
    assert len(calls) == tries


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, 30.0),
        ({"UV_HTTP_TIMEOUT": "7"}, 7.0),
        ({"UV_HTTP_TIMEOUT": "0"}, 1.0),
        ({"UV_HTTP_TIMEOUT": "soon", "UV_REQUEST_TIMEOUT": "8"}, 8.0),
        ({"HTTP_TIMEOUT": "9"}, 9.0),
    ],
)
def test_the_timeout_is_uvs(environ: dict[str, str], seconds: float) -> None:
    assert opened(UvConfig(indexes=(), network={}), environ).timeout == seconds


def test_a_body_is_bounded() -> None:
    async def run() -> Answer:
        http = Http(UvConfig(indexes=(), network={}), {})

        async def send(url: str, _headers: Mapping[str, str], sink: Sink, accept: Sequence[int]) -> Answer:
            return told(answer(200, b"12345"), sink, accept)

        http._send = send  # type: ignore[method-assign,assignment]
        try:
            assert (await http.get(URL, limit=5)).body == b"12345"
            return await http.get(URL.replace("//", "//me:secret@"), limit=4)
        finally:
            await http.close()

    with pytest.raises(ToolError, match="more than the 4 bytes") as caught:
        asyncio.run(run())
    assert (caught.value.where, bool(caught.value.next_step)) == (URL, True)


def test_a_big_answer_may_take_longer() -> None:
    http = opened(UvConfig(indexes=(), network={}), {"UV_HTTP_TIMEOUT": "10"})
    assert http.patience(0) == 40
    assert 40 < http.patience(10**6) < 50
    assert http.patience(16 * 1024**2) == 120


@pytest.mark.parametrize("size", [0, 10])
def test_the_deadline_moves_with_what_the_sink_awaits(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(module, "_WHOLE_ANSWER", 0.05)
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 1)

    async def run() -> Answer:
        http = Http(UvConfig(indexes=(), network={}), {"UV_HTTP_TIMEOUT": "1"})

        async def send(_url: str, _headers: Mapping[str, str], sink: Sink, _accept: Sequence[int]) -> Answer:
            sink.begin(Answer(status=200, url=URL, headers={"content-length": str(size)}))
            later = asyncio.Event()
            asyncio.get_running_loop().call_later(0.15, later.set)
            await later.wait()
            sink.write(b"x")
            return answer(200)

        http._send = send  # type: ignore[method-assign,assignment]
        try:
            return await http.get(URL)
        finally:
            await http.close()

    if size:
        assert asyncio.run(run()).body == b"x"
    else:
        with pytest.raises(ToolError, match="no answer in time"):
            asyncio.run(run())


def test_of_two_indexes_on_one_host_the_one_that_has_the_file_is_logged_in_to() -> None:
    one = IndexSource(url="https://index.example/one", username="one", password="x")
    two = IndexSource(url="https://index.example/two", name="two", username="two", password="y")
    http = opened(UvConfig(indexes=(one,), network={}, named={"two": two}), {})
    assert http._credentials("https://index.example/one/a/") == ("one", "x")
    assert http._credentials("https://index.example/two/a/") == ("two", "y")
    assert http._credentials("https://index.example/files/a") == ("one", "x")


def test_of_two_indexes_on_one_host_neither_gets_the_login_of_the_other() -> None:
    one = IndexSource(url="https://u1:p1@index.example/a")
    two = IndexSource(url="https://u2:p2@index.example/b")
    plain = IndexSource(url="https://index.example/c")
    http = opened(UvConfig(indexes=(one, two, plain), network={}), {})
    assert http._credentials("https://index.example/a/x/") == ("u1", "p1")
    assert http._credentials("https://index.example/b/x/") == ("u2", "p2")
    assert http._credentials("https://index.example/c/x/") is None
