"""Requirements (PEP 508) in requirements files, and the version within one."""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from lockgrid.core.pins.text import PlaceError, Region, Text, value_place
from lockgrid.model.pins import Place

_NAME = re.compile(r"[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?=[ \t\[(<>=!~;@,#\\]|\Z|[\r\n])")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_OPTION = re.compile(r"[ \t]--?[A-Za-z]")
_HEAD = re.compile(r"\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*\(?")
_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^\s,;()]+)")
_REVISION = re.compile(r"://[^/\s]*/[^\s#;]*@(?P<rev>[^@\s#;]+)")


def requirement_lines(text: Text, name: str) -> list[Region]:
    """The requirements of a package (normalised name) in a requirements file, without comments and options."""
    index = text.learnt.get("requirements")
    if not isinstance(index, dict):
        index = text.learnt["requirements"] = _index(text)
    return [_logical_line(text, number) for number in index.get(name, ())]


def _index(text: Text) -> dict[str, list[int]]:
    """Numbers of lines, from 0, by the normalised name that they begin with."""
    index: dict[str, list[int]] = {}
    continued = False
    for number, (start, end) in enumerate(text.lines):
        if not continued and (match := _NAME.match(text.text, start, end)):
            index.setdefault(canonicalize_name(match[1]), []).append(number)
        continued = text.text.endswith("\\", start, end) and not _COMMENT.match(text.text, start, end)
    return index


def _logical_line(text: Text, number: int) -> Region:
    """A line with those that continue it; what is no requirement is blanked, so that places stay."""
    start = text.lines[number][0]
    body = ""
    for begin, end in text.lines[number:]:
        line = text.text[begin:end]
        line, goes_on = (f"{line[:-1]} ", True) if line.endswith("\\") else (line, False)
        line = _COMMENT.sub(lambda found: " " * len(found[0]), line)
        body = body.ljust(begin - start) + line
        if not goes_on:
            break
    option = _OPTION.search(body)
    return Region(start, body[: option.start()] if option else body)


def clause_place(region: Region, operator: str) -> Place:
    """The version in a requirement: of its one clause with ``operator``, ``==`` or ``===`` where that is empty.

    Of ``name @ git+https://...@commit`` it is the commit. Raises ``PlaceError``.
    """
    body = region.body
    try:
        requirement = Requirement(body.strip())
    except InvalidRequirement as error:
        raise PlaceError(f"{body.strip()!r} is no requirement (PEP 508)", region.start) from error
    if requirement.url:
        return _revision(region, requirement.url)
    begin = _HEAD.match(body)
    end = body.find(";") if ";" in body else len(body)
    clauses = list(_CLAUSE.finditer(body, begin.end() if begin else 0, end))
    wanted = (operator,) if operator else ("==", "===")
    chosen = [clause for clause in clauses if clause[1] in wanted]
    if len(chosen) != 1:
        said = str(requirement.specifier) or "no version"
        many = f"more than one {wanted[0]}" if chosen else f"no {wanted[0]}"
        raise PlaceError(f"it asks {said}, which has {many}", region.start)
    version = chosen[0][2]
    start = region.start + chosen[0].start(2)
    shown = version.removesuffix(".*")
    return Place(start, start + len(shown), shown, shown != version)


def _revision(region: Region, url: str) -> Place:
    at = region.body.index(url)
    match = _REVISION.search(region.body, at)
    if match is None:
        raise PlaceError(f"{url} names no commit or tag after an @", region.start)
    return value_place(Region(region.start + match.start("rev"), match["rev"]))


def requirement_name(body: str) -> str:
    """The normalised name that a requirement begins with, empty where it begins with none."""
    match = _NAME.match(body)
    return canonicalize_name(match[1]) if match else ""
