"""What a sdist needs to be built (PEP 517, 518): read from its archive, without running any of it."""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from pathlib import PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement

from lockgrid.errors import ToolError

# PEP 517: what a source tree without [build-system] gets; uv asks for the same.
_LEGACY = ("setuptools>=40.8.0",)
_LIMIT = 1024 * 1024


def build_requirements(filename: str, data: bytes) -> tuple[str, ...]:
    """``[build-system] requires`` of the sdist, or setuptools where it has no such table. Raises ``ToolError``."""
    try:
        text = _pyproject(filename, data)
    except Exception as error:  # each archive and compression fails in its own way
        raise _unreadable(filename, str(error)) from error
    try:
        table = tomllib.loads(text).get("build-system")
        requires = _LEGACY if table is None else tuple(_requires(table))
        return tuple(str(Requirement(line)) for line in requires)
    except (ValueError, InvalidRequirement) as error:
        raise _unreadable(filename, f"pyproject.toml: {error}") from error


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


def _pyproject(filename: str, data: bytes) -> str:
    """The text of the top folder's pyproject.toml, empty when there is none."""
    if filename.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if _is_manifest(info.filename) and info.file_size <= _LIMIT:
                    return archive.read(info).decode()
        return ""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive_:
        for member in archive_:
            if member.isfile() and _is_manifest(member.name) and member.size <= _LIMIT:
                file = archive_.extractfile(member)
                return file.read().decode() if file else ""
    return ""


def _is_manifest(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) == 2 and parts[1] == "pyproject.toml"
