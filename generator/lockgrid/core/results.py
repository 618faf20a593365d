"""Failed cases, read from the result files of a test command: reports of backend sessions (JSON), and JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree

from lockgrid.model.trial import Case

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FAILED = ("failed", "error")
_TAIL_LINES = 20


def failed_cases(files: Mapping[str, str]) -> tuple[Case, ...]:
    """The cases that failed, in the order of the files (name -> text). What is no result file is passed over."""
    found: dict[Case, None] = {}
    for name in sorted(files):
        read = _from_xml if name.lower().endswith(".xml") else _from_json
        found |= dict.fromkeys(read(name, files[name]))
    return tuple(found)


def last_lines(output: str, count: int = _TAIL_LINES) -> tuple[str, ...]:
    """The last lines of an output that say something, without colours."""
    lines = [_ESCAPES.sub("", line).rstrip() for line in output.splitlines()]
    return tuple([line for line in lines if line][-count:])


def _from_json(name: str, text: str) -> Iterator[Case]:
    """The report of a session (docs/backends.md): its failed cases, or the stage at which it ended before any ran."""
    try:
        data = json.loads(text)
    except ValueError:
        return
    if not isinstance(data, dict) or data.get("status") in ("passed", "not run"):
        return
    environment = _text(data.get("environment")) or PurePosixPath(name).stem
    cases = data.get("cases")
    failed = [c for c in cases if isinstance(c, dict)] if isinstance(cases, list) else []
    failed = [case for case in failed if case.get("outcome") in _FAILED]
    for case in failed:
        yield Case(environment=environment, name=_text(case.get("case")), message=_first_line(case.get("message")))
    if not failed and (data.get("stage") or data.get("message")):
        yield Case(environment=environment, name=_text(data.get("stage")), message=_first_line(data.get("message")))


def _from_xml(name: str, text: str) -> Iterator[Case]:
    """JUnit's format: ``testcase`` with a ``failure`` or an ``error`` in it."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # no writer of results has any, and entities can grow without end
        return
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  # no entities, see above
    except ElementTree.ParseError:
        return
    for element in root.iter("testcase"):
        fault = next((child for child in element if child.tag in ("failure", "error")), None)
        if fault is not None:
            names = (element.get("classname"), element.get("name"))
            message = fault.get("message") or fault.text
            yield Case(name="::".join(part for part in names if part), message=_first_line(message))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first_line(value: Any) -> str:
    """The line of a message that says most: that of the error in pytest's output, else the first."""
    lines = last_lines(_text(value), 10_000)
    marked = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    return next(iter([*marked, *(line.strip() for line in lines)]), "")
