"""What uv is told of packages that are locked, and of which the index tells no upload times."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from lockgrid.core.candidates import Facts
from lockgrid.core.resolution import Preference, Request, preferences_lock, project_toml, resolver_settings
from lockgrid.core.undated import Undated, has_undated, locked_keys, undated
from lockgrid.model.grid import LockedPin, Lockfile, OldLocks
from lockgrid.model.index import IndexFile
from unit.builders import CUTOFF, LINUX, MAC, digest, environment, facts, index_file, locked, page, target

L, M = target(LINUX, "3.12"), target(MAC, "3.12")


def old(*pins: LockedPin, name: str = "app") -> OldLocks:
    lockfile = Lockfile(environment=name, platform="linux-x86_64", pythons=("3.12",), sdists=(), pins=pins)
    return {(name, "linux-x86_64"): lockfile}


def bare(filename: str) -> IndexFile:
    return index_file(filename, uploaded=None)


def known(*files: IndexFile, name: str = "a", also: tuple[str, ...] = ()) -> Facts:
    """Facts of a page without a time, of which the lock has version 1.0 and what else is named."""
    hashes = [digest(filename) for filename in ("a-1.0-py3-none-any.whl", *also)]
    return facts(page(name, *files, newest=None), known=hashes)


A = [bare(f"a-{version}-py3-none-any.whl") for version in ("0.9", "1.0", "2.0")]
ONE = environment("a", targets=[L])
LOCKS = old(locked("a", "1.0", ["3.12"]))


def test_the_one_version_that_is_locked_is_admitted_and_no_other() -> None:
    (found,) = undated([ONE], LOCKS, known(*A))
    assert found == Undated(name="a", admitted=("1.0",), refused=("0.9", "2.0"), targets=(L,))
    assert found.specifier == "==1.0"


def test_several_versions_are_admitted_by_what_they_are_not() -> None:
    (found,) = undated([ONE], LOCKS, known(*A, also=("a-2.0-py3-none-any.whl",)))
    assert (found.admitted, found.specifier) == (("1.0", "2.0"), "!=0.9")


def test_a_version_is_not_refused_where_that_would_refuse_its_local_one() -> None:
    files = [bare("a-1.0-py3-none-any.whl"), bare("a-2.0-py3-none-any.whl"), bare("a-2.0+cpu-py3-none-any.whl")]
    (found,) = undated([ONE], LOCKS, known(*files, also=("a-2.0+cpu-py3-none-any.whl",)))
    assert (found.admitted, found.refused) == (("1.0", "2.0+cpu"), ())


@pytest.mark.parametrize(
    "found",
    [
        known(*[index_file(file.filename) for file in A]),  # all of them dated
        known(index_file("a-1.0-py3-none-any.whl"), bare("a-2.0-py3-none-any.whl")),  # what is locked is dated
        known(index_file("a-1.0-py3-none-any.whl", uploaded=None, sha="0" * 64)),  # not the file that is locked
    ],
)
def test_what_uv_can_judge_by_itself_or_locks_do_not_know_is_left_to_it(found: Facts) -> None:
    assert not has_undated(found)
    assert undated([ONE], LOCKS, found) == ()


def test_a_page_that_says_nothing_without_times_is_not_looked_into() -> None:
    assert not has_undated(facts(page("a", *A), known=[digest("a-1.0-py3-none-any.whl")]))


def test_only_the_targets_that_look_at_that_index_are_bound() -> None:
    one = environment("a", targets=[L, M], sources={"a@linux-x86_64": "cpu"})
    assert locked_keys([one], LOCKS) == {"a", "a@cpu"}
    pages = facts(page("a@cpu", *A, newest=None), page("a", index_file("a-1.0-py3-none-any.whl")), known=[A[1].sha256])
    (found,) = undated([one], LOCKS, pages)
    assert (found.name, found.targets) == ("a", (L,))


def request(**more: Any) -> Request:
    return Request(environments=(ONE,), domain=(("app", (L,)),), cutoff=CUTOFF, **more)


def test_uv_is_told_of_the_versions_and_of_no_cutoff_for_them() -> None:
    told = undated([ONE], LOCKS, known(*A))
    asked = request(undated=told, preferences=(Preference(name="a", version="1.0", targets=(L,)),))
    assert "a==1.0" in tomllib.loads(project_toml(asked))["tool"]["uv"]["constraint-dependencies"]
    assert resolver_settings(asked, [])["exclude-newer-package"] == {"a": False}
    options = tomllib.loads(preferences_lock(asked, {"": "https://index.example/simple"}))["options"]
    assert options["exclude-newer-package"] == {"a": False}
    plain = request()
    assert "exclude-newer-package" not in resolver_settings(plain, [])
    assert "exclude-newer-package" not in tomllib.loads(preferences_lock(plain, {}))["options"]
