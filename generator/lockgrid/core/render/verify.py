"""What ``lockgrid verify`` found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockgrid.core.export import IndexUrls
from lockgrid.core.verify import Fault


def render_faults(faults: Sequence[Fault]) -> str:
    """A few lines a fault: pin, file, what is wrong, the locked hash, and the lockfiles that pin it."""
    return "".join(f"{line}\n" for fault in faults for line in _lines(fault))


def _lines(fault: Fault) -> Iterator[str]:
    if not fault.pin:
        yield f"{', '.join(fault.lockfiles)}: {fault.what}"
        return
    file = f"{fault.file}: " if fault.file else ""
    yield f"{fault.pin}: {file}{fault.what}"
    if fault.sha256:
        yield f"  locked: sha256 {fault.sha256}"
    yield f"  in {', '.join(fault.lockfiles)}"


def render_verified(counts: tuple[int, int, int], urls: IndexUrls, faults: int) -> str:
    """What was compared with what: ``counts`` are those of lockfiles, of hashes, and of different ones of these."""
    lockfiles, hashes, files = counts
    named = [f"{name} ({url})" for name, url in urls.named]
    lines = [
        f"{hashes} hashes ({files} files) of {lockfiles} {'lockfile' if lockfiles == 1 else 'lockfiles'}, against:",
        *(f"  {index}" for index in [*urls.plain, *named]),
        "all as locked" if not faults else f"{faults} {'is' if faults == 1 else 'are'} not as locked",
    ]
    return "".join(f"{line}\n" for line in lines)
