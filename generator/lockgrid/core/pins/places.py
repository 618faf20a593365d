"""Where the copies of a version stand in a file: one function for every kind of match."""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.utils import canonicalize_name

from lockgrid.core.pins.assignments import python_values, shell_values
from lockgrid.core.pins.cmake import cmake_git_tags, cmake_sets
from lockgrid.core.pins.jsonspans import json_strings
from lockgrid.core.pins.patterns import pattern_spans
from lockgrid.core.pins.requirements import clause_place, requirement_lines, requirement_name
from lockgrid.core.pins.text import PlaceError, Region, Text, value_place
from lockgrid.core.pins.tomlspans import toml_strings
from lockgrid.core.pins.versions import read_version
from lockgrid.core.pins.yamlspans import compose, yaml_scalars
from lockgrid.model.pins import KeyPath, Kind, Match, Place

_SHOWN = 8
_MORE = re.compile(r"[0-9A-Za-z.+!_-]{1,60}")
_HEX = re.compile(r"[0-9a-fA-F]+")


def find_place(text: Text, match: Match) -> Place:
    """The one place where ``match`` finds a version. Raises ``PlaceError`` for none, and for more than one."""
    regions = _FINDERS[match.kind](text, match)
    if not regions:
        raise PlaceError(f"nothing is found by {match.text}")
    if len(regions) > 1:
        lines = [str(text.position(region.start)[0]) for region in regions]
        shown = ", ".join(lines[:_SHOWN]) + (" and more" if len(lines) > _SHOWN else "")
        what = f"{match.text} finds more than one place, on the lines {shown}: it has to be one"
        raise PlaceError(what, regions[0].start)
    if match.kind in (Kind.REQUIREMENT, Kind.DEPENDENCY):
        return clause_place(regions[0], match.operator)
    place = value_place(regions[0])
    if match.kind is Kind.REGEX:
        _refuse_part(text.text, place)
    return place


def _refuse_part(text: str, place: Place) -> None:
    """A pattern that takes ``1.2`` of ``1.2.3`` would call it in step with 1.2. Raises ``PlaceError``."""
    before = text[max(place.start - 2, 0) : place.start]
    cut = any(_is_version(text[place.start : end], place.text) for end in _ends(text, place.end))
    cut = cut or before[-1:].isdecimal() or (before[-1:] == "." and before[:1].isdecimal())
    if _HEX.fullmatch(place.text) and not place.text.isdecimal():
        cut = cut or bool(_HEX.match(text, place.end)) or bool(_HEX.match(text, place.start - 1, place.start))
    if cut:
        raise PlaceError(f"the pattern takes {place.text!r}, a part of a longer version", place.start)


def _ends(text: str, start: int) -> list[int]:
    """Where a version may end that goes on from ``start``: in no word (``.rpm`` has ``.r``) and in no number."""
    longer = _MORE.match(text, start)
    ends = range(start + 1, longer.end() + 1) if longer else ()
    return [
        end
        for end in ends
        if not (text[end - 1].isalpha() and text[end : end + 1].isalpha())
        and not (text[end - 1].isdecimal() and text[end : end + 1].isdecimal())
    ]


def _is_version(text: str, part: str) -> bool:
    """Whether this is one version that ``part`` begins. After a ``-`` may stand the number of a build, or a word."""
    version = read_version(text)
    return version is not None and (not text.startswith("-", len(part)) or version.is_prerelease)


def _requirements(text: Text, match: Match) -> list[Region]:
    return requirement_lines(text, match.name)


def _dependencies(text: Text, match: Match) -> list[Region]:
    """The requirements of a package where a pyproject.toml declares them (PEP 621, PEP 735, PEP 518)."""
    found = []
    for key, region in _toml(text).items():
        if _declares(key, match) and requirement_name(region.body) == match.name:
            found.append(region)
    return found


def _declares(key: KeyPath, match: Match) -> bool:
    if match.build:
        return len(key) == 3 and key[:2] == ("build-system", "requires")
    if match.group:
        return len(key) == 3 and key[0] == "dependency-groups" and _same(key[1], match.group)
    if match.extra:
        return len(key) == 4 and key[:2] == ("project", "optional-dependencies") and _same(key[2], match.extra)
    return len(key) == 3 and key[:2] == ("project", "dependencies")


def _same(one: str | int, other: str) -> bool:
    return canonicalize_name(str(one)) == canonicalize_name(other)


def _toml(text: Text) -> dict[KeyPath, Region]:
    """The strings of a TOML file that stand there as they are meant."""
    known = text.learnt.get("toml")
    if not isinstance(known, dict):
        data, strings = toml_strings(text.text)
        text.learnt["data"] = data
        known = {path: region for path, region in strings.items() if _at(data, path) == region.body}
        text.learnt["toml"] = known
    return known


def _toml_key(text: Text, match: Match) -> list[Region]:
    strings = _toml(text)
    for key in (match.key, _counted(match.key)):
        if key in strings:
            return [strings[key]]
    return _no_string(text, match)


def _json_key(text: Text, match: Match) -> list[Region]:
    known = text.learnt.get("json")
    if not isinstance(known, dict):
        data, strings = json_strings(text.text)
        text.learnt["data"] = data
        grouped: dict[KeyPath, list[Region]] = {}
        for path, region in strings:
            grouped.setdefault(path, []).append(region)
        known = {
            path: regions for path, regions in grouped.items() if len(regions) > 1 or _at(data, path) == regions[0].body
        }
        text.learnt["json"] = known
    for key in (match.key, _counted(match.key)):
        if key in known:
            return list(known[key])
    return _no_string(text, match)


def _no_string(text: Text, match: Match) -> list[Region]:
    """Nothing; raises ``PlaceError`` where the key is there, with a value that cannot be taken."""
    for key in (match.key, _counted(match.key)):
        value = _at(text.learnt["data"], key)
        if isinstance(value, str):
            raise PlaceError(f"{match.text} is written with escapes: use a regex")
        if value is not None:
            raise PlaceError(f"{match.text} is no string")
    return []


def _yaml_key(text: Text, match: Match) -> list[Region]:
    documents = text.learnt.get("yaml")
    if not isinstance(documents, list):
        documents = text.learnt["yaml"] = compose(text.text)
    return yaml_scalars(documents, text.text, match.key)


def _counted(key: KeyPath) -> KeyPath:
    """The key with its decimal parts as numbers of list entries: ``a.0.b`` may mean either."""
    return tuple(int(part) if isinstance(part, str) and part.isdecimal() else part for part in key)


def _at(data: object, path: KeyPath) -> object:
    """The value at a path; the scanners walk only over what was parsed."""
    for part in path:
        try:
            data = data[part]  # type: ignore[index]
        except (LookupError, TypeError):
            return None
    return data


def _pattern(text: Text, match: Match) -> list[Region]:
    return [Region(start, text.text[start:end]) for start, end in pattern_spans(match.name, text.flat)]


_FINDERS: dict[Kind, Callable[[Text, Match], list[Region]]] = {
    Kind.REQUIREMENT: _requirements,
    Kind.DEPENDENCY: _dependencies,
    Kind.CMAKE_SET: lambda text, match: cmake_sets(text, match.name),
    Kind.CMAKE_GIT_TAG: lambda text, match: cmake_git_tags(text, match.name),
    Kind.SHELL: lambda text, match: shell_values(text, match.name),
    Kind.PYTHON: lambda text, match: python_values(text, match.name),
    Kind.TOML: _toml_key,
    Kind.JSON: _json_key,
    Kind.YAML: _yaml_key,
    Kind.REGEX: _pattern,
}
