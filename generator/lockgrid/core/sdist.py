"""What a sdist says of itself: read from its archive, without running any of it.

Its build requirements (PEP 517, 518), and its metadata where that is static (PEP 643).
"""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from lockgrid.core.requirement import Demand, demand, parse_demand
from lockgrid.errors import ToolError
from lockgrid.model.index import DistMetadata
from lockgrid.model.spec import Environment

# PEP 517: what a source tree without [build-system] gets; uv asks for the same.
_LEGACY = ("setuptools>=40.8.0",)
_LEGACY_BACKEND = "setuptools.build_meta:__legacy__"
_LIMIT = 1024 * 1024
# PEP 643: since this version of core metadata, what is not named dynamic is static.
_STATIC = Version("2.2")
# What a lock reads of metadata: none of it may be dynamic.
_READ = {"requires-dist", "requires-python", "provides-extra"}


def build_requirements(filename: str, data: bytes) -> tuple[str, ...]:
    """``[build-system] requires`` of the sdist, or setuptools where it has no such table. Raises ``ToolError``."""
    try:
        return build_system(_member(filename, data, "pyproject.toml")).requires
    except ValueError as error:
        raise _unreadable(filename, str(error)) from error


@dataclass(frozen=True, slots=True)
class BuildSystem:
    """``[build-system]`` (PEP 517, 518): what it requires, the backend as ``module:object``, folders that hold it."""

    requires: tuple[str, ...] = _LEGACY
    backend: str = _LEGACY_BACKEND
    path: tuple[str, ...] = ()


def build_system(text: bytes) -> BuildSystem:
    """What a ``pyproject.toml`` says, or the legacy of setuptools where it has no such table. Raises ``ValueError``."""
    try:
        table = tomllib.loads(text.decode()).get("build-system")
        if table is None:
            return BuildSystem()
        requires = tuple(str(Requirement(line)) for line in _requires(table))
    except (ValueError, InvalidRequirement) as error:
        raise ValueError(f"pyproject.toml: {error}") from error
    backend, path = table.get("build-backend", _LEGACY_BACKEND), table.get("backend-path", [])
    if not isinstance(backend, str) or not isinstance(path, list):
        raise ValueError("pyproject.toml: [build-system] is none")
    return BuildSystem(requires, backend, tuple(map(str, path)))


def pkg_info(filename: str, data: bytes) -> bytes:
    """The PKG-INFO of the sdist. Raises ``ToolError`` for an archive that cannot be read."""
    return _member(filename, data, "PKG-INFO")


def static_metadata(text: bytes) -> bytes | None:
    """The PKG-INFO where every wheel built from its sdist will say the same (PEP 643), else None."""
    raw, _ = parse_email(text)
    try:
        if Version(raw.get("metadata_version", "")) < _STATIC:
            return None
    except InvalidVersion:
        return None
    return None if _READ & {field.lower() for field in raw.get("dynamic", ())} else text


def asked_extras(
    environments: Iterable[Environment], distributions: Iterable[DistMetadata]
) -> dict[str, frozenset[str]]:
    """The extras, normalised, that the environments or the distributions ask of each package, on any target."""
    demands: list[Demand | None] = [demand(d.requirement) for e in environments for d in e.requires]
    demands += [parse_demand(line) for metadata in distributions for line in metadata.requires_dist]
    asked: dict[str, frozenset[str]] = {}
    for found in demands:
        if found:
            asked[found.name] = asked.get(found.name, frozenset()) | found.extras
    return asked


def _requires(table: object) -> list[str]:
    """The value of ``requires`` in a ``[build-system]``."""
    if not isinstance(table, dict):
        raise ValueError("build-system must be a table")
    if "requires" not in table:
        raise ValueError("[build-system] has no requires, which PEP 518 asks for")
    lines = table["requires"]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ValueError("build-system.requires must be a list of strings")
    return lines


def _unreadable(filename: str, what: str) -> ToolError:
    return ToolError(
        f"the sdist cannot be read: {what}", where=filename, next_step="require another version, or one with a wheel"
    )


def _member(filename: str, data: bytes, name: str) -> bytes:
    """A file of the top folder, empty when it is not there. Raises ``ToolError`` for a broken archive."""
    try:
        return _read_member(filename, data, name)
    except Exception as error:  # each archive and compression fails in its own way
        raise _unreadable(filename, str(error)) from error


def _read_member(filename: str, data: bytes, name: str) -> bytes:
    if filename.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if _is_top(info.filename, name) and info.file_size <= _LIMIT:
                    return archive.read(info)
        return b""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive_:
        for member in archive_:
            if member.isfile() and _is_top(member.name, name) and member.size <= _LIMIT:
                file = archive_.extractfile(member)
                return file.read() if file else b""
    return b""


def _is_top(path: str, name: str) -> bool:
    parts = PurePosixPath(path).parts
    return len(parts) == 2 and parts[1] == name
