"""A file's text and where things stand in it. Line ends, a byte order mark and all else stay as they are."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lockgrid.model.pins import Place

_LINE_END = re.compile(r"\r\n|\n|\r")
#: A value that is a version or a commit, with what may stand before it and stays.
_VALUE = re.compile(
    r"\s*(?:[A-Za-z][A-Za-z0-9_-]*/)*(?:===|==|~=|>=|\^|~|=)?\s*(?:[vV](?=[0-9]))?"
    r"(?P<token>[0-9A-Za-z](?:[0-9A-Za-z.!+_-]*[0-9A-Za-z])?)(?P<wildcard>\.\*)?\s*"
)


class PlaceError(Exception):
    """A copy that cannot be told: ``what``, and ``at``, the character where, -1 for nowhere."""

    def __init__(self, what: str, at: int = -1) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a text: ``body`` begins at ``start``."""

    start: int
    body: str


class Text:
    """A text, with what was learnt of it kept for the next copy in the same file.

    ``path`` is the file's own, whatever link or spelling led to it.
    """

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        self.learnt: dict[str, object] = {}

    @cached_property
    def flat(self) -> str:
        """The text with every line end and the mark as newlines, each character still at its place."""
        flat = self.text.replace("\r\n", "\n\n").replace("\r", "\n")
        return f"\n{flat[1:]}" if flat.startswith("\ufeff") else flat

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Where each line begins, and where it ends before its line end."""
        begin = 1 if self.text.startswith("\ufeff") else 0
        found = []
        for end in _LINE_END.finditer(self.text):
            found.append((begin, end.start()))
            begin = end.end()
        found.append((begin, len(self.text)))
        return found

    def position(self, at: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = max(bisect_right(self.lines, at, key=lambda span: span[0]), 1)
        return line, at - self.lines[line - 1][0] + 1


def value_place(region: Region) -> Place:
    """The version in a value that holds nothing else, but for an operator or a path before it. Raises ``PlaceError``.

    ``1.2``, ``v1.2.0``, ``==1.2.*``, ``^1.2``, ``refs/tags/v1.2``, ``release/1.2``, a commit.
    """
    match = _VALUE.fullmatch(region.body)
    if match is None:
        raise PlaceError(f"{_short(region.body)} is no version and no commit", region.start)
    start, end = match.span("token")
    return Place(region.start + start, region.start + end, match["token"], match["wildcard"] is not None)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
