"""Archives as bytes that depend on their content alone.

Entries are stored, not compressed, unless a caller asks: two builds of zlib need not compress to
the same bytes, and golden lockfiles hold the hashes of these archives.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable

Entry = tuple[str, bytes]

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that the format can say
_TAR_TIME = 315532800  # the same moment, in seconds since 1970
_UNIX = 3
_STORED_BLOCK = 65535  # bytes, the most that a stored deflate block holds (RFC 1951, 3.2.4)


def zip_bytes(entries: Iterable[Entry], *, compressed: bool = False) -> bytes:
    """Return a zip of `entries` (path, content) in the order given, with fixed times and modes.

    Paths below `<name>.data/scripts/` are executable. `compressed` deflates the entries.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in entries:
            info = zipfile.ZipInfo(path, _ZIP_TIME)
            info.create_system = _UNIX  # zipfile would write the system of this machine
            mode = 0o755 if ".data/scripts/" in path else 0o644
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(info, data)
    return buffer.getvalue()


def tar_gz_bytes(entries: Iterable[Entry]) -> bytes:
    """Return a .tar.gz of `entries` (path, content) in the order given, with fixed times."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in entries:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            info.mtime = _TAR_TIME
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(data))
    return _gzip_stored(buffer.getvalue())


def flip_byte(data: bytes, needle: bytes) -> bytes:
    """Return `data` with the first byte of the first `needle` changed; ValueError if absent."""
    at = data.index(needle)
    return data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]


def _gzip_stored(data: bytes) -> bytes:
    """Return `data` as a gzip member of stored blocks: no time, no name, unknown system."""
    out = bytearray(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
    blocks = [data[at : at + _STORED_BLOCK] for at in range(0, len(data), _STORED_BLOCK)]
    for number, block in enumerate(blocks, 1):
        size = len(block)
        out += struct.pack("<BHH", number == len(blocks), size, size ^ 0xFFFF) + block
    return bytes(out + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF))
