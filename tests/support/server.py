"""The HTTP side of the loopback index: threads, sockets, and answers sent as ordered."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

from support.faults import Fault
from support.responses import Response

_CHUNK_SECONDS = 0.05  # between two chunks of a dripping body


class Site(Protocol):
    """What the server asks; all of it is called from many threads."""

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that this request shall meet, if any, and count it."""

    def respond(self, path: str, header: Callable[[str], str | None]) -> Response:
        """Return the right answer; `path` is percent-encoded, `header` gives a request header."""

    def record(self, method: str, path: str, range_header: str | None, status: int) -> None:
        """Note a request just before its answer is sent; status 0 for no answer at all."""


class Server(ThreadingHTTPServer):
    """Serves a `Site` on 127.0.0.1, on a port of the system's choice, from a thread of its own.

    HTTP/1.1 with connections kept alive. `stop` ends at once: it closes connections that clients
    hold open and wakes faults that wait. `errors` holds what went wrong in a handler, other than a
    client that went away.
    """

    daemon_threads = True
    request_queue_size = 128  # uv opens many connections at once; the default of 5 refuses some

    def __init__(self, site: Site) -> None:
        self.site = site
        self.stopping = threading.Event()
        self.errors: list[BaseException] = []
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        # The default poll of 0.5 s would be the time that every test waits for the end.
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that the system chose."""
        return int(self.server_address[1])

    def stop(self) -> None:
        """Refuse new connections, close the open ones, and return when the thread has ended."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def server_bind(self) -> None:
        """Bind without HTTPServer's look-up of the host name, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.port

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note a connection, then serve it in a thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection and close it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep the error for `errors`, where socketserver would print it."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, (ConnectionError, TimeoutError)):
            self.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for the client's delayed ACK, 40 ms
    server: Server

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; `LocalIndex.requests` is the log."""

    def _answer(self) -> None:
        site, path = self.server.site, urlsplit(self.path).path
        fault = site.strike(self.command, path)
        if fault is not None and fault.delay:
            self.server.stopping.wait(fault.delay)
        if fault is not None and fault.silent:
            self._record(path, 0)
            self.close_connection = True
            return
        response = site.respond(path, self.headers.get)
        if fault is not None:
            response = fault.change(response)
        self._record(path, response.status)
        self._send_head(response, endless=fault is not None and fault.endless)
        if self.command != "HEAD" and response.status not in (204, 304):
            self._send_body(response.body, fault)
        if fault is not None and fault.close:
            self.close_connection = True

    def _record(self, path: str, status: int) -> None:
        self.server.site.record(self.command, path, self.headers.get("Range"), status)

    def _send_head(self, response: Response, *, endless: bool) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if endless:
            self.send_header("Transfer-Encoding", "chunked")
        elif response.status not in (204, 304) and "Content-Length" not in response.headers:
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()

    def _send_body(self, body: bytes, fault: Fault | None) -> None:
        if fault is not None and fault.endless:
            self._send_for_ever(body)
            return
        if fault is not None and fault.truncate is not None:
            body = body[: fault.truncate]
            self.close_connection = True
        if fault is None or fault.drip is None:
            self.wfile.write(body)
            return
        step = max(1, int(fault.drip * _CHUNK_SECONDS))
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            if self.server.stopping.wait(min(step, len(body) - start) / fault.drip):
                self.close_connection = True
                return

    def _send_for_ever(self, body: bytes) -> None:
        self.close_connection = True
        while not self.server.stopping.is_set():
            if body:
                self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
            body = bytes(65536)
