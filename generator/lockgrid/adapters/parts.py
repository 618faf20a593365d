"""Parts of a file that is not here as a whole, on disk."""

from __future__ import annotations

import tempfile
from bisect import bisect_right


class Parts:
    """Parts of a file, on disk in the order of their arrival; memory holds only where each is.

    Not a sparse file: Windows would write out the holes.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._starts: list[int] = []
        self._parts: list[tuple[int, int]] = []  # the end of each, and its place on the disk
        self._end = 0

    def close(self) -> None:
        """Forget everything."""
        self._file.close()

    def gap(self, start: int, end: int) -> tuple[int, int] | None:
        """The first part of ``[start, end)`` that is not here."""
        while start < end:
            index = bisect_right(self._starts, start)
            if index and start < self._parts[index - 1][0]:
                start = self._parts[index - 1][0]
                continue
            return start, min(end, self._starts[index]) if index < len(self._starts) else end
        return None

    def room(self, start: int, size: int) -> tuple[int, int]:
        """The whole gap around ``start`` in a file of ``size`` bytes."""
        index = bisect_right(self._starts, start)
        before = self._parts[index - 1][0] if index else 0
        return before, self._starts[index] if index < len(self._starts) else size

    def write(self, data: bytes, place: int) -> None:
        """Put bytes at a place on the disk; ``add`` says what they are."""
        self._file.seek(place)
        self._file.write(data)

    def add(self, start: int, length: int) -> None:
        """The ``length`` bytes that were written to ``place`` are the file's, from ``start``, a gap until now."""
        index = bisect_right(self._starts, start)
        last = self._parts[index - 1] if index else None
        if last is not None and last[0] == start and last[1] + start - self._starts[index - 1] == self._end:
            self._parts[index - 1] = start + length, last[1]
        else:
            self._starts.insert(index, start)
            self._parts.insert(index, (start + length, self._end))
        self._end += length

    @property
    def place(self) -> int:
        """Where the next part goes."""
        return self._end

    def clear(self) -> None:
        """No part is here; what comes next overwrites what was."""
        self._starts, self._parts, self._end = [], [], 0

    def read(self, start: int, end: int) -> bytes:
        """``[start, end)``, which has no gap."""
        pieces = []
        while start < end:
            index = bisect_right(self._starts, start) - 1
            stop, place = self._parts[index]
            self._file.seek(place + start - self._starts[index])
            pieces.append(self._file.read(min(end, stop) - start))
            start = stop
        return b"".join(pieces)
