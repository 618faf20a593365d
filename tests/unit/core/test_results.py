"""Failed cases out of result files."""

from __future__ import annotations

import json

import pytest

from lockgrid.core.results import failed_cases, last_lines
from lockgrid.model.trial import Case

REPORT = {
    "schema": 1,
    "environment": "tosa",
    "status": "failed",
    "stage": "flow",
    "message": "1 of 2 cases failed: attn",
    "cases": [
        {"case": "test_tosa.py::test_flow[mlp-INT]", "outcome": "passed", "message": None},
        {
            "case": "test_tosa.py::test_flow[attn-INT]",
            "outcome": "failed",
            "message": "def test():\n>   assert steps <= 1\nE   AssertionError: 3 steps off\nE   more",
        },
    ],
}
JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="t.x" name="good"/><testcase classname="t.x" name="skipped"><skipped/></testcase>
<testcase classname="t.x" name="bad[1]"><failure message="assert 1 == 2&#10; + more">long text</failure></testcase>
<testcase name="worse"><error>cannot import</error></testcase>
</testsuite></testsuites>"""


def test_the_failed_cases_of_a_session() -> None:
    (case,) = failed_cases({"anything.json": json.dumps(REPORT)})
    assert case == Case(
        environment="tosa", name="test_tosa.py::test_flow[attn-INT]", message="AssertionError: 3 steps off"
    )
    assert case.text == "tosa: test_tosa.py::test_flow[attn-INT]: AssertionError: 3 steps off"


def test_a_session_that_ended_before_any_case() -> None:
    report = REPORT | {"stage": "install", "message": "no such wheel\nsee above", "cases": []}
    assert failed_cases({"tosa.json": json.dumps(report)}) == (
        Case(environment="tosa", name="install", message="no such wheel"),
    )


def test_the_failures_and_errors_of_junit() -> None:
    assert failed_cases({"sub/result.XML": JUNIT}) == (
        Case(name="t.x::bad[1]", message="assert 1 == 2"),
        Case(name="worse", message="cannot import"),
    )


def test_each_case_once_in_the_order_of_the_files() -> None:
    files = {
        "b.json": json.dumps(REPORT),
        "a.json": json.dumps(REPORT),
        "c.json": json.dumps(REPORT | {"environment": "vgf"}),
    }
    assert [case.environment for case in failed_cases(files)] == ["tosa", "vgf"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"status": "passed", "message": "x"}',
        '{"status": "not run", "stage": "flow"}',
        '{"cases": 1}',
        '{"cases": [null, {"outcome": ["failed"]}]}',
        "<testsuite>",
        '<!DOCTYPE a [<!ENTITY b "c">]><testsuite><testcase name="x"><failure/></testcase></testsuite>',
    ],
)
def test_what_is_no_result_says_nothing(text: str) -> None:
    assert failed_cases({"a.json": text, "a.xml": text}) == ()


def test_the_last_lines_are_plain_text() -> None:
    output = "first\n\x1b[31mred\x1b[0m  \n\n   \nlast\r\n"
    assert last_lines(output, 2) == ("red", "last")
