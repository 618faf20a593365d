"""``lockgrid audit``: proofs 4 and 5 on wheels of this machine, each against the floor of its own tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.source import LocalFile
from lockgrid.core.floor import floor_text, floors_of
from lockgrid.core.judge import judge_wheels
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.contents import Contents
from lockgrid.model.finding import Finding
from lockgrid.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedWheel:
    """One wheel: the floors that it was judged against in words, and what was read of it, in bytes."""

    filename: str
    floors: tuple[str, ...]
    binaries: int
    members: int
    read: int
    size: int
    inflated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Wheels in the order given, findings with errors first."""

    wheels: tuple[AuditedWheel, ...]
    findings: tuple[Finding, ...]


def audit(paths: Sequence[Path], python: str, progress: Progress) -> Audit:
    """Read and judge the wheels at ``paths``; ``python``, such as ``3.12``, has the standard library to compare with.

    Raises ``InputError`` with every path that is no readable wheel; the findings are then not given.
    """
    progress.step("reading wheels")
    contents: list[Contents] = []
    problems: list[Problem] = []
    for number, path in enumerate(dict.fromkeys(paths)):
        progress.advance(number, len(paths))
        try:
            contents.append(_read(path))
        except InvalidWheelFilename as error:
            hint = "a wheel is named name-version-python-abi-platform.whl"
            problems.append(Problem(file=str(path), what=f"this is no name of a wheel: {error}", hint=hint))
        except OSError as error:
            problems.append(Problem(file=str(path), what=f"it cannot be read: {error.strerror or error}"))
        except ToolError as error:
            problems.append(Problem(file=str(path), what=error.what, hint=error.next_step))
    names = [one.filename for one in contents]
    doubles = {name for name in names if names.count(name) > 1}
    problems += [Problem(file=name, what="wheels of this name were given from two folders") for name in doubles]
    if problems:
        raise InputError(problems)
    return Audit(wheels=tuple(map(_audited, contents)), findings=judge_wheels(contents, python))


def audit_as_json(result: Audit) -> dict[str, Any]:
    """For ``--json``: the fields of the dataclasses by their names."""
    return asdict(result)


def _read(path: Path) -> Contents:
    parse_wheel_filename(path.name)
    with LocalFile(path) as source:
        return read_contents(path.name, source)


def _audited(contents: Contents) -> AuditedWheel:
    return AuditedWheel(
        filename=contents.filename,
        floors=tuple(map(floor_text, floors_of(contents.filename))),
        binaries=len(contents.binaries),
        members=len(contents.members),
        read=contents.read,
        size=contents.size,
        inflated=contents.inflated,
    )
