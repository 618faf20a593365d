"""What a person sees while lockgrid works: an interface here, a terminal or plain lines in ``cli``."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of each step as it begins, and of how many of how many are done within it."""

    def step(self, text: str) -> None:
        """A new step begins."""

    def advance(self, done: int, total: int) -> None:
        """Within the step, ``done`` of ``total`` are done."""

    def note(self, text: str) -> None:
        """Something that should stay readable after the run."""
