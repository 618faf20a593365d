"""What a venv must be: exactly the pins, nothing from outside, every requirement of its own packages met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


def differences(pins: Mapping[str, str], seen: Mapping[str, Any], venv: Path) -> list[str]:
    """How a venv differs from its pins, one clause each; ``seen`` is what ``inside.py see`` wrote."""
    problems = list(_leaks(seen, venv))
    installed: dict[str, list[str]] = {}
    for distribution in seen["distributions"]:
        installed.setdefault(canonicalize_name(distribution["name"]), []).append(distribution["version"])
    for name in sorted(pins.keys() | installed.keys()):
        pinned = pins.get(name)
        if name not in installed:
            problems.append(f"{name}=={pinned} is pinned and not installed")
        for found in installed.get(name, ()):  # two, where one was left behind
            if pinned is None:
                problems.append(f"{name}=={found} is installed and not pinned")
            elif not _same_version(pinned, found):
                problems.append(f"{name}=={pinned} is pinned, and {found} is installed")
    return problems


def _leaks(seen: Mapping[str, Any], venv: Path) -> Iterator[str]:
    """Places outside the venv, other than the standard library, where its Python looks for modules."""
    if seen["user_site"]:
        yield "the user's own site-packages are visible"
    for entry in seen["path"]:
        place = PurePath(entry)
        if not place.is_relative_to(venv) and not any(_is_standard(place, base) for base in seen["base"]):
            yield f"{entry} is outside the venv, and modules are looked for there"


def _is_standard(place: PurePath, base: str) -> bool:
    """Whether a place is the standard library's: under the base, but not in or below its site-packages."""
    if not place.is_relative_to(base):
        return False
    return not {"site-packages", "dist-packages"}.intersection(place.relative_to(base).parts)


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def unmet(
    requires: Iterable[tuple[str, str]], overridden: set[str], distributions: Sequence[Mapping[str, Any]], python: str
) -> list[str]:
    """Requirements that the installed distributions do not meet, one clause each, from what the environment asks for.

    ``requires`` are (requirement, who asks). ``overridden`` packages may have any version. ``python`` is a
    full version.
    """
    minor = ".".join(python.split(".")[:2])
    markers = {k: str(v) for k, v in default_environment().items()}
    markers |= {"python_version": minor, "python_full_version": python}
    installed = {canonicalize_name(d["name"]): d for d in distributions}
    names = {canonicalize_name(name) for name in overridden}
    problems: dict[str, None] = {}
    queue = [(line, who, "") for line, who in requires]
    done: set[tuple[str, str, str]] = set()
    while queue:
        line, who, extra = queue.pop(0)
        try:
            asked = Requirement(line)
        except InvalidRequirement:
            continue
        if (line, who, extra) in done or (asked.marker and not asked.marker.evaluate({**markers, "extra": extra})):
            continue
        done.add((line, who, extra))
        found = installed.get(canonicalize_name(asked.name))
        if found is None:
            problems[f"{who} requires {_plain(asked)}, and no pin provides {asked.name}"] = None
            continue
        pin = f"{found['name']}=={found['version']}"
        if canonicalize_name(asked.name) not in names and not asked.specifier.contains(
            found["version"], prereleases=True
        ):
            problems[f"{who} requires {_plain(asked)}, and the lock pins {pin}"] = None
        queue += [(line, pin, wanted) for line in found["requires"] for wanted in ("", *sorted(asked.extras))]
    return list(problems)


def _plain(asked: Requirement) -> str:
    extras = f"[{','.join(sorted(asked.extras))}]" if asked.extras else ""
    return f"{asked.name}{extras}{asked.specifier}"
