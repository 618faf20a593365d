"""A TOML file read into values of the right type, with every fault and none of the meaning.

Unknown keys are refused, with the nearest known key. Types are strict: ``pythons = [3.10]`` is the number
3.1 in TOML, so it is an error and not a Python.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from lockgrid.core.conflict import conflict_problem
from lockgrid.errors import Problem

T = TypeVar("T")
D = TypeVar("D")


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the known word closest to ``word``, or the list of them when none is close."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6) or get_close_matches(
        word.lower().replace("_", "-"), words, n=1, cutoff=0.6
    )
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(words)}" if words else "there are none"


def toml_fault(text: str, error: tomllib.TOMLDecodeError) -> str:
    """What is wrong with a text that is no TOML; some editors begin a file with a mark that TOML has no place for."""
    if text.startswith("\ufeff"):
        return "broken TOML: it begins with a byte order mark; save it as UTF-8 without one"
    return f"broken TOML: {error}"


def parse(file: str, text: str, read: Callable[[Table], T]) -> tuple[T | None, list[Problem]]:
    """What ``read`` makes of a file, and its faults; None when the TOML is broken. Never raises."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        conflict = conflict_problem(file, text, "decide what is required, and take the markers out")
        return None, [conflict or Problem(file=file, what=toml_fault(text, error))]
    problems: list[Problem] = []
    table = Table(file, "", data, problems)
    value = read(table)
    table.close()
    return value, problems


class Wrong(Exception):
    """Values of the wrong type: for each the key below the one that was read, what is wrong, and a hint."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.faults = [("", what, hint)]

    @classmethod
    def all(cls, faults: list[tuple[str, str, str]]) -> Wrong:
        """Several faults in one."""
        wrong = cls(faults[0][1])
        wrong.faults = faults
        return wrong


class Table:
    """One TOML table while it is read: remembers which keys were asked for, and refuses the others."""

    def __init__(self, file: str, key: str, data: Mapping[str, Any], problems: list[Problem]) -> None:
        self._file = file
        self._key = key
        self._data = data
        self._problems = problems
        self._known: list[str] = []

    def optional(self, key: str, read: Callable[[Any], T]) -> T | None:
        """The value of a key, None when it is absent or wrong."""
        self._known.append(key)
        if key not in self._data:
            return None
        try:
            return read(self._data[key])
        except Wrong as error:
            for below, what, hint in error.faults:
                self._say(f"{key}{below}", what, hint)
            return None

    def required(self, key: str, read: Callable[[Any], T], otherwise: D) -> T | D:
        """The value of a key that must be there; ``otherwise`` when it is not."""
        if key not in self._data:
            self._known.append(key)
            self._say(key, "this key is missing")
            return otherwise
        value = self.optional(key, read)
        return otherwise if value is None else value

    def table(self, key: str, read: Callable[[Table], T]) -> T | None:
        """A table below this one."""
        data = self.optional(key, anything)
        if data is None:
            return None
        below = Table(self._file, self._path(key), data, self._problems)
        value = read(below)
        below.close()
        return value

    def tables(self, key: str, read: Callable[[Table], T], *, required: bool = False) -> dict[str, T]:
        """A table whose values are tables of one shape."""
        none: dict[str, Any] = {}
        data = self.required(key, anything, none) if required else self.optional(key, anything) or none
        below = Table(self._file, self._path(key), data, self._problems)
        found = {}
        for name in data:
            value = below.table(name, read)
            if value is not None:
                found[name] = value
        return found

    def close(self) -> None:
        """Refuse the keys that nobody asked for."""
        for key in self._data:
            if key not in self._known:
                self._say(key, "unknown key", nearest(key, self._known))

    def _path(self, key: str) -> str:
        return f"{self._key}.{key}" if self._key else key

    def _say(self, key: str, what: str, hint: str = "") -> None:
        self._problems.append(Problem(file=self._file, key=self._path(key), what=what, hint=hint))


def string(value: Any) -> str:
    """A string."""
    if isinstance(value, str):
        return value
    hint = ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        meant = "3.10" if value == 3.1 else str(value)
        hint = f'write it in quotes, "{meant}"; to TOML 3.10 is the number 3.1'
    raise Wrong("must be a string", hint)


def boolean(value: Any) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise Wrong("must be true or false")


def date(value: Any) -> datetime.date:
    """A date, or a time, which is one too."""
    if isinstance(value, datetime.date):
        return value
    raise Wrong("must be a date", "write 2026-11-30, without quotes")


def day(value: Any) -> datetime.date:
    """A date without a time."""
    if isinstance(value, datetime.datetime):
        raise Wrong("must be a date without a time", "write 2026-11-30, without quotes")
    return date(value)


def strings(value: Any) -> list[str]:
    """A list of strings."""
    return list_of(value, string, "must be a list of strings")


def list_of(value: Any, read: Callable[[Any], T], what: str) -> list[T]:
    """A list of what ``read`` reads; ``what`` it must be."""
    if not isinstance(value, list):
        raise Wrong(what)
    return list(each({f"[{index}]": item for index, item in enumerate(value)}, read).values())


def each(values: Mapping[str, Any], read: Callable[[Any], T]) -> dict[str, T]:
    """Read every value; the keys say where each stands below the one that is read."""
    items = {}
    faults = []
    for key, value in values.items():
        try:
            items[key] = read(value)
        except Wrong as error:
            faults += [(f"{key}{below}", what, hint) for below, what, hint in error.faults]
    if faults:
        raise Wrong.all(faults)
    return items


def anything(value: Any) -> dict[str, Any]:
    """A table of anything."""
    if isinstance(value, dict):
        return value
    raise Wrong("must be a table", 'for an exception: { version = "==1.0", why = "the reason" }')
