"""The shape of the files in ``envs/``: TOML text to dataclasses, with every fault and none of the meaning.

Unknown keys are refused, with the nearest known key. Types are strict: ``pythons = [3.10]`` is the number
3.1 in TOML, so it is an error and not a Python. What the values mean is ``core.spec``'s to judge.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from lockgrid.errors import Problem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlatformEntry:
    """``[platforms.<name>]``."""

    glibc: str | None = None
    macos: str | None = None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of ``[indexes]``: a URL, or a table with it or without."""

    url: str | None = None
    dateless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsFile:
    """``envs/targets.toml``."""

    cooldown: str | None
    pythons: list[str]
    platforms: dict[str, PlatformEntry]
    indexes: dict[str, IndexEntry]


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """An entry of ``[overrides]`` or ``[hold]``: a specifier and the reason for it."""

    version: str
    why: str


@dataclass(frozen=True, slots=True)
class SmokeEntry:
    """``[smoke]``."""

    imports: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFile:
    """``envs/<environment>.toml``. None stands for a key that is absent where that differs from empty."""

    summary: str
    abstract: bool
    extends: list[str]
    requires: list[str]
    pythons: list[str] | None
    platforms: list[str] | None
    apart: bool | None
    sdists: dict[str, str]
    overrides: dict[str, ExceptionEntry]
    smoke: SmokeEntry
    sources: dict[str, str]
    accept: dict[str, str]
    hold: dict[str, ExceptionEntry]


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the known word closest to ``word``, or the list of them when none is close."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6) or get_close_matches(
        word.lower().replace("_", "-"), words, n=1, cutoff=0.6
    )
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(words)}" if words else "there are none"


def parse_targets(file: str, text: str) -> tuple[TargetsFile | None, list[Problem]]:
    """The shape of ``targets.toml``; None when the TOML is broken. Never raises."""
    return _parse(file, text, _targets)


def parse_environment(file: str, text: str) -> tuple[EnvironmentFile | None, list[Problem]]:
    """The shape of an environment's file; None when the TOML is broken. Never raises."""
    return _parse(file, text, _environment)


def _parse(file: str, text: str, read: Callable[[_Table], T]) -> tuple[T | None, list[Problem]]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, [Problem(file=file, what=f"broken TOML: {error}")]
    problems: list[Problem] = []
    table = _Table(file, "", data, problems)
    value = read(table)
    table.close()
    return value, problems


def _targets(table: _Table) -> TargetsFile:
    return TargetsFile(
        cooldown=table.optional("cooldown", _string),
        pythons=table.required("pythons", _strings, []),
        platforms=table.tables("platforms", _platform, required=True),
        indexes=table.optional("indexes", _indexes) or {},
    )


def _platform(table: _Table) -> PlatformEntry:
    return PlatformEntry(glibc=table.optional("glibc", _string), macos=table.optional("macos", _string))


def _environment(table: _Table) -> EnvironmentFile:
    return EnvironmentFile(
        summary=table.optional("summary", _string) or "",
        abstract=table.optional("abstract", _boolean) or False,
        extends=table.optional("extends", _strings) or [],
        requires=table.optional("requires", _strings) or [],
        pythons=table.optional("pythons", _strings),
        platforms=table.optional("platforms", _strings),
        apart=table.optional("apart", _boolean),
        sdists=table.optional("sdists", _reasons) or {},
        overrides=table.tables("overrides", _override),
        smoke=table.table("smoke", _smoke) or SmokeEntry(),
        sources=table.optional("sources", _index_names) or {},
        accept=table.optional("accept", _reasons) or {},
        hold=table.tables("hold", _hold),
    )


def _override(table: _Table) -> ExceptionEntry:
    return ExceptionEntry(version=table.required("version", _string, ""), why=table.required("why", _string, ""))


def _hold(table: _Table) -> ExceptionEntry:
    table.optional("since", _date)
    return _override(table)


def _smoke(table: _Table) -> SmokeEntry:
    return SmokeEntry(
        imports=table.optional("imports", _strings) or [],
        commands=table.optional("commands", _commands) or [],
    )


