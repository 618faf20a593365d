"""The table of versions that an ELF file needs (LSB, "Symbol Versioning"), found without knowing where it stands.

It verifies itself: beside the place of each version's name stands the hash of the name. A table and a place of
its strings are taken only if all hashes are right. Crafted files are given up after so many steps.
"""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from lockgrid.adapters.elfformat import Layout

# Steps that crafted tables may cost, and the longest table and name that are followed.
_STEPS = 500_000
_ENTRIES_LIMIT = 4096
_NAME_LIMIT = 512
# gABI and LSB: VER_NEED_CURRENT; both structures take 16 bytes in 32 and 64 bits.
_RECORD = 16
_NEAR = 64 * _RECORD  # a record and its entries take no more, or are given up
_HIDDEN = 0x7FFF  # a version's number in .gnu.version is below its highest bit

#: What a library may be called: ``libc.so.6``, ``ld-linux-x86-64.so.2``, ``_imaging.cpython-312.so``.
_LIBRARY = rb"[\w.+@-]{1,128}\.so(?:\.[\w.-]{1,64})?"
_IS_LIBRARY = re.compile(_LIBRARY)
_REPAIRED = re.compile(rb"(.+)-[0-9a-f]{8}(\.so.*)")
_LIBRARIES = re.compile(rb"(?<=\0)" + _LIBRARY + rb"(?=\0)")
# No name holds control characters; empty strings are what is left where a search path was shortened.
_STRINGS_END = re.compile(rb"[\x01-\x1f]")
# vn_version is 1, vn_cnt is not 0, vn_aux and vn_next are multiples of 16 below 16 MB.
_LOW = b"[" + b"".join(re.escape(bytes([low])) for low in range(0, 256, 16)) + b"]"
_RECORDS = {
    "<": re.compile(rb"\x01\0(?=(?!\0\0)......%b..\0%b..\0)" % (_LOW, _LOW), re.DOTALL),
    ">": re.compile(rb"\0\x01(?=(?!\0\0)......\0..%b\0..%b)" % (_LOW, _LOW), re.DOTALL),
}


class GiveUpError(Exception):
    """The beginning does not say it, or would take too many steps."""


