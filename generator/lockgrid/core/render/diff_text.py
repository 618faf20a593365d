"""A diff as text for a terminal of 80 columns or more."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from lockgrid.core.advisories import printable
from lockgrid.core.render.diff_words import (
    cell_counts,
    cells_by_reason,
    compared,
    counts,
    download,
    environment_name,
    file_names,
    finding_word,
    how,
    plural,
    same_findings,
    size_lines,
    size_text,
    versions,
    where,
)
from lockgrid.model.diff import GridDiff, Move

_WIDTH = 100
_RED, _GREEN, _BOLD, _DIM = "31", "32", "1", "2"


def render(diff: GridDiff, *, colour: bool = False) -> str:
    """The text. ``colour``: for a terminal that shows it."""
    return "".join(f"{line}\n" for line in _Text(diff, colour=colour).lines())


class _Text:
    """The sections, each a heading with lines below it; none for what did not change."""

    def __init__(self, diff: GridDiff, *, colour: bool) -> None:
        self._diff = diff
        self._colour = colour
        self._universe = diff.universe

    def lines(self) -> Iterator[str]:
        diff = self._diff
        yield self._paint(_BOLD, f"{diff.new.label} against {diff.old.label}")
        if diff.old.exclude_newer != diff.new.exclude_newer:
            yield f"cut-off {diff.old.exclude_newer or 'none'} -> {diff.new.exclude_newer or 'none'}"
        yield from diff.notes
        if diff.empty:
            yield "no difference"
            return
        yield ""
        yield from self._table()
        sections = [
            ("cells lost", self._cells("lost"), _RED),
            ("cells gained", self._cells("gained"), _GREEN),
            ("moved", self._moved(), ""),
            ("files of unchanged versions", self._files(), _RED),
            ("findings", self._findings(), ""),
            ("licences", self._licences(), ""),
            ("advisories", self._advisories(), ""),
            ("largest download of each platform", self._sizes(), ""),
        ]
        for heading, lines, code in sections:
            found = list(lines)
            if found:
                yield ""
                yield self._paint(f"{_BOLD};{code}" if code else _BOLD, heading)
                yield from found
        yield from self._honest()

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _wrapped(self, text: str, indent: str = "  ") -> list[str]:
        """Lines no longer than the width, the second and later ones further in."""
        return textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _table(self) -> Iterator[str]:
        head = ["environment", "cells", "up", "down", "added", "removed", "download (largest cell)"]
        table = [head]
        for environment in self._diff.environments:
            if environment.changed:
                numbers = [str(n) if n else "" for n in counts(environment).values()]
                row = [environment_name(environment.name), cell_counts(environment), *numbers]
                table.append([*row, download(environment.sizes)])
        if len(table) == 1:
            return
        widths = [max(len(row[column]) for row in table) for column in range(len(head))]
        for number, row in enumerate(table):
            line = "  ".join(
                value.ljust(width) if column in (0, len(head) - 1) else value.rjust(width)
                for column, (value, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            yield self._paint(_DIM, line) if number == 0 else line
        same = [e.name for e in self._diff.environments if not e.changed and e.cells_after]
        if same:
            yield from self._wrapped(f"no pin moved in {', '.join(map(environment_name, same))}", "")

    def _cells(self, side: str) -> Iterator[str]:
        for environment in self._diff.environments:
            for reason, cells in cells_by_reason(environment, getattr(environment, side)):
                place = where(cells, self._universe)
                yield from self._wrapped(f"{place}: {printable(reason)}")
            if side == "gained" and environment.brought and environment.cells_before:
                names = [f"{name} {version}" for name, version in environment.brought]
                yield from self._wrapped(f"{environment.name}, new packages there: {', '.join(names)}")

    def _moved(self) -> Iterator[str]:
        for group in self._diff.groups:
            for move in group.moves:
                yield from self._wrapped(self._move(move))
            alike: dict[str, list[Move]] = {}
            for move in group.along:
                alike.setdefault(self._other(move, group.moves), []).append(move)
            for words, some in alike.items():
                names = plural(len({move.name for move in some}), "package")
                said = ", ".join(f"{move.name} {versions(move)}" for move in some)
                yield from self._wrapped(f"with it {names}{words}: {said}", "    ")

    def _move(self, move: Move) -> str:
        kind = how(move)
        code = _RED if move.kind in ("downgraded", "removed") else _GREEN
        said = f" {self._paint(code, kind)}" if kind else ""
        return f"{move.name} {versions(move)}{said}, {where(move.cells, self._universe)}"

    def _other(self, move: Move, roots: Sequence[Move]) -> str:
        """What is not as with the package that it moves along with."""
        cells = {cell for root in roots for cell in root.cells}
        kind = "" if move.kind in ("upgraded", *(root.kind for root in roots)) else how(move)
        said = [kind, "" if set(move.cells) == cells else where(move.cells, self._universe)]
        return "".join(f", {word}" for word in said if word)

    def _files(self) -> Iterator[str]:
        for change in self._diff.files:
            for word, hashes in (("added to", change.added), ("gone from", change.removed)):
                if hashes:
                    head = f"{plural(len(hashes), 'file')} {word} {change.name} {change.version}"
                    known, rest = file_names(hashes, self._diff.filenames)
                    names = ", ".join([*map(printable, known), *rest])
                    yield from self._wrapped(f"{head}, {where(change.cells, self._universe)}: {names}")

    def _findings(self) -> Iterator[str]:
        for changes in same_findings(self._diff.findings):
            first = changes[0]
            code = _GREEN if first.kind in ("gone", "accepted") else _RED
            cells = [cell for change in changes for cell in change.cells]
            place = where(cells, self._universe) or ", ".join(change.environment for change in changes)
            word = finding_word(first)
            yield from self._wrapped(f"{self._paint(code, word)}: {printable(first.name)}, {place}")
            if first.kind != "gone":
                yield from self._wrapped(printable(first.what), "    ")

    def _licences(self) -> Iterator[str]:
        for change in self._diff.licences:
            said = (
                f"{printable(change.before)} -> {printable(change.after)}" if change.before else printable(change.after)
            )
            name = f"{change.name} {change.old} -> {change.new}" if change.old else f"{change.name} {change.new}, added"
            yield from self._wrapped(f"{name}: {said}")

    def _advisories(self) -> Iterator[str]:
        for change in sorted(self._diff.advisories, key=lambda c: c.fixed):
            word = self._paint(_GREEN, "fixed") if change.fixed else self._paint(_RED, "new")
            also = f" ({', '.join(map(printable, change.aliases))})" if change.aliases else ""
            pins = f"{change.name} {', '.join(change.versions)}"
            places = ", ".join(map(environment_name, change.environments))
            yield from self._wrapped(f"{word}: {printable(change.id)}{also} of {pins}, {places}")

    def _sizes(self) -> Iterator[str]:
        for environment in self._diff.environments:
            said = [
                f"{platform} {size_text(before)} -> {size_text(after)}"
                for platform, before, after in size_lines(environment.sizes)
                if size_text(before) != size_text(after)
            ]
            if said:
                yield from self._wrapped(f"{environment.name}: {', '.join(said)}")

    def _honest(self) -> Iterator[str]:
        """What was not compared, and why."""
        lines = list(compared(self._diff))
        if lines:
            yield ""
            for line in lines:
                yield from self._wrapped(line, "")