class _Wrong(Exception):
    """Values of the wrong type: for each the key below the one that was read, what is wrong, and a hint."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.faults = [("", what, hint)]

    @classmethod
    def all(cls, faults: list[tuple[str, str, str]]) -> _Wrong:
        """Several faults in one."""
        wrong = cls(faults[0][1])
        wrong.faults = faults
        return wrong


class _Table:
    """One TOML table while it is read: remembers which keys were asked for, and refuses the others."""

    def __init__(self, file: str, key: str, data: Mapping[str, Any], problems: list[Problem]) -> None:
        self._file = file
        self._key = key
        self._data = data
        self._problems = problems
        self._known: list[str] = []

    def optional(self, key: str, read: Callable[[Any], T]) -> T | None:
        """The value of a key, None when it is absent or wrong."""
        self._known.append(key)
        if key not in self._data:
            return None
        try:
            return read(self._data[key])
        except _Wrong as error:
            for below, what, hint in error.faults:
                self._say(f"{key}{below}", what, hint)
            return None

    def required(self, key: str, read: Callable[[Any], T], otherwise: T) -> T:
        """The value of a key that must be there; ``otherwise`` when it is not."""
        if key not in self._data:
            self._known.append(key)
            self._say(key, "this key is missing")
            return otherwise
        value = self.optional(key, read)
        return otherwise if value is None else value

    def table(self, key: str, read: Callable[[_Table], T]) -> T | None:
        """A table below this one."""
        data = self.optional(key, _anything)
        if data is None:
            return None
        below = _Table(self._file, self._path(key), data, self._problems)
        value = read(below)
        below.close()
        return value

    def tables(self, key: str, read: Callable[[_Table], T], *, required: bool = False) -> dict[str, T]:
        """A table whose values are tables of one shape."""
        none: dict[str, Any] = {}
        data = self.required(key, _anything, none) if required else self.optional(key, _anything) or none
        below = _Table(self._file, self._path(key), data, self._problems)
        found = {}
        for name in data:
            value = below.table(name, read)
            if value is not None:
                found[name] = value
        return found

    def close(self) -> None:
        """Refuse the keys that nobody asked for."""
        for key in self._data:
            if key not in self._known:
                self._say(key, "unknown key", nearest(key, self._known))

    def _path(self, key: str) -> str:
        return f"{self._key}.{key}" if self._key else key

    def _say(self, key: str, what: str, hint: str = "") -> None:
        self._problems.append(Problem(file=self._file, key=self._path(key), what=what, hint=hint))


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    hint = ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        meant = "3.10" if value == 3.1 else str(value)
        hint = f'write it in quotes, "{meant}"; to TOML 3.10 is the number 3.1'
    raise _Wrong("must be a string", hint)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("must be true or false")


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.date):
        return value
    raise _Wrong("must be a date", "write 2026-11-30, without quotes")


def _strings(value: Any) -> list[str]:
    return _list(value, _string, "must be a list of strings")


def _commands(value: Any) -> list[list[str]]:
    return _list(value, _strings, 'must be a list of commands, each a list of strings: [["vela", "--version"]]')


def _list(value: Any, read: Callable[[Any], T], what: str) -> list[T]:
    if not isinstance(value, list):
        raise _Wrong(what)
    return list(_each({f"[{index}]": item for index, item in enumerate(value)}, read).values())


def _each(values: Mapping[str, Any], read: Callable[[Any], T]) -> dict[str, T]:
    """Read every value; the keys say where each stands below the one that is read."""
    items = {}
    faults = []
    for key, value in values.items():
        try:
            items[key] = read(value)
        except _Wrong as error:
            faults += [(f"{key}{below}", what, hint) for below, what, hint in error.faults]
    if faults:
        raise _Wrong.all(faults)
    return items


def _anything(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise _Wrong("must be a table", 'for an exception: { version = "==1.0", why = "the reason" }')


def _reasons(value: Any) -> dict[str, str]:
    return _texts(value, "the reason must be a string")


def _index_names(value: Any) -> dict[str, str]:
    return _texts(value, "must be the name of an index", 'write torch = "pytorch-cpu", and names with a dot in quotes')


def _indexes(value: Any) -> dict[str, IndexEntry]:
    hint = 'write pytorch-cpu = "https://index.example/simple" or pytorch-cpu = { url = "...", dateless = true }'
    if not isinstance(value, dict):
        raise _Wrong("must be a table", hint)

    def read(entry: Any) -> IndexEntry:
        if isinstance(entry, str):
            return IndexEntry(url=entry)
        known = ("url", "dateless")
        if not isinstance(entry, dict) or not all(key in known for key in entry):
            raise _Wrong("must be a URL, or a table of url and dateless", hint)
        url = entry.get("url")
        return IndexEntry(url=None if url is None else _string(url), dateless=_boolean(entry.get("dateless", False)))

    found = _each({f".{name}": entry for name, entry in value.items()}, read)
    return {name.removeprefix("."): entry for name, entry in found.items()}


def _texts(value: Any, what: str, hint: str = "") -> dict[str, str]:
    """A table of strings; ``what`` each must be."""
    if hint and not isinstance(value, dict):
        raise _Wrong("must be a table", hint)

    def text(item: Any) -> str:
        if isinstance(item, str):
            return item
        raise _Wrong(what, hint)

    found = _each({f".{name}": item for name, item in _anything(value).items()}, text)
    return {name.removeprefix("."): item for name, item in found.items()}
