"""What is inside the wheels of the cells: read once for each wheel, judged once for each set of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgrid.commands.learn import Learner
from lockgrid.core.judge import CellJudge, decode_findings, encode_findings, judgement_key
from lockgrid.core.prove import listed_file
from lockgrid.model.contents import Contents
from lockgrid.model.finding import Finding
from lockgrid.model.grid import ProvenCell
from lockgrid.model.spec import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """Findings by cell. ``contents``: of the wheels of those cells that had to be judged anew, by sha256.

    ``unread``: of git sources, the wheels (by sha256) that had to be read and are not at hand.
    """

    findings: Mapping[Cell, tuple[Finding, ...]]
    contents: Mapping[str, Contents] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()


def inspect(learner: Learner, cells: Mapping[Cell, ProvenCell], *, anew: bool = False) -> Inspected:
    """Proofs 4 and 5 of cells that passed the others; ``anew``: even those whose outcome is remembered.

    Raises ``ToolError`` when the index cannot be asked for a wheel.
    """
    keys = {cell: judgement_key(cell[1], proven.pins) for cell, proven in cells.items()}
    known = {} if anew else learner.cache.get("judged", keys.values())
    judged = {key: decode_findings(value) for key, value in known.items()}
    # Environments may have the same cell.
    rest = {key: cell for cell, key in keys.items() if key not in judged}
    contents: dict[str, Contents] = {}
    unread: frozenset[str] = frozenset()
    if rest:
        pins = {pin.file.sha256: pin for cell in rest.values() for pin in cells[cell].pins if pin.file.is_wheel}
        learner.progress.step(f"looking into {len(pins)} wheels")
        files = [listed_file(pin, learner.facts) for pin in pins.values()]
        contents = learner.index.contents(files, learner.progress.advance)
        unread = frozenset(pins) - contents.keys()
        judge = CellJudge(contents)
        read = {k: [pin for pin in cells[cell].pins if pin.file.sha256 not in unread] for k, cell in rest.items()}
        new = {key: judge.findings(cell[1], read[key]) for key, cell in rest.items()}
        whole = {key: found for key, found in new.items() if len(read[key]) == len(cells[rest[key]].pins)}
        learner.cache.put("judged", {key: encode_findings(found) for key, found in whole.items()}, now=learner.now)
        judged |= new
    return Inspected(findings={cell: judged[key] for cell, key in keys.items()}, contents=contents, unread=unread)
