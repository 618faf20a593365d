"""Files that are read by spans: from the disk, or from wherever somebody implements ``ByteSource``."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Protocol


class ByteSource(Protocol):
    """A file of ``size`` bytes, of which any span can be had. ``bytes_read`` counts what was fetched."""

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def bytes_read(self) -> int:
        """In bytes."""

    def read(self, start: int, end: int) -> bytes:
        """``[start, end)``, or fewer bytes where the file is shorter than its size says."""


class LocalFile:
    """A file of this machine; a context manager. Raises ``OSError``."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size
        self.bytes_read = 0

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, start: int, end: int) -> bytes:
        """``[start, end)``, up to the end of the file."""
        self._file.seek(start)
        data = self._file.read(end - start)
        self.bytes_read += len(data)
        return data


class SeekableFile(io.RawIOBase):
    """What ``zipfile`` asks of a file; a subclass says how to come by a span."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.position = 0

    def span(self, start: int, end: int) -> bytes:
        """``[start, end)`` within the size."""
        raise NotImplementedError

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The position, in bytes."""
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, also behind the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("negative seek")
        self.position = base + offset
        return self.position

    def read(self, size: int = -1) -> bytes:
        """``size`` bytes from the position, up to the end of the file."""
        end = self.size if size is None or size < 0 else min(self.size, self.position + size)
        if end <= self.position:
            return b""
        data = self.span(self.position, end)
        self.position += len(data)
        return data


class SourceFile(SeekableFile):
    """A ``ByteSource`` as such a file. No single read is longer than ``limit`` bytes: it bounds the memory.

    The longest read of ``zipfile`` is the archive's directory, which it takes in one piece.
    """

    def __init__(self, source: ByteSource, limit: int) -> None:
        super().__init__(source.size)
        self._source = source
        self._limit = limit

    def span(self, start: int, end: int) -> bytes:
        """``[start, end)`` of the source; raises ``BadZipFile`` where that is too much."""
        if end - start > self._limit:
            raise zipfile.BadZipFile(f"its directory takes {end - start} bytes, more than {self._limit}")
        return self._source.read(start, end)
