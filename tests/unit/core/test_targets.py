"""Which wheels a target accepts at its floor, and what it answers to markers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier

from lockgrid.core.candidates import wheel_rank
from lockgrid.core.targets import (
    admits_python,
    choice_marker,
    default_runner,
    forbidden_marker,
    full_versions,
    marker_applies,
    marker_environments,
    platform_tags,
    target_tags,
)
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target
from unit.builders import ARM, LINUX, MAC, PLATFORMS, WINDOWS, target

INTEL_MAC = Platform(name="macos-x86_64", floor=(13, 0))
WINDOWS_ARM = Platform(name="windows-arm64")


def accepts(tag: str, platform: Platform = LINUX, python: str = "3.12") -> bool:
    return wheel_rank(f"a-1.0-{tag}.whl", target(platform, python)) is not None


@pytest.mark.parametrize(
    ("tag", "accepted"),
    [
        ("cp312-cp312-manylinux_2_28_x86_64", True),
        ("cp312-cp312-manylinux_2_29_x86_64", False),
        ("cp312-cp312-manylinux_2_34_x86_64", False),
        ("cp312-cp312-manylinux_2_17_x86_64", True),
        ("cp312-cp312-manylinux_2_5_x86_64", True),
        ("cp312-cp312-manylinux2014_x86_64", True),
        ("cp312-cp312-manylinux2010_x86_64", True),
        ("cp312-cp312-manylinux1_x86_64", True),
        ("cp312-cp312-manylinux_2_34_x86_64.manylinux_2_28_x86_64", True),
        ("cp312-cp312-linux_x86_64", True),
        ("cp312-cp312-musllinux_1_2_x86_64", False),
        ("cp312-cp312-manylinux_2_28_aarch64", False),
        ("cp312-cp312-manylinux_2_28_i686", False),
        ("cp312-cp312-win_amd64", False),
        ("cp312-abi3-manylinux_2_28_x86_64", True),
        ("cp38-abi3-manylinux2014_x86_64", True),
        ("cp313-abi3-manylinux_2_28_x86_64", False),
        ("cp311-cp311-manylinux_2_28_x86_64", False),
        ("cp312-cp312t-manylinux_2_28_x86_64", False),
        ("pp310-pypy310_pp73-manylinux_2_28_x86_64", False),
        ("cp312-none-manylinux_2_28_x86_64", True),
        ("py3-none-manylinux_2_28_x86_64", True),
        ("py3-none-manylinux_2_31_x86_64", False),
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py2-none-any", False),
        ("py312-none-any", True),
        ("py313-none-any", False),
        ("cp312-none-any", True),
    ],
)
def test_linux_at_glibc_2_28_accepts(tag: str, accepted: bool) -> None:
    assert accepts(tag) is accepted


@pytest.mark.parametrize(
    ("tag", "accepted"),
    [
        ("cp312-cp312-manylinux_2_28_aarch64", True),
        ("cp312-cp312-manylinux_2_17_aarch64", True),
        ("cp312-cp312-manylinux2014_aarch64", True),
        ("cp312-cp312-manylinux_2_16_aarch64", False),
        ("cp312-cp312-manylinux_2_34_aarch64", False),
        ("cp312-cp312-manylinux_2_28_x86_64", False),
    ],
)
def test_linux_on_arm_has_no_manylinux_before_2014(tag: str, accepted: bool) -> None:
    assert accepts(tag, ARM) is accepted


@pytest.mark.parametrize(
    ("tag", "accepted"),
    [
        ("cp312-cp312-macosx_15_0_arm64", True),
        ("cp312-cp312-macosx_14_0_arm64", True),
        ("cp312-cp312-macosx_11_0_arm64", True),
        ("cp312-cp312-macosx_16_0_arm64", False),
        ("cp312-cp312-macosx_26_0_arm64", False),
        ("cp312-cp312-macosx_15_0_universal2", True),
        ("cp312-cp312-macosx_10_13_universal2", True),
        ("cp312-cp312-macosx_16_0_universal2", False),
        ("cp312-cp312-macosx_15_0_x86_64", False),
        ("cp39-abi3-macosx_11_0_arm64", True),
        ("py3-none-any", True),
        ("cp312-cp312-manylinux_2_28_x86_64", False),
    ],
)
def test_macos_at_15_accepts(tag: str, accepted: bool) -> None:
    assert accepts(tag, MAC) is accepted


@pytest.mark.parametrize(
    ("tag", "accepted"),
    [
        ("cp312-cp312-macosx_13_0_x86_64", True),
        ("cp312-cp312-macosx_10_9_x86_64", True),
        ("cp312-cp312-macosx_10_9_universal2", True),
        ("cp312-cp312-macosx_14_0_x86_64", False),
        ("cp312-cp312-macosx_11_0_arm64", False),
    ],
)
def test_macos_on_intel_accepts(tag: str, accepted: bool) -> None:
    assert accepts(tag, INTEL_MAC) is accepted


@pytest.mark.parametrize(
    ("tag", "platform", "accepted"),
    [
        ("cp312-cp312-win_amd64", WINDOWS, True),
        ("cp38-abi3-win_amd64", WINDOWS, True),
        ("py3-none-any", WINDOWS, True),
        ("cp312-cp312-win32", WINDOWS, False),
        ("cp312-cp312-win_arm64", WINDOWS, False),
        ("cp312-cp312-win_arm64", WINDOWS_ARM, True),
        ("cp312-cp312-win_amd64", WINDOWS_ARM, False),
    ],
)
def test_windows_accepts(tag: str, platform: Platform, accepted: bool) -> None:
    assert accepts(tag, platform) is accepted


def test_a_lower_floor_accepts_less() -> None:
    old = Platform(name="linux-x86_64", floor=(2, 17))
    assert accepts("cp312-cp312-manylinux2014_x86_64", old)
    assert not accepts("cp312-cp312-manylinux_2_28_x86_64", old)
    assert list(platform_tags(Platform(name="linux-aarch64", floor=(2, 12)))) == ["linux_aarch64"]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("cp312-cp312-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_17_x86_64"),
        ("cp312-cp312-manylinux_2_17_x86_64", "cp312-cp312-manylinux2014_x86_64"),
        ("cp312-cp312-manylinux1_x86_64", "cp312-cp312-linux_x86_64"),
        ("cp312-cp312-linux_x86_64", "cp312-abi3-manylinux_2_28_x86_64"),
        ("cp312-abi3-manylinux_2_28_x86_64", "cp38-abi3-manylinux_2_28_x86_64"),
        ("cp38-abi3-manylinux_2_28_x86_64", "py3-none-manylinux_2_28_x86_64"),
        ("py3-none-manylinux_2_28_x86_64", "py3-none-any"),
        ("cp312-none-any", "py3-none-any"),
    ],
)
def test_the_more_specific_wheel_ranks_better(better: str, worse: str) -> None:
    ranks = [wheel_rank(f"a-1.0-{tag}.whl", target()) for tag in (better, worse)]
    assert None not in ranks
    assert ranks[0] < ranks[1]  # type: ignore[operator]


def test_a_wheel_of_several_tags_ranks_as_its_best() -> None:
    both = wheel_rank("a-1.0-cp312-cp312-manylinux_2_28_x86_64.manylinux2014_x86_64.whl", target())
    assert both == wheel_rank("a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", target())


def test_no_tag_is_listed_twice() -> None:
    for platform in (LINUX, ARM, MAC, WINDOWS, INTEL_MAC):
        tags = target_tags(target(platform))
        assert len(tags) == len(set(tags))


@pytest.mark.parametrize("filename", ["a-1.0.tar.gz", "a-1.0.whl", "a-1.0-py3-none.whl", "nonsense"])
def test_what_is_no_wheel_has_no_rank(filename: str) -> None:
    assert wheel_rank(filename, target()) is None


@pytest.mark.parametrize("name", PLATFORM_KINDS)
def test_the_marker_environment_has_every_variable_of_pep_508(name: str) -> None:
    kind = PLATFORM_KINDS[name]
    first, latest = marker_environments(target(Platform(name=name), "3.11"))
    assert (first["python_full_version"], latest["python_full_version"]) == ("3.11.0", "3.11.99")
    assert first["implementation_version"] == "3.11.0"
    assert {k: v for k, v in first.items() if latest[k] == v} == {
        "implementation_name": "cpython",
        "os_name": kind.os_name,
        "platform_machine": kind.platform_machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": kind.platform_system,
        "platform_version": "",
        "python_version": "3.11",
        "sys_platform": kind.sys_platform,
    }


def test_a_target_stands_for_the_first_and_the_latest_patch() -> None:
    assert full_versions(target(python="3.9")) == ("3.9.0", "3.9.99")


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("python_version == '3.12'", True),
        ("python_version < '3.12'", False),
        ("python_full_version >= '3.12.4'", True),
        ("python_full_version < '3.12.4'", True),
        ("python_full_version >= '3.13.0'", False),
        ("implementation_version < '3.12.1'", True),
        ("python_full_version == '3.12.4'", False),
        ("sys_platform == 'linux' and platform_machine == 'x86_64'", True),
        ("sys_platform == 'win32'", False),
        ("os_name == 'posix'", True),
        ("platform_system == 'Linux'", True),
        ("platform_python_implementation == 'PyPy'", False),
        ("extra == 'x'", False),
    ],
)
def test_a_marker_applies_where_either_end_of_the_python_needs_it(marker: str, applies: bool) -> None:
    assert marker_applies(marker, target()) is applies


@pytest.mark.parametrize(
    ("marker", "extras", "applies"),
    [
        ("extra == 'x'", {"x"}, True),
        ("extra == 'x'", {"y"}, False),
        ("extra == 'x'", {"x", "y"}, True),
        ("extra == 'Foo_Bar'", {"foo-bar"}, True),
        ("extra == 'x' and python_version >= '3.13'", {"x"}, False),
        ("extra == 'x' or sys_platform == 'linux'", {"y"}, True),
        ("python_version >= '3.12'", {"x"}, True),
    ],
)
def test_a_marker_on_an_extra_applies_when_that_extra_is_asked_for(
    marker: str, extras: set[str], applies: bool
) -> None:
    assert marker_applies(marker, target(), frozenset(extras)) is applies


@pytest.mark.parametrize(
    ("marker", "variable"),
    [
        ("platform_release >= '5'", "platform_release"),
        ("python_version > '3' and 'x' in platform_version", "platform_version"),
        ("python_version > '3' and sys_platform == 'linux'", ""),
    ],
)
def test_markers_on_a_kernel_are_told_from_others(marker: str, variable: str) -> None:
    assert forbidden_marker(marker) == variable


@pytest.mark.parametrize(
    ("specifier", "admitted"),
    [
        (">=3.10", True),
        (">=3.12", True),
        (">=3.13", False),
        ("<3.13", True),
        ("<3.12", False),
        (">=3.12.1", False),
        ("<=3.12", False),
        ("<3.12.4", False),
        ("!=3.12.0", False),
        ("!=3.12.*", False),
        ("~=3.10", True),
        ("==3.*", True),
        (">=3.10,<4", True),
        ("", True),
    ],
)
def test_requires_python_must_admit_every_patch_of_the_target(specifier: str, admitted: bool) -> None:
    assert admits_python(specifier, target()) is admitted


def test_an_invalid_requires_python_is_the_callers_to_report() -> None:
    with pytest.raises(InvalidSpecifier):
        admits_python(">=3.x", target())


MANY = [target(p, v) for p in PLATFORMS for v in ("3.9", "3.10", "3.11", "3.12")]


@given(universe=st.sets(st.sampled_from(MANY), min_size=1), data=st.data())
def test_a_choice_is_true_on_the_chosen_and_on_no_other(universe: set[Target], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(universe, key=lambda t: t.sort_key))))
    marker = choice_marker(chosen, universe)
    assert {t for t in universe if not marker or marker_applies(marker, t)} == chosen


@pytest.mark.parametrize(
    ("chosen", "marker"),
    [
        ([(LINUX, "3.11"), (LINUX, "3.12")], "platform_machine == 'x86_64'"),
        ([(p, v) for p in (LINUX, ARM, WINDOWS) for v in ("3.11", "3.12")], "sys_platform != 'darwin'"),
        ([(p, "3.12") for p in PLATFORMS], "python_version >= '3.12'"),
        ([(WINDOWS, "3.11")], "sys_platform == 'win32' and python_version < '3.12'"),
        ([], "python_version < '0'"),
    ],
)
def test_a_choice_has_few_words(chosen: list[tuple[Platform, str]], marker: str) -> None:
    universe = [target(p, v) for p in PLATFORMS for v in ("3.11", "3.12")]
    assert choice_marker([target(*one) for one in chosen], universe) == marker


@pytest.mark.parametrize(
    ("platform", "label"),
    [
        (Platform(name="linux-x86_64", floor=(2, 17)), "ubuntu-22.04"),
        (Platform(name="linux-x86_64", floor=(2, 35)), "ubuntu-22.04"),
        (Platform(name="linux-x86_64", floor=(2, 36)), "ubuntu-24.04"),
        (Platform(name="linux-x86_64", floor=(2, 43)), "ubuntu-26.04"),
        (Platform(name="linux-x86_64", floor=(2, 99)), "ubuntu-26.04"),
        (Platform(name="linux-aarch64", floor=(2, 39)), "ubuntu-24.04-arm"),
        (Platform(name="macos-arm64", floor=(11, 0)), "macos-15"),
        (Platform(name="macos-arm64", floor=(15, 4)), "macos-15"),
        (Platform(name="macos-arm64", floor=(26, 0)), "macos-26"),
        (INTEL_MAC, "macos-15-intel"),
        (WINDOWS, "windows-2025"),
        (WINDOWS_ARM, "windows-11-arm"),
    ],
)
def test_the_runner_is_the_oldest_that_is_not_below_the_floor(platform: Platform, label: str) -> None:
    assert default_runner(platform) == label


@pytest.mark.parametrize("name", PLATFORM_KINDS)
def test_every_kind_of_platform_has_a_runner(name: str) -> None:
    assert default_runner(Platform(name=name))
