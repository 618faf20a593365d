"""Credentials go to their own index, failures become sentences. No request leaves the process."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping, Sequence

import httpx
import pytest

from lockgrid.adapters import http as module
from lockgrid.adapters.http import Http
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import ToolError

URL = "https://index.example/simple/a/"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read the real ones takes its time
Answer = Callable[[httpx.Request], httpx.Response]


def get(
    answer: Answer,
    url: str = URL,
    *,
    indexes: Sequence[IndexSource] = (),
    environ: Mapping[str, str] | None = None,
    accept: Sequence[int] = (200,),
    monkeypatch: pytest.MonkeyPatch,
) -> httpx.Response:
    """One request, answered by ``answer``; retries do not wait."""

    async def nap(_seconds: float) -> None:
        """No time passes."""

    async def run() -> httpx.Response:
        http = Http(UvConfig(indexes=tuple(indexes), network={}), environ or {})
        real = http._client
        transport = httpx.MockTransport(answer)
        http._client = httpx.AsyncClient(transport=transport, follow_redirects=True, verify=NO_CERTIFICATES)
        await real.aclose()
        try:
            return await http.get(url, accept=accept)
        finally:
            await http.close()

    monkeypatch.setattr(asyncio, "sleep", nap)
    monkeypatch.setattr(module, "_certificates", lambda _config, _environ: NO_CERTIFICATES)
    return asyncio.run(run())


def basic(request: httpx.Request) -> str:
    """User and password of a request, empty where it has none."""
    header = request.headers.get("authorization", "")
    return base64.b64decode(header.removeprefix("Basic ")).decode()


@pytest.mark.parametrize(
    ("index", "sent"),
    [
        (IndexSource(url="https://index.example/simple", username="me", password="secret"), "me:secret"),
        (IndexSource(url="https://you:p%40ss@index.example/simple"), "you:p@ss"),
        (IndexSource(url="https://token@index.example/simple"), "token:"),
        (IndexSource(url="https://other.example/simple", username="me", password="secret"), ""),
        (IndexSource(url="https://index.example:8443/simple", username="me", password="secret"), ""),
        (IndexSource(url="https://index.example/simple"), ""),
    ],
)
def test_credentials_go_to_the_host_of_their_index_alone(
    index: IndexSource, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        found.append(basic(request))
        return httpx.Response(200)

    get(answer, indexes=[index], monkeypatch=monkeypatch)
    assert found == [sent]


def test_a_redirect_to_another_host_takes_no_credentials_along(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, str] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        found[request.url.host] = basic(request)
        if request.url.host == "index.example":
            return httpx.Response(302, headers={"location": "https://files.example/a"})
        return httpx.Response(200)

    index = IndexSource(url="https://index.example/simple", username="me", password="secret")
    get(answer, indexes=[index], monkeypatch=monkeypatch)
    assert found == {"index.example": "me:secret", "files.example": ""}


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (503, 3), (429, 3), (404, 1), (401, 1), (403, 1), (418, 1)])
def test_only_what_may_pass_is_tried_again(status: int, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(str(request.url))
        return httpx.Response(status)

    with pytest.raises(ToolError, match=f"the index answered with status {status}") as caught:
        get(answer, "https://me:secret@index.example/simple/a/", monkeypatch=monkeypatch)
    assert len(calls) == tries
    assert caught.value.where == URL
    assert ("credentials" in caught.value.next_step) is (status in (401, 403))


def test_a_failure_that_passes_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([httpx.Response(503), httpx.Response(200, content=b"x")])
    assert get(lambda _request: next(answers), monkeypatch=monkeypatch).content == b"x"


def test_a_status_that_is_accepted_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get(lambda _request: httpx.Response(404), accept=(200, 404), monkeypatch=monkeypatch).status_code == 404


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError("refused"), "the index cannot be reached: refused"),
        (httpx.ReadTimeout("x"), "the index cannot be reached: no answer in time"),
        (httpx.RemoteProtocolError("cut"), "the index cannot be reached: cut"),
        (httpx.TooManyRedirects("round and round"), "the request failed: round and round"),
    ],
)
def test_a_transport_that_fails_is_a_tool_error(
    error: httpx.RequestError, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(ToolError) as caught:
        get(answer, monkeypatch=monkeypatch)
    assert (caught.value.what, caught.value.where, caught.value.exit_code) == (said, URL, 4)


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
def test_the_timeout_is_uvs(environ: dict[str, str], seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_certificates", lambda _config, _environ: NO_CERTIFICATES)

    async def run() -> float:
        http = Http(UvConfig(indexes=(), network={}), environ)
        await http.close()
        return http.timeout

    assert asyncio.run(run()) == seconds


def test_certificates_that_cannot_be_used_are_named() -> None:
    async def run() -> None:
        Http(UvConfig(indexes=(), network={}), {"SSL_CERT_FILE": "gone.pem"})

    with pytest.raises(ToolError, match=r"SSL_CERT_FILE names gone\.pem"):
        asyncio.run(run())
