"""A lock that still holds is kept: its pins, and its files for pins that did not move."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.keep import keep_file, locked_pins, pinned, preferences, unbuilt_metadata
from lockgrid.core.resolution import Preference
from lockgrid.model.grid import LockedPin, Lockfile, Pin
from lockgrid.model.index import IndexFile, Page
from unit.builders import AFTER, LINUX, MAC, cell, environment, facts, index_file, locked, page, pin, target

P9, P10 = target(LINUX, "3.9"), target(LINUX, "3.10")
OLD = "a-1.0-py3-none-any.whl"
NEW = "a-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"


def lockfile(*pins: LockedPin) -> Lockfile:
    return Lockfile(environment="app", platform="linux-x86_64", pythons=("3.9", "3.10"), sdists=(), pins=pins)


def old(*pins: LockedPin, name: str = "app", platform: str = "linux-x86_64") -> dict[tuple[str, str], Lockfile]:
    return {(name, platform): lockfile(*pins)}


def found(*preferred: Preference) -> list[tuple[str, str, list[str]]]:
    return [(p.name, p.version, [t.label for t in p.targets]) for p in preferred]


def test_old_pins_are_preferred_where_they_were_installed() -> None:
    one = environment("a", targets=[P10, P9, target(MAC, "3.10")])
    locks = old(locked("a", "1.10", ["3.10"]), locked("a", "1.9", ["3.9"]), locked("b", "2.0", ["3.9", "3.10"]))
    assert found(*preferences([one], locks, upgrade=frozenset())) == [
        ("a", "1.9", ["linux-x86_64, Python 3.9"]),
        ("a", "1.10", ["linux-x86_64, Python 3.10"]),
        ("b", "2.0", ["linux-x86_64, Python 3.9", "linux-x86_64, Python 3.10"]),
    ]


def test_what_shall_be_upgraded_is_not_preferred() -> None:
    locks = old(locked("a", "1.0", ["3.9"]), locked("b", "1.0", ["3.9"]))
    assert found(*preferences([environment("a", targets=[P9])], locks, upgrade=frozenset({"a"}))) == [
        ("b", "1.0", ["linux-x86_64, Python 3.9"])
    ]


def test_where_two_environments_differ_the_first_stands() -> None:
    locks = old(locked("a", "1.0", ["3.9"])) | old(locked("a", "2.0", ["3.9", "3.10"]), name="other")
    environments = [environment("a", targets=[P9]), environment("a", name="other", targets=[P9, P10])]
    assert [(v, len(t)) for _, v, t in found(*preferences(environments, locks, upgrade=frozenset()))] == [
        ("1.0", 1),
        ("2.0", 1),
    ]
    assert [v for _, v, _ in found(*preferences(environments[::-1], locks, upgrade=frozenset()))] == ["2.0"]


def test_further_preferences_come_after_the_old_pins() -> None:
    also = [
        Preference(name="a", version="9.0", targets=(P9, P10)),
        Preference(name="c", version="1.0", targets=(P10,)),
    ]
    locks = old(locked("a", "1.0", ["3.9"]))
    one = environment("a", targets=[P9, P10])
    assert found(*preferences([one], locks, upgrade=frozenset(), also=also)) == [
        ("a", "1.0", ["linux-x86_64, Python 3.9"]),
        ("a", "9.0", ["linux-x86_64, Python 3.10"]),
        ("c", "1.0", ["linux-x86_64, Python 3.10"]),
    ]


def test_without_old_locks_there_is_nothing_to_prefer() -> None:
    assert preferences([environment("a")], {}, upgrade=frozenset()) == ()


def kept(*listed: IndexFile | str, hashes: tuple[str, ...] = (OLD,), version: str = "1.0") -> str:
    """The file that the cell installs after uv chose NEW and the old lock had ``hashes``."""
    locks = old(locked("a", version, ["3.10"], *hashes))
    chosen = pin("a", "1.0", index_file(NEW))
    known = facts(page("a", *listed))
    return keep_file(chosen, environment("a", targets=[P10]), P10, locks, known).file.filename


def test_a_wheel_added_later_does_not_change_a_lock() -> None:
    assert kept(OLD, NEW) == OLD


def test_a_file_that_is_locked_already_stays() -> None:
    assert kept(OLD, NEW, hashes=(OLD, NEW)) == NEW


def test_of_several_locked_files_the_best_is_kept() -> None:
    better = "a-1.0-cp310-cp310-manylinux_2_17_x86_64.whl"
    assert kept(OLD, better, NEW, hashes=(OLD, better)) == better


@pytest.mark.parametrize(
    "gone",
    [
        index_file(OLD, yanked=""),
        index_file(OLD, uploaded=AFTER),
        index_file(OLD, requires_python=">=3.11"),
        index_file("a-1.0-py2-none-any.whl"),
    ],
)
def test_an_old_file_that_serves_no_more_gives_way(gone: IndexFile) -> None:
    assert kept(gone, NEW, hashes=(gone.filename,)) == NEW


def test_an_old_file_of_another_version_or_python_is_no_reason() -> None:
    assert kept(OLD, NEW, version="2.0") == NEW
    locks = old(locked("a", "1.0", ["3.9"], OLD))
    chosen = pin("a", "1.0", index_file(NEW))
    one = environment("a", targets=[P10])
    assert keep_file(chosen, one, P10, locks, facts(page("a", OLD, NEW))) == chosen
    assert keep_file(chosen, one, P10, {}, facts(page("a", OLD, NEW))) == chosen


def test_a_kept_pin_has_the_files_facts_from_the_page() -> None:
    listed = replace(index_file(OLD), metadata_sha256="00")
    locks = old(locked("a", "1.0", ["3.10"], OLD))
    result = keep_file(pin("a", "1.0", index_file(NEW)), environment("a"), P10, locks, facts(page("a", listed)))
    assert result == Pin(name="a", version="1.0", file=listed)


def test_what_cells_pin_becomes_preferences_by_version() -> None:
    cells = [
        cell("app", P9, pin("a", "1.0"), pin("b", "1.0")),
        cell("app", P10, pin("a", "2.0"), pin("b", "1.0")),
        cell("other", P10, pin("b", "1.0")),
    ]
    assert found(*pinned(cells)) == [
        ("a", "1.0", [P9.label]),
        ("b", "1.0", [P9.label, P10.label]),
        ("a", "2.0", [P10.label]),
    ]


SDIST = "z-1.0.tar.gz"


def held(*listed: Page, lock: Lockfile | None = None, sdists: tuple[str, ...] = ()) -> list[str] | None:
    """The files that the old lock has for Python 3.10 on Linux."""
    locks = {("app", "linux-x86_64"): lock} if lock else {}
    found = locked_pins(environment("a", targets=[P10], sdists=sdists), P10, locks, facts(*listed))
    return None if found is None else [pin.file.filename for pin in found]


def test_a_cell_that_still_holds_has_the_pins_of_its_python_with_the_best_locked_file() -> None:
    lock = lockfile(
        locked("a", "0.9", ["3.9"]), locked("a", "1.0", ["3.10"], OLD, NEW), locked("b", "1.0", ["3.9", "3.10"])
    )
    b = page("b", "b-1.0-py3-none-any.whl", "b-1.0-cp310-cp310-manylinux_2_28_x86_64.whl")
    assert held(page("a", OLD, NEW), b, lock=lock) == [NEW, "b-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    "listed",
    [
        page("a"),
        page("a", NEW),
        page("a", index_file(OLD, yanked="")),
        page("a", index_file(OLD, uploaded=AFTER)),
        page("a", index_file(OLD, requires_python=">=3.11")),
        page("a", index_file(OLD, sha="00")),
    ],
)
def test_a_cell_of_which_one_pin_has_no_file_any_more_holds_no_more(listed: Page) -> None:
    lock = lockfile(locked("a", "1.0", ["3.10"], OLD), locked("b", "1.0", ["3.10"]))
    b = page("b", "b-1.0-py3-none-any.whl")
    assert held(page("a", OLD), b, lock=lock) is not None
    assert held(listed, b, lock=lock) is None


def test_a_cell_that_was_not_locked_does_not_hold() -> None:
    assert held() is None
    assert held(lock=replace(lockfile(), pythons=("3.9",))) is None


def test_a_locked_sdist_holds_only_as_a_sdist_that_is_still_named() -> None:
    listed = page("z", SDIST, "z-1.0-py3-none-any.whl")
    lock = replace(lockfile(locked("z", "1.0", ["3.10"], SDIST, "z-1.0-py3-none-any.whl")), sdists=("z",))
    assert held(listed, lock=lock, sdists=("z",)) == [SDIST]
    assert held(listed, lock=lock) is None
    assert held(listed, lock=replace(lock, sdists=()), sdists=("z",)) == ["z-1.0-py3-none-any.whl"]


def test_pins_are_kept_with_the_index_that_they_come_from_now() -> None:
    one = environment("a", targets=[P10, target(MAC, "3.10")], sources={"a@linux-x86_64": "cpu"})
    mac = Lockfile(
        environment="app", platform="macos-arm64", pythons=("3.10",), sdists=(), pins=(locked("a", "1.0", ["3.10"]),)
    )
    locks = old(locked("a", "1.0", ["3.10"])) | {("app", "macos-arm64"): mac}
    assert [(p.index, p.targets) for p in preferences([one], locks, upgrade=frozenset())] == [
        ("", (target(MAC, "3.10"),)),
        ("cpu", (P10,)),
    ]
    assert [p.index for p in pinned([cell("app", P10, pin("a", "1.0", index="cpu"))])] == ["cpu"]


def test_a_locked_pin_is_looked_for_on_the_index_that_is_named() -> None:
    one = environment("a", targets=[P10], sources={"a@linux-x86_64": "cpu"})
    locks = old(locked("a", "1.0", ["3.10"], OLD))
    assert locked_pins(one, P10, locks, facts(page("a", OLD), page("a@cpu", NEW))) is None
    assert locked_pins(one, P10, locks, facts(page("a"), page("a@cpu", OLD))) == [
        pin("a", "1.0", index_file(OLD), index="cpu")
    ]


def test_what_a_sdist_requires_is_what_its_lockfile_says_that_it_asks_for() -> None:
    locks = lockfile(
        locked("a", "1.0", ["3.9", "3.10"]),
        locked("b", "2.0", ["3.9", "3.10"], via=["a==1.0", "c==1"]),
        locked("c", "1", ["3.10"], via=["a==2.0", "ab==1.0"]),
        locked("d", "1", ["3.10"], via=["a[x,y]==1.0", "envs/app.toml"]),
        locked("e", "1", ["3.9"], via=["a==1.0"]),
    )
    found = unbuilt_metadata(pin("a", "1.0"), locks, "3.10")
    assert found.requires_dist == ("b==2.0", "d==1; extra == 'x'", "d==1; extra == 'y'")
    assert found.provides_extra == ("x", "y")
