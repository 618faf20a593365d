"""Proofs 1 and 3: what the index has for a target, and in what standing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.prove import listed_file, prove_index, prove_tags
from lockgrid.core.select import Selection
from lockgrid.errors import HashMismatchError
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.index import IndexFile
from unit.builders import AFTER, any_wheel, digest, environment, facts, index_file, page, pin, target

WHEEL = any_wheel("a", "1.0")


def test_a_listed_file_in_good_standing_passes() -> None:
    assert prove_index([pin("a", "1.0")], facts(page("a", WHEEL))) == ([], [])


@pytest.mark.parametrize(
    ("listed", "exists"),
    [
        (index_file(WHEEL.filename, yanked=""), "was yanked"),
        (index_file(WHEEL.filename, yanked="bad"), "was yanked: bad"),
        (index_file(WHEEL.filename, uploaded=AFTER), "was uploaded at 2026-07-01 12:30 UTC, after the cut-off"),
        (
            index_file(WHEEL.filename, uploaded=None),
            "has no upload time on the index, so it cannot be held to the cut-off",
        ),
        (any_wheel("a", "1.1"), "is no longer on the index (a-1.0-py3-none-any.whl)"),
    ],
)
def test_a_file_in_bad_standing_is_blocked_and_not_offered_again(listed: IndexFile, exists: str) -> None:
    blockers, hopeless = prove_index([pin("a", "1.0")], facts(page("a", listed)))
    assert blockers == [Blocker(proof=Proof.INDEX, package="a==1.0", exists=exists, missing="a file in good standing")]
    assert hopeless == [("a", "1.0")]


def test_a_quarantined_project_is_blocked() -> None:
    blockers, hopeless = prove_index([pin("a", "1.0")], facts(page("a", WHEEL, quarantined=True)))
    assert [blocker.exists for blocker in blockers] == ["is quarantined by the index"]
    assert hopeless == [("a", "1.0")]


def test_a_file_without_an_upload_time_passes_once_it_is_locked() -> None:
    dateless = replace(WHEEL, uploaded=None)
    assert prove_index([pin("a", "1.0")], facts(page("a", dateless), known=[WHEEL.sha256])) == ([], [])


@pytest.mark.parametrize(("promised", "shown"), [(digest("other"), digest("other")), ("", "nothing")])
def test_a_hash_that_the_page_contradicts_ends_the_run(promised: str, shown: str) -> None:
    listed = replace(WHEEL, sha256=promised)
    with pytest.raises(HashMismatchError) as caught:
        prove_index([pin("a", "1.0")], facts(page("a", listed)))
    assert caught.value.exit_code == 4
    assert caught.value.where == WHEEL.filename
    assert WHEEL.sha256 in caught.value.what
    assert shown in caught.value.what


def test_every_pin_is_looked_at() -> None:
    known = facts(page("a", index_file(WHEEL.filename, yanked="")), page("b", any_wheel("b", "2.0")))
    blockers, _ = prove_index([pin("a", "1.0"), pin("b", "1.0"), pin("b", "2.0")], known)
    assert [blocker.package for blocker in blockers] == ["a==1.0", "b==1.0"]


def test_versions_are_found_in_any_spelling() -> None:
    file = index_file("a-1.0.0-py3-none-any.whl")
    assert prove_index([pin("a", "1.0.0", file)], facts(page("a", file))) == ([], [])


def test_what_is_unservable_is_explained_with_what_would_serve() -> None:
    known = facts(
        page("a", "a-0.9-py3-none-any.whl", "a-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"),
        page("b", index_file("b-1.0-py3-none-any.whl", requires_python=">=3.13")),
    )
    selection = Selection(pins=(), unservable=(("a", "1.0"), ("b", "1.0")))
    blockers, hopeless = prove_tags(environment("a"), target(), selection, known)
    wanted = "a wheel for CPython 3.12 on linux-x86_64 (glibc 2.28)"
    assert blockers == [
        Blocker(
            proof=Proof.TAGS,
            package="a==1.0",
            exists="has wheels for CPython 3.10 and no sdist",
            missing=wanted,
            serves=("0.9",),
        ),
        Blocker(proof=Proof.CLOSURE, package="b==1.0", exists="requires Python >=3.13", missing=wanted),
    ]
    assert hopeless == [("a", "1.0"), ("b", "1.0")]


def test_a_conflict_is_a_failed_resolution_that_no_exclusion_mends() -> None:
    selection = Selection(pins=(), conflicts=("a is 1.0 or 2.0, by the patch version of Python",))
    blockers, hopeless = prove_tags(environment("a"), target(), selection, facts())
    assert blockers == [
        Blocker(
            proof=Proof.RESOLUTION,
            package="app",
            exists="a is 1.0 or 2.0, by the patch version of Python",
            missing="one version for the target",
        )
    ]
    assert hopeless == []


def test_a_selection_without_a_fault_has_no_blocker() -> None:
    assert prove_tags(environment("a"), target(), Selection(pins=(pin("a", "1.0"),)), facts()) == ([], [])


def test_the_page_knows_more_of_a_file_than_the_lock() -> None:
    listed = replace(WHEEL, metadata_sha256=digest("metadata"))
    assert listed_file(pin("a", "1.0"), facts(page("a", listed))) == listed
    assert listed_file(pin("a", "1.0"), facts(page("a"))) == WHEEL


def test_a_pin_is_looked_for_on_the_page_of_its_index() -> None:
    known = facts(page("a", WHEEL), page("a@cpu", replace(WHEEL, sha256="0" * 64)))
    assert prove_index([pin("a", "1.0")], known) == ([], [])
    with pytest.raises(HashMismatchError):
        prove_index([pin("a", "1.0", index="cpu")], known)
    (blocker,), _ = prove_index([pin("a", "1.0", index="cpu")], facts(page("a", WHEEL), page("a@cpu")))
    assert blocker.exists == f"is no longer on the index ({WHEEL.filename}) (index cpu)"
