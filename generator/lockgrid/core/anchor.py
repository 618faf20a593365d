"""``[sources]`` in the words of uv, which heeds them for what a project itself speaks of and for nothing else."""

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
# Every version is at least this one, and no pre-release is named; a constraint without a bound is no constraint to uv.
_ANYTHING = ">=0"

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


def source_constraints(request: Request, sourced: Sourced) -> list[str]:
    """Constraints that make uv heed the sources, whoever asks for the packages.

    A project's constraints count as its own words and add nothing to it: a package that nobody asks for stays out.
    Where the index has no file of a package, no version is let through: else uv would take it from elsewhere.
    """
    everything = request.all_targets
    absent = dict(request.absent)
    lines = []
    for name, by_index in sourced.items():
        wanted = {t for where in by_index.values() for t in where}
        without = wanted & set(absent.get(name, ()))
        for bound, targets in ((_ANYTHING, wanted - without), (_NOTHING, without)):
            if targets:
                marker = targets_marker(targets, everything)
                lines.append(f"{name}{bound}" + (f" ; {marker}" if marker else ""))
    return lines


def name_indexes(explanation: str, request: Request) -> str:
    """What uv says of a request without a solution, with the index in place of the constraint that stands for it."""
    for name, by_index in sources_of(request).items():
        wanted = re.compile(rf"\b{re.escape(name)}{re.escape(_NOTHING)}(, which does not allow any versions)?")
        indexes = " or ".join(by_index)
        explanation = wanted.sub(f"{name} from the index {indexes}, which has no file of it that fits", explanation)
    return explanation


def source_settings(request: Request, sourced: Sourced, indexes: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The keys of ``[tool.uv]``: the sources, and the tables of their indexes."""
    sources: dict[str, list[dict[str, str]]] = {}
    for name, by_index in sourced.items():
        for index, targets in by_index.items():
            marker = targets_marker(targets, request.all_targets)
            sources.setdefault(name, []).append({"index": index, **({"marker": marker} if marker else {})})
    return {"sources": sources, "index": list(indexes)}
