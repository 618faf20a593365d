"""How much of a transfer is done and how long the rest takes."""

from __future__ import annotations

import io

import pytest

from lockgrid.progress import Rate, duration
from lockgrid.terminal import PlainProgress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_that_of_the_bytes_that_came_since_the_beginning() -> None:
    clock = Clock()
    rate = Rate(clock)
    assert rate.text(100_000_000, 300_000_000) == "100 of 300 MB"  # were there: no speed yet
    clock.now += 0.5
    assert rate.text(101_000_000, 300_000_000) == "101 of 300 MB"  # too soon to tell
    clock.now += 9.5
    assert rate.text(150_000_000, 300_000_000) == "150 of 300 MB, 30 s left"
    clock.now += 10
    assert rate.text(300_000_000, 300_000_000) == "300 of 300 MB, 0 s left"


def test_without_a_total_or_a_speed_only_bytes_are_told() -> None:
    clock = Clock()
    rate = Rate(clock)
    rate.text(0, 0)
    clock.now += 10
    assert rate.text(1_234_567, 0) == "1.2 MB"
    assert Rate(clock).text(0, 50_000_000) == "0.0 of 50 MB"


def test_what_is_begun_anew_counts_from_there() -> None:
    clock = Clock()
    rate = Rate(clock)
    rate.text(50_000_000, 100_000_000)
    clock.now += 10
    rate.text(0, 100_000_000)
    clock.now += 10
    assert rate.text(50_000_000, 100_000_000) == "50 of 100 MB, 10 s left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (3601, "61 min"), (5400, "1 h 30 min"), (7260, "2 h 1 min")],
)
def test_a_duration_is_never_told_too_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines_tell_of_a_transfer_now_and_then() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = PlainProgress(stream, clock=clock)
    progress.step("downloading")
    for second in range(60):
        clock.now += 1
        progress.transfer(second * 1_000_000, 100_000_000)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "downloading"
    assert lines[1:] == ["  19 of 100 MB, 81 s left", "  39 of 100 MB, 61 s left", "  59 of 100 MB, 41 s left"]
    quiet = io.StringIO()
    PlainProgress(quiet, quiet=True, clock=clock).transfer(1, 2)
    assert quiet.getvalue() == ""
