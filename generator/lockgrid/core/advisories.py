"""The pins of a grid as questions to a vulnerability service, and its answers held against ``[accept]``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from lockgrid.core.render.requirements import BUILD
from lockgrid.errors import ToolError
from lockgrid.model.advisory import (
    Advisories,
    Advisory,
    CellName,
    NotAudited,
    PinName,
    Reported,
    TouchedPin,
    Vulnerability,
)
from lockgrid.model.grid import Grid, OldLocks
from lockgrid.model.spec import Acceptance, Environment
from lockgrid.model.target import python_key

KIND = "advisory"
_SILENCE = "the service answers the same for a package that it does not know"
_UNMENTIONED = "pip-audit said nothing of it"


def pins_of(grid: Grid, locks: OldLocks) -> dict[PinName, tuple[CellName, ...]]:
    """Every distinct pin of the proven cells and of ``build.txt``, sorted, with the cells that have it."""
    found: dict[PinName, list[CellName]] = {}
    proven = {(c.environment, c.platform, c.python) for c in grid.cells if c.proven}
    for (environment, platform), lockfile in locks.items():
        for pin in lockfile.pins:
            for python in pin.pythons:
                if environment == BUILD:
                    found.setdefault((pin.name, pin.version), []).append((BUILD, lockfile.platform, python))
                elif (environment, platform, python) in proven:
                    found.setdefault((pin.name, pin.version), []).append((environment, platform, python))
    return {pin: tuple(sorted(found[pin], key=_cell_key)) for pin in sorted(found, key=_pin_key)}


def _cell_key(cell: CellName) -> tuple[str, str, tuple[int, int]]:
    return cell[0], cell[1], python_key(cell[2])


def _pin_key(pin: PinName) -> tuple[str, Version]:
    return pin[0], Version(pin[1])


def questions(pins: Iterable[PinName]) -> list[list[PinName]]:
    """The pins in as few lists as do it: in one list, pip-audit takes no package in two versions."""
    rounds: list[dict[str, PinName]] = []
    for pin in pins:
        for names in rounds:
            if pin[0] not in names:
                names[pin[0]] = pin
                break
        else:
            rounds.append({pin[0]: pin})
    return [list(names.values()) for names in rounds]


def question_text(pins: Iterable[PinName]) -> str:
    """A requirements file."""
    return "".join(f"{name}=={version}\n" for name, version in pins)


def parse_report(text: str, asked: Sequence[PinName]) -> Reported:
    """pip-audit's JSON about ``asked``. A pin of which it does not speak is not audited.

    Raises ``ToolError`` where that is no such report.
    """
    try:
        entries = {canonicalize_name(entry["name"]): entry for entry in json.loads(text)["dependencies"]}
        answers = {pin: _answer(pin, entries.get(canonicalize_name(pin[0]))) for pin in asked}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(
            f"pip-audit printed no report that can be read: {type(error).__name__}: {error}",
            next_step="run `pip-audit --version`; 2.9 or newer is needed",
        ) from error
    return Reported(
        audited={pin: answer for pin, answer in answers.items() if not isinstance(answer, str)},
        skipped={pin: answer for pin, answer in answers.items() if isinstance(answer, str)},
    )


def _answer(pin: PinName, entry: Mapping[str, Any] | None) -> tuple[Vulnerability, ...] | str:
    """The vulnerabilities of a pin, or why it was not audited."""
    if entry is None:
        return _UNMENTIONED
    if "skip_reason" in entry:
        return printable(str(entry["skip_reason"])) or "pip-audit skipped it"
    if Version(entry["version"]) != Version(pin[1]):
        return f"pip-audit audited {printable(str(entry['version']))} instead"
    return tuple(
        Vulnerability(
            id=printable(str(one["id"])),
            aliases=tuple(sorted(printable(str(alias)) for alias in one.get("aliases", ()))),
            description=printable(str(one.get("description") or "")),
            fixes=tuple(printable(str(version)) for version in one["fix_versions"]),
        )
        for one in entry["vulns"]
    )


def printable(text: str) -> str:
    """Text of strangers on one line, without what a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def distrust_silence(reported: Reported) -> Reported:
    """The same from a service that says nothing of a package both when it is clean and when it is unknown."""
    silent = dict.fromkeys((pin for pin, found in reported.audited.items() if not found), _SILENCE)
    spoken = {pin: found for pin, found in reported.audited.items() if found}
    return Reported(audited=spoken, skipped={**reported.skipped, **silent})


