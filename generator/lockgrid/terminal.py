"""Progress for people: one live line on a terminal, plain lines where there is none. All of it on stderr."""

from __future__ import annotations

import sys
from typing import TextIO


class PlainProgress:
    """A line as each step begins; within a step nothing, so that logs stay short."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet

    def step(self, text: str) -> None:
        """A new step begins."""
        if not self._quiet:
            print(text, file=self._stream, flush=True)

    def advance(self, done: int, total: int) -> None:
        """Plain lines do not count."""

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
        self._status = self._console.status("")
        self._status.start()

    def step(self, text: str) -> None:
        """A new step begins."""
        from rich.markup import escape

        self._text = escape(text)
        self._status.update(self._text)

    def advance(self, done: int, total: int) -> None:
        """How many of how many."""
        self._status.update(f"{self._text} [dim]{done}/{total}[/dim]")

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
