"""What ELF, Mach-O and PE files say of themselves, honest and broken."""

from __future__ import annotations

import contextlib
import io
import struct
import tracemalloc
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.binary import MAGIC_BYTES, binary_format, read_binary
from lockgrid.adapters.elfformat import BrokenBinaryError
from lockgrid.model.contents import Binary, Code, Need
from support.binaries import AARCH64, AMD64, I386, INTEL64, PE_ARM64, elf, fat, macho, pe

NEEDS = [
    ("libc.so.6", "GLIBC_2.2.5", "printf"),
    ("libc.so.6", "GLIBC_2.38", "strtol"),
    ("libc.so.6", "GLIBC_PRIVATE", ""),
    ("libstdc++.so.6", "GLIBCXX_3.4.9", "old"),
    ("libstdc++.so.6", "GLIBCXX_3.4.32", "init"),
    ("libstdc++.so.6", "CXXABI_1.3.13", ""),
]
HIGHEST = (
    Need(version="GLIBC_2.38", library="libc.so.6", symbol="strtol"),
    Need(version="GLIBC_PRIVATE", library="libc.so.6"),
    Need(version="CXXABI_1.3.13", library="libstdc++.so.6"),
    Need(version="GLIBCXX_3.4.32", library="libstdc++.so.6", symbol="init"),
)


def read(data: bytes, path: str = "a/file") -> Binary | None:
    form = binary_format(data[:MAGIC_BYTES])
    assert form is not None
    return read_binary(path, form, lambda: io.BytesIO(data), len(data))


def found(data: bytes) -> Binary:
    binary = read(data)
    assert binary is not None
    return binary


@pytest.mark.parametrize("padding", [0, 100_000, 17 * 1024**2, 40 * 1024**2])
def test_the_highest_version_of_each_library_is_found_wherever_the_tables_stand(padding: int) -> None:
    binary = found(elf(NEEDS, ["libc.so.6", "libstdc++.so.6"], padding=padding))
    assert binary.needs == HIGHEST
    assert binary.libraries == ("libc.so.6", "libstdc++.so.6")
    assert (binary.format, binary.linked, binary.path) == ("ELF", True, "a/file")


@pytest.mark.parametrize(
    ("machine", "wide", "order", "name"),
    [(62, True, "<", "X86_64"), (AARCH64, True, "<", "AARCH64"), (I386, False, "<", "I386"), (22, True, ">", "S390")],
)
def test_elf_files_of_any_width_and_byte_order_are_read(machine: int, wide: bool, order: str, name: str) -> None:
    binary = found(elf(NEEDS, ["libc.so.6"], machine=machine, wide=wide, order=order))
    assert binary.needs == HIGHEST
    assert binary.codes == (Code(machine=name),)


def test_symbols_are_named_also_where_the_table_of_exported_ones_cannot_be_read() -> None:
    assert found(elf(NEEDS, ["libc.so.6"], hashed=True)).needs == HIGHEST


def test_an_elf_file_without_dynamic_section_is_not_linked() -> None:
    binary = found(elf(dynamic=False))
    assert (binary.linked, binary.needs) == (False, ())


def test_a_big_elf_file_costs_little_memory() -> None:
    size = 200 * 1024**2
    end = elf(NEEDS, padding=size)[size:]
    begin = elf(NEEDS, padding=size)[:4096]

    class Sparse(io.RawIOBase):
        position = 0

        def read(self, count: int = -1) -> bytes:
            at, self.position = self.position, min(self.position + count, size + len(end))
            data = bytearray(self.position - at)
            for start, part in ((0, begin), (size, end)):
                low, high = max(at, start), min(self.position, start + len(part))
                if low < high:
                    data[low - at : high - at] = part[low - start : high - start]
            return bytes(data)

    def open_stream() -> BinaryIO:
        return Sparse()  # type: ignore[return-value]

    tracemalloc.start()
    binary = read_binary("big", "ELF", open_stream, size + len(end))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert binary is not None
    assert binary.needs == HIGHEST
    assert peak < 16 * 1024**2


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (macho((15, 0, 0)), [("ARM64", (15, 0))]),
        (macho((11, 3, 1)), [("ARM64", (11, 3, 1))]),
        (macho((10, 13, 0), cpu=INTEL64, older=True), [("X86_64", (10, 13))]),
        (macho(None), [("ARM64", None)]),
        (fat(macho((11, 0, 0)), macho((10, 9, 0), cpu=INTEL64)), [("ARM64", (11, 0)), ("X86_64", (10, 9))]),
    ],
)
def test_macho_files_say_architecture_and_lowest_macos(data: bytes, codes: list[tuple[str, tuple[int, ...]]]) -> None:
    binary = found(data)
    assert binary.codes == tuple(Code(machine=machine, minimum=minimum) for machine, minimum in codes)
    assert binary.linked


