"""Findings on cells: which are accepted, which make their cell unsupported, and how the grid keeps the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.utils import parse_wheel_filename

from lockgrid.model.finding import FILE_KINDS, Finding
from lockgrid.model.grid import Blocker, Blockers, FoundRecord, Proof, ProvenCell
from lockgrid.model.spec import Cell, Environment

Found = Mapping[Cell, Sequence[Finding]]


def failures(environments: Iterable[Environment], cells: Mapping[Cell, ProvenCell], found: Found) -> Blockers:
    """The cells with errors that their environment does not accept, and these as reasons."""
    blockers: Blockers = {}
    for environment in environments:
        accepted = {acceptance.name for acceptance in environment.accepts}
        for target in environment.targets:
            cell = environment.name, target
            errors = [f for f in found.get(cell, ()) if f.severity == "error" and f.name not in accepted]
            if errors:
                blockers[cell] = tuple(_blocker(finding, cells[cell]) for finding in errors)
    return blockers


def _blocker(finding: Finding, cell: ProvenCell) -> Blocker:
    parsed = [parse_wheel_filename(wheel)[:2] for wheel in finding.wheels]
    via = dict(cell.via)
    evidence = [f"{finding.files[0]} in {finding.wheels[0]}"] if finding.files and len(parsed) == 1 else []
    evidence += [f"needs {finding.needs}"] if finding.needs else []
    evidence += [finding.has] if finding.has and not finding.needs else []
    return Blocker(
        proof=Proof.FILES if finding.kind in FILE_KINDS else Proof.BINARIES,
        package=" and ".join(f"{name}=={version}" for name, version in parsed),
        required_by=tuple(dict.fromkeys(asker for name, _ in parsed for asker in via.get(name, ()))),
        exists=f"{finding.what} ({' '.join(evidence)})" if evidence else finding.what,
        missing=finding.has if finding.needs else "",
        finding=finding.name,
    )


def record(environment: Environment, found: Found, *, every: bool = False) -> list[FoundRecord]:
    """What the grid keeps of an environment: its warnings, and the errors that it accepts; or ``every`` finding."""
    accepted = {acceptance.name for acceptance in environment.accepts}
    grouped: dict[tuple[str, str, str], list[tuple[tuple[str, str], Finding]]] = {}
    for target in sorted(environment.targets, key=lambda t: t.sort_key):
        for finding in found.get((environment.name, target), ()):
            if every or finding.severity == "warning" or finding.name in accepted:
                key = finding.severity, finding.name, finding.what
                grouped.setdefault(key, []).append(((target.platform.name, target.python), finding))
    records = []
    for (_, name, _), several in sorted(grouped.items()):
        first = several[0][1]
        wheels = tuple(sorted({wheel for _, finding in several for wheel in finding.wheels}))
        cells = tuple(cell for cell, _ in several)
        merged = replace(first, wheels=wheels)
        records.append(
            FoundRecord(environment=environment.name, finding=merged, cells=cells, accepted=name in accepted)
        )
    return records


def stale(environments: Sequence[Environment], records: Sequence[FoundRecord]) -> Iterator[FoundRecord]:
    """A finding for each acceptance that accepts nothing; one in a base has to serve one of those that extend it."""
    served = {(one.environment, one.finding.name) for one in records if one.accepted}
    used = {(a.file, a.name) for e in environments for a in e.accepts if (e.name, a.name) in served}
    for environment in environments:
        for acceptance in environment.accepts:
            if (acceptance.file, acceptance.name) not in used:
                what = f"{acceptance.file} accepts {acceptance.name}, which no cell has any more: remove it"
                finding = Finding(name=f"accept:{acceptance.name}", severity="warning", wheels=(), what=what)
                yield FoundRecord(environment=environment.name, finding=finding, cells=())
