"""``set(NAME value)`` and ``GIT_TAG`` in CMake files, by CMake's own rules of comments, quotes and brackets.

https://cmake.org/cmake/help/latest/manual/cmake-language.7.html#syntax
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lockgrid.core.pins.text import PlaceError, Region, Text

_BRACKET = r"\[(?P<{0}>=*)\[{1}\](?P={0})\]"
_QUOTED = r'"(?:\\.|[^"\\])*"'
#: What a call may stand in and be none, calls, and the word that makes a call one of a dependency.
_LANDMARK = re.compile(
    rf"#{_BRACKET.format('c', '.*?')}|#[^\n]*|{_BRACKET.format('b', '.*?')}|{_QUOTED}"
    r"|(?<![\w$}])(?:(?P<word>[A-Za-z_]\w*)[ \t\n]*(?P<open>\()[ \t\n]*(?P<first>[^\s()#\"\\;\[]*)"
    r"|(?P<tag>GIT_TAG)(?=[ \t\n]))",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    rf"[ \t\n;]+|#{_BRACKET.format('c', '.*?')}|#[^\n]*|{_BRACKET.format('e', '(?P<bracket>.*?)')}"
    r'|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<open>\()|(?P<close>\))|(?P<bare>(?:\\.|[^\s()#"\\;])+)',
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:ENV|CACHE)?\{(?P<name>[^}]*)\}")
#: The first argument where that is bare, the command in lower case, and where its arguments begin.
Call = tuple[str, str, int]


def cmake_sets(text: Text, name: str) -> list[Region]:
    """The values of each ``set(NAME value ...)``; raises ``PlaceError`` where one sets no value."""
    found = []
    for first, command, at in _calls(text):
        if command != "set" or first not in ("", name):
            continue
        arguments = _arguments(text.flat, at)
        if arguments and arguments[0].body == name:
            if len(arguments) < 2:
                raise PlaceError(f"set({name}) sets nothing", arguments[0].start)
            found.append(_plain(arguments[1]))
    return found


def cmake_git_tags(text: Text, name: str) -> list[Region]:
    """The value after ``GIT_TAG`` in each call for the dependency: ``FetchContent_Declare(NAME ... GIT_TAG value)``."""
    found = []
    for _, command, at in _calls(text):
        if command == "set":
            continue
        arguments = _arguments(text.flat, at)
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
    """Calls of ``set``, and those with a ``GIT_TAG``; the name in lower case, as CMake takes it."""
    last = ("", "", 0)
    for match in _LANDMARK.finditer(text):
        if match["open"]:
            last = match["first"], match["word"].lower(), match.end("open")
            if last[1] == "set":
                yield last
        elif match["tag"] and last[2]:
            if last[1] != "set":
                yield last
            last = ("", "", 0)


def _arguments(text: str, at: int) -> list[Region]:
    """The arguments of a call, from behind its parenthesis on."""
    arguments: list[Region] = []
    depth = 1
    while depth and (match := _ARGUMENT.match(text, at)):
        at = match.end()
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind in ("bare", "quoted", "bracket"):
            arguments.append(Region(match.start(kind), match[kind]))
    return arguments
