"""Progress for people: one live line on a terminal, plain lines where there is none. All of it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from lockgrid.progress import Rate

# Between two plain lines about one transfer, in seconds.
_PAUSE = 20.0


class PlainProgress:
    """A line as each step begins; within a step nothing, so that logs stay short."""

    def __init__(self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._rate = Rate(clock)
        self._said = clock()

    def step(self, text: str) -> None:
        """A new step begins."""
        self._rate, self._said = Rate(self._clock), self._clock()
        if not self._quiet:
            print(text, file=self._stream, flush=True)

    def advance(self, done: int, total: int) -> None:
        """Plain lines do not count."""

    def transfer(self, done: int, total: int) -> None:
        """Now and then a line, for a transfer may take an hour."""
        text = self._rate.text(done, total)
        if not self._quiet and self._clock() - self._said >= _PAUSE:
            self._said = self._clock()
            print(f"  {text}", file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """A line that stays."""
        print(f"note: {text}", file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing to take down."""


class LiveProgress:
    """A spinner with the step and its count, redrawn in place (rich)."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._text = ""
        self._rate = Rate(time.monotonic)
        self._status = self._console.status("")
        self._status.start()

    def step(self, text: str) -> None:
        """A new step begins."""
        from rich.markup import escape

        self._text = escape(text)
        self._rate = Rate(time.monotonic)
        self._status.update(self._text)

    def advance(self, done: int, total: int) -> None:
        """How many of how many."""
        self._status.update(f"{self._text} [dim]{done}/{total}[/dim]")

    def transfer(self, done: int, total: int) -> None:
        """How many bytes of how many, and how long the rest takes."""
        self._status.update(f"{self._text} [dim]{self._rate.text(done, total)}[/dim]")

    def note(self, text: str) -> None:
        """A line that stays, above the spinner."""
        self._console.print(f"note: {text}", markup=False, highlight=False)

    def close(self) -> None:
        """Take the spinner down."""
        self._status.stop()


def open_progress(*, quiet: bool) -> PlainProgress | LiveProgress:
    """The kind of progress that suits stderr."""
    if not quiet and sys.stderr.isatty():
        return LiveProgress(sys.stderr)
    return PlainProgress(sys.stderr, quiet=quiet)
