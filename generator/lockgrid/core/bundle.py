"""What a bundle holds: the plan of one, before a byte of it is fetched, and the texts in it.

A bundle is a folder that installs one cell without a network: ``wheels/``, ``sdists/`` for what has to be built there,
``requirements.txt``, ``build.txt`` with the build requirements of the sdists, the install scripts and ``SHA256SUMS``.
``bundle.json`` says what it is of, and is written first: by it a later run knows the folder again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from lockgrid.core.candidates import wheel_rank
from lockgrid.model.grid import LockedPin, Lockfile, Pin
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Target

SCHEMA = 1
MARK = "bundle.json"
SUMS = "SHA256SUMS"
REQUIREMENTS = "requirements.txt"
BUILD = "build.txt"
WHEELS = "wheels"
SDISTS = "sdists"
#: Folders of a run that is not over: files that are not complete, and what only builds need.
PARTIAL = ".partial"
SCRATCH = ".build"
SCRIPTS = ("install.sh", "install.bat", "install.py")
_TEXTS = {MARK, SUMS, REQUIREMENTS, BUILD, *SCRIPTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One bundle: its pins, and those of the build requirements of its sdists, each with its file.

    ``lockfile`` is the digest of the lockfile that the pins are from.
    """

    environment: str
    target: Target
    lockfile: str
    pins: tuple[Pin, ...]
    build: tuple[Pin, ...] = ()

    @property
    def wheels(self) -> tuple[Pin, ...]:
        """The pins that are wheels on the index."""
        return tuple(pin for pin in self.pins if pin.file.is_wheel)

    @property
    def sdists(self) -> tuple[Pin, ...]:
        """The pins that are sdists."""
        return tuple(pin for pin in self.pins if not pin.file.is_wheel)


def mark_text(plan: Plan) -> str:
    """``bundle.json``: of what this is a bundle, and what the install script has to know of the machine."""
    platform, kind = plan.target.platform, plan.target.platform.kind
    floor = {kind.floor_key: ".".join(map(str, platform.floor))} if platform.floor else {}
    value = {
        "schema": SCHEMA,
        "environment": plan.environment,
        "platform": platform.name,
        "python": plan.target.python,
        "sys_platform": kind.sys_platform,
        "machine": kind.platform_machine,
        "floor": floor,
        "packages": len(plan.pins),
        "lockfile": plan.lockfile,
    }
    return json.dumps(value, indent=2) + "\n"


def downloads(pins: Iterable[Pin], folder: str, known: Collection[str] = ()) -> dict[str, IndexFile]:
    """The files of pins by path below the bundle, less those of a hash that is ``known``."""
    return {f"{folder}/{pin.file.filename}": pin.file for pin in pins if pin.file.sha256 not in known}


def strangers(present: Iterable[str], plan: Plan) -> list[str]:
    """What in a folder cannot be of this bundle, sorted; ``present`` are paths of files below it, with slashes."""
    files = {pin.file.filename for pin in (*plan.wheels, *plan.build)}
    sdists = {pin.file.filename for pin in plan.sdists}
    found = []
    for path in present:
        path = path.removesuffix(".new")  # a text that was not finished
        folder, _, name = path.rpartition("/")
        known = {"": _TEXTS, WHEELS: files, SDISTS: sdists}.get(folder, set())
        own = PurePosixPath(path).parts[0] in (PARTIAL, SCRATCH)
        if not (own or name in known or (folder == WHEELS and built_pin(name, plan))):
            found.append(path)
    return sorted(found)


def built_pin(filename: str, plan: Plan) -> Pin | None:
    """The sdist of the plan out of which a wheel of this name may have been built, if it suits the target."""
    try:
        name, version = parse_wheel_filename(filename)[:2]
    except InvalidWheelFilename:
        return None
    for pin in plan.sdists:
        if (pin.name, pin.version) == (name, str(version)) and wheel_rank(filename, plan.target) is not None:
            return pin
    return None


def needed_to_build(build: Lockfile, sdists: Iterable[Pin], python: str) -> list[LockedPin]:
    """The pins of ``build.txt`` that serve these sdists on this Python: its ``via`` lines tell who asks for what."""
    pins = [pin for pin in build.pins if python in pin.pythons]
    askers = {f"{pin.name}=={pin.version}" for pin in sdists}
    chosen: dict[str, LockedPin] = {}
    while more := [pin for pin in pins if pin.name not in chosen and askers & set(pin.via)]:
        chosen |= {pin.name: pin for pin in more}
        askers |= {f"{pin.name}=={pin.version}" for pin in more}
    return [pin for pin in pins if pin.name in chosen]


def sums_text(sums: Mapping[str, str]) -> str:
    """``SHA256SUMS`` of paths and their sha256, as ``sha256sum -c`` reads it."""
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))


def parse_sums(text: str) -> dict[str, str]:
    """The inverse of ``sums_text``; lines of another kind are left out."""
    rows = (line.partition("  ") for line in text.splitlines())
    return {path: digest for digest, _, path in rows if len(digest) == 64 and path}
