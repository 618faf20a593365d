"""The builders of binaries make what they say, in the eyes of the linkers' own structures."""

from __future__ import annotations

import struct

from support.binaries import ARM64, elf, fat, macho, pe


def test_an_elf_file_points_to_its_tables() -> None:
    data = elf([("libc.so.6", "GLIBC_2.38", "f")], ["libc.so.6"], padding=100)
    assert data[:4] == b"\x7fELF"
    kind, _, at, _, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", data, 64 + 56)
    entries = dict(struct.iter_unpack("<QQ", data[at : at + size]))
    assert (kind, entries[0x6FFFFFFF]) == (2, 1)
    assert data[entries[5] :].split(b"\0")[1:4] == [b"f", b"libc.so.6", b"GLIBC_2.38"]


def test_a_fat_file_points_to_its_slices() -> None:
    data = fat(macho(), macho((10, 9, 0)))
    assert struct.unpack_from(">II", data) == (0xCAFEBABE, 2)
    for number in range(2):
        cpu, _, offset, size, _ = struct.unpack_from(">5I", data, 8 + 20 * number)
        assert (cpu, struct.unpack_from("<I", data, offset)[0]) == (ARM64, 0xFEEDFACF)
        assert offset + size <= len(data)


def test_a_pe_file_names_its_machine() -> None:
    assert struct.unpack_from("<H", pe(0xAA64), 64 + 4)[0] == 0xAA64
