"""The difference between two grids, and the facts from outside that go into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from lockgrid.model.advisory import CellName, PinName, Vulnerability
from lockgrid.model.grid import CellRecord
from lockgrid.model.index import Licence

NOT_ASKED = "not asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffFacts:
    """What the locks themselves do not hold. Each ``*_why`` says why a thing was not looked up, empty where it was.

    ``licences`` and ``filenames`` are by the sha256 of files, and may be of some files only. ``advisories`` are those
    of the pins that were audited, ``unaudited`` says why others were not; ``service`` is who was asked.
    ``licences_gap`` says why some licences are not known.
    """

    licences: Mapping[str, Licence] = field(default_factory=dict)
    licences_why: str = NOT_ASKED
    licences_gap: str = ""
    filenames: Mapping[str, str] = field(default_factory=dict)
    advisories: Mapping[PinName, tuple[Vulnerability, ...]] = field(default_factory=dict)
    unaudited: Mapping[PinName, str] = field(default_factory=dict)
    advisories_why: str = NOT_ASKED
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A package that is pinned otherwise on ``cells``, sorted, which are proven before and after.

    ``old`` and ``new`` are versions, empty where it is added or removed. ``asked_by`` are the packages and the files of
    ``envs/`` that ask for it (of what was removed: that asked).
    """

    name: str
    old: str
    new: str
    cells: tuple[CellName, ...]
    asked_by: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``added``, ``removed``, ``upgraded`` or ``downgraded``."""
        if not self.old or not self.new:
            return "removed" if self.old else "added"
        return "upgraded" if Version(self.new) > Version(self.old) else "downgraded"

    @property
    def step(self) -> str:
        """The first part that differs: ``major``, ``minor``, ``patch``; ``other`` where the release is the same.

        Empty where it is added or removed.
        """
        if not self.old or not self.new:
            return ""
        old, new = Version(self.old), Version(self.new)
        if old.epoch != new.epoch:
            return "major"
        width = max(len(old.release), len(new.release))
        pairs = zip(*(v.release + (0,) * (width - len(v.release)) for v in (old, new)), strict=True)
        place = next((index for index, (a, b) in enumerate(pairs) if a != b), None)
        return "other" if place is None else ("major", "minor", "patch")[min(place, 2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Moves of one package (several where targets differ), and ``along`` those that only it asks for, however far."""

    name: str
    moves: tuple[Move, ...]
    along: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesChange:
    """Files (sha256) that came to an unchanged version, or went from it, on ``cells``."""

    name: str
    version: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    cells: tuple[CellName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """A cell that was gained or lost. Either record is None where that grid does not have the cell."""

    cell: CellName
    before: CellRecord | None
    after: CellRecord | None

    @property
    def packages(self) -> int:
        """How many packages it pins where it is proven."""
        return sum(record.packages for record in (self.before, self.after) if record and record.proven)

    @property
    def because(self) -> str:
        """Why it is unsupported on the other side; empty where it is not in that grid."""
        return "".join(record.because for record in (self.before, self.after) if record and not record.proven)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChange:
    """What an installation of a cell downloads, in bytes; 0 where the index does not tell."""

    platform: str
    python: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding of one environment: ``new`` or ``gone`` on ``cells``, or there now ``accepted`` or ``unaccepted``.

    No cells: an acceptance that accepts nothing.
    """

    kind: str
    environment: str
    name: str
    severity: str
    what: str
    packages: tuple[str, ...]
    cells: tuple[CellName, ...]
    accepted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceChange:
    """What the files of a moved package declare; ``before`` is empty for one that was added, else never."""

    name: str
    old: str
    new: str
    before: str
    after: str
    cells: tuple[CellName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryChange:
    """An advisory that is ``fixed``, or new, for environments; ``versions`` are those that have it."""

    fixed: bool
    id: str
    aliases: tuple[str, ...]
    description: str
    name: str
    versions: tuple[str, ...]
    environments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDiff:
    """One environment. ``cells_before`` and ``cells_after`` are the proven cells; ``sizes`` are of those in both.

    ``brought`` are packages that the environment did not have, pinned in gained cells alone.
    """

    name: str
    cells_before: tuple[CellName, ...]
    cells_after: tuple[CellName, ...]
    gained: tuple[CellChange, ...] = ()
    lost: tuple[CellChange, ...] = ()
    sizes: tuple[SizeChange, ...] = ()
    moves: tuple[Move, ...] = ()
    brought: tuple[PinName, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything of it is otherwise than before, findings and files apart."""
        sizes = any(size.before != size.after for size in self.sizes)
        return bool(self.gained or self.lost or self.moves or self.brought or sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is compared: ``name`` as it was asked for, its ``commit`` (empty for files), the cut-off of its grid."""

    name: str = ""
    commit: str = ""
    exclude_newer: str = ""

    @property
    def label(self) -> str:
        """The name, and the commit where that says more."""
        return (
            f"{self.name} ({self.commit[:12]})" if self.commit and not self.commit.startswith(self.name) else self.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDiff:
    """Everything that differs. ``groups`` are over all environments; ``environments`` are all of them, sorted.

    ``notes`` are sentences on the grids as such. ``licences_unknown`` are moved packages whose licences before or after
    are not known. ``licences_why`` and ``advisories_why`` are as in ``DiffFacts``; ``filenames`` are of files that
    changed.
    """

    old: Side = Side()
    new: Side = Side()
    environments: tuple[EnvironmentDiff, ...] = ()
    groups: tuple[Group, ...] = ()
    files: tuple[FilesChange, ...] = ()
    filenames: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[FindingChange, ...] = ()
    licences: tuple[LicenceChange, ...] = ()
    licences_unknown: tuple[str, ...] = ()
    licences_why: str = NOT_ASKED
    licences_gap: str = ""
    advisories: tuple[AdvisoryChange, ...] = ()
    unaudited: tuple[tuple[str, str, str], ...] = ()
    advisories_why: str = NOT_ASKED
    service: str = ""
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether both grids pin the same, prove the same and find the same."""
        changed = any(environment.changed for environment in self.environments)
        return not (changed or self.files or self.findings or self.notes)

    @property
    def universe(self) -> dict[str, frozenset[tuple[str, str]]]:
        """The targets (platform, Python) that are proven before or after, by environment."""
        return {e.name: frozenset((c[1], c[2]) for c in (*e.cells_before, *e.cells_after)) for e in self.environments}
