"""``[sources]`` in one run of ``lock``: the indexes that it names, who may share a resolution, what is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.utils import canonicalize_name

from lockgrid.adapters.uvconfig import UvConfig, index_faults, read_config
from lockgrid.commands.context import Context
from lockgrid.commands.locked import Locked
from lockgrid.core.candidates import Facts
from lockgrid.core.differ import by_sources, differing_sources
from lockgrid.core.sources import check_bytes, replaced_files, source_problems, source_records, stale_sources
from lockgrid.errors import InputError
from lockgrid.model.grid import ProvenCell, SourceRecord
from lockgrid.model.index import is_git
from lockgrid.model.spec import Cell, Environment, Spec

Proven = Mapping[Cell, ProvenCell]


def index_config(context: Context, spec: Spec, involved: Iterable[Environment]) -> UvConfig:
    """The configuration of uv, with every index that ``[sources]`` of any environment names set apart.

    Raises ``InputError`` where the ``involved`` environments name one that cannot serve.
    """
    named = (source.index for environment in spec.environments for source in environment.sources)
    names = {index for index in named if not is_git(index)}
    store = context.store
    config = read_config(store.root, context.environ, names, spec.indexes, store.read("pyproject.toml"))
    known = {*config.named, *dict(spec.indexes), *(index.name for index in config.indexes if index.name)}
    if problems := source_problems(involved, index_faults(config), known):
        raise InputError(problems)
    return config


def dateless(spec: Spec) -> frozenset[str]:
    """The names of the indexes that are said to tell no upload times."""
    return frozenset(s.index for environment in spec.environments for s in environment.sources if s.dateless)


def named_packages(environment: Environment) -> set[str]:
    """The packages that an environment's file speaks of: their pages are needed first."""
    exceptions = {*environment.sdists, *(o.name for o in environment.overrides), *(s.name for s in environment.sources)}
    return exceptions | {canonicalize_name(declared.requirement.name) for declared in environment.requires}


def part_by_sources(group: list[Environment], apart: list[str]) -> list[list[Environment]]:
    """The group in sets that agree on ``[sources]``, and ``apart`` told why: for uv these hold for a resolution."""
    sets = by_sources(group)
    for number, later in enumerate(sets):
        for one, other in ((a, b) for earlier in sets[:number] for a in earlier for b in later):
            if over := differing_sources(one, other):
                what = ", ".join(over[:5])
                apart.append(f"{one.name} and {other.name} are locked apart: their [sources] differ over {what}")
    return sets


def tell_sources(
    context: Context,
    spec: Spec,
    cells: Proven,
    old: Locked,
    facts: Facts,
    upgrade: frozenset[str] | None,
) -> None:
    """Say which sources do nothing, and which files took the place of locked ones that are gone."""
    records = old.grid.sources if old.grid else ()
    gone = [] if upgrade is None else replaced_files(cells, old.locks, records, facts, upgrade)
    for sentence in [*gone, *stale_sources(spec.environments, cells)]:
        context.progress.note(sentence)


def recorded_sources(
    spec: Spec, wanted: Sequence[Environment], cells: Proven, old: Locked, upgrade: frozenset[str] | None
) -> tuple[SourceRecord, ...]:
    """What came from which index, for the grid; of environments that were not locked now as it stood.

    Raises ``HashMismatchError`` where an index changed what it serves under a name.
    """
    before = old.grid.sources if old.grid else ()
    new = source_records(wanted, cells)
    check_bytes(new, before, upgrade)
    kept = {e.name for e in spec.environments} - {e.name for e in wanted}
    found = [*new, *(record for record in before if record.environment in kept)]
    return tuple(sorted(found, key=lambda r: (r.environment, r.package, r.index)))
