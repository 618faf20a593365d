"""What changed of moved pins that the locks do not hold: licences and advisories, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.version import Version

from lockgrid.core.movers import CellPins
from lockgrid.core.render.cyclonedx import stated_licences
from lockgrid.model.advisory import PinName, Vulnerability
from lockgrid.model.diff import AdvisoryChange, DiffFacts, LicenceChange, Move
from lockgrid.model.index import Licence

#: What a distribution without any word on its licence is said to declare.
NO_LICENCE = "none stated"


def licence_text(licence: Licence) -> str:
    """What a distribution declares, in a line; the same text for the same licence in another field."""
    named = [
        entry["expression"] if "expression" in entry else entry["license"].get("id") or entry["license"]["name"]
        for entry in stated_licences(licence)
    ]
    return ", ".join(named) or NO_LICENCE


def licence_changes(
    found: Sequence[Move], before: CellPins, after: CellPins, facts: DiffFacts
) -> tuple[tuple[LicenceChange, ...], tuple[str, ...]]:
    """The moves to another licence and the licences of what was added; the names of which too little is known."""
    changes, unknown = [], set()
    for move in found:
        if not move.new:
            continue
        was = _declared(hashes(move, before), facts) if move.old else ""
        now = _declared(hashes(move, after), facts)
        if not now or (move.old and not was):
            unknown.add(move.name)
        elif was != now:
            changes.append(
                LicenceChange(name=move.name, old=move.old, new=move.new, before=was, after=now, cells=move.cells)
            )
    return tuple(changes), tuple(sorted(unknown))


def _declared(hashes: Iterable[str], facts: DiffFacts) -> str:
    """What the files that are known declare, empty where none is known."""
    return " / ".join(sorted({licence_text(facts.licences[sha]) for sha in hashes if sha in facts.licences}))


def hashes(move: Move, side: CellPins) -> set[str]:
    """The sha256 of all files that a moved package has on its side of the move."""
    return {sha for cell in move.cells for sha in side[cell][move.name].hashes}


def _versions(side: CellPins) -> dict[tuple[str, str], set[str]]:
    """The versions that environments pin, by environment and package."""
    found: dict[tuple[str, str], set[str]] = {}
    for cell, pins in side.items():
        for pin in pins.values():
            found.setdefault((cell[0], pin.name), set()).add(pin.version)
    return found


def moved_versions(before: CellPins, after: CellPins) -> dict[tuple[str, str], tuple[list[PinName], list[PinName]]]:
    """By environment and package, the pins before and after, where these differ."""
    was, now, none = _versions(before), _versions(after), set[str]()
    return {
        key: (
            sorted((key[1], version) for version in was.get(key, none)),
            sorted((key[1], version) for version in now.get(key, none)),
        )
        for key in sorted(was.keys() | now.keys())
        if was.get(key, none) != now.get(key, none)
    }


def advisory_changes(before: CellPins, after: CellPins, facts: DiffFacts) -> Iterable[AdvisoryChange]:
    """Each advisory once for a package: of what was pinned and is no more, and the other way round.

    None is fixed unless all that is pinned now was audited. Of what is pinned now it is told in any case; what was
    pinned and was not audited is told as that.
    """
    found: dict[tuple[bool, str, str], tuple[Vulnerability, set[str], set[str]]] = {}
    for (environment, name), (old, new) in moved_versions(before, after).items():
        ids = [
            {one for pin in side for known in facts.advisories.get(pin, ()) for one in known.ids} for side in (old, new)
        ]
        known = all(pin in facts.advisories for pin in new)
        for fixed, side, elsewhere in ((True, old if known else [], ids[1]), (False, new, ids[0])):
            for pin in side:
                for vulnerability in facts.advisories.get(pin, ()):
                    if not vulnerability.ids & elsewhere:
                        entry = found.setdefault((fixed, name, vulnerability.id), (vulnerability, set(), set()))
                        entry[1].add(pin[1])
                        entry[2].add(environment)
    for (fixed, name, _), (vulnerability, versions, environments) in sorted(found.items(), key=lambda item: item[0]):
        yield AdvisoryChange(
            fixed=fixed,
            id=vulnerability.id,
            aliases=vulnerability.aliases,
            description=vulnerability.description,
            name=name,
            versions=tuple(sorted(versions, key=Version)),
            environments=tuple(sorted(environments)),
        )
