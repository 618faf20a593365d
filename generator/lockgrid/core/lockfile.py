"""Lockfiles as values: put together from proven cells, and read back from their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.markers import InvalidMarker
from packaging.requirements import InvalidRequirement, Requirement

from lockgrid.core.conflict import refuse_conflict
from lockgrid.core.targets import marker_applies
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import LockedPin, Lockfile, ProvenCell
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target, python_key

SCHEMA = 1
_HEADER = re.compile(r"# (environment|platform|pythons|lockgrid lockfile, schema): ?(.*)")
# A pin as lockgrid writes it; whatever else is a pin is left to packaging, which takes ten times as long.
_PIN = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9][a-z0-9.!+]*)(?: ; ([^#@]+))?")
_OWN_HASH = re.compile(r"    --hash=sha256:([0-9a-f]{64})(?: \\)?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def assemble(environment: str, platform: Platform, cells: Sequence[ProvenCell]) -> Lockfile:
    """The lockfile of one environment on one platform out of its proven cells (at least one)."""
    pythons = tuple(sorted((cell.target.python for cell in cells), key=python_key))
    hashes: dict[tuple[str, str], set[str]] = {}
    where: dict[tuple[str, str], set[str]] = {}
    via: dict[tuple[str, str], set[str]] = {}
    sdists: set[str] = set()
    for cell in cells:
        asked = dict(cell.via)
        for pin in cell.pins:
            key = (pin.name, pin.version)
            hashes.setdefault(key, set()).add(pin.file.sha256)
            where.setdefault(key, set()).add(cell.target.python)
            via.setdefault(key, set()).update(asked.get(pin.name, ()))
            if not pin.file.is_wheel:
                sdists.add(pin.name)
    pins = [
        LockedPin(
            name=name,
            version=version,
            pythons=tuple(sorted(where[name, version], key=python_key)),
            hashes=tuple(sorted(hashes[name, version])),
            via=tuple(sorted(via[name, version])),
        )
        for name, version in hashes
    ]
    pins.sort(key=lambda pin: (pin.name, python_key(pin.pythons[0])))
    return Lockfile(
        environment=environment,
        platform=platform.label,
        pythons=pythons,
        sdists=tuple(sorted(sdists)),
        pins=tuple(pins),
    )


def parse_lockfile(path: str, text: str) -> Lockfile:
    """Read a lockfile that ``core.render.requirements`` wrote; ``path`` is for messages.

    Raises ``InputError`` naming the line that is none of lockgrid's.
    """
    header: dict[str, str] = {}
    sdists: list[str] = []
    blocks: list[tuple[int, str, list[str], list[str]]] = []
    lines = text.splitlines()
    for number, raw in enumerate(lines, 1):
        if blocks and (match := _OWN_HASH.fullmatch(raw)):  # most lines, as lockgrid writes them
            blocks[-1][2].append(match[1])
            continue
        line = raw.strip().removesuffix("\\").strip()
        if match := _HEADER.fullmatch(raw):
            header[match[1]] = match[2]
        elif line.startswith("--no-binary "):
            sdists.append(line.split()[1])
        elif line.startswith("--hash") and blocks:
            digest = _HASH.fullmatch(line)
            if digest is None:
                raise _broken(path, number, "no sha256 hash")
            blocks[-1][2].append(digest[1])
        elif raw.startswith("    #") and blocks:
            asked = line.removeprefix("#").strip().removeprefix("via").strip()
            if asked:
                blocks[-1][3].append(asked)
        elif line and not line.startswith(("#", "--only-binary")):
            blocks.append((number, line, [], []))
    refuse_conflict(path, text)
    schema = header.get("lockgrid lockfile, schema", str(SCHEMA))
    if schema != str(SCHEMA):
        raise _broken(path, 1, f"schema {schema}, and this version of lockgrid reads {SCHEMA}")
    for key in ("environment", "platform", "pythons"):
        if key not in header:
            raise _broken(path, 1, f"the header names no {key}")
    pythons = tuple(header["pythons"].split())
    pins = [_locked_pin(path, header["platform"], pythons, *block) for block in blocks]
    return Lockfile(
        environment=header["environment"],
        platform=header["platform"],
        pythons=pythons,
        sdists=tuple(sdists),
        pins=tuple(pins),
    )


def _locked_pin(
    path: str, platform: str, pythons: tuple[str, ...], number: int, line: str, hashes: list[str], via: list[str]
) -> LockedPin:
    match = _PIN.fullmatch(line)
    name, version, marker = match.groups() if match else _read_pin(path, number, line)
    if not hashes:
        raise _broken(path, number, f"{line!r} has no hash")
    try:
        where = _marked_pythons(platform, pythons, marker)
    except InvalidMarker as error:
        raise _broken(path, number, f"{line!r} is no pin") from error
    return LockedPin(
        name=name,
        version=version,
        pythons=where,
        hashes=tuple(hashes),
        via=tuple(via),
    )


def _read_pin(path: str, number: int, line: str) -> tuple[str, str, str | None]:
    """The name, the version and the marker of a pin in any spelling."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        raise _broken(path, number, f"{line!r} is no pin") from error
    specifiers = list(requirement.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==":
        raise _broken(path, number, f"{line!r} is no pin name==version")
    return requirement.name, specifiers[0].version, str(requirement.marker) if requirement.marker else None


def _marked_pythons(platform: str, pythons: Iterable[str], marker: str | None) -> tuple[str, ...]:
    if marker is None:
        return tuple(pythons)
    # Only python_version may stand in a lockfile's marker, so any platform answers it.
    name = platform.split()[0] if platform.split()[0] in PLATFORM_KINDS else "linux-x86_64"
    return tuple(p for p in pythons if marker_applies(marker, Target(platform=Platform(name=name), python=p)))


def _broken(path: str, number: int, what: str) -> InputError:
    return InputError(
        [Problem(file=path, key=f"line {number}", what=what)], next_step="restore the file, or run `lockgrid lock`"
    )


def pins_by_python(lockfile: Lockfile) -> Mapping[str, dict[str, str]]:
    """For each Python of the lockfile, the versions by name."""
    return {
        python: {pin.name: pin.version for pin in lockfile.pins if python in pin.pythons} for python in lockfile.pythons
    }
