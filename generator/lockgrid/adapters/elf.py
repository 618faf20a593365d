"""A small ELF file that holds what proof 4 asks of a big one: its dynamic section and the tables that this names.

A library of a gigabyte has a few hundred kilobytes of these. They are picked out of the stream in one pass
or two, so that neither a member's size nor a lie in its headers decides how much memory is used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from lockgrid.adapters.elfformat import (
    HEADER_BYTES,
    PT_DYNAMIC,
    PT_LOAD,
    BrokenBinaryError,
    Header,
    Layout,
    OpenStream,
    Segment,
    read_header,
)

# A file up to this size is read in one go ...
_WHOLE = 16 * 1024 * 1024
# ... and of a bigger one, the beginnings of its first segments are kept, where linkers put these tables: a second
# pass is rarely needed.
_HEAD = 2 * 1024 * 1024
_HEADS = 8
# Of one table, and of all: libtorch's take 20 MB.
_TABLE_LIMIT = 24 * 1024 * 1024
_TOTAL_LIMIT = 64 * 1024 * 1024
_CHUNK = 256 * 1024

_SHT_DYNSYM = 11
_DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 5, 6, 10
_DT_VERSYM, _DT_VERDEF, _DT_VERNEED = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE
# The tables that are kept ...
_TABLES = (_DT_SYMTAB, _DT_STRTAB, _DT_VERSYM, _DT_VERDEF, _DT_VERNEED)
# ... and further addresses, before which a table whose length is not stated must end:
# PLTGOT, HASH, RELA, INIT, FINI, REL, JMPREL, INIT_ARRAY, FINI_ARRAY, PREINIT_ARRAY, RELR, GNU_HASH.
_ADDRESSES = (*_TABLES, 3, 4, 7, 12, 13, 17, 23, 25, 26, 32, 36, 0x6FFFFEF5)


class Excerpt(NamedTuple):
    """The small file, whether it has a dynamic section, and whether this asks for versions of symbols."""

    data: bytes
    dynamic: bool
    versioned: bool


def elf_excerpt(open_stream: OpenStream, size: int) -> Excerpt:
    """The excerpt of the ELF file of ``size`` bytes that ``open_stream`` opens, as often as it is called.

    Raises ``BrokenBinaryError``, and whatever reading the stream raises.
    """
    reader = _Reader(open_stream)
    try:
        return _excerpt(reader, size)
    finally:
        reader.close()


def _excerpt(reader: _Reader, size: int) -> Excerpt:
    header = read_header(reader.up_to(0, HEADER_BYTES))
    segments = header.segments(reader.get(*header.table))
    dynamic = next((s for s in segments if s.kind == PT_DYNAMIC and s.size), None)
    if dynamic is None:
        return Excerpt(_assemble(header, [], None), dynamic=False, versioned=False)
    if dynamic.size > _TABLE_LIMIT:
        raise BrokenBinaryError(f"its dynamic section claims {dynamic.size} bytes")
    loads = [s for s in segments if s.kind == PT_LOAD]
    span = dynamic.offset, dynamic.end
    heads = [(s.offset, s.offset + min(s.size, _HEAD)) for s in loads[:_HEADS]]
    reader.keep([(0, size)] if size <= _WHOLE else [(0, _HEAD), *heads, span])
    values = _entries(header.layout, reader.get(*span))
    tables = _tables(values, loads)
    reader.keep([(start, end) for _, start, end in tables])
    parts = [(address, reader.get(start, end)) for address, start, end in tables]
    parts.append((dynamic.address, reader.get(*span)))
    symbols = _symbols(header.layout, values, dict(parts))
    return Excerpt(_assemble(header, parts, dynamic, symbols), dynamic=True, versioned=_DT_VERNEED in values)


class _Reader:
    """Spans of a stream. It is read forwards; what stands before the position costs opening it again."""

    def __init__(self, open_stream: OpenStream) -> None:
        self._open_stream = open_stream
        self._stream: BinaryIO | None = None
        self._position = 0
        self._kept: list[tuple[int, bytes]] = []

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def keep(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Read these spans in one go, unless they are kept already. One that the stream ends before is kept in part."""
        spans = sorted(span for span in wanted if not self._holds(*span))
        if not spans:
            return
        if sum(end - start for start, end in spans) + sum(len(data) for _, data in self._kept) > _TOTAL_LIMIT:
            raise BrokenBinaryError(f"its tables claim more than {_TOTAL_LIMIT} bytes")
        if self._stream is None or spans[0][0] < self._position:
            self.close()
            self._stream, self._position = self._open_stream(), 0
        parts = [bytearray() for _ in spans]
        last = max(end for _, end in spans)
        while self._position < last and (chunk := self._stream.read(min(_CHUNK, last - self._position))):
            for (start, end), part in zip(spans, parts, strict=True):
                if start < self._position + len(chunk) and self._position < end:
                    part += chunk[max(0, start - self._position) : end - self._position]
            self._position += len(chunk)
        self._kept += [(start, bytes(part)) for (start, _), part in zip(spans, parts, strict=True)]

    def up_to(self, start: int, end: int) -> bytes:
        """The span, or less where the stream ends."""
        self.keep([(start, end)])
        return next((data[start - at : end - at] for at, data in self._kept if at <= start < at + len(data)), b"")

    def get(self, start: int, end: int) -> bytes:
        """The span; raises ``BrokenBinaryError`` where the stream ends before it does."""
        self.keep([(start, end)])
        for at, data in self._kept:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        raise BrokenBinaryError(f"its headers point to bytes {start} to {end}, behind its end")

    def _holds(self, start: int, end: int) -> bool:
        return any(at <= start and end <= at + len(data) for at, data in self._kept)


