"""Which files of ``tests/flows/`` an environment's flow is made of, by what they mention of each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

FOLDER = "tests/flows"


def flow_of(environment: str) -> str:
    """The file that makes an environment have a flow, and so a session of its name."""
    return f"{FOLDER}/test_{environment}.py"


def has_flow(environment: str, paths: Collection[str]) -> bool:
    """Whether there is a flow for the environment among the paths."""
    return flow_of(environment) in paths


def changed_flows(old: Mapping[str, bytes], new: Mapping[str, bytes], environments: Iterable[str]) -> set[str]:
    """The environments with a flow that may run otherwise: a file of theirs came, went or differs.

    A file belongs to the flow whose files mention its name, imported or not; what no flow mentions (``conftest.py``, a
    settings file) belongs to all. Line endings do not count.
    """
    differing = differing_files(old, new)
    if not differing:
        return set()
    names = [name for name in environments if has_flow(name, new)]
    both = {**old, **new}
    flows = {path for path in both if PurePosixPath(path).match(f"{FOLDER}/test_*.py")}
    reached = {name: _reached(flow_of(name), (old, new), flows) for name in names}
    shared = differing - flows.union(*(_reached(flow, (old, new), flows) for flow in flows))
    return {name for name in names if shared or reached[name] & differing}


def differing_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> set[str]:
    """The paths of files that came, went or differ in more than their line endings."""
    return {path for path in old.keys() | new.keys() if _lines(old.get(path)) != _lines(new.get(path))}


def _lines(data: bytes | None) -> bytes | None:
    return None if data is None else data.replace(b"\r\n", b"\n")


def _reached(start: str, sides: tuple[Mapping[str, bytes], ...], flows: Collection[str]) -> set[str]:
    """The files that ``start`` mentions, and those that these do, before or after; no flow belongs to another."""
    paths = {path for side in sides for path in side if path not in flows}
    found, waiting = {start}, [start]
    while waiting:
        path = waiting.pop()
        words = {word for side in sides for word in re.findall(rb"\w+", side.get(path, b""))}
        for other in paths - found:
            if PurePosixPath(other).stem.encode() in words:
                found.add(other)
                waiting.append(other)
    return found
