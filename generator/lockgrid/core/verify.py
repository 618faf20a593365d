"""Is what a lockfile pins still what the index lists? Values in, faults out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.version import Version

from lockgrid.core.candidates import Facts, at_index, wheel_rank
from lockgrid.model.grid import LockedPin
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with one pin of lockfiles.

    ``kind`` is ``lockfile`` (the file itself is missing or pins nothing), ``project``, ``release`` or ``file`` (it is
    not on the index any more), ``replaced`` (another file is in its place), ``yanked``, ``quarantined`` or
    ``unhashed``. ``file`` is the name of the file where one is known: lockfiles hold no names.
    ``sha256`` is the locked hash, empty where the whole pin is meant.
    """

    kind: str
    pin: str = ""
    file: str = ""
    sha256: str = ""
    what: str
    lockfiles: tuple[str, ...] = ()


def pin_faults(pin: LockedPin, project: str, targets: Sequence[Target], facts: Facts, *, sdist: bool) -> list[Fault]:
    """What is wrong with a pin: each of its hashes must be that of a listed file of its release, in good standing.

    ``project`` is the key of its page (``model.index.page_key``), ``targets`` those that install it, and ``sdist``
    tells whether they may build it.
    """
    label = f"{pin.name}=={pin.version}"
    page, where = facts.pages[project], at_index(project)
    release = () if page.missing else facts.release(project, Version(pin.version))
    if page.missing:
        return [Fault(kind="project", pin=label, what=f"the index has no such project{where}")]
    if page.quarantined:
        return [Fault(kind="quarantined", pin=label, what=f"the index holds the project in quarantine{where}")]
    if not release:
        return [Fault(kind="release", pin=label, what=f"the index lists no file of this release{where}")]
    listed = {file.sha256: file for file in release if file.sha256}
    faults = [
        Fault(
            kind="yanked",
            pin=label,
            file=file.filename,
            sha256=file.sha256,
            what=f"was yanked{': ' + file.yanked if file.yanked else ''}{where}",
        )
        for sha in pin.hashes
        if (file := listed.get(sha)) and file.yanked is not None
    ]
    lost = [sha for sha in pin.hashes if sha not in listed]
    if lost:
        kind, name, said = _instead(pin, release, targets, sdist=sdist)
        faults += [Fault(kind=kind, pin=label, file=name, sha256=sha, what=f"{said}{where}") for sha in lost]
    return faults


def _instead(
    pin: LockedPin, release: Iterable[IndexFile], targets: Sequence[Target], *, sdist: bool
) -> tuple[str, str, str]:
    """Which listed files are in the place of locked ones that are not listed: kind, file name, sentence.

    A lockfile holds hashes alone, so what was locked is told from what its targets could install now.
    """
    gone = "the index lists no file with the locked sha256"
    files = {}
    for target in targets:
        fitting = [(rank, f.filename, f) for f in release if (rank := _rank(f, target, sdist=sdist)) is not None]
        if fitting and not any(f.sha256 in pin.hashes for _, _, f in fitting):
            best = min(fitting, key=lambda entry: entry[:2])[2]
            files[best.filename] = best
    if not files:
        return "file", "", gone
    unhashed = [file.filename for file in files.values() if not file.sha256]
    if unhashed:
        return "unhashed", ", ".join(sorted(unhashed)), f"{gone}, for it gives no sha256 of this file"
    found = ", ".join(f"{name} with sha256 {file.sha256}" for name, file in sorted(files.items()))
    return "replaced", ", ".join(sorted(files)), f"{gone}; in its place it has {found}"


def _rank(file: IndexFile, target: Target, *, sdist: bool) -> int | None:
    """How well a file suits the target by its name, 0 the best; None when it does not."""
    if file.is_wheel:
        return wheel_rank(file.filename, target)
    return 10**9 if sdist else None


def merge_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Each fault once, with all of its lockfiles; sorted by pin."""
    merged: dict[tuple[str, str, str, str, str], list[str]] = {}
    for fault in faults:
        key = fault.pin, fault.file, fault.sha256, fault.kind, fault.what
        merged.setdefault(key, []).extend(fault.lockfiles)
    return tuple(
        Fault(pin=pin, file=file, sha256=sha, kind=kind, what=what, lockfiles=tuple(sorted(set(lockfiles))))
        for (pin, file, sha, kind, what), lockfiles in sorted(merged.items())
    )
