"""Faults that a test orders from its index: wrong answers, slow ones, broken ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from support.responses import Response


def fits(pattern: str, path: str) -> bool:
    """Tell whether a glob fits a path, or the last segment of it (a final slash aside)."""
    last = path.rstrip("/").rpartition("/")[2]
    return fnmatchcase(path, pattern) or fnmatchcase(last, pattern)


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """What goes wrong, where and how often; `LocalIndex.fault` documents the fields."""

    pattern: str
    method: str | None
    status: int | None
    body: bytes | None
    headers: Mapping[str, str]
    delay: float
    left: int | None  # how often still; None: always
    drip: float | None
    truncate: int | None
    close: bool
    edit: Callable[[Response], Response] | None = None
    endless: bool = False
    hits: int = field(default=0, init=False)

    def matches(self, method: str, path: str) -> bool:
        """Tell whether this fault concerns a request and still has strikes left."""
        return self.left != 0 and self.method in (None, method) and fits(self.pattern, path)

    def take(self) -> None:
        """Count one request that this fault strikes."""
        self.hits += 1
        if self.left is not None:
            self.left -= 1

    @property
    def silent(self) -> bool:
        """True if the connection is closed without one byte of an answer."""
        answer = (self.status, self.body, self.drip, self.truncate)
        return self.close and not self.headers and all(part is None for part in answer)

    def change(self, response: Response) -> Response:
        """Return the answer to give in place of the right one, or the right one, with `headers`."""
        if self.edit is not None:
            response = self.edit(response)
        if self.status is None and self.body is None:
            headers = {**response.headers, **self.headers}
            return Response(status=response.status, body=response.body, headers=headers)
        return Response(
            status=self.status or 200,
            body=self.body or b"",
            headers={"Content-Type": "text/plain", **self.headers},
        )
