"""Two sides of a merge made one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lockgrid.core.mend import merge_grids, merge_lockfiles
from lockgrid.model.grid import CellRecord, Grid, LockedPin, Lockfile

BOTH = ("3.12", "3.13")


def lockfile(pythons: tuple[str, ...] = BOTH, /, **versions: str) -> Lockfile:
    """A lockfile whose pins are for all of its Pythons; the hash is made of the version."""
    pins = tuple(
        LockedPin(name=name, version=version, pythons=pythons, hashes=(version.rjust(64, "0"),), via=("app",))
        for name, version in sorted(versions.items())
    )
    return Lockfile(environment="app", platform="linux-x86_64", pythons=pythons, sdists=(), pins=pins)


def versions(merged: Lockfile, python: str = "3.12") -> dict[str, str]:
    return {pin.name: pin.version for pin in merged.pins if python in pin.pythons}


@pytest.mark.parametrize(
    ("ours", "theirs", "base", "taken", "said"),
    [
        ("1", "1", None, "1", []),
        ("1", "2", None, "2", ["a: 2 of theirs, the newer, and not 1 of ours"]),
        ("10", "9", None, "10", ["a: 10 of ours, the newer, and not 9 of theirs"]),
        ("2", "1", "2", "1", ["a: 1 of theirs, which moved it, and not 2 of ours"]),
        ("1", "2", "2", "1", ["a: 1 of ours, which moved it, and not 2 of theirs"]),
        ("1", "2", "3", "2", ["a: 2 of theirs, the newer, and not 1 of ours"]),
        ("1", None, None, "1", []),
        (None, "1", "1", None, []),
        ("1", None, "1", None, []),
        ("2", None, "1", "2", []),
    ],
)
def test_one_pin(ours: str | None, theirs: str | None, base: str | None, taken: str | None, said: list[str]) -> None:
    sides = [lockfile(**({"a": version} if version else {})) for version in (ours, theirs, base)]
    merged, choices = merge_lockfiles(sides[0], sides[1], sides[2] if base else None)
    assert versions(merged) == ({"a": taken} if taken else {})
    assert [str(choice) for choice in choices] == said


def test_a_python_that_one_side_alone_has_keeps_its_pins() -> None:
    merged, _ = merge_lockfiles(lockfile(("3.12",), a="1"), lockfile(("3.12", "3.13"), a="2", b="1"), None)
    assert merged.pythons == BOTH
    assert versions(merged) == versions(merged, "3.13") == {"a": "2", "b": "1"}


def test_sides_that_differ_for_one_python_alone() -> None:
    theirs = lockfile(a="1")
    theirs = replace(theirs, pins=tuple(replace(pin, pythons=("3.12",)) for pin in theirs.pins))
    two = LockedPin(name="a", version="2", pythons=("3.13",), hashes=("2".rjust(64, "0"),), via=("app",))
    theirs = replace(theirs, pins=(*theirs.pins, two))
    merged, _ = merge_lockfiles(lockfile(a="1"), theirs, None)
    assert [(pin.version, pin.pythons) for pin in merged.pins] == [("1", ("3.12",)), ("2", ("3.13",))]


def test_files_of_one_version_are_those_of_both_sides() -> None:
    more = replace(lockfile(a="1").pins[0], hashes=("f" * 64,))
    merged, _ = merge_lockfiles(lockfile(a="1"), replace(lockfile(), pins=(more,)), None)
    assert merged.pins[0].hashes == ("1".rjust(64, "0"), "f" * 64)


def grid(day: int, *cells: tuple[str, bool], rules: int = 1) -> Grid:
    records = [
        CellRecord(
            environment=name, platform="linux-x86_64", python="3.12", proven=proven, because="" if proven else "x"
        )
        for name, proven in cells
    ]
    names = tuple((name, f"sha256:{name}") for name, _ in cells)
    when = datetime(2026, 1, day, tzinfo=UTC)
    return Grid(
        exclude_newer=when, inputs="", environments=names, lockfiles=(), cells=tuple(records), apart=(), rules=rules
    )


def test_a_cell_is_proven_where_no_side_has_lost_it() -> None:
    ours = grid(1, ("app", True), ("lost", False), ("mine", True))
    theirs = grid(2, ("app", True), ("lost", True), ("yours", True))
    for merged in (merge_grids(ours, theirs, []), merge_grids(theirs, ours, [])):
        assert {c.environment: c.proven for c in merged.cells} == {
            "app": True,
            "lost": False,
            "mine": True,
            "yours": True,
        }
        assert merged.exclude_newer == theirs.exclude_newer
        assert set(dict(merged.environments)) == {"app", "lost", "mine", "yours"}


def test_sides_that_judged_wheels_by_different_rules_are_judged_anew() -> None:
    assert merge_grids(grid(1, rules=1), grid(1, rules=2), []).rules == 0
