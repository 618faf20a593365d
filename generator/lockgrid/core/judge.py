"""Proofs 4 and 5 put together: all findings on wheels that are installed into one venv."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from typing import Any

import stdlibs
from stdlibs.__version__ import __version__ as stdlibs_version

from lockgrid.core.archive import judge_archive
from lockgrid.core.binaries import judge_binaries, library_names
from lockgrid.core.files import FileJudge
from lockgrid.core.floor import floors_of, may_meet, target_floor
from lockgrid.model.contents import Contents
from lockgrid.model.finding import KINDS, RULES, Finding
from lockgrid.model.grid import Pin
from lockgrid.model.target import Target


@cache
def stdlib_names(python: str) -> frozenset[str]:
    """The modules of the standard library of a Python such as ``3.12``; of one not known yet, of every Python 3."""
    return stdlibs.stdlib_module_names(python if python in stdlibs.KNOWN_VERSIONS else "3")


def judge_wheels(contents: Sequence[Contents], python: str) -> tuple[Finding, ...]:
    """The findings on these wheels, each against its own tags, taken as what one may install together."""
    found: list[Finding] = []
    libraries = {one.filename: library_names(one) for one in contents}
    for one in contents:
        others = [c for c in contents if c is not one and may_meet(c.filename, one.filename)]
        provided = {name for other in others for name in libraries[other.filename]}
        found += judge_archive(one)
        found += judge_binaries(one, floors_of(one.filename), provided=provided)
    named = {one.filename: one for one in contents}
    found += FileJudge(named).findings(named, stdlib_names(python), may_meet)
    return _sorted(found)


class CellJudge:
    """The findings on cells. ``contents``: of every wheel of theirs, by sha256."""

    def __init__(self, contents: Mapping[str, Contents]) -> None:
        self._contents = contents
        self._libraries = {sha: library_names(one) for sha, one in contents.items()}
        self._archives = {sha: judge_archive(one) for sha, one in contents.items()}
        self._files = FileJudge(contents)

    def findings(self, target: Target, pins: Iterable[Pin]) -> tuple[Finding, ...]:
        """The findings on the wheels that the target installs, errors first."""
        pins = list(pins)
        wheels = [pin.file.sha256 for pin in pins if pin.file.is_wheel]
        provided = {name for sha in wheels for name in self._libraries[sha]}
        floor = target_floor(target)
        found = [_unbuilt(pin) for pin in pins if not pin.file.is_wheel]
        for sha in wheels:
            found += self._archives[sha]
            found += judge_binaries(self._contents[sha], [floor], provided=provided)
        found += self._files.findings(wheels, stdlib_names(target.python))
        return _sorted(found)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.sort_key))


def _unbuilt(pin: Pin) -> Finding:
    what = "it is built from a sdist when it is installed, so what it will hold is not judged"
    return Finding(name=f"unread:{pin.name}", severity=KINDS["unread"], wheels=(pin.file.filename,), what=what)


def judgement_key(target: Target, pins: Iterable[Pin]) -> str:
    """What identifies the findings on a cell, as a digest: its files, its floor, its Python and the rules."""
    files = sorted([pin.file.sha256, pin.file.filename] for pin in pins)
    value = [RULES, stdlibs_version, target.platform.label, target.python, files]
    return sha256(json.dumps(value).encode()).hexdigest()


def encode_findings(findings: Sequence[Finding]) -> bytes:
    """In short form, for the cache."""
    return json.dumps([asdict(finding) for finding in findings]).encode()


def decode_findings(value: bytes) -> tuple[Finding, ...]:
    """The inverse of ``encode_findings``."""
    rows: list[dict[str, Any]] = json.loads(value)
    return tuple(Finding(**{**row, "wheels": tuple(row["wheels"]), "files": tuple(row["files"])}) for row in rows)
