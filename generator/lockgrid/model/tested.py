"""What a tested refresh came to: which updates are proposed, which are held back, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from packaging.utils import NormalizedName

from lockgrid.model.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldEntry:
    """One ``[hold]`` of a file: ``version`` is a specifier, ``since`` the day on which it was written, if it says."""

    file: str
    name: NormalizedName
    version: str
    why: str
    since: date | None = None

    @property
    def text(self) -> str:
        """``narwhals <2.30 in envs/tosa.toml``."""
        return f"{self.name} {self.version} in {self.file}"


class State(StrEnum):
    """What came of it.

    ``NOTHING``: nothing moves. ``PASSED``: every update. ``HELD``: some updates are held back, be it all of them.
    ``BROKEN``: the test fails on the locks as they stand. ``UNBLAMED``: it fails whatever is held back.
    """

    NOTHING = "nothing to do"
    PASSED = "passed"
    HELD = "held"
    BROKEN = "broken before"
    UNBLAMED = "no update to blame"


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """Updates that had to be held back, since they belong together: ``text`` names them.

    ``trial`` is the run that failed with them and without all other culprits; None where they could not be resolved
    together. ``holds`` are the entries that hold them, which ``again`` says were there before.
    """

    text: str
    packages: tuple[str, ...]
    why: str
    holds: tuple[HoldEntry, ...]
    trial: Trial | None = None
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReport:
    """The report of a run. ``proposed`` are the updates that passed together, as ``torch 2.12.0 -> 2.13.0``.

    ``released`` are holds that were no longer needed and are removed, ``untried`` those of which nothing newer was to
    be had. ``moving`` are updates that could not be held: no resolution keeps what they leave. ``runs`` of the test do
    not count ``reruns`` of a failure and the one of ``baseline``, the locks as they stand; ``remembered`` are verdicts
    on bytes that were tested before, in this run or an earlier one.
    """

    command: str
    state: State
    proposed: tuple[str, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    released: tuple[HoldEntry, ...] = ()
    untried: tuple[HoldEntry, ...] = ()
    moving: tuple[str, ...] = ()
    trial: Trial | None = None
    baseline: Trial | None = None
    flaky: tuple[Trial, ...] = ()
    runs: int = 0
    reruns: int = 0
    remembered: int = 0
    resolutions: int = 0
