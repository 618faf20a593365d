"""METADATA out of a wheel on an index, fetched by HTTP range requests where the server allows them.

``zipfile`` reads the archive; it is given a file of which only some parts are here, and says which other
parts it wants.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Awaitable, Callable
from hashlib import sha256
from zlib import error as ZlibError

from packaging.metadata import parse_email
from packaging.utils import (
    canonicalize_name,
    canonicalize_version,
    parse_sdist_filename,
    parse_wheel_filename,
)

from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import DistMetadata, IndexFile

# The end of a wheel: usually its directory and, just before it, the .dist-info folder.
TAIL_BYTES = 24 * 1024
# Smaller wheels are fetched whole and hashed: it costs the same one request.
WHOLE_BYTES = 48 * 1024
# More than any honest METADATA (the longest seen is under 1 MB).
_METADATA_LIMIT = 16 * 1024 * 1024
_STEP = 16 * 1024

#: Fetches ``[start, end)`` of a file and answers with the bytes, and with the offset at which they begin:
#: 0 with the whole file when the server ignores ranges. ``start`` may be negative: the last bytes.
FetchRange = Callable[[int, int | None], Awaitable[tuple[int, bytes, int]]]


class _Missing(Exception):
    """The archive reader wants bytes that are not here yet."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"{start}-{end}")
        self.start = start
        self.end = end


class _Sparse(io.RawIOBase):
    """A seekable file of ``size`` bytes of which some spans are known."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.position = 0
        self.spans: list[tuple[int, bytes]] = []

    def add(self, start: int, data: bytes) -> None:
        self.spans.append((start, data))

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("negative seek")
        self.position = base + offset
        return self.position

    def read(self, size: int = -1) -> bytes:
        end = self.size if size is None or size < 0 else min(self.size, self.position + size)
        if end <= self.position:
            return b""
        for start, data in self.spans:
            if start <= self.position and end <= start + len(data):
                chunk = data[self.position - start : end - start]
                self.position = end
                return chunk
        raise _Missing(self.position, end)


async def read_metadata(file: IndexFile, fetch: FetchRange) -> bytes:
    """The METADATA of a wheel, by as few and as small requests as do it.

    A wheel that arrives whole is checked against the index's sha256. Raises ``HashMismatchError`` when it
    differs and ``ToolError`` when the archive is none or holds no such member.
    """
    whole = file.size is not None and file.size <= WHOLE_BYTES
    start, data, total = await fetch(0, None) if whole else await fetch(-TAIL_BYTES, None)
    sparse = _Sparse(total)
    sparse.add(start, data)
    if start == 0 and len(data) == total:
        check_hash(file, data)
    for _ in range(8):  # directory, member header, member: four are enough for any sane wheel
        try:
            return _member(file, sparse)
        except _Missing as missing:
            span_end = min(total, max(missing.end, missing.start + _STEP))
            if missing.end - missing.start > _METADATA_LIMIT:
                break
            start, data, _ = await fetch(missing.start, span_end)
            sparse.add(start, data)
        except (zipfile.BadZipFile, ZlibError, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise _unreadable(file, f"the wheel is no valid zip archive: {error}") from error
    raise _unreadable(file, "its directory does not lead to a METADATA file")


def _member(file: IndexFile, sparse: _Sparse) -> bytes:
    sparse.seek(0)
    with zipfile.ZipFile(sparse) as archive:  # type: ignore[arg-type]
        name, version = parse_wheel_filename(file.filename)[:2]
        for info in archive.infolist():
            folder, _, member = info.filename.partition("/")
            stem = folder.removesuffix(".dist-info")
            if member != "METADATA" or stem == folder:
                continue
            folder_name, _, folder_version = stem.rpartition("-")
            if canonicalize_name(folder_name) != name:
                continue
            if canonicalize_version(folder_version) != canonicalize_version(version):
                continue
            if info.file_size > _METADATA_LIMIT:
                raise _unreadable(file, f"its METADATA claims {info.file_size} bytes")
            return archive.read(info)
    raise _unreadable(file, "it holds no METADATA of its own name and version")


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
    """What the closure proof needs of METADATA or PKG-INFO; the name and version must be the file's own."""
    raw, _ = parse_email(data)
    if file.is_wheel:
        name, version = parse_wheel_filename(file.filename)[:2]
    else:
        name, version = parse_sdist_filename(file.filename)
    stated = raw.get("name", ""), raw.get("version", "")
    if canonicalize_name(stated[0]) != name or canonicalize_version(stated[1]) != canonicalize_version(version):
        raise ToolError(
            f"its METADATA says {stated[0] or 'no name'} {stated[1] or 'and no version'}, the file name says {name} {version}",
            where=file.filename,
            next_step="do not install it; tell whoever published it",
        )
    return DistMetadata(
        name=name,
        version=str(version),
        requires_dist=tuple(" ".join(line.split()) for line in raw.get("requires_dist", [])),
        requires_python=raw.get("requires_python") or None,
        provides_extra=tuple(raw.get("provides_extra", [])),
    )


def encode_metadata(metadata: DistMetadata) -> bytes:
    """In short form, for the cache."""
    value = [
        metadata.name,
        metadata.version,
        metadata.requires_dist,
        metadata.requires_python,
        metadata.provides_extra,
    ]
    return json.dumps(value, separators=(",", ":")).encode()


def decode_metadata(value: bytes) -> DistMetadata:
    """The inverse of ``encode_metadata``."""
    name, version, requires_dist, requires_python, provides_extra = json.loads(value)
    return DistMetadata(
        name=name,
        version=version,
        requires_dist=tuple(requires_dist),
        requires_python=requires_python,
        provides_extra=tuple(provides_extra),
    )


def _unreadable(file: IndexFile, what: str) -> ToolError:
    return ToolError(what, where=file.filename, next_step="the file is broken on the index; require another version")
