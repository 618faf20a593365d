"""Markers and tags of a target: what it answers to PEP 508 and which wheels it accepts at its floor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.version import Version

from lockgrid.model.target import Platform, Target, python_key

#: A kernel's release and version differ between machines of one target, so no cell can answer them.
FORBIDDEN_MARKERS = ("platform_release", "platform_version")

#: Stands for "the latest X.Y": no CPython minor version has had a hundred patch releases.
LATEST_PATCH = 99

# PEP 513, 571, 599: the names that manylinux tags had before PEP 600.
_LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}


def full_versions(target: Target) -> tuple[str, str]:
    """The first and the latest patch version of the target's Python, between which a cell must not differ."""
    return f"{target.python}.0", f"{target.python}.{LATEST_PATCH}"


@cache
def marker_environments(target: Target) -> tuple[dict[str, str], dict[str, str]]:
    """The PEP 508 environment of the target at the two versions of ``full_versions``."""
    first, latest = full_versions(target)
    return _marker_environment(target, first), _marker_environment(target, latest)


def _marker_environment(target: Target, full_version: str) -> dict[str, str]:
    kind = target.platform.kind
    return {
        "implementation_name": "cpython",
        "implementation_version": full_version,
        "os_name": kind.os_name,
        "platform_machine": kind.platform_machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": kind.platform_system,
        "platform_version": "",
        "python_full_version": full_version,
        "python_version": target.python,
        "sys_platform": kind.sys_platform,
    }


@cache
def _marker(text: str) -> Marker:
    return Marker(text)


@cache
def marker_applies(text: str, target: Target, extras: frozenset[str] = frozenset()) -> bool:
    """Whether the marker ``text`` (PEP 508, valid) holds on the target at either of ``full_versions``.

    ``extras`` are the extras asked of the package whose metadata states the marker, normalised.
    """
    marker = _marker(text)
    environments: Sequence[dict[str, str]] = marker_environments(target)
    if "full_version" not in text and "implementation_version" not in text:
        environments = environments[:1]  # nothing else differs between the two
    return any(
        marker.evaluate({**environment, "extra": extra})
        for environment in environments
        for extra in (extras or {""} if "extra" in text else {""})
    )


def forbidden_marker(text: str) -> str:
    """The variable of ``FORBIDDEN_MARKERS`` that a marker uses, empty when it uses none."""
    return next((variable for variable in FORBIDDEN_MARKERS if variable in text), "")


@cache
def admits_python(specifier: str, target: Target) -> bool:
    """Whether a ``Requires-Python`` admits every patch version that the target stands for, first and latest.

    Raises ``packaging.specifiers.InvalidSpecifier``.
    """
    allowed = SpecifierSet(specifier)
    return all(allowed.contains(Version(version), prereleases=True) for version in full_versions(target))


def platform_tags(platform: Platform) -> Iterator[str]:
    """The platform tags that the platform accepts at its floor, best first (PEP 425, 513, 571, 599, 600)."""
    kind = platform.kind
    if kind.floor_key == "glibc" and platform.floor and kind.baseline:
        major, highest = platform.floor
        for minor in range(highest, kind.baseline[1] - 1, -1):
            yield f"manylinux_{major}_{minor}_{kind.tag_machine}"
            if (major, minor) in _LEGACY:
                yield f"{_LEGACY[major, minor]}_{kind.tag_machine}"
        yield f"linux_{kind.tag_machine}"
    elif kind.floor_key == "macos" and platform.floor:
        yield from mac_platforms(platform.floor, kind.tag_machine)
    else:
        yield kind.tag_machine


@cache
def target_tags(target: Target) -> tuple[Tag, ...]:
    """Every tag that the target accepts, best first, as an installer on it would order them."""
    version = python_key(target.python)
    interpreter = f"cp{version[0]}{version[1]}"
    platforms = list(platform_tags(target.platform))
    return (
        *cpython_tags(version, abis=[interpreter], platforms=platforms),
        *compatible_tags(version, interpreter=interpreter, platforms=platforms),
    )


@cache
def tag_ranks(target: Target) -> dict[Tag, int]:
    """``target_tags`` with the rank of each, 0 the best."""
    return {tag: rank for rank, tag in enumerate(target_tags(target))}


def default_runner(platform: Platform) -> str:
    """The label of GitHub's own runner with the oldest system that is not below the floor; of the newest where none is.

    A lock promises its floor, so the oldest such system is the one to test it on.
    """
    images, (plain, other) = _RUNNERS[platform.name]
    floor = platform.floor or (0, 0)
    image = next((label for label, version in images if floor <= version), images[-1][0])
    return f"{plain}{image}{other}"


# The systems of GitHub's runners, oldest first, each with its glibc or macOS; what stands before and after the label.
_UBUNTU = (("22.04", (2, 35)), ("24.04", (2, 39)), ("26.04", (2, 43)))
_MACOS = (("15", (15, 99)), ("26", (26, 99)))
_RUNNERS: dict[str, tuple[tuple[tuple[str, tuple[int, int]], ...], tuple[str, str]]] = {
    "linux-x86_64": (_UBUNTU, ("ubuntu-", "")),
    "linux-aarch64": (_UBUNTU, ("ubuntu-", "-arm")),
    "macos-arm64": (_MACOS, ("macos-", "")),
    "macos-x86_64": (_MACOS, ("macos-", "-intel")),
    "windows-x86_64": ((("2025", (0, 0)),), ("windows-", "")),
    "windows-arm64": ((("11", (0, 0)),), ("windows-", "-arm")),
}


