"""The shape of the files in ``envs/``, checked with pydantic; the values become ``model.spec`` in ``core.spec``.

Unknown keys are refused, with the nearest known key. Types are strict: ``pythons = [3.10]`` is the number
3.1 in TOML, so it is an error and not a Python.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from lockgrid.errors import Problem


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlatformEntry(_Strict):
    """``[platforms.<name>]``."""

    glibc: str | None = None
    macos: str | None = None


class TargetsFile(_Strict):
    """``envs/targets.toml``."""

    cooldown: str | None = None
    pythons: list[str]
    platforms: dict[str, PlatformEntry]
    indexes: dict[str, object] = Field(default_factory=dict)


class OverrideEntry(_Strict):
    """``[overrides]``: a specifier and the reason for it."""

    version: str
    why: str


class HoldEntry(_Strict):
    """``[hold]``: written by refresh."""

    version: str
    why: str
    since: datetime.date | None = None


class SmokeEntry(_Strict):
    """``[smoke]``."""

    imports: list[str] = Field(default_factory=list)
    commands: list[list[str]] = Field(default_factory=list)


class EnvironmentFile(_Strict):
    """``envs/<environment>.toml``."""

    summary: str = ""
    abstract: bool = False
    extends: list[str] = Field(default_factory=list)
    requires: list[str] = Field(default_factory=list)
    pythons: list[str] | None = None
    platforms: list[str] | None = None
    apart: bool | None = None
    sdists: dict[str, str] = Field(default_factory=dict)
    overrides: dict[str, OverrideEntry] = Field(default_factory=dict)
    smoke: SmokeEntry = Field(default_factory=SmokeEntry)
    sources: dict[str, object] = Field(default_factory=dict)
    accept: dict[str, object] = Field(default_factory=dict)
    hold: dict[str, HoldEntry] = Field(default_factory=dict)


T = TypeVar("T", bound=BaseModel)


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the known word closest to ``word``, or the list of them when none is close."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6) or get_close_matches(
        word.lower().replace("_", "-"), words, n=1, cutoff=0.6
    )
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(words)}" if words else "there are none"


def parse_file(schema: type[T], file: str, text: str) -> tuple[T | None, list[Problem]]:
    """Parse the TOML ``text`` of ``file`` (named for messages only) into ``schema``; never raises."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, [Problem(file=file, what=f"broken TOML: {error}")]
    try:
        return schema.model_validate(data), []
    except ValidationError as error:
        return None, [_problem(schema, file, detail) for detail in error.errors(include_url=False)]


def _problem(schema: type[BaseModel], file: str, detail: ErrorDetails) -> Problem:
    location = detail["loc"]
    key = _key(location)
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _known_keys(schema, location[:-1])
        return Problem(file=file, key=key, what="unknown key", hint=nearest(str(location[-1]), known))
    if kind == "missing":
        return Problem(file=file, key=key, what="this key is missing")
    hint = ""
    if kind == "string_type" and isinstance(detail["input"], int | float):
        hint = f'write it in quotes: "{detail["input"]}"; TOML reads 3.10 as the number 3.1'
    if kind in ("model_type", "dict_type") and "overrides" in location:
        hint = 'write { version = "==1.0", why = "the reason" }'
    return Problem(file=file, key=key, what=detail["msg"][:1].lower() + detail["msg"][1:], hint=hint)


def _key(location: tuple[int | str, ...]) -> str:
    key = ""
    for part in location:
        if isinstance(part, int):
            key += f"[{part}]"
        else:
            key += f".{part}" if key else part
    return key


def _known_keys(schema: type[BaseModel], parents: tuple[int | str, ...]) -> list[str]:
    """The keys of the table in which an unknown key stood."""
    tables: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
        (TargetsFile, "platforms"): PlatformEntry,
        (EnvironmentFile, "overrides"): OverrideEntry,
        (EnvironmentFile, "hold"): HoldEntry,
        (EnvironmentFile, "smoke"): SmokeEntry,
    }
    table = tables.get((schema, str(parents[0]))) if parents else schema
    return list(table.model_fields) if table else []
