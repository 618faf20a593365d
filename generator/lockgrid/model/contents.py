"""What is inside a wheel, as far as proofs 4 and 5 ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Format = Literal["ELF", "Mach-O", "PE"]
Version = tuple[int, ...]

#: What may be wrong with a member, or with the archive. Its severity is in ``core.archive``.
FaultKind = Literal[
    "binary",
    "corrupt",
    "dist-info",
    "duplicate",
    "encrypted",
    "entry-points",
    "member-path",
    "record",
    "size",
    "symlink",
    "unlisted",
    "unread",
]

# Symbol versions of glibc that are no numbers, and the glibc that first has them.
_MARKS: dict[str, Version] = {"ABI_DT_RELR": (2, 36), "ABI_GNU_TLS": (2, 42), "ABI_GNU2_TLS": (2, 42)}
_NUMBER = re.compile(r"\d+(?:\.\d+)*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A version of a symbol that an ELF file needs from a library: ``GLIBC_2.38`` from ``libc.so.6``.

    ``symbol`` is one of the symbols that need it, empty where the file's symbol table does not say.
    """

    version: str
    library: str
    symbol: str = ""

    @property
    def prefix(self) -> str:
        """``GLIBC``, ``GLIBCXX``, ``CXXABI``, ``GCC``; or another library's own word."""
        return self.version.partition("_")[0]

    @property
    def number(self) -> Version | None:
        """The version as numbers, None where it is none (``GLIBC_PRIVATE``)."""
        text = self.version.partition("_")[2]
        if self.prefix == "GLIBC" and text in _MARKS:
            return _MARKS[text]
        return parse_version(text) if _NUMBER.match(text) and len(text) < 40 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The machine that a file's code is for, and for Mach-O the lowest macOS; a fat Mach-O file has several."""

    machine: str
    minimum: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """An executable or shared library. ``libraries`` are those it asks the dynamic linker for (ELF only).

    ``needs`` hold, for each library and prefix, the highest version. ``linked`` is false for what no
    dynamic linker looks at: object files and static executables. ``partial``: it was read in part; all needs
    are known, and among the libraries may be a name that the file does not ask for.
    """

    path: str
    format: Format
    codes: tuple[Code, ...]
    needs: tuple[Need, ...] = ()
    libraries: tuple[str, ...] = ()
    linked: bool = True
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of the archive: ``sha256`` as RECORD states it (empty where it does not), CRC-32 and size in bytes."""

    path: str
    sha256: str
    crc: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something wrong with ``path`` in the archive (empty: with the archive)."""

    kind: FaultKind
    path: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The inside of one wheel, in the order of its directory.

    ``scripts`` are the console and GUI scripts of entry_points.txt with their targets. ``read`` of ``size``
    bytes of the file were read, ``inflated`` bytes came out of its members.
    """

    filename: str
    members: tuple[Member, ...]
    binaries: tuple[Binary, ...]
    scripts: tuple[tuple[str, str], ...] = ()
    faults: tuple[Fault, ...] = ()
    read: int = 0
    size: int = 0
    inflated: int = 0


def parse_version(text: str) -> Version:
    """``2.28`` as numbers."""
    return tuple(int(part) for part in text.split("."))


def version_text(version: Version) -> str:
    """The inverse of ``parse_version``."""
    return ".".join(map(str, version))