def platform_marker(platform: Platform) -> str:
    """The marker that is true on the platform and on no other of ``PLATFORM_KINDS``."""
    kind = platform.kind
    return f"sys_platform == '{kind.sys_platform}' and platform_machine == '{kind.platform_machine}'"


def python_marker(pythons: Iterable[str], among: Iterable[str]) -> str:
    """A marker on ``python_version`` alone that picks ``pythons`` out of ``among``; empty when it is all of them.

    Shortest form: one bound where the choice is a prefix or suffix of ``among``, two where it is a run, and
    else an ``or`` of runs.
    """
    order = sorted(set(among), key=python_key)
    chosen = set(pythons)
    if chosen == set(order):
        return ""
    runs: list[list[int]] = []
    for index, python in enumerate(order):
        if python in chosen:
            if runs and runs[-1][1] == index - 1:
                runs[-1][1] = index
            else:
                runs.append([index, index])
    parts = []
    for start, end in runs:
        if start == end and start > 0 and end < len(order) - 1:
            parts.append(f"python_version == '{order[start]}'")
            continue
        bounds = []
        if start > 0:
            bounds.append(f"python_version >= '{order[start]}'")
        if end < len(order) - 1:
            bounds.append(f"python_version < '{order[end + 1]}'")
        parts.append(" and ".join(bounds))
    return " or ".join(parts)


def targets_marker(targets: Iterable[Target], among: Iterable[Target]) -> str:
    """A marker that is true on ``targets`` and on no other of ``among``; empty when that is all of them."""
    chosen = set(targets)
    universe = list(dict.fromkeys(among))
    if not chosen:
        return "python_version < '0'"
    if chosen == set(universe):
        return ""
    return " or ".join(f"({marker})" for marker in platform_markers(chosen))


def choice_marker(chosen: Iterable[Target], among: Iterable[Target]) -> str:
    """The same as ``targets_marker`` in the fewest words: what else than ``among`` it is true on is left open."""
    universe = list(dict.fromkeys(among))
    picked = [target for target in universe if target in set(chosen)]
    if not picked or len(picked) == len(universe):
        return targets_marker(picked, universe)
    platforms = list(dict.fromkeys(target.platform for target in universe))
    hosts = list(dict.fromkeys(target.platform for target in picked))
    everywhere, pythons = {target.python for target in universe}, {target.python for target in picked}
    for some, versions in product((platforms, hosts), (everywhere, pythons)):
        if [target for target in universe if target.platform in some and target.python in versions] == picked:
            parts = [_platforms_marker(some, platforms), python_marker(versions, everywhere)]
            return " and ".join(f"({part})" if " or " in part else part for part in parts if part)
    lines = []
    for host in hosts:
        mine = [target.python for target in picked if target.platform == host]
        marker = python_marker(mine, [target.python for target in universe if target.platform == host])
        lines.append(f"({_platforms_marker([host], platforms)}{f' and ({marker})' if marker else ''})")
    return " or ".join(lines)


def _platforms_marker(chosen: Sequence[Platform], among: Sequence[Platform]) -> str:
    """A marker that picks platforms out of ``among``; empty when it is all of them."""
    rest = [platform for platform in among if platform not in chosen]
    if not rest:
        return ""
    for variable in ("sys_platform", "platform_machine"):
        values = list(dict.fromkeys(getattr(platform.kind, variable) for platform in chosen))
        others = list(dict.fromkeys(getattr(platform.kind, variable) for platform in rest))
        if set(values) & set(others):
            continue
        if len(others) < len(values):
            return " and ".join(f"{variable} != '{value}'" for value in others)
        return " or ".join(f"{variable} == '{value}'" for value in values)
    return " or ".join(f"({platform_marker(platform)})" for platform in chosen)


def platform_markers(targets: Iterable[Target]) -> list[str]:
    """One disjoint marker a platform, each true on exactly the Pythons that ``targets`` has there."""
    by_platform: dict[Platform, list[str]] = {}
    for target in sorted(set(targets), key=lambda t: t.sort_key):
        by_platform.setdefault(target.platform, []).append(target.python)
    return [
        f"{platform_marker(platform)} and ({_closed_python_marker(pythons)})"
        for platform, pythons in by_platform.items()
    ]


def _closed_python_marker(pythons: list[str]) -> str:
    """True on exactly ``pythons``, with both ends bounded, whatever other Pythons there are."""
    runs: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for python in pythons:
        version = python_key(python)
        if runs and runs[-1][1] == (version[0], version[1] - 1):
            runs[-1] = (runs[-1][0], version)
        else:
            runs.append((version, version))
    return " or ".join(
        f"python_version >= '{low[0]}.{low[1]}' and python_version < '{high[0]}.{high[1] + 1}'" for low, high in runs
    )