class Budget:
    """The steps that are left for one file."""

    def __init__(self, steps: int = _STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Raises ``GiveUpError`` when none are left."""
        self._left -= steps
        if self._left < 0:
            raise GiveUpError("its tables take too many steps")


def elf_hash(name: bytes) -> int:
    """The hash function of the gABI, with which versions are looked up."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def _common() -> dict[int, bytes]:
    """Names of versions by their hash, one of which nearly every file needs."""
    names = [f"GLIBC_2.{n}" for n in range(100)]
    names += [f"GLIBC_2.{n}.{m}" for n in range(4) for m in range(1, 7)]
    names += ["GLIBCXX_3.4", *(f"GLIBCXX_3.4.{n}" for n in range(1, 60)), "CXXABI_1.3"]
    names += [f"CXXABI_1.3.{n}" for n in range(1, 30)] + ["GCC_3.0", "GCC_3.3", "GCC_3.4", "GCC_4.2.0", "GLIBC_PRIVATE"]
    return {elf_hash(name.encode()): name.encode() for name in names}


COMMON = _common()


class Version(NamedTuple):
    """A needed version: hash and place of its name, and its number in .gnu.version."""

    hashed: int
    name: int
    number: int


class Library(NamedTuple):
    """A record of the table: the place of a library's name, and what is needed of it."""

    name: int
    versions: tuple[Version, ...]


class Chain(NamedTuple):
    """A table of needed versions that begins at ``start``; whose names stand where is not known yet."""

    start: int
    libraries: tuple[Library, ...]

    @property
    def versions(self) -> Iterator[Version]:
        """Of all libraries."""
        return (version for library in self.libraries for version in library.versions)


def find_chains(layout: Layout, data: bytes, budget: Budget) -> list[Chain]:
    """Whatever is built like a table of needed versions and ends within ``data``."""
    found = []
    seen: set[int] = set()
    for match in _RECORDS[layout.order].finditer(data):
        start = match.start()
        if start % 4 or start in seen:
            continue
        chain = _walk(layout, data, start, seen, budget)
        if chain and not _has_predecessor(layout, data, start, budget):
            found.append(chain)
    return found


def _has_predecessor(layout: Layout, data: bytes, start: int, budget: Budget) -> bool:
    """Whether a record that makes no sense as a whole leads to this one: then this is the rest of a table."""
    record = struct.Struct(layout.order + "2H3I")
    for back in range(_RECORD, min(start, _NEAR) + 1, _RECORD):
        version, count, _, _, following = record.unpack_from(data, start - back)
        if version == 1 and count and following == back:
            return True
    budget.spend(_NEAR // _RECORD // 16)
    return False


def _walk(layout: Layout, data: bytes, start: int, seen: set[int], budget: Budget) -> Chain | None:
    """The table that begins at ``start``. Its records are added to ``seen``: no other table begins at them."""
    record = struct.Struct(layout.order + "2H3I")
    libraries: list[Library] = []
    at = start
    while at not in seen and at + _RECORD <= len(data) and len(libraries) < _ENTRIES_LIMIT:
        budget.spend()
        seen.add(at)
        version, count, name, first, following = record.unpack_from(data, at)
        if version != 1 or not name or first < _RECORD or first % 16 or following % 16:
            return None
        versions = _versions(layout, data, at + first, count, budget)
        if versions is None:
            return None
        libraries.append(Library(name, versions))
        if not following:
            return Chain(start, tuple(libraries))
        at += following
    return None


def _versions(layout: Layout, data: bytes, at: int, count: int, budget: Budget) -> tuple[Version, ...] | None:
    """The ``count`` entries at ``at``, None where they are no entries."""
    if not 0 < count <= _ENTRIES_LIMIT or at + count * _RECORD > len(data):
        return None
    found = []
    for number, (hashed, flags, index, name, following) in enumerate(
        struct.Struct(layout.order + "I2H2I").iter_unpack(data[at : at + count * _RECORD]), 1
    ):
        budget.spend()
        if flags > 7 or not name or following != (_RECORD if number < count else 0):
            return None
        found.append(Version(hashed, name, index & _HIDDEN))
    return tuple(found)


def find_names(data: bytes, chain: Chain, budget: Budget) -> int | None:
    """Where the strings begin that this table names, so that all its hashes are right."""
    known = next(((COMMON[v.hashed], v.name) for v in chain.versions if v.hashed in COMMON), None)
    # To search through everything takes steps as well.
    budget.spend(len(data) // (1024 if known else 64))
    if known:
        name, offset = known
        places = (match.start() for match in re.finditer(re.escape(name + b"\0"), data))
    else:
        offset = chain.libraries[0].name
        places = (match.start() for match in _LIBRARIES.finditer(data))
    for place in places:
        base = place - offset
        budget.spend()
        if base >= 0 and data[base] == 0 and _agree(data, base, chain, budget):
            return base
    return None


def _agree(data: bytes, base: int, chain: Chain, budget: Budget) -> bool:
    """Whether all of the table's names stand there."""
    for library in chain.libraries:
        for version in library.versions:
            name = string_at(data, base + version.name)
            budget.spend(1 + len(name) // 16)
            if not name or elf_hash(name) != version.hashed:
                return False
        if not _IS_LIBRARY.fullmatch(string_at(data, base + library.name)):
            return False
    return True


def string_at(data: bytes, at: int) -> bytes:
    """The string that begins there; empty where it does not end."""
    end = data.find(b"\0", at, at + _NAME_LIMIT)
    return data[at:end] if end >= 0 else b""


def strings_end(data: bytes, base: int) -> int | None:
    """Behind the end of the strings that begin at ``base``, None if there is more than ``data`` of them."""
    match = _STRINGS_END.search(data, base)
    return match.start() if match else None


def needed_versions(data: bytes, base: int, chain: Chain) -> Iterator[tuple[bytes, bytes, int]]:
    """Library, version and its number."""
    for library in chain.libraries:
        file = string_at(data, base + library.name)
        for version in library.versions:
            yield file, string_at(data, base + version.name), version.number


def needed_libraries(strings: bytes, chain: Chain, name: str) -> list[bytes]:
    """Those of the strings that name a library, but for the file's own name.

    The dynamic section would say which are needed. Others are rare: a file names hardly any but itself.
    """
    own = name.rpartition("/")[2].encode()
    stems = {stem(own), *map(stem, originals(own))}
    found = [string_at(strings, library.name) for library in chain.libraries]
    found += [file for file in _LIBRARIES.findall(strings) if stem(file) not in stems]
    return list(dict.fromkeys(found))


def stem(library: bytes) -> bytes:
    """``libz`` of ``libz.so.1``."""
    return library.partition(b".so")[0]


def originals(library: bytes) -> Iterator[bytes]:
    """What a library was called before auditwheel, once or twice: libz.so.1 was made libz-0123abcd.so.1."""
    while match := _REPAIRED.fullmatch(library):
        library = b"".join(match.groups())
        yield library


def find_symbols(layout: Layout, data: bytes, chain: Chain, base: int) -> dict[int, bytes]:
    """The alphabetically first symbol for each number of a version, where the tables stand as GNU ld puts them.

    That is: symbols, strings, numbers of the symbols' versions (2 bytes each), needed versions. Empty where
    they stand otherwise.
    """
    size = layout.symbol_size
    # The first symbol, and no other, is all zeros.
    first = data.rfind(bytes(size), 0, base)
    first -= (first - base) % size
    if first < 0 or any(data[first : first + size]):
        return {}
    count = (base - first) // size
    for padding in (6, 4, 2, 0):
        start = chain.start - padding - 2 * count
        # The first number is 0, before it stands the end of a string, and behind the last is nothing.
        if start <= base + 2 or any(data[start + 2 * count : chain.start]):
            continue
        if not any(data[start - 1 : start + 2]) and any(data[start - 3 : start - 1]):
            break
    else:
        return {}
    numbers = array("H", data[start : start + 2 * count])
    if (layout.order == ">") != (sys.byteorder == "big"):
        numbers.byteswap()
    wanted = {version.number for version in chain.versions}
    # 0 and 1 are what is not versioned. Others belong to versions that the file itself defines.
    if not {index & _HIDDEN for index in set(numbers)} <= wanted | {0, 1}:
        return {}
    symbols: dict[int, bytes] = {}
    name = struct.Struct(layout.order + "I")
    for number, index in enumerate(numbers):
        if index & _HIDDEN in wanted:
            text = string_at(data, base + name.unpack_from(data, first + number * size)[0])
            if text:
                symbols[index & _HIDDEN] = min(symbols.get(index & _HIDDEN) or text, text)
    return symbols
