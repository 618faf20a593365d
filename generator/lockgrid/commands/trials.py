"""Runs the test command of ``refresh --test`` on candidates, and remembers what came of it."""

from __future__ import annotations

import json
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.scratch import Scratch
from lockgrid.adapters.trial import Ran, run_command
from lockgrid.commands.context import Context
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.results import failed_cases, last_lines
from lockgrid.model.trial import Case, Trial
from lockgrid.progress import duration

RESULTS = "LOCKGRID_RESULTS"
# Numbered by what is kept, and by what the key is made of.
_KIND = "trial-1"
# A test may depend on more than the project: what came of it is believed for so long.
_BELIEVED_SECONDS = 30 * 86400.0
_LOG_BYTES = 4_000_000


@dataclass(slots=True, kw_only=True)
class Trials:
    """Tests sets of files. ``command`` is the words to run and ``timeout`` the seconds that one run may take.

    ``anew``: what earlier runs found is not believed. ``runs`` counts tests that were run, ``reruns`` those that were
    run again since the first had failed, ``remembered`` verdicts that were known.
    """

    context: Context
    scratch: Scratch
    cache: Cache
    command: tuple[str, ...]
    timeout: float | None = None
    anew: bool = False
    runs: int = 0
    reruns: int = 0
    remembered: int = 0
    flaky: list[Trial] = field(default_factory=list)
    _known: dict[str, Trial] = field(default_factory=dict)
    _started: int = 0

    def judge(self, texts: Mapping[str, str], removed: tuple[str, ...], what: str, *, counted: bool = True) -> Trial:
        """The verdict on the project with ``texts`` in place of its own, and without ``removed``.

        ``what`` says in a few words what is tested; ``counted`` False: it is none of the ``runs``. A failure is run
        again before it counts. Raises ``ToolError`` where the copy cannot be made or the command not be started.
        """
        self.scratch.prepare(texts, removed)
        key = self._key()
        trial = self._known.get(key) or self._recalled(key)
        if trial is not None:
            self.remembered += 1
            trial = replace(trial, remembered=True)
        else:
            self.runs += counted
            self.context.progress.step(f"testing {what}")
            trial = self._run()
            if not trial.passed:
                self.reruns += 1
                self.context.progress.step(f"testing {what} again, since it failed")
                trial = _both(trial, self._run_again(texts, removed))
            if trial.flaky:
                self.flaky.append(trial)
            if not trial.timed_out:
                self.cache.put(_KIND, {key: _encode(trial)}, now=self.context.clock())
        self._known[key] = trial
        self.context.progress.note(_told(trial, what))
        return trial

    def _run_again(self, texts: Mapping[str, str], removed: tuple[str, ...]) -> Trial:
        self.scratch.prepare(texts, removed)  # without what the first run left
        return self._run()

    def _run(self) -> Trial:
        self._started += 1
        now = datetime.fromtimestamp(self.context.clock(), UTC)
        log = self.scratch.new_log(f"{now:%Y%m%dT%H%M%SZ}-{self._started:03}")
        results = self.scratch.empty_results()
        environ = {**self.context.environ, RESULTS: str(results)}
        ran = run_command(self.command, self.scratch.folder, log, environ, self.timeout)
        if ran.code == 0 and not ran.timed_out:
            return Trial(passed=True, seconds=ran.seconds, log=str(log))
        cases, tail = failed_cases(self.scratch.result_files()), last_lines(_end_of(log))
        return Trial(
            passed=False,
            seconds=ran.seconds,
            why=_why(ran, cases, tail),
            cases=cases,
            tail=tail,
            log=str(log),
            timed_out=ran.timed_out,
        )

    def _key(self) -> str:
        """What a verdict hangs on: the command, this machine, and the files as far as they have a meaning for it."""
        machine = [platform.system(), platform.machine(), platform.node()]
        files = self.scratch.digest(_essence)
        return sha256(json.dumps([self.command, machine, str(self.scratch.project), files]).encode()).hexdigest()

    def _recalled(self, key: str) -> Trial | None:
        if self.anew:
            return None
        newer_than = self.context.clock() - _BELIEVED_SECONDS
        value = self.cache.get(_KIND, [key], newer_than=newer_than).get(key)
        return _decode(value) if value else None


def _essence(path: str, data: bytes) -> bytes | None:
    """All but the grid, whose cut-off moves with every run, and holds: what they do is seen in the lockfiles."""
    if path == GRID:
        return None
    if path.startswith("envs/") and path.endswith(".toml"):
        try:
            table = tomllib.loads(data.decode())
        except ValueError:
            return data
        table.pop("hold", None)
        return json.dumps(table, sort_keys=True, default=str).encode()
    return data


def _both(first: Trial, second: Trial) -> Trial:
    """What two runs of the same test say."""
    seconds = first.seconds + second.seconds
    if second.passed:
        return replace(first, passed=True, flaky=True, seconds=seconds)
    return replace(second, seconds=seconds, timed_out=first.timed_out or second.timed_out)


def _why(ran: Ran, cases: tuple[Case, ...], tail: tuple[str, ...]) -> str:
    """One clause for people."""
    if ran.timed_out:
        return f"it took more than {duration(ran.seconds)} and was ended"
    if cases:
        more = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
        return f"{cases[0].text}{more}"
    ended = f"signal {-ran.code}" if ran.code < 0 else f"exit code {ran.code}"
    return f"{ended}: {tail[-1].strip()}" if tail else ended


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_BYTES))
        return file.read().decode("utf-8", errors="replace")


def _told(trial: Trial, what: str) -> str:
    verdict = "passed, but only when it was run again" if trial.flaky else "passed" if trial.passed else "FAILED"
    known = ", as before on the same bytes" if trial.remembered else f" in {duration(trial.seconds)}"
    said = f"test: {what}: {verdict}{known}"
    return said if trial.passed and not trial.flaky else f"{said}: {trial.why}\n  all of its output: {trial.log}"


def _encode(trial: Trial) -> bytes:
    cases = [[case.name, case.message, case.environment] for case in trial.cases]
    values = [trial.passed, trial.seconds, trial.why, cases, trial.tail, trial.log, trial.flaky]
    return json.dumps(values).encode()


def _decode(value: bytes) -> Trial:
    """The inverse of ``_encode``."""
    passed, seconds, why, cases, tail, log, flaky = json.loads(value)
    read: list[tuple[Any, Any, Any]] = [tuple(case) for case in cases]
    return Trial(
        passed=passed,
        seconds=seconds,
        why=why,
        cases=tuple(Case(name=name, message=message, environment=environment) for name, message, environment in read),
        tail=tuple(tail),
        log=log,
        flaky=flaky,
    )
