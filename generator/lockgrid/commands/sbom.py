"""A bill of materials of one cell of ``locks/``, from the METADATA of the files that it installs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lockgrid import __version__
from lockgrid.commands.cells import LockedCells, open_cells
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.explain import explain
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.keep import unbuilt_metadata
from lockgrid.core.prove import prove_closure
from lockgrid.core.render.cyclonedx import Origin, cyclonedx_text
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import ProvenCell
from lockgrid.model.index import Licence
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


def sbom(context: Context, environment: str, platform: str, python: str) -> str:
    """The text of the CycloneDX document of a proven cell.

    Raises ``InputError`` for a cell that is not in the grid or not proven, and for locks that are not what the METADATA
    of their files asks for; ``ToolError`` when the index fails.
    """
    spec = context.spec()
    chosen = spec.environment(environment)
    if chosen is None:
        raise InputError([unknown_environment(environment, spec)])
    grid, records = explain(context, environment, platform, python)
    if not (len(records) == 1 and records[0].proven):
        why = f": {records[0].because}" if len(records) == 1 else ""
        where = f"{environment} on {platform} with Python {python}"
        raise InputError([Problem(file=GRID, key=where, what=f"is no proven cell{why}")])
    record = records[0]
    target = next((t for t in chosen.targets if (t.platform.name, t.python) == (record.platform, record.python)), None)
    if target is None:
        what = f"has no target {record.platform} with Python {record.python} any more"
        raise InputError([Problem(file=chosen.file, what=what)], next_step="run `lockgrid lock`")
    with open_cells(context, [environment]) as locked:
        cell, licences = explained(locked, chosen, target)
    digest = dict(grid.lockfiles)[f"{environment}/{record.platform}.txt"]
    origin = Origin(lockfile=digest, cutoff=grid.exclude_newer, lockgrid=__version__)
    return cyclonedx_text(cell, licences, origin, chosen.summary)


def explained(locked: LockedCells, environment: Environment, target: Target) -> tuple[ProvenCell, dict[str, Licence]]:
    """The cell with who asks for what, as its closure proof tells it, and the licences by sha256.

    A sdist whose metadata is not static is not built for it: it requires what the lockfile says that it asks for.
    """
    learner, cell = locked.learner, locked.cells[environment.name, target]
    learner.metadata(cell.pins)
    sdists = learner.sdists(cell.pins)
    lockfile = locked.locks[environment.name, target.platform.name]
    metadata = learner.facts.metadata
    for pin in cell.pins:
        if not pin.file.is_wheel and sdists[pin.file.sha256].metadata is None:
            metadata[pin.file.sha256] = unbuilt_metadata(pin, lockfile, target.python)
    closure = prove_closure(environment, target, cell.pins, learner.facts)
    if closure.blockers:
        _refuse(environment, target, [blocker.text for blocker in closure.blockers])
    licences = {sha: sdist.licence for sha, sdist in sdists.items()}
    licences |= {pin.file.sha256: metadata[pin.file.sha256].licence for pin in cell.pins if pin.file.is_wheel}
    return replace(cell, via=tuple((name, tuple(by)) for name, by in closure.via.items())), licences


def _refuse(environment: Environment, target: Target, said: Sequence[str]) -> None:
    where = f"locks/{environment.name}/{target.platform.name}.txt"
    problems = [Problem(file=where, key=f"Python {target.python}", what=text) for text in said]
    raise InputError(problems, next_step="run `lockgrid lock`")
