"""HTTP with connection reuse, retries and errors that a person can read. The only user of httpx."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

import httpx

from lockgrid.adapters.uvconfig import UvConfig, strip_credentials
from lockgrid.errors import ToolError

_CONCURRENT = 50
_CONNECTIONS = 8
_RETRIES = 3
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_DEFAULT_TIMEOUT = 30.0
# The whole answer, not only the pause between two bytes: a server that drips is a server that fails.
_WHOLE_ANSWER = 4.0


class Http:
    """An HTTP/2 client bound to one event loop. ``timeout`` is uv's ``UV_HTTP_TIMEOUT``, in seconds."""

    def __init__(self, config: UvConfig, environ: Mapping[str, str]) -> None:
        self.timeout = _timeout(environ)
        self._sources = config.indexes
        self._gate = asyncio.Semaphore(_CONCURRENT)
        self._client = httpx.AsyncClient(
            http2=True,
            follow_redirects=True,
            max_redirects=5,
            timeout=httpx.Timeout(self.timeout),
            limits=httpx.Limits(max_connections=_CONNECTIONS),
            verify=_certificates(config, environ),
            headers={"User-Agent": "lockgrid"},
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, accept: Sequence[int] = (200,)
    ) -> httpx.Response:
        """Fetch ``url``; raises ``ToolError`` for any other status than ``accept``, after retries."""
        async with self._gate:
            for attempt in range(_RETRIES):
                last = attempt == _RETRIES - 1
                try:
                    async with asyncio.timeout(self.timeout * _WHOLE_ANSWER):
                        response = await self._client.get(url, headers=dict(headers or {}), auth=self._auth(url))
                except (httpx.TransportError, TimeoutError) as error:
                    if last:
                        raise _unreachable(url, error) from error
                except (httpx.InvalidURL, httpx.TooManyRedirects, httpx.UnsupportedProtocol) as error:
                    raise ToolError(f"the request failed: {error}", where=strip_credentials(url)) from error
                else:
                    if response.status_code in accept:
                        return response
                    if last or response.status_code not in _TRANSIENT:
                        raise _refused(url, response.status_code)
                await asyncio.sleep(0.2 * 3**attempt)
        raise AssertionError("unreachable")

    def _auth(self, url: str) -> httpx.BasicAuth | httpx.Auth | None:
        """The credentials of the index on the same host, never those of another."""
        host = urlsplit(url).netloc.rpartition("@")[2]
        for source in self._sources:
            parts = urlsplit(source.url)
            if parts.netloc.rpartition("@")[2] != host:
                continue
            if source.username or source.password:
                return httpx.BasicAuth(source.username, source.password)
            if parts.username or parts.password:
                return httpx.BasicAuth(unquote(parts.username or ""), unquote(parts.password or ""))
        return None


def _timeout(environ: Mapping[str, str]) -> float:
    for key in ("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT"):
        try:
            return max(1.0, float(environ[key]))
        except (KeyError, ValueError):
            continue
    return _DEFAULT_TIMEOUT


def _certificates(config: UvConfig, environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """The certificates that uv would trust: ``SSL_CERT_FILE``, the system's, or the bundled ones."""
    if file := environ.get("SSL_CERT_FILE"):
        try:
            return ssl.create_default_context(cafile=file)
        except (OSError, ssl.SSLError) as error:
            raise ToolError(f"SSL_CERT_FILE names {file}, which cannot be used: {error}") from error
    truthy = {"1", "true", "yes", "on"}
    chosen = [str(config.network.get(key, "")).lower() for key in ("native-tls", "system-certs")]
    chosen += [environ.get(key, "").lower() for key in ("UV_NATIVE_TLS", "UV_SYSTEM_CERTS")]
    return ssl.create_default_context() if truthy & set(chosen) else True


def _unreachable(url: str, error: BaseException) -> ToolError:
    reason = str(error) or type(error).__name__
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        reason = "no answer in time"
    return ToolError(
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
    return ToolError(f"the index answered with status {status}", where=strip_credentials(url), next_step=hint)
