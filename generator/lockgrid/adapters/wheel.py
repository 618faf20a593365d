"""METADATA out of a wheel on an index, fetched by HTTP range requests where the server allows them.

``zipfile`` reads the archive; it is given a file of which only some parts are here, and says which other
parts it wants.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from packaging.metadata import RawMetadata, parse_email
from packaging.utils import (
    canonicalize_name,
    canonicalize_version,
    parse_sdist_filename,
    parse_wheel_filename,
)

from lockgrid.adapters.source import SeekableFile
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import DistMetadata, IndexFile, Licence

# The end of a wheel: usually its directory and, just before it, the .dist-info folder.
TAIL_BYTES = 24 * 1024
# Smaller wheels are fetched whole and hashed: it costs the same one request.
WHOLE_BYTES = 48 * 1024
# More than any honest METADATA (the longest seen is under 1 MB).
_METADATA_LIMIT = 16 * 1024 * 1024
_STEP = 16 * 1024
_DIRECTORY_STEP = 160 * 1024
# APPNOTE 4.3.16: signature, two disk numbers, two entry counts, directory size and offset, comment length.
_END = struct.Struct("<4s4H2LH")
# APPNOTE 4.3.12: the lengths of name, extra field and comment.
_ENTRY_LENGTHS = struct.Struct("<3H")
# Core metadata ends where the description begins, which is most of the file and of no use here.
_HEADERS_END = re.compile(rb"\r?\n\r?\n")
# Some write a whole licence into the field License; its first line is its name.
_LICENCE_LIMIT = 200
_BROKEN = "the file is broken on the index; require another version"

#: Fetches ``[start, end)`` of a file and answers with the bytes, and with the offset at which they begin:
#: 0 with the whole file when the server ignores ranges. ``start`` may be negative: the last bytes.
FetchRange = Callable[[int, int | None], Awaitable[tuple[int, bytes, int]]]


class _Missing(Exception):
    """The archive reader wants bytes that are not here yet."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"{start}-{end}")
        self.start = start
        self.end = end


class _Sparse(SeekableFile):
    """A seekable file of ``size`` bytes of which some spans are known."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.spans: list[tuple[int, bytes]] = []

    def add(self, start: int, data: bytes) -> None:
        """``data`` stands at ``start``; where spans overlap, the one that was added first is read."""
        self.spans.append((start, data))

    def span(self, start: int, end: int) -> bytes:
        for at, data in self.spans:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        raise _Missing(start, end)


async def read_metadata(file: IndexFile, fetch: FetchRange) -> bytes:
    """The METADATA of a wheel, by as few and as small requests as do it.

    A wheel that arrives whole is checked against the index's sha256. Raises ``HashMismatchError`` when it
    differs and ``ToolError`` when the archive is none or holds no such member.
    """
    whole = file.size is not None and file.size <= WHOLE_BYTES
    start, data, total = await fetch(0, None) if whole else await fetch(-TAIL_BYTES, None)
    if start == 0 and len(data) == total:
        check_hash(file, data)
    try:
        at, entry = await _find_entry(file, start, data, fetch)
        archive = _archive_of_one(at, entry)
        archive.add(start, data)
        return await _read_member(file, archive, fetch)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, NotImplementedError) as error:
        raise _unreadable(file, f"the wheel is no valid zip archive: {error}") from error


async def _find_entry(file: IndexFile, start: int, data: bytes, fetch: FetchRange) -> tuple[int, bytes]:
    """The entry for METADATA in the archive's directory, and its offset in the archive.

    ``data`` is the end of the archive, from ``start``. torch has 13,000 members and a directory of a
    megabyte; wheels should be written with their .dist-info last, so the entries at hand are tried before
    the rest of the directory is fetched.
    """
    end = data.rfind(b"PK\5\6")
    if end < 0:
        raise zipfile.BadZipFile("it has no end record")
    _, _, _, _, _, size, offset, _ = _END.unpack_from(data, end)
    if 0xFFFFFFFF in (size, offset):
        raise NotImplementedError("its directory is of the 64-bit kind")
    if offset + size != start + end:
        raise zipfile.BadZipFile("its directory does not end where its end record begins")
    if offset < start:
        found = _first_wanted(file, data, end)
        if found is not None:
            return start + found[0], found[1]
        near = max(offset, start - _DIRECTORY_STEP)
        _, missing, _ = await fetch(near, start)
        data, start, end = missing + data, near, end + len(missing)
        found = _first_wanted(file, data, end)
        if found is not None:
            return start + found[0], found[1]
    if offset < start:
        _, missing, _ = await fetch(offset, start)
        data, start, end = missing + data, offset, end + len(missing)
    found = _wanted(file, data, offset - start, end)
    if found is None:
        raise _unreadable(file, "it holds no METADATA of its own name and version")
    return start + found[0], found[1]


def _first_wanted(file: IndexFile, data: bytes, end: int) -> tuple[int, bytes] | None:
    """The same from a part of the directory: from the first place whose entries fill the space up to ``end``."""
    first = data.find(b"PK\1\2")
    while 0 <= first < end:
        filled, found = _walk(file, data, first, end)
        if filled:
            return found
        first = data.find(b"PK\1\2", first + 1)
    return None


def _wanted(file: IndexFile, data: bytes, first: int, end: int) -> tuple[int, bytes] | None:
    """The entry for the wheel's METADATA among those from ``first``, which must fill the space up to ``end``."""
    filled, found = _walk(file, data, first, end)
    return found if filled else None


