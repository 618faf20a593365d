"""Every copy held against its truth, and the texts that bring all of them in step."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lockgrid.core.pins.places import find_place
from lockgrid.core.pins.text import PlaceError, Text
from lockgrid.core.pins.truths import FileKey, TruthError, World, find_truth
from lockgrid.core.pins.versions import comparable, in_step, respell
from lockgrid.model.pins import Copy, FileTruth, PinReport, PinRule, Row, State, Truth


def wanted_files(rules: Iterable[PinRule]) -> list[FileKey]:
    """The files that have to be read: truths and copies, each once."""
    found: dict[FileKey, None] = {}
    for rule in rules:
        if isinstance(rule.truth, FileTruth):
            found[rule.truth.in_tree, rule.truth.file] = None
        for copy in rule.copies:
            found[True, copy.file] = None
    return list(found)


def in_one_tree(rules: Iterable[PinRule]) -> tuple[PinRule, ...]:
    """The rules where the project is the tree: a truth's file may then be a copy of another pin."""
    return tuple(
        replace(rule, truth=replace(rule.truth, in_tree=True)) if isinstance(rule.truth, FileTruth) else rule
        for rule in rules
    )


def judge(rules: Sequence[PinRule], world: World, today: datetime.date) -> tuple[PinReport, ...]:
    """Every pin with its copies, in the order of ``pins.toml``. Never raises."""
    claimed: dict[tuple[str, int], str] = {}
    reports = []
    for rule in rules:
        truth, what = None, ""
        try:
            truth = find_truth(rule.truth, world)
        except TruthError as error:
            what = str(error)
        rows = tuple(_claim(_row(rule.name, copy, truth, world, today), world, claimed) for copy in rule.copies)
        reports.append(PinReport(name=rule.name, truth=truth, rows=rows, what=what))
    return tuple(reports)


def _row(pin: str, copy: Copy, truth: Truth | None, world: World, today: datetime.date) -> Row:
    text = world.files[True, copy.file]
    row = Row(pin=pin, copy=copy, state=State.ERROR)
    if isinstance(text, str):
        return replace(row, what=text)
    try:
        place = find_place(text, copy.match)
    except PlaceError as error:
        line, column = text.position(error.at) if error.at >= 0 else (0, 0)
        return replace(row, what=error.what, line=line, column=column)
    line, column = text.position(place.start)
    found = f"{place.text}.*" if place.wildcard else place.text
    place = replace(place, wildcard=place.wildcard or copy.components > 0)
    row = replace(row, place=place, found=found, line=line, column=column)
    if truth is None:
        return replace(row, what="its truth cannot be told")
    if truth.commit and copy.components:
        return replace(row, what="a commit has no components")
    if not comparable(truth, place):
        return replace(row, what=f"{found!r} is no {'commit' if truth.commit else 'version (PEP 440)'}")
    if in_step(truth, place):
        return replace(row, state=State.IN_STEP, wanted=found)
    wanted = respell(truth, place, copy.components)
    star = ".*" if found != place.text else ""
    row = replace(row, state=State.DRIFT, wanted=f"{wanted}{star}" if wanted else "")
    if copy.differs is None:
        return row if wanted else replace(row, what="the truth is a shorter commit than this one")
    if today > copy.differs.until:
        return replace(row, what=f"might differ until {copy.differs.until}: {copy.differs.why}")
    return replace(row, state=State.DIFFERS, what=f"until {copy.differs.until}: {copy.differs.why}")


def _claim(row: Row, world: World, claimed: dict[tuple[str, int], str]) -> Row:
    """Refuse a place that another copy has: two truths could not both be written there."""
    text = world.files[True, row.copy.file]
    if row.place is None or isinstance(text, str):
        return row
    spot = text.path or row.copy.file, row.place.start
    if spot in claimed:
        return replace(row, state=State.ERROR, what=f"this place is a copy of {claimed[spot]} already")
    claimed[spot] = row.pin
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``texts`` to write, by path in the tree; the ``changes`` in them; and the ``reports`` once they are written.

    A change is the row as it was before, with what it becomes in ``wanted``. With errors nothing is to be written.
    """

    texts: dict[str, str]
    changes: tuple[Row, ...]
    reports: tuple[PinReport, ...]
    errors: tuple[Row, ...] = ()


def plan(rules: Sequence[PinRule], world: World, today: datetime.date, since: World | None = None) -> Plan:
    """What brings every copy in step, as texts. Pure: a run that moves a truth gives its new lockfiles in ``world``.

    With ``since`` this is about the pins alone whose truth is not what it was there. A copy may hold the truth of
    another pin, so this goes on until nothing drifts. The last round reads what would be written, so an edit that does
    not come out as it was meant is an error.
    """
    changes: dict[tuple[str, Copy], Row] = {}
    before = dict(world.files)
    known = None if since is None else {report.name: _value(report) for report in judge(rules, since, today)}
    for _ in range(len(rules) + 1):
        judged = judge(rules, world, today)
        reports = tuple(report for report in judged if known is None or _value(report) != known[report.name])
        rows = [row for report in reports for row in report.rows]
        lost = [report for report in reports if report.truth is None]
        blameless = {row for report in lost for row in report.rows if row.place}  # their truth is told as an error
        errors = [row for row in rows if row.state is State.ERROR or (row.state is State.DRIFT and not row.wanted)]
        errors = [row for row in errors if row not in blameless]
        drifting = [row for row in rows if row.state is State.DRIFT]
        if errors or lost or not drifting:
            break
        for row in drifting:
            first = changes.get((row.pin, row.copy))
            changes[row.pin, row.copy] = replace(first, wanted=row.wanted) if first else row
        world = replace(world, files=_edited(world, drifting))
    else:
        errors = [
            replace(row, state=State.ERROR, what="pins hold each other's truths, in a circle") for row in drifting
        ]
    texts = {}
    for key, text in world.files.items():
        if isinstance(text, Text) and text is not before[key]:
            texts[text.path or key[1]] = text.text
    return Plan(texts=texts, changes=tuple(changes.values()), reports=reports, errors=tuple(errors))


def _value(report: PinReport) -> str | None:
    return report.truth.value if report.truth else None


def _edited(world: World, rows: Sequence[Row]) -> dict[FileKey, Text | str]:
    """The files with the versions of these rows replaced, and nothing else."""
    edits: dict[int, list[tuple[int, int, str]]] = {}
    for row in rows:
        if row.place is not None:
            edit = row.place.start, row.place.end, row.wanted.removesuffix(".*")
            edits.setdefault(id(world.files[True, row.copy.file]), []).append(edit)
    made: dict[int, Text] = {}
    files: dict[FileKey, Text | str] = {}
    for key, text in world.files.items():
        if isinstance(text, Text) and id(text) in edits:
            if id(text) not in made:
                made[id(text)] = Text(replaced(text.text, edits[id(text)]), text.path)
            files[key] = made[id(text)]
        else:
            files[key] = text
    return files


def replaced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """A text with stretches replaced that do not overlap, each given by its start and its end."""
    parts = []
    at = 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])
