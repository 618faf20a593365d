"""A small ELF file that holds what proof 4 asks of a big one: its dynamic section and the tables that this names.

A library of a gigabyte has a few hundred kilobytes of these. They are picked out of the stream in one pass
or two, so that neither a member's size nor a lie in its headers decides how much memory is used.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from typing import BinaryIO, NamedTuple

# A file up to this size is read in one go ...
_WHOLE = 16 * 1024 * 1024
# ... and of a bigger one, its beginning is kept, where linkers put these tables: a second pass is rarely needed.
_HEAD = 2 * 1024 * 1024
# Of one table, and of all: libtorch's take 20 MB.
_TABLE_LIMIT = 24 * 1024 * 1024
_TOTAL_LIMIT = 64 * 1024 * 1024
_SEGMENTS_LIMIT = 512
_CHUNK = 256 * 1024

_PT_LOAD, _PT_DYNAMIC, _SHT_DYNSYM = 1, 2, 11
_DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 5, 6, 10
_DT_VERSYM, _DT_VERDEF, _DT_VERNEED = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE
# The tables that are kept ...
_TABLES = (_DT_SYMTAB, _DT_STRTAB, _DT_VERSYM, _DT_VERDEF, _DT_VERNEED)
# ... and further addresses, before which a table whose length is not stated must end:
# PLTGOT, HASH, RELA, INIT, FINI, REL, JMPREL, INIT_ARRAY, FINI_ARRAY, PREINIT_ARRAY, RELR, GNU_HASH.
_ADDRESSES = (*_TABLES, 3, 4, 7, 12, 13, 17, 23, 25, 26, 32, 36, 0x6FFFFEF5)

OpenStream = Callable[[], BinaryIO]


class BrokenBinaryError(Exception):
    """The file is not what its first bytes say."""


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


class _Layout(NamedTuple):
    """How this file writes its headers: the gABI's 32- or 64-bit structures in one byte order."""

    wide: bool
    order: str

    @property
    def header(self) -> struct.Struct:
        return struct.Struct(self.order + ("16s2HI3QI6H" if self.wide else "16s2HI3II6H"))

    @property
    def section(self) -> struct.Struct:
        return struct.Struct(self.order + ("2I4Q2I2Q" if self.wide else "10I"))

    @property
    def symbol_size(self) -> int:
        return 24 if self.wide else 16

    @property
    def dynamic(self) -> struct.Struct:
        return struct.Struct(self.order + ("2Q" if self.wide else "2I"))

    def read_segment(self, data: bytes, at: int) -> _Segment:
        if self.wide:
            kind, _, offset, address, _, size, _, _ = struct.unpack_from(self.order + "2I6Q", data, at)
        else:
            kind, offset, address, _, size, _, _, _ = struct.unpack_from(self.order + "8I", data, at)
        return _Segment(kind, offset, address, size)

    def write_segment(self, one: _Segment) -> bytes:
        kind, offset, address, size = one
        if self.wide:
            return struct.pack(self.order + "2I6Q", kind, 6, offset, address, address, size, size, 1)
        return struct.pack(self.order + "8I", kind, offset, address, address, size, size, 6, 1)

    @property
    def segment_size(self) -> int:
        return 56 if self.wide else 32


class Excerpt(NamedTuple):
    """The small file, whether it has a dynamic section, and whether this asks for versions of symbols."""

    data: bytes
    dynamic: bool
    versioned: bool


def elf_excerpt(open_stream: OpenStream, size: int) -> Excerpt:
    """The excerpt of the ELF file of ``size`` bytes that ``open_stream`` opens, as often as it is called.

    Raises ``BrokenBinaryError``, and whatever reading the stream raises.
    """
    if size <= _WHOLE:
        data = _collect(open_stream, [(0, size)])[0][1]
        open_stream = partial(io.BytesIO, data)
    head = _collect(open_stream, [(0, 64)])[0][1]
    layout = _layout(head)
    header = layout.header
    if len(head) < header.size:
        raise BrokenBinaryError("it ends within its header")
    fields = header.unpack_from(head)
    segments = _segments(open_stream, layout, phoff=fields[5], entry=fields[9], count=fields[10])
    dynamic = next((s for s in segments if s.kind == _PT_DYNAMIC and s.size), None)
    if dynamic is None:
        return Excerpt(_assemble(layout, fields, [], None), dynamic=False, versioned=False)
    if dynamic.size > _TABLE_LIMIT:
        raise BrokenBinaryError(f"its dynamic section claims {dynamic.size} bytes")
    span = dynamic.offset, dynamic.offset + dynamic.size
    kept = _collect(open_stream, [(0, _HEAD), span])
    values = _entries(layout, _cut(kept, *span))
    tables = _tables(values, [s for s in segments if s.kind == _PT_LOAD])
    if not all(_holds(kept, start, end) for _, start, end in tables):
        kept = _collect(open_stream, [(start, end) for _, start, end in tables] + [span])
    loads = [(address, _cut(kept, start, end)) for address, start, end in tables]
    loads.append((dynamic.address, _cut(kept, *span)))
    symbols = _symbols(layout, values, dict(loads))
    return Excerpt(_assemble(layout, fields, loads, dynamic, symbols), dynamic=True, versioned=_DT_VERNEED in values)


