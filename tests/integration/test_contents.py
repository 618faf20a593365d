"""What is inside wheels, read over HTTP: few requests, and no lie of a server or a wheel goes unnoticed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.index import Index
from lockgrid.adapters.source import LocalFile
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.contents import Contents
from support.hostile import HOSTILE, PADDING, plain, with_data
from support.index import LocalIndex
from support.responses import Response
from support.wheels import Built

BIG, SMALL = plain(), plain(padding=b"")
MEGABYTE = 1024**2
# Reads the wheels of a project; says how much memory that took at its peak.
SCRIPT = """
import json, sys, time, tracemalloc
import lief  # what is imported later would be counted too
from pathlib import Path
from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import Index
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.errors import LockgridError

url, folder, *names = sys.argv[1:]
config = UvConfig(indexes=(IndexSource(url=url),), network={})
with Index(config, Cache(Path(folder)), {"UV_HTTP_TIMEOUT": "2"}, time.time) as index:
    files = [f for page in index.pages(names).values() for one in page.releases.values() for f in one]
    tracemalloc.start()
    try:
        found = [sorted({fault.kind for fault in c.faults}) for c in index.contents(files).values()]
    except LockgridError as error:
        found = [str(error)]
print(json.dumps([found, tracemalloc.get_traced_memory()[1]]))
"""


class Reader:
    """Reads what is on an index, with one cache."""

    def __init__(self, index: LocalIndex, folder: Path) -> None:
        self.index = index
        self.folder = folder
        self.done: list[tuple[int, int]] = []
        self.now = time.time()

    def read(self, *names: str, timeout: float = 30) -> dict[str, Contents]:
        """The contents of all files of these projects, by file name."""
        self.now += 1000  # so that pages are asked for again
        cache = Cache(self.folder)
        config = UvConfig(indexes=(IndexSource(url=self.index.url_with_credentials),), network={})
        with Index(config, cache, {"UV_HTTP_TIMEOUT": str(timeout)}, lambda: self.now) as index:
            pages = index.pages(names or ["bad"]).values()
            files = [file for page in pages for some in page.releases.values() for file in some]
            assert files
            del self.index.requests[:]
            try:
                found = index.contents(files, lambda *told: self.done.append(told))
            finally:
                cache.close()
        return {contents.filename: contents for contents in found.values()}

    def one(self, *, timeout: float = 30) -> Contents:
        (found,) = self.read(timeout=timeout).values()
        return found

    def apart(self, *names: str) -> subprocess.Popen[str]:
        """The same in a process of its own, which the index does not share."""
        command = [sys.executable, "-W", "error", "-c", SCRIPT, self.index.url, str(self.folder), *(names or ["bad"])]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def peak(self) -> tuple[Any, int]:
        """What came of the one wheel (its faults' kinds, or the error), and the peak of memory in bytes."""
        with self.apart() as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        (found,), peak = json.loads(out)
        return found, peak


@pytest.fixture
def reader(index: LocalIndex, tmp_path: Path) -> Reader:
    return Reader(index, tmp_path / "cache")


def local(built: Built, folder: Path) -> Contents:
    """The same wheel read from the disk; but not how much of it was read."""
    path = folder / built.filename
    path.write_bytes(built.data)
    with LocalFile(path) as source:
        return replace(read_contents(built.filename, source), read=0)


@pytest.fixture
def quick() -> Iterator[None]:
    """Fail where a test takes longer than anything here has to."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < 30


# -- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("built", [BIG, SMALL], ids=["big", "small"])
def test_the_contents_are_those_of_the_file(
    reader: Reader, tmp_path: Path, built: Built, size: bool, ranges: bool
) -> None:
    reader.index.add(built, size=size)
    reader.index.ranges = ranges
    found = reader.one()
    assert replace(found, read=0) == local(built, tmp_path)
    assert found.binaries
    assert found.faults == ()
    parts = ranges and built is BIG
    assert len(reader.index.requests) == (2 if parts else 1)
    assert found.read < len(built.data) / 2 if parts else found.read == len(built.data)


def test_a_wheel_is_read_once_and_for_ever(reader: Reader) -> None:
    for number in range(20):
        reader.index.add(plain(f"p{number}", padding=bytes([number])))
    names = [f"p{number}" for number in range(20)]
    first = reader.read(*names)
    assert len(first) == len(reader.index.seen("*.whl")) == 20
    assert reader.done == [(number, 20) for number in range(1, 21)]
    assert reader.read(*names) == first
    assert reader.index.seen("*.whl") == []


def test_a_hash_under_another_name_is_read_again(reader: Reader) -> None:
    """Whether a .dist-info is the wheel's own depends on the name of its file."""
    reader.index.add(SMALL)
    assert reader.one().faults == ()
    reader.index.remove(SMALL.filename)
    reader.index.add(replace(SMALL, filename="bad-2.0-py3-none-any.whl", version="2.0"))
    assert {fault.kind for fault in reader.one().faults} == {"record"}


def test_credentials_are_sent_and_not_told(reader: Reader) -> None:
    reader.index.credentials = "me", "s3cret"
    reader.index.add(BIG)
    assert reader.one().faults == ()
    reader.index.add(SMALL)
    reader.index.fault("*.whl", status=403)
    reader.folder = reader.folder / "other"
    with pytest.raises(ToolError) as caught:
        reader.one()
    assert "s3cret" not in str(caught.value)


def test_what_was_read_before_an_error_is_kept(reader: Reader) -> None:
    reader.index.add(plain("good", padding=b""))
    reader.index.add(plain("late"))
    reader.index.fault("late-*", delay=1, status=403)
    with pytest.raises(ToolError, match="403"):
        reader.read("good", "late")
    reader.index.clear_faults()
    assert len(reader.read("good", "late")) == 2
    assert reader.index.seen("good-*") == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal for one process")
@pytest.mark.usefixtures("quick")
def test_what_was_read_before_an_interruption_is_kept(reader: Reader) -> None:
    reader.index.add(plain("good", padding=b""))
    reader.index.add(plain("late"))
    reader.index.fault("late-*", drip=1)
    with reader.apart("good", "late") as process:
        while not (reader.index.seen("late-*") and reader.index.seen("good-*")):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 2
    assert err.rstrip().endswith("KeyboardInterrupt")
    reader.index.clear_faults()
    assert len(reader.read("good", "late")) == 2
    assert reader.index.seen("good-*") == []


# -- hostile wheels ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_wheel_ends_in_a_fault(reader: Reader, name: str, ranges: bool) -> None:
    make, kinds = HOSTILE[name]
    reader.index.add(make())
    reader.index.ranges = ranges
    assert {fault.kind for fault in reader.one().faults} == kinds


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["bomb", "record"])
def test_a_hostile_wheel_takes_little_memory(reader: Reader, name: str) -> None:
    make, kinds = HOSTILE[name]
    reader.index.add(make())
    found, peak = reader.peak()
    assert set(found) == kinds
    assert peak < 16 * MEGABYTE


