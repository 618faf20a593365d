"""Many wheels of an index read at once, each in a thread of its own over the one HTTP client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from threading import Lock

from lockgrid.adapters.contents import NoArchiveError, read_contents
from lockgrid.adapters.http import RETRIES, Http, Sink
from lockgrid.adapters.remote import ACCEPTED, SIZE_LIMIT, UNSTATED_BYTES, ClosedError, RemoteFile
from lockgrid.adapters.source import LocalFile
from lockgrid.errors import ToolError
from lockgrid.model.contents import Contents, Fault
from lockgrid.model.index import IndexFile

# Wheels at a time: enough to hide the network's delays, and few enough for the memory that each may take.
_AT_ONCE = 16
# Of big wheels, fewer: the tables of torch's libraries take 100 MB of memory, and its file half a gigabyte of disk.
_BIG_BYTES = 64 * 1024**2
_BIG_AT_ONCE = 4

#: Told of each wheel that has been read, in the event loop.
Keep = Callable[[IndexFile, Contents], None]


class _Bridge:
    """Lets worker threads send requests on the event loop's client, until it is closed."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._loop = asyncio.get_running_loop()
        self._lock = Lock()
        self._pending: set[Future[None]] = set()
        self._closed = False

    def ask(self, url: str, sink: Sink, headers: Mapping[str, str]) -> None:
        """See ``remote.Ask``."""
        with self._lock:
            if self._closed:
                raise ClosedError
            sent = asyncio.run_coroutine_threadsafe(self._send(url, sink, headers), self._loop)
            self._pending.add(sent)
        try:
            sent.result()
        finally:
            with self._lock:
                self._pending.discard(sent)

    async def _send(self, url: str, sink: Sink, headers: Mapping[str, str]) -> None:
        await self._http.stream(url, sink, headers=headers, accept=ACCEPTED)

    def close(self) -> None:
        """End all requests: the threads that wait for them raise, and send no others."""
        with self._lock:
            self._closed = True
            pending = list(self._pending)
        for sent in pending:
            sent.cancel()


async def read_wheels(http: Http, files: Iterable[IndexFile], keep: Keep) -> None:
    """Read all the wheels. The first error stops the rest: a group of ``ToolError`` and ``HashMismatchError``.

    What stops it also ends its threads, when they next want bytes of their files.
    """
    gate, big = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(_BIG_AT_ONCE)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wheel") as pool:
        try:
            async with asyncio.TaskGroup() as group:
                for file in files:
                    gates = [big, gate] if file.size is None or file.size > _BIG_BYTES else [gate]
                    group.create_task(_read_one(http, pool, gates, file, keep))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


async def _read_one(
    http: Http, pool: ThreadPoolExecutor, gates: list[asyncio.Semaphore], file: IndexFile, keep: Keep
) -> None:
    async with AsyncExitStack() as stack:
        for gate in gates:
            await stack.enter_async_context(gate)
        bridge = _Bridge(http)
        source = RemoteFile(file, bridge.ask)
        # As long as fetching all of it may take: it bounds all requests together, and the unpacking.
        seconds = RETRIES * http.patience(min(SIZE_LIMIT, file.size if file.size is not None else UNSTATED_BYTES))
        try:
            async with asyncio.timeout(seconds):
                found = await asyncio.get_running_loop().run_in_executor(pool, read_remote, file, source)
        except TimeoutError:
            raise ToolError(
                f"it could not be read in {seconds:.0f} seconds",
                where=file.filename,
                next_step="run again: what has been read is kept; UV_HTTP_TIMEOUT makes lockgrid more patient",
            ) from None
        finally:
            source.close()
            bridge.close()
        keep(file, found)


def read_remote(file: IndexFile, source: RemoteFile) -> Contents:
    """The contents of a wheel on an index; of a file that is no archive, a fault of kind "corrupt" and no members.

    Faults are told only of bytes that have the hash that the index promised: a part of a file has no hash, and what
    spoiled it may lie between here and the index. So a wheel that seems to have any is fetched whole.
    """
    with source:
        found = read_file(file, source, sparing=True)
        if file.sha256 and not source.verified and found.faults:
            source.fetch_whole()
            found = read_file(file, source, sparing=True)
        return found


def read_file(file: IndexFile, source: RemoteFile | LocalFile, *, sparing: bool = False) -> Contents:
    """The contents of a wheel wherever it is; of a file that is no archive a fault, as above."""
    try:
        return read_contents(file.filename, source, sparing=sparing)
    except NoArchiveError as error:
        fault = Fault(kind="corrupt", path="", what=error.what)
        return Contents(
            filename=file.filename,
            members=(),
            binaries=(),
            faults=(fault,),
            read=source.bytes_read,
            size=source.size,
        )
