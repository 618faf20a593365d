"""Many wheels at a time: how many, in which order kept, and what ends them. No request leaves the process."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

import pytest

from lockgrid.adapters import reading
from lockgrid.adapters.http import Answer, Http, Sink
from lockgrid.adapters.reading import read_wheels
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.contents import Contents
from lockgrid.model.index import IndexFile
from support.archives import zip_bytes

EMPTY = zip_bytes([])
SCATTERED = zip_bytes([(f"a/{number}.bin", random.Random(number).randbytes(150_000)) for number in range(20)])


class FakeHttp:
    """Serves the same bytes under every URL, each answer after ``delay`` seconds."""

    def __init__(self, data: bytes, *, seconds: float = 30, delay: float = 0) -> None:
        self.data = data
        self.seconds = seconds
        self.delay = delay
        self.now = self.most = self.requests = 0

    def patience(self, _size: int) -> float:
        return self.seconds

    async def stream(
        self, url: str, sink: Sink, *, headers: Mapping[str, str], accept: Sequence[int] = (200,)
    ) -> Answer:
        assert 206 in accept
        self.requests += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.delay)
        self.now -= 1
        first, _, last = headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        start, end = int(first), int(last) + 1 if last else len(self.data)
        told = {"content-range": f"bytes {start}-{end - 1}/{len(self.data)}"}
        answer = Answer(status=206 if last else 200, url=url, headers=told)
        sink.begin(answer)
        sink.write(self.data[start:end])
        return answer


def read(http: FakeHttp, count: int = 1, *, hashed: str = "") -> list[str]:
    """Read so many wheels; their names in the order in which they were done."""
    hashed, size = hashed or sha256(http.data).hexdigest(), len(http.data)
    files = [IndexFile(filename=f"a-{n}-py3-none-any.whl", url="x", sha256=hashed, size=size) for n in range(count)]
    done: list[str] = []

    def keep(file: IndexFile, contents: Contents) -> None:
        assert contents.filename == file.filename
        done.append(file.filename)

    try:
        asyncio.run(read_wheels(cast("Http", http), files, keep))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    return done


def test_sixteen_are_read_at_a_time() -> None:
    http = FakeHttp(EMPTY, delay=0.02)
    assert len(set(read(http, 50))) == 50
    assert (http.most, http.requests) == (16, 50)


def test_of_big_ones_four_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BIG_BYTES", len(EMPTY) - 1)
    http = FakeHttp(EMPTY, delay=0.02)
    assert len(set(read(http, 12))) == 12
    assert http.most == 4


def test_all_requests_for_one_file_together_are_bounded_in_time() -> None:
    """Each of them is answered in good time."""
    http = FakeHttp(SCATTERED, seconds=0.1, delay=0.05)
    with pytest.raises(ToolError, match="it could not be read in") as caught:
        read(http)
    assert caught.value.where == "a-0-py3-none-any.whl"
    assert caught.value.next_step
    assert 3 < http.requests < 12


def test_a_file_that_takes_too_long_to_unpack_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = time.monotonic()

    def unpack(_filename: str, source: Any, **_more: object) -> Contents:
        while time.monotonic() < begin + 10:
            source.read(0, 1)
        raise AssertionError("nobody stopped it")

    monkeypatch.setattr(reading, "read_contents", unpack)
    with pytest.raises(ToolError, match="it could not be read in"):
        read(FakeHttp(EMPTY, seconds=0.05))
    assert time.monotonic() < begin + 5


def test_the_first_error_stops_the_rest() -> None:
    http = FakeHttp(EMPTY, delay=0.01)
    with pytest.raises(HashMismatchError):
        read(http, 200, hashed="00")
    assert http.requests < 40
