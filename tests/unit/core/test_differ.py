"""Why two environments cannot share a resolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from lockgrid.core.candidates import Facts
from lockgrid.core.differ import by_sources, differ_over, differing_sources, received_exceptions
from lockgrid.core.select import Selection
from lockgrid.model.grid import ProvenCell
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target
from unit.builders import LINUX, MAC, cell, environment, metadata, pin, simple_facts, target

FACTS = simple_facts(
    metadata("a", "1.0", "c<2"),
    metadata("b", "1.0", "c>=2", "d; extra == 'x'", extras=["x"]),
    metadata("c", "1.0"),
    metadata("c", "2.0"),
    metadata("d", "1.0"),
    metadata("d", "2.0"),
)


def side(
    one: Environment, *pins: str, via: Mapping[str, Sequence[str]] | None = None, where: Target | None = None
) -> tuple[Environment, list[ProvenCell]]:
    """An environment with its one proven cell; pins as ``name==version``."""
    made = [pin(name, version) for name, _, version in (text.partition("==") for text in pins)]
    return one, [cell(one.name, where or target(), *made, via=via)]


def over(
    one: tuple[Environment, list[ProvenCell]], other: tuple[Environment, list[ProvenCell]], known: Facts = FACTS
) -> list[str]:
    return differ_over(one, other, known)


def test_a_package_that_both_need_in_versions_that_exclude_each_other() -> None:
    one = side(environment("a", name="x"), "a==1.0", "c==1.0", "d==1.0")
    other = side(environment("b", name="y"), "b==1.0", "c==2.0", "d==2.0")
    assert over(one, other) == ["c (x: 1.0, y: 2.0)"]


def test_declared_requirements_count_where_they_apply() -> None:
    one = side(environment("c<2", name="x"), "c==1.0")
    other = side(environment("c>=2", name="y"), "c==2.0")
    assert over(one, other) == ["c (x: 1.0, y: 2.0)"]


def test_where_nothing_excludes_the_other_all_that_differs_is_named() -> None:
    one = side(environment("c", "d", name="x"), "c==1.0", "d==1.0")
    other = side(environment("c", "d", name="y"), "c==2.0", "d==2.0")
    assert over(one, other) == ["c (x: 1.0, y: 2.0)", "d (x: 1.0, y: 2.0)"]


def test_an_override_counts_as_what_is_asked() -> None:
    one = side(environment("c==9", name="x", overrides={"c": "==1.0"}), "c==1.0", "d==1.0")
    other = side(environment("c==9", name="y", overrides={"c": "==2.0"}), "c==2.0", "d==2.0")
    assert over(one, other) == ["c (x: 1.0, y: 2.0)"]


def test_extras_are_those_that_somebody_asks_for() -> None:
    known = simple_facts(
        metadata("b", "1.0", "d<2; extra == 'x'", extras=["x"]), metadata("d", "1.0"), metadata("d", "2.0"),
        metadata("c", "1.0"), metadata("c", "2.0"),
    )  # fmt: skip
    other = side(environment("d>=2", "c", name="y"), "d==2.0", "c==2.0")
    asked = side(environment("b[x]", "c", name="x"), "b==1.0", "c==1.0", "d==1.0", via={"d": ["b[x]==1.0"]})
    assert over(asked, other, known) == ["d (x: 1.0, y: 2.0)"]
    without = side(environment("b", "c", name="x"), "b==1.0", "c==1.0", "d==1.0", via={"d": ["b==1.0"]})
    assert over(without, other, known) == ["c (x: 1.0, y: 2.0)", "d (x: 1.0, y: 2.0)"]


def test_a_sdist_of_which_nothing_is_at_hand_explains_nothing() -> None:
    known = simple_facts(metadata("c", "1.0"), metadata("c", "2.0"))
    one = side(environment("a", "c", name="x"), "a==1.0", "c==1.0")
    other = side(environment("c>=2", name="y"), "c==2.0")
    assert over(one, other, known) == ["c (x: 1.0, y: 2.0)"]


def test_only_cells_on_the_same_target_are_compared() -> None:
    one = side(environment("c<2", name="x"), "c==1.0")
    other = side(environment("c>=2", name="y"), "c==2.0", where=target(MAC))
    assert over(one, other) == []


def test_the_same_pins_differ_over_nothing() -> None:
    one, other = side(environment("c", name="x"), "c==1.0"), side(environment("c", name="y"), "c==1.0", "d==1.0")
    assert over(one, other) == []


def selections(**received: Sequence[str]) -> dict[tuple[str, Target], Selection]:
    return {
        (name, target(LINUX)): Selection(pins=tuple(pin(package, "1.0") for package in packages))
        for name, packages in received.items()
    }


def names(sets: list[list[Environment]]) -> list[list[str]]:
    return [[one.name for one in members] for members in sets]


PLAIN = environment("a", name="plain")
BENT = environment("a", name="bent", overrides={"c": "==1.0"})
SOURCE = environment("a", name="source", sdists=["c"])


@pytest.mark.parametrize("exceptional", [BENT, SOURCE])
def test_an_exception_that_reaches_another_environment_separates_the_two(exceptional: Environment) -> None:
    reached = selections(**{"plain": ["c"], exceptional.name: ["c"]})
    assert names(received_exceptions([PLAIN, exceptional], reached)) == [["plain"], [exceptional.name]]
    unreached = selections(**{"plain": ["d"], exceptional.name: ["c"]})
    assert names(received_exceptions([PLAIN, exceptional], unreached)) == [["plain", exceptional.name]]


def test_what_could_not_be_served_was_received_too() -> None:
    found = {
        ("plain", target()): Selection(pins=(), unservable=(("c", "1.0"),)),
        ("bent", target()): Selection(pins=()),
    }
    assert names(received_exceptions([PLAIN, BENT], found)) == [["plain"], ["bent"]]


def test_the_same_exception_of_both_is_shared_and_another_is_not() -> None:
    same = environment("b", name="same", overrides={"c": "==1.0"})
    other = environment("b", name="other", overrides={"c": "==2.0"})
    received = selections(bent=["c"], same=["c"], other=["c"])
    assert names(received_exceptions([BENT, other, same], received)) == [["bent", "same"], ["other"]]


def test_environments_without_exceptions_are_one_set() -> None:
    other = environment("b", name="other")
    assert names(received_exceptions([PLAIN, other], selections(plain=["c"], other=["c"]))) == [["plain", "other"]]


def sourced(name: str, *, targets: Sequence[Target] = (target(), target(MAC)), **sources: str) -> Environment:
    """An environment that takes ``a`` on these platforms from an index each."""
    platforms = {"linux": "linux-x86_64", "mac": "macos-arm64"}
    given = {f"a@{platforms[key]}": index for key, index in sources.items()}
    return environment("a", name=name, targets=targets, sources=given)


def test_environments_that_take_a_package_from_different_indexes_differ_over_it() -> None:
    one = sourced("x", linux="cpu", mac="cpu")
    assert differing_sources(one, sourced("y", linux="cpu")) == ["a on macos-arm64"]
    assert differing_sources(one, sourced("y", linux="gpu", mac="cpu")) == ["a on linux-x86_64"]
    assert differing_sources(one, sourced("y")) == ["a on linux-x86_64", "a on macos-arm64"]
    assert differing_sources(one, sourced("y", targets=[target()], linux="cpu")) == []


def test_environments_are_set_apart_by_their_sources() -> None:
    plain, cpu, both = sourced("plain"), sourced("cpu", linux="cpu"), sourced("both", linux="cpu", mac="gpu")
    again = sourced("again", linux="cpu")
    assert by_sources([plain, cpu, both, again]) == [[plain], [cpu, again], [both]]
    assert by_sources([plain]) == [[plain]]
