"""How ELF files are laid out: the headers of the gABI, in 32 and 64 bits and both byte orders."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

PT_LOAD, PT_DYNAMIC = 1, 2
PF_X, PF_W = 1, 2
#: The longest header, of 64 bits.
HEADER_BYTES = 64
_SEGMENTS_LIMIT = 512

OpenStream = Callable[[], BinaryIO]
#: The last so many bytes of a file, None where they cannot be had without all that stand before them.
ReadEnd = Callable[[int], bytes | None]


class BrokenBinaryError(Exception):
    """The file is not what its first bytes say."""


class Segment(NamedTuple):
    """An entry of the program headers; ``size`` is that in the file."""

    kind: int
    offset: int
    address: int
    size: int
    flags: int = 6

    @property
    def end(self) -> int:
        """The offset behind its last byte."""
        return self.offset + self.size


class Layout(NamedTuple):
    """How a file writes its headers: the gABI's 32- or 64-bit structures in one byte order."""

    wide: bool
    order: str

    @property
    def header(self) -> struct.Struct:
        """The file's header."""
        return struct.Struct(self.order + ("16s2HI3QI6H" if self.wide else "16s2HI3II6H"))

    @property
    def section(self) -> struct.Struct:
        """An entry of the section headers."""
        return struct.Struct(self.order + ("2I4Q2I2Q" if self.wide else "10I"))

    @property
    def symbol_size(self) -> int:
        """Of an entry of the symbol table, in bytes."""
        return 24 if self.wide else 16

    @property
    def dynamic(self) -> struct.Struct:
        """An entry of the dynamic section."""
        return struct.Struct(self.order + ("2Q" if self.wide else "2I"))

    @property
    def segment_size(self) -> int:
        """Of an entry of the program headers, in bytes."""
        return 56 if self.wide else 32

    def read_segment(self, data: bytes, at: int) -> Segment:
        """The program header at ``at``."""
        if self.wide:
            kind, flags, offset, address, _, size, _, _ = struct.unpack_from(self.order + "2I6Q", data, at)
        else:
            kind, offset, address, _, size, _, flags, _ = struct.unpack_from(self.order + "8I", data, at)
        return Segment(kind, offset, address, size, flags)

    def write_segment(self, one: Segment) -> bytes:
        """The inverse of ``read_segment``."""
        kind, offset, address, size, flags = one
        if self.wide:
            return struct.pack(self.order + "2I6Q", kind, flags, offset, address, address, size, size, 1)
        return struct.pack(self.order + "8I", kind, offset, address, address, size, size, flags, 1)


class Header(NamedTuple):
    """A file's header: its ``fields`` in the order of the gABI, e_ident first."""

    layout: Layout
    fields: tuple[int, ...]

    @property
    def machine(self) -> int:
        """e_machine."""
        return self.fields[2]

    @property
    def table(self) -> tuple[int, int]:
        """Where the program headers begin and end; raises ``BrokenBinaryError`` where that makes no sense."""
        start, entry, count = self.fields[5], self.fields[9], self.fields[10]
        if count and (entry != self.layout.segment_size or count > _SEGMENTS_LIMIT):
            raise BrokenBinaryError(f"it claims {count} segments of {entry} bytes")
        return start, start + entry * count

    def segments(self, table: bytes) -> list[Segment]:
        """The program headers in the bytes of their table."""
        return [self.layout.read_segment(table, at) for at in range(0, len(table), self.layout.segment_size)]


def read_header(head: bytes) -> Header:
    """The header that a file begins with. Raises ``BrokenBinaryError``."""
    try:
        layout = Layout(wide={1: False, 2: True}[head[4]], order={1: "<", 2: ">"}[head[5]])
    except (KeyError, IndexError):
        raise BrokenBinaryError("its header states neither 32 nor 64 bits, or no byte order") from None
    if len(head) < layout.header.size:
        raise BrokenBinaryError("it ends within its header")
    return Header(layout, layout.header.unpack_from(head))