@pytest.mark.parametrize("data", [b"", b"<html>", BIG.data[:-1000]], ids=["empty", "page", "truncated"])
def test_what_is_no_archive_is_a_fault_of_the_wheel_and_not_of_the_run(reader: Reader, data: bytes) -> None:
    reader.index.add(with_data(BIG, data))
    found = reader.one()
    assert [(fault.kind, fault.path) for fault in found.faults] == [("corrupt", "")]
    assert found.faults[0].what.startswith("it is no valid zip archive")
    assert (found.members, found.size) == ((), len(data))
    assert reader.one() == found
    assert reader.index.requests == []


def test_a_wheel_is_called_broken_only_by_bytes_that_have_its_hash(reader: Reader) -> None:
    """Something between here and the index spoils the parts; the whole is right."""
    reader.index.add(BIG)
    reader.index.fault("*.whl", edit=lambda right: replace(right, body=bytes(len(right.body))), times=1)
    found = reader.one()
    assert found.faults == ()
    assert found.binaries
    assert [request.range is None for request in reader.index.seen("*.whl")][-1]


def test_a_wheel_that_is_spoiled_as_a_whole_too_is_an_error(reader: Reader) -> None:
    reader.index.add(BIG)
    reader.index.fault("*.whl", edit=lambda right: replace(right, body=bytes(len(right.body))))
    with pytest.raises(HashMismatchError) as caught:
        reader.one()
    assert caught.value.where == BIG.filename


