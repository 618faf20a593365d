"""``locks/grid.toml``: between its text and ``model.grid.Grid``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lockgrid.core.conflict import refuse_conflict
from lockgrid.core.digest import digest_text
from lockgrid.core.gitrecord import git_record, git_table
from lockgrid.errors import InputError, Problem
from lockgrid.model.finding import Finding
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid, Proof, SourceRecord

SCHEMA = 1
_DIGEST = "# digest of the rest: "

if TYPE_CHECKING:
    from tomlkit.items import Array  # what only reads a grid does without tomlkit, which takes long to import

PATH = "locks/grid.toml"
_HEADER = (
    "lockgrid's grid: every cell, its status, and the digests of inputs and outputs.",
    "Generated: do not edit. To regenerate, run `lockgrid lock`; to check, run `lockgrid check`.",
)


def render_grid(grid: Grid) -> str:
    """The text of ``grid.toml``; cells in order of environment, platform and Python as a version."""
    import tomlkit

    document = tomlkit.document()
    for line in _HEADER:
        document.add(tomlkit.comment(line))
    document.add("schema", tomlkit.item(SCHEMA))
    document.add("exclude-newer", tomlkit.item(grid.exclude_newer))
    document.add("inputs", tomlkit.item(grid.inputs))
    document.add("uv", tomlkit.item(grid.uv))
    if grid.rules:
        document.add("rules", tomlkit.item(grid.rules))
    if grid.apart:
        document.add("apart", tomlkit.item(list(grid.apart)).multiline(True))
    if grid.sources:
        document.add("sources", _sources(grid))
    if grid.exclude_newer_package:
        document.add("exclude-newer-package", tomlkit.item(dict(grid.exclude_newer_package)))
    document.add("environments", tomlkit.item(dict(grid.environments)))
    document.add("lockfiles", tomlkit.item(dict(grid.lockfiles)))
    cells = tomlkit.aot()
    for cell in sorted(grid.cells, key=lambda c: c.sort_key):
        cells.append(tomlkit.item(_cell(cell)))
    document.add("cells", cells)
    if grid.findings:
        document.add(tomlkit.nl())
        findings = tomlkit.aot()
        for record in grid.findings:
            findings.append(tomlkit.item(_found(record)))
        document.add("findings", findings)
    if grid.git:
        document.add(tomlkit.nl())
        records = tomlkit.aot()
        for entry in grid.git:
            records.append(tomlkit.item(git_table(entry)))
        document.add("git", records)
    text = tomlkit.dumps(document)
    # Under the header, so that whoever edits anything below it is found out.
    head, separator, rest = text.partition("schema = ")
    return f"{head}{_DIGEST}{digest_text(text)}\n{separator}{rest}"


def is_edited(text: str) -> bool:
    """Whether ``grid.toml`` is not as ``render_grid`` wrote it."""
    lines = text.splitlines(keepends=True)
    stated = [line for line in lines if line.startswith(_DIGEST)]
    rest = "".join(line for line in lines if not line.startswith(_DIGEST))
    return stated != [f"{_DIGEST}{digest_text(rest)}\n"]


def cell_values(cell: CellRecord) -> dict[str, Any]:
    """A cell in the words of ``grid.toml``, for TOML and for JSON."""
    values: dict[str, Any] = {
        "environment": cell.environment,
        "platform": cell.platform,
        "python": cell.python,
        "status": "proven" if cell.proven else "unsupported",
    }
    if cell.proven:
        return {**values, "packages": cell.packages, "bytes": cell.bytes}
    blockers = [
        {
            "proof": str(blocker.proof),
            "package": blocker.package,
            "required-by": list(blocker.required_by),
            "exists": blocker.exists,
            "missing": blocker.missing,
            "serves": list(blocker.serves),
            **({"finding": blocker.finding} if blocker.finding else {}),
        }
        for blocker in cell.blockers
    ]
    return {**values, "failed": cell.failed, "because": cell.because, "blockers": blockers}


def source_values(record: SourceRecord) -> dict[str, Any]:
    """What came from an index in the words of ``grid.toml``, for TOML and for JSON."""
    return {
        "environment": record.environment,
        "package": record.package,
        "index": record.index,
        "platforms": list(record.platforms),
        "files": dict(record.files),
        **({"dateless": True} if record.dateless else {}),
    }


def _sources(grid: Grid) -> Array:
    import tomlkit

    entries = tomlkit.array().multiline(True)
    for record in grid.sources:
        entry = tomlkit.inline_table()
        entry.update(source_values(record))
        entries.append(entry)
    return entries


def _cell(cell: CellRecord) -> dict[str, Any]:
    import tomlkit

    values = cell_values(cell)
    if "blockers" in values:
        entries = tomlkit.array().multiline(True)
        for blocker in values["blockers"]:
            entry = tomlkit.inline_table()
            entry.update(blocker)
            entries.append(entry)
        values["blockers"] = entries
    return values


_ALWAYS = ("environment", "name", "severity", "what")


def found_values(record: FoundRecord) -> dict[str, Any]:
    """A finding in the words of ``grid.toml``, for TOML and for JSON; what is empty is left out."""
    finding = record.finding
    platforms: dict[str, list[str]] = {}
    for platform, python in record.cells:
        platforms.setdefault(platform, []).append(python)
    values: dict[str, Any] = {
        "environment": record.environment,
        "name": finding.name,
        "severity": finding.severity,
        "accepted": record.accepted,
        "what": finding.what,
        "needs": finding.needs,
        "has": finding.has,
        "files": list(finding.files),
        "count": finding.count,
        "packages": list(record.packages),
        "cells": [" ".join([platform, *pythons]) for platform, pythons in platforms.items()],
    }
    return {key: value for key, value in values.items() if value or key in _ALWAYS}


def _found(record: FoundRecord) -> dict[str, Any]:
    import tomlkit

    values = found_values(record)
    if len(values.get("cells", ())) > 1:
        values["cells"] = tomlkit.item(values["cells"]).multiline(True)
    return values


def _record_of_finding(table: Mapping[str, Any]) -> FoundRecord:
    if table["severity"] not in ("error", "warning"):
        raise ValueError(f"severity {table['severity']!r}")
    rows = [row.split() for row in table.get("cells", ())]
    return FoundRecord(
        environment=table["environment"],
        finding=Finding(
            name=table["name"],
            severity=table["severity"],
            wheels=(),
            what=table["what"],
            files=tuple(table.get("files", ())),
            count=table.get("count", 0),
            needs=table.get("needs", ""),
            has=table.get("has", ""),
        ),
        packages=tuple(table.get("packages", ())),
        cells=tuple((platform, python) for platform, *pythons in rows for python in pythons),
        accepted=table.get("accepted", False),
    )


def parse_grid(text: str) -> Grid:
    """Read ``grid.toml``. Raises ``InputError`` when it is broken or of another schema."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse_conflict(PATH, text)
        raise _broken(f"broken TOML: {error}") from error
    if data.get("schema") != SCHEMA:
        raise _broken(f"schema {data.get('schema')!r}, and this version of lockgrid reads {SCHEMA}")
    try:
        return Grid(
            exclude_newer=_utc(data["exclude-newer"]),
            inputs=data["inputs"],
            environments=_pairs(data["environments"]),
            lockfiles=_pairs(data["lockfiles"]),
            cells=tuple(_record(cell) for cell in data["cells"]),
            uv=data.get("uv", ""),
            apart=tuple(data.get("apart", ())),
            rules=data.get("rules", 0),
            findings=tuple(_record_of_finding(table) for table in data.get("findings", ())),
            sources=tuple(_source(entry) for entry in data.get("sources", ())),
            git=tuple(git_record(entry) for entry in data.get("git", ())),
            exclude_newer_package=tuple(
                (name, _utc(moment)) for name, moment in sorted(data.get("exclude-newer-package", {}).items())
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(f"not a grid: {error!r}") from error


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)


def _pairs(table: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(table.items()))


def _record(cell: Mapping[str, Any]) -> CellRecord:
    if cell["status"] not in ("proven", "unsupported"):
        raise ValueError(f"status {cell['status']!r}")
    return CellRecord(
        environment=cell["environment"],
        platform=cell["platform"],
        python=cell["python"],
        proven=cell["status"] == "proven",
        packages=cell.get("packages", 0),
        bytes=cell.get("bytes", 0),
        failed=cell.get("failed", ""),
        because=cell.get("because", ""),
        blockers=tuple(_blocker(blocker) for blocker in cell.get("blockers", ())),
    )


def _source(table: Mapping[str, Any]) -> SourceRecord:
    return SourceRecord(
        environment=table["environment"],
        package=table["package"],
        index=table["index"],
        platforms=tuple(table["platforms"]),
        files=_pairs(table["files"]),
        dateless=table.get("dateless", False),
    )


def _blocker(table: Mapping[str, Any]) -> Blocker:
    return Blocker(
        proof=Proof(table["proof"]),
        package=table["package"],
        required_by=tuple(table["required-by"]),
        exists=table["exists"],
        missing=table["missing"],
        serves=tuple(table["serves"]),
        finding=table.get("finding", ""),
    )


def _broken(what: str) -> InputError:
    return InputError(
        [Problem(file=PATH, what=what)], next_step="restore it from version control, or delete locks/ and lock again"
    )
