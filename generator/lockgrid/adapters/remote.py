"""A file on an index, read in parts by range requests; or whole, where it is small or the server knows no ranges.

What has come stays in a temporary file, so that no byte is fetched twice and memory does not grow with the
file. How much is fetched beyond what is asked for: a request costs as much time as some 100 kB, so that much is
fetched at least; more while one part follows another, and in a file that took many requests already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256

from lockgrid.adapters.http import Answer, Sink
from lockgrid.adapters.parts import Parts
from lockgrid.adapters.printable import printable
from lockgrid.adapters.uvconfig import strip_credentials
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import IndexFile

# Files up to this size are fetched whole and hashed: one request, where parts would cost three.
_WHOLE_BYTES = 256 * 1024
# The end of a wheel: its directory and, just before it, the .dist-info folder.
_TAIL_BYTES = 64 * 1024
_BLOCK_BYTES = 96 * 1024
_BLOCK_LIMIT = 4 * 1024**2
# After so many requests for one file the smallest block doubles: so their number is bounded.
_REQUESTS = 16
# No wheel is longer. It bounds the temporary file where the index states no size.
SIZE_LIMIT = 8 * 1024**3
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

# What a server that says nothing of the length may take its time for.
UNSTATED_BYTES = 512 * 1024**2
#: The statuses that ``Landing`` knows what to do with.
ACCEPTED = (200, 206, 404, 410, 416)

#: Sends a request for a URL with these headers, and the answer into the sink; called in a worker thread. ``ACCEPTED``
#: are answers, for all else it raises ``ToolError``.
Ask = Callable[[str, Sink, Mapping[str, str]], None]


class ClosedError(Exception):
    """Nobody waits for this file any more."""


class _NoSuchPartError(Exception):
    """The file is shorter than that."""


class RemoteFile:
    """A ``ByteSource`` over a file of an index, for one worker thread; a context manager.

    ``size`` is known within the context. What a server says is believed only as far as it fits the index's
    page and what it said before. Every method raises ``ToolError``, naming the file, and ``HashMismatchError``.
    """

    def __init__(self, file: IndexFile, ask: Ask) -> None:
        self.file = file
        self.bytes_read = 0
        self.requests = 0
        self.size = file.size if file.size is not None else -1
        #: The whole file is here and has the hash that the index promised.
        self.verified = False
        self.parts: Parts
        self._ask = ask
        self._closed = False
        self._last = -1  # where the last part that was fetched ended
        self._run = 0  # and how many bytes came without a jump, up to there

    def __enter__(self) -> RemoteFile:
        self._bounded()
        try:
            self.parts = Parts()
        except OSError as error:
            raise self.broken_disk(error) from error
        try:
            if self.size < 0:
                self._fetch(-_TAIL_BYTES, None)
            elif self.size <= _WHOLE_BYTES:
                self.fetch_whole()
            else:
                self._fetch(self.size - _TAIL_BYTES, self.size)
        except BaseException:
            self.parts.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.parts.close()

    def close(self) -> None:
        """Make the next read raise ``ClosedError``; from any thread."""
        self._closed = True

    def read(self, start: int, end: int) -> bytes:
        """``[start, end)``, up to the end of the file."""
        if self._closed:
            raise ClosedError
        end = min(end, self.size)
        try:
            while (gap := self.parts.gap(start, end)) is not None:
                self._fetch(*self._span(*gap))
            return self.parts.read(start, end)
        except OSError as error:
            raise self.broken_disk(error) from error

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """What to fetch for the sake of ``[start, end)``, which is not here: that, and some of the gap around it."""
        before, after = self.parts.room(start, self.size)
        block = _BLOCK_BYTES << min(self.requests // _REQUESTS, 6)
        if start != self._last:
            self._run = 0
        want = max(end - start, min(_BLOCK_LIMIT, max(block, self._run // 2)))
        if end == after:
            want += (end - start) // 2
        end = min(after, start + want)
        if after - end < block // 2:
            end = after
        if end == after:  # what stands before it will be wanted, as RECORD before the directory
            start = max(before, min(start, end - want))
        return start, end

    def fetch_whole(self) -> None:
        """Have all of it, by one request, and the hash checked."""
        if not self.verified:
            self._fetch(0, None)

    def _fetch(self, start: int, end: int | None) -> None:
        """``[start, end)``; with ``end`` None: the last ``-start`` bytes, or all of it for 0."""
        if self._closed:
            raise ClosedError
        whole = start == 0 and end is None
        span = f"bytes={start}" if start < 0 else f"bytes={start}-{end - 1}" if end else ""
        headers = {"Accept-Encoding": "identity", **({"Range": span} if span else {})}
        landing = Landing(self, None if whole else (start, end))
        self.requests += 1
        try:
            self._ask(self.file.url, landing, headers)
        except _NoSuchPartError:
            if start >= 0:
                raise self.lie(f"has no bytes {start} to {end}, though the file has {self.size}") from None
            self._fetch(0, None)  # it is shorter than the tail that was asked for, which is no error
        else:
            landing.finish()

    def arrived(self, start: int, length: int) -> None:
        """A part has been written down."""
        self.parts.add(start, length)
        self._run = self._run + length if start == self._last else length
        self._last = start + length

    def agree(self, size: int) -> None:
        """The server states the file's size."""
        if self.size < 0:
            self.size = size
            self._bounded()
        elif self.size != size:
            raise self.lie(f"states {size} bytes, and stated {self.size} before, or the index's page does")

    def check_hash(self, actual: str) -> None:
        """The hash of a file that is here as a whole."""
        if self.file.sha256 and actual != self.file.sha256:
            raise HashMismatchError(
                f"its bytes have sha256 {actual}, and the index promised {self.file.sha256}",
                where=self.file.filename,
                next_step="do not install it; tell whoever runs the index",
            )
        self.verified = True

    def _bounded(self) -> None:
        if self.size > SIZE_LIMIT:
            raise self.lie(f"states {self.size} bytes, and no wheel has more than {SIZE_LIMIT}")

    def lie(self, what: str) -> ToolError:
        """The error for an answer that cannot be true."""
        return ToolError(
            f"its server ({strip_credentials(self.file.url).partition('://')[2].partition('/')[0]}) {what}",
            where=self.file.filename,
            next_step="run again; if it stays so, tell whoever runs the index, or require another version",
        )

    def broken_disk(self, error: OSError) -> ToolError:
        """The error for a temporary file that cannot be written or read."""
        return ToolError(
            f"the temporary file for it failed: {error.strerror or error}",
            where=self.file.filename,
            next_step="free space in the folder for temporary files, or set TMPDIR to another",
        )


