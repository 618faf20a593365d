"""The inside of a wheel: its directory, RECORD, entry points, and what its binaries say. Memory is bounded.

Only what is needed is read: of each member that may be a binary the first bytes, and of a binary its
headers and tables. A member is a compressed stream, so what stands at its end costs reading all of it.
"""

from __future__ import annotations

import csv
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, cast

from lockgrid.adapters.binary import MAGIC_BYTES, binary_format, read_binary
from lockgrid.adapters.deflate import known_end
from lockgrid.adapters.elfformat import BrokenBinaryError
from lockgrid.adapters.printable import printable
from lockgrid.adapters.source import ByteSource, SourceFile
from lockgrid.adapters.wheel import is_own
from lockgrid.errors import ToolError
from lockgrid.model.contents import Binary, Contents, Fault, FaultKind, Member

# What no dynamic linker opens, by its name: not worth a read for each of the ten thousand files of a big wheel.
# Static libraries and those that Windows linkers import from (.a, .lib) are archives of object files. What any
# file may be called is not here: .bin, .dat, .o, .so, or no extension at all.
_TEXT = (
    ".py", ".pyi", ".pyc", ".pxd", ".pxi", ".pyx", ".pyf", ".tp", ".txt", ".md", ".rst", ".json", ".toml", ".yaml",
    ".yml", ".cfg", ".ini", ".h", ".hpp", ".hh", ".cuh", ".inc", ".inl", ".c", ".cc", ".cpp", ".cu", ".def", ".f",
    ".f90", ".f95", ".swift", ".glsl", ".metallib", ".bc", ".cmake", ".build", ".pc", ".in", ".tpl", ".tmpl",
    ".template", ".jinja", ".jinja2", ".html", ".css", ".js", ".mjs", ".svg", ".png", ".jpg", ".csv", ".xml", ".xsd",
    ".xsl", ".xslt", ".fbs", ".proto", ".thrift", ".g4", ".typed", ".po", ".mo", ".pem", ".b64", ".plist", ".ld",
    ".npy", ".npz", ".mat", ".sav", ".arff", ".wav", ".fits", ".nc", ".pkl", ".gz", ".bz2", ".xz", ".zip", ".whl",
    ".a", ".lib",
)  # fmt: skip
_ZONES = "zoneinfo/"  # hundreds of files without extension
_SMALLEST_BINARY = 52  # bytes: the header of a 32-bit ELF file
_ROWS = 1000  # lines that RECORD may have beyond four for each file
_READ_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, NotImplementedError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In bytes: what an honest wheel stays below. They bound the memory and the time that one wheel may cost.

    ``exact``: what a compressed ELF member may take to be read as a whole where bytes are spared.
    """

    directory: int = 16 * 1024**2
    record: int = 16 * 1024**2
    entry_points: int = 1024**2
    member: int = 4 * 1024**3
    inflated: int = 12 * 1024**3
    installed: int = 32 * 1024**3
    exact: int = 256 * 1024


class NoArchiveError(ToolError):
    """The file is no zip archive, or a broken one."""


class _OverrunError(Exception):
    """More bytes come out of this wheel than the limits allow."""


@dataclass(slots=True)
class _Archive:
    """An opened wheel, and what was found out about it so far."""

    zip: zipfile.ZipFile
    source: ByteSource
    limits: Limits
    sparing: bool = False
    faults: list[Fault] = field(default_factory=list)
    inflated: int = 0

    def fault(self, kind: FaultKind, path: str, what: str) -> None:
        self.faults.append(Fault(kind=kind, path=printable(path), what=what))

    def open(self, info: zipfile.ZipInfo) -> BinaryIO:
        return cast("BinaryIO", _Counted(self, cast("BinaryIO", self.zip.open(info)), info.file_size))

    def end(self, info: zipfile.ZipInfo, keep: int) -> bytes | None:
        """The last ``keep`` bytes of a member, None where they are not to be had without the others."""
        # APPNOTE 4.3.7: the lengths of the name and of the extra field that stand before the data.
        name, extra = struct.unpack("<2H", self.source.read(info.header_offset + 26, info.header_offset + 30))
        behind = info.header_offset + 30 + name + extra + info.compress_size
        if keep > info.file_size or behind > self.source.size:
            return None
        fetch: Callable[[int], bytes] = lambda count: self.source.read(behind - count, behind)  # noqa: E731
        if info.compress_type == zipfile.ZIP_STORED:
            return fetch(keep)
        return known_end(fetch, info.compress_size, keep, self.spend)

    def spend(self, count: int) -> None:
        """Take note of bytes that were inflated; raises ``_OverrunError`` where they are too many."""
        self.inflated += count
        if self.inflated > self.limits.inflated:
            raise _OverrunError(f"more than {self.limits.inflated} bytes come out of this wheel")

    def text(self, info: zipfile.ZipInfo, limit: int) -> str:
        """A whole small member. Raises ``_OverrunError`` or one of ``_READ_ERRORS``."""
        if info.file_size > limit:
            raise _OverrunError(f"it claims {info.file_size} bytes, more than {limit}")
        with self.open(info) as stream:
            return stream.read(limit + 1).decode("utf-8")


class _Counted(io.RawIOBase):
    """A member's stream that stops with ``_OverrunError`` at the limit of the whole wheel.

    ``zipfile`` never gives more than the size that the archive claims; less is a ``BadZipFile``.
    """

    def __init__(self, archive: _Archive, stream: BinaryIO, claimed: int) -> None:
        self._archive = archive
        self._stream = stream
        self._claimed = claimed

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        data = self._stream.read(size)
        self._claimed -= len(data)
        if not data and size and self._claimed:
            raise zipfile.BadZipFile(f"it ends {self._claimed} bytes before the size that the archive claims")
        self._archive.spend(len(data))
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()


def read_contents(
    filename: str, source: ByteSource, limits: Limits | None = None, *, sparing: bool = False
) -> Contents:
    """The contents of the wheel ``filename``, whose bytes are had from ``source``.

    ``sparing``: bytes cost something, so big ELF files are read in part where that tells what they need.
    Raises ``NoArchiveError`` where there is no zip archive to speak of. All else that is wrong with it is a
    ``Fault`` of the contents.
    """
    limits = limits or Limits()
    try:
        opened = zipfile.ZipFile(SourceFile(source, limits.directory))
    except _READ_ERRORS as error:
        what = f"it is no valid zip archive: {error}"
        raise NoArchiveError(what, where=filename, next_step="build or fetch it again") from error
    with opened:
        archive = _Archive(opened, source, limits, sparing)
        infos = list(_installable(archive))
        hashes, scripts = _read_info(archive, filename, infos)
        binaries = tuple(_binaries(archive, infos))
    members = tuple(
        Member(path=i.filename, sha256=hashes.get(i.filename, ""), crc=i.CRC, size=i.file_size) for i in infos
    )
    return Contents(
        filename=filename,
        members=members,
        binaries=binaries,
        scripts=scripts,
        faults=tuple(archive.faults),
        read=source.bytes_read,
        size=source.size,
        inflated=archive.inflated,
    )


def _installable(archive: _Archive) -> Iterator[zipfile.ZipInfo]:
    """The files of the directory that can be taken seriously, each once; the others are faults."""
    seen: set[str] = set()
    total = 0
    for info in archive.zip.infolist():
        path = info.filename
        if info.is_dir():
            continue
        if path in seen:
            archive.fault("duplicate", path, "")
            continue
        seen.add(path)
        total += info.file_size
        if _escapes(info.orig_filename):
            archive.fault("member-path", info.orig_filename, "")
        elif info.flag_bits & 1:  # APPNOTE 4.4.4
            archive.fault("encrypted", path, "")
        else:
            if stat.S_ISLNK(info.external_attr >> 16):
                archive.fault("symlink", path, "")
            yield info
    if total > archive.limits.installed:
        archive.fault("size", "", f"its files claim {total} bytes, more than {archive.limits.installed}")


def _escapes(path: str) -> bool:
    """Whether some installer on some system would write it elsewhere: absolute, ``..``, a drive, a zero byte."""
    parts = path.replace("\\", "/").split("/")
    return not parts[0] or ".." in parts or parts[0][1:2] == ":" or "\0" in path


def _read_info(
    archive: _Archive, filename: str, infos: list[zipfile.ZipInfo]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """The sha256 of each path in RECORD, and the scripts of entry_points.txt, from the wheel's own .dist-info."""
    folders = {head for info in infos for head, _, _ in [info.filename.partition("/")] if head.endswith(".dist-info")}
    if len(folders) > 1:
        archive.fault("dist-info", max(folders), ", ".join(sorted(folders)[:5]))
    own = {
        info.filename.partition("/")[2]: info
        for info in infos
        if info.filename.partition("/")[0].endswith(".dist-info")
        and info.filename.count("/") == 1
        and is_own(filename, info.filename.partition(".dist-info/")[0])
    }
    hashes: dict[str, str] = {}
    if "RECORD" not in own:
        archive.fault("record", "", "it holds no RECORD of its own name and version")
    else:
        hashes = _read_record(archive, own["RECORD"], infos)
    if "entry_points.txt" not in own:
        return hashes, ()
    return hashes, _read_scripts(archive, own["entry_points.txt"])


