"""What a run of upstream's tests tells: which cases need something that is not here, and which fail.

A pytest plugin, used together with flow_report; see upstream.py.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import flow_report

_LONGEST_REASON = 200


@dataclass(frozen=True)
class Need:
    r"""Something that a test may need: `what`, and the exception by which upstream tells that it is missing.

    `raises` is the exception's class by its bare name, `text` a regular expression for the start of its message,
    whose groups `what` may name as \1.
    """

    what: str
    raises: str
    text: str

    def told_by(self, error: BaseException) -> str | None:
        """What is missing, if this very exception says so; the same class with another message does not."""
        if type(error).__name__ != self.raises:
            return None
        found = re.match(self.text, _message(error), re.DOTALL)
        return found.expand(self.what) if found else None


@dataclass(frozen=True)
class Rules:
    """How a case that did not pass is judged.

    `excuses` are regular expressions for the reasons of upstream's xfail marks that mean a missing tool and no
    defect. `deselect` has a reason for each case that is left out.
    """

    needs: Sequence[Need] = ()
    excuses: Sequence[str] = ()
    deselect: Mapping[str, str] = field(default_factory=dict)


class Upstream:
    """A pytest plugin: tells what a case needs apart from what fails, and refuses a run in which nothing passes."""

    def __init__(self, rules: Rules, site: Path, work: Path, each: int = 0) -> None:
        self.rules = rules
        self.site = site
        self.work = work
        self.each = each
        self.passed = 0
        self.lines: dict[str, set[str]] = {}  # the cases of each line of the closing section

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Show the files as the wheel has them, and not relative to the folder that pytest was started in."""
        config.invocation_params = dataclasses.replace(config.invocation_params, dir=self.site)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Let the tests write where they harm nothing, once pytest has read the paths that it was given."""
        os.chdir(self.work)

    def pytest_report_header(self) -> str | None:
        """Say when not everything is run."""
        return f"upstream: at most {self.each} cases of each test, --all for all of them" if self.each else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep `each` cases of a test, spread evenly over its parameters."""
        if not self.each:
            return
        tests = defaultdict(list)
        for item in items:
            tests[item.nodeid.partition("[")[0]].append(item)
        kept = {item for cases in tests.values() for item in spread(cases, self.each)}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Judge the exception itself: an xfail mark of upstream's takes any FileNotFoundError for a missing FVP."""
        report: Any = yield
        if call.excinfo is not None:
            self._judge(report, call.excinfo.value, bool(item.config.getoption("--require-all")))
        return report  # type: ignore[return-value]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """A module that cannot be imported for want of a package has a case of its own in the report."""
        report: Any = yield
        excinfo = report.call.excinfo if hasattr(report, "call") else None
        if excinfo is not None:
            # pytest wraps an ImportError in an error of its own
            error = excinfo.value.__cause__ or excinfo.value
            self._judge(report, error, bool(collector.config.getoption("--require-all")))
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            case = {"case": report.nodeid, "outcome": "skipped" if report.skipped else "error", "seconds": 0.0}
            message = reason.removeprefix("Skipped: ")[-4000:]
            collector.config.stash[flow_report._CASES][report.nodeid] = {**case, "figures": {}, "message": message}
        return report  # type: ignore[return-value]

    def _judge(self, report: Any, error: BaseException, require_all: bool) -> None:
        """Give the report of a case that did not pass the outcome and the reason that its exception tells."""
        need = next(filter(None, (need.told_by(error) for need in self.rules.needs)), None)
        excused = getattr(report, "wasxfail", None)
        if need is not None:
            mark = f" (upstream: {excused})" if excused and _message(error) not in excused else ""
            reason = f"needs {need}{mark}: {_first_line(error)}"
            vars(report).pop("wasxfail", None)
            if require_all:
                report.outcome, report.longrepr = "failed", f"{reason}\n(refused by --require-all)"
            else:
                report.outcome, report.longrepr = "skipped", (report.nodeid.partition("::")[0], 0, f"Skipped: {reason}")
                self._count(f"needs {need}{mark}", report.nodeid)
        elif report.skipped and excused and any(re.match(text, excused) for text in self.rules.excuses):
            # the mark is for a missing tool alone, and this is something else
            del report.wasxfail
            report.outcome = "failed"
        elif report.skipped and excused is not None:
            self._count(f"upstream expects it to fail: {excused or 'no reason given'}", report.nodeid)
        elif report.skipped:
            self._count(f"upstream skips it: {_first_line(error)}", report.nodeid)

    def _count(self, line: str, case: str) -> None:
        self.lines.setdefault(line[:_LONGEST_REASON], set()).add(case)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what passed."""
        self.passed += report.when == "call" and report.passed

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Tell what upstream.toml leaves out; what -k leaves out is in pytest's own count."""
        for item in items:
            for case, why in self.rules.deselect.items():
                if item.nodeid.startswith(case):
                    self._count(f"left out by upstream.toml: {why}", item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """A run that only skips is no success."""
        result = yield
        if session.testscollected and not self.passed and not session.config.option.collectonly:
            raise session.Failed("nothing passed")
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Say what was not run to its end, and why: one line each reason."""
        if self.lines:
            terminalreporter.section("needs what is not here, or is known upstream")
            for line, cases in sorted(self.lines.items(), key=_needs_first):
                terminalreporter.line(f"{len(cases):5} {line}")
        if not self.passed and not config.option.collectonly:
            terminalreporter.line("nothing passed: a run that proves nothing is a failed run", red=True)


def spread(cases: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """At most so many of the cases, the first among them, at even distances."""
    count = min(most, len(cases))
    return [cases[place * len(cases) // count] for place in range(count)]


def _needs_first(line: tuple[str, set[str]]) -> tuple[bool, int, str]:
    return not line[0].startswith("needs "), -len(line[1]), line[0]


def _message(error: BaseException) -> str:
    """pytest's own outcomes (a skip, an xfail) say nothing by str(), but have a `msg`."""
    text = error.msg if isinstance(error, pytest.skip.Exception | pytest.fail.Exception) else None
    return str(error) if text is None else str(text)


def _first_line(error: BaseException) -> str:
    return (_message(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST_REASON]
