"""Errors say what happened, where, what to do next, and own their exit code."""

from __future__ import annotations

import pytest

from lockgrid.errors import HashMismatchError, InputError, LockgridError, Problem, ToolError, UnsatisfiableError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError([Problem(file="a", what="b")]), 2),
        (UnsatisfiableError("x"), 3),
        (ToolError("x"), 4),
        (HashMismatchError("x"), 4),
        (LockgridError("x"), 4),
    ],
)
def test_every_error_has_its_exit_code_and_one_base(error: LockgridError, code: int) -> None:
    assert isinstance(error, LockgridError)
    assert error.exit_code == code


@pytest.mark.parametrize(
    ("where", "next_step", "text"),
    [
        ("", "", "broke"),
        ("a.whl", "", "a.whl: broke"),
        ("", "mend it", "broke\n  next: mend it"),
        ("a.whl", "mend it", "a.whl: broke\n  next: mend it"),
    ],
)
def test_an_error_reads_as_where_what_and_next_step(where: str, next_step: str, text: str) -> None:
    assert str(ToolError("broke", where=where, next_step=next_step)) == text


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(file="f", what="w"), "f: w"),
        (Problem(file="f", key="k", what="w"), "f: k: w"),
        (Problem(file="f", key="k", what="w", hint="h"), "f: k: w (h)"),
    ],
)
def test_a_problem_reads_as_file_key_what_and_hint(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_wrong_input_holds_every_problem_once_sorted() -> None:
    b, a2, a1 = Problem(file="b", what="w"), Problem(file="a", key="y", what="w"), Problem(file="a", key="x", what="w")
    error = InputError([b, a2, a1, b], next_step="mend them")
    assert error.problems == (a1, a2, b)
    assert str(error) == "a: x: w\na: y: w\nb: w\n  next: mend them"
