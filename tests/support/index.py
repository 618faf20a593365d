"""A package index on the loopback interface, for tests with the real uv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import quote

from support.catalogue import FROM_WHEEL, Catalogue
from support.faults import Fault, fits
from support.responses import Response
from support.server import Server

__all__ = ["FROM_WHEEL", "LocalIndex", "Request"]


class Request(NamedTuple):
    """One request as it came in; equal to the plain tuple. Status 0: closed without an answer."""

    method: str
    path: str  # percent-encoded, without the query
    range: str | None
    status: int


@dataclass(kw_only=True, eq=False)
class LocalIndex(Catalogue):
    """An index that serves while its context is open; `Catalogue` has its content and options.

    `requests` lists what clients asked, in the order of the answers; `del index.requests[:]`
    starts afresh. `fault` makes it misbehave. Files may be added, removed and changed at any time.
    """

    requests: list[Request] = field(default_factory=list, init=False, repr=False)
    _faults: list[Fault] = field(default_factory=list, init=False, repr=False)
    _server: Server | None = field(default=None, init=False, repr=False)

    def __enter__(self) -> Self:
        self._server = Server(self)
        self.base_url = f"http://127.0.0.1:{self._server.port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop serving: from now on connections to `url` are refused. Again: nothing.

        Raises RuntimeError where a handler met an error of its own, which no test shall overlook.
        """
        server, self._server = self._server, None
        if server is None:
            return
        server.stop()
        if server.errors:
            raise RuntimeError("the local index failed while serving") from server.errors[0]

    @property
    def url(self) -> str:
        """The root of the simple API, without a slash at the end. Stays the same after `stop`."""
        return f"{self.base_url}/simple"

    @property
    def url_with_credentials(self) -> str:
        """`url` with user and password in it."""
        if self.credentials is None:
            return self.url
        user, password = (quote(part, safe="") for part in self.credentials)
        return self.url.replace("://", f"://{user}:{password}@", 1)

    def fault(
        self,
        pattern: str,
        *,
        status: int | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
        times: int | None = None,
        drip: float | None = None,
        truncate: int | None = None,
        close: bool = False,
        method: str | None = None,
        edit: Callable[[Response], Response] | None = None,
        endless: bool = False,
    ) -> Fault:
        """Order a fault; return it, so that a test can read its `hits`. The first that fits acts.

        pattern: glob for the whole path, or for its last segment: "foo" is the page of the project
            foo, "foo-*.whl" its wheels, "*.metadata" every metadata file, "*" everything.
        status, body: the answer in place of the right one (status 200 if only a body is given).
        headers: for that answer, or to add to the right one.
        delay: seconds before the answer.
        times: strike this often, then never again; None: always.
        drip: send the body at this many bytes per second.
        truncate: promise the whole body, send this many bytes of it and close.
        close: close the connection after the answer; alone or with a delay: in place of one.
        method: only "GET" or only "HEAD".
        edit: makes the answer out of the right one; called in a thread of the server.
        endless: after the body, zeros for ever, without a length beforehand.
        """
        fault = Fault(
            pattern=pattern,
            method=method,
            edit=edit,
            endless=endless,
            status=status,
            body=body,
            headers=headers or {},
            delay=delay,
            left=times,
            drip=drip,
            truncate=truncate,
            close=close,
        )
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        """Behave again."""
        with self._lock:
            self._faults.clear()

    def seen(self, pattern: str, *, method: str | None = None) -> list[Request]:
        """Return the requests whose path or last segment fits a glob, as in `fault`."""
        with self._lock:
            requests = list(self.requests)
        return [r for r in requests if method in (None, r.method) and fits(pattern, r.path)]

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that a request shall meet, if any, and count it. For the server."""
        with self._lock:
            for fault in self._faults:
                if fault.matches(method, path):
                    fault.take()
                    return fault
            return None

    def record(self, method: str, path: str, range_header: str | None, status: int) -> None:
        """Note a request. For the server."""
        with self._lock:
            self.requests.append(Request(method, path, range_header, status))
