"""The flow tests report what they measure; see flow_report.py."""

from __future__ import annotations

from flow_report import (
    pytest_addoption,
    pytest_configure,
    pytest_report_header,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_sessionfinish,
    pytest_sessionstart,
    pytest_terminal_summary,
    report,
)

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_sessionstart",
    "pytest_terminal_summary",
    "report",
]
