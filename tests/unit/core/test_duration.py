"""Lengths of time as uv writes them, and the cool-down that ``targets.toml`` states with them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.digest import digest_inputs
from lockgrid.core.duration import parse_duration
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError
from lockgrid.model.spec import Spec
from unit.builders import TARGETS

APP = 'requires = ["a"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 days", timedelta(days=7)),
        ("1 day", timedelta(days=1)),
        ("0 days", timedelta()),
        ("2 weeks", timedelta(days=14)),
        ("24 hours", timedelta(days=1)),
        ("36h", timedelta(hours=36)),
        ("7d", timedelta(days=7)),
        ("1w", timedelta(days=7)),
        ("90 minutes", timedelta(minutes=90)),
        ("1 week 2 days, 12 hours", timedelta(days=9, hours=12)),
        ("1d12h", timedelta(hours=36)),
        ("  7 Days ", timedelta(days=7)),
        ("P7D", timedelta(days=7)),
        ("p1w", timedelta(days=7)),
        ("PT24H", timedelta(days=1)),
        ("P1DT12H30M", timedelta(hours=36, minutes=30)),
        ("P0D", timedelta()),
    ],
)
def test_a_length_of_time_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "7", "days", "a week", "-7 days", "7 dayz", "7 days ago", "1 month", "1y", "P", "PT", "P1M", "P1Y"),
        *("P7", "7days8", "1.5 days", "7 days,", "7d P1D", "99999999 days"),
    ],
)
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time"):
        parse_duration(text)


@given(*(st.integers(0, 9999) for _ in range(4)))
def test_both_ways_to_write_it_mean_the_same(weeks: int, days: int, hours: int, minutes: int) -> None:
    words = f"{weeks} weeks {days} days {hours} hours {minutes} minutes"
    assert parse_duration(words) == parse_duration(f"P{weeks}W{days}DT{hours}H{minutes}M")
    assert parse_duration(words) == timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)


def spec(targets: str) -> Spec:
    return parse_spec({"envs/targets.toml": targets + TARGETS, "envs/app.toml": APP})


def with_exceptions(*lines: str) -> str:
    return TARGETS + "[cooldown-exceptions]\n" + "\n".join(lines)


def test_exceptions_are_read_and_age_no_lock() -> None:
    text = with_exceptions(
        'Torch_X = { cooldown = "0 days", why = "a leak", until = 2026-12-31 }',
        'b = { cooldown = "P30D", why = "often broken", until = 2027-01-01 }',
    )
    found = parse_spec({"envs/targets.toml": 'cooldown = "1 week"\n' + text, "envs/app.toml": APP})
    assert found.cooldown == timedelta(days=7)
    assert [(e.name, e.cooldown, e.why, e.until) for e in found.exceptions] == [
        ("b", timedelta(days=30), "often broken", date(2027, 1, 1)),
        ("torch-x", timedelta(), "a leak", date(2026, 12, 31)),
    ]
    assert digest_inputs(found) == digest_inputs(spec(""))
    assert spec("").cooldown is None


@pytest.mark.parametrize(
    ("line", "key", "what"),
    [
        ('a = { cooldown = "soon", why = "x", until = 2026-12-31 }', "a.cooldown", "'soon' is no length of time"),
        ('a = { cooldown = "1 day", why = " ", until = 2026-12-31 }', "a.why", "an exception needs a reason"),
        ('a = { cooldown = "1 day", until = 2026-12-31 }', "a.why", "this key is missing"),
        ('a = { cooldown = "1 day", why = "x" }', "a.until", "this key is missing"),
        ('a = { cooldown = "1 day", why = "x", until = "2026-12-31" }', "a.until", "must be a date"),
        ('a = { cooldown = "1 day", why = "x", until = 2026-12-31T00:00:00Z }', "a.until", "must be a date without"),
        ('a = { why = "x", until = 2026-12-31 }', "a.cooldown", "this key is missing"),
        ('a = { cooldown = 7, why = "x", until = 2026-12-31 }', "a.cooldown", "must be a string"),
        ('a = { cooldown = "1 day", why = "x", until = 2026-12-31, x = 1 }', "a.x", "unknown key"),
        ('"a b" = { cooldown = "1 day", why = "x", until = 2026-12-31 }', "a b", "'a b' is no name of a package"),
        ("a = 7", "a", "must be a table"),
    ],
)
def test_a_wrong_exception_is_told_once_with_its_key(line: str, key: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec({"envs/targets.toml": with_exceptions(line), "envs/app.toml": APP})
    (problem,) = caught.value.problems
    assert (problem.file, problem.key) == ("envs/targets.toml", f"cooldown-exceptions.{key}")
    assert problem.what.startswith(what)


def test_a_package_that_stands_there_twice_is_told() -> None:
    entry = '= { cooldown = "1 day", why = "x", until = 2026-12-31 }'
    with pytest.raises(InputError, match="stands there twice"):
        parse_spec({"envs/targets.toml": with_exceptions(f"a-b {entry}", f"A_b {entry}"), "envs/app.toml": APP})
