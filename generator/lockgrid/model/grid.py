"""Pins, cells and the grid: the output of a lock."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lockgrid.model.cutoff import Cutoff
from lockgrid.model.finding import Finding
from lockgrid.model.index import IndexFile, page_key
from lockgrid.model.spec import Cell
from lockgrid.model.target import Target, python_key


class Proof(StrEnum):
    """The proofs of DESIGN.md, and ``resolution`` for a cell that uv itself cannot solve."""

    TAGS = "tags"
    CLOSURE = "closure"
    INDEX = "index"
    BINARIES = "binaries"
    FILES = "files"
    RESOLUTION = "resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One ``name==version`` in a cell and the one file that this cell installs for it.

    ``index`` is the name of the index that ``[sources]`` names for it, empty for uv's plain indexes.
    """

    name: str
    version: str
    file: IndexFile
    index: str = ""

    @property
    def project(self) -> str:
        """The key of the page that lists the file."""
        return page_key(self.name, self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One reason why a cell is unsupported, in parts, for ``explain``.

    ``package`` as required (``numpy>=1.26,<2.2`` or ``tosa-tools==2026.5.0``), ``required_by`` the chains
    that ask for it, ``exists`` the files that there are, ``missing`` what the cell would need, and
    ``serves`` the released versions that have it (newest first, empty when none does). ``finding`` is the name
    of the finding where proof 4 or 5 failed; then no other version was looked into.
    """

    proof: Proof
    package: str
    required_by: tuple[str, ...] = ()
    exists: str = ""
    missing: str = ""
    serves: tuple[str, ...] = ()
    finding: str = ""

    @property
    def text(self) -> str:
        """One sentence, the form that ``because`` joins."""
        asked = f" (required by {', '.join(self.required_by)})" if self.required_by else ""
        named = f": {self.finding}:" if self.finding else ""
        return f"{self.package}{asked}{named} {self.exists or self.missing}"


#: Why cells are unsupported, every reason.
Blockers = dict[Cell, tuple[Blocker, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCell:
    """A cell with its pins, sorted by name, and who asks for each (``via``: name -> requirers)."""

    environment: str
    target: Target
    pins: tuple[Pin, ...]
    via: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRecord:
    """A cell as ``grid.toml`` keeps it. ``bytes`` is what an installation downloads."""

    environment: str
    platform: str
    python: str
    proven: bool
    packages: int = 0
    bytes: int = 0
    failed: str = ""
    because: str = ""
    blockers: tuple[Blocker, ...] = ()

    @property
    def sort_key(self) -> tuple[str, str, tuple[int, int]]:
        """Environment, platform, Python as a version: the order of ``grid.toml``."""
        return self.environment, self.platform, python_key(self.python)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecord:
    """A finding as ``grid.toml`` keeps it: once for an environment, with all of its cells that have it.

    ``packages`` are ``name==version``. ``finding`` is that of the first cell, without its wheels: these differ
    from cell to cell. ``cells`` are platforms and Pythons, sorted; none for an acceptance that accepts nothing.
    """

    environment: str
    finding: Finding
    packages: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    accepted: bool = False

    @property
    def sort_key(self) -> tuple[str, bool, str, str]:
        """Environment, errors before warnings, name: the order of ``grid.toml``."""
        return self.environment, self.finding.severity != "error", self.finding.name, self.finding.what


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """Files of one package that an environment takes from one index by its name: file names with their sha256.

    ``platforms`` are those with a proven cell that pins it. ``dateless``: the index is said to tell no upload times.
    """

    environment: str
    package: str
    index: str
    platforms: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    dateless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GitWheel:
    """A wheel that was built from a git source, with what a lock must know of it where it is not at hand.

    ``size`` is in bytes. ``platform`` and ``python`` are of the machine that built it, ``pins`` what was in the build
    (``name==version``), ``build`` the digest of that with the files' hashes.
    """

    filename: str
    sha256: str
    size: int
    version: str
    platform: str
    python: str
    build: str
    pins: tuple[str, ...]
    requires: tuple[str, ...] = ()
    requires_python: str = ""
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRecord:
    """A package that is built from a commit, as ``grid.toml`` keeps it, once for all environments that agree on it.

    ``tree`` is the digest of the commit's content (``core.git.tree_digest``), ``build_requires`` what its
    ``pyproject.toml`` and its build backend ask for.
    """

    package: str
    url: str
    rev: str
    subdirectory: str
    environments: tuple[str, ...]
    tree: str
    build_requires: tuple[str, ...]
    wheels: tuple[GitWheel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """``locks/grid.toml``. ``lockfiles`` and ``environments`` map names to digests (``sha256:...``).

    ``rules`` is the number of the rules that ``findings`` were made by, 0 where the wheels were not looked into.
    ``exclude_newer_package`` are the cut-offs of packages that had another than ``exclude_newer``.
    """

    exclude_newer: datetime
    inputs: str
    environments: tuple[tuple[str, str], ...]
    lockfiles: tuple[tuple[str, str], ...]
    cells: tuple[CellRecord, ...]
    uv: str = ""
    apart: tuple[str, ...] = ()
    rules: int = 0
    findings: tuple[FoundRecord, ...] = ()
    sources: tuple[SourceRecord, ...] = ()
    git: tuple[GitRecord, ...] = ()
    exclude_newer_package: tuple[tuple[str, datetime], ...] = ()

    @property
    def cutoff(self) -> Cutoff:
        """The cut-offs of the last resolution that changed anything."""
        return Cutoff(moment=self.exclude_newer, packages=self.exclude_newer_package)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPin:
    """A pin as a lockfile keeps it: for these Pythons, any of these files (sha256, hexadecimal)."""

    name: str
    version: str
    pythons: tuple[str, ...]
    hashes: tuple[str, ...]
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lockfile:
    """One ``locks/<environment>/<platform>.txt`` (or ``build.txt``), parsed or about to be rendered."""

    environment: str
    platform: str
    pythons: tuple[str, ...]
    sdists: tuple[str, ...]
    pins: tuple[LockedPin, ...]  # sorted by name

    def named(self, name: str) -> tuple[LockedPin, ...]:
        """The pins of one package: more than one where Pythons differ."""
        start = bisect_left(self.pins, name, key=lambda pin: pin.name)
        end = bisect_right(self.pins, name, key=lambda pin: pin.name)
        return self.pins[start:end]


#: The lockfiles that stand, by environment and platform.
OldLocks = Mapping[tuple[str, str], Lockfile]
