"""The markers that lockgrid writes are true exactly where they should be, as packaging judges them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker

from lockgrid.core.targets import (
    marker_environments,
    platform_marker,
    platform_markers,
    python_marker,
    targets_marker,
)
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target
from unit.builders import LINUX, MAC, WINDOWS, target

PYTHONS = [f"3.{minor}" for minor in range(8, 16)]
FEW = ["3.9", "3.10", "3.11", "3.13"]
EVERY_PLATFORM = [Platform(name=name) for name in PLATFORM_KINDS]
UNIVERSE = [Target(platform=platform, python=python) for platform in EVERY_PLATFORM for python in FEW]


@cache
def parsed(marker: str) -> Marker:
    return Marker(marker)


def holds(marker: str, where: Target) -> bool:
    """Whether a marker holds at both ends of a target; the ends must agree."""
    if not marker:
        return True
    first, latest = (parsed(marker).evaluate(dict(environment)) for environment in marker_environments(where))
    assert first == latest
    return first


def subsets(of: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(of), min_size=1, unique=True)


@given(st.data())
def test_python_marker_picks_exactly_the_chosen_pythons(data: st.DataObject) -> None:
    among = data.draw(subsets(PYTHONS))
    chosen = data.draw(subsets(among))
    marker = python_marker(chosen, among)
    assert {python for python in among if holds(marker, target(LINUX, python))} == set(chosen)
    assert set(re.findall(r"[a-z_]+_[a-z]+", marker)) <= {"python_version"}
    assert bool(marker) is (set(chosen) != set(among))


@pytest.mark.parametrize(
    ("chosen", "among", "marker"),
    [
        (["3.10", "3.11"], ["3.10", "3.11"], ""),
        (["3.9"], ["3.9", "3.10", "3.11"], "python_version < '3.10'"),
        (["3.9", "3.10"], ["3.9", "3.10", "3.11"], "python_version < '3.11'"),
        (["3.11"], ["3.9", "3.10", "3.11"], "python_version >= '3.11'"),
        (["3.10"], ["3.9", "3.10", "3.11"], "python_version == '3.10'"),
        (["3.10", "3.11"], ["3.9", "3.10", "3.11", "3.12"], "python_version >= '3.10' and python_version < '3.12'"),
        (["3.9", "3.11"], ["3.9", "3.10", "3.11"], "python_version < '3.10' or python_version >= '3.11'"),
        (["3.11", "3.9"], ["3.11", "3.9", "3.10"], "python_version < '3.10' or python_version >= '3.11'"),
        (["3.9", "3.13"], ["3.9", "3.11", "3.13"], "python_version < '3.11' or python_version >= '3.13'"),
    ],
)
def test_python_marker_has_its_shortest_form(chosen: list[str], among: list[str], marker: str) -> None:
    assert python_marker(chosen, among) == marker


@given(st.data())
def test_targets_marker_is_true_on_exactly_the_chosen_targets(data: st.DataObject) -> None:
    among = data.draw(st.lists(st.sampled_from(UNIVERSE), min_size=1, unique=True))
    chosen = data.draw(st.lists(st.sampled_from(among), min_size=1, unique=True))
    marker = targets_marker(chosen, among)
    assert {where for where in among if holds(marker, where)} == set(chosen)


@settings(max_examples=25)
@given(st.lists(st.sampled_from(UNIVERSE), min_size=1, unique=True))
def test_platform_markers_are_disjoint_and_closed(chosen: list[Target]) -> None:
    markers = platform_markers(chosen)
    assert len(markers) == len({where.platform for where in chosen})
    for where in UNIVERSE:
        assert sum(holds(marker, where) for marker in markers) == (where in chosen)


def test_all_targets_need_no_marker() -> None:
    assert targets_marker(UNIVERSE, UNIVERSE) == ""
    assert targets_marker([*UNIVERSE, UNIVERSE[0]], reversed(UNIVERSE)) == ""


@pytest.mark.parametrize("platform", EVERY_PLATFORM, ids=lambda platform: platform.name)
def test_a_platforms_marker_holds_there_and_on_no_other(platform: Platform) -> None:
    marker = platform_marker(platform)
    assert [p for p in EVERY_PLATFORM if holds(marker, target(p))] == [platform]


def test_markers_are_spelled_for_people() -> None:
    chosen = [target(LINUX, "3.10"), target(LINUX, "3.11"), target(LINUX, "3.13"), target(MAC, "3.12")]
    assert platform_markers(reversed(chosen)) == [
        (
            "sys_platform == 'linux' and platform_machine == 'x86_64' and (python_version >= '3.10' and "
            "python_version < '3.12' or python_version >= '3.13' and python_version < '3.14')"
        ),
        (
            "sys_platform == 'darwin' and platform_machine == 'arm64' and (python_version >= '3.12' and "
            "python_version < '3.13')"
        ),
    ]
    windows = target(WINDOWS, "3.12")
    assert targets_marker([windows], [windows, *chosen]) == f"({platform_markers([windows])[0]})"


def test_no_target_is_not_every_target() -> None:
    assert targets_marker([], UNIVERSE) != ""
