"""Holds that are tried, and what a candidate moves."""

from __future__ import annotations

from dataclasses import replace

from packaging.utils import canonicalize_name

from lockgrid.core.digest import digest_environment
from lockgrid.core.moves import Move, moves
from lockgrid.core.render.requirements import render
from lockgrid.core.trial import with_holds
from lockgrid.model.grid import OldLocks
from lockgrid.model.spec import Hold
from unit.builders import environment, locked, named, old_lock, spec_of

A, B, C = (environment("x", name=name) for name in "abc")
OLD = {
    **old_lock("a", "linux-x86_64", locked("p", "1.0", ["3.12"]), locked("q", "1", ["3.12"])),
    **old_lock("b", "linux-x86_64", locked("p", "2.0", ["3.12"])),
}


def holds(held: dict[str, str], old: OldLocks = OLD) -> dict[str, list[str]]:
    spec, holding = with_holds(spec_of(A, B, C), held, old)
    found = {e.name: [f"{h.name}{h.specifier}" for h in e.holds] for e in spec.environments}
    names = {name for name, where in holding.items() for environment in where for name in [environment]}
    assert names == {name for name, specifiers in found.items() if specifiers}
    return {name: specifiers for name, specifiers in found.items() if specifiers}


def test_a_hold_goes_to_the_environments_whose_pins_it_keeps() -> None:
    assert holds({"p": "<=1.0"}) == {"a": ["p<=1.0"]}
    assert holds({"p": "<3", "q": "<2"}) == {"a": ["p<3", "q<2"], "b": ["p<3"]}


def test_a_hold_that_keeps_no_pin_goes_to_all_that_have_one_and_one_of_a_new_package_to_all() -> None:
    assert holds({"p": "<1"}) == {"a": ["p<1"], "b": ["p<1"]}
    assert holds({"new": "<1"}) == {"a": ["new<1"], "b": ["new<1"], "c": ["new<1"]}


def test_a_hold_that_stands_is_met_too() -> None:
    known = Hold(name=canonicalize_name("p"), specifier="!=0.5", why="x", file="envs/base.toml")
    spec, _ = with_holds(spec_of(replace(A, holds=(known,))), {"p": "<2"}, OLD)
    assert [(h.specifier, h.why, h.file) for h in named(spec, "a").holds] == [("!=0.5,<2", "x", "envs/base.toml")]


def test_no_hold_changes_nothing_and_one_counts_as_input() -> None:
    spec = spec_of(A, B)
    assert with_holds(spec, {}, OLD) == (spec, {})
    trial, _ = with_holds(spec, {"p": "<2"}, OLD)
    assert digest_environment(named(trial, "a")) != digest_environment(A)
    assert named(trial, "b") == B


def texts(old: OldLocks) -> dict[str, str]:
    return {f"{name}/{platform}.txt": render(lockfile) for (name, platform), lockfile in old.items()}


def test_moves_tell_versions_and_environments() -> None:
    old = {
        **old_lock("a", "linux-x86_64", locked("p", "1.0", ["3.12"]), locked("q", "1", ["3.12"])),
        **old_lock("a", "windows-x86_64", locked("p", "1.10", ["3.11"]), locked("p", "1.9", ["3.12"])),
        **old_lock("b", "linux-x86_64", locked("p", "1.0", ["3.12"])),
    }
    new = {
        **old_lock("a", "linux-x86_64", locked("p", "2.0", ["3.12"]), locked("r", "1", ["3.12"])),
        **old_lock("a", "windows-x86_64", locked("p", "2.0", ["3.11", "3.12"])),
        **old_lock("b", "linux-x86_64", locked("p", "1.0", ["3.12"])),
    }
    found = moves(old, texts(new))
    assert found == (
        Move(name="p", old=("1.0", "1.9", "1.10"), new=("2.0",), environments=("a",)),
        Move(name="q", old=("1",), new=(), environments=("a",)),
        Move(name="r", old=(), new=("1",), environments=("a",)),
    )
    assert [move.text for move in found] == ["p 1.0, 1.9, 1.10 -> 2.0", "removed q 1", "added r 1"]


def test_a_cell_that_is_gained_or_lost_moves_nothing() -> None:
    old = {
        **old_lock("a", "linux-x86_64", locked("p", "1.0", ["3.11", "3.12"])),
        **old_lock("b", "linux-x86_64", locked("p", "1.0", ["3.12"])),
    }
    new = {
        **old_lock("a", "linux-x86_64", locked("p", "1.0", ["3.12"]), locked("p", "2.0", ["3.13"])),
        **old_lock("c", "linux-x86_64", locked("p", "3.0", ["3.12"])),
    }
    assert moves(old, texts(new)) == ()
