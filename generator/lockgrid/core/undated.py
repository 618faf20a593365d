"""Packages of which an index does not tell when their files were uploaded, though ``locks/`` knows the files.

uv passes over every file without an upload time where there is a cut-off. Proof 3 lets those pass whose hash is already
in ``locks/``: so for these packages uv is told of no cut-off, and of no version that has no such file. What it then
takes is proven like everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.version import Version

from lockgrid.core.candidates import Facts, index_refusal
from lockgrid.model.grid import OldLocks
from lockgrid.model.index import split_key
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Undated:
    """A package whose cut-off uv is not told of: the versions that may be taken on some targets, and all others."""

    name: str
    admitted: tuple[str, ...]
    refused: tuple[str, ...]
    targets: tuple[Target, ...]

    @property
    def specifier(self) -> str:
        """What admits no other version, empty where none is refused."""
        if len(self.admitted) == 1:
            return f"=={self.admitted[0]}"
        return ",".join(f"!={version}" for version in self.refused)


def has_undated(facts: Facts) -> bool:
    """Whether the index tells no upload time of a file that is locked, as far as its pages are known."""
    return any(_is_undated(key, facts) for key in facts.pages)


def locked_keys(environments: Iterable[Environment], old: OldLocks) -> set[str]:
    """The keys of the pages on which these environments would look for all that is locked."""
    names = {pin.name for lockfile in old.values() for pin in lockfile.pins}
    return {environment.project(name, t) for environment in environments for t in environment.targets for name in names}


def undated(environments: Sequence[Environment], old: OldLocks, facts: Facts) -> tuple[Undated, ...]:
    """What uv is to be told of such packages. The pages of ``locked_keys`` must be known."""
    targets = dict.fromkeys(target for environment in environments for target in environment.targets)
    found = []
    for key in sorted(locked_keys(environments, old)):
        if not _is_undated(key, facts):
            continue
        name = split_key(key)[0]
        admitted = [str(v) for v in facts.versions(key) if _admitted(key, v, facts)]
        public = {Version(version).public for version in admitted}  # `!=1.0` would rule out 1.0+cpu as well
        refused = [str(v) for v in facts.versions(key) if str(v) not in admitted and str(v) not in public]
        where = [t for t in targets if any(e.project(name, t) == key for e in environments if t in e.targets)]
        found.append(Undated(name=name, admitted=tuple(admitted), refused=tuple(refused), targets=tuple(where)))
    return tuple(found)


def _is_undated(key: str, facts: Facts) -> bool:
    page = facts.pages[key]
    if page.missing or page.newest is not None:
        return False
    files = (file for version in facts.versions(key) for file in facts.release(key, version))
    return any(file.uploaded is None and file.sha256 in facts.known_hashes for file in files)


def _admitted(key: str, version: Version, facts: Facts) -> bool:
    return any(index_refusal(file, facts, key) is None for file in facts.release(key, version))
