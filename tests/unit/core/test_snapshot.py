"""What is read of the files of a revision, and what is refused."""

from __future__ import annotations

import pytest

from lockgrid.core.snapshot import Snapshot, edited, read_snapshot
from lockgrid.errors import InputError
from unit.snapshots import LINUX, cells, snapshot

SOME = snapshot(cells("a", {"x": "1"}), build={"setuptools": "1"})
PATH = f"locks/a/{LINUX}.txt"


def test_what_lockgrid_wrote_is_read() -> None:
    assert set(SOME.locks) == {("a", LINUX), ("a", "macos-arm64"), ("build", "build")}
    assert SOME.grid is not None
    assert len(SOME.grid.cells) == 4
    assert edited(SOME) == []


def test_nothing_is_a_snapshot_too() -> None:
    assert read_snapshot({"envs/a.toml": "x"}) == Snapshot(texts={"envs/a.toml": "x"})


@pytest.mark.parametrize("path", ["locks/notes.txt", "locks/unsupported/x/y.txt", "locks/unsupported/unsupported.py"])
def test_files_that_are_no_lockfiles_are_passed_over(path: str) -> None:
    assert read_snapshot({**SOME.texts, path: "hello"}).locks == SOME.locks


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("locks/grid.toml", "<<<<<<< ours\n", "holds a merge conflict"),
        ("locks/grid.toml", "schema = 2\n", "schema 2, and this version of lockgrid reads 1"),
        (PATH, "<<<<<<< ours\n", "holds a merge conflict"),
        (PATH, "# lockgrid lockfile, schema: 9\n", "schema 9"),
    ],
)
def test_broken_and_unknown_files_are_named_with_the_revision(path: str, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_snapshot({**SOME.texts, path: text}, origin="v1")
    (problem,) = caught.value.problems
    assert problem.file == f"v1:{path}"
    assert said in problem.what
    with pytest.raises(InputError, match=f"^{path}"):
        read_snapshot({**SOME.texts, path: text})


def test_every_broken_file_is_told() -> None:
    with pytest.raises(InputError) as caught:
        read_snapshot({"locks/grid.toml": "x", PATH: "x"})
    assert len(caught.value.problems) == 2


def test_edited_and_missing_lockfiles_are_named() -> None:
    texts = {**SOME.texts, PATH: SOME.texts[PATH].replace("x==1", "x==2")}
    del texts["locks/build.txt"]
    assert edited(read_snapshot(texts)) == [PATH, "locks/build.txt"]
