"""A file that is fetched in parts: nothing twice, few requests, little that nobody asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.http import Answer, Sink
from lockgrid.adapters.parts import Parts
from lockgrid.adapters.remote import SIZE_LIMIT, ClosedError, RemoteFile
from lockgrid.adapters.source import SourceFile
from lockgrid.errors import ToolError
from lockgrid.model.index import IndexFile
from support.archives import zip_bytes

KB, MB = 1024, 1024**2


class Server:
    """One file and how it is asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def __call__(self, url: str, sink: Sink, headers: Mapping[str, str]) -> None:
        span = headers.get("Range", "").removeprefix("bytes=")
        if not span:
            start, end, answer = 0, len(self.data), Answer(status=200, url=url)
        else:
            first, _, last = span.partition("-")
            start, end = (int(first), int(last) + 1) if first else (max(0, len(self.data) - int(last)), len(self.data))
            told = f"bytes {start}-{end - 1}/{len(self.data)}"
            answer = Answer(status=206, url=url, headers={"content-range": told})
        self.asked.append((start, end))
        sink.begin(answer)
        for at in range(start, end, 50_000):
            sink.write(self.data[at : min(end, at + 50_000)])


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def remote(server: Server, *, size: bool = True) -> RemoteFile:
    file = IndexFile(
        filename="a-1.0-py3-none-any.whl",
        url="https://index.example/a.whl",
        sha256=sha256(server.data).hexdigest(),
        size=len(server.data) if size else None,
    )
    return RemoteFile(file, server)


SPANS = st.lists(st.tuples(st.integers(0, 3 * MB), st.integers(0, 300 * KB)), max_size=30)
DATA = noise(3 * MB)


@given(SPANS, st.booleans())
def test_what_is_read_is_the_file_and_no_byte_is_fetched_twice(spans: list[tuple[int, int]], size: bool) -> None:
    server = Server(DATA)
    with remote(server, size=size) as file:
        for start, length in spans:
            assert file.read(start, start + length) == DATA[start : start + length]
        assert file.bytes_read == sum(end - start for start, end in server.asked)
    fetched = sorted(server.asked)
    assert all(before[1] <= after[0] for before, after in pairwise(fetched))
    assert file.requests == len(fetched)


@given(st.lists(st.integers(1, 9), max_size=12, unique=True), st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_parts_know_what_is_missing(cells: list[int], asked: tuple[int, int]) -> None:
    parts, data = Parts(), noise(100)
    for cell in cells:
        parts.write(data[cell * 10 : cell * 10 + 10], parts.place)
        parts.add(cell * 10, 10)
    start, end = min(asked), max(asked)
    missing = [at for at in range(start, end) if at // 10 not in cells]
    gap = parts.gap(start, end)
    if not missing:
        assert gap is None
        assert parts.read(start, end) == data[start:end]
    else:
        assert gap is not None
        assert gap[0] == missing[0]
        assert all(at in missing for at in range(*gap))
        assert gap[1] == end or gap[1] // 10 in cells
    parts.close()


@pytest.mark.parametrize("size", [0, 1, 256 * KB])
def test_a_small_file_is_had_whole_and_hashed(size: int) -> None:
    server = Server(noise(size))
    with remote(server) as file:
        assert file.verified
        assert file.read(0, size + 9) == server.data
    assert server.asked == [(0, size)]


def test_a_short_file_of_unknown_size_is_hashed_too() -> None:
    server = Server(noise(KB))
    with remote(server, size=False) as file:
        assert file.verified
    assert server.asked == [(0, KB)]


def test_the_directory_and_what_stands_before_it_take_two_requests() -> None:
    """torch has 13,000 members; RECORD stands before its directory."""
    members = [("big.bin", noise(2 * MB)), *[(f"include/{number:060}.h", b"") for number in range(4000)]]
    record = noise(100 * KB)
    server = Server(zip_bytes([*members, ("a-1.0.dist-info/RECORD", record)]))
    with remote(server) as file, ZipFile(SourceFile(file, MB)) as archive:
        assert archive.read("a-1.0.dist-info/RECORD") == record
        assert file.requests == 2
        assert file.bytes_read < 1.2 * MB


def test_reading_on_takes_few_requests_and_stopping_wastes_little() -> None:
    server = Server(noise(24 * MB))
    with remote(server) as file:
        for stop in range(0, 24 * MB, 8 * KB):
            file.read(stop, stop + 8 * KB)
            ahead = sum(end - start for start, end in server.asked[1:]) - stop
            assert ahead <= max(200 * KB, stop // 2 + 8 * KB)
        assert file.requests < 25


def test_the_head_of_a_big_member_is_cheap() -> None:
    server = Server(noise(24 * MB))
    with remote(server) as file:
        for member in range(5):
            for at in range(0, 40 * KB, 4 * KB):
                file.read(member * 4 * MB + at, member * 4 * MB + at + 4 * KB)
    assert len(server.asked) == 6
    assert file.bytes_read < 600 * KB


def test_a_file_that_is_read_here_and_there_takes_a_bounded_number_of_requests() -> None:
    server = Server(noise(24 * MB))
    with remote(server) as file:
        for at in random.Random(0).sample(range(0, 24 * MB - 64, 4096), 5000):
            file.read(at, at + 64)
    assert len(server.asked) < 110


def test_a_closed_file_is_not_read_on() -> None:
    server = Server(noise(MB))
    with remote(server) as file:
        file.close()
        with pytest.raises(ClosedError):
            file.read(MB - 5, MB)


def test_a_size_beyond_the_limit_is_not_asked_for() -> None:
    server = Server(b"")
    file = IndexFile(filename="a-1.0-py3-none-any.whl", url="https://index.example/a.whl", size=SIZE_LIMIT + 1)
    with pytest.raises(ToolError, match="no wheel has more"), RemoteFile(file, server):
        pass
    assert server.asked == []


def test_a_disk_that_is_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(ToolError, match="No space left on device") as caught, remote(Server(noise(KB))):
        pass
    assert "TMPDIR" in caught.value.next_step
