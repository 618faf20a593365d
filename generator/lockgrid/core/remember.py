"""The outcome of a scan, kept until anything that it was made from changes.

A scan reads pages, METADATA (which never changes for a file) and the environments. Its outcome hangs on the
cut-off only through files newer than it, so it holds for every later cut-off while the pages are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256

import packaging

from lockgrid.core.candidates import Facts
from lockgrid.core.digest import digest_environment
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target

Cell = tuple[str, Target]

# Part of the key: raised when a scan comes to answer differently.
_ANSWERS = 1


def scan_key(environments: Iterable[Environment]) -> str:
    """What identifies the scan of these environments, as a digest."""
    stems = [
        [environment.file, digest_environment(environment), [[d.text, d.file] for d in environment.requires]]
        for environment in environments
    ]
    return sha256(json.dumps([_ANSWERS, packaging.__version__, stems]).encode()).hexdigest()


def encode_scan(blockers: Mapping[Cell, Sequence[Blocker]], facts: Facts) -> bytes | None:
    """The outcome with the pages that it may hang on; None where one of them tells no upload times."""
    pages = {name: page.digest for name, page in facts.pages.items() if not page.missing}
    times = [page.newest for page in facts.pages.values() if not page.missing]
    newest = [time for time in times if time is not None]
    if len(newest) < len(times) or len(pages) < len(facts.pages) or not newest or max(newest) > facts.cutoff:
        return None
    rows = [
        [environment, target.platform.name, target.python, [_row(blocker) for blocker in found]]
        for (environment, target), found in blockers.items()
    ]
    return json.dumps([pages, max(newest).isoformat(), rows]).encode()


def pages_of(value: bytes) -> list[str]:
    """The names of the pages that a kept outcome may hang on."""
    return list(json.loads(value)[0])


def decode_scan(
    value: bytes, environments: Iterable[Environment], facts: Facts
) -> dict[Cell, tuple[Blocker, ...]] | None:
    """The kept outcome, None when a page (all of them known to ``facts``) or the cut-off speaks against it."""
    pages, newest, rows = json.loads(value)
    if any(facts.pages[name].digest != digest for name, digest in pages.items()):
        return None
    if datetime.fromisoformat(newest) > facts.cutoff:
        return None
    targets = {(e.name, t.platform.name, t.python): t for e in environments for t in e.targets}
    return {
        (environment, targets[environment, platform, python]): tuple(_blocker(row) for row in found)
        for environment, platform, python, found in rows
    }


def _row(blocker: Blocker) -> list[object]:
    return [
        str(blocker.proof),
        blocker.package,
        list(blocker.required_by),
        blocker.exists,
        blocker.missing,
        list(blocker.serves),
    ]


def _blocker(row: Sequence[object]) -> Blocker:
    proof, package, required_by, exists, missing, serves = row
    return Blocker(
        proof=Proof(str(proof)),
        package=str(package),
        required_by=tuple(required_by),  # type: ignore[arg-type]
        exists=str(exists),
        missing=str(missing),
        serves=tuple(serves),  # type: ignore[arg-type]
    )