def _symbols(layout: Layout, values: dict[int, int], loads: dict[int, bytes]) -> tuple[int, int]:
    """Address and size of the symbols: each has 2 bytes in the table of their versions."""
    address = values.get(_DT_SYMTAB, 0)
    room = len(loads.get(address, b"")) // layout.symbol_size
    return address, layout.symbol_size * min(room, len(loads.get(values.get(_DT_VERSYM, 0), b"")) // 2)


def _entries(layout: Layout, data: bytes) -> dict[int, int]:
    """The dynamic section up to its end mark: value by tag, of repeated tags the first."""
    values: dict[int, int] = {}
    usable = len(data) - len(data) % layout.dynamic.size
    for tag, value in layout.dynamic.iter_unpack(data[:usable]):
        if tag == 0:
            break
        values.setdefault(tag, value)
    return values


def _tables(values: dict[int, int], loads: list[Segment]) -> list[tuple[int, int, int]]:
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


def _assemble(
    original: Header,
    loads: list[tuple[int, bytes]],
    dynamic: Segment | None,
    symbols: tuple[int, int] = (0, 0),
) -> bytes:
    """An ELF file of these pieces, each at its own address. ``symbols``: the address and size of its symbols.

    The one section says how many symbols there are, without the tables that their number is else guessed from.
    """
    layout, fields = original
    header = layout.header
    count = len(loads) + (1 if dynamic else 0)
    offset = header.size + count * layout.segment_size + 2 * layout.section.size
    segments: list[Segment] = []
    body = bytearray()
    for address, data in loads:
        segments.append(Segment(PT_LOAD, offset + len(body), address, len(data)))
        body += data
    if dynamic:
        segments.append(Segment(PT_DYNAMIC, segments[-1].offset, dynamic.address, dynamic.size))
    place = next((s.offset for s in segments if s.address == symbols[0]), 0)
    sections = layout.section.pack(*[0] * 10)
    sections += layout.section.pack(0, _SHT_DYNSYM, 0, symbols[0], place, symbols[1], 0, 0, 8, layout.symbol_size)
    changed = list(fields)
    changed[5], changed[6] = header.size, header.size + count * layout.segment_size
    changed[8], changed[9], changed[10] = header.size, layout.segment_size, count
    changed[11], changed[12], changed[13] = layout.section.size, 2, 0
    return header.pack(*changed) + b"".join(map(layout.write_segment, segments)) + sections + bytes(body)