def _walk(file: IndexFile, data: bytes, first: int, end: int) -> tuple[bool, tuple[int, bytes] | None]:
    """Whether directory entries follow one another from ``first`` to exactly ``end``, and the one for METADATA."""
    found = None
    position = first
    while position < end:
        if data[position : position + 4] != b"PK\1\2" or position + 46 > end:
            return False, None
        name, extra, comment = _ENTRY_LENGTHS.unpack_from(data, position + 28)
        following = position + 46 + name + extra + comment
        if data.endswith(b".dist-info/METADATA", position + 46, position + 46 + name):
            stem = data[position + 46 : position + 46 + name].decode("utf-8", "replace").partition(".dist-info/")[0]
            if is_own(file.filename, stem):
                found = position, data[position:following]
        position = following
    return position == end, found


def is_own(filename: str, stem: str) -> bool:
    """Whether ``stem``, the ``name-version`` before ``.dist-info``, is that of the wheel ``filename``."""
    name, version = parse_wheel_filename(filename)[:2]
    stated_name, _, stated_version = stem.rpartition("-")
    return canonicalize_name(stated_name) == name and canonicalize_version(stated_version) == canonicalize_version(
        version
    )


def _archive_of_one(at: int, entry: bytes) -> _Sparse:
    """The archive as if its directory held that one entry: ``zipfile`` then reads the member and checks its CRC."""
    record = _END.pack(b"PK\5\6", 0, 0, 1, 1, len(entry), at, 0)
    archive = _Sparse(at + len(entry) + len(record))
    archive.add(at, entry + record)
    return archive


async def _read_member(file: IndexFile, archive: _Sparse, fetch: FetchRange) -> bytes:
    for _ in range(6):  # member header, then member: more only where the header is unusually long
        try:
            archive.seek(0)
            with zipfile.ZipFile(archive) as opened:
                info = opened.infolist()[0]
                if info.file_size > _METADATA_LIMIT:
                    raise _unreadable(file, f"its METADATA claims {info.file_size} bytes")
                if info.flag_bits & 1:  # APPNOTE 4.4.4
                    raise _unreadable(file, "its METADATA is encrypted")
                return _decompressed(opened, info)
        except _Missing as missing:
            start, data, _ = await fetch(missing.start, max(missing.end, missing.start + _STEP))
            archive.add(start, data)
    raise _unreadable(file, "its directory does not lead to a METADATA file")


def _decompressed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(info)
    except (_Missing, zipfile.BadZipFile):
        raise
    except Exception as error:  # each compression fails in its own way, or is missing from this Python
        raise zipfile.BadZipFile(f"its METADATA cannot be decompressed: {error}") from error


