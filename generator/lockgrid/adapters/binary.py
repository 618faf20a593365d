"""What ELF, Mach-O and PE files say of themselves. lief reads them, out of excerpts of bounded size."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockgrid.adapters.elf import elf_excerpt
from lockgrid.adapters.elfformat import BrokenBinaryError, OpenStream, ReadEnd
from lockgrid.adapters.elfhead import read_head
from lockgrid.adapters.elfneeds import GiveUpError
from lockgrid.adapters.printable import printable
from lockgrid.model.contents import Binary, Code, Format, Need

if TYPE_CHECKING:
    import lief

#: So many first bytes tell the format.
MAGIC_BYTES = 64
# Load commands of a Mach-O file; the headers of a PE file.
_COMMANDS_LIMIT = 1024 * 1024
_PE_HEADERS = 4096
_PE_LIMIT = 1024 * 1024
# Java class files begin like fat Mach-O files; their next number is a version of at least 45.
_SLICES_LIMIT = 30
_MACHO = {b"\xcf\xfa\xed\xfe": "<", b"\xce\xfa\xed\xfe": "<", b"\xfe\xed\xfa\xcf": ">", b"\xfe\xed\xfa\xce": ">"}
_FAT = {b"\xca\xfe\xba\xbe": struct.Struct(">5I"), b"\xca\xfe\xba\xbf": struct.Struct(">2I2Q2I")}
# <mach-o/loader.h>: what the dynamic loader opens; PLATFORM_MACOS.
_VERSION_INDEX = 0x7FFF  # of an entry in .gnu.version; the bit above says "hidden"
_MACHO_LINKED = {"EXECUTE", "DYLIB", "BUNDLE"}


def binary_format(head: bytes) -> Format | None:
    """The format that a file's first bytes state."""
    if head[:4] == b"\x7fELF":
        return "ELF"
    if head[:4] in _MACHO:
        return "Mach-O"
    if head[:4] in _FAT and len(head) >= 8 and 0 < int.from_bytes(head[4:8], "big") <= _SLICES_LIMIT:
        return "Mach-O"
    return "PE" if head[:2] == b"MZ" and len(head) == MAGIC_BYTES else None


def read_binary(
    path: str, form: Format, open_stream: OpenStream, size: int, read_end: ReadEnd | None = None
) -> Binary | None:
    """The facts of the file of ``size`` bytes that ``open_stream`` opens; None for a DOS program, which is none.

    ``read_end`` is given where bytes are to be spared: then an ELF file is read in part, if that tells its needs.
    Raises ``BrokenBinaryError``, and whatever reading the stream raises.
    """
    try:
        with warnings.catch_warnings():
            # lief's enumerations warn of each number that they do not know.
            warnings.simplefilter("ignore", RuntimeWarning)
            if form == "ELF":
                found = _read_elf_head(path, open_stream, size, read_end) if read_end else None
                return found or _read_elf(path, open_stream, size)
            return _read_macho(path, open_stream) if form == "Mach-O" else _read_pe(path, open_stream)
    except (struct.error, UnicodeDecodeError) as error:
        raise BrokenBinaryError(str(error)) from error


def _lief() -> Any:
    """lief, which takes a tenth of a second to load and talks to stderr unless told not to."""
    import lief

    lief.logging.disable()
    return lief


def _read_elf(path: str, open_stream: OpenStream, size: int) -> Binary:
    excerpt = elf_excerpt(open_stream, size)
    library = _lief()
    config = library.ELF.ParserConfig()
    config.parse_relocations = config.parse_symtab_symbols = config.parse_notes = config.parse_overlay = False
    config.count_mtd = library.ELF.ParserConfig.DYNSYM_COUNT.SECTION
    parsed = library.ELF.parse(excerpt.data, config)
    if parsed is None:
        raise BrokenBinaryError("its headers make no sense")
    needs = _needs(parsed)
    if excerpt.versioned and not needs:
        raise BrokenBinaryError("its table of needed symbol versions cannot be read")
    return Binary(
        path=path,
        format="ELF",
        codes=(Code(machine=_name(parsed.header.machine_type)),),
        needs=needs,
        libraries=tuple(map(_text, parsed.libraries)),
        linked=excerpt.dynamic,
    )


def _needs(parsed: lief.ELF.Binary) -> tuple[Need, ...]:
    highest = _highest(
        (_text(requirement.name), _text(auxiliary.name), auxiliary.other & _VERSION_INDEX)
        for requirement in parsed.symbols_version_requirement
        for auxiliary in requirement.get_auxiliary_symbols()
    )
    symbols: dict[int, str] = dict.fromkeys((index for _, index in highest), "")
    for symbol in parsed.dynamic_symbols:
        version = symbol.symbol_version
        index = version.value & _VERSION_INDEX if version is not None else -1
        if index in symbols and (name := _text(symbol.name)):
            symbols[index] = min(symbols[index] or name, name)
    return _with_symbols(highest, symbols)


def _highest(versions: Iterable[tuple[str, str, int]]) -> list[tuple[Need, int]]:
    """For each library and prefix the highest version, with its number in .gnu.version."""
    highest: dict[tuple[str, str], tuple[Need, int]] = {}
    for library, version, index in versions:
        need = Need(version=version, library=library)
        # What is no number (GLIBC_PRIVATE) stands for itself, so that no number hides it.
        key = need.library, need.prefix if need.number else need.version
        if key not in highest or (need.number or ()) > (highest[key][0].number or ()):
            highest[key] = need, index
    return list(highest.values())


