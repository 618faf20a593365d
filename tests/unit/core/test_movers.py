"""What moves, on which cells, and what moves along with what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.movers import groups, moved_files, moves, proven_pins
from lockgrid.model.diff import Group, Move
from unit.builders import locked
from unit.snapshots import LINUX, MAC, Cells, cells, snapshot


def found(old: Cells, new: Cells, **via: str) -> tuple[Move, ...]:
    asked = {name.replace("_", "-"): by for name, by in via.items()}
    return moves(proven_pins(snapshot(old, via=asked)), proven_pins(snapshot(new, via=asked)))


def test_a_move_names_every_cell_of_every_environment_where_it_is_so() -> None:
    (move,) = found(cells("a b", {"x": "1"}), cells("a", {"x": "1"}) | cells("b", {"x": "2"}, pythons="3.11 3.12"))
    assert (move.name, move.old, move.new, move.kind) == ("x", "1", "2", "upgraded")
    assert move.cells == tuple(("b", p, v) for p in (LINUX, MAC) for v in ("3.11", "3.12"))


def test_targets_that_move_otherwise_are_moves_of_their_own() -> None:
    old = cells("a", {"x": "1"}, pythons="3.11") | cells("a", {"x": "2"}, pythons="3.12")
    new = cells("a", {"x": "1.1"}, pythons="3.11") | cells("a", {"x": "3"}, pythons="3.12")
    assert [(m.old, m.new, {c[2] for c in m.cells}) for m in found(old, new)] == [
        ("1", "1.1", {"3.11"}),
        ("2", "3", {"3.12"}),
    ]


def test_cells_that_are_gained_or_lost_move_nothing() -> None:
    assert found(cells("a", {"x": "1"}, [LINUX]), cells("a", {"x": "1", "y": "1"}, [MAC])) == ()


def test_what_builds_sdists_moves_as_well() -> None:
    one, other, none = (
        snapshot(cells("a", {"x": "1"}), build=b) for b in ({"setuptools": "1"}, {"setuptools": "2"}, None)
    )
    (move,) = moves(proven_pins(one), proven_pins(other))
    assert (move.name, move.cells) == ("setuptools", (("build", "any", "3.11"),))
    assert [m.kind for m in moves(proven_pins(one), proven_pins(none))] == ["removed"]


@pytest.mark.parametrize(
    ("old", "new", "kind", "step"),
    [
        ("1.9", "1.10", "upgraded", "minor"),
        ("1.10", "1.9", "downgraded", "minor"),
        ("1.9.1", "1.9.2", "upgraded", "patch"),
        ("1.9", "1.9.0.1", "upgraded", "patch"),
        ("1.9", "2", "upgraded", "major"),
        ("2026.1", "1!1.0", "upgraded", "major"),
        ("2.0rc1", "2.0", "upgraded", "other"),
        ("2.0", "2.0+cpu", "upgraded", "other"),
        ("2.0.post1", "2.0", "downgraded", "other"),
        ("", "1", "added", ""),
        ("1", "", "removed", ""),
    ],
)
def test_which_way_and_how_far(old: str, new: str, kind: str, step: str) -> None:
    move = Move(name="x", old=old, new=new, cells=())
    assert (move.kind, move.step) == (kind, step)


def names(some: tuple[Group, ...]) -> dict[str, list[str]]:
    return {group.name: [move.name for move in group.along] for group in some}


def grouped(kept: str = "", **asked: str) -> dict[str, list[str]]:
    """The groups where everything moves from 1 to 2 but for ``kept``."""
    still = dict.fromkeys(kept.split(), "1")
    old = dict.fromkeys(asked, "1")
    return names(groups(found(cells("a", old), cells("a", dict.fromkeys(asked, "2") | still), **asked)))


TOP = "envs/a.toml"


def test_what_only_a_moved_package_asks_for_moves_along_with_it_however_far() -> None:
    asked = {"torch": TOP, "nvidia_cublas": "torch", "nvidia_nvjitlink": "nvidia-cublas torch", "triton": "torch"}
    old = cells("a", {name.replace("_", "-"): "1" for name in asked})
    new = cells("a", {name.replace("_", "-"): "2" for name in asked})
    assert names(groups(found(old, new, **asked))) == {"torch": ["nvidia-cublas", "nvidia-nvjitlink", "triton"]}


def test_what_is_declared_as_well_is_its_own() -> None:
    assert grouped(t=TOP, n=f"t {TOP}") == {"n": [], "t": []}


def test_what_something_else_asks_for_that_did_not_move_is_its_own() -> None:
    assert grouped(kept="still", t=TOP, n="t still", still=TOP) == {"n": [], "t": []}


def test_what_two_moved_packages_ask_for_is_of_what_they_have_in_common() -> None:
    assert grouped(t=TOP, u=TOP, n="t u", below="n") == {"n": ["below"], "t": [], "u": []}
    assert grouped(t=TOP, a="t", b="t", n="a b") == {"t": ["a", "b", "n"]}


def test_packages_that_ask_for_each_other_are_a_group() -> None:
    assert grouped(t=TOP, a="t b", b="a") == {"t": ["a", "b"]}
    assert grouped(a="b", b="a") == {"a": ["b"]}
    assert grouped(a="a") == {"a": []}


def test_what_is_removed_goes_with_what_asked_for_it() -> None:
    old, new = cells("a", {"t": "1", "n": "1"}), cells("a", {"t": "2"})
    assert names(groups(found(old, new, t=TOP, n="t"))) == {"t": ["n"]}


def test_what_asks_must_have_moved_wherever_the_package_did() -> None:
    old = cells("a", {"t": "1", "n": "1"})
    new = cells("a", {"t": "1", "n": "2"}, pythons="3.11") | cells("a", {"t": "2", "n": "3"}, pythons="3.12")
    assert names(groups(found(old, new, t=TOP, n="t"))) == {"n": [], "t": []}
    new |= cells("a", {"t": "2", "n": "2"}, pythons="3.11")
    assert names(groups(found(old, new, t=TOP, n="t"))) == {"t": ["n", "n"]}


NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.sets(st.one_of(NAMES, st.just(TOP))), min_size=1))
def test_every_move_is_in_one_group_and_no_group_is_within_another(asked: dict[str, set[str]]) -> None:
    some = [Move(name=n, old="1", new="2", cells=(), asked_by=tuple(sorted(by))) for n, by in sorted(asked.items())]
    made = groups(some)
    assert sorted(m.name for g in made for m in (*g.moves, *g.along)) == sorted(asked)
    for group in made:
        inside = {group.name, *(m.name for m in group.along)}
        for move in group.along:  # no way leads to it but through the group
            assert set(move.asked_by) <= inside


def test_files_of_a_python_that_came_or_went_are_not_told() -> None:
    one, both = locked("x", "1", ["3.11"], "f11"), locked("x", "1", ["3.11", "3.12"], "f11", "f12")
    assert moved_files(one, both) == (set(), set())
    assert moved_files(both, one) == (set(), set())
    came, went = moved_files(one, locked("x", "1", ["3.11"], "other"))
    assert (len(came), len(went)) == (1, 1)
    came, went = moved_files(both, locked("x", "1", ["3.11"], "f11", "new"))
    assert (len(came), len(went)) == (1, 0)
