"""What an ELF file needs, from its beginning alone: linkers put the tables of proof 4 before the code.

Where the tables stand is said in the dynamic section, near the end. The table of needed versions tells by
itself whether it was found, though: it holds the hash of each version's name beside the place of the name.
What is answered here has every one of its hashes right; where nothing is found, the whole file has to be read.
"""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, NamedTuple

from lockgrid.adapters.elfformat import (
    HEADER_BYTES,
    PF_W,
    PF_X,
    PT_DYNAMIC,
    PT_LOAD,
    Header,
    Layout,
    ReadEnd,
    Segment,
    read_header,
)

# The prefix is looked at after so many bytes, and whenever it is twice as long.
_FIRST = 32 * 1024
# Longer it does not get: libtriton's tables end at 25 MB.
_LONGEST = 32 * 1024 * 1024
_BIG = 4 * 1024 * 1024  # from here on, half as long again
_CHUNK = 16 * 1024  # zipfile takes as many compressed bytes as it is asked for uncompressed ones
# patchelf puts what it changed to a new segment at the end. Linkers leave the section headers there, which take more.
_HEADERS = 1024
# Steps that crafted tables may cost, and the longest table and name that are followed.
_STEPS = 1_000_000
_ENTRIES_LIMIT = 4096
_NAME_LIMIT = 512
# gABI and LSB: VER_NEED_CURRENT; both structures take 16 bytes in 32 and 64 bits.
_RECORD = 16
_HIDDEN = 0x7FFF  # a version's number in .gnu.version is below its highest bit

#: What a library may be called: ``libc.so.6``, ``ld-linux-x86-64.so.2``, ``_imaging.cpython-312.so``.
_LIBRARY = rb"[\w.+@-]{1,128}\.so(?:\.[\w.-]{1,64})?"
_IS_LIBRARY = re.compile(_LIBRARY)
_REPAIRED = re.compile(rb"(.+)-[0-9a-f]{8}(\.so.*)")
_LIBRARIES = re.compile(rb"(?<=\0)" + _LIBRARY + rb"(?=\0)")
# No name holds control characters; empty strings are what is left where a search path was shortened.
_STRINGS_END = re.compile(rb"[\x01-\x1f]")
# vn_version is 1, vn_cnt is not 0, vn_aux and vn_next are multiples of 16 below 16 MB.
_RECORDS = {
    "<": re.compile(rb"\x01\0(?=(?!\0\0)......[\0-\xf0]..\0[\0-\xf0]..\0)", re.DOTALL),
    ">": re.compile(rb"\0\x01(?=(?!\0\0)......\0..[\0-\xf0]\0..[\0-\xf0])", re.DOTALL),
}


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

    hash: int
    name: int
    index: int


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


class Head(NamedTuple):
    """What the file says: its machine, whether it is dynamically linked, and the libraries that it needs.

    ``versions``: library, version, and the number by which ``symbols`` name one that needs it.
    """

    machine: int
    dynamic: bool
    versions: tuple[tuple[bytes, bytes, int], ...] = ()
    libraries: tuple[bytes, ...] = ()
    symbols: dict[int, bytes] = {}


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


