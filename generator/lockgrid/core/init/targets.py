"""Which platforms and Pythons a project's first grid has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from lockgrid.core.init.values import Collected, Note, Place
from lockgrid.core.table import nearest
from lockgrid.errors import Problem
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target, python_key

#: CPythons that are neither retired nor unreleased, oldest first.
CURRENT = ("3.10", "3.11", "3.12", "3.13", "3.14")
#: Floors that nearly every wheel serves: manylinux_2_28 and older; macOS 15 and older.
FLOORS = {"glibc": (2, 28), "macos": (15, 0)}
_DEFAULT = ("linux-x86_64", "linux-aarch64", "macos-arm64", "windows-x86_64")
_MINOR = "Programming Language :: Python :: "
_SYSTEM = "Operating System :: "
_PYTHON = re.compile(r"3\.(?:[0-9]|[1-9][0-9])")
_FLOOR = re.compile(r"([0-9]+)\.([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The platforms and Pythons, and for each why, in a few words."""

    platforms: tuple[Platform, ...]
    pythons: tuple[str, ...]
    why_platforms: str
    why_pythons: str

    @property
    def targets(self) -> tuple[Target, ...]:
        """Their product."""
        return tuple(Target(platform=platform, python=python) for platform in self.platforms for python in self.pythons)


def choose(
    requires_python: str,
    classifiers: Sequence[str],
    place: Place,
    *,
    platforms: Sequence[str],
    pythons: Sequence[str],
    out: Collected,
) -> Choice:
    """The first grid. ``platforms`` (``NAME`` or ``NAME=FLOOR``) and ``pythons`` are asked for on the command line.

    Without these, Pythons are the current ones that ``Requires-Python`` and the classifiers admit, and platforms the
    usual ones that the classifiers admit. ``place`` is where the project says so.
    """
    chosen, why_platforms = (
        (_asked_platforms(platforms, out), "as asked for with --platform")
        if platforms
        else _usual_platforms(classifiers, place)
    )
    minors, why_pythons = (
        (_asked_pythons(pythons, out), "as asked for with --python")
        if pythons
        else _usual_pythons(requires_python, classifiers, place, out)
    )
    return Choice(platforms=chosen, pythons=minors, why_platforms=why_platforms, why_pythons=why_pythons)


def _asked_platforms(words: Sequence[str], out: Collected) -> tuple[Platform, ...]:
    found: dict[str, Platform] = {}
    for word in words:
        name, _, given = word.partition("=")
        kind = PLATFORM_KINDS.get(name)
        if kind is None:
            out.problems.append(_option("--platform", f"{name!r} is no platform", nearest(name, PLATFORM_KINDS)))
            continue
        floor = FLOORS.get(kind.floor_key)
        if given:
            match = _FLOOR.fullmatch(given)
            if not kind.floor_key:
                out.problems.append(_option("--platform", f"{name} has no floor", f"write --platform {name}"))
            elif match is None:
                what = f"{given!r} is no version of {kind.floor_key}"
                out.problems.append(_option("--platform", what, f"write --platform {name}={_dotted(floor)}"))
            else:
                floor = int(match[1]), int(match[2])
        found[name] = Platform(name=name, floor=floor)
    return tuple(found.values())


def _asked_pythons(words: Sequence[str], out: Collected) -> tuple[str, ...]:
    for word in words:
        if not _PYTHON.fullmatch(word):
            out.problems.append(_option("--python", f"{word!r} is no Python minor version", "write --python 3.12"))
    return tuple(sorted({word for word in words if _PYTHON.fullmatch(word)}, key=python_key))


def _option(option: str, what: str, hint: str) -> Problem:
    return Problem(file="command line", key=option, what=what, hint=hint)


def _dotted(floor: tuple[int, int] | None) -> str:
    return ".".join(map(str, floor or ()))


def _usual_platforms(classifiers: Sequence[str], place: Place) -> tuple[tuple[Platform, ...], str]:
    """The usual platforms, less those of which the classifiers name others and not these."""
    systems = [line.removeprefix(_SYSTEM) for line in classifiers if line.startswith(_SYSTEM)]
    served = tuple(name for name in _DEFAULT if any(_serves(name, system) for system in systems))
    names = served or _DEFAULT
    floors = [PLATFORM_KINDS[name].floor_key for name in names]
    why = "the usual ones" if names == _DEFAULT else f"the usual ones that the classifiers of {place.file} name"
    return tuple(Platform(name=n, floor=FLOORS.get(f)) for n, f in zip(names, floors, strict=True)), why


def _serves(name: str, system: str) -> bool:
    parts = system.split(" :: ")
    if parts[0] in ("OS Independent", "OS-Independent"):
        return True
    if name.startswith("linux"):
        return parts[0] in ("POSIX", "Unix") and (len(parts) == 1 or parts[1] == "Linux")
    if name.startswith("macos"):
        return parts[0] == "MacOS" or parts in (["POSIX"], ["Unix"])
    return parts[0] == "Microsoft"


def _usual_pythons(
    requires_python: str, classifiers: Sequence[str], place: Place, out: Collected
) -> tuple[tuple[str, ...], str]:
    key = Place(place.file, key="project.requires-python")
    try:
        allowed = SpecifierSet(requires_python)
    except InvalidSpecifier:
        out.problems.append(key.problem(f"invalid specifier {requires_python!r}", 'write ">=3.10"'))
        return (), ""
    first = [python for python in CURRENT if allowed.contains(f"{python}.0")]
    admitted = [python for python in CURRENT if any(allowed.contains(f"{python}.{patch}") for patch in range(40))]
    if not admitted:
        what = f"{requires_python!r} admits none of CPython {CURRENT[0]} to {CURRENT[-1]}"
        out.problems.append(key.problem(what, "name Pythons with --python, such as --python 3.9"))
        return (), ""
    for python in admitted:
        if python not in first:
            what = f"does not admit every {python}; it is in the grid, where it stands for all of them"
            out.notes.append(Note(key, requires_python, what, "take it out of pythons if its first releases matter"))
    named = {line.removeprefix(_MINOR) for line in classifiers if line.startswith(_MINOR)}
    tried = [python for python in admitted if python in named]
    if tried and tried != admitted:
        beyond = ", ".join(python for python in admitted if python not in tried)
        what = f"no classifier names Python {beyond}, so it is not in the grid"
        out.notes.append(Note(Place(place.file, key="project.classifiers"), "", what, "add it to pythons to try it"))
    whence = [f"requires-python = {requires_python!r}"] if requires_python else []
    whence += ["the classifiers"] if tried and tried != admitted else []
    why = f"the current CPythons, as far as allowed by {' and '.join(whence)}" if whence else "the current CPythons"
    return tuple(tried or admitted), why
