"""All indexes as one: asked in uv's order, each page once, files in parts. No request leaves the process."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from lockgrid.adapters import http as module
from lockgrid.adapters.cache import Cache
from lockgrid.adapters.http import Answer, Http, Sink
from lockgrid.adapters.index import Index
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import IndexFile
from support.wheels import Built, wheel

FIRST, SECOND = "https://first.example/simple", "https://index.example/simple"
JSON = "application/vnd.pypi.simple.v1+json"
BIG = {"big.bin": b"\0" * 100_000}


class World:
    """Indexes without a network: pages by URL, files by URL, and what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.cache = Cache(folder)
        self.now = 1000.0
        self.answers: dict[str, Answer | bytes] = {}
        self.asked: list[str] = []
        self.ranges = True

    def page(self, index: str, name: str, *filenames: str) -> None:
        files = [{"filename": f, "url": f, "hashes": {"sha256": "00"}} for f in filenames]
        body = json.dumps({"meta": {"api-version": "1.1"}, "files": files}).encode()
        self.answers[f"{index}/{name}/"] = Answer(
            status=200, url=f"{index}/{name}/", body=body, headers={"content-type": JSON}
        )

    def file(self, built: Built, **more: object) -> IndexFile:
        url = f"https://files.example/{built.filename}"
        self.answers[url] = built.data
        file = IndexFile(filename=built.filename, url=url, sha256=built.sha256, size=len(built.data))
        return replace(file, **more)  # type: ignore[arg-type]

    async def send(self, url: str, headers: Mapping[str, str], sink: Sink, accept: Sequence[int]) -> Answer:
        """Stands in for ``Http._send``."""
        answer = self.answer(url, headers)
        if answer.status in accept:
            sink.begin(answer)
            sink.write(answer.body)
        return replace(answer, body=b"")

    def answer(self, url: str, headers: Mapping[str, str]) -> Answer:
        self.asked.append(url)
        found = self.answers.get(url, Answer(status=404, url=url))
        if isinstance(found, Answer):
            return found
        wanted = headers.get("Range", "").removeprefix("bytes=")
        if not wanted or not self.ranges:
            return Answer(status=200, url=url, body=found)
        start, _, end = wanted.partition("-")
        if not start and int(end) > len(found):
            return Answer(status=416, url=url)
        first = int(start) if start else len(found) - int(end)
        chunk = found[first : int(end) + 1 if start and end else None]
        span = f"bytes {first}-{first + len(chunk) - 1}/{len(found)}"
        return Answer(status=206, url=url, body=chunk, headers={"content-range": span})

    def index(self, *urls: str, explicit: Sequence[str] = ()) -> Index:
        sources = [IndexSource(url=url, explicit=url in explicit) for url in urls]
        return Index(UvConfig(indexes=tuple(sources), network={}), self.cache, {}, lambda: self.now)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read the real certificates takes its time
    monkeypatch.setattr(module, "_certificates", lambda _config, _environ: trust)
    monkeypatch.setattr(Http, "_send", lambda _http, *asked: made.send(*asked))
    yield made
    made.cache.close()


def test_the_first_index_that_has_a_project_serves_it(world: World) -> None:
    world.page(FIRST, "a", "a-1.0.tar.gz")
    world.page(SECOND, "a", "a-2.0.tar.gz")
    world.page(SECOND, "b", "b-1.0.tar.gz")
    with world.index(FIRST, SECOND) as index:
        pages = index.pages(["b", "a", "c", "a"])
    assert {name: list(page.releases) for name, page in pages.items()} == {"a": ["1.0"], "b": ["1.0"], "c": []}
    assert [name for name, page in pages.items() if page.missing] == ["c"]
    assert sorted(world.asked) == sorted([f"{FIRST}/a/", f"{FIRST}/b/", f"{FIRST}/c/", f"{SECOND}/b/", f"{SECOND}/c/"])


def test_an_explicit_index_is_not_asked(world: World) -> None:
    world.page(FIRST, "a", "a-1.0.tar.gz")
    with world.index(FIRST, SECOND, explicit=[FIRST]) as index:
        assert index.pages(["a"])["a"].missing
    assert world.asked == [f"{SECOND}/a/"]


@pytest.mark.parametrize(("seconds", "requests"), [(599, 1), (601, 2)])
def test_a_page_is_good_for_ten_minutes(world: World, seconds: int, requests: int) -> None:
    world.page(SECOND, "a", "a-1.0.tar.gz")
    for _ in range(2):
        with world.index(SECOND) as index:
            assert list(index.pages(["a"])["a"].releases) == ["1.0"]
        world.now += seconds
    assert len(world.asked) == requests


