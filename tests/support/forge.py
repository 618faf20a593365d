"""A stand-in for the part of GitHub's HTTP API that requests need, on a Unix socket: `gh` can be told to use one."""

from __future__ import annotations

import json
import re
import shutil
import socketserver
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, urlsplit

TOKEN = "stand-in"
_LIMIT = 65_536  # characters of a body


@dataclass(slots=True)
class HubState:
    """What the stand-in knows: tips by branch, requests, and every call as ``(method, path, fields)``."""

    tips: dict[str, str] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    refusal: tuple[int, dict[str, Any]] | None = None


class Hub:
    """Serves ``owner/repository`` while it is entered; ``environ`` is what `gh` needs to come here."""

    def __init__(self) -> None:
        self.state = HubState()
        self._folder = Path(tempfile.mkdtemp(prefix="hub-"))  # short: the path of a socket may have 100 characters
        self._server = _Server(str(self._folder / "s"), self.state)
        (self._folder / "config.yml").write_text(f"http_unix_socket: {self._folder / 's'}\n", encoding="utf-8")
        self.environ = {
            "GH_CONFIG_DIR": str(self._folder),
            "GH_TOKEN": TOKEN,
            "GH_REPO": "owner/repository",
            "GH_NO_UPDATE_NOTIFIER": "1",
            "GH_PROMPT_DISABLED": "1",
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_about: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self._folder)

    def close(self, number: int, *, merged: bool = False) -> None:
        """Let a person close or merge a request."""
        request = next(one for one in self.state.requests if one["number"] == number)
        request |= {"state": "closed", "merged_at": "2026-11-30T00:00:00Z" if merged else None}


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, state: HubState) -> None:
        super().__init__(path, _Handler)
        self.state = state


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    _ROUTES: ClassVar = (
        ("GET", r"/repos/owner/repository/pulls", "_list"),
        ("POST", r"/repos/owner/repository/pulls", "_create"),
        ("PATCH", r"/repos/owner/repository/pulls/(\d+)", "_update"),
        ("GET", r"/repos/owner/repository/git/ref/heads/(.+)", "_ref"),
    )

    def _answer(self) -> None:
        given = self._body()
        fields = json.loads(given) if given else {}
        url = urlsplit(self.path)
        self.server.state.calls.append((self.command, url.path, fields))
        status, answer = self._route(url.path, {key: values[0] for key, values in parse_qs(url.query).items()}, fields)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        """What was sent: in one piece, or in chunks where gh reads it from a pipe."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815  # the names that http.server asks for

    def _route(self, path: str, query: dict[str, str], fields: dict[str, Any]) -> tuple[int, Any]:
        if self.headers.get("Host") != "api.github.com" or self.headers.get("Authorization") != f"token {TOKEN}":
            return 401, {"message": "Bad credentials"}
        if self.server.state.refusal and self.command != "GET":
            return self.server.state.refusal
        for method, pattern, name in self._ROUTES:
            match = re.fullmatch(pattern, path)
            if method == self.command and match:
                result: tuple[int, Any] = getattr(self, name)(*match.groups(), query=query, fields=fields)
                return result
        return 404, {"message": "Not Found"}

    def _list(self, *, query: dict[str, str], fields: dict[str, Any]) -> tuple[int, Any]:
        owner, _, branch = query["head"].partition(":")
        assert (owner, query["sort"], query["direction"], fields) == ("owner", "created", "desc", {})
        found = [
            r for r in self.server.state.requests if (r["head"]["ref"], r["base"]["ref"]) == (branch, query["base"])
        ]
        return 200, [r for r in reversed(found) if query["state"] in ("all", r["state"])]

    def _ref(self, branch: str, *, query: dict[str, str], fields: dict[str, Any]) -> tuple[int, Any]:
        assert not query
        assert not fields
        if branch not in self.server.state.tips:
            return 404, {"message": "Not Found"}
        return 200, {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": self.server.state.tips[branch]}}

    def _create(self, *, query: dict[str, str], fields: dict[str, Any]) -> tuple[int, Any]:
        assert not query
        state, head, base = self.server.state, fields["head"], fields["base"]
        if head not in state.tips or base not in state.tips:
            wrong = "head" if head not in state.tips else "base"
            return _invalid({"resource": "PullRequest", "field": wrong, "code": "invalid"})
        if state.tips[head] == state.tips[base]:
            return _invalid({"message": f"No commits between {base} and {head}"})
        if any(r["state"] == "open" and r["head"]["ref"] == head for r in state.requests):
            return _invalid({"message": f"A pull request already exists for owner:{head}."})
        request = {
            "number": len(state.requests) + 1,
            "state": "open",
            "merged_at": None,
            "head": {"ref": head, "sha": state.tips[head]},
            "base": {"ref": base},
        }
        return self._store(request, fields, 201)

    def _update(self, number: str, *, query: dict[str, str], fields: dict[str, Any]) -> tuple[int, Any]:
        assert not query
        request = next(r for r in self.server.state.requests if r["number"] == int(number))
        return self._store(request, fields, 200)

    def _store(self, request: dict[str, Any], fields: dict[str, Any], status: int) -> tuple[int, Any]:
        if len(fields["body"]) > _LIMIT:
            return _invalid({"message": f"body is too long (maximum is {_LIMIT} characters)"})
        request |= {"title": fields["title"], "body": fields["body"].replace("\n", "\r\n")}
        request["html_url"] = f"https://forge.example/owner/repository/pull/{request['number']}"
        if request not in self.server.state.requests:
            self.server.state.requests.append(request)
        return status, request

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests look at the calls."""


def _invalid(error: dict[str, Any]) -> tuple[int, Any]:
    return 422, {"message": "Validation Failed", "errors": [error]}
