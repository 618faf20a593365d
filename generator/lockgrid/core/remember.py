"""Outcomes that hang on their input alone, kept until any of it changes: of scans, and of the proofs.

Both read pages, METADATA (which never changes for a file) and the environments. The cut-off matters to them
only through files newer than it, so an outcome holds for every later cut-off while the pages are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import packaging

from lockgrid.core.candidates import Facts
from lockgrid.core.digest import digest_environment
from lockgrid.model.grid import Blocker, Blockers, Pin, Proof, ProvenCell
from lockgrid.model.index import IndexFile, split_key
from lockgrid.model.spec import Cell, Domain, Environment
from lockgrid.model.target import Target

# Part of every key: raised when a scan, a selection or a proof comes to answer differently.
_ANSWERS = 4


def scan_key(environments: Iterable[Environment]) -> str:
    """What identifies the scan of these environments, as a digest."""
    return _digest("scan", [_stem(environment) for environment in environments])


def proof_key(domain: Domain, pylocks: Sequence[str], old_locks: str) -> str:
    """What identifies the proofs of these cells, as a digest.

    ``pylocks`` are the texts that uv exported, ``old_locks`` a digest of the lockfiles whose files are kept.
    """
    return _digest("proof", [_cells(domain), [sha256(text.encode()).hexdigest() for text in pylocks], old_locks])


def sdist_key(environment: Environment, targets: Sequence[Target], sha256: str) -> str:
    """What identifies that which a resolution for these cells tells of a sdist, as a digest."""
    return _digest("sdist", [_cells([(environment, tuple(targets))]), sha256])


def _cells(domain: Domain) -> list[Any]:
    return [[_stem(e), [f"{t.platform.label} {t.python}" for t in targets]] for e, targets in domain]


def _stem(environment: Environment) -> list[Any]:
    return [environment.file, digest_environment(environment), [[d.text, d.file] for d in environment.requires]]


def _digest(kind: str, value: object) -> str:
    return sha256(json.dumps([kind, _ANSWERS, packaging.__version__, value]).encode()).hexdigest()


def _guard(names: Iterable[str], facts: Facts) -> list[Any] | None:
    """The pages by digest and the newest file on them; None where that does not say all that matters."""
    pages = {name: facts.pages[name] for name in names}
    times = []
    for name, page in pages.items():
        dated: list[datetime | None] = [page.newest]
        if page.newest is None and split_key(name)[1] in facts.dateless:  # the files that have none do not matter
            dated = [f.uploaded for files in page.releases.values() for f in files if f.uploaded]
        times += dated
    newest = max((time for time in times if time is not None), default=None)
    if newest is None or None in times or newest > facts.earliest or any(page.missing for page in pages.values()):
        return None
    return [{name: page.digest for name, page in pages.items()}, newest.isoformat()]


def pages_of(value: bytes) -> list[str]:
    """The keys of the pages that a kept outcome hangs on: to be known before it is decoded."""
    return list(json.loads(value)[0][0])


def _holds(guard: list[Any], facts: Facts) -> bool:
    pages, newest = guard
    same = all(facts.pages[name].digest == digest for name, digest in pages.items())
    return same and datetime.fromisoformat(newest) <= facts.earliest


def encode_scan(blockers: Mapping[Cell, Sequence[Blocker]], facts: Facts) -> bytes | None:
    """The outcome of a scan with the pages that it may hang on; None where it cannot be kept."""
    guard = _guard(facts.pages, facts)
    if guard is None:
        return None
    rows = [
        [environment, target.platform.name, target.python, [_row(blocker) for blocker in found]]
        for (environment, target), found in blockers.items()
    ]
    return json.dumps([guard, rows]).encode()


def decode_scan(value: bytes, environments: Iterable[Environment], facts: Facts) -> Blockers | None:
    """The kept outcome, None when a page (all of them known to ``facts``) or the cut-off speaks against it."""
    guard, rows = json.loads(value)
    if not _holds(guard, facts):
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


def _blocker(row: Sequence[Any]) -> Blocker:
    proof, package, required_by, exists, missing, serves = row
    return Blocker(
        proof=Proof(proof),
        package=package,
        required_by=tuple(required_by),
        exists=exists,
        missing=missing,
        serves=tuple(serves),
    )


def encode_proofs(cells: Sequence[ProvenCell], facts: Facts) -> bytes | None:
    """Proven cells with the pages that they hang on; None where they cannot be kept. Each file stands once."""
    pins = list(dict.fromkeys(pin for cell in cells for pin in cell.pins))
    guard = _guard({pin.project for pin in pins}, facts)
    if guard is None:
        return None
    number = {pin: index for index, pin in enumerate(pins)}
    rows = [
        [
            cell.environment,
            cell.target.platform.name,
            cell.target.python,
            [number[pin] for pin in cell.pins],
            [[name, list(by)] for name, by in cell.via],
        ]
        for cell in cells
    ]
    return json.dumps([guard, [_pin_row(pin) for pin in pins], rows]).encode()


def decode_proofs(value: bytes, domain: Domain, facts: Facts) -> list[ProvenCell] | None:
    """The kept cells, None when a page (all of them known to ``facts``) or the cut-off speaks against them."""
    guard, pin_rows, rows = json.loads(value)
    if not _holds(guard, facts):
        return None
    pins = [_pin(row) for row in pin_rows]
    targets = {(e.name, t.platform.name, t.python): t for e, found in domain for t in found}
    return [
        ProvenCell(
            environment=environment,
            target=targets[environment, platform, python],
            pins=tuple(pins[index] for index in chosen),
            via=tuple((name, tuple(by)) for name, by in via),
        )
        for environment, platform, python, chosen, via in rows
    ]


def _pin_row(pin: Pin) -> list[object]:
    uploaded = pin.file.uploaded.isoformat() if pin.file.uploaded else None
    row = [pin.name, pin.version, pin.file.filename, pin.file.url, pin.file.sha256, pin.file.size, uploaded]
    return [*row, pin.index]


def _pin(row: Sequence[Any]) -> Pin:
    name, version, filename, url, digest, size, uploaded, index = row
    file = IndexFile(
        filename=filename,
        url=url,
        sha256=digest,
        size=size,
        uploaded=datetime.fromisoformat(uploaded) if uploaded else None,
    )
    return Pin(name=name, version=version, file=file, index=index)
