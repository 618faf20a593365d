"""Which files of a release a target may install, and in which order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from packaging.version import Version

from lockgrid.core.candidates import (
    Facts,
    Refusal,
    absent_sources,
    best_file,
    index_refusal,
    installable,
    matching_versions,
    refusal,
    serving_versions,
    wheel_tags,
)
from lockgrid.model.grid import Proof
from lockgrid.model.index import IndexFile, Page
from lockgrid.model.target import Target
from unit.builders import (
    AFTER,
    CUTOFF,
    MAC,
    WINDOWS,
    any_wheel,
    digest,
    environment,
    facts,
    index_file,
    missing_page,
    page,
    target,
)

V1 = Version("1.0")


def best(*files: IndexFile | str, where: Target | None = None, sdist_allowed: bool = False) -> str | None:
    """The name of the best file of release 1.0 of ``a``."""
    known = facts(page("a", *files))
    found = best_file("a", V1, where or target(), known, sdist_allowed=sdist_allowed)
    return found.filename if found else None


@pytest.mark.parametrize(
    ("filenames", "expected"),
    [
        (
            ["a-1.0-py3-none-any.whl", "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"],
            "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        ),
        (
            ["a-1.0-cp312-cp312-manylinux_2_34_x86_64.whl", "a-1.0-cp38-abi3-manylinux2014_x86_64.whl"],
            "a-1.0-cp38-abi3-manylinux2014_x86_64.whl",
        ),
        (
            ["a-1.0-1-py3-none-any.whl", "a-1.0-2-py3-none-any.whl", "a-1.0-py3-none-any.whl"],
            "a-1.0-2-py3-none-any.whl",
        ),
        (["a-1.0-9-py3-none-any.whl", "a-1.0-10-py3-none-any.whl"], "a-1.0-10-py3-none-any.whl"),
        (
            ["a-1.0-7-py3-none-any.whl", "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"],
            "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        ),
        (["a-1.0-py3-none-any.whl", "a-1.0-py2.py3-none-any.whl"], "a-1.0-py2.py3-none-any.whl"),
        (["a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"], None),
        (["a-1.0.tar.gz"], None),
        ([], None),
    ],
)
def test_the_best_file_is_the_one_an_installer_would_take(filenames: list[str], expected: str | None) -> None:
    assert best(*filenames) == expected
    assert best(*reversed(filenames)) == expected


def test_a_sdist_is_taken_only_where_it_is_named_and_after_every_wheel() -> None:
    sdist, wheel, other = "a-1.0.tar.gz", "a-1.0-py3-none-any.whl", "a-1.0-cp312-cp312-win_amd64.whl"
    assert best(sdist, other) is None
    assert best(sdist, other, sdist_allowed=True) == sdist
    assert best(sdist, wheel, sdist_allowed=True) == wheel


@pytest.mark.parametrize(
    "unfit",
    [
        index_file("a-1.0-py3-none-manylinux_2_28_x86_64.whl", yanked=""),
        index_file("a-1.0-py3-none-manylinux_2_28_x86_64.whl", uploaded=AFTER),
        index_file("a-1.0-py3-none-manylinux_2_28_x86_64.whl", uploaded=None),
        index_file("a-1.0-py3-none-manylinux_2_28_x86_64.whl", sha=""),
        index_file("a-1.0-py3-none-manylinux_2_28_x86_64.whl", requires_python=">=3.13"),
    ],
)
def test_a_better_file_that_may_not_be_installed_gives_way(unfit: IndexFile) -> None:
    assert best(unfit, "a-1.0-py3-none-any.whl") == "a-1.0-py3-none-any.whl"
    assert best(unfit) is None


@pytest.mark.parametrize(
    ("file", "proof", "reason"),
    [
        (
            index_file("a-1.0-cp312-cp312-win_amd64.whl"),
            Proof.TAGS,
            "is no wheel for linux-x86_64, Python 3.12",
        ),
        (index_file("a-1.0.tar.gz"), Proof.TAGS, "is a sdist that [sdists] does not name"),
        (
            index_file("a-1.0-py3-none-any.whl", requires_python=">=3.13"),
            Proof.CLOSURE,
            "requires Python >=3.13",
        ),
        (
            index_file("a-1.0-py3-none-any.whl", requires_python=">=3.x"),
            Proof.CLOSURE,
            "has an invalid Requires-Python '>=3.x'",
        ),
        (
            index_file("a-1.0-py3-none-any.whl", sha=""),
            Proof.INDEX,
            "has no sha256 on the index, so it cannot be pinned",
        ),
        (index_file("a-1.0-py3-none-any.whl", yanked=""), Proof.INDEX, "was yanked"),
        (index_file("a-1.0-py3-none-any.whl", yanked="broken"), Proof.INDEX, "was yanked: broken"),
        (
            index_file("a-1.0-py3-none-any.whl", uploaded=None),
            Proof.INDEX,
            "has no upload time on the index, so it cannot be held to the cut-off",
        ),
        (
            index_file("a-1.0-py3-none-any.whl", uploaded=AFTER),
            Proof.INDEX,
            "was uploaded at 2026-07-01 12:30 UTC, after the cut-off",
        ),
    ],
)
def test_a_file_is_refused_with_the_proof_that_it_fails(file: IndexFile, proof: Proof, reason: str) -> None:
    assert refusal(file, target(), facts(), sdist_allowed=False) == Refusal(proof, reason)


def test_a_file_in_good_standing_is_not_refused() -> None:
    assert refusal(any_wheel("a", "1.0"), target(), facts(), sdist_allowed=False) is None
    assert refusal(index_file("a-1.0.tar.gz"), target(), facts(), sdist_allowed=True) is None


@pytest.mark.parametrize(("seconds", "refused"), [(-1, False), (0, False), (1, True)])
def test_the_cut_off_itself_is_not_too_new(seconds: int, refused: bool) -> None:
    file = index_file("a-1.0-py3-none-any.whl", uploaded=CUTOFF + timedelta(seconds=seconds))
    assert (index_refusal(file, facts()) is not None) is refused


def test_a_file_without_an_upload_time_passes_if_its_hash_is_locked_already() -> None:
    file = index_file("a-1.0-py3-none-any.whl", uploaded=None)
    assert index_refusal(file, facts(known=[file.sha256])) is None
    assert index_refusal(file, facts(known=[digest("another")])) is not None


def test_a_locked_hash_excuses_neither_a_yank_nor_a_late_upload() -> None:
    for file in (any_wheel("a", "1.0"), index_file("b-1.0-py3-none-any.whl", uploaded=AFTER)):
        known = facts(known=[file.sha256])
        yanked = index_file(file.filename, yanked="", sha=file.sha256, uploaded=file.uploaded)
        assert index_refusal(yanked, known) is not None
    assert index_refusal(file, known) is not None


def releases(*versions: str) -> Facts:
    return facts(page("a", *(any_wheel("a", version) for version in versions)))


@pytest.mark.parametrize(
    ("specifiers", "expected"),
    [
        ({""}, ["1.0", "1.9", "1.10", "2.0"]),
        ({">=1.9"}, ["1.9", "1.10", "2.0"]),
        ({">=1.9", "<2"}, ["1.9", "1.10"]),
        ({"==3"}, []),
        ({">=2.1b1"}, ["2.1b1"]),
        ({">=1.10,<=2.1b1"}, ["1.10", "2.0", "2.1b1"]),
        ({"==2.1b1"}, ["2.1b1"]),
        ({">=2", "!=2.0"}, []),
    ],
)
def test_versions_match_oldest_first_and_pre_releases_only_when_named(
    specifiers: set[str], expected: list[str]
) -> None:
    known = releases("1.10", "2.0", "1.9", "2.1b1", "1.0")
    assert [str(v) for v in matching_versions("a", frozenset(specifiers), known)] == expected


def test_only_pre_releases_match_nothing_that_names_none() -> None:
    assert matching_versions("a", frozenset({">=0.1"}), releases("1.0a1", "1.0a2")) == []


def test_installable_versions_come_newest_first_and_no_more_than_enough() -> None:
    known = facts(
        page(
            "a",
            *(f"a-{v}-py3-none-any.whl" for v in ("1.0", "1.1", "1.3")),
            index_file("a-1.2-py3-none-any.whl", yanked=""),
            "a-1.4-cp312-cp312-win_amd64.whl",
        )
    )

    def found(enough: int, where: Target | None = None) -> list[str]:
        versions = known.versions("a")
        return [
            str(v) for v in installable("a", versions, where or target(), known, sdist_allowed=False, enough=enough)
        ]

    assert found(9) == ["1.3", "1.1", "1.0"]
    assert found(2) == ["1.3", "1.1"]
    assert found(1, target(WINDOWS)) == ["1.4"]


def test_nothing_of_a_quarantined_project_is_installable() -> None:
    known = facts(page("a", any_wheel("a", "1.0"), quarantined=True))
    assert installable("a", [V1], target(), known, sdist_allowed=False, enough=1) == []


def test_serving_versions_are_the_newest_three_final_ones_that_the_target_can_install() -> None:
    known = facts(
        page(
            "a",
            *(f"a-{v}-py3-none-any.whl" for v in ("1.0", "1.1", "1.2", "1.3", "2.0rc1")),
            "a-1.4-cp312-cp312-macosx_11_0_arm64.whl",
        )
    )
    assert serving_versions("a", target(), known, sdist_allowed=False) == ("1.3", "1.2", "1.1")
    assert serving_versions("a", target(MAC), known, sdist_allowed=False) == ("1.4", "1.3", "1.2")
    assert serving_versions("a", target(), facts(page("a")), sdist_allowed=False) == ()


def test_facts_find_releases_and_files_by_version_in_any_spelling() -> None:
    file = any_wheel("a", "1.0")
    known = facts(page("a", file))
    assert known.release("a", Version("1.0")) == (file,)
    assert known.release("a", Version("2.0")) == ()
    assert known.file("a", "1.0", file.filename) == file
    assert known.file("a", "1.0", "other.whl") is None
    with pytest.raises(KeyError):
        known.versions("b")


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("PySocks-1.7.1-py3-none-any.whl", "pysocks-1.7.1-py3-none-any.whl"),
        ("Old.Lib-1.0.0-py2.py3-none-any.whl", "old_lib-1.0.0-py2.py3-none-any.whl"),
        ("Old.Lib-1.0.0.tar.gz", "old_lib-1.0.0.tar.gz"),
    ],
)
def test_a_file_is_known_by_what_its_name_says_where_uv_spells_it_otherwise(listed: str, asked: str) -> None:
    file = index_file(listed)
    version = listed.removesuffix(".tar.gz").split("-")[1]
    known = facts(Page(name="x", releases={str(Version(version)): (index_file("x-9-py3-none-any.whl"), file)}))
    assert known.file("x", version, asked) == file
    assert known.file("x", version, listed) == file
    assert known.file("x", version, "another-1.0-py3-none-any.whl") is None


def test_tags_are_those_of_the_file_name() -> None:
    tags = wheel_tags("a-1.0-py2.py3-none-any.whl")
    assert sorted(str(tag) for tag in tags) == ["py2-none-any", "py3-none-any"]
    assert wheel_tags("a-1.0.tar.gz") == frozenset()


def test_a_page_of_a_named_index_is_another_one() -> None:
    cpu = index_file("a-1.0-py3-none-any.whl", sha=digest("cpu"))
    known = facts(page("a", "a-1.0-py3-none-any.whl"), page("a@cpu", cpu, "a-2.0+cpu-py3-none-any.whl"))
    assert best_file("a@cpu", V1, target(), known, sdist_allowed=False) == cpu
    assert best_file("a", V1, target(), known, sdist_allowed=False) != cpu
    assert matching_versions("a@cpu", frozenset({"==2.0"}), known) == [Version("2.0+cpu")]
    assert matching_versions("a", frozenset({"==2.0"}), known) == []


def test_a_file_without_an_upload_time_passes_on_an_index_that_is_declared_dateless() -> None:
    undated = index_file("a-1.0-py3-none-any.whl", uploaded=None)
    known = facts(dateless=["cpu"])
    assert index_refusal(undated, known, "a@cpu") is None
    for key, tail in (("a", "the cut-off"), ("a@gpu", "unless [indexes] declares it dateless")):
        refused = index_refusal(undated, known, key)
        assert refused is not None
        assert refused.reason.endswith(tail)
    newer = index_file("a-1.0-py3-none-any.whl", uploaded=AFTER)
    assert index_refusal(newer, known, "a@cpu") is not None


def test_the_targets_for_which_a_named_index_has_no_file() -> None:
    sources = {"a@linux-x86_64": "cpu", "a@macos-arm64": "cpu", "b@linux-x86_64": "cpu"}
    one = environment("a", targets=[target(), target(MAC), target(WINDOWS)], sources=sources)
    known = facts(page("a@cpu", "a-1.0-py3-none-macosx_11_0_arm64.whl"), missing_page("b@cpu"))
    assert absent_sources([one], known) == (("a", (target(),)), ("b", (target(),)))
