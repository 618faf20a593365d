"""Which targets install a pin, said in a marker; and what is outside of an export."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.export import IndexUrls, gather, marker_among, outside_marker
from lockgrid.core.targets import marker_applies
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target
from unit.builders import ARM, LINUX, MAC, WINDOWS, cell, pin, target
from unit.exports import CELLS, MANY, ONE, URLS

EVERYTHING = [
    Target(platform=Platform(name=name), python=python)
    for name in PLATFORM_KINDS
    for python in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
]
SOME = st.lists(st.sampled_from(EVERYTHING), min_size=1, unique=True)


@st.composite
def choices(draw: st.DrawFn) -> tuple[list[Target], list[Target]]:
    """Targets, and some of them: any, or all of some platforms or Pythons."""
    among = draw(SOME)
    chosen = draw(st.lists(st.sampled_from(among), min_size=1, unique=True))
    how = draw(st.sampled_from(["any", "python", "platform", "both"]))
    if how in ("python", "both"):
        chosen = [t for t in among if t.python in {c.python for c in chosen}]
    if how in ("platform", "both"):
        chosen = [t for t in among if t.platform in {c.platform for c in chosen}]
    return chosen, among


@given(choices())
def test_a_marker_picks_exactly_the_chosen_targets(choice: tuple[list[Target], list[Target]]) -> None:
    chosen, among = choice
    marker = marker_among(chosen, among)
    assert {t for t in among if not marker or marker_applies(marker, t)} == set(chosen)
    assert bool(marker) == (set(chosen) != set(among))


@given(SOME)
def test_outside_is_every_other_target_and_none_of_these(targets: list[Target]) -> None:
    marker = outside_marker(targets)
    assert {t for t in EVERYTHING if marker_applies(marker, t)} == set(EVERYTHING) - set(targets)


AN_X86 = "sys_platform == 'linux' and platform_machine == 'x86_64'"
PYTHONS = ("3.10", "3.11", "3.12")
GRID = [target(platform, python) for platform in (ARM, LINUX, MAC, WINDOWS) for python in PYTHONS]


@pytest.mark.parametrize(
    ("platforms", "pythons", "marker"),
    [
        ((ARM, LINUX, MAC, WINDOWS), PYTHONS, ""),
        ((ARM, LINUX, MAC, WINDOWS), ("3.11", "3.12"), "python_version >= '3.11'"),
        ((WINDOWS,), PYTHONS, "sys_platform == 'win32'"),
        ((ARM, LINUX), PYTHONS, "sys_platform == 'linux'"),
        ((ARM, LINUX), ("3.10",), "sys_platform == 'linux' and python_version < '3.11'"),
        ((LINUX,), PYTHONS, "sys_platform == 'linux' and platform_machine == 'x86_64'"),
        (
            (LINUX, MAC),
            ("3.12",),
            f"(sys_platform == 'darwin' or {AN_X86}) and python_version >= '3.12'",
        ),
    ],
)
def test_a_marker_says_no_more_than_it_must(
    platforms: tuple[Platform, ...], pythons: tuple[str, ...], marker: str
) -> None:
    chosen = [t for t in GRID if t.platform in platforms and t.python in pythons]
    assert marker_among(chosen, GRID) == marker


def test_versions_are_in_order_as_versions() -> None:
    assert [(p.name, p.version, p.index) for p in MANY.pins] == [
        ("engine", "1.0", ""),
        ("numpy", "2.9", ""),
        ("numpy", "2.10", ""),
        ("plain", "1!2.0+cpu.1", ""),
        ("torch", "2.13", ""),
        ("torch", "2.13", "cpu"),
        ("tree", "4.9", ""),
    ]


def test_the_order_of_the_cells_means_nothing() -> None:
    assert gather(CELLS[::-1]) == MANY


def test_one_target_needs_no_marker_and_one_file_a_pin() -> None:
    assert {pin.marker for pin in ONE.pins} == {""}
    assert {len(pin.files) for pin in ONE.pins} == {1}
    assert ONE.single
    assert not MANY.single


@pytest.mark.parametrize(
    "cells", [[], [cell("app", target())], [cell("app", target(), pin("a", "1")), cell("app", target(MAC))]]
)
def test_nothing_is_no_export(cells: list[object]) -> None:
    with pytest.raises(ValueError, match="nothing to export"):
        gather(cells)  # type: ignore[arg-type]


def test_which_of_several_plain_indexes_serves_a_pin_is_not_said() -> None:
    assert URLS.of("") == "https://index.example/simple"
    assert URLS.of("cpu") == "https://cpu.example/simple"
    assert IndexUrls(plain=("https://a.example", "https://b.example")).of("") is None