def judge(
    environments: Sequence[Environment],
    pins: Mapping[PinName, tuple[CellName, ...]],
    reports: Iterable[Reported],
    service: str,
) -> Advisories:
    """All answers put together: each advisory once, with the cells that it touches and who accepts it."""
    answers = list(reports)
    audited = {pin: found for report in answers for pin, found in report.audited.items()}
    skipped = {pin: why for report in answers for pin, why in report.skipped.items()}
    advisories = tuple(_advisory(group, pins, environments) for group in _grouped(audited))
    not_audited = tuple(
        NotAudited(name=name, version=version, why=skipped.get((name, version), _UNMENTIONED), cells=cells)
        for (name, version), cells in pins.items()
        if (name, version) not in audited
    )
    used = {(a.file, a.name) for one in advisories for e in _concerned(one, environments) for a in _acceptances(e, one)}
    known = {(a.file, a.name) for e in environments for a in e.accepts if a.name.startswith(f"{KIND}:")}
    return Advisories(
        service=service,
        pins=len(pins),
        cells=len({cell for cells in pins.values() for cell in cells if cell[0] != BUILD}),
        advisories=tuple(sorted(advisories, key=lambda one: (not one.open, one.id))),
        not_audited=not_audited,
        stale=() if not_audited else tuple(sorted(known - used)),
    )


_Group = list[tuple[PinName, Vulnerability]]


def _grouped(audited: Mapping[PinName, Sequence[Vulnerability]]) -> list[_Group]:
    """What goes by any common name is one advisory."""
    groups: list[tuple[set[str], _Group]] = []
    for pin in sorted(audited, key=_pin_key):
        for found in audited[pin]:
            joined = [entry for entry in groups if entry[0] & found.ids]
            ids = set(found.ids).union(*(known for known, _ in joined))
            members = [*(member for _, group in joined for member in group), (pin, found)]
            groups = [*(entry for entry in groups if entry not in joined), (ids, members)]
    return [group for _, group in groups]


def _advisory(
    group: _Group, pins: Mapping[PinName, tuple[CellName, ...]], environments: Sequence[Environment]
) -> Advisory:
    first = group[0][1]
    names = {name.lower(): name for _, found in group for name in (found.id, *found.aliases)}
    fixes: dict[PinName, list[str]] = {}
    for pin, found in group:
        fixes.setdefault(pin, []).extend(found.fixes)
    advisory = Advisory(
        id=first.id,
        aliases=tuple(sorted(name for key, name in names.items() if key != first.id.lower())),
        description=next((found.description for _, found in group if found.description), ""),
        pins=tuple(
            TouchedPin(name=pin[0], version=pin[1], fixed=first_fixed(pin[1], versions), cells=pins[pin])
            for pin, versions in fixes.items()
        ),
        accepted=(),
        open=(),
    )
    touched = _touched(advisory)
    reasons = {e.name: _acceptances(e, advisory) for e in environments if e.name in touched}
    if BUILD in touched:
        reasons[BUILD] = [a for e in environments if e.sdists for a in _acceptances(e, advisory)]
    return replace(
        advisory,
        accepted=tuple((name, found[0].why) for name, found in sorted(reasons.items()) if found),
        open=tuple(sorted(name for name in touched if not reasons.get(name))),
    )


def _touched(advisory: Advisory) -> set[str]:
    return {cell[0] for pin in advisory.pins for cell in pin.cells}


def _concerned(advisory: Advisory, environments: Iterable[Environment]) -> list[Environment]:
    """Those that it touches; what builds a sdist is for those to accept who allow one."""
    touched = _touched(advisory)
    return [e for e in environments if e.name in touched or (BUILD in touched and e.sdists)]


def _acceptances(environment: Environment, advisory: Advisory) -> list[Acceptance]:
    names = {f"{KIND}:{name}".lower() for name in (advisory.id, *advisory.aliases)}
    return [acceptance for acceptance in environment.accepts if acceptance.name.lower() in names]


def first_fixed(version: str, fixes: Iterable[str]) -> str:
    """The lowest of the fixed versions above ``version``: older branches are fixed in lower ones. Empty for none."""
    later = []
    for text in fixes:
        try:
            parsed = Version(text)
        except InvalidVersion:
            continue
        if parsed > Version(version):
            later.append(parsed)
    return str(min(later)) if later else ""
