"""Which released files a target can install: tags, Requires-Python, yanks, upload times.

A *release* is all files of one version of a project. ``Facts`` is what is known of the index so far; it
grows while a lock runs, and everything here is a pure function of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from lockgrid.core.targets import admits_python, tag_ranks
from lockgrid.model.cutoff import Cutoff, Keeping
from lockgrid.model.grid import Proof
from lockgrid.model.index import DistMetadata, IndexFile, Page, is_git, split_key
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


@cache
def wheel_tags(filename: str) -> frozenset[Tag]:
    """The tags in a wheel's file name, none for anything else (binary distribution format, PEP 427)."""
    try:
        return parse_wheel_filename(filename)[3]
    except InvalidWheelFilename:
        return frozenset()


@cache
def normal_filename(filename: str) -> object:
    """What a file name says, however it spells it; of one that follows no specification, itself."""
    try:
        return parse_wheel_filename(filename) if filename.endswith(".whl") else parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return filename


@cache
def wheel_rank(filename: str, target: Target) -> int | None:
    """How well a wheel suits the target, 0 the best; None when it does not."""
    ranks = tag_ranks(target)
    return min((ranks[tag] for tag in wheel_tags(filename) if tag in ranks), default=None)


_AFTER_WHEELS = 10**9


@dataclass(slots=True)
class Facts:
    """What is known of the indexes. ``pages`` by key, ``metadata`` by the sha256 of the file.

    The key of a page (``model.index.page_key``) is the normalised name alone unless ``[sources]`` names an
    index: ``Environment.project`` and ``Pin.project`` tell it. Whatever is called ``name`` here is such a key.
    ``cutoffs`` are of packages (by normalised name alone) that have another than ``cutoff``.
    """

    cutoff: datetime
    pages: dict[str, Page] = field(default_factory=dict)
    metadata: dict[str, DistMetadata] = field(default_factory=dict)
    known_hashes: frozenset[str] = frozenset()
    dateless: frozenset[str] = frozenset()  # names of indexes that are said to tell no upload times
    cutoffs: Mapping[str, datetime] = field(default_factory=dict)
    keeping: Keeping = field(default_factory=Keeping)
    _versions: dict[str, list[Version]] = field(default_factory=dict)
    _matching: dict[tuple[str, frozenset[str]], list[Version]] = field(default_factory=dict)
    _best: dict[tuple[str, Version, Target, bool], IndexFile | None] = field(default_factory=dict)
    _kept: dict[str, frozenset[str]] = field(default_factory=dict)

    def as_of(self, cutoff: Cutoff, keeping: Keeping | None = None) -> Facts:
        """The same indexes with other cut-offs. What is learnt of them by one is known to the other."""
        keeping = keeping or Keeping()
        return replace(self, cutoff=cutoff.moment, cutoffs=dict(cutoff.packages), keeping=keeping, _best={}, _kept={})

    def cutoff_of(self, name: str) -> datetime:
        """The moment after which the files of a project do not count."""
        return self.cutoffs.get(split_key(name)[0], self.cutoff) if self.cutoffs else self.cutoff

    @property
    def earliest(self) -> datetime:
        """The earliest of all cut-offs."""
        return min([self.cutoff, *self.cutoffs.values()])

    def too_young(self, name: str, file: IndexFile) -> bool:
        """Whether a file of a kept package is younger than the cool-down, and of no version that is locked."""
        kept = self.keeping.kept.get(split_key(name)[0])
        if kept is None or file.uploaded is None or file.uploaded <= kept.limit:
            return False
        if name not in self._kept:
            found = (f.sha256 for version in kept.versions for f in self.release(name, Version(version)))
            self._kept[name] = frozenset(found)
        return file.sha256 not in self._kept[name]

    def versions(self, name: str) -> list[Version]:
        """The released versions of a project, oldest first; KeyError when its page is not known yet."""
        if name not in self._versions:
            self._versions[name] = sorted(Version(text) for text in self.pages[name].releases)
        return self._versions[name]

    def release(self, name: str, version: Version) -> tuple[IndexFile, ...]:
        """The files of one version, none where there is no such version."""
        return self.pages[name].releases.get(str(version), ())

    def offers_sdist(self, name: str) -> bool:
        """Whether the project still publishes sdists: its newest final release up to the cut-off has one."""
        for version in reversed(self.versions(name)):
            files = [f for f in self.release(name, version) if f.uploaded is None or f.uploaded <= self.cutoff_of(name)]
            if files and not version.is_prerelease:
                return any(not file.is_wheel for file in files)
        return any(not file.is_wheel for version in self.versions(name) for file in self.release(name, version))

    def file(self, name: str, version: str, filename: str) -> IndexFile | None:
        """The file of that name as the project's page lists it, None when it is not there.

        uv puts the names in file names into normal form, and old files have others: ``PySocks-1.7.1-py3-none-any.whl``.
        """
        files = self.release(name, Version(version))
        exact = (f for f in files if f.filename == filename)
        alike = (f for f in files if normal_filename(f.filename) == normal_filename(filename))
        return next(exact, None) or next(alike, None)


