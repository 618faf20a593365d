"""What a lock changes: pins that move, environments that would move along, cells that are lost."""

from __future__ import annotations

import pytest

from lockgrid.core.changes import loss, moved_pins, new_sdists, pin_changes
from lockgrid.core.render.requirements import render
from lockgrid.model.grid import CellRecord, LockedPin, Lockfile
from unit.builders import MAC, any_wheel, cell, index_file, locked, pin, target

SDIST = "z-1.0.tar.gz"


def lockfile(*pins: LockedPin, pythons: tuple[str, ...] = ("3.12",)) -> Lockfile:
    return Lockfile(environment="app", platform="linux-x86_64 (glibc 2.28)", pythons=pythons, sdists=(), pins=pins)


def test_pins_that_moved_are_a_line_each() -> None:
    old = {
        ("app", "linux-x86_64"): lockfile(locked("a", "1.0", ["3.12"]), locked("c", "1.0", ["3.12"])),
        ("app", "macos-arm64"): lockfile(locked("a", "1.1", ["3.12"]), locked("d", "1.0", ["3.12"])),
    }
    texts = {
        "app/linux-x86_64.txt": render(lockfile(locked("a", "2.0", ["3.12"]), locked("b", "1.0", ["3.12"]))),
        "app/macos-arm64.txt": render(lockfile(locked("d", "1.0", ["3.12"]))),
    }
    assert pin_changes(old, texts) == ["changed a 1.0, 1.1 -> 2.0", "added b 1.0", "removed c 1.0"]


def test_a_pin_that_only_changed_its_cells_did_not_move() -> None:
    old = {("app", "linux-x86_64"): lockfile(locked("a", "1.0", ["3.12"]))}
    texts = {"app/macos-arm64.txt": render(lockfile(locked("a", "1.0", ["3.12"])))}
    assert pin_changes(old, texts) == []


def test_of_a_first_lock_no_pin_is_told() -> None:
    assert pin_changes({}, {"app/linux-x86_64.txt": render(lockfile(locked("a", "1.0", ["3.12"])))}) == []


def test_versions_are_sorted_as_versions() -> None:
    pythons = ("3.11", "3.12")
    old = {
        ("app", "linux-x86_64"): lockfile(locked("a", "1.9", ["3.11"]), locked("a", "1.10", ["3.12"]), pythons=pythons)
    }
    assert pin_changes(old, {}) == ["removed a 1.9, 1.10"]


def test_environments_that_would_move_along_are_told_with_their_packages() -> None:
    old = {
        ("app", "linux-x86_64"): lockfile(locked("a", "1.0", ["3.12"]), locked("b", "1.0", ["3.12"])),
        ("same", "linux-x86_64"): lockfile(locked("a", "2.0", ["3.12"])),
        ("unasked", "linux-x86_64"): lockfile(locked("a", "1.0", ["3.12"])),
    }
    cells = {
        (name, target()): cell(name, target(), pin("a", "2.0"), *([pin("c", "1.0")] if name == "app" else []))
        for name in ("app", "same", "unasked")
    }
    assert moved_pins(cells, old, ["app", "same"]) == {"app": ["a", "b", "c"]}


def test_a_cell_that_is_gone_moves_all_its_pins() -> None:
    old = {("app", "linux-x86_64"): lockfile(locked("a", "1.0", ["3.12"]))}
    assert moved_pins({}, old, ["app"]) == {"app": ["a"]}
    assert moved_pins({("app", target(MAC)): cell("app", target(MAC), pin("a", "1.0"))}, old, ["app"]) == {"app": ["a"]}


@pytest.mark.parametrize(
    ("filename", "known", "wanted", "new"),
    [
        (SDIST, [], ["app"], True),
        (SDIST, [SDIST], ["app"], False),
        (SDIST, [], ["other"], False),
        (any_wheel("z", "1.0").filename, [], ["app"], False),
    ],
)
def test_a_sdist_is_new_where_no_old_lock_has_it(filename: str, known: list[str], wanted: list[str], new: bool) -> None:
    old = {("app", "linux-x86_64"): lockfile(locked("z", "1.0", ["3.12"], *known))} if known else {}
    cells = {("app", target()): cell("app", target(), pin("z", "1.0", index_file(filename)))}
    assert new_sdists(cells, old, wanted) is new


def test_lost_cells_are_named_with_their_reasons_up_to_a_screenful() -> None:
    cells = [
        CellRecord(environment="app", platform="linux-x86_64", python=f"3.{n}", proven=False, because=f"reason {n}")
        for n in range(9, 19)
    ]
    error = loss(cells)
    assert error.exit_code == 3
    assert error.what.splitlines()[0] == "10 proven cells would be lost though the input did not change:"
    assert error.what.splitlines()[1] == "    app on linux-x86_64, Python 3.9: reason 9"
    assert error.what.splitlines()[-1] == "    and 2 more"
    assert "--allow-loss" in error.next_step
    assert "more" not in loss(cells[:8]).what
