"""What an index does not have of a lock is named."""

from __future__ import annotations

import pytest

from lockgrid.core.candidates import Facts
from lockgrid.core.missing import missing_files
from lockgrid.model.grid import LockedPin, Lockfile
from lockgrid.model.index import IndexFile, Page
from unit.builders import CUTOFF, any_wheel, digest, environment, index_file, page, target

GOOD = any_wheel("a", "1.0")
REPLACED = f"a==1.0: the index serves another file than the lock has (sha256 {GOOD.sha256}): "


def told(*files: IndexFile, gone: bool = False) -> list[tuple[str, bool]]:
    pin = LockedPin(name="a", version="1.0", pythons=("3.12",), hashes=(GOOD.sha256,))
    other = LockedPin(name="b", version="1.0", pythons=("3.11",), hashes=(digest("b"),))  # of another Python
    lockfile = Lockfile(
        environment="app", platform="linux-x86_64", pythons=("3.11", "3.12"), sdists=(), pins=(pin, other)
    )
    facts = Facts(cutoff=CUTOFF, pages={"a": Page(name="a", missing=True) if gone else page("a", *files)})
    found = missing_files(environment("app"), target(), {("app", "linux-x86_64"): lockfile}, facts)
    return [(one.text, one.replaced) for one in found]


def test_a_file_with_the_locked_hash_is_not_missing() -> None:
    assert told(GOOD) == []


@pytest.mark.parametrize(
    ("files", "what", "replaced"),
    [
        ([], "a==1.0: the index has no file of it for linux-x86_64, Python 3.12", False),
        (
            [index_file("a-1.0-cp312-cp312-win_amd64.whl")],
            "a==1.0: the index has no file of it for linux-x86_64, Python 3.12",
            False,
        ),
        ([index_file(GOOD.filename, sha=GOOD.sha256, yanked="bad")], f"a==1.0: {GOOD.filename} was yanked: bad", False),
        (
            [index_file(GOOD.filename, sha="1" * 64)],
            f"{REPLACED}{GOOD.filename} with sha256 {'1' * 64}",
            True,
        ),
        (
            [index_file(GOOD.filename, sha="")],
            f"{REPLACED}{GOOD.filename} with sha256 (none)",
            True,
        ),
    ],
)
def test_each_way_of_missing_is_told(files: list[IndexFile], what: str, replaced: bool) -> None:
    assert told(*files) == [(what, replaced)]


def test_a_project_that_is_not_there_is_told() -> None:
    assert told(gone=True) == [("a==1.0: the index does not have the project", False)]
