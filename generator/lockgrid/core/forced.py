"""Cells that no resolution can save, found before one is tried, with every reason at once.

A requirement that a cell cannot avoid is *forced*: what the environment declares, and what the only
release that meets a forced requirement asks for in turn. A forced requirement of which the target can
install no file settles the cell; nothing here guesses, chooses or backtracks, so a cell is never lost to
it that uv could have solved. Cells that pass may still prove unsolvable: uv decides that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.version import Version

from lockgrid.core.candidates import (
    Facts,
    at_index,
    best_file,
    installable,
    matching_versions,
    serving_versions,
    wheel_rank,
)
from lockgrid.core.describe import NOT_BUILT, why_not
from lockgrid.core.requirement import Demand, demand, parse_demand, tidy
from lockgrid.core.targets import marker_applies
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.index import IndexFile, is_git, split_key
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target, python_key


class Scan:
    """The scan of every cell of one environment, continued with ``advance`` as facts come in.

    After each step ``pages`` (names) and ``files`` (by sha256, for METADATA) are what is still needed; when
    both are empty, ``blockers`` is the result.

    ``stand_in`` lets one platform stand for the others, and the METADATA of any wheel of a release for that
    of the rest: a guess, quickly had.
    ``eager`` also follows the newest release where there is a choice: it names what a resolution is likely
    to need. Neither may decide anything.
    """

    def __init__(self, environment: Environment, *, stand_in: bool = False, eager: bool = False) -> None:
        self.stand_in = stand_in
        self.eager = eager
        self.pages: set[str] = set()
        self.files: dict[str, IndexFile] = {}
        targets = environment.targets
        if stand_in:
            targets = tuple(t for t in targets if t.platform == targets[0].platform)
        self._cells = [_CellScan(environment, target, self) for target in targets]

    def advance(self, facts: Facts) -> bool:
        """Go as far as the facts lead; True when nothing more is needed."""
        self.pages.clear()
        self.files.clear()
        for cell in self._cells:
            cell.advance(facts)
        return not self.pages and not self.files

    def blockers(self, facts: Facts) -> dict[Target, tuple[Blocker, ...]]:
        """Per target that has any, every blocker sorted by package."""
        found = {cell.target: cell.blockers(facts) for cell in self._cells}
        return {target: blockers for target, blockers in found.items() if blockers}


@dataclass(slots=True)
class _Forced:
    """A package that the cell cannot avoid: every specifier on it, the extras asked for, and by whom."""

    specifiers: set[str] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)
    required_by: dict[str, set[str]] = field(default_factory=dict)  # who, and with which specifiers


class _CellScan:
    """The scan of one cell: grows the forced packages until nothing new is forced."""

    def __init__(self, environment: Environment, target: Target, scan: Scan) -> None:
        self.environment = environment
        self.target = target
        self.scan = scan
        self.forced: dict[str, _Forced] = {}
        self._open: dict[str, None] = {}  # packages to look at again
        self._done: set[tuple[str, Version, frozenset[str]]] = set()
        for declared in environment.requires:
            self._demand(demand(declared.requirement), frozenset(), declared.file)

    def advance(self, facts: Facts) -> None:
        """Follow what is forced as far as the facts lead."""
        waiting: dict[str, None] = {}
        while self._open:
            name = next(iter(self._open))
            del self._open[name]
            if not self._follow(name, facts):
                waiting[name] = None
        self._open = waiting

    def blockers(self, facts: Facts) -> tuple[Blocker, ...]:
        """What keeps the cell from being, sorted by package."""
        found = (self._blocker(name, facts) for name in sorted(self.forced) if self._project(name) in facts.pages)
        return tuple(blocker for blocker in found if blocker)

    def _demand(self, demanded: Demand, extras: frozenset[str], by: str) -> None:
        if demanded.url:
            return  # the closure proof refuses it by name
        if demanded.marker and not marker_applies(demanded.marker, self.target, extras):
            return
        entry = self.forced.setdefault(demanded.name, _Forced())
        override = self.environment.override(demanded.name)
        specifier = override.specifier if override else demanded.specifier
        entry.specifiers.add(specifier)
        entry.extras |= demanded.extras
        entry.required_by.setdefault(by, set()).add(specifier)
        self._open[demanded.name] = None

    def _sdist_allowed(self, name: str) -> bool:
        return name in self.environment.sdists

    def _project(self, name: str) -> str:
        return self.environment.project(name, self.target)

    def _versions(self, name: str, facts: Facts) -> list[Version]:
        return matching_versions(self._project(name), frozenset(self.forced[name].specifiers), facts)

    def _follow(self, name: str, facts: Facts) -> bool:
        """Demand what the package requires if it can have one version only; False while a fact is missing."""
        project = self._project(name)
        page = facts.pages.get(project)
        if page is None:
            self.scan.pages.add(project)
            return False
        if page.missing:
            return True
        versions = self._versions(name, facts)
        allowed = self._sdist_allowed(name)
        usable = installable(project, versions, self.target, facts, sdist_allowed=allowed, enough=2)
        choice = usable or versions  # an uninstallable release still tells what else it would have needed
        if self.scan.eager:
            choice = choice[:1]
        if len(choice) != 1:
            return True
        version, extras = choice[0], frozenset(self.forced[name].extras)
        if (name, version, extras) in self._done:
            return True
        file = best_file(project, version, self.target, facts, sdist_allowed=allowed)
        file = file or self._closest(facts.release(project, version))
        if file is not None and self.scan.stand_in:
            release = facts.release(project, version)
            known = (f for f in release if f.sha256 in facts.metadata)
            file = next(known, next((f for f in release if f.is_wheel), None))
        if file is None or not file.is_wheel:
            return True
        if file.sha256 not in facts.metadata:
            self.scan.files[file.sha256] = file
            return False
        self._done.add((name, version, extras))
        label = f"{name}[{','.join(sorted(extras))}]=={version}" if extras else f"{name}=={version}"
        for line in facts.metadata[file.sha256].requires_dist:
            if demanded := parse_demand(line):
                self._demand(demanded, extras, label)
        return True

    def _closest(self, files: tuple[IndexFile, ...]) -> IndexFile | None:
        """A wheel of the release for the same platform and the nearest Python: only to list further blockers."""
        wanted = python_key(self.target.python)[1]
        for distance in range(1, 12):
            for minor in (wanted - distance, wanted + distance):
                near = Target(platform=self.target.platform, python=f"3.{max(minor, 0)}")
                for file in files:
                    if file.is_wheel and wheel_rank(file.filename, near) is not None:
                        return file
        return None

    def _blocker(self, name: str, facts: Facts) -> Blocker | None:
        entry = self.forced[name]
        by = tuple(sorted(entry.required_by))
        package = f"{name}{tidy(entry.specifiers)}"
        project = self._project(name)
        where = at_index(project)
        if facts.pages[project].missing:
            exists, missing = f"is not on the index{where}", "a project of that name"
            return Blocker(proof=Proof.RESOLUTION, package=package, required_by=by, exists=exists, missing=missing)
        allowed = self._sdist_allowed(name)
        versions = self._versions(name, facts)
        if installable(project, versions, self.target, facts, sdist_allowed=allowed, enough=1):
            return None
        bounds = set(tidy(entry.specifiers).split(","))
        wishes = [
            f"{who} wants {tidy(found)}"
            for who, found in sorted(entry.required_by.items())
            if bounds & set(",".join(found).split(","))
        ]
        exists = f"matches no release: {', '.join(wishes)}" if len(wishes) > 1 else "matches no release"
        proof, missing = Proof.RESOLUTION, "a release that all of them admit"
        if is_git(split_key(project)[1]) and not facts.versions(project):
            proof, exists, missing = Proof.TAGS, "is not built: it has no wheel at all", NOT_BUILT
        elif versions or facts.pages[project].quarantined:
            proof, exists, missing = why_not(project, versions, self.target, facts, sdist_allowed=allowed)
        serves = serving_versions(project, self.target, facts, sdist_allowed=allowed)
        exists += where
        return Blocker(proof=proof, package=package, required_by=by, exists=exists, missing=missing, serves=serves)
