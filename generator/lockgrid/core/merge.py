"""Environment files with their bases merged in, each checked by itself and against ``targets.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.git import git_faults
from lockgrid.core.schema import EnvironmentFile, GitEntry
from lockgrid.core.table import nearest
from lockgrid.core.targets import FORBIDDEN_MARKERS
from lockgrid.errors import Problem
from lockgrid.model.finding import KINDS
from lockgrid.model.index import GIT_INDEX, is_git
from lockgrid.model.spec import Acceptance, Declared, Environment, GitSource, Hold, Override, Smoke, Source
from lockgrid.model.target import Platform, Target

TARGETS = "envs/targets.toml"
#: PEP 685: what an extra may be called before it is normalised.
EXTRA = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


#: What uv takes as the name of an index.
INDEX = re.compile(r"[A-Za-z0-9._-]+")


class Merger:
    """Merges environment files with their bases, collecting problems as it goes.

    ``platforms`` is None when ``targets.toml`` itself is broken: then what refers to it is not judged. ``dateless``
    are indexes of which it says so.
    """

    def __init__(
        self,
        parsed: Mapping[str, EnvironmentFile],
        broken: set[str],
        platforms: tuple[Platform, ...] | None,
        pythons: tuple[str, ...],
        dateless: frozenset[str] = frozenset(),
    ) -> None:
        self.parsed = parsed
        self.broken = broken
        self.platforms = platforms
        self.pythons = pythons
        self.dateless = dateless
        self.problems: list[Problem] = []

    def environments(self) -> tuple[Environment, ...]:
        """Every environment that is not abstract, merged, sorted by name."""
        for name, entry in self.parsed.items():
            self._check_own(name, entry)
        merged = []
        for name in sorted(self.parsed):
            lineage = self._lineage(name, ())
            if lineage is not None and not self.parsed[name].abstract:
                merged.append(self._merge(name, lineage))
        return tuple(merged)

    def _lineage(self, name: str, path: tuple[str, ...]) -> list[str] | None:
        """Bases first, then ``name``, each once; None when a base is unknown, broken or a cycle."""
        if name in path:
            cycle = path[path.index(name) :]
            start = cycle.index(min(cycle))  # the same cycle is met from each of its members
            cycle = (*cycle[start:], *cycle[:start])
            what = f"a cycle: {' -> '.join([*cycle, cycle[0]])}"
            self.problems.append(Problem(file=f"envs/{cycle[0]}.toml", key="extends", what=what, hint="break it"))
            return None
        order: list[str] = []
        failed = False
        for index, base in enumerate(self.parsed[name].extends):
            if base not in self.parsed:
                failed = True
                continue  # _check_own has said so, or the base's own problems have
            if not self.parsed[base].abstract and base != name and base not in path:
                self.problems.append(
                    Problem(
                        file=f"envs/{name}.toml",
                        key=f"extends[{index}]",
                        what=f"{base!r} is not a base",
                        hint=f"set abstract = true in envs/{base}.toml, or do not extend it",
                    )
                )
            lineage = self._lineage(base, (*path, name))
            if lineage is None:
                failed = True
            else:
                order += [item for item in lineage if item not in order]
        return None if failed else [*order, name]

    def _check_own(self, name: str, entry: EnvironmentFile) -> None:
        file = f"envs/{name}.toml"
        for index, base in enumerate(entry.extends):
            if base not in self.parsed and base not in self.broken:
                abstract = [n for n, e in self.parsed.items() if e.abstract]
                self._say(file, f"extends[{index}]", f"unknown base {base!r}", nearest(base, abstract))
        for index, text in enumerate(entry.requires):
            self._check_requirement(file, f"requires[{index}]", text)
        self._check_known(file, "pythons", entry.pythons, self.pythons)
        self._check_known(file, "platforms", entry.platforms, [p.name for p in self.platforms or ()])
        for package, reason in entry.sdists.items():
            self._check_package(file, f"sdists.{package}", package)
            self._check_reason(file, f"sdists.{package}", reason)
        for table, entries in (("overrides", entry.overrides), ("hold", entry.hold)):
            for package, exception in entries.items():
                self._check_package(file, f"{table}.{package}", package)
                self._check_reason(file, f"{table}.{package}.why", exception.why)
                self._check_specifier(file, f"{table}.{package}.version", exception.version)
        self._check_sources(file, entry.sources)
        self._check_git(file, entry.git)
        for finding, reason in entry.accept.items():
            self._check_finding(file, f"accept.{finding}", finding)
            self._check_reason(file, f"accept.{finding}", reason)
        for index, command in enumerate(entry.smoke.commands):
            if not command:
                self._say(file, f"smoke.commands[{index}]", "the command is empty")
        for index, module in enumerate(entry.smoke.imports):
            if not all(part.isidentifier() for part in module.split(".")):
                self._say(file, f"smoke.imports[{index}]", f"{module!r} is no module name")

    def _say(self, file: str, key: str, what: str, hint: str = "") -> None:
        self.problems.append(Problem(file=file, key=key, what=what, hint=hint))

    def _check_package(self, file: str, key: str, name: str) -> None:
        if not EXTRA.fullmatch(name):
            self._say(file, key, f"{name!r} is no name of a package", "use letters, digits, - _ .")

    def _check_sources(self, file: str, sources: Mapping[str, str]) -> None:
        seen: dict[tuple[NormalizedName, str], str] = {}
        for key, index in sources.items():
            package, at, platform = key.partition("@")
            self._check_package(file, f"sources.{key}", package)
            known = [p.name for p in self.platforms or ()]
            if at and self.platforms is not None and platform not in known:
                self._say(file, f"sources.{key}", f"{platform!r} is not in {TARGETS}", nearest(platform, known))
            if not INDEX.fullmatch(index):
                self._say(file, f"sources.{key}", f"{index!r} is no name of an index", "use letters, digits, - _ .")
            elif is_git(index):
                self._say(file, f"sources.{key}", f"{GIT_INDEX!r} begins no name of an index", "see [git]")
            other = seen.setdefault((canonicalize_name(package), platform), key)
            if other != key:
                self._say(file, f"sources.{key}", f"{other!r} is the same package", "leave one of them out")

    def _check_git(self, file: str, entries: Mapping[str, GitEntry]) -> None:
        seen: dict[NormalizedName, str] = {}
        for package, entry in entries.items():
            self._check_package(file, f"git.{package}", package)
            # A key that is missing, or of the wrong type, is told already.
            for key, what, hint in git_faults(entry.url, entry.rev, entry.subdirectory) if entry.url else []:
                self._say(file, f"git.{package}.{key}", what, hint)
            other = seen.setdefault(canonicalize_name(package), package)
            if other != package:
                self._say(file, f"git.{package}", f"{other!r} is the same package", "leave one of them out")

    def _check_finding(self, file: str, key: str, name: str) -> None:
        kind, _, rest = name.partition(":")
        if kind not in KINDS:
            self._say(file, key, f"{name!r} is no name of a finding", nearest(kind, KINDS))
        elif not rest:
            self._say(file, key, f"{name!r} does not say which one", "`lockgrid show` prints the names of findings")

    def _check_reason(self, file: str, key: str, reason: str) -> None:
        if not reason.strip():
            self._say(file, key, "an exception needs a reason", "say why in a few words")

    def _check_specifier(self, file: str, key: str, text: str) -> None:
        try:
            specifier = SpecifierSet(text)
        except InvalidSpecifier:
            self._say(file, key, f"invalid specifier {text!r}", 'write "==1.2" or ">=1,<2"')
        else:
            if not len(specifier):
                self._say(file, key, "the specifier is empty", 'write "==1.2" or ">=1,<2"')

    def _check_requirement(self, file: str, key: str, text: str) -> None:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            self._say(file, key, f"invalid requirement {text!r}: {str(error).splitlines()[0]}")
            return
        if requirement.url:
            self._say(file, key, f"{text!r} names a URL", "name a version; lockfiles hold no URLs")
        marker = str(requirement.marker or "")
        for variable in FORBIDDEN_MARKERS:
            if variable in marker:
                self._say(file, key, f"the marker uses {variable}, which no target fixes", "use another marker")
        if "extra" in marker.replace("'", " ").replace('"', " ").split():
            self._say(file, key, "a marker on extra means nothing here", "give each environment its own file")

    def _check_known(self, file: str, key: str, given: list[str] | None, known: list[str] | tuple[str, ...]) -> None:
        if given is None or self.platforms is None:
            return
        if not given:
            self._say(file, key, "the list is empty", "leave the key out for all of them")
        for index, value in enumerate(given):
            if value not in known:
                self._say(file, f"{key}[{index}]", f"{value!r} is not in {TARGETS}", nearest(value, known))

    def _merge(self, name: str, lineage: list[str]) -> Environment:
        entries = [(f"envs/{item}.toml", self.parsed[item]) for item in lineage]
        requires = []
        sdists: set[NormalizedName] = set()
        overrides: dict[NormalizedName, Override] = {}
        holds: dict[NormalizedName, Hold] = {}
        accepts: dict[str, Acceptance] = {}
        sources: dict[tuple[NormalizedName, str], Source] = {}
        git: dict[NormalizedName, GitSource] = {}
        imports: list[str] = []
        commands: list[tuple[str, ...]] = []
        pythons: list[str] | None = None
        platforms: list[str] | None = None
        apart = False
        for file, entry in entries:
            for index, text in enumerate(entry.requires):
                try:
                    requires.append(Declared(requirement=Requirement(text), file=file, key=f"requires[{index}]"))
                except InvalidRequirement:
                    continue  # already a problem
            sdists.update(canonicalize_name(package) for package in entry.sdists)
            for package, override in entry.overrides.items():
                normal = canonicalize_name(package)
                overrides[normal] = Override(name=normal, specifier=override.version, file=file)
            for package, hold in entry.hold.items():
                normal = canonicalize_name(package)
                holds[normal] = Hold(name=normal, specifier=hold.version, why=hold.why, file=file)
            accepts |= {name: Acceptance(name=name, why=why, file=file) for name, why in entry.accept.items()}
            sources |= self._sources(file, entry.sources)
            git |= _git(file, entry.git)
            imports += [module for module in entry.smoke.imports if module not in imports]
            commands += [tuple(command) for command in entry.smoke.commands if tuple(command) not in commands]
            pythons = entry.pythons if entry.pythons is not None else pythons
            platforms = entry.platforms if entry.platforms is not None else platforms
            apart = entry.apart if entry.apart is not None else apart
        if not requires and name not in self.broken:
            self._say(f"envs/{name}.toml", "requires", "the environment requires nothing", "list a requirement")
        targets = [
            Target(platform=platform, python=python)
            for platform in self.platforms or ()
            for python in self.pythons
            if (platforms is None or platform.name in platforms) and (pythons is None or python in pythons)
        ]
        where = {target.platform.name for target in targets}
        for package in sorted(git.keys() & {package for package, _ in sources}):
            what = "is in [git] and, here or in a base, in [sources] as well"
            self._say(git[package].file, f"git.{package}", what, "a package comes from one of them")
        sources |= self._git_sources(git.values())
        return Environment(
            name=name,
            extra=canonicalize_name(name),
            summary=self.parsed[name].summary,
            file=f"envs/{name}.toml",
            requires=tuple(requires),
            targets=tuple(targets),
            apart=apart,
            sdists=tuple(sorted(sdists)),
            overrides=tuple(overrides[key] for key in sorted(overrides)),
            holds=tuple(holds[key] for key in sorted(holds)),
            accepts=tuple(accepts[key] for key in sorted(accepts)),
            smoke=Smoke(imports=tuple(imports), commands=tuple(commands)),
            sources=tuple(sources[key] for key in sorted(sources) if key[1] in where),
            idle=tuple(sources[key] for key in sorted(sources) if key[1] not in where and "@" in sources[key].key),
            git=tuple(git[key] for key in sorted(git)),
        )

    def _git_sources(self, git: Iterable[GitSource]) -> dict[tuple[NormalizedName, str], Source]:
        """A git source is the only source of its package, on every platform; its wheels have no upload time."""
        return {
            (one.name, platform.name): Source(
                name=one.name, platform=platform.name, index=one.index, file=one.file, key=one.key, dateless=True
            )
            for one in git
            for platform in self.platforms or ()
        }

    def _sources(self, file: str, sources: Mapping[str, str]) -> dict[tuple[NormalizedName, str], Source]:
        """What one file says, for each platform: ``package@platform`` beats ``package``."""
        found = {}
        for key in sorted(sources, key=lambda key: "@" in key):
            package, at, only = key.partition("@")
            name = canonicalize_name(package)
            for platform in [only] if at else [p.name for p in self.platforms or ()]:
                found[name, platform] = Source(
                    name=name,
                    platform=platform,
                    index=sources[key],
                    file=file,
                    key=f"sources.{key}",
                    dateless=sources[key] in self.dateless,
                )
        return found


def _git(file: str, entries: Mapping[str, GitEntry]) -> dict[NormalizedName, GitSource]:
    """What one file says of git sources."""
    found = {}
    for package, entry in entries.items():
        name = canonicalize_name(package)
        below = PurePosixPath(entry.subdirectory).as_posix()
        found[name] = GitSource(
            name=name, url=entry.url, rev=entry.rev, file=file, subdirectory="" if below == "." else below
        )
    return found
