"""The sentences on why no file of a release serves."""

from __future__ import annotations

import pytest
from packaging.version import Version

from lockgrid.core.describe import describe_release, why_not
from lockgrid.model.grid import Proof
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Platform, Target
from unit.builders import AFTER, MAC, WINDOWS, facts, index_file, page, target

WANTED = "a wheel for CPython 3.12 on linux-x86_64 (glibc 2.28)"


def described(*filenames: str, where: Target | None = None, sdist_allowed: bool = False) -> str:
    return describe_release(
        tuple(index_file(name) for name in filenames), where or target(), sdist_allowed=sdist_allowed
    )


def linux(*minors: int, glibc: str = "2_28") -> list[str]:
    return [f"a-1.0-cp3{minor}-cp3{minor}-manylinux_{glibc}_x86_64.whl" for minor in minors]


@pytest.mark.parametrize(
    ("filenames", "text"),
    [
        ([], "no wheel and no sdist"),
        (["a-1.0.tar.gz"], "no wheel and a sdist that [sdists] does not name"),
        (linux(10), "wheels for CPython 3.10 and no sdist"),
        (linux(10, 11), "wheels for CPython 3.10 to 3.11 and no sdist"),
        (
            [*linux(13, 8, 9), "a-1.0.zip"],
            "wheels for CPython 3.8 to 3.9, 3.13 and a sdist that [sdists] does not name",
        ),
        (
            linux(12, glibc="2_34"),
            "wheels for linux-x86_64 only above its floor (manylinux_2_34_x86_64) and no sdist",
        ),
        (linux(11, glibc="2_34"), "wheels for linux-x86_64 only above its floor (newer systems) and no sdist"),
        ([*linux(10), *linux(12, glibc="2_34")], "wheels for CPython 3.10 and no sdist"),
        (
            ["a-1.0-cp312-cp312-win_amd64.whl", "a-1.0-cp312-cp312-macosx_11_0_arm64.whl"],
            "wheels for macos-arm64, windows-x86_64 only and no sdist",
        ),
        (["a-1.0-cp312-cp312-macosx_26_0_arm64.whl"], "wheels for macos-arm64 only and no sdist"),
        (["a-1.0-cp312-cp312-musllinux_1_2_x86_64.whl"], "wheels for other systems only and no sdist"),
        (["a-1.0-py2-none-any.whl"], "wheels for other systems only and no sdist"),
    ],
)
def test_a_release_is_described_by_what_it_offers_the_platform(filenames: list[str], text: str) -> None:
    assert described(*filenames) == text


def test_a_named_sdist_is_a_sdist() -> None:
    assert described("a-1.0.tar.gz", *linux(10), sdist_allowed=True) == "wheels for CPython 3.10 and a sdist"


@pytest.mark.parametrize(
    ("filenames", "where", "text"),
    [
        (
            ["a-1.0-cp312-cp312-macosx_26_0_arm64.whl"],
            target(MAC),
            "wheels for macos-arm64 only above its floor (macosx_26_0_arm64) and no sdist",
        ),
        (
            ["a-1.0-cp312-cp312-macosx_15_0_arm64.whl"],
            target(Platform(name="macos-arm64", floor=(14, 0))),
            "wheels for macos-arm64 only above its floor (macosx_15_0_arm64) and no sdist",
        ),
        (linux(12), target(WINDOWS), "wheels for linux-x86_64 only and no sdist"),
        (["a-1.0-cp310-cp310-win_amd64.whl"], target(WINDOWS), "wheels for CPython 3.10 and no sdist"),
        (
            ["a-1.0-cp38-cp38-win_amd64.whl", "a-1.0-cp39-cp39-win_amd64.whl"],
            target(WINDOWS, "3.10"),
            "wheels for CPython 3.8 to 3.9 and no sdist",
        ),
    ],
)
def test_other_platforms_are_described_alike(filenames: list[str], where: Target, text: str) -> None:
    assert described(*filenames, where=where) == text


def reason(*files: IndexFile | str, quarantined: bool = False) -> tuple[Proof, str, str]:
    known = facts(page("a", *files, quarantined=quarantined))
    return why_not("a", known.versions("a"), target(), known, sdist_allowed=False)


def test_one_release_of_the_wrong_tags() -> None:
    assert reason(*linux(10, 11)) == (Proof.TAGS, "has wheels for CPython 3.10 to 3.11 and no sdist", WANTED)


def test_several_releases_of_the_wrong_tags_are_a_range_and_the_last() -> None:
    files = ["a-1.0.tar.gz", "a-1.2-cp310-cp310-manylinux_2_28_x86_64.whl"]
    assert reason(*files) == (
        Proof.TAGS,
        "admits 1.0 to 1.2, and the last of these has wheels for CPython 3.10 and no sdist",
        WANTED,
    )


def test_a_file_that_came_further_than_its_tags_tells_more() -> None:
    yanked = index_file(linux(12)[0], yanked="broken")
    assert reason(yanked, *linux(10)) == (Proof.INDEX, "was yanked: broken", WANTED)
    old = index_file("a-1.0-py3-none-any.whl", requires_python="<3.12")
    assert reason(old, *linux(10)) == (Proof.CLOSURE, "requires Python <3.12", WANTED)
    assert reason(old, yanked)[0] is Proof.INDEX


def test_of_several_releases_the_last_that_came_that_far_tells_why() -> None:
    files = [
        index_file("a-1.0-py3-none-any.whl", yanked=""),
        index_file("a-1.1-py3-none-any.whl", uploaded=AFTER),
        index_file("a-1.2-py3-none-any.whl", requires_python=">=3.13"),
    ]
    assert reason(*files) == (
        Proof.INDEX,
        (
            "admits 1.0 to 1.2, none of which serves: a file of the last was uploaded at 2026-07-01 12:30 UTC, "
            "after the cut-off"
        ),
        WANTED,
    )


def test_a_quarantine_is_the_whole_reason() -> None:
    proof, exists, _ = reason(*linux(10), quarantined=True)
    assert (proof, exists) == (Proof.INDEX, "is quarantined by the index")


def test_a_quarantined_project_may_list_no_release_at_all() -> None:
    known = facts(page("a", quarantined=True))
    assert why_not("a", [], target(), known, sdist_allowed=False)[0] is Proof.INDEX


def test_a_windows_target_has_no_floor_to_name() -> None:
    known = facts(page("a", *linux(12)))
    wanted = why_not("a", [Version("1.0")], target(WINDOWS), known, sdist_allowed=False)[2]
    assert wanted == "a wheel for CPython 3.12 on windows-x86_64"
