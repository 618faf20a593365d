"""From proven cells and blockers to the grid, its lockfiles, and what changed since the old ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lockgrid.core.digest import digest_environment, digest_inputs, digest_text
from lockgrid.core.lockfile import assemble
from lockgrid.core.render.requirements import render
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.finding import RULES
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec
from lockgrid.model.target import Target


def lockfile_texts(environments: Iterable[Environment], cells: Mapping[Cell, ProvenCell]) -> dict[str, str]:
    """``<environment>/<platform>.txt`` -> text, for every platform with a proven cell."""
    texts = {}
    for environment in environments:
        for platform in dict.fromkeys(target.platform for target in environment.targets):
            proven = [
                cells[environment.name, target]
                for target in environment.targets
                if target.platform == platform and (environment.name, target) in cells
            ]
            if proven:
                path = f"{environment.name}/{platform.name}.txt"
                texts[path] = render(assemble(environment.name, platform, proven))
    return texts


def records(
    environments: Iterable[Environment], cells: Mapping[Cell, ProvenCell], blockers: Mapping[Cell, Sequence[Blocker]]
) -> list[CellRecord]:
    """One record a cell; a cell that is neither proven nor blocked is a bug and raises KeyError."""
    return [
        _proven(cells[environment.name, target])
        if (environment.name, target) in cells
        else _unsupported(environment.name, target, blockers[environment.name, target])
        for environment in environments
        for target in environment.targets
    ]


def _proven(cell: ProvenCell) -> CellRecord:
    return CellRecord(
        environment=cell.environment,
        platform=cell.target.platform.name,
        python=cell.target.python,
        proven=True,
        packages=len(cell.pins),
        bytes=sum(pin.file.size or 0 for pin in cell.pins),
    )


# The order of the proofs: the first that failed names the cell's failure.
_ORDER = ("tags", "closure", "index", "binaries", "files", "resolution")


def _unsupported(environment: str, target: Target, blockers: Sequence[Blocker]) -> CellRecord:
    ordered = sorted(dict.fromkeys(blockers), key=lambda b: (_ORDER.index(b.proof), b.package))
    return CellRecord(
        environment=environment,
        platform=target.platform.name,
        python=target.python,
        proven=False,
        failed=str(ordered[0].proof),
        because="; ".join(blocker.text for blocker in ordered),
        blockers=tuple(ordered),
    )


def build_grid(
    spec: Spec,
    cells: Iterable[CellRecord],
    findings: Iterable[FoundRecord],
    texts: Mapping[str, str],
    *,
    cutoff: Cutoff,
    uv: str,
    apart: Sequence[str],
) -> Grid:
    """The grid over all environments. ``texts`` are all lockfiles, kept and new, by path below ``locks/``."""
    return Grid(
        exclude_newer=cutoff.moment,
        exclude_newer_package=cutoff.packages,
        inputs=digest_inputs(spec),
        environments=tuple((e.name, digest_environment(e)) for e in spec.environments),
        lockfiles=tuple((path, digest_text(texts[path])) for path in sorted(texts)),
        cells=tuple(sorted(cells, key=lambda c: c.sort_key)),
        uv=uv,
        apart=tuple(apart),
        rules=RULES,
        findings=tuple(sorted(findings, key=lambda f: f.sort_key)),
    )


def same_result(new: Grid, old: Grid) -> bool:
    """Whether two grids say the same of the same input: then the old one stays, with its cut-off.

    What ``explain`` knows of unsupported cells may have grown since; that alone changes no lock.
    """
    outline = [(c.environment, c.platform, c.python, c.proven) for c in new.cells]
    return (
        outline == [(c.environment, c.platform, c.python, c.proven) for c in old.cells]
        and new.inputs == old.inputs
        and new.environments == old.environments
        and new.lockfiles == old.lockfiles
        and (new.rules, new.findings) == (old.rules, old.findings)
        and new.git == old.git
    )


def lost_cells(new: Grid, old: Grid) -> list[CellRecord]:
    """Cells that were proven and are not, though their environment's input is the same."""
    before = {c.sort_key for c in old.cells if c.proven}
    same = {name for name, digest in new.environments if dict(old.environments).get(name) == digest}
    return [c for c in new.cells if not c.proven and c.sort_key in before and c.environment in same]
