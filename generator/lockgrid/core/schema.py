"""The shape of the files in ``envs/``: TOML text to dataclasses. What the values mean is ``core.spec``'s to judge."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from lockgrid.core.table import Table, Wrong, anything, boolean, date, day, each, list_of, parse, string, strings
from lockgrid.errors import Problem


@dataclass(frozen=True, slots=True)
class PlatformEntry:
    """``[platforms.<name>]``."""

    glibc: str | None = None
    macos: str | None = None
    runner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of ``[indexes]``: a URL, or a table with it or without."""

    url: str | None = None
    dateless: bool = False


@dataclass(frozen=True, slots=True)
class CooldownEntry:
    """An entry of ``[cooldown-exceptions]``. ``until`` is None where it is missing, which is a fault."""

    cooldown: str
    why: str
    until: datetime.date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsFile:
    """``envs/targets.toml``."""

    cooldown: str | None
    pythons: list[str]
    platforms: dict[str, PlatformEntry]
    indexes: dict[str, IndexEntry]
    exceptions: dict[str, CooldownEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """An entry of ``[overrides]`` or ``[hold]``: a specifier and the reason for it."""

    version: str
    why: str


@dataclass(frozen=True, slots=True)
class GitEntry:
    """An entry of ``[git]``."""

    url: str
    rev: str
    subdirectory: str = ""


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
    git: dict[str, GitEntry] = field(default_factory=dict)


def parse_targets(file: str, text: str) -> tuple[TargetsFile | None, list[Problem]]:
    """The shape of ``targets.toml``; None when the TOML is broken. Never raises."""
    return parse(file, text, _targets)


def parse_environment(file: str, text: str) -> tuple[EnvironmentFile | None, list[Problem]]:
    """The shape of an environment's file; None when the TOML is broken. Never raises."""
    return parse(file, text, _environment)


def _targets(table: Table) -> TargetsFile:
    return TargetsFile(
        cooldown=table.optional("cooldown", string),
        pythons=table.required("pythons", strings, []),
        platforms=table.tables("platforms", _platform, required=True),
        indexes=table.optional("indexes", _indexes) or {},
        exceptions=table.tables("cooldown-exceptions", _cooldown),
    )


def _cooldown(table: Table) -> CooldownEntry:
    return CooldownEntry(
        cooldown=table.required("cooldown", string, ""),
        why=table.required("why", string, ""),
        until=table.required("until", day, None),
    )


def _platform(table: Table) -> PlatformEntry:
    return PlatformEntry(
        glibc=table.optional("glibc", string),
        macos=table.optional("macos", string),
        runner=table.optional("runner", _labels) or (),
    )


def _labels(value: Any) -> tuple[str, ...]:
    """One label or a list of them, none empty."""
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, list) or not labels or not all(isinstance(one, str) and one.strip() for one in labels):
        raise Wrong("must be a label or a list of labels", 'write "ubuntu-24.04", or ["self-hosted", "linux"]')
    return tuple(labels)


def _environment(table: Table) -> EnvironmentFile:
    return EnvironmentFile(
        summary=table.optional("summary", string) or "",
        abstract=table.optional("abstract", boolean) or False,
        extends=table.optional("extends", strings) or [],
        requires=table.optional("requires", strings) or [],
        pythons=table.optional("pythons", strings),
        platforms=table.optional("platforms", strings),
        apart=table.optional("apart", boolean),
        sdists=table.optional("sdists", _reasons) or {},
        overrides=table.tables("overrides", _override),
        smoke=table.table("smoke", _smoke) or SmokeEntry(),
        sources=table.optional("sources", _index_names) or {},
        accept=table.optional("accept", _reasons) or {},
        hold=table.tables("hold", _hold),
        git=table.tables("git", _git),
    )


def _override(table: Table) -> ExceptionEntry:
    return ExceptionEntry(version=table.required("version", string, ""), why=table.required("why", string, ""))


def _hold(table: Table) -> ExceptionEntry:
    table.optional("since", date)
    return _override(table)


def _git(table: Table) -> GitEntry:
    return GitEntry(
        url=table.required("url", string, ""),
        rev=table.required("rev", string, ""),
        subdirectory=table.optional("subdirectory", string) or "",
    )


def _smoke(table: Table) -> SmokeEntry:
    return SmokeEntry(
        imports=table.optional("imports", strings) or [],
        commands=table.optional("commands", _commands) or [],
    )


def _commands(value: Any) -> list[list[str]]:
    return list_of(value, strings, 'must be a list of commands, each a list of strings: [["vela", "--version"]]')


def _reasons(value: Any) -> dict[str, str]:
    return _texts(value, "the reason must be a string")


def _index_names(value: Any) -> dict[str, str]:
    return _texts(value, "must be the name of an index", 'write torch = "pytorch-cpu", and names with a dot in quotes')


def _indexes(value: Any) -> dict[str, IndexEntry]:
    hint = 'write pytorch-cpu = "https://index.example/simple" or pytorch-cpu = { url = "...", dateless = true }'
    if not isinstance(value, dict):
        raise Wrong("must be a table", hint)

    def read(entry: Any) -> IndexEntry:
        if isinstance(entry, str):
            return IndexEntry(url=entry)
        known = ("url", "dateless")
        if not isinstance(entry, dict) or not all(key in known for key in entry):
            raise Wrong("must be a URL, or a table of url and dateless", hint)
        url = entry.get("url")
        return IndexEntry(url=None if url is None else string(url), dateless=boolean(entry.get("dateless", False)))

    found = each({f".{name}": entry for name, entry in value.items()}, read)
    return {name.removeprefix("."): entry for name, entry in found.items()}


def _texts(value: Any, what: str, hint: str = "") -> dict[str, str]:
    """A table of strings; ``what`` each must be."""
    if hint and not isinstance(value, dict):
        raise Wrong("must be a table", hint)

    def text(item: Any) -> str:
        if isinstance(item, str):
            return item
        raise Wrong(what, hint)

    found = each({f".{name}": item for name, item in anything(value).items()}, text)
    return {name.removeprefix("."): item for name, item in found.items()}
