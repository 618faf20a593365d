"""Conflict markers: taken apart into the sides that were merged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.conflict import conflict_line, take_apart
from lockgrid.errors import InputError

PLAIN = "a\n<<<<<<< HEAD\nb\n=======\nc\nd\n>>>>>>> other\ne\n"
DIFF3 = "<<<<<<< HEAD\nb\n||||||| 1234567\nx\n=======\n>>>>>>> other\n"


def test_the_sides_of_a_conflict() -> None:
    parts = take_apart("f", PLAIN)
    assert parts is not None
    assert (parts.ours, parts.theirs, parts.sides.base) == ("a\nb\ne\n", "a\nc\nd\ne\n", None)
    assert [hunk.line for hunk in parts.hunks] == [2]


def test_the_base_where_the_markers_tell() -> None:
    parts = take_apart("f", DIFF3)
    assert parts is not None
    assert (parts.ours, parts.theirs, parts.sides.base) == ("b\n", "", "x\n")


def test_each_conflict_can_be_decided_by_itself() -> None:
    parts = take_apart("f", PLAIN + PLAIN)
    assert parts is not None
    first, second = parts.hunks
    assert parts.text([first]) == "a\nc\nd\ne\na\nb\ne\n"
    assert parts.text([second]) == "a\nb\ne\na\nc\nd\ne\n"
    assert second.line == 10


def test_line_endings_are_kept() -> None:
    parts = take_apart("f", PLAIN.replace("\n", "\r\n"))
    assert parts is not None
    assert parts.theirs == "a\r\nc\r\nd\r\ne\r\n"


@pytest.mark.parametrize(
    "text", ["", "a\n=======\nb\n", "# <<<<<<< HEAD\n", "<<<<<<<<\n", "x = '<<<<<<<'\n>>>>>>> x\n"]
)
def test_what_is_no_conflict(text: str) -> None:
    assert conflict_line(text) is None
    assert take_apart("f", text) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<<<<<<< a\nb\n", 1),
        ("<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> c\n", 2),
        ("x\n<<<<<<< a\n=======\n=======\n>>>>>>> c\n", 4),
        ("<<<<<<< a\n>>>>>>> c\n", 2),
        ("<<<<<<< a\n=======\n||||||| c\n>>>>>>> d\n", 3),
    ],
)
def test_markers_that_do_not_pair_are_named(text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"f: line {line}: a conflict marker that does not pair"):
        take_apart("f", text)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "=\n", "\n"]), max_size=4).map("".join)


@given(st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=4), LINES)
def test_what_was_put_together_comes_apart(hunks: list[tuple[str, str, str]], tail: str) -> None:
    text = "".join(f"{shared}<<<<<<< x\n{ours}=======\n{theirs}>>>>>>> y\n" for shared, ours, theirs in hunks) + tail
    parts = take_apart("f", text)
    assert parts is not None
    assert parts.ours == "".join(shared + ours for shared, ours, _ in hunks) + tail
    assert parts.theirs == "".join(shared + theirs for shared, _, theirs in hunks) + tail
