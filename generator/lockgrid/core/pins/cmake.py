"""``set(NAME value)`` and ``GIT_TAG`` in CMake files, by CMake's own rules of comments, quotes and brackets.

https://cmake.org/cmake/help/latest/manual/cmake-language.7.html#syntax
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lockgrid.core.pins.text import PlaceError, Region, Text

_TOKEN = re.compile(
    r"(?P<gap>[ \t\n;]+|#\[(?P<c>=*)\[.*?\](?P=c)\]|#[^\n]*)"
    r"|\[(?P<e>=*)\[(?P<bracket>.*?)\](?P=e)\]"
    r'|"(?P<quoted>(?:\\.|[^"\\])*)"'
    r"|(?P<open>\()|(?P<close>\))"
    r'|(?P<bare>(?:\\.|[^\s()#"\\;])+)',
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:ENV|CACHE)?\{(?P<name>[^}]*)\}")
Call = tuple[str, list[Region]]


def cmake_sets(text: Text, name: str) -> list[Region]:
    """The values of each ``set(NAME value ...)``; raises ``PlaceError`` where one sets no value."""
    found = []
    for command, arguments in _calls(text):
        if command == "set" and arguments and arguments[0].body == name:
            if len(arguments) < 2:
                raise PlaceError(f"set({name}) sets nothing", arguments[0].start)
            found.append(_plain(arguments[1]))
    return found


def cmake_git_tags(text: Text, name: str) -> list[Region]:
    """The value after ``GIT_TAG`` in each call for the dependency: ``FetchContent_Declare(NAME ... GIT_TAG value)``."""
    found = []
    for _, arguments in _calls(text):
        words = [argument.body for argument in arguments]
        if not words or name.lower() not in _names(words):
            continue
        tags = [at + 1 for at, word in enumerate(words) if word == "GIT_TAG" and at + 1 < len(words)]
        found += [_plain(arguments[at]) for at in tags]
    return found


def _names(words: Sequence[str]) -> set[str]:
    """What a call declares: its first argument, or the one after ``NAME`` (CPMAddPackage)."""
    named = {word.lower() for before, word in pairwise(words) if before == "NAME"}
    return named | {words[0].lower()}


def _plain(value: Region) -> Region:
    variable = _VARIABLE.search(value.body)
    if variable:
        what = f"the value is {value.body}: match where {variable['name']} is set instead"
        raise PlaceError(what, value.start)
    return value


def _calls(text: Text) -> list[Call]:
    calls = text.learnt.get("cmake")
    if not isinstance(calls, list):
        calls = text.learnt["cmake"] = list(_scan(text.flat))
    return calls


def _scan(text: str) -> Iterator[Call]:
    """Every command with its arguments; the name in lower case, as CMake takes it."""
    at = depth = 0
    word = ""
    arguments: list[Region] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:  # a lone quote or backslash: no CMake, so go on behind it
            at += 1
            continue
        at = match.end()
        kind = str(match.lastgroup)
        if kind == "open":
            depth += 1
            arguments = arguments if depth > 1 else []
        elif kind == "close":
            depth = max(depth - 1, 0)
            if depth == 0:
                yield word, arguments
                word, arguments = "", []
        elif kind in ("bare", "quoted", "bracket"):
            if depth:
                arguments.append(Region(match.start(kind), match[kind]))
            elif kind == "bare":
                word = match[kind].lower()
