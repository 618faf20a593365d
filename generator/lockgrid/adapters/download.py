"""Whole files from an index to the disk, several at a time, each checked by its hash; resumed after an interruption.

A file that is not complete lies in a folder of its own under the name of its sha256, so what is there is always the
beginning of that very file, whoever began it. It gets its own name when its hash is right. Memory holds no more of a
file than one piece of the stream.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lockgrid.adapters.disk import disk_error, hash_of
from lockgrid.adapters.http import RETRIES, Answer, Http, TransientError
from lockgrid.adapters.remote import SIZE_LIMIT
from lockgrid.adapters.uvconfig import strip_credentials
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import IndexFile

# Files at a time: the big ones fill any line, the many small ones each wait for an answer.
_AT_ONCE = 8
# What a server that says nothing of the length may take its time for.
_UNSTATED = 512 * 1024**2
_PAUSE_SECONDS = 0.5

#: Told how many bytes of how many are here; the second is 0 where the index does not state every size.
Transfer = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """How many files were there already, how many came now, and how many bytes were received for that."""

    kept: int
    fetched: int
    received: int


def copy_file(source: Path, path: Path, partial: Path, file: IndexFile) -> None:
    """A file of this machine at its place, by way of ``partial``. Raises ``ToolError`` and ``HashMismatchError``."""
    if _is_whole(path, file):
        return
    beside = partial / file.sha256
    try:
        for folder in (partial, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, beside)
        if (found := hash_of(beside)) != file.sha256:
            beside.unlink()
            raise HashMismatchError(f"it has sha256 {found}, and {file.sha256} is locked", where=str(source))
        beside.replace(path)
    except OSError as error:
        raise disk_error(path, error) from error


class Downloads:
    """``files`` by their paths, all with a sha256; ``partial`` is the folder for those that are not complete."""

    def __init__(self, files: Mapping[Path, IndexFile], partial: Path, transfer: Transfer) -> None:
        self._partial = partial
        self._transfer = transfer
        self.missing = {p: f for p, f in files.items() if not _is_whole(p, f)}
        sizes = [file.size for file in files.values()]
        self._total = sum(size for size in sizes if size is not None) if None not in sizes else 0
        self._done = sum(p.stat().st_size for p in files if p not in self.missing)
        self._received = 0
        self._fetched = 0
        self._kept = len(files) - len(self.missing)

    @property
    def outcome(self) -> Downloaded:
        """What came of it."""
        return Downloaded(kept=self._kept, fetched=self._fetched, received=self._received)

    async def run(self, http: Http) -> None:
        """Fetch what is missing, the biggest first; the first error stops the rest, and partial files stay.

        Raises ``ToolError`` for the network, the index and the disk, ``HashMismatchError`` naming the file.
        """
        try:
            self._partial.mkdir(parents=True, exist_ok=True)
            for path in self.missing:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._check_space()
        except OSError as error:
            raise disk_error(self._partial, error) from error
        gate = asyncio.Semaphore(_AT_ONCE)
        order = sorted(self.missing.items(), key=lambda item: (-(item[1].size or 0), item[0]))
        try:
            async with asyncio.TaskGroup() as group:
                for path, file in order:
                    group.create_task(self._one(http, gate, path, file))
        except* ToolError as errors:
            raise next(_leaves(errors)) from None

    def _check_space(self) -> None:
        sizes = {file.sha256: file.size or 0 for file in self.missing.values()}
        here = sum(p.stat().st_size for p in self._partial.iterdir() if p.name in sizes)
        needed, free = sum(sizes.values()) - here, shutil.disk_usage(self._partial).free
        if needed > free:
            raise ToolError(
                f"{needed / 1e6:,.0f} MB are still to come, and there is room for {free / 1e6:,.0f} MB",
                where=str(self._partial.parent),
                next_step="free space there, or name a folder on another disk; what is complete is kept",
            )

    async def _one(self, http: Http, gate: asyncio.Semaphore, path: Path, file: IndexFile) -> None:
        async with gate:
            with _Part(file, self._partial / file.sha256, self._came) as part:
                await _fill(http, part)
                part.check()
            try:
                part.path.replace(path)
            except OSError as error:
                raise disk_error(path, error) from error
            self._fetched += 1

    def _came(self, received: int, done: int) -> None:
        """So many bytes came over the line, and so many more (or, in a new beginning, fewer) are here."""
        self._received += received
        self._done += done
        self._transfer(self._done, self._total)


async def _fill(http: Http, part: _Part) -> None:
    """Ask until the file is complete. Who gets further with each attempt may try for ever."""
    failed, before = 0, -1
    while not part.complete:
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={part.length}-"} if part.length else {})}
        try:
            await http.stream(part.file.url, part, headers=headers, accept=(200, 206, 416), attempts=1)
            part.finish()
        except TransientError:
            failed = 1 if part.length > before else failed + 1
            before = part.length
            if failed >= RETRIES:
                raise
            await asyncio.sleep(_PAUSE_SECONDS * 3 ** (failed - 1))


class _Part:
    """A file on its way to the disk, and the sink of the answers that hold it; a context manager."""

    def __init__(self, file: IndexFile, path: Path, came: Callable[[int, int], None]) -> None:
        self.file = file
        self.path = path
        self.length = 0
        self.complete = False
        self._came = came
        self._hash = sha256()
        self._status = 0
        self._limit = file.size if file.size is not None else SIZE_LIMIT

    def __enter__(self) -> _Part:
        try:
            self._disk = self.path.open("a+b", buffering=0)
            self._disk.seek(0)
            while piece := self._disk.read(1024 * 1024):
                self._hash.update(piece)
                self.length += len(piece)
        except OSError as error:
            raise disk_error(self.path, error) from error
        self._came(0, self.length)
        if self.length > self._limit:
            self._begin_anew()
        self.complete = self.length == self.file.size
        return self

    def __exit__(self, *_: object) -> None:
        self._disk.close()

    def begin(self, answer: Answer) -> int:
        """See ``http.Sink``."""
        self._status = answer.status
        stated = answer.headers.get("content-length", "")
        if answer.status == 206:
            start = answer.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
            if start != str(self.length):
                raise self._lie(f"answers with another part of the file than the one from byte {self.length}")
        else:  # all of it; or, for 416, no such part: then what is here is not the beginning of it
            self._begin_anew()
        return min(self._limit - self.length, int(stated) if stated.isdecimal() else _UNSTATED)

    def write(self, piece: bytes) -> None:
        """See ``http.Sink``."""
        if self._status == 416:
            return
        if self.length + len(piece) > self._limit:
            raise self._lie(f"sends more than the {self._limit} bytes that the file should have")
        rest = memoryview(piece)
        try:
            while rest:  # a disk that is nearly full takes a part, and says so at the next
                rest = rest[self._disk.write(rest) :]
        except OSError as error:
            raise disk_error(self.path.parent.parent / self.file.filename, error) from error
        self._hash.update(piece)
        self.length += len(piece)
        self._came(len(piece), len(piece))

    def finish(self) -> None:
        """An answer has ended as it should."""
        if self._status == 416:
            raise TransientError("the index has no such part", where=self.file.filename)
        if self.file.size is not None and self.length != self.file.size:
            raise self._lie(f"sends {self.length} bytes, and the index states {self.file.size}")
        self.complete = True

    def check(self) -> None:
        """Compare the hash; a file that is another is not kept."""
        actual = self._hash.hexdigest()
        if actual != self.file.sha256:
            self._begin_anew()
            with suppress(OSError):
                self._disk.close()
                self.path.unlink()
            raise HashMismatchError(
                f"its bytes have sha256 {actual}, and the lock has {self.file.sha256}",
                where=self.file.filename,
                next_step="do not install it; tell whoever runs the index",
            )

    def _begin_anew(self) -> None:
        try:
            self._disk.truncate(0)
        except OSError as error:
            raise disk_error(self.path, error) from error
        self._came(0, -self.length)
        self.length = 0
        self._hash = sha256()

    def _lie(self, what: str) -> ToolError:
        host = strip_credentials(self.file.url).partition("://")[2].partition("/")[0]
        return ToolError(
            f"its server ({host}) {what}",
            where=self.file.filename,
            next_step="run again; if it stays so, tell whoever runs the index",
        )


def _is_whole(path: Path, file: IndexFile) -> bool:
    try:
        size = path.stat().st_size
    except OSError:
        return False
    return (file.size is None or size == file.size) and hash_of(path) == file.sha256


def _leaves(group: BaseExceptionGroup[ToolError]) -> Iterator[ToolError]:
    """The errors of a group, those of bytes first: they say most."""
    found: list[ToolError] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    yield from sorted(found, key=lambda error: not isinstance(error, HashMismatchError))
