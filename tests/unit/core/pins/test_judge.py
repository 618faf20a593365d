"""Copies held against their truth, and the texts that bring them in step."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from lockgrid.core.pins.judge import Plan, in_one_tree, judge, plan, replaced, wanted_files
from lockgrid.core.pins.rules import parse_pins
from lockgrid.core.pins.text import Text
from lockgrid.core.pins.truths import World
from lockgrid.model.pins import PinRule, Row, State
from unit.core.pins.samples import SAMPLES, Sample

TODAY = datetime.date(2026, 12, 1)
COMMIT = "dbf45dbfcc515421dd6099037d3e2637b90748c8"
EACH = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def world(**files: str) -> World:
    """Files of the tree; those of the project stand under the same names with ``project_`` before."""
    return World(files={(True, name): Text(text, name) for name, text in files.items()})


def rules(*pins: str) -> tuple[PinRule, ...]:
    """Each ``name truth copies``, with ``|`` between them."""
    text = ""
    for pin in pins:
        name, truth, copies = pin.split("|")
        listed = ", ".join(f"{{ {copy} }}" for copy in copies.split(" & "))
        text += f"[pins.{name}]\ntruth = {{ {truth} }}\ncopies = [{listed}]\n"
    return in_one_tree(parse_pins(text))


def rows(found: tuple[PinRule, ...], files: World, today: datetime.date = TODAY) -> list[Row]:
    return [row for report in judge(found, files, today) for row in report.rows]


def one(sample: Sample, held: str, true: str) -> tuple[tuple[PinRule, ...], World]:
    """The sample as the file of a pin."""
    (rule,) = rules(f"a|literal = '{true}'|file = 'f', match = {{ shell = 'V' }}")
    rule = replace(rule, copies=(replace(rule.copies[0], match=sample.match),))
    return (rule,), world(f=sample.text.replace("@", held))


@EACH
@pytest.mark.parametrize(
    ("held", "true", "state"),
    [
        ("1.2", "1.2.0", State.IN_STEP),
        ("1.2", "1.2.3", State.DRIFT),
        ("1.2.3", "1.2", State.DRIFT),
        ("2026.05.0", "2026.5", State.IN_STEP),
    ],
)
def test_in_step_and_drift(sample: Sample, held: str, true: str, state: State) -> None:
    (row,) = rows(*one(sample, held, true))
    assert (row.state, row.found, row.what) == (state, held, "")


@EACH
def test_sync_writes_the_copy_and_nothing_that_looks_like_it(sample: Sample) -> None:
    found, files = one(sample, "1.02.3", "1.10.4")
    done = plan(found, files, TODAY)
    (change,) = done.changes
    assert (change.found, change.wanted) == ("1.02.3", "1.10.4")
    before = sample.text.replace("@", "1.02.3")
    assert change.place is not None
    assert done.texts == {"f": before[: change.place.start] + "1.10.4" + before[change.place.end :]}
    assert [row.state for report in done.reports for row in report.rows] == [State.IN_STEP]
    again = plan(found, world(f=done.texts["f"]), TODAY)
    assert (again.texts, again.changes) == ({}, ())


V = "match = { shell = 'V' }"


def test_a_copy_may_differ_until_its_day_is_over() -> None:
    found = rules(f"a|literal = '2'|file = 'f', {V}, differs = {{ why = 'so', until = 2026-12-01 }}")
    files = world(f="V=1\n")
    (row,) = rows(found, files)
    assert (row.state, row.what, row.wanted) == (State.DIFFERS, "until 2026-12-01: so", "2")
    assert plan(found, files, TODAY).texts == {}
    (row,) = rows(found, files, TODAY + datetime.timedelta(days=1))
    assert (row.state, row.what) == (State.DRIFT, "might differ until 2026-12-01: so")
    assert plan(found, files, TODAY + datetime.timedelta(days=1)).texts == {"f": "V=2\n"}


def test_a_copy_that_may_differ_and_does_not_is_in_step() -> None:
    found = rules(f"a|literal = '2'|file = 'f', {V}, differs = {{ why = 'so', until = 2020-01-01 }}")
    assert [row.state for row in rows(found, world(f="V=2.0"))] == [State.IN_STEP]


@pytest.mark.parametrize(
    ("true", "copy", "text", "said"),
    [
        ("1.2", V, "x", "nothing is found by shell V"),
        ("1.2", V, "V=1\nV=1\n", "shell V finds more than one place, on the lines 1, 2: it has to be one"),
        ("1.2", V, "V=main", "'main' is no version (PEP 440)"),
        (COMMIT, V, "V=main", "'main' is no commit"),
        (COMMIT, f"{V}, components = 2", f"V={COMMIT}", "a commit has no components"),
    ],
)
def test_what_cannot_be_judged_is_an_error_and_stops_sync(true: str, copy: str, text: str, said: str) -> None:
    found = rules(f"a|literal = '{true}'|file = 'f', {copy}", f"b|literal = '2'|file = 'g', {V}")
    files = world(f=text, g="V=1\n")
    assert [(row.state, row.what) for row in rows(found, files)] == [(State.ERROR, said), (State.DRIFT, "")]
    done = plan(found, files, TODAY)
    assert done.texts == {}
    assert [row.what for row in done.errors] == [said]


def test_a_short_truth_is_no_full_commit_to_write() -> None:
    found = rules(f"a|literal = 'c0ffee1'|file = 'f', {V}")
    done = plan(found, world(f=f"V={COMMIT}"), TODAY)
    assert done.texts == {}
    assert [row.what for row in done.errors] == ["the truth is a shorter commit than this one"]


def test_one_place_has_one_truth() -> None:
    found = rules(f"a|literal = '1'|file = 'f', {V}", "b|literal = '2'|file = 'f', match = { regex = 'V=(?P<v>.*)' }")
    assert [(row.state, row.what) for row in rows(found, world(f="V=1"))] == [
        (State.IN_STEP, ""),
        (State.ERROR, "this place is a copy of a already"),
    ]


def test_two_names_of_one_file_are_one_file() -> None:
    found = rules(f"a|literal = '2'|file = 'f', {V} & file = 'link', match = {{ shell = 'W' }}")
    text = Text("V=1\nW=1\n", "f")
    done = plan(found, World(files={(True, "f"): text, (True, "link"): text}), TODAY)
    assert done.texts == {"f": "V=2\nW=2\n"}


def test_many_copies_in_one_file_are_written_at_once() -> None:
    found = rules(f"a|literal = '10.20.30'|file = 'f', {V} & file = 'f', match = {{ shell = 'W' }}")
    assert plan(found, world(f="W=1.2 V=1 # \nV=1.0\n"), TODAY).texts == {"f": "W=10.20.30 V=1 # \nV=10.20.30\n"}


CHAIN = (
    f"b|file = 'f', match = {{ shell = 'V' }}|file = 'g', {V}",
    f"a|literal = '2'|file = 'f', {V}",
)


def test_a_copy_may_be_the_truth_of_another_pin() -> None:
    done = plan(rules(*CHAIN), world(f="V=1\n", g="V=1.0\n"), TODAY)
    assert done.texts == {"f": "V=2\n", "g": "V=2.0\n"}
    assert {(row.pin, row.found, row.wanted) for row in done.changes} == {("a", "1", "2"), ("b", "1.0", "2.0")}


def test_a_copy_that_moves_twice_is_one_change() -> None:
    done = plan(rules(*CHAIN), world(f="V=1\n", g="V=3.0\n"), TODAY)
    assert [(row.pin, row.found, row.wanted) for row in done.changes if row.pin == "b"] == [("b", "3.0", "2.0")]


def test_truths_in_a_circle_are_an_error() -> None:
    found = rules(
        f"a|file = 'f', match = {{ shell = 'V' }}|file = 'g', {V}",
        f"b|file = 'g', match = {{ shell = 'V' }}|file = 'f', {V}",
    )
    done = plan(found, world(f="V=1\n", g="V=2\n"), TODAY)
    assert {row.what for row in done.errors} == {"pins hold each other's truths, in a circle"}
    assert done.texts == {} or done.errors


def test_a_truth_that_cannot_be_told_is_said_and_its_copies_are_not_judged() -> None:
    found = rules(f"a|file = 'x', match = {{ shell = 'V' }}|file = 'f', {V}", f"b|literal = '2'|file = 'g', {V}")
    files = world(f="V=1", g="V=1")
    files = replace(files, files={**files.files, (True, "x"): "there is no such file"})
    first, second = judge(found, files, TODAY)
    assert (first.truth, first.what) == (None, "x: there is no such file")
    assert [(row.state, row.what) for row in first.rows] == [(State.ERROR, "its truth cannot be told")]
    assert [row.state for row in second.rows] == [State.DRIFT]
    assert plan(found, files, TODAY).texts == {}


def test_components_say_the_beginning_of_a_version() -> None:
    found = rules(f"a|literal = '2.13.1'|file = 'f', {V}, components = 2")
    assert [row.state for row in rows(found, world(f="V=release/2.13"))] == [State.IN_STEP]
    assert plan(found, world(f="V=release/2.12"), TODAY).texts == {"f": "V=release/2.13"}


def test_a_wildcard_stays_one() -> None:
    found = rules("a|literal = '2.13.1'|file = 'f', match = { requirement = 'a' }")
    done = plan(found, world(f="a==2.12.*\n"), TODAY)
    assert [(row.found, row.wanted) for row in done.changes] == [("2.12.*", "2.13.*")]
    assert done.texts == {"f": "a==2.13.*\n"}


def test_the_files_that_are_wanted_are_named_once() -> None:
    text = """
[pins.a]
truth = { file = "v", match = { shell = "V" } }
copies = [{ file = "f", match = { shell = "V" } }, { file = "f", match = { shell = "W" } }]
[pins.b]
truth = { file = "t", match = { shell = "V" }, tree = true }
copies = [{ file = "v", match = { shell = "W" } }]
"""
    found = parse_pins(text)
    assert wanted_files(found) == [(False, "v"), (True, "f"), (True, "t"), (True, "v")]
    assert wanted_files(in_one_tree(found)) == [(True, "v"), (True, "f"), (True, "t")]


def test_replaced_takes_stretches_in_any_order() -> None:
    assert replaced("0123456789", [(7, 9, "x"), (0, 1, "abc"), (3, 3, "-")]) == "abc12-3456x9"


def test_a_plan_is_a_value() -> None:
    assert Plan(texts={}, changes=(), reports=()).errors == ()