def _with_symbols(highest: Iterable[tuple[Need, int]], symbols: Mapping[int, str]) -> tuple[Need, ...]:
    """With the alphabetically first symbol that needs each."""
    found = (replace(need, symbol=symbols.get(index, "")) for need, index in highest)
    return tuple(sorted(found, key=lambda need: (need.library, need.version)))


def _read_elf_head(path: str, open_stream: OpenStream, size: int, read_end: ReadEnd) -> Binary | None:
    """What the file's beginning says, and its end if need be; None where that is not enough."""
    try:
        with open_stream() as stream:
            head = read_head(stream, size, path, read_end)
    except GiveUpError:
        return None
    highest = _highest((_text(library), _text(version), index) for library, version, index in head.versions)
    return Binary(
        path=path,
        format="ELF",
        codes=(Code(machine=_machine(head.machine)),),
        needs=_with_symbols(highest, {index: _text(symbol) for index, symbol in head.symbols.items()}),
        libraries=tuple(map(_text, head.libraries)),
        linked=head.dynamic,
        partial=head.dynamic,
    )


def _machine(number: int) -> str:
    try:
        return _name(_lief().ELF.ARCH(number))
    except ValueError:
        return str(number)


def _read_macho(path: str, open_stream: OpenStream) -> Binary:
    head = _prefix(open_stream, 8)
    if head[:4] in _MACHO:
        found = [_read_slice(open_stream, 0)]
    else:
        form = _FAT[head[:4]]
        count = int.from_bytes(head[4:8], "big")
        table = _prefix(open_stream, 8 + count * form.size)[8:]
        if len(table) < count * form.size:
            raise BrokenBinaryError("it ends within its list of architectures")
        found = [_read_slice(open_stream, offset) for _, _, offset, *_ in form.iter_unpack(table)]
    return Binary(
        path=path,
        format="Mach-O",
        codes=tuple(code for code, _ in found),
        linked=any(linked for _, linked in found),
    )


def _read_slice(open_stream: OpenStream, offset: int) -> tuple[Code, bool]:
    """The code of a thin Mach-O file that begins at ``offset``, and whether the loader opens it."""
    header = _prefix(open_stream, 32, offset)
    order = _MACHO.get(header[:4])
    if order is None or len(header) < 32:
        raise BrokenBinaryError("an architecture of it has no header")
    size = 32 + struct.unpack_from(order + "I", header, 20)[0]
    if size > _COMMANDS_LIMIT:
        raise BrokenBinaryError(f"its load commands claim {size} bytes")
    data = _prefix(open_stream, size, offset)
    if len(data) < size and header[:4] in (b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf"):
        raise BrokenBinaryError("it ends within its load commands")
    library = _lief()
    fat = library.MachO.parse(data, library.MachO.ParserConfig.quick)
    if fat is None or fat.size != 1:
        raise BrokenBinaryError("its headers make no sense")
    parsed = fat.at(0)
    code = Code(machine=_name(parsed.header.cpu_type), minimum=_minimum(parsed))
    return code, _name(parsed.header.file_type) in _MACHO_LINKED


def _minimum(parsed: lief.MachO.Binary) -> tuple[int, ...] | None:
    """LC_BUILD_VERSION or its predecessor LC_VERSION_MIN_MACOSX: major and minor, and the patch where there is one."""
    build, older = parsed.build_version, parsed.version_min
    numbers = build.minos if build is not None else older.version if older is not None else None
    if numbers is None:
        return None
    return tuple(numbers[:3] if numbers[2:3] != [0] else numbers[:2])


def _read_pe(path: str, open_stream: OpenStream) -> Binary | None:
    data = _prefix(open_stream, _PE_HEADERS)
    start = struct.unpack_from("<I", data, 0x3C)[0]
    if start + 24 > len(data) and start < _PE_LIMIT:
        data = _prefix(open_stream, start + _PE_HEADERS)
    if data[start : start + 4] != b"PE\0\0":
        if path.lower().endswith((".dll", ".pyd", ".exe")):
            raise BrokenBinaryError("it has no PE header")
        return None
    library = _lief()
    parsed = library.PE.parse(data)
    if parsed is None:
        raise BrokenBinaryError("its headers make no sense")
    return Binary(path=path, format="PE", codes=(Code(machine=_name(parsed.header.machine)),))


def _prefix(open_stream: OpenStream, size: int, start: int = 0) -> bytes:
    """``size`` bytes from ``start``, or fewer where the stream ends."""
    with open_stream() as stream:
        while start > 0:
            passed = len(stream.read(min(start, 256 * 1024)))
            if not passed:
                return b""
            start -= passed
        parts = []
        while size > 0 and (part := stream.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _name(value: Any) -> str:
    """The name of one of lief's enumerations, or the number that it does not know."""
    return str(getattr(value, "name", value))


def _text(value: str | bytes) -> str:
    """A name out of a binary, fit to be printed: lief gives bytes where it is not UTF-8."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return printable(text)
