"""The shape and the meaning of ``pins.toml``: TOML text to rules, with every fault."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from packaging.utils import InvalidName, canonicalize_name

from lockgrid.core.pins.patterns import pattern_fault
from lockgrid.core.pins.versions import read_truth
from lockgrid.core.table import Table, Wrong, anything, boolean, date, nearest, parse, string
from lockgrid.errors import InputError, Problem
from lockgrid.model.pins import (
    Copy,
    Differs,
    FileTruth,
    GitTruth,
    KeyPath,
    Kind,
    LiteralTruth,
    Match,
    PackageTruth,
    PinRule,
    Source,
)

PATH = "pins.toml"
OPERATORS = ("==", "===", "~=", ">=", "<=", ">", "<", "!=")
_PACKAGES = (Kind.REQUIREMENT, Kind.DEPENDENCY)
_KEYS = (Kind.TOML, Kind.JSON, Kind.YAML)
#: What a variable may be called; CMake and shells of strangers take more than Python does.
_VARIABLE = re.compile(r"[A-Za-z0-9_.+/-]+")
_DRIVE = re.compile(r"[A-Za-z]:")  # of Windows


def parse_pins(text: str, file: str = PATH) -> tuple[PinRule, ...]:
    """The rules of ``pins.toml``, in its order. Raises ``InputError`` with every fault."""
    problems: list[Problem] = []
    rules, shapeless = parse(file, text, partial(_rules, file, problems))
    problems += shapeless
    if rules is not None and not rules and not problems:
        problems.append(Problem(file=file, key="pins", what="there is no pin", hint="add [pins.<name>]"))
    if problems:
        raise InputError(problems)
    return tuple(rules or ())


def _rules(file: str, problems: list[Problem], table: Table) -> list[PinRule]:
    pins = table.optional("pins", anything) or {}
    reader = _Reader(file, problems)
    return [rule for name, data in pins.items() if (rule := reader.rule(name, data)) is not None]


class _Reader:
    """Reads pins, and keeps their faults."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems

    def say(self, key: str, what: str, hint: str = "") -> None:
        self.problems.append(Problem(file=self.file, key=key, what=what, hint=hint))

    def rule(self, name: str, data: Any) -> PinRule | None:
        """One pin; None when something is wrong with it, which is then said."""
        key = f"pins.{name}"
        before = len(self.problems)
        if not isinstance(data, dict):
            self.say(key, "must be a table", "write [pins.vela], then truth and copies")
            return None
        table = Table(self.file, key, data, self.problems)
        nothing: dict[str, Any] = {}
        none: list[dict[str, Any]] = []
        truth = table.required("truth", anything, nothing)
        copies = table.required("copies", _tables, none)
        table.close()
        if len(self.problems) > before:
            return None
        source = self.source(f"{key}.truth", truth)
        package = source.package if isinstance(source, PackageTruth) else str(truth.get("package", ""))
        found = [self.copy(f"{key}.copies[{index}]", copy, package) for index, copy in enumerate(copies)]
        if not copies:
            self.say(f"{key}.copies", "no copy is listed", 'write { file = "...", match = { ... } }')
        if len(self.problems) > before or source is None:
            return None
        return PinRule(name=name, truth=source, copies=tuple(copy for copy in found if copy is not None))

    def source(self, key: str, data: dict[str, Any]) -> Source | None:
        """A truth."""
        kinds = {"package": self._package, "file": self._file, "git": self._git, "literal": self._literal}
        chosen = [kind for kind in kinds if kind in data]
        if len(chosen) != 1:
            known = ", ".join(kinds)
            near = [] if chosen else [word for word in data if nearest(word, kinds).startswith("did")]
            hint = f"{near[0]}: {nearest(near[0], kinds)}" if near else "choose one"
            self.say(key, f"a truth is one of {known}, and this names {' and '.join(chosen) or 'none of them'}", hint)
            return None
        table = Table(self.file, key, data, self.problems)
        before = len(self.problems)
        source = kinds[chosen[0]](key, table)
        table.close()
        return source if len(self.problems) == before else None

    def _package(self, key: str, table: Table) -> Source:
        package = self.package(f"{key}.package", table.required("package", string, "x"))
        required_by = table.optional("required-by", string) or ""
        return PackageTruth(
            package=package,
            environment=table.optional("environment", string) or "",
            platform=table.optional("platform", string) or "",
            python=table.optional("python", string) or "",
            required_by=self.package(f"{key}.required-by", required_by) if required_by else "",
        )

    def _file(self, key: str, table: Table) -> Source:
        file = self.path(f"{key}.file", table.required("file", string, "x"))
        match = self.match(f"{key}.match", table.required("match", lambda value: value, None), "")
        return FileTruth(
            file=file, match=match or Match(kind=Kind.TOML), in_tree=table.optional("tree", boolean) or False
        )

    def _git(self, _key: str, table: Table) -> Source:
        source = table.required("git", string, "")
        return GitTruth(source=source, environment=table.optional("environment", string) or "")

    def _literal(self, key: str, table: Table) -> Source:
        value = table.required("literal", string, "0")
        if read_truth(value) is None:
            what = f"{value!r} is neither a version (PEP 440) nor a commit"
            self.say(f"{key}.literal", what, 'write "1.2.0", or a commit of 7 to 64 hexadecimal digits')
        return LiteralTruth(value=value)

    def copy(self, key: str, data: dict[str, Any], package: str) -> Copy | None:
        """One copy; ``package`` is that of the truth, for a match that names none."""
        before = len(self.problems)
        table = Table(self.file, key, data, self.problems)
        file = self.path(f"{key}.file", table.required("file", string, "x"))
        match = table.required("match", lambda value: value, None)
        components = table.optional("components", _components) or 0
        differs = table.table("differs", _differs)
        table.close()
        if differs is not None and not differs.why.strip():
            self.say(f"{key}.differs.why", "an exception needs a reason")
        found = None if match is None else self.match(f"{key}.match", match, package)
        if len(self.problems) > before or found is None:
            return None
        return Copy(file=file, match=found, components=components, differs=differs)

    def match(self, key: str, value: Any, package: str) -> Match | None:
        """``"requirement"``, which takes the package of the truth, or a table that names what it looks for."""
        if value is None:
            return None
        if isinstance(value, str):
            return self._short_match(key, value, package)
        if not isinstance(value, dict):
            self.say(key, "must be a table", 'such as { requirement = "torch" }')
            return None
        words = [kind.value for kind in Kind]
        chosen = [word for word in words if word in value]
        if len(chosen) != 1:
            unknown = [word for word in value if word not in (*words, "operator", "extra", "group", "build")]
            hint = f"{unknown[0]}: {nearest(unknown[0], words)}" if unknown else f"choose one of {', '.join(words)}"
            self.say(key, f"a match names one kind, and this names {' and '.join(chosen) or 'none'}", hint)
            return None
        kind = Kind(chosen[0])
        table = Table(self.file, key, value, self.problems)
        before = len(self.problems)
        match = self._match(key, kind, table)
        table.close()
        return match if len(self.problems) == before else None

    def _short_match(self, key: str, word: str, package: str) -> Match | None:
        if word not in _PACKAGES:
            known = [kind.value for kind in Kind]
            what = f"{word!r} names nothing to look for"
            hint = f'write {{ {word} = "..." }}' if word in known else nearest(word, known)
            self.say(key, what, hint)
            return None
        if not package:
            self.say(key, "the truth is no package of the grid", f'name it: {{ {word} = "torch" }}')
            return None
        return Match(kind=Kind(word), name=package)

    def _match(self, key: str, kind: Kind, table: Table) -> Match:
        where = f"{key}.{kind.value}"
        if kind in _KEYS:
            return Match(kind=kind, key=table.optional(kind.value, _key_path) or ())
        name = table.optional(kind.value, string) or ""
        if kind is Kind.REGEX:
            fault = pattern_fault(name)
            if fault:
                self.say(where, *fault)
            return Match(kind=kind, name=name)
        if kind not in _PACKAGES:
            if not _VARIABLE.fullmatch(name):
                self.say(where, f"{name!r} is no name")
            return Match(kind=kind, name=name)
        operator = table.optional("operator", string) or ""
        if operator and operator not in OPERATORS:
            self.say(f"{key}.operator", f"{operator!r} is no operator (PEP 440)", f"one of {' '.join(OPERATORS)}")
        extra = group = ""
        build = False
        if kind is Kind.DEPENDENCY:
            extra, group = table.optional("extra", string) or "", table.optional("group", string) or ""
            build = table.optional("build", boolean) or False
            if bool(extra) + bool(group) + build > 1:
                self.say(key, "extra, group and build exclude each other", "list a copy for each")
        name = self.package(where, name)
        return Match(kind=kind, name=name, operator=operator, extra=extra, group=group, build=build)

    def package(self, key: str, name: str) -> str:
        """The normalised name of a package."""
        try:
            return canonicalize_name(name, validate=True)
        except InvalidName:
            self.say(key, f"{name!r} is no valid name of a package")
            return ""

    def path(self, key: str, path: str) -> str:
        """A path in the project or in a tree, and not out of it."""
        parts = PurePosixPath(path).parts
        if "\\" in path:
            self.say(key, f"{path!r}: write / between folders, on every system")
        elif not parts or PurePosixPath(path).is_absolute() or _DRIVE.match(path) or ".." in parts:
            self.say(key, f"{path!r} is no path inside the project or the tree")
        elif any(letter in path for letter in "*?["):
            self.say(key, f"{path!r}: a copy is one file, not a pattern", "list each file, so that none is lost unseen")
        return PurePosixPath(path).as_posix()


def _differs(table: Table) -> Differs:
    why = table.required("why", string, "-")
    until = table.required("until", date, datetime.date.max)
    return Differs(why=why, until=until.date() if isinstance(until, datetime.datetime) else until)


def _components(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise Wrong("must be a number of components", "2 compares the 2.13 of 2.13.0 alone")


def _tables(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise Wrong("must be a list of tables", 'such as [{ file = "requirements.txt", match = "requirement" }]')


def _key_path(value: Any) -> KeyPath:
    parts: Iterable[Any] = value.split(".") if isinstance(value, str) else value if isinstance(value, list) else ()
    path = tuple(parts)
    if path and all(isinstance(part, str | int) and not isinstance(part, bool) and part != "" for part in path):
        return path
    raise Wrong(
        "must be keys", 'write "project.version", or ["a.b", 0, "c"] where a key has a dot or a list is counted'
    )
