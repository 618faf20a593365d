"""HTTP with connection reuse, retries and errors that a person can read. The only user of aiohttp.

HTTP/1.1 over many connections: a lock from nothing asks some 900 small questions, and HTTP/2 in Python costs
more time than it saves.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp
import certifi

from lockgrid.adapters.uvconfig import UvConfig, strip_credentials
from lockgrid.errors import ToolError

_CONNECTIONS = 40
#: So many attempts are made at each request.
RETRIES = 3
_REDIRECTS = 5
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_DEFAULT_TIMEOUT = 30.0
# The whole answer, not only the pause between two bytes: a server that drips is a server that fails. So many
# timeouts, and as many again for every so many bytes of a big file: by default 70 kB a second.
_WHOLE_ANSWER = 4.0
_BYTES_AT_ONCE = 8 * 1024**2
#: Of an answer that is kept in memory, in bytes: more than a project page should take, or a sdist of unstated size.
BODY_LIMIT = 256 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said. ``url`` is where the answer came from, after redirects; header names are in lower case."""

    status: int
    url: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class TransientError(ToolError):
    """The network or the index failed in a way that may be over at the next attempt."""


class Sink(Protocol):
    """Takes an answer as it comes. What it raises ends the request."""

    def begin(self, answer: Answer) -> int:
        """An accepted answer begins, perhaps after one that broke off. How many bytes may take their time."""

    def write(self, piece: bytes) -> None:
        """The next bytes of its body."""


class _Body:
    """A body in memory; ``ToolError`` where there is more of it than ``limit`` bytes."""

    def __init__(self, url: str, limit: int) -> None:
        self.data = bytearray()
        self._url = url
        self._limit = limit

    def begin(self, answer: Answer) -> int:
        self.data.clear()
        return min(int(answer.headers.get("content-length", 0)), self._limit)

    def write(self, piece: bytes) -> None:
        self.data += piece
        if len(self.data) > self._limit:
            raise ToolError(
                f"the index answers with more than the {self._limit} bytes that there should be at most",
                where=strip_credentials(self._url),
                next_step="tell whoever runs the index",
            )


class _Patient:
    """A sink whose deadline moves with the bytes that it awaits."""

    def __init__(self, sink: Sink, deadline: asyncio.Timeout, http: Http) -> None:
        self.write = sink.write
        self._sink = sink
        self._deadline = deadline
        self._http = http

    def begin(self, answer: Answer) -> int:
        size = self._sink.begin(answer)
        if size:
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._http.patience(size))
        return size


class Http:
    """An HTTP client bound to one event loop. ``timeout`` is uv's ``UV_HTTP_TIMEOUT``, in seconds."""

    def __init__(self, config: UvConfig, environ: Mapping[str, str]) -> None:
        self.timeout = _timeout(environ)
        self._sources = (*config.indexes, *config.named.values())
        self._gate = asyncio.Semaphore(_CONNECTIONS)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=_certificates(config, environ)),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=self.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "lockgrid"},
            trust_env=True,  # proxies, as uv takes them from the environment
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    def patience(self, size: int) -> float:
        """In how many seconds ``size`` bytes have to be here."""
        return self.timeout * _WHOLE_ANSWER * (1 + size / _BYTES_AT_ONCE)

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        accept: Sequence[int] = (200,),
        limit: int = BODY_LIMIT,
    ) -> Answer:
        """Fetch ``url``; raises ``ToolError`` for any other status than ``accept``, after retries.

        ``limit``: no body has more bytes; of one that has, no more is read.
        """
        body = _Body(url, limit)
        answer = await self.stream(url, body, headers=headers, accept=accept)
        return replace(answer, body=bytes(body.data))

    async def stream(
        self,
        url: str,
        sink: Sink,
        *,
        headers: Mapping[str, str] | None = None,
        accept: Sequence[int] = (200,),
        attempts: int = RETRIES,
    ) -> Answer:
        """The same with the body told to ``sink`` as it comes; the answer's own stays empty."""
        async with self._gate:
            for attempt in range(attempts):
                last = attempt == attempts - 1
                try:
                    async with asyncio.timeout(self.patience(0)) as deadline:
                        answer = await self._send(url, headers or {}, _Patient(sink, deadline, self), accept)
                except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, aiohttp.TooManyRedirects) as error:
                    raise ToolError(f"the request failed: {_words(error)}", where=strip_credentials(url)) from error
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    if last:
                        raise _unreachable(url, error) from error
                else:
                    if answer.status in accept:
                        return answer
                    if last or answer.status not in _TRANSIENT:
                        raise _refused(url, answer.status)
                await asyncio.sleep(0.2 * 3**attempt)
        raise AssertionError("unreachable")

    async def _send(self, url: str, headers: Mapping[str, str], sink: Sink, accept: Sequence[int]) -> Answer:
        """One attempt, redirects followed; aiohttp takes no credentials along to another origin.

        Of an answer that is not accepted the body is not read: there may be no end to it.
        """
        known = self._credentials(url)
        headers = {**headers, "Authorization": _basic(*known)} if known else headers
        request = self._session.get(strip_credentials(url), headers=headers, max_redirects=_REDIRECTS)
        async with request as response:
            found = {name.lower(): value for name, value in response.headers.items()}
            answer = Answer(status=response.status, url=str(response.url), headers=found)
            if response.status in accept:
                sink.begin(answer)
                async for piece in response.content.iter_any():
                    sink.write(piece)
            return answer

    def _credentials(self, url: str) -> tuple[str, str] | None:
        """User and password for a URL: its own, or those of the index on the same host, never those of another."""
        parts = urlsplit(url)
        place = parts.scheme, parts.netloc.rpartition("@")[2]
        here = [(source, strip_credentials(source.url)) for source in self._sources]
        here = [(source, own) for source, own in here if urlsplit(own)[:2] == place]
        # Of several on one host that which the URL is below, with or without a login; else the first that has one.
        below = [(source, own) for source, own in here if strip_credentials(url).startswith(f"{own.rstrip('/')}/")]
        for source, _ in below or here:
            if source.username or source.password:
                return source.username, source.password
            if login := _userinfo(urlsplit(source.url)):
                return login
        return _userinfo(parts)


