"""HTTP responses as values: conditional requests and byte ranges (RFC 9110), as pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from support.metadata import sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole response; for a HEAD, a 204 and a 304 the server sends no body."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def found(
    body: bytes,
    content_type: str,
    *,
    cache_control: str | None,
    extra: Mapping[str, str] | None = None,
) -> Response:
    """Return a 200 with an ETag made from the body, Cache-Control if given, and `extra` headers."""
    headers = {"Content-Type": content_type, "ETag": f'"{sha256(body)[:32]}"', **(extra or {})}
    if cache_control is not None:
        headers["Cache-Control"] = cache_control
    return Response(status=200, body=body, headers=headers)


def text(status: int, body: str, **headers: str) -> Response:
    """Return a plain text response; underscores in the names of `headers` stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, body=body.encode(), headers={"Content-Type": "text/plain", **named})


def if_none_match(response: Response, header: str | None) -> Response:
    """Return a 304 where the client has this body already, else the response as it is."""
    etag = response.headers.get("ETag")
    if response.status != 200 or not header or not etag:
        return response
    known = [candidate.strip().removeprefix("W/") for candidate in header.split(",")]
    if etag not in known and header.strip() != "*":
        return response
    kept = {name: response.headers.get(name) for name in ("ETag", "Cache-Control")}
    return Response(status=304, headers={name: value for name, value in kept.items() if value})


def in_range(response: Response, header: str | None, if_range: str | None = None) -> Response:
    """Return the part of a 200 that a Range header asks for: 206, or 416 where there is none.

    Takes one range, `bytes=a-b`, `bytes=a-` or `bytes=-n`. What it does not understand it ignores,
    as the RFC allows: several ranges, other units, an If-Range that does not match.
    """
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", (header or "").strip())
    stale = if_range is not None and if_range.strip() != response.headers.get("ETag")
    if response.status != 200 or match is None or match[0] == "bytes=-" or stale:
        return response
    size = len(response.body)
    if match[1]:
        start, end = int(match[1]), min(int(match[2] or size), size - 1)
        if match[2] and int(match[2]) < start:
            return response  # not a valid range at all (RFC 9110, 14.1.1), so not a range request
    else:
        start, end = max(size - int(match[2]), 0), size - 1
    status, part, told = 206, response.body[start : end + 1], f"{start}-{end}"
    if start > end:
        status, part, told = 416, b"", "*"
    headers = {**response.headers, "Content-Range": f"bytes {told}/{size}"}
    return Response(status=status, body=part, headers=headers)