def test_the_page_of_another_list_of_indexes_is_another_page(world: World) -> None:
    world.page(SECOND, "a", "a-1.0.tar.gz")
    for urls in ((SECOND,), (FIRST, SECOND)):
        with world.index(*urls) as index:
            index.pages(["a"])
    assert len(world.asked) == 3


def test_no_credentials_of_a_plain_index_are_written_to_the_cache(world: World, tmp_path: Path) -> None:
    url = FIRST.replace("://", "://me:s3cret@")
    world.answers[f"{url}/a/"] = Answer(status=404, url=f"{FIRST}/a/")
    for _ in range(2):
        with world.index(url) as index:
            assert index.pages(["a"])["a"].missing
    assert len(world.asked) == 1
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert FIRST.encode() in kept
    assert b"s3cret" not in kept


def test_an_index_that_fails_is_not_one_that_has_no_such_project(world: World) -> None:
    world.answers[f"{FIRST}/a/"] = Answer(status=403, url=f"{FIRST}/a/")
    world.page(SECOND, "a", "a-1.0.tar.gz")
    with world.index(FIRST, SECOND) as index, pytest.raises(ToolError, match="status 403"):
        index.pages(["a", "b"])


def test_metadata_beside_a_wheel_is_taken_and_checked(world: World) -> None:
    built = wheel("a", "1.0", requires=["b"])
    file = world.file(built, metadata_sha256=sha256(built.metadata).hexdigest())
    world.answers[f"{file.url}.metadata"] = built.metadata
    with world.index(SECOND) as index:
        assert index.metadata([file])[file.sha256].requires_dist == ("b",)
    assert world.asked == [f"{file.url}.metadata"]
    other = replace(file, sha256="11", metadata_sha256="22")
    with world.index(SECOND) as index, pytest.raises(HashMismatchError):
        index.metadata([other])


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("size", [None, 10**6])
@pytest.mark.parametrize("files", [None, BIG], ids=["small", "big"])
def test_metadata_is_read_out_of_a_wheel_once_and_for_ever(
    world: World, ranges: bool, size: int | None, files: dict[str, bytes] | None
) -> None:
    world.ranges = ranges
    file = world.file(wheel("a", "1.0", requires=["b"], files=files), size=size)
    for _ in range(2):
        with world.index(SECOND) as index:
            assert index.metadata([file])[file.sha256].requires_dist == ("b",)
        count = len(world.asked)
        world.now += 10**9
    assert len(world.asked) == count <= 2


def test_a_wrong_range_is_a_tool_error(world: World) -> None:
    file = world.file(wheel("a", "1.0", files=BIG))
    world.answers[file.url] = Answer(status=206, url=file.url, body=b"x", headers={"content-range": "bytes 0-9/100"})
    with world.index(SECOND) as index, pytest.raises(ToolError, match="wrong range"):
        index.metadata([file])


def test_progress_counts_what_is_fetched(world: World) -> None:
    told: list[tuple[int, int]] = []
    with world.index(SECOND) as index:
        index.pages(["a", "b", "c"], lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_download_is_checked_against_its_hash(world: World) -> None:
    built = wheel("a", "1.0")
    file = world.file(built)
    with world.index(SECOND) as index:
        assert index.download(file) == built.data
        with pytest.raises(HashMismatchError):
            index.download(replace(file, sha256="00"))


def test_without_a_request_no_client_is_opened(world: World) -> None:
    with world.index(SECOND) as index:
        assert index.pages([]) == {}
        assert index.metadata([]) == {}
    assert world.asked == []


def test_a_named_index_is_asked_alone_and_by_name_only(world: World) -> None:
    world.page(FIRST, "a", "a-1.0.tar.gz")
    world.page(SECOND, "a", "a-2.0.tar.gz")
    config = UvConfig(indexes=(IndexSource(url=FIRST),), network={}, named={"cpu": IndexSource(url=SECOND, name="cpu")})
    for _ in range(2):  # the second time from the cache
        with Index(config, world.cache, {}, lambda: world.now) as index:
            assert list(index.pages(["a"], index="cpu")["a"].releases) == ["2.0"]
            assert list(index.pages(["a"])["a"].releases) == ["1.0"]
            assert index.pages(["b"], index="cpu")["b"].missing
    assert world.asked == [f"{SECOND}/a/", f"{FIRST}/a/", f"{SECOND}/b/"]
