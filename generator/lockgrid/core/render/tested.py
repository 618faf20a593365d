"""The report of a tested refresh, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lockgrid.errors import FailingError
from lockgrid.model.tested import Culprit, HoldEntry, State, TrialReport
from lockgrid.model.trial import Trial


def render_tested(tested: TrialReport) -> Iterator[str]:
    """What was tested, what is held back and why, what is held no longer; in lines."""
    yield f"tested with: {tested.command} ({runs_text(tested)})"
    for culprit in tested.culprits:
        yield from _culprit_lines(culprit)
    if tested.culprits and not tested.proposed:
        yield "nothing can move: every update has to be held back"
    for entry in tested.released:
        yield f"no longer held: {entry.text} ({entry.why})"
    for text in tested.moving:
        yield f"could not be held, since no resolution keeps it: {text}"
    for entry in tested.untried:
        yield f"still held, since nothing newer is to be had to try: {entry.text}"
    for trial in tested.flaky:
        yield f"flaky: it failed and passed when it was run again: {trial.why}"


def runs_text(tested: TrialReport) -> str:
    """How often the test was run: ``8 runs, 3 failures run again``."""
    parts = [_count(tested.runs, "run")]
    if tested.baseline is not None and not tested.baseline.remembered:
        parts.append("one of the locks as they stood")
    if tested.reruns:
        parts.append(f"{_count(tested.reruns, 'failure')} run again")
    if tested.remembered:
        parts.append(f"{_count(tested.remembered, 'verdict')} known from before")
    return ", ".join(parts)


def failing(tested: TrialReport) -> FailingError:
    """The error where the test fails and no update is to blame."""
    trial = tested.baseline if tested.state is State.BROKEN and tested.baseline else tested.trial
    why, log = (trial.why, trial.log) if trial else ("", "")
    tail = "".join(f"\n    {line}" for line in (trial.tail if trial else ()))
    if tested.state is State.BROKEN:
        what = f"the test fails on the locks as they stand, so no update is to blame: {why}{tail}"
        return FailingError(what, where=tested.command, next_step=f"nothing was changed; mend it first. See {log}")
    what = f"the test passes on the locks as they stand, and fails whatever update is held back: {why}{tail}"
    if tested.moving:
        what += f"\n  cannot be held, since no resolution keeps it: {', '.join(tested.moving)}"
    step = f"nothing was changed; is it what envs/ asks for since, or what builds a sdist? See {log}"
    return FailingError(what, where=tested.command, next_step=step)


def report_as_json(tested: TrialReport) -> dict[str, Any]:
    """The report for machines."""
    return {
        "command": tested.command,
        "state": str(tested.state),
        "runs": tested.runs,
        "reruns": tested.reruns,
        "remembered": tested.remembered,
        "resolutions": tested.resolutions,
        "proposed": list(tested.proposed),
        "culprits": [_culprit_values(culprit) for culprit in tested.culprits],
        "released": [_hold_values(entry) for entry in tested.released],
        "moving": list(tested.moving),
        "untried": [_hold_values(entry) for entry in tested.untried],
        "candidate": _trial_values(tested.trial),
        "baseline": _trial_values(tested.baseline),
        "flaky": [_trial_values(trial) for trial in tested.flaky],
    }


def _culprit_lines(culprit: Culprit) -> Iterator[str]:
    yield f"held back: {culprit.text}"
    if culprit.trial is not None:
        for case in culprit.trial.cases[:5]:
            yield f"  {case.text}"
        if not culprit.trial.cases:
            yield f"  {culprit.why}"
            yield from (f"    | {line}" for line in culprit.trial.tail[-8:])
        yield f"  all of its output: {culprit.trial.log}"
    else:
        yield f"  {culprit.why}"
    for entry in culprit.holds:
        since = f", since {entry.since}" if entry.since else ""
        yield f"  {'still held' if culprit.again else 'hold'}: {entry.text}{since}"


def _culprit_values(culprit: Culprit) -> dict[str, Any]:
    return {
        "text": culprit.text,
        "packages": list(culprit.packages),
        "why": culprit.why,
        "again": culprit.again,
        "holds": [_hold_values(entry) for entry in culprit.holds],
        "trial": _trial_values(culprit.trial),
    }


def _hold_values(entry: HoldEntry) -> dict[str, Any]:
    return {
        "file": entry.file,
        "package": entry.name,
        "version": entry.version,
        "why": entry.why,
        "since": entry.since.isoformat() if entry.since else None,
    }


def _trial_values(trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    return {
        "passed": trial.passed,
        "flaky": trial.flaky,
        "timed-out": trial.timed_out,
        "remembered": trial.remembered,
        "seconds": round(trial.seconds, 3),
        "why": trial.why,
        "cases": [{"environment": c.environment, "case": c.name, "message": c.message} for c in trial.cases],
        "tail": list(trial.tail),
        "log": trial.log,
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
