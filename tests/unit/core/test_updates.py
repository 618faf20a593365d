"""What moves between two sets of locks, what belongs together, and the bound that holds it back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lockgrid.core.updates import Step, Update, bound, find_updates, group_updates
from lockgrid.model.grid import Lockfile
from unit.builders import locked

PYTHONS = ("3.11", "3.12")


def lockfile(*pins: tuple[str, str, Sequence[str]], environment: str = "app") -> Lockfile:
    found = sorted((locked(name, version, pythons) for name, version, pythons in pins), key=lambda pin: pin.name)
    return Lockfile(environment=environment, platform="linux-x86_64", pythons=PYTHONS, sdists=(), pins=tuple(found))


def locks(*lockfiles: Lockfile) -> dict[tuple[str, str], Lockfile]:
    return {(one.environment, one.platform): one for one in lockfiles}


def update(name: str, before: str, after: str, environment: str = "app", python: str = "3.12") -> Update:
    move = Step(environment=environment, platform="linux-x86_64", python=python, before=before, after=after)
    return Update(name=name, steps=(move,))


def both(name: str, version: str) -> tuple[str, str, Sequence[str]]:
    return name, version, PYTHONS


def test_an_update_is_a_pin_that_moves_in_a_cell_that_stays() -> None:
    old = locks(lockfile(both("a", "1.0"), both("b", "1.0"), both("gone", "1.0")))
    new = locks(lockfile(both("a", "1.1"), both("b", "1.0"), both("new", "1.0")), lockfile(environment="more"))
    (only,) = find_updates(old, new)
    assert (only.name, only.before, only.after, only.environments) == ("a", ("1.0",), ("1.1",), ("app",))
    assert only.text == "a 1.0 -> 1.1"


def test_only_the_pythons_on_which_it_moves_count() -> None:
    old = locks(lockfile(("a", "1.0", ["3.11"]), ("a", "2.0", ["3.12"])))
    new = locks(lockfile(("a", "1.0", ["3.11"]), ("a", "2.1", ["3.12"])))
    (only,) = find_updates(old, new)
    assert [(step.python, step.before, step.after) for step in only.steps] == [("3.12", "2.0", "2.1")]


def test_exact_pins_make_one_group_that_is_led_by_who_pins() -> None:
    updates = [update(name, "1", "2") for name in ("cublas", "cudnn", "other", "torch")]
    requires = {
        ("torch", "1"): ["cublas==1 ; sys_platform == 'linux'", "cudnn==1"],
        ("torch", "2"): ["cublas==2 ; sys_platform == 'linux'", "cudnn==2", "other>=1"],
    }
    groups = group_updates(updates, requires)
    assert [(sorted(group.names), group.leaders) for group in groups] == [
        (["cublas", "cudnn", "torch"], ("torch",)),
        (["other"], ("other",)),
    ]
    assert groups[0].text == "torch 1 -> 2, with 2 that move along"


def test_who_only_needs_another_to_move_first_is_no_part_of_its_group() -> None:
    updates = [update("numpy", "1", "2"), update("scipy", "1", "2")]
    requires = {("scipy", "2"): ["numpy>=2"], ("scipy", "1"): ["numpy"]}
    assert [sorted(group.names) for group in group_updates(updates, requires)] == [["numpy"], ["scipy"]]


def test_bounds_on_both_sides_are_as_good_as_exact_pins() -> None:
    updates = [update("numpy", "1", "2"), update("scipy", "1", "2")]
    requires = {("scipy", "2"): ["numpy>=2"], ("scipy", "1"): ["numpy<2"]}
    (group,) = group_updates(updates, requires)
    assert group.leaders == ("scipy",)


def test_where_nothing_is_known_each_stands_alone() -> None:
    assert len(group_updates([update("a", "1", "2"), update("b", "1", "2")], {})) == 2


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([("1.0", "1.2")], "<1.2"),
        ([("1.0", "1.2"), ("2.0", "2.1")], "<2.1"),  # <1.2 would take 2.0 away
        ([("1.0", "1.2"), ("2.0", "2.0")], "!=1.2,!=2.0"),
        ([("2.0", "1.5")], "!=1.5"),
        ([("1.0", "1.0.post1")], "<1.0.post1"),
        ([("2.13.0+cpu", "2.14.0+cpu")], "<2.14.0"),
        ([("2.13.0+cpu1", "2.13.0+cpu2")], "!=2.13.0+cpu2"),
        ([("1.0rc1", "1.0")], "!=1.0"),  # <1.0 admits no pre-release of it
    ],
)
def test_bounds(moves: list[tuple[str, str]], expected: str) -> None:
    found = [
        Step(environment="app", platform="linux-x86_64", python=str(n), before=before, after=after)
        for n, (before, after) in enumerate(moves)
    ]
    assert bound(Update(name="a", steps=tuple(found)), ["app"]) == expected


def test_a_bound_looks_at_the_environments_that_get_it() -> None:
    one = update("a", "1.0", "1.2")
    other = update("a", "3.0", "3.1", environment="other")
    moved = Update(name="a", steps=(*one.steps, *other.steps))
    assert [bound(moved, [name]) for name in ("app", "other")] == ["<1.2", "<3.1"]
    assert bound(moved, ["app", "other"]) == "<3.1"
