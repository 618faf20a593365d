"""Tiny ELF, Mach-O and PE files as bytes: no code, only what a linker would say of it."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Literal

X86_64, AARCH64, I386 = 62, 183, 3  # ELF e_machine
ARM64, INTEL64 = 0x0100000C, 0x01000007  # Mach-O cputype
AMD64, PE_ARM64 = 0x8664, 0xAA64

Linker = Literal["lld", "gnu", "patchelf"]
# Bytes of section headers, none of which says anything.
_SECTIONS = 2048

#: Library, version, and the symbol that needs it (empty: none does).
Needed = tuple[str, str, str]


def _elf_hash(name: bytes) -> int:
    """The hash function of the gABI."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def elf(
    needs: Sequence[Needed] = (),
    libraries: Sequence[str] = (),
    *,
    machine: int = X86_64,
    wide: bool = True,
    order: str = "<",
    padding: int = 0,
    dynamic: bool = True,
    hashed: bool = False,
    soname: str = "",
    linker: Linker = "lld",
    code: bytes = b"",
) -> bytes:
    """A shared library. ``padding``: so many bytes stand between its headers and its tables.

    ``hashed``: with a table of exported symbols that is longer than the file, and one relocation. ``linker``: in
    whose order the tables stand; patchelf has moved the strings to a segment of their own at the end. ``code``
    stands between the tables and the dynamic section, which has section headers behind it then.
    """
    strings = bytearray(b"\0")

    def string(text: str) -> int:
        at = len(strings)
        strings.extend(text.encode() + b"\0")
        return at

    word, head, segment = ("Q", 64, 56) if wide else ("I", 52, 32)
    symbols = [bytes(24 if wide else 16)]
    versions = [0]
    by_library: dict[str, list[tuple[int, str]]] = {}
    for index, (library, version, symbol) in enumerate(needs, 2):
        by_library.setdefault(library, []).append((index, version))
        if symbol:
            form, values = (
                ("IBBHQQ", (string(symbol), 18, 0, 0, 0, 0)) if wide else ("IIIBBH", (string(symbol), 0, 0, 18, 0, 0))
            )
            symbols.append(struct.pack(order + form, *values))
            versions.append(index)
    verneed = bytearray()
    for number, (library, several) in enumerate(by_library.items(), 1):
        following = 0 if number == len(by_library) else 16 + 16 * len(several)
        verneed += struct.pack(order + "HHIII", 1, len(several), string(library), 16, following)
        for place, (index, version) in enumerate(several, 1):
            following = 0 if place == len(several) else 16
            verneed += struct.pack(order + "IHHII", _elf_hash(version.encode()), 0, index, string(version), following)
    entries = [(1, string(library)) for library in libraries]
    if soname:
        entries.append((14, string(soname)))
    count = 1 + dynamic + (linker == "patchelf")
    start = head + count * segment + padding
    exported = (0x6FFFFEF5, struct.pack(f"{order}4I{word}I", 9999, 1, 1, 0, 0, 1) if hashed else b"")
    relocations = (7, bytes(24) if hashed else b"")
    own = (6, b"".join(symbols))
    numbers = (0x6FFFFFF0, struct.pack(f"{order}{len(versions)}H", *versions))
    needed = (0x6FFFFFFE, bytes(verneed))
    names = (5, bytes(strings))
    tables = {
        "lld": [exported, relocations, own, numbers, needed, names],
        "gnu": [exported, relocations, own, names, numbers, needed],
        "patchelf": [exported, relocations, own, numbers, needed],
    }[linker]
    body = bytearray()
    for tag, table in tables:
        if table:
            body += bytes(
                -len(body) % {5: 1 if linker == "gnu" else 8, 0x6FFFFFF0: 2 if linker == "gnu" else 8}.get(tag, 8)
            )
            entries.append((tag, start + len(body)))
            body += table
    body += code
    body += bytes(-len(body) % 8)
    entries += [(8, 24), (9, 24)] if hashed else []
    entries += [(10, len(strings)), (0x6FFFFFFF, len(by_library)), (0, 0)]
    width = struct.calcsize(order + 2 * word)
    place = start + len(body)
    size = place + width * (len(entries) + (linker == "patchelf"))
    if linker == "patchelf":
        entries.insert(0, (5, size))
    section = b"".join(struct.pack(order + 2 * word, *entry) for entry in entries)
    body += section
    behind = names[1] if linker == "patchelf" else bytes(_SECTIONS if code else 0)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    form = order + ("16sHHIQQQIHHHHHH" if wide else "16sHHIIIIIHHHHHH")
    out = bytearray(struct.pack(form, ident, 3, machine, 1, 0, head, 0, 0, head, segment, count, 0, 0, 0))
    segments = [(1, 0, size)]
    segments += [(2, place, len(section))] if dynamic else []
    segments += [(1, size, len(behind))] if linker == "patchelf" else []
    for kind, at, length in segments:
        if wide:
            out += struct.pack(order + "IIQQQQQQ", kind, 6, at, at, at, length, length, 8)
        else:
            out += struct.pack(order + "IIIIIIII", kind, at, at, at, length, length, 6, 8)
    return bytes(out + bytes(padding) + body + behind)


def macho(
    minimum: tuple[int, int, int] | None = (11, 0, 0), *, cpu: int = ARM64, kind: int = 6, older: bool = False
) -> bytes:
    """A thin Mach-O file: 6 is a library, 1 an object file. ``older``: with the load command used up to 10.13."""
    command = b""
    if minimum is not None:
        packed = minimum[0] << 16 | minimum[1] << 8 | minimum[2]
        command = (
            struct.pack("<4I", 0x24, 16, packed, 0) if older else struct.pack("<6I", 0x32, 24, 1, packed, packed, 0)
        )
    header = struct.pack("<8I", 0xFEEDFACF, cpu, 0, kind, 1 if command else 0, len(command), 0, 0)
    return header + command + bytes(64)


def fat(*slices: bytes) -> bytes:
    """A Mach-O file of several architectures."""
    head = 8 + 20 * len(slices)
    out, body = struct.pack(">II", 0xCAFEBABE, len(slices)), b""
    for one in slices:
        cpu = struct.unpack_from("<I", one, 4)[0]
        out += struct.pack(">5I", cpu, 0, head + len(body), len(one), 0)
        body += one
    return out + body


def pe(machine: int = AMD64) -> bytes:
    """A DLL without sections."""
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, 0, 0, 0, 0, 240, 0x2022)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        0x20B,
        14,
        0,
        0,
        0,
        0,
        0,
        0,
        0x180000000,
        4096,
        512,
        6,
        0,
        0,
        0,
        6,
        0,
        0,
        4096,
        512,
        0,
        2,
        0,
        0,
        0,
        0,
        0,
        0,
        16,
    )
    return dos + coff + optional + bytes(128)


def machine_code(size: int, seed: int = 0) -> bytes:
    """Bytes that compress about as well as code does: of few words, with some noise between."""
    draw = random.Random(seed)
    words = [draw.randbytes(draw.randint(3, 40)) for _ in range(3000)]
    parts: list[bytes] = []
    length = 0
    while length < size:
        part = draw.randbytes(draw.randint(1000, 60_000)) if draw.random() < 0.001 else draw.choice(words)
        parts.append(part)
        length += len(part)
    return b"".join(parts)[:size]
