"""What an index says of a project's files (PEP 503, 691, 700, 792)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One file of a project page.

    ``sha256`` is hexadecimal, empty where the index gives none; ``size`` is in bytes; ``yanked`` is the
    reason (PEP 592), None when the file is not yanked; ``metadata_sha256`` is empty where the index does
    not serve METADATA beside the file (PEP 658).
    """

    filename: str
    url: str
    sha256: str = ""
    size: int | None = None
    uploaded: datetime | None = None
    requires_python: str | None = None
    yanked: str | None = None
    metadata_sha256: str = ""

    @property
    def is_wheel(self) -> bool:
        """Whether this is a wheel; everything else that a page lists counts as a sdist."""
        return self.filename.endswith(".whl")


def page_key(name: str, index: str = "") -> str:
    """What a project page is known by: the project's name, and the index where ``[sources]`` names one.

    No name of a package holds an ``@``.
    """
    return f"{name}@{index}" if index else name


#: The names of indexes that stand for a git source begin so; those of ``[sources]`` and ``[indexes]`` may not.
GIT_INDEX = "git."


def is_git(index: str) -> bool:
    """Whether what has this name as an index is a git source (``model.spec.GitSource``)."""
    return index.startswith(GIT_INDEX)


def split_key(key: str) -> tuple[str, str]:
    """The inverse of ``page_key``: the name, and the index or nothing."""
    name, _, index = key.partition("@")
    return name, index


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A project page: its files by version, and whether the project is quarantined (PEP 792).

    The versions are in normal form (PEP 440); files whose names follow no specification are left out.
    ``releases`` may be a mapping that builds its values when they are asked for. ``digest`` is of all that
    the page says, ``newest`` the upload time of its newest file, None where a file has none.
    """

    name: str
    releases: Mapping[str, tuple[IndexFile, ...]] = field(default_factory=dict)
    missing: bool = False
    quarantined: bool = False
    digest: str = ""
    newest: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """What METADATA says of the licence, as it is written there.

    ``expression`` is ``License-Expression`` (PEP 639), ``text`` the first line of ``License``, both empty where absent;
    ``classifiers`` are those that begin with ``License ::``.
    """

    expression: str = ""
    text: str = ""
    classifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DistMetadata:
    """The part of a distribution's METADATA that lockgrid reads (core metadata specification).

    All but ``licence`` is for the closure proof, which hashes these values often.
    """

    name: str
    version: str
    requires_dist: tuple[str, ...] = ()
    requires_python: str | None = None
    provides_extra: tuple[str, ...] = ()
    licence: Licence = field(default=Licence(), hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdist:
    """What a sdist says of itself: its build requirements, and its metadata where that is static (PEP 643).

    The ``licence`` is read in any case: no build changes it.
    """

    build_requires: tuple[str, ...]
    metadata: DistMetadata | None = None
    licence: Licence = Licence()
