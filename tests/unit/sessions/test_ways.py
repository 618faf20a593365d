"""What came of the ways in, as a table: each line that one has and the lockfile has not, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.cell import Cell
from sessions.wayin import WAYS
from sessions.ways import Outcome, table

CELL = Cell(
    environment="app",
    platform="linux-x86_64",
    python="3.12",
    interpreter="python3.12",
    lockfile=Path("locks/app/linux-x86_64.txt"),
    build=Path("locks/build.txt"),
    pins={"a": "1.0", "b": "2.0+cpu"},
    digests=("sha256:0", "sha256:1"),
)
PINS = ("a==1.0", "b==2.0+cpu")


def lines(way: str, *found: str, failed: str = "") -> list[str]:
    return table(CELL, PINS, [Outcome(way=way, seconds=1.25, lines=found, failed=failed)])[2:]


def test_a_way_that_ends_with_the_pins_is_one_line() -> None:
    assert table(CELL, PINS, [])[:2] == [
        "app on linux-x86_64 with Python 3.12: 2 pins",
        "  way             packages  seconds",
    ]
    assert lines("pip", *PINS) == ["  pip                    2      1.2  the pins, line for line"]


@pytest.mark.parametrize(
    ("found", "differing"),
    [
        (("a==1.0",), ["- b==2.0+cpu"]),
        (("a==1.0", "b==2.0"), ["- b==2.0+cpu", "+ b==2.0"]),
        (("a==1.0", "b==2.0+cpu", "c==1.0"), ["+ c==1.0"]),
        (("a==1.0", "a==1.0", "b==2.0+cpu"), ["+ a==1.0"]),  # what an installer left behind twice
        ((), ["- a==1.0", "- b==2.0+cpu"]),
    ],
)
def test_what_differs_is_told_by_its_lines(found: tuple[str, ...], differing: list[str]) -> None:
    head, *rest = lines("pip-sync", *found)
    assert head.endswith("DIFFERS")
    assert [line.strip() for line in rest] == differing


def test_a_way_that_failed_says_why_and_lists_nothing() -> None:
    head, *rest = lines("bundle-uv", failed="it is damaged")
    assert head.endswith("FAILED")
    assert rest == ["    it is damaged"]


def test_the_docs_name_every_way() -> None:
    text = (Path(__file__).parents[3] / "docs" / "consumers.md").read_text(encoding="utf-8")
    assert [way for way in WAYS if f"`{way}`" not in text] == []
