"""What ``lockgrid pins`` found: a table, JSON, GitHub's annotations, and a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from lockgrid.model.pins import PinReport, Row, State

SCHEMA = 1
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_HEAD = ("pin", "truth", "copy", "holds", "")
_SHORT = 12  # digits of a commit in the table


def render_table(reports: Sequence[PinReport]) -> str:
    """A line for each copy, the reasons of all that are not in step, and how many are what."""
    table = [_HEAD]
    for report in reports:
        pin, truth = report.name, _short(report.truth.value, report.truth.commit) if report.truth else "?"
        commit = report.truth is not None and report.truth.commit
        for row in report.rows:
            state = "DRIFT" if row.state is State.DRIFT else "ERROR" if row.state is State.ERROR else str(row.state)
            table.append((pin, truth, row.where, _short(row.found, commit) or "-", state))
            pin = truth = ""
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEAD))]
    lines = ["  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)).rstrip() for line in table]
    said = list(_sentences(reports))
    return "\n".join([*lines, "", *said, *([""] if said else []), _count(reports)]) + "\n"


def _short(text: str, commit: bool) -> str:
    return text[:_SHORT] if commit and len(text) > _SHORT else text


def _sentences(reports: Sequence[PinReport]) -> Iterator[str]:
    for report in reports:
        if report.truth is None:
            yield f"error: {report.name}: {report.what}"
            continue
        for row in report.rows:
            if row.state is not State.IN_STEP:
                yield f"{row.state}: {report.name}: {row.where}: {_reason(report, row)}"


def _reason(report: PinReport, row: Row) -> str:
    """Why a copy is not in step."""
    if row.state is State.ERROR:
        return row.what
    truth = report.truth
    said = f"holds {row.found}, and {truth.value} is true ({truth.origin})" if truth else row.what
    return f"{said}; {row.what}" if row.what else said


def _count(reports: Sequence[PinReport]) -> str:
    rows = [row for report in reports for row in report.rows]
    copies, pins = _many(len(rows), "copy", "copies"), _many(len(reports), "pin", "pins")
    counts = [(state, sum(row.state is state for row in rows)) for state in State]
    return f"{copies} of {pins}: {', '.join(f'{number} {state}' for state, number in counts if number)}"


def _many(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def report_values(reports: Sequence[PinReport]) -> dict[str, Any]:
    """For ``--json``; docs/pins.md tells the keys."""
    rows = [row for report in reports for row in report.rows]
    return {
        "schema": SCHEMA,
        "in-step": all(row.state in (State.IN_STEP, State.DIFFERS) for row in rows),
        "pins": [
            {
                "name": report.name,
                "truth": None
                if report.truth is None
                else {
                    "value": report.truth.value,
                    "kind": "commit" if report.truth.commit else "version",
                    "origin": report.truth.origin,
                },
                "error": report.what,
                "copies": [_row_values(row) for row in report.rows],
            }
            for report in reports
        ],
    }


def _row_values(row: Row) -> dict[str, Any]:
    return {
        "file": row.copy.file,
        "line": row.line or None,
        "column": row.column or None,
        "match": row.copy.match.text,
        "state": row.state.value,
        "found": row.found or None,
        "wanted": row.wanted or None,
        "because": row.what,
    }


def change_values(row: Row) -> dict[str, Any]:
    """A copy that is rewritten, for machines; docs/pins.md tells the keys."""
    place = {"file": row.copy.file, "line": row.line, "column": row.column, "match": row.copy.match.text}
    return {"pin": row.pin, **place, "old": row.found, "new": row.wanted}


def render_annotations(reports: Sequence[PinReport], rules_file: str, prefix: str = "") -> str:
    """GitHub's workflow commands, an error for each copy that drifts or cannot be judged.

    ``prefix`` is the way from the repository to the tree, with ``/`` at its end where it is not empty.
    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    lines = []
    for report in reports:
        if report.truth is None:
            lines.append(_annotation({"file": rules_file, "title": f"pin {report.name}"}, report.what))
            continue
        for row in report.rows:
            if row.state in (State.DRIFT, State.ERROR):
                place = {"file": f"{prefix}{row.copy.file}"}
                if row.line:
                    place |= {"line": str(row.line), "col": str(row.column)}
                lines.append(_annotation(place | {"title": f"pin {report.name}"}, _reason(report, row)))
    return "".join(f"{line}\n" for line in lines)


def _annotation(properties: Mapping[str, str], message: str) -> str:
    shown = ",".join(f"{key}={_escaped(value, more=True)}" for key, value in properties.items())
    return f"::error {shown}::{_escaped(message)}"


def _escaped(text: str, *, more: bool = False) -> str:
    """A message, or with ``more`` a property, which ends at a colon or a comma."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if more else text


def render_changes(changes: Sequence[Row], files: int, *, written: bool) -> str:
    """A line for each copy that sync rewrites."""
    if not changes:
        return "every copy is in step, or may differ: nothing to write\n"
    lines = [f"{row.where}: {row.pin} {row.found} -> {row.wanted}" for row in changes]
    said = f"{_many(len(changes), 'copy', 'copies')} in {_many(files, 'file', 'files')}"
    return "\n".join([*lines, f"wrote {said}" if written else f"would write {said}"]) + "\n"


def render_diff(path: str, old: str, new: str) -> str:
    """A unified diff that ``git apply`` takes; line ends are those of the file."""
    parts = unified_diff(_LINE.findall(old), _LINE.findall(new), f"a/{path}", f"b/{path}")
    return "".join(part if part.endswith(("\n", "\r")) else f"{part}\n\\ No newline at end of file\n" for part in parts)
