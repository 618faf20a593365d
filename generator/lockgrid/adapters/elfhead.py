"""What an ELF file needs, from its beginning alone: linkers put the tables of proof 4 before the code.

Where the tables stand is said in the dynamic section, near the end. The table of needed versions tells by
itself whether it was found, though: it holds the hash of each version's name beside the place of the name.
What is answered here has every one of its hashes right; where nothing is found, the whole file has to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from lockgrid.adapters.elfformat import (
    HEADER_BYTES,
    PF_W,
    PF_X,
    PT_DYNAMIC,
    PT_LOAD,
    Header,
    ReadEnd,
    Segment,
    read_header,
)
from lockgrid.adapters.elfneeds import (
    COMMON,
    Budget,
    Chain,
    GiveUpError,
    find_chains,
    find_names,
    find_symbols,
    needed_libraries,
    needed_versions,
    originals,
    stem,
    strings_end,
)

# The prefix is looked at after so many bytes, and whenever it is twice as long.
_FIRST = 32 * 1024
# Longer it does not get, nor does a segment at the end: libtriton's tables end at 18 MB, libtorch's segment has 6 MB.
_LONGEST, _LAST = 32 * 1024 * 1024, 8 * 1024 * 1024
_BIG = 4 * 1024 * 1024  # from here on, half as long again
_CHUNK = 16 * 1024  # zipfile takes as many compressed bytes as it is asked for uncompressed ones
# patchelf puts what it changed to a new segment at the end. Linkers leave the section headers there, which take more.
_HEADERS = 1024


class Head(NamedTuple):
    """What the file says: its machine, whether it is dynamically linked, and the libraries that it needs.

    ``versions``: library, version, and the number by which ``symbols`` name one that needs it.
    """

    machine: int
    dynamic: bool
    versions: tuple[tuple[bytes, bytes, int], ...] = ()
    libraries: tuple[bytes, ...] = ()
    symbols: Mapping[int, bytes] = MappingProxyType({})


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
    moved = size - loads[-1].end < _HEADERS and last <= _LAST and len(loads) > 1
    search = _Search(header, name, Budget(), partial(read_end, last) if moved else None)
    _skip(stream, region.offset - len(data))
    del data[: region.offset]
    limit = min(region.size, _LONGEST)
    while True:
        del data[limit:]
        found = search.look(bytes(data), whole=len(data) == limit)
        if found is not None:
            return found
        more = max(_FIRST, 2 * len(data) if len(data) < _BIG else len(data) * 3 // 2)
        if len(data) == limit or not _fill(stream, data, min(limit, more)):
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
            if self.behind and any(version.hashed in COMMON for version in chain.versions):
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
            symbols=find_symbols(self.header.layout, data, chain, base) if end == chain.start else {},
        )


def _current(libraries: Sequence[bytes]) -> list[bytes]:
    """Without the names that auditwheel replaced, which may still be among the strings."""
    replaced = {stem(original) for library in libraries for original in originals(library)}
    return [library for library in libraries if stem(library) not in replaced]