def _symbols(layout: _Layout, values: dict[int, int], loads: dict[int, bytes]) -> tuple[int, int]:
    """Address and size of the symbols: each has 2 bytes in the table of their versions."""
    address = values.get(_DT_SYMTAB, 0)
    room = len(loads.get(address, b"")) // layout.symbol_size
    return address, layout.symbol_size * min(room, len(loads.get(values.get(_DT_VERSYM, 0), b"")) // 2)


def _layout(head: bytes) -> _Layout:
    try:
        return _Layout(wide={1: False, 2: True}[head[4]], order={1: "<", 2: ">"}[head[5]])
    except (KeyError, IndexError):
        raise BrokenBinaryError("its header states neither 32 nor 64 bits, or no byte order") from None


def _segments(open_stream: OpenStream, layout: _Layout, *, phoff: int, entry: int, count: int) -> list[_Segment]:
    if not count:
        return []
    if entry != layout.segment_size or count > _SEGMENTS_LIMIT:
        raise BrokenBinaryError(f"it claims {count} segments of {entry} bytes")
    end = phoff + entry * count
    data = _cut(_collect(open_stream, [(phoff, end)]), phoff, end)
    return [layout.read_segment(data, at) for at in range(0, entry * count, entry)]


def _entries(layout: _Layout, data: bytes) -> dict[int, int]:
    """The dynamic section up to its end mark: value by tag, of repeated tags the first."""
    values: dict[int, int] = {}
    usable = len(data) - len(data) % layout.dynamic.size
    for tag, value in layout.dynamic.iter_unpack(data[:usable]):
        if tag == 0:
            break
        values.setdefault(tag, value)
    return values


def _tables(values: dict[int, int], loads: list[_Segment]) -> list[tuple[int, int, int]]:
    """Address, first and last offset of each table; those without a length end where the next thing begins."""
    known = sorted({values[tag] for tag in _ADDRESSES if values.get(tag)})
    found = []
    for tag in _TABLES:
        address = values.get(tag, 0)
        if not address:
            continue
        load = next((s for s in loads if s.address <= address < s.address + s.size), None)
        if load is None:
            raise BrokenBinaryError(f"its dynamic section points to {address:#x}, which no segment holds")
        end = load.address + load.size
        following = bisect_right(known, address)
        if tag == _DT_STRTAB:
            end = min(end, address + values.get(_DT_STRSZ, 0))
        elif following < len(known):
            end = min(end, known[following])
        length = end - address
        if length > _TABLE_LIMIT:
            if tag in (_DT_STRTAB, _DT_VERNEED):
                raise BrokenBinaryError(f"a table of its dynamic section claims {length} bytes")
            length = _TABLE_LIMIT
        start = load.offset + address - load.address
        found.append((address, start, start + length))
    return found


def _collect(open_stream: OpenStream, wanted: Iterable[tuple[int, int]]) -> list[tuple[int, bytes]]:
    """The wanted spans, read in one go from the beginning up to the end of the last: offset and bytes of each.

    A span that the stream ends before is shorter than wanted.
    """
    spans = sorted(wanted)
    if sum(end - start for start, end in spans) > _TOTAL_LIMIT:
        raise BrokenBinaryError(f"its tables claim more than {_TOTAL_LIMIT} bytes")
    parts = [bytearray() for _ in spans]
    last = max(end for _, end in spans)
    position = 0
    with open_stream() as stream:
        while position < last:
            chunk = stream.read(min(_CHUNK, last - position))
            if not chunk:
                break
            for (start, end), part in zip(spans, parts, strict=True):
                if start < position + len(chunk) and position < end:
                    part += chunk[max(0, start - position) : end - position]
            position += len(chunk)
    return [(start, bytes(part)) for (start, _), part in zip(spans, parts, strict=True)]


def _holds(kept: list[tuple[int, bytes]], start: int, end: int) -> bool:
    return any(at <= start and end <= at + len(data) for at, data in kept)


def _cut(kept: list[tuple[int, bytes]], start: int, end: int) -> bytes:
    for at, data in kept:
        if at <= start and end <= at + len(data):
            return data[start - at : end - at]
    raise BrokenBinaryError(f"its headers point to bytes {start} to {end}, behind its end")


def _assemble(
    layout: _Layout,
    fields: tuple[int, ...],
    loads: list[tuple[int, bytes]],
    dynamic: _Segment | None,
    symbols: tuple[int, int] = (0, 0),
) -> bytes:
    """An ELF file of these pieces, each at its own address. ``symbols``: the address and size of its symbols.

    The one section says how many symbols there are, without the tables that their number is else guessed from.
    """
    header = layout.header
    count = len(loads) + (1 if dynamic else 0)
    offset = header.size + count * layout.segment_size + 2 * layout.section.size
    segments: list[_Segment] = []
    body = bytearray()
    for address, data in loads:
        segments.append(_Segment(_PT_LOAD, offset + len(body), address, len(data)))
        body += data
    if dynamic:
        segments.append(_Segment(_PT_DYNAMIC, segments[-1].offset, dynamic.address, dynamic.size))
    place = next((s.offset for s in segments if s.address == symbols[0]), 0)
    sections = layout.section.pack(*[0] * 10)
    sections += layout.section.pack(0, _SHT_DYNSYM, 0, symbols[0], place, symbols[1], 0, 0, 8, layout.symbol_size)
    changed = list(fields)
    changed[5], changed[6] = header.size, header.size + count * layout.segment_size
    changed[8], changed[9], changed[10] = header.size, layout.segment_size, count
    changed[11], changed[12], changed[13] = layout.section.size, 2, 0
    return header.pack(*changed) + b"".join(map(layout.write_segment, segments)) + sections + bytes(body)