def _read_record(archive: _Archive, info: zipfile.ZipInfo, infos: list[zipfile.ZipInfo]) -> dict[str, str]:
    known = {i.filename for i in archive.zip.infolist()}
    most = 4 * len(known) + _ROWS
    listed: dict[str, str] = {}
    absent: list[str] = []
    try:
        for number, row in enumerate(csv.reader(io.StringIO(archive.text(info, archive.limits.record)))):
            if number > most:
                raise _OverrunError(f"it has more than {most} lines for {len(known)} files")
            if row and row[0] in known:
                listed[row[0]] = row[1] if len(row) > 1 else ""
            elif row:
                absent.append(row[0])
    except (_OverrunError, csv.Error, *_READ_ERRORS) as error:
        archive.fault("record", info.filename, f"it cannot be read: {error}")
        return {}
    folder = info.filename.removesuffix("RECORD")
    # RECORD does not list its own signatures.
    free = {folder + name for name in ("RECORD", "RECORD.jws", "RECORD.p7s")}
    missing = [i.filename for i in infos if i.filename not in listed and i.filename not in free]
    if missing:
        what = f"RECORD does not list {len(missing)} files of the archive, this among them"
        archive.fault("unlisted", missing[0], what)
    if absent:
        what = f"RECORD lists {len(absent)} files that are not there, this among them"
        archive.fault("unlisted", min(absent), what)
    # base64 without padding, says the wheel specification; some pad.
    return {p: hash_.removeprefix("sha256=").rstrip("=") for p, hash_ in listed.items() if hash_.startswith("sha256=")}


