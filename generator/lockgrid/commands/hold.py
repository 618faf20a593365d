"""A lock that still holds is kept: its own pins are proven again, and uv is not asked.

What uv would prefer today, or another version of uv, is no reason to change a lock.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgrid.commands.learn import Learner
from lockgrid.core.candidates import Facts
from lockgrid.core.keep import locked_pins
from lockgrid.core.prove import prove_closure, prove_index, unneeded
from lockgrid.core.remember import decode_proofs, encode_proofs, proof_key
from lockgrid.model.grid import Blockers, OldLocks, Pin, ProvenCell
from lockgrid.model.spec import Cell, Domain, Environment
from lockgrid.model.target import Target

# Stands where the key of a resolution has the text that uv exported.
_HELD = ("held",)


def held_cells(
    learner: Learner, environments: Sequence[Environment], blockers: Blockers, locks: OldLocks, digest: str
) -> dict[Cell, ProvenCell] | None:
    """The cells that the lockfiles pin, proven with the facts of today; None unless all of them hold.

    Every cell but those of ``blockers`` must be locked. ``digest`` is of the lockfiles.
    """
    domain = [(e, tuple(t for t in e.targets if (e.name, t) not in blockers)) for e in environments]
    known = learner.kept("proof", proof_key(domain, _HELD, digest))
    cells = decode_proofs(known, domain, learner.facts) if known else None
    if cells is None:
        cells = _prove(learner, domain, locks)
        if cells is None:
            return None
        value = encode_proofs(cells, learner.facts)
        if value is not None:
            learner.keep("proof", proof_key(domain, _HELD, digest), value)
    return {(cell.environment, cell.target): cell for cell in cells}


def _prove(learner: Learner, domain: Domain, locks: OldLocks) -> list[ProvenCell] | None:
    learner.progress.step("proving what is locked")
    chosen: dict[Cell, Sequence[Pin]] = {}
    learner.pages(_projects(domain, locks))
    for environment, targets in domain:
        for target in targets:
            found = locked_pins(environment, target, locks, learner.facts)
            if found is None or prove_index(found, learner.facts)[0]:
                return None
            chosen[environment.name, target] = found
    everything = {pin.file.sha256: pin for pins in chosen.values() for pin in pins}
    learner.metadata(everything.values())
    built = {sha for sha, sdist in learner.sdists(everything.values()).items() if sdist.metadata is None}
    cells = []
    for environment, targets in domain:
        learner.facts.metadata |= learner.recall_built(environment, targets, built)
        for target in targets:
            cell = _prove_cell(environment, target, chosen[environment.name, target], learner.facts)
            if cell is None:
                return None
            cells.append(cell)
    return cells


def _prove_cell(environment: Environment, target: Target, pins: Sequence[Pin], facts: Facts) -> ProvenCell | None:
    if any(pin.file.sha256 not in facts.metadata for pin in pins):
        return None  # a sdist that only uv can read
    closure = prove_closure(environment, target, pins, facts)
    if closure.blockers or unneeded(closure):
        return None
    via = tuple((pin, tuple(by)) for pin, by in closure.via.items())
    return ProvenCell(environment=environment.name, target=target, pins=tuple(pins), via=via)


def _projects(domain: Domain, locks: OldLocks) -> set[str]:
    """The keys of the pages that list what is locked."""
    cells = {(e.name, t.platform.name): (e, t) for e, targets in domain for t in targets}
    return {
        environment.project(pin.name, target)
        for name, (environment, target) in cells.items()
        for pin in (locks[name].pins if name in locks else ())
    }
