"""Lengths of time as uv writes them, and what ``targets.toml`` says of the cool-down with them.

``7 days``, ``1 week 12 hours``, ``24h``, and ISO 8601: ``P7D``, ``PT12H``.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.schema import TargetsFile
from lockgrid.errors import Problem
from lockgrid.model.spec import CooldownException

_PART = re.compile(
    r"(?P<number>[0-9]{1,6})\s*"
    r"(?:(?P<weeks>weeks?|w)|(?P<days>days?|d)|(?P<hours>hours?|hrs?|h)|(?P<minutes>minutes?|mins?|m))(?![a-z])"
)
_ISO = re.compile(
    r"P(?=[0-9T])(?:(?P<weeks>[0-9]{1,6})W)?(?:(?P<days>[0-9]{1,6})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,6})H)?(?:(?P<minutes>[0-9]{1,6})M)?)?",
    re.IGNORECASE,
)
_UNITS = ("weeks", "days", "hours", "minutes")


def parse_duration(text: str) -> timedelta:
    """The length of time that ``text`` says, at least none. Raises ``ValueError``: months and years have no length."""
    if match := _ISO.fullmatch(text.strip()):
        return timedelta(**{unit: int(match[unit] or 0) for unit in _UNITS})
    rest, length = text.strip().lower(), timedelta()
    if not rest:
        raise ValueError(f"{text!r} is no length of time")
    while rest:
        match = _PART.match(rest)
        if match is None:
            raise ValueError(f"{text!r} is no length of time")
        unit = next(unit for unit in _UNITS if match[unit])
        length += timedelta(**{unit: int(match["number"])})
        rest = re.sub(r"^[\s,]+(?=[0-9])", "", rest[match.end() :])
    return length


_HINT = 'write "7 days"'
# PEP 508, as packaging reads it.
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def read_cooldown(
    targets: TargetsFile, file: str
) -> tuple[timedelta | None, tuple[CooldownException, ...], list[Problem]]:
    """The cool-down and its exceptions by name, and what is wrong with them; ``file`` is where they stand."""
    problems: list[Problem] = []

    def say(key: str, what: str, hint: str = "") -> None:
        problems.append(Problem(file=file, key=key, what=what, hint=hint))

    def length(key: str, text: str) -> timedelta:
        try:
            return parse_duration(text)
        except ValueError as error:
            say(key, str(error), _HINT)
            return timedelta()

    found: dict[NormalizedName, CooldownException] = {}
    for package, entry in targets.exceptions.items():
        key, name = f"cooldown-exceptions.{package}", canonicalize_name(package)
        if not _PACKAGE.fullmatch(package):
            say(key, f"{package!r} is no name of a package", "use letters, digits, - _ .")
        elif name in found:
            say(key, f"{package!r} stands there twice, spelled otherwise", "leave one of them out")
        if not entry.why.strip():
            say(f"{key}.why", "an exception needs a reason", "say why in a few words")
        cooldown = length(f"{key}.cooldown", entry.cooldown)
        until = entry.until or date.min
        found[name] = CooldownException(name=name, cooldown=cooldown, why=entry.why, until=until)
    general = None if targets.cooldown is None else length("cooldown", targets.cooldown)
    return general, tuple(found[name] for name in sorted(found)), problems
