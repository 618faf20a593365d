"""``uv.lock`` held to ``locks/``: which of its files some lockfile has, which locked files it lacks.

It is read and cut line by line, as uv writes it: every file stands on a line of its own. Where that is not so the file
is refused, never misread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.grid import LockedPin, OldLocks
from lockgrid.model.target import Target

PATH = "uv.lock"
_NEXT = "nothing was written; use an index that has these files, or lock anew: `lockgrid lock -P NAME`"
_VALUE = re.compile(r'(name|version) = "([^"]*)"')
_REGISTRY = re.compile(r'source = \{ registry = "([^"]*)" \}')
_FILE = re.compile(r'\{ (?:url|path|filename) = "([^"]*)"(?:, hash = "sha256:([0-9a-f]{64})")?(?:, [^{}]*)? \}')
_REFUSED = re.compile(r"(?:sdist|wheels) = |source = |name = |version = ")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in ``uv.lock``: the number of its line, its URL or path, its sha256 (empty where the index tells none)."""

    line: int
    location: str
    sha256: str

    @property
    def filename(self) -> str:
        """The last part of the location."""
        return unquote(self.location.rpartition("/")[2])


@dataclass(slots=True)
class ListedPackage:
    """A package in ``uv.lock``. ``registry`` is empty where it comes from no index: then nothing of it is cut."""

    name: str = ""
    version: str = ""
    registry: str = ""
    files: list[ListedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UvLock:
    """The lines of a ``uv.lock``, and what they say."""

    lines: tuple[str, ...]
    packages: tuple[ListedPackage, ...]


def parse(text: str) -> UvLock:
    """Read a ``uv.lock``; raises ``ToolError`` where it is written in another way than uv 0.11 to 0.13 do."""
    lines = tuple(text.splitlines(keepends=True))
    packages: list[ListedPackage] = []
    inside = False  # a list of wheels
    apart = False  # a table below a package, where an extra may be called "wheels"
    for number, raw in enumerate(lines):
        line = raw.rstrip()
        if line == "[[package]]":
            packages.append(ListedPackage())
            apart = False
        elif line.startswith("["):
            apart = True
        elif apart or not packages or (line.startswith(" ") and not inside):
            continue
        elif line == "wheels = [":
            inside = True
        elif inside and line == "]":
            inside = False
        elif inside or line.startswith("sdist = "):
            found = _FILE.fullmatch(line.strip().removeprefix("sdist = ").removesuffix(","))
            if found is None:
                raise _unknown(number, line)
            packages[-1].files.append(ListedFile(number, found[1], found[2] or ""))
        elif value := _VALUE.fullmatch(line):
            setattr(packages[-1], value[1], value[2])
        elif source := _REGISTRY.fullmatch(line):
            packages[-1].registry = source[1]
        elif _REFUSED.match(line) and not line.startswith("source = {"):
            raise _unknown(number, line)
    return UvLock(lines, tuple(packages))


def _unknown(number: int, line: str) -> ToolError:
    return ToolError(
        f"line {number + 1} is written in a way that this lockgrid does not know: {line.strip()[:100]}",
        where=PATH,
        next_step="nothing was written; use an older uv, or a newer lockgrid",
    )


def check(lock: UvLock, locks: OldLocks, domain: Mapping[str, Sequence[Target]], hashes: Mapping[int, str]) -> None:
    """Raise ``ToolError`` that names every file of the lockfiles of ``domain`` that ``lock`` does not list.

    ``domain`` are environments with the targets to serve, ``hashes`` the sha256 of files on this machine by line. Of
    an environment with fewer targets than its lockfiles have (the project admits fewer Pythons), uv leaves out files.
    """
    listed: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for package in lock.packages:
        if package.registry:
            files = listed.setdefault((package.name, package.version), [])
            files += [(file.filename, file.sha256 or hashes.get(file.line, "")) for file in package.files]
    lost: dict[tuple[str, str], dict[str, None]] = {}
    differs = False
    for (environment, platform), lockfile in locks.items():
        targets = {t.python: t for t in domain.get(environment, ()) if t.platform.name == platform}
        for pin in lockfile.pins if targets else ():
            files = listed.get((pin.name, pin.version), [])
            present = {digest for _, digest in files}
            where = [targets[python] for python in pin.pythons if python in targets]
            gone = [digest for digest in pin.hashes if digest not in present]
            if len(where) < len(pin.pythons) and all(_served(target, files, pin) for target in where):
                continue
            for digest in gone:
                said, other = _instead(pin, where, files)
                differs |= other
                key = f"{pin.name}=={pin.version}: no file with sha256 {digest}{said}"
                lost.setdefault((pin.name, key), {})[f"locks/{environment}/{platform}.txt"] = None
    if lost:
        lines = [f"{what} ({', '.join(where)})" for (_, what), where in sorted(lost.items())]
        kind = HashMismatchError if differs else ToolError
        raise kind("the index lacks files that locks/ holds:\n    " + "\n    ".join(lines), where=PATH, next_step=_NEXT)


def _served(target: Target, files: Iterable[tuple[str, str]], pin: LockedPin) -> bool:
    return any(digest in pin.hashes and _fits(name, target) for name, digest in files)


def _fits(filename: str, target: Target) -> bool:
    from lockgrid.core.candidates import wheel_rank  # only where something is amiss

    return not filename.endswith(".whl") or wheel_rank(filename, target) is not None


def _instead(pin: LockedPin, where: Sequence[Target], files: Sequence[tuple[str, str]]) -> tuple[str, bool]:
    """What the index has in the place of a lost file, as the end of a sentence, and whether it has other bytes."""
    needy = [target for target in where if not _served(target, files, pin)] or where
    others = [(name, digest) for name, digest in files if digest not in pin.hashes and name.endswith(".whl")]
    others = [(name, digest) for name, digest in others if any(_fits(name, target) for target in needy)]
    others = others or [(name, digest) for name, digest in files if not name.endswith(".whl")]
    said = [f"{name} has {digest}" if digest else f"of {name} it tells no sha256" for name, digest in others]
    return f"; {'; '.join(said)}" if said else "", any(digest for _, digest in others)


def cut(lock: UvLock, locks: OldLocks, hashes: Mapping[int, str]) -> tuple[str, list[str]]:
    """The text with the files that some lockfile holds and no others, each with its sha256.

    Also the packages, as ``name==version``, of which no lockfile holds any file.
    """
    held: dict[tuple[str, str], set[str]] = {}
    for lockfile in locks.values():
        for pin in lockfile.pins:
            held.setdefault((pin.name, pin.version), set()).update(pin.hashes)
    lines = list(lock.lines)
    strangers = []
    for package in lock.packages:
        if not package.registry:
            continue
        mine = held.get((package.name, package.version), set())
        kept = 0
        for file in package.files:
            digest = file.sha256 or hashes.get(file.line, "")
            if digest not in mine:
                lines[file.line] = ""
            else:
                kept += 1
                if not file.sha256:
                    old, new = f'"{file.location}"', f'"{file.location}", hash = "sha256:{digest}"'
                    lines[file.line] = lines[file.line].replace(old, new, 1)
        if not kept:
            strangers.append(f"{package.name}=={package.version}")
    text = "".join(lines)
    return re.sub(r"(?m)^wheels = \[\r?\n\]\r?\n", "", text), strangers
