"""The end of a deflate stream, out of its last bytes."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgrid.adapters.deflate import inflate_end, known_end
from support.binaries import machine_code

DATA = machine_code(1_250_000)


def deflated(data: bytes, level: int = 6) -> bytes:
    compressor = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


STREAMS = {level: deflated(DATA, level) for level in (1, 6, 9)}


@pytest.mark.parametrize("level", STREAMS)
@pytest.mark.parametrize("keep", [1, 1000, 150_000])
def test_the_end_is_had_from_a_part_of_the_stream(level: int, keep: int) -> None:
    stream = STREAMS[level]
    fetched = []

    def fetch(count: int) -> bytes:
        fetched.append(count)
        return stream[-count:]

    assert known_end(fetch, len(stream), keep) == DATA[-keep:]
    assert max(fetched) <= len(stream) // 2


@settings(max_examples=12)
@given(level=st.sampled_from(sorted(STREAMS)), count=st.integers(60_000, 300_000))
def test_no_byte_that_is_said_to_be_known_is_wrong(level: int, count: int) -> None:
    end = inflate_end(STREAMS[level][-count:], 400_000)
    if end is None:
        return
    known = [at for at, unknown in enumerate(end.unknown) if not unknown]
    truth = DATA[-len(end.data) :]
    assert bytes(end.data[at] for at in known) == bytes(truth[at] for at in known)
    assert len(known) > len(truth) // 2


def test_bytes_that_depend_on_what_came_before_are_unknown() -> None:
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    first = machine_code(30_000, seed=1)
    begun = compressor.compress(first) + compressor.flush(zlib.Z_PARTIAL_FLUSH)
    rest = compressor.compress(first[:3000] + machine_code(100_000, seed=2)) + compressor.flush()
    end = inflate_end((begun + rest)[len(begun) - 8 :], 1_000_000)
    assert end is not None
    assert any(end.unknown)
    # However much is asked for, this is all that is given.
    tail = (begun + rest)[len(begun) - 8 :]
    assert known_end(lambda _count: tail, 1_000_000, len(end.data)) is None
    assert known_end(lambda _count: tail, 1_000_000, 1000) == end.data[-1000:]


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"\0" * 250_000,
        b"\xff" * 250_000,
        b"\x04" * 250_000,
        machine_code(250_000, seed=3),
        STREAMS[6][:-1],
        STREAMS[6] + b"\0",
    ],
    ids=["nothing", "zeros", "ones", "fours", "noise", "cut", "longer"],
)
def test_what_is_no_end_of_a_stream_is_none(stream: bytes) -> None:
    assert inflate_end(stream[-200_000:], 1000) is None
    assert known_end(lambda count: stream[-count:], len(stream), 1000) is None


def test_a_stream_that_inflates_without_measure_is_given_up() -> None:
    stream = deflated(machine_code(100_000) + bytes(100 * 1024**2))
    spent: list[int] = []
    assert known_end(lambda count: stream[-count:], len(stream), 1000, spent.append) is None
    assert sum(spent) < 130 * 1024**2