def read_head(stream: BinaryIO, size: int, name: str, read_end: ReadEnd) -> Head:
    """What the beginning of the ELF file ``name`` of ``size`` bytes says; no more is read than that takes.

    Raises ``GiveUpError`` where the exact reader has to be asked, ``BrokenBinaryError``, and whatever
    reading the stream raises.
    """
    data = bytearray()
    _fill(stream, data, _FIRST)
    header = read_header(bytes(data[:HEADER_BYTES]))
    start, end = header.table
    if end > len(data):
        raise GiveUpError("its segments are not named at its beginning")
    segments = header.segments(bytes(data[start:end]))
    if not any(s.kind == PT_DYNAMIC and s.size for s in segments):
        return Head(header.machine, dynamic=False)
    loads = sorted((s for s in segments if s.kind == PT_LOAD and s.size), key=lambda s: s.offset)
    if not loads:
        raise GiveUpError("nothing of it is loaded")
    region = _region(loads)
    last = size - loads[-1].offset
    moved = size - loads[-1].end < _HEADERS and last <= _LONGEST and len(loads) > 1
    search = _Search(header, name, Budget(), partial(read_end, last) if moved else None)
    _skip(stream, region.offset - len(data))
    del data[: region.offset]
    limit = min(region.size, _LONGEST)
    while True:
        found = search.look(bytes(data[:limit]), whole=len(data) >= limit)
        if found is not None:
            return found
        more = max(_FIRST, 2 * len(data) if len(data) < _BIG else len(data) * 3 // 2)
        if len(data) >= limit or not _fill(stream, data, min(limit, more)):
            raise GiveUpError("its tables do not stand at its beginning")


def _fill(stream: BinaryIO, data: bytearray, length: int) -> bool:
    """Read on until there are ``length`` bytes; whether any came."""
    before = len(data)
    while len(data) < length and (chunk := stream.read(min(_CHUNK, length - len(data)))):
        data += chunk
    return len(data) > before


def _skip(stream: BinaryIO, count: int) -> None:
    while count > 0 and (chunk := stream.read(min(_CHUNK, count))):
        count -= len(chunk)


def _region(loads: list[Segment]) -> Segment:
    """The segment whose beginning the tables are."""
    # mold without a segment of its own for headers: the code comes first, what is only read comes second.
    if len(loads) > 1 and loads[0].flags & PF_X and not loads[1].flags & (PF_X | PF_W):
        return loads[1]
    return loads[0]


class _Search(NamedTuple):
    """What is looked for. ``behind``: gives the file's last segment, where its strings may have been moved to."""

    header: Header
    name: str
    budget: Budget
    behind: Callable[[], bytes | None] | None

    def look(self, data: bytes, *, whole: bool) -> Head | None:
        """What these first bytes say; ``whole``: there are no more. Raises ``GiveUpError``."""
        for chain in find_chains(self.header.layout, data, self.budget):
            base = find_names(data, chain, self.budget)
            if base is not None:
                end = chain.start if base < chain.start else strings_end(data, base)
                return self._head(chain, data, base, end) if end or whole else None
            if self.behind and any(version.hash in COMMON for version in chain.versions):
                strings = self.behind()
                base = find_names(strings, chain, self.budget) if strings else None
                if strings is None or base is None:
                    raise GiveUpError("its names are not at its end")
                head = self._head(chain, strings, base, None)
                return head._replace(libraries=tuple(_current(head.libraries)), symbols={})
        return None

    def _head(self, chain: Chain, data: bytes, base: int, end: int | None) -> Head:
        return Head(
            machine=self.header.machine,
            dynamic=True,
            versions=tuple(needed_versions(data, base, chain)),
            libraries=tuple(needed_libraries(data[base:end], chain, self.name)),
            symbols=_symbols(self.header.layout, data, chain, base) if end == chain.start else {},
        )


def _current(libraries: Sequence[bytes]) -> list[bytes]:
    """Without the names that auditwheel replaced, which may still be among the strings."""
    replaced = {_stem(original) for library in libraries for original in _originals(library)}
    return [library for library in libraries if _stem(library) not in replaced]


def find_chains(layout: Layout, data: bytes, budget: Budget) -> list[Chain]:
    """Whatever is built like a table of needed versions and ends within ``data``."""
    found = []
    seen: set[int] = set()
    for match in _RECORDS[layout.order].finditer(data):
        start = match.start()
        if start % 4 == 0 and start not in seen and (chain := _walk(layout, data, start, seen, budget)):
            found.append(chain)
    return found


def _walk(layout: Layout, data: bytes, start: int, seen: set[int], budget: Budget) -> Chain | None:
    """The table that begins at ``start``. Its records are added to ``seen``: no other table begins at them."""
    record = struct.Struct(layout.order + "2H3I")
    libraries = []
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
    known = next(((COMMON[v.hash], v.name) for v in chain.versions if v.hash in COMMON), None)
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
            if not name or elf_hash(name) != version.hash:
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
            yield file, string_at(data, base + version.name), version.index


def needed_libraries(strings: bytes, chain: Chain, name: str) -> list[bytes]:
    """Those of the strings that name a library, but for the file's own name.

    The dynamic section would say which are needed. Others are rare: a file names hardly any but itself.
    """
    own = name.rpartition("/")[2].encode()
    stems = {_stem(own), *map(_stem, _originals(own))}
    found = [string_at(strings, library.name) for library in chain.libraries]
    found += [file for file in _LIBRARIES.findall(strings) if _stem(file) not in stems]
    return list(dict.fromkeys(found))


def _stem(library: bytes) -> bytes:
    return library.partition(b".so")[0]


def _originals(library: bytes) -> Iterator[bytes]:
    """What a library was called before auditwheel, once or twice: libz.so.1 was made libz-0123abcd.so.1."""
    while match := _REPAIRED.fullmatch(library):
        library = b"".join(match.groups())
        yield library


def _symbols(layout: Layout, data: bytes, chain: Chain, base: int) -> dict[int, bytes]:
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
    wanted = {version.index for version in chain.versions}
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