class Landing:
    """One answer on its way into a file: judged before its first byte is kept, and never longer than it should be.

    ``asked`` is the part: from where (negative: from the end) to where; None: the whole file.
    """

    def __init__(self, file: RemoteFile, asked: tuple[int, int | None] | None) -> None:
        self._file = file
        self._asked = asked
        self._whole = False
        self._start = 0
        self._length = 0
        self._limit = 0
        self._hash = sha256()

    def begin(self, answer: Answer) -> int:
        """An answer begins, or begins anew. How many bytes it should have."""
        file = self._file
        self._start = self._length = 0
        self._hash = sha256()
        self._whole = answer.status == 200
        if answer.status in (404, 410):
            raise file.lie(f"has no such file (status {answer.status})")
        if answer.status == 416:
            raise _NoSuchPartError
        if not self._whole:
            self._start, end = self._part(answer.headers.get("content-range", ""))
            self._limit = end - self._start
            return self._limit
        file.parts.clear()
        self._limit = file.size if file.size >= 0 else SIZE_LIMIT
        stated = answer.headers.get("content-length", "")
        return min(self._limit, int(stated) if stated.isdecimal() else UNSTATED_BYTES)

    def _part(self, stated: str) -> tuple[int, int]:
        file = self._file
        match = _CONTENT_RANGE.fullmatch(stated)
        if self._asked is None or match is None:
            raise file.lie(f"answers with a part of the file: {printable(stated) or 'it does not say which'}")
        if match[3] != "*":
            file.agree(int(match[3]))
        elif file.size < 0:
            raise file.lie("does not say how long the file is, and neither does the index")
        start, end = self._asked
        if end is None:
            start, end = max(0, file.size + start), file.size
        if (int(match[1]), int(match[2])) != (start, end - 1):
            raise file.lie(f"answers with another part of the file, {printable(stated)}, than asked for")
        return start, end

    def write(self, piece: bytes) -> None:
        """The next bytes."""
        file = self._file
        file.bytes_read += len(piece)
        if self._length + len(piece) > self._limit:
            raise file.lie(f"sends more than the {self._limit} bytes that there should be")
        if self._limit == file.size or self._whole:
            self._hash.update(piece)
        try:
            file.parts.write(piece, file.parts.place + self._length)
        except OSError as error:
            raise file.broken_disk(error) from error
        self._length += len(piece)

    def finish(self) -> None:
        """The answer has ended."""
        file = self._file
        if self._whole:
            file.agree(self._length)
        elif self._length != self._limit:
            raise file.lie(f"sends {self._length} bytes where there should be {self._limit}")
        if self._length == file.size:
            file.check_hash(self._hash.hexdigest())
        file.arrived(self._start, self._length)