def test_an_object_file_is_not_linked() -> None:
    assert not found(macho(kind=1)).linked


@pytest.mark.parametrize(("machine", "name"), [(AMD64, "AMD64"), (PE_ARM64, "ARM64"), (0x14C, "I386")])
def test_pe_files_say_their_machine(machine: int, name: str) -> None:
    assert found(pe(machine)).codes == (Code(machine=name),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"MZ",
        b"text" * 20,
        b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(60),
        b"PK\3\4" + bytes(60),
        b"#!/bin/sh\n" + bytes(60),
    ],
)
def test_what_is_no_binary_is_none(data: bytes) -> None:
    assert binary_format(data[:MAGIC_BYTES]) is None


def test_a_dos_program_is_none_unless_its_name_says_otherwise() -> None:
    data = b"MZ" + bytes(500)
    assert read(data, "readme") is None
    with pytest.raises(BrokenBinaryError, match="no PE header"):
        read(data, "a.PYD")


def changed(data: bytes, at: int, form: str, *values: int) -> bytes:
    out = bytearray(data)
    struct.pack_into(form, out, at, *values)
    return bytes(out)


GOOD = elf(NEEDS, ["libc.so.6"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (GOOD[:20], "ends within its header"),
        (changed(GOOD, 4, "<B", 7), "neither 32 nor 64 bits"),
        (changed(GOOD, 32, "<Q", 2**62), "behind its end"),
        (changed(GOOD, 32, "<Q", 10_000_000), "behind its end"),
        (changed(GOOD, 56, "<H", 65535), "65535 segments"),
        (changed(GOOD, 64 + 56 + 8, "<Q", 2**40), "behind its end"),
        (changed(GOOD, 64 + 56 + 32, "<Q", 2**40), "dynamic section claims"),
        (changed(GOOD, 64 + 16, "<Q", 2**40), "which no segment holds"),
        (GOOD[:-8], "behind its end"),
        (macho()[:40], "ends within its load commands"),
        (changed(macho(), 20, "<I", 2**31), "load commands claim"),
        (fat(macho())[:24], "ends within its list"),
        (changed(fat(macho()), 16, ">I", 2**31), "has no header"),
    ],
)
def test_a_broken_binary_is_said_to_be_broken(data: bytes, said: str) -> None:
    with pytest.raises(BrokenBinaryError, match=said):
        read(data)


def test_a_machine_without_a_name_is_a_number() -> None:
    assert found(pe(0xBEEF)).codes == (Code(machine="48879"),)


@given(
    data=st.sampled_from([GOOD, elf(NEEDS, wide=False), macho(), fat(macho(), macho(cpu=INTEL64)), pe()]),
    edits=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 2000),
)
def test_any_damage_ends_in_an_answer_or_in_one_error(data: bytes, edits: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(data)
    for at, value in edits:
        if 4 <= at < len(damaged):
            damaged[at] = value
    damaged = damaged[: max(MAGIC_BYTES, len(damaged) - cut)] if cut < 1000 else damaged
    form = binary_format(data[:MAGIC_BYTES])
    assert form is not None
    with contextlib.suppress(BrokenBinaryError):
        read_binary("a.dll", form, lambda: io.BytesIO(bytes(damaged)), len(damaged))


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"\x1b[2Jx"])
def test_names_are_fit_to_be_printed(name: bytes) -> None:
    data = elf(libraries=["NAMENAME"]).replace(b"NAMENAME", name + b"\0" * (8 - len(name)))
    (library,) = found(data).libraries
    assert library.isprintable()
