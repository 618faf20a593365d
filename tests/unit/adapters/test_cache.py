"""What is remembered between runs; losing it loses time and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgrid.adapters import cache as module
from lockgrid.adapters.cache import Cache, cache_folder


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path / "cache")
    yield opened
    opened.close()


def database(folder: Path) -> Path:
    (path,) = folder.glob("cache-*.sqlite3")
    return path


def test_what_was_put_is_found_by_kind_and_key(cache: Cache) -> None:
    cache.put("page", {"a": b"1", "b": b"2"}, now=10.0)
    cache.put("metadata", {"a": b"3"}, now=10.0)
    assert cache.get("page", ["a", "b", "c", "a"]) == {"a": b"1", "b": b"2"}
    assert cache.get("metadata", ["a", "b"]) == {"a": b"3"}
    assert cache.get("page", []) == {}


def test_a_new_value_takes_the_place_of_the_old(cache: Cache) -> None:
    cache.put("page", {"a": b"1"}, now=10.0)
    cache.put("page", {"a": b"2"}, now=11.0)
    assert cache.get("page", ["a"]) == {"a": b"2"}


def test_only_what_is_new_enough_is_found(cache: Cache) -> None:
    cache.put("page", {"old": b"1"}, now=10.0)
    cache.put("page", {"new": b"2"}, now=20.0)
    assert cache.get("page", ["old", "new"], newer_than=10.0) == {"new": b"2"}
    assert cache.get("page", ["old", "new"], newer_than=9.0) == {"old": b"1", "new": b"2"}


def test_many_keys_are_found_at_once(cache: Cache) -> None:
    values = {str(number): b"x" for number in range(1203)}
    cache.put("page", values, now=1.0)
    assert cache.get("page", values) == values


def test_values_outlive_a_run(tmp_path: Path) -> None:
    first = Cache(tmp_path)
    first.put("page", {"a": b"1"}, now=1.0)
    first.close()
    second = Cache(tmp_path)
    assert second.get("page", ["a"]) == {"a": b"1"}
    second.close()


def test_two_runs_share_the_file(tmp_path: Path) -> None:
    first, second = Cache(tmp_path), Cache(tmp_path)
    first.put("page", {"a": b"1"}, now=1.0)
    second.put("page", {"b": b"2"}, now=1.0)
    assert first.get("page", ["a", "b"]) == {"a": b"1", "b": b"2"}
    first.close()
    second.close()


def spoiled(folder: Path) -> None:
    """Leave a file that is no database where the cache is."""
    Cache(folder).close()
    path = database(folder)
    for beside in folder.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(b"this is no database, but long enough to have a header " * 40)


class Watched(sqlite3.Connection):
    """A connection that tells whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True
        super().close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Watched]]:
    """Every connection that a test opens; what it leaves open is closed."""
    found: list[Watched] = []
    real = sqlite3.connect

    def connect(*given: Any, **options: Any) -> sqlite3.Connection:
        found.append(real(*given, factory=Watched, **options))
        return found[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    yield found
    for connection in found:
        connection.close()


def test_a_corrupt_file_is_thrown_away(tmp_path: Path, opened: list[Watched]) -> None:
    spoiled(tmp_path)
    cache = Cache(tmp_path)
    assert cache.get("page", ["a"]) == {}
    cache.put("page", {"a": b"1"}, now=1.0)
    assert cache.get("page", ["a"]) == {"a": b"1"}
    cache.close()
    assert len(opened) == 3


def test_a_corrupt_file_is_closed_before_it_is_removed(tmp_path: Path, opened: list[Watched]) -> None:
    spoiled(tmp_path)
    Cache(tmp_path).close()
    assert [connection.closed for connection in opened] == [True, True, True]


def test_a_file_that_stays_locked_is_left_alone_and_the_run_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[Watched]
) -> None:
    first = Cache(tmp_path)
    first.put("page", {"a": b"1"}, now=1.0)
    first.close()
    holder = sqlite3.connect(database(tmp_path), isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.01)
    locked = Cache(tmp_path)
    locked.put("page", {"b": b"2"}, now=1.0)
    assert locked.get("page", ["a", "b"]) == {}
    assert opened[-1].closed
    holder.close()
    again = Cache(tmp_path)
    assert again.get("page", ["a", "b"]) == {"a": b"1"}
    again.close()


def test_a_malformed_file_is_thrown_away(tmp_path: Path, opened: list[Watched]) -> None:
    Cache(tmp_path).close()
    path = database(tmp_path)
    data = bytearray(path.read_bytes())
    data[100:200] = b"\xff" * 100  # the first page behind the header: the schema
    path.write_bytes(data)
    cache = Cache(tmp_path)
    cache.put("page", {"a": b"1"}, now=1.0)
    assert cache.get("page", ["a"]) == {"a": b"1"}
    cache.close()
    assert all(connection.closed for connection in opened)


def test_a_file_that_breaks_during_a_run_is_no_error(cache: Cache, tmp_path: Path) -> None:
    cache.put("page", {"a": b"1"}, now=1.0)
    other = sqlite3.connect(database(tmp_path / "cache"))
    other.execute("drop table entries")
    other.close()
    assert cache.get("page", ["a"]) == {}
    cache.put("page", {"a": b"1"}, now=1.0)


def test_a_folder_that_cannot_be_is_a_cache_that_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "cache")
    cache.put("page", {"a": b"1"}, now=1.0)
    assert cache.get("page", ["a"]) == {}
    cache.close()
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_file_that_cannot_be_opened_is_a_cache_that_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: Any, **_options: Any) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    cache = Cache(tmp_path)
    cache.put("page", {"a": b"1"}, now=1.0)
    assert cache.get("page", ["a"]) == {}


def full(cache: Cache) -> None:
    """Let the disk be full: no page more than there is."""
    connection = cache._connection
    assert connection is not None
    (pages,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {pages}")


def test_a_full_disk_is_no_error_and_the_next_run_goes_on(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("page", {"a": b"1"}, now=1.0)
    full(cache)
    cache.put("page", {"big": b"x" * 1_000_000}, now=1.0)
    assert cache.get("page", ["a", "big"]) == {"a": b"1"}
    cache.close()
    again = Cache(tmp_path)
    again.put("page", {"big": b"x" * 1_000_000}, now=1.0)
    assert set(again.get("page", ["a", "big"])) == {"a", "big"}
    again.close()


def test_a_failed_put_leaves_no_transaction_open(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    full(cache)
    cache.put("page", {"big": b"x" * 1_000_000}, now=1.0)
    assert cache._connection is not None
    assert not cache._connection.in_transaction
    cache.close()


def test_a_closed_cache_holds_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("page", {"a": b"1"}, now=1.0)
    cache.close()
    cache.close()
    cache.put("page", {"b": b"1"}, now=1.0)
    assert cache.get("page", ["a", "b"]) == {}


def test_the_folder_is_the_chosen_one_or_the_platforms() -> None:
    assert cache_folder({"LOCKGRID_CACHE_DIR": "chosen"}) == Path("chosen")
    assert cache_folder({"LOCKGRID_CACHE_DIR": ""}).name in ("lockgrid", "Cache")
