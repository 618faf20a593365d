"""What a person sees while lockgrid works: an interface here, a terminal or plain lines in ``cli``."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Protocol


class Progress(Protocol):
    """Told of each step as it begins, and of how many of how many are done within it."""

    def step(self, text: str) -> None:
        """A new step begins."""

    def advance(self, done: int, total: int) -> None:
        """Within the step, ``done`` of ``total`` are done."""

    def transfer(self, done: int, total: int) -> None:
        """Within the step, ``done`` of ``total`` bytes are here; ``total`` is 0 where nobody knows it."""

    def note(self, text: str) -> None:
        """Something that should stay readable after the run."""


class Rate:
    """How fast bytes come and how long the rest takes; ``clock`` gives seconds, from any moment on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: tuple[float, int] | None = None

    def text(self, done: int, total: int) -> str:
        """``120 of 300 MB, 40 s left``. What was there at the first call counts as done, and not as speed."""
        now = self._clock()
        if self._began is None or done < self._began[1]:
            self._began = now, done
        seconds, came = now - self._began[0], done - self._began[1]
        size = f"{_megabytes(done)} of {_megabytes(total)} MB" if total else f"{_megabytes(done)} MB"
        if not total or seconds < _SOON or came <= 0:
            return size
        return f"{size}, {duration(seconds * max(0, total - done) / came)} left"


# Before so many seconds no speed is told: the first bytes come from buffers.
_SOON = 1.0


def duration(seconds: float) -> str:
    """``40 s``, ``3 min``, ``2 h 5 min``; never too little."""
    whole = ceil(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes = ceil(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f}" if size >= 10_000_000 else f"{size / 1e6:.1f}"
