"""What a run tells: the versions at its top, the figures at its end, and a JSON file for machines.

A pytest plugin of hooks and one fixture, for the flows and for upstream's own tests alike.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

# Distributions that decide a result. Those that are missing from a venv belong to other backends.
_DECISIVE = (
    "executorch",
    "torch",
    "torchao",
    "tosa-tools",
    "ethos-u-vela",
    "ai-ml-sdk-model-converter",
    "ai-ml-emulation-layer-for-vulkan",
    "ai-ml-sdk-scenario-runner",
)
_LONGEST_MESSAGE = 4000

Report = Callable[..., None]
_LINES = pytest.StashKey[list[str]]()
_CASES = pytest.StashKey[dict[str, dict[str, Any]]]()
_BEGAN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--report FILE`, and `--require-all` for those who set a machine up to run everything."""
    group = parser.getgroup("flows")
    group.addoption("--report", metavar="FILE", help="write the cases with their figures to FILE, as JSON")
    group.addoption(
        "--require-all",
        action="store_true",
        help="fail where a part of a flow cannot run on this machine, instead of reporting it as not run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start with no figures."""
    config.stash[_LINES] = []
    config.stash[_CASES] = {}
    config.stash[_BEGAN] = time.perf_counter()


def versions() -> dict[str, str]:
    """The decisive distributions of this venv with their versions."""
    found = {}
    for name in _DECISIVE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def pytest_report_header() -> str:
    """One line that names what is tested."""
    return f"flow: {', '.join(f'{name} {version}' for name, version in versions().items())}"


@pytest.fixture
def report(request: pytest.FixtureRequest, record_property: Callable[..., None]) -> Report:
    """A function `report(line, **figures)`.

    The line is shown at the end of the run, with or without -s; the figures become properties of the test in
    a JUnit report and in that of `--report`. Call it before asserting: the figures matter most when a test
    fails.
    """

    def _report(line: str, **figures: float | int | str) -> None:
        request.config.stash[_LINES].append(line)
        for name, value in figures.items():
            record_property(name, value)

    return _report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure the memory of each case by itself, where the system allows it."""
    _forget_peak()
    try:
        return (yield)  # type: ignore[return-value]
    finally:
        case = item.config.stash[_CASES].get(item.nodeid)
        if case is not None:
            case["peak_memory_bytes"] = peak_memory()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Open the case; its outcome follows with the report itself."""
    item.config.stash[_CASES].setdefault(
        item.nodeid, {"case": item.nodeid, "outcome": "passed", "seconds": 0.0, "figures": {}}
    )
    item.config.stash[_CASES][item.nodeid]["seconds"] += call.duration


class _Outcomes:
    """Collects outcomes; a plugin of its own since this hook is not told of the configuration."""

    def __init__(self, cases: dict[str, dict[str, Any]]) -> None:
        self.cases = cases

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, call and tear-down of one case: the worst of the three is its outcome."""
        case = self.cases.get(report.nodeid)
        if case is None:
            return
        case["figures"].update(report.user_properties)
        if report.passed and not hasattr(report, "wasxfail"):
            return
        if hasattr(report, "wasxfail"):
            outcome, message = ("xfailed" if report.skipped else "xpassed"), str(report.wasxfail)
        elif report.skipped:
            outcome, message = "skipped", _skip_reason(report)
        else:
            outcome, message = ("failed" if report.when == "call" else "error"), report.longreprtext
        if case["outcome"] not in ("failed", "error"):
            case["outcome"], case["message"] = outcome, message[-_LONGEST_MESSAGE:]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported is a case, too."""
        if report.failed:
            case = {"case": report.nodeid, "outcome": "error", "seconds": 0.0, "figures": {}}
            self.cases.setdefault(report.nodeid, case | {"message": report.longreprtext[-_LONGEST_MESSAGE:]})


def _skip_reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to collect."""
    session.config.pluginmanager.register(_Outcomes(session.config.stash[_CASES]))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report, in whole or not at all."""
    path = session.config.getoption("--report")
    if not path:
        return
    cases = list(session.config.stash[_CASES].values())
    for case in cases:
        case["seconds"] = round(case["seconds"], 3)
    result = {
        "exit_status": int(exitstatus),
        "python": ".".join(map(str, sys.version_info[:3])),
        "versions": versions(),
        "seconds": round(time.perf_counter() - session.config.stash[_BEGAN], 3),
        "peak_memory_bytes": max((c.get("peak_memory_bytes") or 0 for c in cases), default=0) or None,
        "cases": cases,
    }
    file = Path(path)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(json.dumps(result, indent=2, default=str) + "\n", encoding="utf-8")
    beside.replace(file)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figures of all cases, one line each."""
    lines = config.stash[_LINES]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.line(line)


def _forget_peak() -> None:
    """Let the kernel measure this process's peak anew (Linux, proc(5)); elsewhere peaks only rise."""
    if sys.platform == "linux":
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return


def peak_memory() -> int | None:
    """The most memory that this process held, in bytes: since `_forget_peak`, or ever. None where none can tell."""
    if sys.platform == "linux":
        try:
            status = Path("/proc/self/status").read_text(encoding="ascii")
        except OSError:
            return None
        line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "")
        return int(line.split()[1]) * 1024 if line else None
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)  # getrusage(2): bytes there, kilobytes elsewhere
