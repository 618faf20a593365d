"""A diff as Markdown, fit for the body of a pull request on GitHub."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

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
    where,
)
from lockgrid.core.render.markdown import code, prose, raw_code, table_cell
from lockgrid.model.diff import GridDiff, Group, Move

#: The most bytes of a body: GitHub takes 65,536 characters, and whoever posts it may add some.
LIMIT = 60_000
# How many rows a table, and how many characters a text may have: the first that fit are taken.
_BOUNDS = ((10_000, 2_000), (400, 600), (150, 400), (60, 300), (25, 200), (10, 120), (3, 60))
_ARROW = "→"


def render(diff: GridDiff, limit: int = LIMIT) -> str:
    """The Markdown, in at most ``limit`` bytes (2,000 or more) of UTF-8; what had to be cut is said at its end."""
    for rows, width in _BOUNDS:
        text = "\n".join(_Body(diff, rows, width).lines()).rstrip() + "\n"
        if len(text.encode()) <= limit:
            return text
    tail = "\n\nCut, since there is too much: `lockgrid diff` shows all.\n"
    return text.encode()[: limit - len(tail)].decode(errors="ignore").rpartition("\n\n")[0] + tail


class _Body:
    """The body with at most ``rows`` rows in each table and ``width`` characters in each text."""

    def __init__(self, diff: GridDiff, rows: int, width: int) -> None:
        self._diff = diff
        self._rows = rows
        self._width = width
        self._universe = diff.universe
        self._cut = False

    def lines(self) -> Iterator[str]:
        """The lines; a paragraph, a table and a fold are each followed by an empty one."""
        diff = self._diff
        yield f"### {self._title()}"
        yield ""
        cutoff = ""
        if diff.old.exclude_newer != diff.new.exclude_newer:
            cutoff = f"; cut-off {diff.old.exclude_newer or 'none'} {_ARROW} {diff.new.exclude_newer or 'none'}"
        new = code(diff.new.label) if diff.new.commit else prose(diff.new.label)
        yield f"{new} against {code(diff.old.label)}{cutoff}."
        yield ""
        for note in diff.notes:
            yield f"- {self._prose(note)}"
        if diff.notes:
            yield ""
        if not diff.empty:
            yield from self._sections()
        for line in compared(diff):
            yield f"<sub>{self._prose(line)}</sub>"
            yield ""
        if self._cut:
            yield f"**Cut to fit:** tables show {self._rows} rows at most; `lockgrid diff` shows all."

    def _title(self) -> str:
        diff = self._diff
        moved = len({move.name for group in diff.groups for move in (*group.moves, *group.along)})
        lost = sum(len(e.lost) for e in diff.environments)
        gained = sum(len(e.gained) for e in diff.environments)
        said = [f"{plural(moved, 'package')} moved"] if moved else []
        said += [f"{plural(lost, 'cell')} lost"] if lost else []
        said += [f"{plural(gained, 'cell')} gained"] if gained else []
        return "Locks: " + (", ".join(said) or ("no difference" if diff.empty else "no package moved"))

    def _sections(self) -> Iterator[str]:
        yield from self._environments()
        yield from self._section("Cells lost", self._cells("lost"))
        yield from self._section("Cells gained", self._cells("gained"))
        yield from self._section("Advisories", self._advisories())
        yield from self._section("Findings inside the wheels", self._findings())
        yield from self._section("Licences", self._licences())
        yield from self._section("Files of unchanged versions", self._files())
        yield from self._section("Packages", self._packages())

    def _section(self, heading: str, lines: Iterable[str]) -> Iterator[str]:
        found = list(lines)
        if found:
            yield f"#### {heading}"
            yield ""
            yield from found
            if found[-1]:
                yield ""

    # -- pieces --------------------------------------------------------------------------------------------

    def _short(self, text: str) -> str:
        if len(text) <= self._width:
            return text
        self._cut = True
        return f"{text[: self._width].rstrip()} …"

    def _prose(self, text: str) -> str:
        return prose(self._short(text))

    def _code(self, text: str) -> str:
        return code(self._short(text))

    def _where(self, cells: Sequence[tuple[str, str, str]]) -> str:
        return self._prose(where(cells, self._universe))

    def _some(self, items: Sequence[str], word: str) -> list[str]:
        """As many as may be, and how many more there are."""
        if len(items) <= self._rows:
            return list(items)
        self._cut = True
        return [*items[: self._rows], f"{word}… and {len(items) - self._rows} more"]

    def _table(self, head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> Iterator[str]:
        """A table whose last ``right`` columns are numbers."""
        lines = [f"| {' | '.join(table_cell(value) for value in row)} |" for row in rows]
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * (len(head) - right)}{' ---: |' * right}"
        for line in self._some(lines, "| "):
            yield line if line.endswith("|") else f"{line} |{' |' * (len(head) - 1)}"
        yield ""

    def _environments(self) -> Iterator[str]:
        changed = [environment for environment in self._diff.environments if environment.changed]
        rows = [
            [
                self._code(environment_name(environment.name)),
                cell_counts(environment, _ARROW),
                *(str(number) if number else "" for number in counts(environment).values()),
                download(environment.sizes, _ARROW),
            ]
            for environment in changed
        ]
        if rows:
            head = ["Environment", "Cells", "Up", "Down", "Added", "Removed", "Largest download"]
            yield from self._table(head, rows, 6)
        yield from self._downloads()

    def _downloads(self) -> Iterator[str]:
        rows = [
            [self._code(environment.name), code(platform), size_text(before), size_text(after)]
            for environment in self._diff.environments
            for platform, before, after in size_lines(environment.sizes)
            if size_text(before) != size_text(after)
        ]
        if rows:
            head = ["Environment", "Platform", "Before", "After"]
            yield from self._fold("Download by platform, the largest cell of each", self._table(head, rows, 2))

    def _fold(self, summary: str, lines: Iterable[str]) -> Iterator[str]:
        """``summary`` is HTML."""
        yield f"<details><summary>{summary}</summary>"
        yield ""
        yield from lines
        yield "</details>"
        yield ""

    def _cells(self, side: str) -> Iterator[str]:
        lines = []
        for environment in self._diff.environments:
            for reason, cells in cells_by_reason(environment, getattr(environment, side)):
                lines.append(f"- **{self._where(cells)}**: {self._prose(reason)}")
            if side == "gained" and environment.brought and environment.cells_before:
                names = self._some([f"{code(name)} {code(version)}" for name, version in environment.brought], "")
                lines.append(f"- {self._code(environment.name)}, new packages there: {', '.join(names)}")
        yield from self._some(lines, "- ")

    # -- packages ------------------------------------------------------------------------------------------

    def _packages(self) -> Iterator[str]:
        """Groups as folds, and after them everything that moved by itself in one table."""
        folded = [group for group in self._diff.groups if group.along]
        for group in folded[: self._rows]:
            yield from self._fold(self._summary(group), self._moves(group.along))
        if len(folded) > self._rows:
            self._cut = True
            yield f"… and {len(folded) - self._rows} more groups"
            yield ""
        single = [move for group in self._diff.groups if not group.along for move in group.moves]
        if single:
            yield from self._moves(single)

    def _summary(self, group: Group) -> str:
        moves = []
        for move in group.moves[: self._rows]:
            kind = f" <i>({how(move)})</i>" if how(move) else ""
            changed = f" {_ARROW} ".join(raw_code(version) for version in (move.old, move.new) if version)
            place = html.escape(self._short(where(move.cells, self._universe)))
            moves.append(f"<b>{raw_code(move.name)}</b> {changed}{kind}, {place}")
        names = len({move.name for move in group.along})
        return f"{'; '.join(moves)} — with it {plural(names, 'package')}"

    def _moves(self, moves: Sequence[Move]) -> Iterator[str]:
        rows = [
            [code(move.name), code(move.old), code(move.new), how(move), self._where(move.cells)]
            for move in moves[: self._rows + 1]
        ]
        more = len(moves) - len(rows)
        yield from self._table(["Package", "Old", "New", "", "Where"], [*rows, *([[""] * 5] * more)])

    # -- what else -----------------------------------------------------------------------------------------

    def _advisories(self) -> Iterator[str]:
        rows = []
        for change in sorted(self._diff.advisories, key=lambda c: c.fixed):
            named = ", ".join(self._code(name) for name in (change.id, *change.aliases[:3]))
            pins = f"{code(change.name)} {', '.join(map(code, change.versions))}"
            places = self._prose(", ".join(map(environment_name, change.environments)))
            row = ["fixed" if change.fixed else "**new**", named, pins, places]
            rows.append([*row, self._prose(change.description[:300])])
        if rows:
            yield from self._table(["", "Advisory", "Package", "Where", "What"], rows)

    def _findings(self) -> Iterator[str]:
        lines = []
        for changes in same_findings(self._diff.findings):
            cells = [cell for change in changes for cell in change.cells]
            place = self._where(cells) or self._prose(", ".join(change.environment for change in changes))
            what = "" if changes[0].kind == "gone" else f": {self._prose(changes[0].what)}"
            lines.append(f"- {finding_word(changes[0])} {self._code(changes[0].name)}, {place}{what}")
        yield from self._some(lines, "- ")

    def _licences(self) -> Iterator[str]:
        changed = [
            [
                code(change.name),
                f"{code(change.old)} {_ARROW} {code(change.new)}",
                self._code(change.before),
                self._code(change.after),
            ]
            for change in self._diff.licences
            if change.old
        ]
        if changed:
            yield from self._table(["Package", "Version", "Before", "After"], changed)
        added = [
            [code(change.name), code(change.new), self._code(change.after)]
            for change in self._diff.licences
            if not change.old
        ]
        if added:
            table = self._table(["Package", "Version", "Licence"], added)
            yield from self._fold(f"Of {plural(len(added), 'added package')}", table)

    def _files(self) -> Iterator[str]:
        lines = []
        for change in self._diff.files:
            for word, hashes in (("added to", change.added), ("gone from", change.removed)):
                if hashes:
                    known, rest = file_names(hashes, self._diff.filenames)
                    names = ", ".join([*self._some([code(name) for name in known], ""), *rest])
                    head = f"{plural(len(hashes), 'file')} {word} {code(change.name)} {code(change.version)}"
                    lines.append(f"- {head}, {self._where(change.cells)}: {names}")
        yield from self._some(lines, "- ")