def _userinfo(parts: SplitResult) -> tuple[str, str] | None:
    if not (parts.username or parts.password):
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def _basic(user: str, password: str) -> str:
    """The header of RFC 7617, in UTF-8."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def _timeout(environ: Mapping[str, str]) -> float:
    for key in ("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT"):
        try:
            return max(1.0, float(environ[key]))
        except (KeyError, ValueError):
            continue
    return _DEFAULT_TIMEOUT


def _certificates(config: UvConfig, environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates that uv would trust: those of SSL_CERT_FILE and SSL_CERT_DIR, the system's, or certifi's."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file or folder:
        try:
            return ssl.create_default_context(cafile=file or None, capath=folder or None)
        except (OSError, ssl.SSLError) as error:
            name, value = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folder)
            raise ToolError(f"{name} names {value}, which cannot be used: {error}") from error
    truthy = {"1", "true", "yes", "on"}
    chosen = [str(config.network.get(key, "")).lower() for key in ("native-tls", "system-certs")]
    chosen += [environ.get(key, "").lower() for key in ("UV_NATIVE_TLS", "UV_SYSTEM_CERTS")]
    return ssl.create_default_context(cafile=None if truthy & set(chosen) else certifi.where())


def _words(error: BaseException) -> str:
    """An error of aiohttp as a phrase."""
    if isinstance(error, aiohttp.TooManyRedirects):
        return f"more than {_REDIRECTS} redirects"
    if isinstance(error, aiohttp.NonHttpUrlClientError):
        return f"{strip_credentials(str(error))} is not an http or https URL"
    if isinstance(error, aiohttp.ClientResponseError):  # its text repeats the URL, credentials and all
        return error.message
    return str(error) or type(error).__name__


def _unreachable(url: str, error: BaseException) -> ToolError:
    reason = "no answer in time" if isinstance(error, TimeoutError) else _words(error)
    return TransientError(
        f"the index cannot be reached: {strip_credentials(reason)}",
        where=strip_credentials(url),
        next_step="check the network and uv's index settings; UV_HTTP_TIMEOUT sets the seconds to wait",
    )


def _refused(url: str, status: int) -> ToolError:
    hint = "check the index URL in uv's settings"
    if status in (401, 403):
        hint = "check the credentials of this index (UV_INDEX_<NAME>_USERNAME and _PASSWORD)"
    elif status >= 500:
        hint = "the index is failing; try again later"
    kind = TransientError if status in _TRANSIENT else ToolError
    return kind(f"the index answered with status {status}", where=strip_credentials(url), next_step=hint)