def at_index(key: str) -> str:
    """Which index was looked at, as the end of a sentence: empty unless ``[sources]`` names one."""
    index = split_key(key)[1]
    if is_git(index):
        return " (built from git)"
    return f" (index {index})" if index else ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file may not enter a cell: the proof that it fails, and the reason as the end of a sentence."""

    proof: Proof
    reason: str


def refusal(file: IndexFile, target: Target, facts: Facts, *, sdist_allowed: bool, name: str = "") -> Refusal | None:
    """Why the target may not install ``file``, None when it may. Proofs 1 to 3 as far as the index tells."""
    if file.is_wheel:
        if wheel_rank(file.filename, target) is None:
            return Refusal(Proof.TAGS, f"is no wheel for {target.label}")
    elif not sdist_allowed:
        return Refusal(Proof.TAGS, "is a sdist that [sdists] does not name")
    if file.requires_python:
        try:
            if not admits_python(file.requires_python, target):
                return Refusal(Proof.CLOSURE, f"requires Python {file.requires_python}")
        except InvalidSpecifier:
            return Refusal(Proof.CLOSURE, f"has an invalid Requires-Python {file.requires_python!r}")
    return index_refusal(file, facts, name)


def index_refusal(file: IndexFile, facts: Facts, name: str = "") -> Refusal | None:
    """The part of ``refusal`` that the target has no say in: proof 3, and a hash to pin."""
    if not file.sha256:
        return Refusal(Proof.INDEX, "has no sha256 on the index, so it cannot be pinned")
    if file.yanked is not None:
        reason = f": {file.yanked}" if file.yanked else ""
        return Refusal(Proof.INDEX, f"was yanked{reason}")
    if file.uploaded is None:
        index = split_key(name)[1]
        if file.sha256 not in facts.known_hashes and index not in facts.dateless:
            unless = " unless [indexes] declares it dateless" if index else ""
            reason = f"has no upload time on the index, so it cannot be held to the cut-off{unless}"
            return Refusal(Proof.INDEX, reason)
    elif file.uploaded > facts.cutoff_of(name) or facts.too_young(name, file):
        return Refusal(Proof.INDEX, f"was uploaded at {file.uploaded:%Y-%m-%d %H:%M} UTC, after the cut-off")
    return None


def best_file(
    name: str,
    version: Version,
    target: Target,
    facts: Facts,
    *,
    sdist_allowed: bool,
    only: Callable[[IndexFile], bool] | None = None,
) -> IndexFile | None:
    """The file of one release that an installer on the target would take, None when it can take none.

    ``only`` tells which files it may take, such as those that a lockfile pins; None stands for all.
    """
    if only is not None:
        return _best(name, filter(only, facts.release(name, version)), target, facts, sdist_allowed=sdist_allowed)
    key = (name, version, target, sdist_allowed)
    if key not in facts._best:
        facts._best[key] = _best(name, facts.release(name, version), target, facts, sdist_allowed=sdist_allowed)
    return facts._best[key]


def _best(
    name: str, files: Iterable[IndexFile], target: Target, facts: Facts, *, sdist_allowed: bool
) -> IndexFile | None:
    ranked = []
    for file in files:
        rank = wheel_rank(file.filename, target) if file.is_wheel else _AFTER_WHEELS
        if rank is not None:
            ranked.append((rank, _build_order(file), file.filename, file))
    ranked.sort(key=lambda entry: entry[:3])
    fitting = (
        entry[3] for entry in ranked if not refusal(entry[3], target, facts, sdist_allowed=sdist_allowed, name=name)
    )
    return next(fitting, None)


def _build_order(file: IndexFile) -> tuple[int, str]:
    """Higher build tags first (PEP 427)."""
    if file.filename.count("-") < 5 or not file.is_wheel:
        return (0, "")
    build = parse_wheel_filename(file.filename)[2]
    return (-build[0], build[1]) if build else (0, "")


def matching_versions(name: str, specifiers: frozenset[str], facts: Facts) -> list[Version]:
    """The released versions that all specifiers admit, oldest first; pre-releases only when one names them."""
    key = (name, specifiers)
    if key not in facts._matching:
        together = SpecifierSet(",".join(s for s in specifiers if s))
        prereleases = bool(together.prereleases)
        facts._matching[key] = [v for v in facts.versions(name) if together.contains(v, prereleases=prereleases)]
    return facts._matching[key]


def installable(
    name: str, versions: list[Version], target: Target, facts: Facts, *, sdist_allowed: bool, enough: int
) -> list[Version]:
    """The newest of ``versions`` of which the target can install a file, at most ``enough`` of them."""
    found: list[Version] = []
    if facts.pages[name].quarantined:
        return found
    for version in reversed(versions):
        if best_file(name, version, target, facts, sdist_allowed=sdist_allowed):
            found.append(version)
            if len(found) == enough:
                break
    return found


def absent_sources(environments: Iterable[Environment], facts: Facts) -> tuple[tuple[str, tuple[Target, ...]], ...]:
    """The packages with a source, each with the targets for which that index has no file. Their pages must be known."""
    found: dict[str, dict[Target, None]] = {}
    for environment in environments:
        for target in environment.targets:
            for source in environment.sources:
                if source.platform == target.platform.name:
                    key, allowed = environment.project(source.name, target), source.name in environment.sdists
                    if not installable(key, facts.versions(key), target, facts, sdist_allowed=allowed, enough=1):
                        found.setdefault(source.name, {})[target] = None
    return tuple((name, tuple(found[name])) for name in sorted(found))


def serving_versions(name: str, target: Target, facts: Facts, *, sdist_allowed: bool) -> tuple[str, ...]:
    """Final releases that the target could install, whatever is required of them: the newest three."""
    final = [v for v in facts.versions(name) if not v.is_prerelease]
    return tuple(str(v) for v in installable(name, final, target, facts, sdist_allowed=sdist_allowed, enough=3))
