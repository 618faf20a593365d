"""What is read of a project, what is written of it, and what is said of the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import NormalizedName

from lockgrid.errors import Problem

_LOGIN = re.compile(r"://[^/\s@]*@")


def public(text: str) -> str:
    """The text without the credentials of the URLs in it."""
    return _LOGIN.sub("://***@", text)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, and its line (from 1) or, in TOML, its key."""

    file: str
    line: int = 0
    key: str = ""

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}"
        return f"{self.file}: {self.key}" if self.key else self.file

    def problem(self, what: str, hint: str = "") -> Problem:
        """A fault here."""
        return Problem(file=self.file, key=f"line {self.line}" if self.line else self.key, what=what, hint=hint)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is not carried over, or not as it stands: where, the words there, what becomes of them, a hint."""

    place: Place
    said: str
    what: str
    hint: str = ""

    @property
    def text(self) -> str:
        """What stands there, and what becomes of it."""
        return (f"`{public(self.said)}`: " if self.said else "") + self.what

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.place}: {self.text}{tail}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requirement that ``envs/`` can hold, and where it comes from. ``doubt`` is said beside it, empty for none."""

    requirement: Requirement
    place: Place
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """A version specifier for a package wherever it comes in, and why."""

    name: NormalizedName
    version: str
    why: str


@dataclass(slots=True)
class Draft:
    """One file of ``envs/`` in the making. ``origin`` says for people what it was made of."""

    name: str
    origin: str
    summary: str = ""
    abstract: bool = False
    extends: list[str] = field(default_factory=list)
    requires: list[Wanted] = field(default_factory=list)
    holds: list[Bound] = field(default_factory=list)
    overrides: list[Bound] = field(default_factory=list)
    sdists: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)  # [sources]
    places: list[str] = field(default_factory=list)  # how places begin whose notes concern it
    notes: list[Note] = field(default_factory=list)
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What conversion gathers besides drafts: ``notes`` in the order of reading, ``problems`` in any."""

    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
