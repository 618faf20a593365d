"""Conflict markers in a text, as git's merges leave them: found, and taken apart into the sides."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lockgrid.errors import InputError, Problem

_MARKER = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: [^\r\n]*)?\r?\n?$")
#: Where a conflict is worth looking for: most texts hold none, and end here.
_BEGIN = re.compile(r"^<{7}(?: |\r?$)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The text of one file on each side of a merge, None where there is no such file; ``base`` may be unknown."""

    ours: str | None
    theirs: str | None
    base: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One conflict: the number of its first line, and what each side has; ``base`` only in the diff3 style."""

    line: int
    ours: str
    theirs: str
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Conflicted:
    """A text with conflicts, in parts: what both sides share, and hunks."""

    parts: Sequence[str | Hunk]

    @property
    def hunks(self) -> list[Hunk]:
        """The conflicts, first to last."""
        return [part for part in self.parts if isinstance(part, Hunk)]

    @property
    def ours(self) -> str:
        """The whole text as the branch that merges has it."""
        return self.text(())

    @property
    def theirs(self) -> str:
        """The whole text as the branch that is merged has it."""
        return self.text(self.hunks)

    @property
    def sides(self) -> Sides:
        """The whole text on each side."""
        known = all(hunk.base is not None for hunk in self.hunks)
        base = "".join(part if isinstance(part, str) else part.base or "" for part in self.parts) if known else None
        return Sides(ours=self.ours, theirs=self.theirs, base=base)

    def text(self, theirs: Collection[Hunk]) -> str:
        """The whole text with these hunks as theirs, the others as ours."""
        return "".join(
            part if isinstance(part, str) else part.theirs if part in theirs else part.ours for part in self.parts
        )


def conflict_line(text: str) -> int | None:
    """The number of the first line of a conflict, None where there is none."""
    found = _BEGIN.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def conflict_problem(file: str, text: str, hint: str) -> Problem | None:
    """The problem of a file with a conflict, None where there is none."""
    line = conflict_line(text)
    return None if line is None else Problem(file=file, key=f"line {line}", what="holds a merge conflict", hint=hint)


def refuse_conflict(file: str, text: str) -> None:
    """Raise ``InputError`` where a file that ``lock`` writes holds a conflict."""
    problem = conflict_problem(file, text, "")
    if problem:
        raise InputError([problem], next_step="run `lockgrid lock`, which makes one of both sides")


def take_apart(file: str, text: str) -> Conflicted | None:
    """The parts of a text, None where it has no conflict. Raises ``InputError`` where the markers do not pair."""
    if conflict_line(text) is None:
        return None
    parts: list[str | Hunk] = []
    sides: dict[str, list[str]] = {}
    begin, current = 0, ""
    shared: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        match = _MARKER.match(line)
        kind = match[1][0] if match else ""
        if kind == "<" and not current:
            parts, shared = [*parts, "".join(shared)], []
            begin, current, sides = number, "<", {"<": [], "=": []}
        elif current and kind and (current, kind) in _ORDER:
            current = kind
            sides.setdefault(kind, [])
            if kind == ">":
                base = "".join(sides["|"]) if "|" in sides else None
                parts.append(Hunk(line=begin, ours="".join(sides["<"]), theirs="".join(sides["="]), base=base))
                current = ""
        elif current and kind:
            raise _torn(file, number)
        else:
            (sides[current] if current else shared).append(line)
    if current:
        raise _torn(file, begin)
    return Conflicted([*parts, "".join(shared)])


# Which marker may follow which.
_ORDER = {("<", "|"), ("<", "="), ("|", "="), ("=", ">")}


def _torn(file: str, line: int) -> InputError:
    problem = Problem(file=file, key=f"line {line}", what="a conflict marker that does not pair with the others")
    return InputError([problem], next_step=f"`git checkout --merge {file}` makes the conflict anew")
