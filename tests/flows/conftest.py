"""What all flow tests share: the versions at the top of a report, the figures at its end."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

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
_FIGURES = pytest.StashKey[list[str]]()

Report = Callable[..., None]


def _version(distribution: str) -> str | None:
    """The installed version of a distribution, None when it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def pytest_configure(config: pytest.Config) -> None:
    """Start with no figures."""
    config.stash[_FIGURES] = []


def pytest_report_header() -> str:
    """One line that names what was tested."""
    found = [f"{name} {version}" for name in _DECISIVE if (version := _version(name))]
    return f"flow: {', '.join(found)}"


@pytest.fixture
def report(request: pytest.FixtureRequest, record_property: Callable[..., None]) -> Report:
    """A function `report(line, **figures)`.

    The line is shown in the terminal summary, with or without -s; the figures become properties of
    the test in a JUnit report. Call it before asserting: the figures matter most when a test fails.
    """

    def _report(line: str, **figures: float | int | str) -> None:
        request.config.stash[_FIGURES].append(line)
        for name, value in figures.items():
            record_property(name, value)

    return _report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figures of all cases, one line each."""
    lines = config.stash[_FIGURES]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.line(line)
