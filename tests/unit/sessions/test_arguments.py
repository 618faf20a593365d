"""What a session takes for itself, and what it hands to pytest."""

from __future__ import annotations

import pytest

from sessions.arguments import Arguments, parse
from sessions.failure import Failure


def test_without_arguments_the_session_chooses() -> None:
    assert parse([]) == Arguments(python=None, report=None, require_all=False, upstream=False, pytest=())


def test_the_session_takes_its_own_wherever_they_stand() -> None:
    given = ["-k", "mlp", "--python", "3.12", "-x", "--report=out.json", "--upstream", "--require-all"]
    assert parse(given) == Arguments("3.12", "out.json", require_all=True, upstream=True, pytest=("-k", "mlp", "-x"))


def test_the_rest_reaches_pytest_unchanged_and_in_order() -> None:
    rest = ["-k", "not (conv or mlp)", "-q", "--maxfail=1", "-p", "no:terminal", "a.py::test[x-1]", "--durations", "3"]
    assert parse([*rest, "--upstream"]).pytest == tuple(rest)


@pytest.mark.parametrize("shortened", ["--pyth", "--rep", "--require", "--up"])
def test_an_argument_of_pytest_is_never_taken_for_a_shortened_one_of_the_session(shortened: str) -> None:
    assert parse([shortened]).pytest == (shortened,)


@pytest.mark.parametrize("given", [["--python"], ["--report"], ["--report", "--upstream"], ["--upstream=yes"]])
def test_a_wrong_argument_is_told_with_the_usage(given: list[str]) -> None:
    with pytest.raises(Failure, match="usage: nox -s BACKEND") as caught:
        parse(given)
    assert caught.value.stage == "arguments"
    assert given[0].partition("=")[0] in caught.value.message
