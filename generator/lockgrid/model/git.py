"""What git and a build say of a package: the files of a commit, what a wheel was built from, a wheel that was built."""

from __future__ import annotations

from dataclasses import dataclass

from lockgrid.model.index import DistMetadata

#: The name of the file, in the .dist-info folder, that tells what a wheel was built from.
PROVENANCE = "lockgrid-git.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    """A file of a commit: its path, git's mode, and the sha256 of its content (of a submodule, of its commit)."""

    path: bytes
    mode: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a wheel was built from. ``build`` and ``pins`` as in ``model.grid.GitWheel``.

    ``requires`` is what ``pyproject.toml`` and the build backend ask for. Nothing in it depends on where or when the
    wheel was built, and no URL is in it.
    """

    rev: str
    subdirectory: str
    tree: str
    platform: str
    python: str
    requires: tuple[str, ...]
    pins: tuple[str, ...]
    build: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltWheel:
    """A wheel in a folder; ``url`` is where. ``provenance`` is its file ``PROVENANCE``, empty where it has none."""

    filename: str
    url: str
    sha256: str
    size: int
    metadata: DistMetadata
    provenance: bytes
