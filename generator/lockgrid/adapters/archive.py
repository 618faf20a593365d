"""An opened wheel whose members are read within limits."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from lockgrid.adapters.deflate import known_end
from lockgrid.adapters.printable import printable
from lockgrid.adapters.source import ByteSource
from lockgrid.model.contents import Fault, FaultKind

READ_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, NotImplementedError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In bytes: what an honest wheel stays below. They bound the memory and the time that one wheel may cost.

    ``exact``: what a compressed ELF member may take to be read as a whole where bytes are spared.
    """

    directory: int = 16 * 1024**2
    record: int = 16 * 1024**2
    entry_points: int = 1024**2
    member: int = 4 * 1024**3
    inflated: int = 12 * 1024**3
    installed: int = 32 * 1024**3
    exact: int = 256 * 1024


class OverrunError(Exception):
    """More bytes come out of this wheel than the limits allow."""


@dataclass(slots=True)
class Archive:
    """An opened wheel, and what was found out about it so far."""

    zip: zipfile.ZipFile
    source: ByteSource
    limits: Limits
    sparing: bool = False
    faults: list[Fault] = field(default_factory=list)
    inflated: int = 0

    def fault(self, kind: FaultKind, path: str, what: str) -> None:
        """Note that something is wrong with ``path``."""
        self.faults.append(Fault(kind=kind, path=printable(path), what=what))

    def open(self, info: zipfile.ZipInfo) -> BinaryIO:
        """A member from its beginning, within the limits."""
        return cast("BinaryIO", _Counted(self, cast("BinaryIO", self.zip.open(info)), info.file_size))

    def end(self, info: zipfile.ZipInfo, keep: int) -> bytes | None:
        """The last ``keep`` bytes of a member, None where they are not to be had without the others."""
        # APPNOTE 4.3.7: the lengths of the name and of the extra field that stand before the data.
        name, extra = struct.unpack("<2H", self.source.read(info.header_offset + 26, info.header_offset + 30))
        behind = info.header_offset + 30 + name + extra + info.compress_size
        if keep > info.file_size or behind > self.source.size:
            return None
        fetch: Callable[[int], bytes] = lambda count: self.source.read(behind - count, behind)  # noqa: E731
        if info.compress_type == zipfile.ZIP_STORED:
            return fetch(keep)
        return known_end(fetch, info.compress_size, keep, self.spend)

    def spend(self, count: int) -> None:
        """Take note of bytes that were inflated; raises ``OverrunError`` where they are too many."""
        self.inflated += count
        if self.inflated > self.limits.inflated:
            raise OverrunError(f"more than {self.limits.inflated} bytes come out of this wheel")

    def text(self, info: zipfile.ZipInfo, limit: int) -> str:
        """A whole small member. Raises ``OverrunError`` or one of ``READ_ERRORS``."""
        if info.file_size > limit:
            raise OverrunError(f"it claims {info.file_size} bytes, more than {limit}")
        with self.open(info) as stream:
            return stream.read(limit + 1).decode("utf-8")


class _Counted(io.RawIOBase):
    """A member's stream that stops with ``OverrunError`` at the limit of the whole wheel.

    ``zipfile`` never gives more than the size that the archive claims; less is a ``BadZipFile``.
    """

    def __init__(self, archive: Archive, stream: BinaryIO, claimed: int) -> None:
        self._archive = archive
        self._stream = stream
        self._claimed = claimed

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        data = self._stream.read(size)
        self._claimed -= len(data)
        if not data and size and self._claimed:
            raise zipfile.BadZipFile(f"it ends {self._claimed} bytes before the size that the archive claims")
        self._archive.spend(len(data))
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()
