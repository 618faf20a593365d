"""What uv answers, read: whether it failed and why, in words fit for people, and what its lock knows of a sdist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lockgrid.adapters.uvrun import Outcome, failed
from lockgrid.errors import ToolError, UnsatisfiableError
from lockgrid.model.index import DistMetadata

_NEEDS_SDIST = re.compile(r"hint: Wheels are required for `([^`]+)`")
_LACKING = re.compile(r"^warning: The package `([^`=]+)==([^`]+)` does not have an extra named `([^`]+)`", re.MULTILINE)
# To uv an index that refuses to answer has nothing; this hint alone tells the two apart.
_REFUSED = re.compile(
    r"^hint: An index.* (?:lack of valid authentication credentials|returned a 403 Forbidden error).*", re.MULTILINE
)
# The markers of a fork, which say no more than the cell does that stands beside the explanation.
_FOR_THE_SPLIT = re.compile(r"has\s+no\s+`[^`]*`-compatible\s+wheels")


@dataclass(frozen=True, slots=True)
class NoSolution:
    """uv found the requirements unsatisfiable: its explanation, and the packages of which only a sdist would do."""

    explanation: str
    sdists: tuple[str, ...] = ()


def no_lock(outcome: Outcome) -> NoSolution:
    """Why `uv lock` ended without a lock.

    Raises ``UnsatisfiableError`` for a requirement by URL, ``ToolError`` where not the requirements are at fault.
    """
    if refused := _REFUSED.findall(outcome.said):
        raise ToolError(
            "an index refuses to answer uv:\n" + "\n".join(f"    {line}" for line in refused),
            next_step="check the credentials of this index (UV_INDEX_<NAME>_USERNAME and _PASSWORD)",
        )
    if "No solution found" in outcome.said:
        return NoSolution(explain_failure(outcome.said), tuple(dict.fromkeys(_NEEDS_SDIST.findall(outcome.said))))
    if "URL dependenc" in outcome.said:
        raise UnsatisfiableError(
            f"a package requires another by a URL, which no lockfile holds:\n    {explain_failure(outcome.said)}",
            next_step="override that requirement with a version, or do without the package",
        )
    raise failed("lock", outcome)


def lacking_extras(outcome: Outcome) -> frozenset[tuple[str, str, str]]:
    """The extras (name, version, extra) that were asked for and that uv found missing."""
    return frozenset(_LACKING.findall(outcome.said))


def explain_failure(said: str) -> str:
    """Uv's explanation of an unsatisfiable set, without the line about its interpreter and its own names."""
    lines = [line.strip() for line in said.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Using CPython", "error: No solution", "hint: "))]
    text = _FOR_THE_SPLIT.sub("has no wheel that fits", "\n".join(kept)).replace("lockgrid-resolution", "envs")
    return text.removeprefix("error: ").removeprefix("cause: ")


def locked_metadata(package: Mapping[str, Any], provided: Iterable[str]) -> DistMetadata:
    """What ``uv.lock`` says of a package; ``provided`` are the extras that it is known to have."""
    lines = [_locked_requirement(entry) for entry in package.get("dependencies", ())]
    extras = package.get("optional-dependencies", {})
    for extra, entries in extras.items():
        lines += [_locked_requirement(entry, extra) for entry in entries]
    return DistMetadata(
        name=package["name"],
        version=package["version"],
        requires_dist=tuple(lines),
        provides_extra=tuple(sorted({*extras, *provided})),
    )


def _locked_requirement(entry: Mapping[str, Any], extra: str = "") -> str:
    extras = f"[{','.join(entry['extra'])}]" if entry.get("extra") else ""
    version = f"=={entry['version']}" if "version" in entry else ""
    markers = [f"({entry['marker']})"] if "marker" in entry else []
    markers += [f"extra == '{extra}'"] if extra else []
    tail = f" ; {' and '.join(markers)}" if markers else ""
    return f"{entry['name']}{extras}{version}{tail}"
