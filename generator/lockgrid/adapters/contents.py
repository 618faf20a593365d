"""The inside of a wheel: its directory, RECORD, entry points, and what its binaries say. Memory is bounded.

Only what is needed is read: of each member that may be a binary the first bytes, and of a binary its
headers and tables. A member is a compressed stream, so what stands at its end costs reading all of it.
"""

from __future__ import annotations

import csv
import io
import stat
import zipfile
from collections.abc import Iterator
from functools import partial

from lockgrid.adapters.archive import READ_ERRORS, Archive, Limits, OverrunError
from lockgrid.adapters.binary import MAGIC_BYTES, binary_format, read_binary
from lockgrid.adapters.elfformat import BrokenBinaryError
from lockgrid.adapters.printable import printable
from lockgrid.adapters.source import ByteSource, SourceFile
from lockgrid.adapters.wheel import is_own
from lockgrid.errors import ToolError
from lockgrid.model.contents import Binary, Contents, Member

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


class NoArchiveError(ToolError):
    """The file is no zip archive, or a broken one."""


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
    except READ_ERRORS as error:
        what = f"it is no valid zip archive: {error}"
        raise NoArchiveError(what, where=filename, next_step="build or fetch it again") from error
    with opened:
        archive = Archive(opened, source, limits, sparing)
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


def _installable(archive: Archive) -> Iterator[zipfile.ZipInfo]:
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
    archive: Archive, filename: str, infos: list[zipfile.ZipInfo]
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


def _read_record(archive: Archive, info: zipfile.ZipInfo, infos: list[zipfile.ZipInfo]) -> dict[str, str]:
    known = {i.filename for i in archive.zip.infolist()}
    most = 4 * len(known) + _ROWS
    listed: dict[str, str] = {}
    absent: list[str] = []
    try:
        for number, row in enumerate(csv.reader(io.StringIO(archive.text(info, archive.limits.record)))):
            if number > most:
                raise OverrunError(f"it has more than {most} lines for {len(known)} files")
            if row and row[0] in known:
                listed[row[0]] = row[1] if len(row) > 1 else ""
            elif row:
                absent.append(row[0])
    except (OverrunError, csv.Error, *READ_ERRORS) as error:
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


def _read_scripts(archive: Archive, info: zipfile.ZipInfo) -> tuple[tuple[str, str], ...]:
    """The scripts of the entry points specification: ``name = target`` lines under ``[console_scripts]``.

    Not by configparser: on long runs of spaces it takes time that grows with their square.
    """
    try:
        text = archive.text(info, archive.limits.entry_points)
    except (OverrunError, *READ_ERRORS) as error:
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


def _binaries(archive: Archive, infos: list[zipfile.ZipInfo]) -> Iterator[Binary]:
    for info in infos:
        path = info.filename
        if info.file_size < _SMALLEST_BINARY or _is_data(path):
            continue
        try:
            found = _read_member(archive, info)
        except OverrunError as error:
            archive.fault("unread", path, str(error))
            return
        except BrokenBinaryError as error:
            archive.fault("binary", path, str(error))
        except READ_ERRORS as error:
            archive.fault("corrupt", path, f"it cannot be unpacked: {error}")
        else:
            if found is not None:
                yield found


def _is_data(path: str) -> bool:
    """Whether it is nothing that a dynamic linker opens, by its name."""
    return path.lower().endswith(_TEXT) or ".dist-info/" in path or _ZONES in path


def _read_member(archive: Archive, info: zipfile.ZipInfo) -> Binary | None:
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
