"""``envs/`` as text in, ``Spec`` out: merges bases, normalises names, and reports every fault in one go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.schema import EnvironmentFile, TargetsFile, nearest, parse_environment, parse_targets
from lockgrid.core.targets import FORBIDDEN_MARKERS
from lockgrid.errors import InputError, Problem
from lockgrid.model.spec import Declared, Environment, Hold, Override, Smoke, Spec
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target, python_key

TARGETS = "envs/targets.toml"
# PEP 685: what an extra may be called before it is normalised.
_EXTRA = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_TAKEN = {"build": "locks/build.txt, the lock of build requirements"}
_PYTHON = re.compile(r"3\.(?:[0-9]|[1-9][0-9])")
_FLOOR = re.compile(r"([0-9]+)\.([0-9]+)")
_COOLDOWN = re.compile(r"[0-9]+ (?:day|week|hour)s?")


def parse_spec(files: Mapping[str, str]) -> Spec:
    """Validate the texts of ``envs/`` (``envs/tosa.toml`` -> text) and merge them.

    Raises ``InputError`` with every problem of every file: broken TOML, unknown keys, platforms, Pythons
    and bases, cycles, names that are no extras or that normalise alike, invalid requirements, exceptions
    without a reason.
    """
    problems: list[Problem] = []
    shapeless: list[Problem] = []
    targets_file: TargetsFile | None = None
    if TARGETS in files:
        targets_file, found = parse_targets(TARGETS, files[TARGETS])
        shapeless += found
    else:
        problems.append(Problem(file=TARGETS, what="this file is missing", hint="it lists platforms and Pythons"))
    parsed: dict[str, EnvironmentFile] = {}
    broken: set[str] = set()
    for file in sorted(files):
        if file == TARGETS:
            continue
        name = PurePosixPath(file).stem
        environment_file, found = parse_environment(file, files[file])
        shapeless += found
        if environment_file is None or found:
            broken.add(name)
        if environment_file is not None:
            parsed[name] = environment_file
    problems += _name_problems({*parsed, *broken})
    if not broken and all(entry.abstract for entry in parsed.values()):
        what = "there is no environment, only bases" if parsed else "there is no environment"
        problems.append(Problem(file="envs", what=what, hint="add envs/<name>.toml"))
    platforms: tuple[Platform, ...] = ()
    if targets_file is not None:
        platforms, found = _platforms(targets_file)
        problems += found
    pythons = tuple(sorted(targets_file.pythons, key=_python_sort)) if targets_file else ()
    judged = targets_file is not None and not any(p.file == TARGETS for p in shapeless)
    merger = _Merger(parsed, broken, platforms if judged else None, pythons)
    environments = merger.environments()
    problems += merger.problems
    if problems or shapeless:
        # A value of the wrong shape is told once: what follows from its absence is not.
        wrong = [(p.file, p.key) for p in shapeless]
        kept = [p for p in problems if not any(p.file == f and k.startswith(p.key or " ") for f, k in wrong)]
        raise InputError([*shapeless, *kept])
    cooldown = targets_file.cooldown if targets_file else None
    return Spec(platforms=platforms, pythons=pythons, environments=environments, cooldown=cooldown)


def _python_sort(python: str) -> tuple[int, int]:
    return python_key(python) if _PYTHON.fullmatch(python) else (0, 0)


def _name_problems(names: set[str]) -> list[Problem]:
    problems = []
    seen: dict[NormalizedName, str] = {}
    for name in sorted(names):
        file = f"envs/{name}.toml"
        if canonicalize_name(name) in _TAKEN:
            what = f"{name!r} is the name of {_TAKEN[canonicalize_name(name)]}"
            problems.append(Problem(file=file, what=what, hint="choose another"))
        if not _EXTRA.fullmatch(name):
            problems.append(
                Problem(file=file, what=f"{name!r} is no valid name of an extra", hint="use letters, digits, - _ .")
            )
            continue
        other = seen.setdefault(canonicalize_name(name), name)
        if other != name:
            problems.append(
                Problem(file=file, what=f"{name!r} and {other!r} are the same name once normalised", hint="rename one")
            )
    return problems


def _platforms(targets: TargetsFile) -> tuple[tuple[Platform, ...], list[Problem]]:
    problems = []
    platforms = []
    for name, entry in targets.platforms.items():
        key = f"platforms.{name}"
        kind = PLATFORM_KINDS.get(name)
        if kind is None:
            problems.append(Problem(file=TARGETS, key=key, what="unknown platform", hint=nearest(name, PLATFORM_KINDS)))
            continue
        floors = {k: v for k, v in (("glibc", entry.glibc), ("macos", entry.macos)) if v is not None}
        for wrong in sorted(set(floors) - {kind.floor_key}):
            problems.append(Problem(file=TARGETS, key=f"{key}.{wrong}", what="this platform has no such floor"))
        floor = None
        if kind.floor_key:
            text = floors.get(kind.floor_key)
            match = _FLOOR.fullmatch(text or "")
            if match is None:
                example = {"glibc": "2.28", "macos": "15.0"}[kind.floor_key]
                what = "this key is missing" if text is None else f"{text!r} is no version such as {example}"
                hint = "the oldest version that must do"
                problems.append(Problem(file=TARGETS, key=f"{key}.{kind.floor_key}", what=what, hint=hint))
                continue
            floor = int(match[1]), int(match[2])
        platforms.append(Platform(name=name, floor=floor))
    for index, python in enumerate(targets.pythons):
        if not _PYTHON.fullmatch(python):
            what = f"{python!r} is no Python minor version"
            problems.append(Problem(file=TARGETS, key=f"pythons[{index}]", what=what, hint='write "3.12"'))
        elif python in targets.pythons[:index]:
            problems.append(Problem(file=TARGETS, key=f"pythons[{index}]", what=f"{python} is listed twice"))
    if not targets.pythons:
        problems.append(Problem(file=TARGETS, key="pythons", what="no Python is listed"))
    if not targets.platforms:
        problems.append(Problem(file=TARGETS, key="platforms", what="no platform is listed"))
    if targets.cooldown is not None and not _COOLDOWN.fullmatch(targets.cooldown):
        what = f"{targets.cooldown!r} is no length of time"
        problems.append(Problem(file=TARGETS, key="cooldown", what=what, hint='write "7 days"'))
    if targets.indexes:
        problems.append(_later(TARGETS, "indexes"))
    return tuple(sorted(platforms, key=lambda p: p.name)), problems


def _later(file: str, key: str) -> Problem:
    """A key of the design that this version does not act on: refused, because ignoring it would be a lie."""
    return Problem(file=file, key=key, what="not supported by this version of lockgrid", hint="remove it")


class _Merger:
    """Merges environment files with their bases, collecting problems as it goes.

    ``platforms`` is None when ``targets.toml`` itself is broken: then what refers to it is not judged.
    """

    def __init__(
        self,
        parsed: Mapping[str, EnvironmentFile],
        broken: set[str],
        platforms: tuple[Platform, ...] | None,
        pythons: tuple[str, ...],
    ) -> None:
        self.parsed = parsed
        self.broken = broken
        self.platforms = platforms
        self.pythons = pythons
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
        for key in ("sources", "accept"):
            if getattr(entry, key):
                self.problems.append(_later(file, key))
        for index, command in enumerate(entry.smoke.commands):
            if not command:
                self._say(file, f"smoke.commands[{index}]", "the command is empty")
        for index, module in enumerate(entry.smoke.imports):
            if not all(part.isidentifier() for part in module.split(".")):
                self._say(file, f"smoke.imports[{index}]", f"{module!r} is no module name")

    def _say(self, file: str, key: str, what: str, hint: str = "") -> None:
        self.problems.append(Problem(file=file, key=key, what=what, hint=hint))

    def _check_package(self, file: str, key: str, name: str) -> None:
        if not _EXTRA.fullmatch(name):
            self._say(file, key, f"{name!r} is no name of a package", "use letters, digits, - _ .")

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
                overrides[normal] = Override(name=normal, specifier=override.version)
            for package, hold in entry.hold.items():
                normal = canonicalize_name(package)
                holds[normal] = Hold(name=normal, specifier=hold.version, why=hold.why)
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
            smoke=Smoke(imports=tuple(imports), commands=tuple(commands)),
        )
