"""The end of a deflate stream (RFC 1951), out of its last bytes alone.

A stream is made of blocks that begin at any bit, and copies from up to 32 KB before. So a block's beginning is
searched for, and everything from there on inflated twice, with two different guesses of what came before:
where both agree, the guess played no part.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

_WINDOW = 32 * 1024
# What came before: a byte for the window, and a 9-bit literal (its bits in their order) right before the block.
_GUESSES = ((b"\0", 0b000010011), (b"\xff", 0b111111111))
# zlib begins a block every 10 to 50 KB. What is searched, and what of a block is tried.
_SEARCHED = 192 * 1024
_TRIED = 16 * 1024
# How many beginnings are tried at most, and how many of these to the end: one and one do with honest streams.
_TRIALS, _ATTEMPTS = 2000, 3
_CHUNK = 1024 * 1024
# So many compressed bytes are taken first, and at most; and how much more may come out of them than
# four times what is wanted.
_FIRST, _LONGEST = 128 * 1024, 32 * 1024 * 1024
_INFLATED = 32 * 1024 * 1024
# RFC 1951, 3.2.7: at most 286 and 30 symbols, whose code lengths have codes of 1 to 7 bits.
_SYMBOLS, _DISTANCES, _LENGTHS = 286 - 257, 30 - 1, 4
_HEADER_BYTES = 11
# The share of all codes, in 128ths, that three-bit code lengths take; two at a time.
_SHARES = [sum(128 >> length for length in (pair & 7, pair >> 3) if length) for pair in range(64)]


def _for_free(_count: int) -> None:
    """For whom it does not matter what it costs."""


class End(NamedTuple):
    """The last bytes of what the stream holds, and for each whether it is known (0) or not."""

    data: bytes
    unknown: bytes


def known_end(
    fetch: Callable[[int], bytes], compressed: int, keep: int, spend: Callable[[int], None] = _for_free
) -> bytes | None:
    """The last ``keep`` bytes of what a stream of ``compressed`` bytes holds, of which ``fetch`` gives the last ones.

    ``spend`` is told how many bytes were inflated on the way. None where the end is not to be had from a part
    of the stream.
    """
    count = _FIRST
    while count <= min(_LONGEST, compressed * 3 // 4):
        end = inflate_end(fetch(count), keep, spend)
        if end is None:
            return None
        if len(end.data) == keep and not any(end.unknown):
            return end.data
        count *= 2
    return None


def inflate_end(compressed: bytes, keep: int, spend: Callable[[int], None] = _for_free) -> End | None:
    """What the stream that ends with ``compressed`` holds at its end: ``keep`` bytes, or fewer.

    None where no block begins in time, or more comes out of it than is sane.
    """
    spend(_SEARCHED)
    for at, bit in islice(_blocks(compressed), _ATTEMPTS):
        one = _inflate(compressed[at:], bit, 0, keep, spend)
        other = _inflate(compressed[at:], bit, 1, keep, spend) if one is not None else None
        if one is not None and other is not None:
            differing = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
            return End(one, differing.to_bytes(len(one), "little"))
    return None


def _before(bit: int, literal: int) -> tuple[int, int]:
    """Blocks that end at bit number ``bit`` of a byte, and how many bits they have.

    A stored block begins at a byte of the whole stream, so what is searched has to stay where it stands in its
    byte. An empty block with fixed codes takes 10 bits, one with a 9-bit literal 19 (RFC 1951, 3.2.6).
    """
    bits, count = (2 | literal << 3, 19) if bit % 2 else (0, 0)
    while count % 8 != bit:
        bits, count = bits | 2 << count, count + 10
    return bits, count


def _begun(data: bytes, bit: int, guess: int) -> tuple[zlib._Decompress, bytes]:
    """An inflater that thinks that a block begins at ``bit`` of the first byte, and what it is to inflate."""
    byte, literal = _GUESSES[guess]
    bits, count = _before(bit, literal)
    bits |= data[0] >> bit << count
    inflater = zlib.decompressobj(-zlib.MAX_WBITS, zdict=byte * _WINDOW)
    return inflater, bits.to_bytes(count // 8 + 1, "little") + data[1:]


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """The bytes, and bits in them, at which a block with codes of its own seems to begin."""
    possible = (
        (at, bit)
        for at in range(min(_SEARCHED, len(data) - _HEADER_BYTES))
        for bits in (int.from_bytes(data[at : at + _HEADER_BYTES], "little"),)
        for bit in range(8)
        if bits >> bit & 7 == 4 and _may_begin(bits >> bit)
    )
    for at, bit in islice(possible, _TRIALS):
        if _begins(data[at : at + _TRIED], bit):
            yield at, bit


def _may_begin(bits: int) -> bool:
    """Whether these bits are a block's header whose code lengths have a complete code."""
    if bits >> 3 & 31 > _SYMBOLS or bits >> 8 & 31 > _DISTANCES:
        return False
    lengths = bits >> 17 & (1 << 3 * ((bits >> 13 & 15) + _LENGTHS)) - 1
    share = 0
    while lengths:
        share += _SHARES[lengths & 63]
        lengths >>= 6
    return share == 128


def _begins(data: bytes, bit: int) -> bool:
    inflater, stream = _begun(data, bit, 0)
    try:
        inflater.decompress(stream, 16 * _TRIED)
    except zlib.error:
        return False
    return True


def _inflate(data: bytes, bit: int, guess: int, keep: int, spend: Callable[[int], None]) -> bytes | None:
    """The last bytes of the whole stream, if it is one and ends where its bytes do."""
    inflater, stream = _begun(data, bit, guess)
    kept = bytearray()
    total = -(bit % 2)  # the literal
    try:
        part = inflater.decompress(stream, _CHUNK)
        while part:
            kept += part
            total += len(part)
            spend(len(part))
            if len(kept) > 2 * keep + _CHUNK:
                del kept[: -keep or None]
            if total > _INFLATED + 4 * keep:
                return None
            part = b"" if inflater.eof else inflater.decompress(inflater.unconsumed_tail, _CHUNK)
    except zlib.error:
        return None
    if not inflater.eof or inflater.unused_data:
        return None
    return bytes(kept[max(0, len(kept) - min(keep, total)) :])
