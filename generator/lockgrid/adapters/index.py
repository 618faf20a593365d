"""The index: pages and METADATA, many at a time, each fetched once and cached for as long as it is true."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lockgrid.adapters import pages, wheel
from lockgrid.adapters.cache import Cache
from lockgrid.adapters.contents_cache import contents_key, decode_contents, encode_contents
from lockgrid.adapters.disk import disk_error
from lockgrid.adapters.folder import Folders
from lockgrid.adapters.source import LocalFile
from lockgrid.adapters.uvconfig import PAGE_SECONDS, IndexSource, UvConfig, strip_credentials
from lockgrid.adapters.uvfolders import file_url
from lockgrid.errors import ToolError
from lockgrid.model.index import DistMetadata, IndexFile, Page, is_git

if TYPE_CHECKING:
    from lockgrid.adapters.download import Downloaded
    from lockgrid.adapters.http import Http
    from lockgrid.model.contents import Contents

T = TypeVar("T")

# So many wheels' contents are lost when a run dies.
_BATCH = 16
# A kind of the cache, numbered by what is kept of METADATA.
METADATA = "metadata-2"
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")

#: What to do where a wheel that was built from git is needed.
NOT_AT_HAND = "set LOCKGRID_BUILT to the folder that `lockgrid build` filled"

#: Told how many of how many are done.
Advance = Callable[[int, int], None]


def _silent(_done: int, _total: int) -> None:
    """Progress for nobody."""


class Index:
    """All indexes of uv's configuration as one, asked in uv's order: the first that has a project serves it.

    ``anew``: no page comes from a cache. ``here`` are file URLs that lockgrid itself made, of wheels on this machine,
    to which those of folders are added that stand for an index: no server can lead to a file of it.
    """

    def __init__(
        self,
        config: UvConfig,
        cache: Cache,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        *,
        anew: bool = False,
        here: frozenset[str] = frozenset(),
    ) -> None:
        self._anew = anew
        self._here = set(here)
        self._folders = Folders(cache, clock, anew=anew)
        self._sources = [source for source in config.indexes if not source.explicit]
        self._cache = cache
        self._clock = clock
        self._config = config
        self._environ = environ
        self._opened: tuple[asyncio.Runner, Http] | None = None

    def _run(self, job: Callable[[Http], Awaitable[T]]) -> T:
        """Run one job on the client, which is opened when it is first needed: a warm lock needs none."""
        from lockgrid.adapters.http import Http

        if self._config.offline:
            raise ToolError("the index is needed, and UV_OFFLINE forbids to ask it", next_step="unset UV_OFFLINE")

        async def opened() -> Http:
            return Http(self._config, self._environ)

        async def run(http: Http) -> T:
            return await job(http)

        if self._opened is None:
            runner = asyncio.Runner()
            self._opened = runner, runner.run(opened())
        runner, http = self._opened
        return runner.run(run(http))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            runner, http = self._opened
            runner.run(http.close())
            runner.close()

    def urls(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """The plain indexes in the order in which they are asked, and the named ones; none with credentials."""
        urls = (url for source in self._sources for url in [*map(file_url, source.folders)] or [source.url])
        plain = tuple(dict.fromkeys(map(strip_credentials, urls)))
        named = {n: source.url for n, source in self._config.named.items() if not is_git(n)}
        return plain, {name: strip_credentials(url) for name, url in named.items()}

    def pages(self, names: Iterable[str], advance: Advance = _silent, index: str = "") -> dict[str, Page]:
        """The pages of the projects (normalised names); a project that no index has gets a ``missing`` page.

        ``index`` names the only one to ask, which ``[sources]`` names; without it uv's plain indexes are asked.

        Raises ``ToolError`` when an index fails: failing is not the same as not having a project.
        """
        wanted = sorted(set(names))
        sources = [self._config.named[index]] if index else self._sources
        if any(source.folders for source in sources):
            return {name: self._folder_page(sources, name) for name in wanted}
        fresh = 0.0 if self._config.offline else self._clock() - PAGE_SECONDS
        prefix = " ".join(strip_credentials(source.url) for source in sources)  # it is written to the cache
        keys = [] if self._anew else [f"{prefix} {name}" for name in wanted]
        heads = self._cache.get("page", keys, newer_than=fresh)
        found = {key.rpartition(" ")[2]: pages.decode_page(head, self._body) for key, head in heads.items()}
        rest = [name for name in wanted if name not in found]
        if rest:
            fetched = self._run(lambda http: _gather([self._page(http, sources, name) for name in rest], advance))
            encoded = {page.name: (page.digest, *pages.encode_page(page)) for page in fetched}
            now = self._clock()
            # Bodies first: a head that is there has its body.
            self._cache.put("page-body", {digest: body for digest, _, body in encoded.values()}, now=now)
            self._cache.put("page", {f"{prefix} {name}": head for name, (_, head, _) in encoded.items()}, now=now)
            found |= {page.name: page for page in fetched}
        return found

    def kept_pages(self, names: Iterable[str], index: str = "") -> dict[str, Page]:
        """The pages that the cache has, however old they are; nothing is asked."""
        sources = [self._config.named[index]] if index else self._sources
        if any(source.folders for source in sources):
            return {name: self._folder_page(sources, name) for name in sorted(set(names))}
        prefix = " ".join(strip_credentials(source.url) for source in sources)
        heads = self._cache.get("page", [f"{prefix} {name}" for name in names])
        return {key.rpartition(" ")[2]: pages.decode_page(head, self._body) for key, head in heads.items()}

    def _folder_page(self, sources: Sequence[IndexSource], name: str) -> Page:
        """The page of a project, of which all sources are folders."""
        found = (self._folders.page(name, source.folders) for source in sources)
        page = next((page for page in found if not page.missing), Page(name=name, missing=True))
        self._here |= {file.url for files in page.releases.values() for file in files}
        return page

    def _body(self, digest: str) -> bytes:
        found = self._cache.get("page-body", [digest])
        if digest not in found:
            raise ToolError("lockgrid's cache lost a page while it was in use", next_step="run again")
        return found[digest]

    async def _page(self, http: Http, sources: Sequence[IndexSource], name: str) -> Page:
        for source in sources:
            page = await self._page_at(http, source, name)
            if not page.missing:
                return page
        return Page(name=name, missing=True)

    async def _page_at(self, http: Http, source: IndexSource, name: str) -> Page:
        url = f"{source.url}/{name}/"  # PEP 503
        headers = {"Accept": pages.ACCEPT, **({"Cache-Control": "no-cache"} if self._anew else {})}
        response = await http.get(url, headers=headers, accept=(200, 404))
        if response.status == 404:
            return Page(name=name, missing=True)
        return pages.parse_page(name, response.url, response.headers.get("content-type", ""), response.body)

    def metadata(self, files: Iterable[IndexFile], advance: Advance = _silent) -> dict[str, DistMetadata]:
        """The METADATA of wheels, by the sha256 of each. Cached for ever: a hash never means other bytes.

        Raises ``HashMismatchError`` or ``ToolError``, naming the file.
        """
        wanted = {file.sha256: file for file in files}
        cached = self._cache.get(METADATA, wanted)
        found = {key: wheel.decode_metadata(value) for key, value in cached.items()}
        rest = [file for key, file in sorted(wanted.items()) if key not in found]
        if rest:
            here = [file for file in rest if file.url in self._here]
            new = {file.sha256: _local_metadata(file) for file in here}
            if rest := [file for file in rest if file.sha256 not in new]:
                fetched = self._run(lambda http: _gather([self._metadata(http, file) for file in rest], advance))
                new |= dict(zip((file.sha256 for file in rest), fetched, strict=True))
            encoded = {key: wheel.encode_metadata(value) for key, value in new.items()}
            self._cache.put(METADATA, encoded, now=self._clock())
            found |= new
        return found

    async def _metadata(self, http: Http, file: IndexFile) -> DistMetadata:
        if file.metadata_sha256:
            response = await http.get(f"{file.url}.metadata")
            data = wheel.check_metadata_hash(file, response.body)
        else:
            data = await wheel.read_metadata(file, lambda start, end: self._range(http, file, start, end))
        return wheel.parse_metadata(file, data)

    def contents(self, files: Iterable[IndexFile], advance: Advance = _silent) -> dict[str, Contents]:
        """The insides of wheels, by the sha256 of each. Cached for ever, a few at a time as they come.

        A wheel that is no zip archive has one fault of kind "corrupt", with an empty path, and no members: it is
        what was published that is wrong, and not the run. A file without a URL is not at hand, and left out. Raises
        ``ToolError`` where the index or the network fails or lies, and ``HashMismatchError``, naming the file.
        """
        wanted = {file.sha256: file for file in files}
        keys = {contents_key(file.filename, sha): sha for sha, file in wanted.items()}
        found = {keys[key]: decode_contents(value) for key, value in self._cache.get("contents", keys).items()}
        rest = [
            wanted[sha] for sha in sorted(wanted.keys() - found.keys(), key=lambda sha: (-(wanted[sha].size or 0), sha))
        ]
        found |= self._read_here([file for file in rest if file.url in self._here])
        rest = [file for file in rest if file.url and file.sha256 not in found]
        if rest:
            found |= self._run(lambda http: self._read(http, rest, advance))
        return found

    def _read_here(self, files: list[IndexFile]) -> dict[str, Contents]:
        """The insides of wheels on this machine, such as those that were built from git."""
        from lockgrid.adapters.reading import read_file

        found = {}
        for file in files:
            with _opened(file) as source:
                found[file.sha256] = read_file(file, source)
        fresh = {contents_key(file.filename, file.sha256): encode_contents(found[file.sha256]) for file in files}
        self._cache.put("contents", fresh, now=self._clock())
        return found

    async def _read(self, http: Http, files: list[IndexFile], advance: Advance) -> dict[str, Contents]:
        from lockgrid.adapters.reading import read_wheels

        found: dict[str, Contents] = {}
        fresh: dict[str, bytes] = {}

        def flush() -> None:
            self._cache.put("contents", fresh, now=self._clock())
            fresh.clear()

        def keep(file: IndexFile, contents: Contents) -> None:
            found[file.sha256] = contents
            fresh[contents_key(file.filename, file.sha256)] = encode_contents(contents)
            if len(fresh) >= _BATCH:
                flush()
            advance(len(found), len(files))

        try:
            await read_wheels(http, files, keep)
        except* Exception as errors:
            raise _first(errors) from None
        finally:
            flush()
        return found

    async def _range(self, http: Http, file: IndexFile, start: int, end: int | None) -> tuple[int, bytes, int]:
        """``[start, end)`` of a file or its last ``-start`` bytes: where they begin, they, and the file's size."""
        from lockgrid.adapters.http import BODY_LIMIT

        url, limit = file.url, max(file.size or 0, BODY_LIMIT)
        if start == 0 and end is None:
            response = await http.get(url, limit=limit)
            return 0, response.body, len(response.body)
        span = f"bytes={start}" if start < 0 else f"bytes={start}-{'' if end is None else end - 1}"
        headers = {"Range": span, "Accept-Encoding": "identity"}
        response = await http.get(url, headers=headers, accept=(200, 206, 416), limit=limit)
        if response.status == 416:  # shorter than the tail that was asked for
            return await self._range(http, file, 0, None)
        if response.status == 200:
            return 0, response.body, len(response.body)
        match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        if match is None or int(match[2]) - int(match[1]) + 1 != len(response.body):
            raise ToolError("the index answered a range request with a wrong range", where=url.rpartition("/")[2])
        return int(match[1]), response.body, int(match[3])

    def download_to(self, files: Mapping[Path, IndexFile], partial: Path, transfer: Advance = _silent) -> Downloaded:
        """Every file at its path, with the hash that the index states; see ``adapters.download``."""
        from lockgrid.adapters.download import Downloads, copy_file

        for path, file in files.items():
            if file.url in self._here:
                copy_file(_local_path(file), path, partial, file)
            elif not file.url and not path.exists():
                raise ToolError("it was built from git, and is not at hand", where=file.filename, next_step=NOT_AT_HAND)
        downloads = Downloads(files, partial, transfer)
        if downloads.missing:
            self._run(downloads.run)
        return downloads.outcome

    def download(self, file: IndexFile) -> bytes:
        """A whole file, checked against its sha256."""
        from lockgrid.adapters.http import BODY_LIMIT

        limit = max(file.size or 0, BODY_LIMIT)
        if file.url in self._here:
            with _opened(file) as source:
                body = source.read(0, min(source.size, limit))
        else:
            body = self._run(lambda http: http.get(file.url, limit=limit)).body
        wheel.check_hash(file, body)
        return body


def _local_path(file: IndexFile) -> Path:
    """Where a file with a file URL is."""
    return Path(url2pathname(urlsplit(file.url).path))


def _opened(file: IndexFile) -> LocalFile:
    """A file of this machine. Raises ``ToolError``."""
    path = _local_path(file)
    try:
        return LocalFile(path)
    except OSError as error:
        raise disk_error(path, error) from error


def _local_metadata(file: IndexFile) -> DistMetadata:
    """The METADATA of a wheel on this machine."""
    with _opened(file) as source:

        async def read(start: int, end: int | None) -> tuple[int, bytes, int]:
            first = max(0, source.size + start) if start < 0 else start
            return first, source.read(first, source.size if end is None else end), source.size

        return wheel.parse_metadata(file, asyncio.run(wheel.read_metadata(file, read)))


async def _gather(jobs: list[Awaitable[T]], advance: Advance) -> list[T]:
    """Run all jobs, telling of each that ends; the first error stops the rest."""
    total = len(jobs)
    done = 0

    async def one(job: Awaitable[T]) -> T:
        nonlocal done
        result = await job
        done += 1
        advance(done, total)
        return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(job)) for job in jobs]
    except* Exception as errors:
        raise _first(errors) from None
    return [task.result() for task in tasks]


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
