"""The little behaviour that values have: names, labels, sort keys."""

from __future__ import annotations

import dataclasses

import pytest

from lockgrid.model.grid import Blocker, CellRecord, Proof
from lockgrid.model.target import Platform, Target, python_key
from unit.builders import LINUX, MAC, WINDOWS, index_file, target


@pytest.mark.parametrize(
    ("platform", "label"),
    [
        (LINUX, "linux-x86_64 (glibc 2.28)"),
        (MAC, "macos-arm64 (macos 15.0)"),
        (WINDOWS, "windows-x86_64"),
    ],
)
def test_a_platform_is_labelled_with_its_floor(platform: Platform, label: str) -> None:
    assert platform.label == label


def test_pythons_are_sorted_as_versions() -> None:
    pythons = ["3.10", "3.9", "3.14", "3.8"]
    assert sorted(pythons, key=python_key) == ["3.8", "3.9", "3.10", "3.14"]
    targets = [target(python=python) for python in pythons] + [target(MAC, "3.8")]
    assert [t.label for t in sorted(targets, key=lambda t: t.sort_key)][-2:] == [
        "linux-x86_64, Python 3.14",
        "macos-arm64, Python 3.8",
    ]
    cells = [CellRecord(environment="a", platform="p", python=python, proven=True) for python in pythons]
    assert [c.python for c in sorted(cells, key=lambda c: c.sort_key)] == ["3.8", "3.9", "3.10", "3.14"]


def test_equal_targets_are_one_key_and_a_floor_makes_another() -> None:
    again = Target(platform=Platform(name="linux-x86_64", floor=(2, 28)), python="3.12")
    lower = Target(platform=Platform(name="linux-x86_64", floor=(2, 17)), python="3.12")
    assert {target(), again} == {target()}
    assert len({target(), lower}) == 2


@pytest.mark.parametrize(
    ("blocker", "text"),
    [
        (Blocker(proof=Proof.TAGS, package="a==1", exists="has no wheel"), "a==1 has no wheel"),
        (Blocker(proof=Proof.TAGS, package="a==1", missing="a wheel"), "a==1 a wheel"),
        (
            Blocker(proof=Proof.TAGS, package="a", required_by=("b==1", "c==2"), exists="has no wheel"),
            "a (required by b==1, c==2) has no wheel",
        ),
    ],
)
def test_a_blocker_is_one_sentence(blocker: Blocker, text: str) -> None:
    assert blocker.text == text


@pytest.mark.parametrize(("filename", "is_wheel"), [("a-1-py3-none-any.whl", True), ("a-1.tar.gz", False)])
def test_a_file_that_is_no_wheel_counts_as_a_sdist(filename: str, is_wheel: bool) -> None:
    assert index_file(filename).is_wheel is is_wheel


def test_values_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        target().python = "3.13"  # type: ignore[misc]