def _read_scripts(archive: _Archive, info: zipfile.ZipInfo) -> tuple[tuple[str, str], ...]:
    """The scripts of the entry points specification: ``name = target`` lines under ``[console_scripts]``.

    Not by configparser: on long runs of spaces it takes time that grows with their square.
    """
    try:
        text = archive.text(info, archive.limits.entry_points)
    except (_OverrunError, *_READ_ERRORS) as error:
        archive.fault("entry-points", info.filename, f"it cannot be read: {error}")
        return ()
    section = ""
    scripts: dict[tuple[str, str], str] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        name, equals, target = map(str.strip, line.partition("="))
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif line and not line.startswith(("#", ";")):
            if not (section and equals and name):
                archive.fault("entry-points", info.filename, f"line {number} is neither a group nor an entry")
                return ()
            scripts[section, name] = target
    groups = ("console_scripts", "gui_scripts")
    return tuple((printable(n), printable(target)) for (group, n), target in scripts.items() if group in groups)


def _binaries(archive: _Archive, infos: list[zipfile.ZipInfo]) -> Iterator[Binary]:
    for info in infos:
        path = info.filename
        if info.file_size < _SMALLEST_BINARY or _is_data(path):
            continue
        try:
            found = _read_member(archive, info)
        except _OverrunError as error:
            archive.fault("unread", path, str(error))
            return
        except BrokenBinaryError as error:
            archive.fault("binary", path, str(error))
        except _READ_ERRORS as error:
            archive.fault("corrupt", path, f"it cannot be unpacked: {error}")
        else:
            if found is not None:
                yield found


def _is_data(path: str) -> bool:
    """Whether it is nothing that a dynamic linker opens, by its name."""
    return path.lower().endswith(_TEXT) or ".dist-info/" in path or _ZONES in path


def _read_member(archive: _Archive, info: zipfile.ZipInfo) -> Binary | None:
    # The other compressions of zipfile put no bound on what one block of input may become.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive.fault("unread", info.filename, f"its compression, number {info.compress_type}, is not read")
        return None
    with archive.open(info) as stream:
        form = binary_format(stream.read(MAGIC_BYTES))
    if form is None:
        return None
    if info.file_size > archive.limits.member:
        archive.fault("unread", info.filename, f"it claims {info.file_size} bytes, more than {archive.limits.member}")
        return None
    sparing = archive.sparing and info.compress_size > archive.limits.exact
    read_end = partial(archive.end, info) if sparing else None
    return read_binary(printable(info.filename), form, lambda: archive.open(info), info.file_size, read_end)
