"""What a ``pyproject.toml`` says of dependencies: [project], [dependency-groups] (PEP 735) and uv's own bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.dependency_groups import DependencyGroupInclude, DependencyGroupResolver
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.init.carry import Local, carry, is_reference
from lockgrid.core.init.values import Collected, Note, Place, Wanted
from lockgrid.core.table import nearest, toml_fault
from lockgrid.core.targets import forbidden_marker

_UNREAD = {
    "poetry": ("dependencies", "dev-dependencies", "group", "extras"),
    "pdm": ("dev-dependencies", "source"),
    "flit": ("metadata",),
    "pixi": ("dependencies", "pypi-dependencies", "feature"),
}
_UV_HINTS = {
    "workspace": "name the pyproject.toml of each member",
    "index-url": "lockgrid asks the index that uv is configured with: keep it in uv.toml or UV_DEFAULT_INDEX",
    "extra-index-url": "name it under [indexes] in envs/targets.toml, and its packages under [sources]",
    "find-links": "put the files on an index that uv is configured with",
    "prerelease": "a pre-release enters a lock only where a requirement names one",
    "no-binary-package": "lockgrid takes sdists only of packages that [sdists] names",
    "environments": "the grid's platforms and Pythons are in envs/targets.toml",
    "required-environments": "the grid's platforms and Pythons are in envs/targets.toml",
}


@dataclass(slots=True, kw_only=True)
class ProjectFile:
    """A ``pyproject.toml``. Requirements on the project itself are put in the place of what they stand for.

    ``has_project`` tells whether there is a ``[project]`` table. ``kept`` names the extras that
    ``lockgrid lock`` keeps: they come from ``envs/``. ``constraints``, ``overrides``, ``indexes`` (name to URL) and
    ``sources`` (package to the index, the marker and the place of each entry) are uv's.
    """

    file: str
    name: str = ""
    has_project: bool = False
    requires_python: str = ""
    classifiers: list[str] = field(default_factory=list)
    dependencies: list[Wanted] = field(default_factory=list)
    extras: dict[str, list[Wanted]] = field(default_factory=dict)
    groups: dict[str, list[Wanted]] = field(default_factory=dict)
    constraints: list[Wanted] = field(default_factory=list)
    overrides: list[Wanted] = field(default_factory=list)
    kept: tuple[str, ...] = ()
    indexes: dict[str, str] = field(default_factory=dict)
    sources: dict[NormalizedName, list[tuple[str, str, Place]]] = field(default_factory=dict)

    def of_extra(self, name: str) -> list[Wanted] | None:
        """The requirements of an extra, by whatever spelling; None where there is none."""
        found = (wanted for own, wanted in self.extras.items() if canonicalize_name(own) == canonicalize_name(name))
        return next(found, None)


def read_project(file: str, text: str, out: Collected) -> ProjectFile:
    """The dependencies that a ``pyproject.toml`` declares; faults and what is not read go to ``out``."""
    project = ProjectFile(file=file)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        out.problems.append(Place(file).problem(toml_fault(text, error), "mend it and run again"))
        return project
    reader = _Reader(file, out)
    table = reader.table(data, "project")
    project.has_project = "project" in data
    project.name = reader.string(table, "name", "project.name")
    project.requires_python = reader.string(table, "requires-python", "project.requires-python")
    project.classifiers = reader.strings(table, "classifiers", "project.classifiers")
    declared = reader.requirements(table, "dependencies", "project.dependencies")
    optional = reader.table(table, "optional-dependencies", "project.optional-dependencies")
    extras = {name: reader.requirements(optional, name, f"project.optional-dependencies.{name}") for name in optional}
    groups = reader.groups(data)
    uv = reader.table(reader.table(data, "tool"), "uv", "tool.uv")
    project.constraints = reader.plain(uv, "constraint-dependencies")
    project.overrides = reader.plain(uv, "override-dependencies")
    if "dev-dependencies" in uv:
        groups.setdefault("dev", []).extend(reader.requirements(uv, "dev-dependencies", "tool.uv.dev-dependencies"))
    own = _Itself(project.name, declared, extras, out)
    project.dependencies = own.spread(declared)
    project.extras = {name: own.spread(wanted, (name,)) for name, wanted in extras.items()}
    project.kept = reader.kept(data, project.extras)
    project.groups = {name: own.spread(wanted) for name, wanted in groups.items()}
    reader.indexes(uv, project)
    reader.unread(data, table, uv)
    return project


class _Itself:
    """Requirements on the project itself (``all = ["app[a,b]"]``) become those of its extras."""

    def __init__(
        self, name: str, dependencies: list[Wanted], extras: Mapping[str, list[Wanted]], out: Collected
    ) -> None:
        self.name = canonicalize_name(name)
        self.dependencies = dependencies
        self.extras = {canonicalize_name(extra): wanted for extra, wanted in extras.items()}
        self.out = out

    def spread(self, wanted: Sequence[Wanted], path: tuple[str, ...] = ()) -> list[Wanted]:
        """``path`` are the extras that are being spread: one that asks for itself adds nothing."""
        found: list[Wanted] = []
        for one in wanted:
            if not self.name or canonicalize_name(one.requirement.name) != self.name:
                found.append(one)
                continue
            for extra in sorted(one.requirement.extras):
                known = self.extras.get(canonicalize_name(extra))
                if known is None:
                    what = f"{one.requirement}: the project has no extra {extra!r}"
                    self.out.problems.append(one.place.problem(what, nearest(extra, self.extras)))
                elif canonicalize_name(extra) not in [canonicalize_name(seen) for seen in path]:
                    found += [under(each, one.requirement.marker) for each in self.spread(known, (*path, extra))]
        return found


def under(wanted: Wanted, marker: Marker | None) -> Wanted:
    """The requirement where, besides, a marker holds."""
    if marker is None:
        return wanted
    requirement = Requirement(str(wanted.requirement))
    requirement.marker = marker if requirement.marker is None else requirement.marker & marker
    return Wanted(requirement, wanted.place, wanted.doubt)


class _Reader:
    """Reads tables of one file; what has the wrong shape is a problem and then empty."""

    def __init__(self, file: str, out: Collected) -> None:
        self.file = file
        self.out = out

    def _say(self, key: str, what: str, hint: str = "") -> None:
        self.out.problems.append(Place(self.file, key=key).problem(what, hint))

    def table(self, parent: Mapping[str, Any], key: str, path: str = "") -> Mapping[str, Any]:
        value = parent.get(key, {})
        if isinstance(value, dict):
            return value
        self._say(path or key, "must be a table")
        return {}

    def string(self, parent: Mapping[str, Any], key: str, path: str) -> str:
        value = parent.get(key, "")
        if isinstance(value, str):
            return value
        self._say(path, "must be a string")
        return ""

    def strings(self, parent: Mapping[str, Any], key: str, path: str) -> list[str]:
        value = parent.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        self._say(path, "must be a list of strings")
        return []

    def requirements(self, parent: Mapping[str, Any], key: str, path: str) -> list[Wanted]:
        """The requirements that ``envs/`` can hold."""
        found = []
        for index, text in enumerate(self.strings(parent, key, path)):
            place = Place(self.file, key=f"{path}[{index}]")
            carried = carry(text, place, text, self.out)
            if isinstance(carried, Local):
                self.out.problems.append(place.problem(f"{text!r} is no requirement", "see PEP 508"))
            elif carried is not None:
                found.append(carried)
        return found

    def plain(self, uv: Mapping[str, Any], key: str) -> list[Wanted]:
        """Requirements of which only the version matters."""
        found = []
        for index, text in enumerate(self.strings(uv, key, f"tool.uv.{key}")):
            place = Place(self.file, key=f"tool.uv.{key}[{index}]")
            if is_reference(text):
                what = "left out: lockgrid takes a version here, and this is a URL or a path"
                self.out.notes.append(Note(place, text, what, "write a version"))
            elif isinstance(carried := carry(text, place, text, self.out), Wanted):
                found.append(carried)
        return found

    def kept(self, data: Mapping[str, Any], extras: Mapping[str, object]) -> tuple[str, ...]:
        """The extras that ``lockgrid lock`` keeps."""
        own = self.table(self.table(data, "tool"), "lockgrid", "tool.lockgrid")
        names = tuple(name for name in self.strings(own, "extras", "tool.lockgrid.extras") if name in extras)
        if names:
            place = Place(self.file, key="tool.lockgrid.extras")
            what = "lockgrid keeps these extras, and they are not read: they come from envs/"
            self.out.notes.append(Note(place, ", ".join(names), what))
        return names

    def groups(self, data: Mapping[str, Any]) -> dict[str, list[Wanted]]:
        """The dependency groups with their includes put in place. Groups that are wrong are problems."""
        table = self.table(data, "dependency-groups")
        if not table:
            return {}
        try:
            resolver = DependencyGroupResolver(table)
        except ExceptionGroup as errors:
            self._say_group("dependency-groups", errors)
            return {}
        written = {canonicalize_name(name): name for name in table}
        found = {}
        for name in table:
            try:
                resolver.resolve(name)
            except ExceptionGroup as errors:
                self._say_group(f"dependency-groups.{name}", errors)
            else:
                found[name] = self._group(resolver, written, name)
        return found

    def _say_group(self, key: str, error: BaseException) -> None:
        """Each fault once, out of however many groups of errors."""
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                self._say_group(key, one)
        else:
            self._say(key, str(error).splitlines()[0], "see PEP 735")

    def _group(self, resolver: DependencyGroupResolver, written: Mapping[Any, str], name: str) -> list[Wanted]:
        found: list[Wanted] = []
        for index, item in enumerate(resolver.lookup(name)):
            if isinstance(item, DependencyGroupInclude):
                found += self._group(resolver, written, written[canonicalize_name(item.include_group)])
                continue
            place = Place(self.file, key=f"dependency-groups.{name}[{index}]")
            carried = carry(str(item), place, str(item), self.out)
            if isinstance(carried, Wanted):
                found.append(carried)
        return found

    def indexes(self, uv: Mapping[str, Any], project: ProjectFile) -> None:
        """What ``[sources]`` can say of uv's indexes and of what comes from them; the rest is noted."""
        listed = uv.get("index", [])
        for number, entry in enumerate(listed if isinstance(listed, list) else []):
            name, url = (entry.get(key) for key in ("name", "url")) if isinstance(entry, dict) else (None, None)
            if isinstance(name, str) and isinstance(url, str) and not entry.get("default"):
                project.indexes[name] = url
            else:
                hint = "lockgrid asks the index that uv is configured with: keep it in uv.toml or UV_DEFAULT_INDEX"
                place = Place(self.file, key=f"tool.uv.index[{number}]")
                self.out.notes.append(Note(place, _brief(entry), "is not carried over", hint))
        for package, value in self.table(uv, "sources", "tool.uv.sources").items():
            place = Place(self.file, key=f"tool.uv.sources.{package}")
            for entry in value if isinstance(value, list) else [value]:
                marker = entry.get("marker", "") if isinstance(entry, dict) else ""
                if isinstance(entry, dict) and entry.keys() <= {"index", "marker"} and _is_marker(marker):
                    row = (str(entry.get("index", "")), marker, place)
                    project.sources.setdefault(canonicalize_name(package), []).append(row)
                else:
                    what = f"is not carried over, so {package} comes from the usual index"
                    hint = "make sure that this has the same project, or take it out of requires"
                    self.out.notes.append(Note(place, _brief(entry), what, hint))

    def unread(self, data: Mapping[str, Any], project: Mapping[str, Any], uv: Mapping[str, Any]) -> None:
        """Say what may name dependencies and is not read."""
        for key in ("dependencies", "optional-dependencies"):
            if key in self.strings(project, "dynamic", "project.dynamic"):
                place = Place(self.file, key="project.dynamic")
                what = f"{key} come from the build backend, which lockgrid does not run"
                self.out.notes.append(Note(place, "", what, "name the requirements file they are in, if there is one"))
        for tool, keys in _UNREAD.items():
            table = self.table(self.table(data, "tool"), tool, f"tool.{tool}")
            for key in (key for key in keys if key in table):
                place = Place(self.file, key=f"tool.{tool}.{key}")
                what = "is not read: only [project], [dependency-groups] and [tool.uv] are"
                hint = f"let {tool} export a requirements file, and name that"
                self.out.notes.append(Note(place, "", what, hint))
        for key, hint in _UV_HINTS.items():
            value = uv.get(key)
            if value is None:
                continue
            if isinstance(value, dict):
                rows = [(f"{key}.{name}", _brief(entry)) for name, entry in value.items()]
            elif isinstance(value, list):
                rows = [(f"{key}[{index}]", _brief(entry)) for index, entry in enumerate(value)]
            else:
                rows = [(key, _brief(value))]
            for name, said in rows:
                self.out.notes.append(Note(Place(self.file, key=f"tool.uv.{name}"), said, "is not carried over", hint))


def _is_marker(text: object) -> bool:
    """Whether it is a marker that targets answer, or none."""
    if not isinstance(text, str):
        return False
    try:
        return not text or (bool(Marker(text)) and not forbidden_marker(text))
    except InvalidMarker:
        return False


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_brief(each)}" for key, each in value.items())
    return str(value)
