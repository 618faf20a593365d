"""``[sources]`` in the words of uv, which heeds them for what a project asks for directly and for nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lockgrid.core.targets import targets_marker
from lockgrid.model.target import Target

if TYPE_CHECKING:
    from lockgrid.core.resolution import Request

# No version is older than this one.
_NOTHING = "<0.dev0"

#: By package, by index: the targets where it comes from there.
Sourced = dict[str, dict[str, list[Target]]]


def sources_of(request: Request) -> Sourced:
    """What ``[sources]`` of the environments says of their targets."""
    found: dict[str, dict[str, dict[Target, None]]] = {}
    for environment, targets in request.all_domain:
        for source in environment.sources:
            for target in targets:
                if target.platform.name == source.platform:
                    found.setdefault(source.name, {}).setdefault(source.index, {})[target] = None
    order = request.all_targets
    return {
        name: {index: [t for t in order if t in where] for index, where in sorted(by.items())}
        for name, by in sorted(found.items())
    }


def absences(request: Request, sourced: Sourced) -> list[str]:
    """Constraints that no version meets: else uv would take from elsewhere what the named index does not have."""
    everything = request.all_targets
    lines = []
    for name, where in request.absent:
        wanted = {t for found in sourced.get(name, {}).values() for t in found} & set(where)
        if wanted:
            marker = targets_marker(wanted, everything)
            lines.append(f"{name}{_NOTHING}" + (f" ; {marker}" if marker else ""))
    return lines


def name_indexes(explanation: str, request: Request) -> str:
    """What uv says of a request without a solution, with the index in place of the constraint of ``absences``."""
    for name, by_index in sources_of(request).items():
        wanted = re.compile(rf"\b{re.escape(name)}{re.escape(_NOTHING)}(, which does not allow any versions)?")
        indexes = " or ".join(by_index)
        explanation = wanted.sub(f"{name} from the index {indexes}, which has no file of it that fits", explanation)
    return explanation


def anchor(request: Request, sourced: Sourced) -> dict[str, list[str]]:
    """The extra that asks for every package with a source: uv heeds sources of what is asked for directly.

    It conflicts with the environments' extras, so it is resolved beside them and neither adds to them nor bends
    them; but uv knows by it where the package comes from, whoever asks.
    """
    everything = request.all_targets
    absent = {name: set(where) for name, where in request.absent}
    lines = []
    for name, by_index in sourced.items():
        targets = {t for where in by_index.values() for t in where} - absent.get(name, set())
        if targets:
            marker = targets_marker(targets, everything)
            lines.append(name + (f" ; {marker}" if marker else ""))
    return {_anchor_name(request): lines} if sourced else {}


def _anchor_name(request: Request) -> str:
    taken = {environment.extra for environment in request.environments}
    return next(name for number in range(len(taken) + 1) if (name := f"lockgrid-sources-{number}") not in taken)


def source_settings(request: Request, sourced: Sourced, indexes: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The keys of ``[tool.uv]``: which extras exclude each other, the sources, and the tables of their indexes."""
    extra = _anchor_name(request)
    sources: dict[str, list[dict[str, str]]] = {}
    for name, by_index in sourced.items():
        for index, targets in by_index.items():
            marker = targets_marker(targets, request.all_targets)
            sources.setdefault(name, []).append({"index": index, **({"marker": marker} if marker else {})})
    return {
        "conflicts": [[{"extra": extra}, {"extra": environment.extra}] for environment in request.environments],
        "sources": sources,
        "index": list(indexes),
    }
