"""Where strings stand in a JSON file. ``json`` says what the file means, this only where: both must agree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # documented in the module, not in its stub
from typing import Any

from lockgrid.core.pins.text import PlaceError, Region
from lockgrid.model.pins import KeyPath

_SPACE = re.compile(r"[ \t\r\n]*")
_OTHER = re.compile(r"[^,\]}\s]+")


def json_strings(text: str) -> tuple[Any, list[tuple[KeyPath, Region]]]:
    """What a JSON text means, and its strings with the way to each. Raises ``PlaceError`` for what is no JSON.

    A key that stands twice in one object is there twice.
    """
    text = f" {text[1:]}" if text.startswith("\ufeff") else text
    try:
        data = json.loads(text)
        return data, list(_Scanner(text).value(()))
    except ValueError as error:
        raise PlaceError(f"broken JSON: {error}") from error
    except RecursionError as error:
        raise PlaceError("the JSON is nested too deeply") from error


class _Scanner:
    """Walks over JSON that ``json`` took for good."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def _next(self) -> str:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def _string(self) -> str:
        value, self.at = scanstring(self.text, self.at + 1, True)
        return str(value)

    def value(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        """The strings of the value that begins here."""
        first = self._next()
        if first == '"':
            start = self.at + 1
            self._string()
            yield path, Region(start, self.text[start : self.at - 1])
        elif first == "{":
            yield from self._members(path)
        elif first == "[":
            yield from self._items(path)
        elif match := _OTHER.match(self.text, self.at):
            self.at = match.end()

    def _members(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        self.at += 1
        while self._next() == '"':
            key = self._string()
            self._next()
            self.at += 1  # the colon
            yield from self.value((*path, key))
            if self._next() == ",":
                self.at += 1
        self.at += 1

    def _items(self, path: KeyPath) -> Iterator[tuple[KeyPath, Region]]:
        self.at += 1
        number = 0
        while self._next() != "]":
            yield from self.value((*path, number))
            number += 1
            if self._next() == ",":
                self.at += 1
        self.at += 1
