"""What came of running a test command on a set of locks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case that failed. ``environment`` is empty where the result file does not say it."""

    name: str
    message: str = ""
    environment: str = ""

    @property
    def text(self) -> str:
        """``tosa: test_flow[attn-INT]: 3 steps off``, what there is of it."""
        return ": ".join(part for part in (self.environment, self.name, self.message) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of the test command, or two where the first failed. ``seconds`` are those of all its runs.

    ``why`` says in one clause why it failed. ``cases`` are those that failed, ``tail`` the last lines of the output
    and ``log`` the file with all of it. ``flaky``: it failed, and passed when it was run again; ``cases`` and ``log``
    are those of the failure. ``remembered``: the verdict is that of an earlier run on the same bytes.
    """

    passed: bool
    seconds: float = 0.0
    why: str = ""
    cases: tuple[Case, ...] = ()
    tail: tuple[str, ...] = ()
    log: str = ""
    flaky: bool = False
    timed_out: bool = False
    remembered: bool = False

    @property
    def environments(self) -> frozenset[str]:
        """The environments whose test failed, none where nobody says so."""
        return frozenset(case.environment for case in self.cases if case.environment)
