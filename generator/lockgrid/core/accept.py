"""Findings on cells: which are accepted, which make their cell unsupported, and how the grid keeps the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.utils import parse_sdist_filename, parse_wheel_filename

from lockgrid.core.table import nearest
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


def _packages(files: Iterable[str]) -> tuple[str, ...]:
    """``name==version`` of distributions by their file names, sorted."""
    parsed = {parse_wheel_filename(f)[:2] if f.endswith(".whl") else parse_sdist_filename(f) for f in files}
    return tuple(f"{name}=={version}" for name, version in sorted(parsed))


def _blocker(finding: Finding, cell: ProvenCell) -> Blocker:
    packages = _packages(finding.wheels)
    via = dict(cell.via)
    askers = [asker for package in packages for asker in via.get(package.partition("==")[0], ())]
    evidence = [f"{finding.files[0]} in {finding.wheels[0]}"] if finding.files and len(packages) == 1 else []
    evidence += [f"needs {finding.needs}"] if finding.needs and finding.needs not in finding.what else []
    evidence += [finding.has] if finding.has and not finding.needs else []
    return Blocker(
        proof=Proof.FILES if finding.kind in FILE_KINDS else Proof.BINARIES,
        package=" and ".join(packages),
        required_by=tuple(dict.fromkeys(askers)),
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
        kept = FoundRecord(
            environment=environment.name,
            finding=replace(several[0][1], wheels=()),
            packages=_packages(wheel for _, finding in several for wheel in finding.wheels),
            cells=tuple(cell for cell, _ in several),
            accepted=name in accepted,
        )
        records.append(kept)
    return records


def stale(
    environments: Sequence[Environment], records: Sequence[FoundRecord], blockers: Blockers
) -> Iterator[FoundRecord]:
    """A finding for each acceptance that accepts nothing; one in a base has to serve one of those that extend it.

    Of ``blockers`` come names that may have been meant.
    Of advisories it is not known here: ``lockgrid advisories`` tells.
    """
    served = {(one.environment, one.finding.name) for one in records if one.accepted}
    used = {(a.file, a.name) for e in environments for a in e.accepts if (e.name, a.name) in served}
    for environment in environments:
        known = {one.finding.name for one in records if one.environment == environment.name and not one.accepted}
        known |= {b.finding for (name, _), found in blockers.items() if name == environment.name for b in found} - {""}
        for acceptance in environment.accepts:
            if (acceptance.file, acceptance.name) not in used and not acceptance.name.startswith("advisory:"):
                hint = nearest(acceptance.name.strip().lower(), known)
                hint = hint if hint.startswith("did you mean") else "remove it"
                what = f"{acceptance.file} accepts {acceptance.name}, and no cell has that: {hint}"
                finding = Finding(name=f"accept:{acceptance.name}", severity="warning", wheels=(), what=what)
                yield FoundRecord(environment=environment.name, finding=finding, packages=(), cells=())