def check_hash(file: IndexFile, data: bytes) -> None:
    """Raise ``HashMismatchError`` unless the bytes of a whole file are the ones that the index promised."""
    actual = sha256(data).hexdigest()
    if file.sha256 and actual != file.sha256:
        raise HashMismatchError(
            f"its bytes have sha256 {actual}, and the index promised {file.sha256}",
            where=file.filename,
            next_step="do not install it; tell whoever runs the index",
        )


def check_metadata_hash(file: IndexFile, data: bytes) -> bytes:
    """METADATA served beside a wheel (PEP 658), checked against the hash on the page."""
    actual = sha256(data).hexdigest()
    if actual != file.metadata_sha256:
        raise HashMismatchError(
            f"the METADATA beside it has sha256 {actual}, and the index promised {file.metadata_sha256}",
            where=file.filename,
            next_step="do not install it; tell whoever runs the index",
        )
    return data


def parse_metadata(file: IndexFile, data: bytes) -> DistMetadata:
    """What lockgrid needs of METADATA or PKG-INFO; the name and version must be the file's own."""
    raw = _headers(data)
    if file.is_wheel:
        name, version = parse_wheel_filename(file.filename)[:2]
    else:
        name, version = parse_sdist_filename(file.filename)
    stated = raw.get("name", ""), raw.get("version", "")
    if canonicalize_name(stated[0]) != name or canonicalize_version(stated[1]) != canonicalize_version(version):
        raise ToolError(
            f"its METADATA says {stated[0] or 'no name'} {stated[1] or 'and no version'}, "
            f"the file name says {name} {version}",
            where=file.filename,
            next_step="do not install it; tell whoever published it",
        )
    return DistMetadata(
        name=name,
        version=str(version),
        requires_dist=tuple(" ".join(line.split()) for line in raw.get("requires_dist", [])),
        requires_python=raw.get("requires_python") or None,
        provides_extra=tuple(raw.get("provides_extra", [])),
        licence=_licence(raw),
    )


def parse_licence(data: bytes) -> Licence:
    """What METADATA or PKG-INFO says of the licence."""
    return _licence(_headers(data))


def _headers(data: bytes) -> RawMetadata:
    return parse_email(_HEADERS_END.split(data, maxsplit=1)[0])[0]


def _licence(raw: RawMetadata) -> Licence:
    lines = [" ".join(line.split()) for line in raw.get("license", "").splitlines()]
    return Licence(
        expression=" ".join(raw.get("license_expression", "").split()),
        text=next((line for line in lines if line), "")[:_LICENCE_LIMIT],
        classifiers=tuple(c for c in raw.get("classifiers", []) if c.startswith("License ::")),
    )


def encode_metadata(metadata: DistMetadata) -> bytes:
    """In short form, for the cache."""
    value = [
        metadata.name,
        metadata.version,
        metadata.requires_dist,
        metadata.requires_python,
        metadata.provides_extra,
        encode_licence(metadata.licence),
    ]
    return json.dumps(value, separators=(",", ":")).encode()


def decode_metadata(value: bytes) -> DistMetadata:
    """The inverse of ``encode_metadata``."""
    name, version, requires_dist, requires_python, provides_extra, licence = json.loads(value)
    return DistMetadata(
        name=name,
        version=version,
        requires_dist=tuple(requires_dist),
        requires_python=requires_python,
        provides_extra=tuple(provides_extra),
        licence=decode_licence(licence),
    )


def encode_licence(licence: Licence) -> list[Any]:
    """As a value of JSON."""
    return [licence.expression, licence.text, licence.classifiers]


def decode_licence(value: list[Any]) -> Licence:
    """The inverse of ``encode_licence``, once through JSON."""
    expression, text, classifiers = value
    return Licence(expression=expression, text=text, classifiers=tuple(classifiers))


def _unreadable(file: IndexFile, what: str) -> ToolError:
    return ToolError(what, where=file.filename, next_step=_BROKEN)