# -- servers that lie --------------------------------------------------------------------------------------------


def told(change: Callable[[int, int, int], str]) -> Callable[[Response], Response]:
    """An edit of the Content-Range: from its first byte, last byte and total."""

    def edit(right: Response) -> Response:
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", right.headers["Content-Range"])
        assert match
        headers = {**right.headers, "Content-Range": change(int(match[1]), int(match[2]), int(match[3]))}
        return replace(right, headers=headers)

    return edit


def body(change: Callable[[bytes], bytes]) -> Callable[[Response], Response]:
    """An edit of the body."""
    return lambda right: replace(right, body=change(right.body))


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another total": ({"edit": told(lambda a, b, n: f"bytes {a}-{b}/{n + 1}")}, "states"),
    "an absurd total": ({"edit": told(lambda a, b, n: f"bytes {a}-{b}/{10**30}")}, "states"),
    "another range": ({"edit": told(lambda a, b, n: f"bytes {a + 1}-{b + 1}/{n}")}, "another part"),
    "a shorter range": ({"edit": told(lambda a, b, n: f"bytes {a}-{b - 1}/{n}")}, "another part"),
    "a range backwards": ({"edit": told(lambda a, b, n: f"bytes {b}-{a}/{n}")}, "another part"),
    "a range of no kind": ({"edit": told(lambda a, b, n: "bytes */\x01x")}, "part of the file"),
    "no range": ({"status": 206, "body": b"x" * 65536}, "it does not say which"),
    "a short body": ({"edit": body(lambda right: right[:-1])}, "sends"),
    "no body": ({"edit": body(lambda right: b"")}, "sends 0 bytes"),
    "a long body": ({"edit": body(lambda right: right + b"x")}, "sends more than"),
    "an endless part": ({"endless": True}, "sends more than"),
    "an endless file": ({"status": 200, "body": b"PK", "endless": True}, "sends more than"),
    "a web page": ({"status": 200, "body": b"<html>sign in"}, "states 13 bytes"),
    "a file of another length": ({"status": 200, "body": BIG.data + b"x"}, "sends more than"),
    "a part that is packed": ({"headers": {"Content-Encoding": "gzip"}}, "cannot be reached"),
    "a broken connection": ({"truncate": 1000}, "cannot be reached"),
    "no answer": ({"close": True}, "cannot be reached"),
    "416": ({"status": 416}, "has no bytes"),
    "an endless 416": ({"status": 416, "endless": True}, "has no bytes"),
    "404": ({"status": 404}, "no such file"),
    "an endless 404": ({"status": 404, "endless": True}, "no such file"),
    "403": ({"status": 403}, "403"),
    "500": ({"status": 500}, "500"),
    "an endless 500": ({"status": 500, "endless": True}, "500"),
    "a drip": ({"drip": 10}, "no answer in time|could not be read in 13 seconds"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_an_error_that_names_the_file_and_says_what_to_do(reader: Reader, name: str) -> None:
    fault, says = LIES[name]
    reader.index.add(BIG)
    reader.index.fault("*.whl", **fault)
    with pytest.raises(ToolError, match=says) as caught:
        reader.one(timeout=1)
    assert BIG.filename in caught.value.where
    assert caught.value.next_step
    assert not isinstance(caught.value, HashMismatchError)
    assert len(reader.index.requests) <= 6  # three attempts; aiohttp repeats those that a closed connection swallowed


@pytest.mark.parametrize("name", ["another range", "a short body", "a long body", "an endless part", "416"])
def test_a_lie_in_a_later_answer_is_an_error_as_well(reader: Reader, name: str) -> None:
    fault, says = LIES[name]
    reader.index.add(BIG)
    passes = reader.index.fault("*.whl", times=1)
    reader.index.fault("*.whl", **fault)
    with pytest.raises(ToolError, match=says):
        reader.one(timeout=1)
    assert passes.hits == 1


def test_a_total_that_changes_is_an_error(reader: Reader) -> None:
    reader.index.add(BIG, size=False)
    reader.index.fault("*.whl", times=1)
    reader.index.fault("*.whl", edit=told(lambda a, b, n: f"bytes {a}-{b}/{n + 1}"))
    with pytest.raises(ToolError, match="stated"):
        reader.one()


@pytest.mark.parametrize("size", [len(BIG.data) - 1, len(BIG.data) + 1, 10**12, 5])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_size_on_the_page_that_is_not_the_files_is_an_error(reader: Reader, size: int, ranges: bool) -> None:
    reader.index.ranges = ranges
    reader.index.add(BIG, size=size)
    with pytest.raises(ToolError) as caught:
        reader.one()
    assert caught.value.where == BIG.filename


@pytest.mark.parametrize("total", [10**13, "*"])
def test_a_total_is_needed_and_bounded_where_the_page_states_none(reader: Reader, total: int | str) -> None:
    reader.index.add(BIG, size=False)
    reader.index.fault("*.whl", edit=told(lambda a, b, n: f"bytes {a}-{b}/{total}"))
    with pytest.raises(ToolError, match=r"no wheel has more than|how long the file is"):
        reader.one()


def test_a_total_is_not_needed_where_the_page_states_it(reader: Reader) -> None:
    reader.index.add(BIG)
    reader.index.fault("*.whl", edit=told(lambda a, b, n: f"bytes {a}-{b}/*"))
    assert reader.one().faults == ()


def test_a_server_that_forgets_what_a_range_is(reader: Reader, tmp_path: Path) -> None:
    """It answers with a part first, then with everything."""
    reader.index.add(BIG)
    reader.index.fault("*.whl", times=1)
    reader.index.fault("*.whl", status=200, body=BIG.data)
    assert replace(reader.one(), read=0) == local(BIG, tmp_path)


@pytest.mark.parametrize("built", [BIG, SMALL], ids=["big", "small"])
@pytest.mark.parametrize("size", [True, False])
def test_a_whole_file_has_to_have_the_hash_that_was_promised(reader: Reader, built: Built, size: bool) -> None:
    reader.index.add(built, sha256="0" * 64, size=size)
    reader.index.ranges = False
    with pytest.raises(HashMismatchError) as caught:
        reader.one()
    assert caught.value.where == built.filename


def test_an_answer_that_broke_off_is_had_again(reader: Reader, tmp_path: Path) -> None:
    for ranges in (True, False):
        reader.index.ranges = ranges
        reader.index.add(BIG)
        reader.index.fault("*.whl", truncate=300 if ranges else 200_000, times=1)
        reader.folder = tmp_path / str(ranges)
        assert replace(reader.one(), read=0) == local(BIG, tmp_path)


@pytest.mark.usefixtures("quick")
def test_a_file_is_never_held_in_memory(reader: Reader) -> None:
    reader.index.add(plain(padding=PADDING * 150))
    reader.index.ranges = False
    found, peak = reader.peak()
    assert found == []
    assert peak < 8 * MEGABYTE
    reader.index.fault("*.whl", status=200, body=b"PK", endless=True)
    reader.folder = reader.folder / "other"
    found, peak = reader.peak()
    assert "sends more than" in found
    assert peak < 8 * MEGABYTE
