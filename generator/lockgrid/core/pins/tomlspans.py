"""Where strings stand in a TOML file. ``tomllib`` says what the file means, this only where: both must agree."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from lockgrid.core.pins.text import PlaceError, Region
from lockgrid.model.pins import KeyPath

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?P<a>(?:\\.|[^\\])*?)"""(?!")|\'\'\'(?P<b>.*?)\'\'\'(?!\')|"(?P<c>(?:\\.|[^"\\\n])*)"|\'(?P<d>[^\'\n]*)\'',
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_BLANK = re.compile(r"[ \t]*")
_OTHER = re.compile(r"[^,\]}#\n]+")  # a number, a date, true or false


def toml_strings(text: str) -> tuple[dict[str, Any], dict[KeyPath, Region]]:
    """What a TOML text means, and its strings by the way to them. Raises ``PlaceError`` for what is no TOML."""
    text = f" {text[1:]}" if text.startswith("\ufeff") else text
    try:
        data = tomllib.loads(text)
        return data, dict(_Scanner(text).scan())
    except tomllib.TOMLDecodeError as error:
        raise PlaceError(f"broken TOML: {error}") from error
    except RecursionError as error:
        raise PlaceError("the TOML is nested too deeply") from error


class _Scanner:
    """Walks over TOML that ``tomllib`` took for good."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tables: dict[KeyPath, int] = {}  # arrays of tables, and how many they hold so far

    def scan(self) -> Iterator[tuple[KeyPath, Region]]:
        """Every string with its path."""
        prefix: KeyPath = ()
        while True:
            self._skip(_SPACE)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[", self.at):
                prefix = self._header()
            else:
                path = self._resolve(prefix, self._keys())
                self._take("=")
                yield from self._value(path)

    def _skip(self, what: re.Pattern[str]) -> None:
        match = what.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _take(self, what: str) -> None:
        self._skip(_BLANK)
        if not self.text.startswith(what, self.at):
            raise PlaceError("this TOML is not understood here; use a regex", self.at)
        self.at += len(what)
        self._skip(_BLANK)

    def _header(self) -> KeyPath:
        many = self.text.startswith("[[", self.at)
        self._take("[[" if many else "[")
        keys = self._keys()
        self._take("]]" if many else "]")
        if not many:
            return self._resolve((), keys)
        path = (*self._resolve((), keys[:-1]), keys[-1])
        number = self.tables.get(path, 0)
        self.tables[path] = number + 1
        return (*path, number)

    def _resolve(self, path: KeyPath, keys: list[str]) -> KeyPath:
        """The way to keys below a path: through an array of tables it leads to its last one."""
        for key in keys:
            path = (*path, key)
            if path in self.tables:
                path = (*path, self.tables[path] - 1)
        return path

    def _keys(self) -> list[str]:
        keys = []
        while True:
            if match := _BARE_KEY.match(self.text, self.at):
                keys.append(match[0])
            elif match := _STRING.match(self.text, self.at):
                keys.append(str(tomllib.loads(f"key = {match[0]}")["key"]))
            else:
                raise PlaceError("this TOML is not understood here; use a regex", self.at)
            self.at = match.end()
            dot = _DOT.match(self.text, self.at)
            if dot is None:
                return keys
            self.at = dot.end()

    def _value(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        if self.text.startswith("[", self.at):
            yield from self._array(path)
        elif self.text.startswith("{", self.at):
            yield from self._inline(path)
        elif match := _STRING.match(self.text, self.at):
            self.at = match.end()
            yield path, Region(match.start(str(match.lastgroup)), match[str(match.lastgroup)])
        else:
            self._skip(_OTHER)

    def _array(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        self.at += 1
        number = 0
        while not self._closes("]"):
            yield from self._value((*path, number))
            number += 1

    def _inline(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        self.at += 1
        while not self._closes("}"):
            keys = self._keys()
            self._take("=")
            yield from self._value((*path, *keys))

    def _closes(self, end: str) -> bool:
        """Whether an array or an inline table ends here; steps over a comma where it does not."""
        self._skip(_SPACE)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_SPACE)
        if self.at >= len(self.text):
            raise PlaceError("this TOML is not understood here; use a regex", self.at)
        if not self.text.startswith(end, self.at):
            return False
        self.at += 1
        return True
