"""Pins as questions, and answers held against what environments accept. What is not known is never clean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from lockgrid.core.advisories import (
    distrust_silence,
    first_fixed,
    judge,
    parse_report,
    pins_of,
    question_text,
    questions,
)
from lockgrid.errors import ToolError
from lockgrid.model.advisory import Advisories, CellName, PinName, Reported, Vulnerability
from lockgrid.model.grid import CellRecord, Grid, Lockfile
from lockgrid.model.spec import Environment
from unit.builders import locked, parse

LINUX, MAC = "linux-x86_64", "macos-arm64"


def environments(**accepts: str) -> tuple[Environment, ...]:
    """Environments of these names, each with the lines of its ``[accept]``."""
    return parse(**{name: f'requires = ["a==1"]\n[accept]\n{text}' for name, text in accepts.items()}).environments


def lockfile(environment: str, platform: str, *pins: Any) -> Lockfile:
    return Lockfile(environment=environment, platform=platform, pythons=("3.11", "3.12"), sdists=(), pins=tuple(pins))


def record(environment: str, platform: str, python: str, *, proven: bool = True) -> CellRecord:
    return CellRecord(environment=environment, platform=platform, python=python, proven=proven)


def test_every_distinct_pin_of_a_proven_cell_and_of_the_builds_is_asked_about_once() -> None:
    locks = {
        ("x", LINUX): lockfile("x", LINUX, locked("a", "1", ["3.11"]), locked("a", "2", ["3.12"])),
        ("y", MAC): lockfile("y", MAC, locked("a", "2", ["3.11", "3.12"]), locked("b", "1", ["3.12"])),
        ("build", "build"): lockfile("build", "any", locked("setuptools", "9", ["3.11"])),
    }
    cells = (record("x", LINUX, "3.11"), record("x", LINUX, "3.12"), record("y", MAC, "3.11"))
    grid = Grid(
        exclude_newer=datetime(2026, 1, 1, tzinfo=UTC),
        inputs="",
        environments=(),
        lockfiles=(),
        cells=(*cells, record("y", MAC, "3.12", proven=False)),
    )
    assert pins_of(grid, locks) == {
        ("a", "1"): (("x", LINUX, "3.11"),),
        ("a", "2"): (("x", LINUX, "3.12"), ("y", MAC, "3.11")),
        ("setuptools", "9"): (("build", "any", "3.11"),),
    }


def test_no_list_has_a_package_twice_and_there_are_as_few_as_can_be() -> None:
    pins = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("c", "1"), ("c", "2")]
    lists = questions(pins)
    assert sorted(pin for some in lists for pin in some) == pins
    assert len(lists) == 3
    assert all(len({name for name, _ in some}) == len(some) for some in lists)
    assert question_text(lists[0]) == "a==1\nb==1\nc==1\n"
    assert questions([]) == []


def report(*entries: Mapping[str, Any]) -> str:
    return json.dumps({"dependencies": entries, "fixes": []})


def entry(name: str, version: str, *vulnerabilities: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": version, "vulns": list(vulnerabilities)}


def vulnerability(name: str, *fixes: str, aliases: tuple[str, ...] = (), description: str = "") -> dict[str, Any]:
    return {"id": name, "fix_versions": list(fixes), "aliases": list(aliases), "description": description}


def test_a_report_is_read() -> None:
    text = report(
        entry(
            "a-b", "1.0.0", vulnerability("GHSA-1", "1.1", aliases=("PYSEC-2", "CVE-1"), description="bad\n\x1b[2J!")
        ),
        entry("c", "2"),
        {"name": "d", "skip_reason": "not found"},
    )
    found = parse_report(text, [("a-b", "1"), ("c", "2"), ("d", "3")])
    assert found.audited == {
        ("a-b", "1"): (
            Vulnerability(id="GHSA-1", aliases=("CVE-1", "PYSEC-2"), description="bad [2J!", fixes=("1.1",)),
        ),
        ("c", "2"): (),
    }
    assert found.skipped == {("d", "3"): "not found"}


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([], "pip-audit said nothing of it"),
        ([entry("b", "1")], "pip-audit said nothing of it"),
        ([entry("a", "2")], "pip-audit audited 2 instead"),
        ([{"name": "A", "skip_reason": "no such package"}], "no such package"),
        ([{"name": "a", "skip_reason": ""}], "pip-audit skipped it"),
    ],
)
def test_a_pin_of_which_the_report_does_not_speak_is_not_audited(entries: list[dict[str, Any]], why: str) -> None:
    found = parse_report(report(*entries), [("a", "1")])
    assert (found.audited, found.skipped) == ({}, {("a", "1"): why})


@pytest.mark.parametrize(
    "text",
    ["", "No known vulnerabilities found", "[]", "{}", '{"dependencies": 1}', '{"dependencies": [{"name": "a"}]}',
     '{"dependencies": [{"name": "a", "version": "x", "vulns": []}]}', '{"dependencies": [1]}', "null"],
)  # fmt: skip
def test_what_is_no_report_is_a_failed_tool(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_report(text, [("a", "1")])
    assert caught.value.exit_code == 4


def test_where_silence_says_nothing_what_is_silent_is_not_audited() -> None:
    known, found = ("a", "1"), (Vulnerability(id="GHSA-1"),)
    given = Reported(audited={known: found, ("b", "1"): ()}, skipped={("c", "1"): "skipped"})
    distrusted = distrust_silence(given)
    assert distrusted.audited == {known: found}
    assert set(distrusted.skipped) == {("b", "1"), ("c", "1")}
    assert distrusted.skipped["c", "1"] == "skipped"


A1, A2, B1 = ("a", "1"), ("a", "2"), ("b", "1")
X: CellName = ("x", LINUX, "3.11")
Y: CellName = ("y", MAC, "3.12")
PINS: dict[PinName, tuple[CellName, ...]] = {A1: (X,), A2: (Y,), B1: (X, Y)}


def judged(audited: Mapping[PinName, tuple[Vulnerability, ...]], x: str = "", y: str = "") -> Advisories:
    rest = dict.fromkeys(PINS.keys() - audited.keys(), ())
    reported = Reported(audited={**audited, **rest}, skipped={})
    return judge(environments(x=x, y=y), PINS, [reported], "pypi")


def test_a_clean_grid() -> None:
    found = judged({})
    assert (found.advisories, found.not_audited, found.pins, found.cells) == ((), (), 3, 2)


def test_an_advisory_is_told_once_with_all_that_it_touches_whatever_name_it_has_there() -> None:
    one = Vulnerability(id="PYSEC-1", aliases=("CVE-1",), fixes=("1.5", "2.1"), description="bad")
    two = Vulnerability(id="GHSA-1", aliases=("cve-1",), fixes=("1.5", "2.1"))
    three = Vulnerability(id="GHSA-2", fixes=())
    found = judged({A1: (one, three), A2: (two,)})
    assert [(a.id, a.aliases, a.description) for a in found.advisories] == [
        ("GHSA-2", (), ""), ("PYSEC-1", ("GHSA-1", "cve-1"), "bad")
    ]  # fmt: skip
    assert [(p.name, p.version, p.fixed, p.cells) for p in found.advisories[1].pins] == [
        ("a", "1", "1.5", (X,)), ("a", "2", "2.1", (Y,))
    ]  # fmt: skip
    assert found.advisories[1].open == ("x", "y")


def test_names_that_a_third_advisory_joins_are_one() -> None:
    one, two = Vulnerability(id="A-1"), Vulnerability(id="B-1")
    both = Vulnerability(id="C-1", aliases=("A-1", "B-1"))
    assert [a.id for a in judged({A1: (one, two), A2: (both,)}).advisories] == ["A-1"]


def test_it_is_accepted_where_every_environment_that_it_touches_says_so_by_any_name() -> None:
    touching = {B1: (Vulnerability(id="PYSEC-1", aliases=("GHSA-ab",)),)}
    (one,) = judged(touching, x='"advisory:pysec-1" = "no input"', y='"advisory:GHSA-ab" = "never called"').advisories
    assert (one.accepted, one.open) == ((("x", "no input"), ("y", "never called")), ())
    (one,) = judged(touching, x='"advisory:PYSEC-1" = "no input"').advisories
    assert (one.accepted, one.open) == ((("x", "no input"),), ("y",))


def test_what_is_open_comes_first() -> None:
    found = judged({A1: (Vulnerability(id="A-1"), Vulnerability(id="B-1"))}, x='"advisory:A-1" = "why"')
    assert [a.id for a in found.advisories] == ["B-1", "A-1"]


def test_an_acceptance_of_an_advisory_that_no_pin_has_is_stale_and_others_are_not_ours() -> None:
    accepts = '"advisory:A-1" = "why"\n"advisory:GONE" = "why"\n"any:b" = "why"'
    found = judged({A1: (Vulnerability(id="A-1"),)}, x=accepts)
    assert found.stale == (("envs/x.toml", "advisory:GONE"),)


def test_an_acceptance_is_stale_where_the_advisory_touches_others_alone() -> None:
    found = judged({A1: (Vulnerability(id="A-1"),)}, x='"advisory:A-1" = "why"', y='"advisory:A-1" = "why"')
    assert found.stale == (("envs/y.toml", "advisory:A-1"),)


def test_nothing_is_called_stale_while_a_pin_is_not_audited() -> None:
    reported = Reported(audited={A1: (), A2: ()}, skipped={B1: "unknown"})
    found = judge(environments(x='"advisory:GONE" = "why"', y=""), PINS, [reported], "pypi")
    assert found.stale == ()
    assert [(n.name, n.version, n.why, n.cells) for n in found.not_audited] == [("b", "1", "unknown", (X, Y))]


def test_a_pin_of_which_no_report_speaks_is_not_audited() -> None:
    found = judge(environments(x="", y=""), PINS, [Reported(audited={A1: ()}, skipped={})], "pypi")
    assert [(n.name, n.version) for n in found.not_audited] == [A2, B1]


def test_what_builds_a_sdist_is_accepted_by_those_who_allow_one() -> None:
    allows = 'requires = ["a==1"]\n[sdists]\na = "no wheel"\n[accept]\n"advisory:A-1" = "builds only"'
    without = 'requires = ["a==1"]\n[accept]\n"advisory:A-1" = "why"'
    pins = {("setuptools", "1"): (("build", "any", "3.11"),)}
    reported = Reported(audited={("setuptools", "1"): (Vulnerability(id="A-1"),)}, skipped={})
    (one,) = judge(parse(app=allows).environments, pins, [reported], "pypi").advisories
    assert (one.accepted, one.open) == ((("build", "builds only"),), ())
    (one,) = judge(parse(app=without).environments, pins, [reported], "pypi").advisories
    assert (one.accepted, one.open) == ((), ("build",))


@pytest.mark.parametrize(
    ("version", "fixes", "fixed"),
    [
        ("1.4", ["2.2", "1.10", "1.3"], "1.10"),
        ("1.4", ["1.3", "1.4"], ""),
        ("1.4", [], ""),
        ("1.4", ["x", "2"], "2"),
        ("2.0rc1", ["2.0"], "2.0"),
    ],
)
def test_the_first_fixed_version_is_the_lowest_above_the_pin(version: str, fixes: list[str], fixed: str) -> None:
    assert first_fixed(version, fixes) == fixed
