"""What an ELF file needs, from its beginning: the same as from the whole file, or no answer."""

from __future__ import annotations

import contextlib
import io
import struct
from dataclasses import replace
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.binary import read_binary
from lockgrid.adapters.elfformat import BrokenBinaryError, Layout
from lockgrid.adapters.elfhead import read_head
from lockgrid.adapters.elfneeds import COMMON, Budget, GiveUpError, elf_hash, find_chains, find_names
from lockgrid.model.contents import Binary
from support.binaries import AARCH64, I386, Linker, elf, machine_code

NEEDS = [
    ("libc.so.6", "GLIBC_2.2.5", "printf"),
    ("libc.so.6", "GLIBC_2.38", "strtol"),
    ("libc.so.6", "GLIBC_PRIVATE", ""),
    ("libfoo.so.1", "FOO_2", "foo"),
    ("libstdc++.so.6", "GLIBCXX_3.4.9", "old"),
    ("libstdc++.so.6", "GLIBCXX_3.4.32", "init"),
]
LIBRARIES = ["libstdc++.so.6", "libfoo.so.1", "libbar-1.2.so", "libc.so.6", "ld-linux-x86-64.so.2"]
CODE = machine_code(3 * 1024**2)
KILOBYTES = 1024


class Counted(io.BytesIO):
    """A stream that knows how much was read of it."""

    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.total += len(data)
        return data


def both(data: bytes, name: str = "a/libown.so") -> tuple[Binary, Binary, int]:
    """The file as the exact reader reads it, as the sparing one does, and how many bytes that took of its beginning."""
    streams: list[Counted] = []

    def opened() -> BinaryIO:
        streams.append(Counted(data))
        return streams[-1]

    exact = read_binary(name, "ELF", lambda: io.BytesIO(data), len(data))
    sparing = read_binary(name, "ELF", opened, len(data), lambda keep: data[-keep:])
    assert exact is not None
    assert sparing is not None
    return exact, sparing, sum(stream.total for stream in streams)


@pytest.mark.parametrize("linker", ["lld", "gnu", "patchelf"])
@pytest.mark.parametrize(
    ("machine", "wide", "order"), [(62, True, "<"), (AARCH64, True, "<"), (I386, False, "<"), (22, True, ">")]
)
def test_the_beginning_says_what_the_whole_file_says(linker: Linker, machine: int, wide: bool, order: str) -> None:
    data = elf(
        NEEDS, LIBRARIES, machine=machine, wide=wide, order=order, linker=linker, code=CODE, soname="libown.so.3"
    )
    exact, sparing, read = both(data)
    assert read <= 64 * KILOBYTES
    assert (sparing.partial, exact.partial) == (True, False)
    assert set(sparing.libraries) == set(exact.libraries) == set(LIBRARIES)
    if linker != "gnu":  # only GNU ld puts the symbols where they can be found
        exact = replace(exact, needs=tuple(replace(need, symbol="") for need in exact.needs))
    assert sparing == replace(exact, partial=True, libraries=sparing.libraries)


def test_long_tables_are_read_to_their_end() -> None:
    needs = [(f"libx{n}.so", f"X_{n}", f"symbol_{n}_" + "x" * 200) for n in range(3000)]
    data = elf([*needs, *NEEDS], LIBRARIES, linker="gnu", code=CODE)
    exact, sparing, read = both(data)
    assert sparing.partial
    assert sparing.needs == exact.needs
    assert read < len(data) // 2


@pytest.mark.parametrize("name", ["libown.so.3.0.1", "a/libown-0123abcd.so.3", "a/libown-89abcdef-0123abcd.so.3"])
def test_the_name_that_a_library_gives_itself_is_none_that_it_needs(name: str) -> None:
    data = elf(NEEDS, ["libc.so.6"], code=CODE, soname="libown.so.3")
    exact, sparing, _ = both(data, name)
    assert sparing.partial
    assert "libown.so.3" not in sparing.libraries
    assert set(exact.libraries) <= set(sparing.libraries)


def test_a_library_that_auditwheel_gave_another_name_is_needed_by_that_alone() -> None:
    # patchelf leaves the old name where it was.
    data = elf(NEEDS, ["libgomp-0123abcd.so.1"], linker="patchelf", code=CODE, soname="libgomp.so.1")
    _, sparing, _ = both(data)
    assert sparing.partial
    assert "libgomp-0123abcd.so.1" in sparing.libraries
    assert "libgomp.so.1" not in sparing.libraries


def test_a_shortened_search_path_hides_no_library() -> None:
    data = elf(NEEDS, ["/long/search/path", "libz.so.1"], code=CODE)
    _, sparing, _ = both(data.replace(b"/long/search/path\0", b"$ORIGIN" + bytes(11)))
    assert sparing.partial
    assert "libz.so.1" in sparing.libraries


def test_a_static_file_is_known_at_once() -> None:
    data = elf(dynamic=False, code=CODE)
    exact, sparing, read = both(data)
    assert sparing == exact
    assert not sparing.linked
    assert read <= 32 * KILOBYTES


@pytest.mark.parametrize(
    "data",
    [
        elf(libraries=["libc.so.6"], code=CODE),  # no versions at all
        elf(NEEDS, LIBRARIES, padding=40 * 1024 * KILOBYTES),  # far from the beginning
        elf(NEEDS, LIBRARIES, code=CODE).replace(b"GLIBCXX_3.4.9", b"GLIBCXX_3.4.8"),  # a hash that is not right
    ],
    ids=["no versions", "far away", "wrong hash"],
)
def test_what_is_not_found_for_sure_is_read_exactly(data: bytes) -> None:
    exact, sparing, _ = both(data)
    assert sparing == exact
    assert not sparing.partial


def test_the_rest_of_a_table_is_not_taken_for_a_table() -> None:
    data = elf(NEEDS, LIBRARIES, linker="gnu", code=CODE)
    first = struct.pack("<IHH", elf_hash(b"GLIBC_2.2.5"), 0, 2)
    assert data.count(first) == 1
    # The first record is none any more; the second, of libfoo, begins a table that would be right by itself.
    _, sparing, _ = both(data.replace(first, struct.pack("<IHH", elf_hash(b"GLIBC_2.2.5"), 99, 2)))
    assert not sparing.partial


def test_strings_that_are_not_at_the_end_either_are_given_up() -> None:
    data = elf(NEEDS, LIBRARIES, linker="patchelf", code=CODE)
    with pytest.raises(GiveUpError):
        read_head(io.BytesIO(data), len(data), "x.so", lambda _keep: None)
    with pytest.raises(GiveUpError):
        read_head(io.BytesIO(data), len(data), "x.so", bytes)


def crafted(kind: str) -> bytes:
    """Two megabytes of what looks like tables of needed versions, in many ways at once."""
    version, known = next(iter(COMMON.items()))
    count = 2 * 1024**2 // 16
    if kind == "one long table":
        return struct.pack("<2H3I", 1, 1, 1, 16, 16) * count
    if kind == "many entries each":
        return struct.pack("<2H3I", 1, 4000, 0x00010001, 16, 16) * count
    if kind == "many tables":
        return (struct.pack("<2H3I", 1, 1, 1, 16, 0) + struct.pack("<I2H2I", version, 0, 2, 1, 0)) * (count // 2)
    if kind == "many names":
        table = struct.pack("<2H3I", 1, 1, 1, 16, 0) + struct.pack("<I2H2I", version, 0, 2, 1, 0)
        return table * (count // 4) + (b"\0" + known + b"\0") * (count // 2)
    table = struct.pack("<2H3I", 1, 1, 1, 16, 0) + struct.pack("<I2H2I", 1, 0, 2, 1, 0)
    return table * (count // 4) + b"\0lib.so.so.so.so.so.so.so.so.so.so.so.so!" * (count // 4)


@pytest.mark.parametrize("kind", ["one long table", "many entries each", "many tables", "many names", "many libraries"])
def test_crafted_tables_take_a_bounded_number_of_steps(kind: str) -> None:
    class Counting(Budget):
        spent = 0

        def spend(self, steps: int = 1) -> None:
            self.spent += steps
            super().spend(steps)

    data = crafted(kind)
    budget = Counting(50_000)
    with contextlib.suppress(GiveUpError):
        for chain in find_chains(Layout(wide=True, order="<"), data, budget):
            assert find_names(data, chain, budget) is None
    assert budget.spent < 100_000


def test_to_look_for_names_takes_steps_as_well() -> None:
    layout = Layout(wide=True, order="<")
    data = crafted("many tables")[: 200 * 32] + bytes(2 * 1024**2)
    budget = Budget(100_000)
    chains = find_chains(layout, data, budget)
    assert len(chains) == 200
    with pytest.raises(GiveUpError):
        assert not [chain for chain in chains if find_names(data, chain, budget)]


GOOD = [elf(NEEDS, LIBRARIES, linker=linker, code=b"\x90" * 4096) for linker in ("lld", "gnu", "patchelf")]


@given(
    data=st.sampled_from(GOOD),
    edits=st.lists(st.tuples(st.integers(4, 1500), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_damage_ends_in_an_answer_without_a_wrong_name_or_in_one_error(
    data: bytes, edits: list[tuple[int, int]]
) -> None:
    damaged = bytearray(data)
    for at, value in edits:
        damaged[at] = value
    found: Any = None
    with contextlib.suppress(BrokenBinaryError):
        found = read_binary(
            "x.so", "ELF", lambda: io.BytesIO(damaged), len(damaged), lambda keep: bytes(damaged[-keep:])
        )
    if found is not None and found.partial:
        assert {need.version for need in found.needs} <= {version for _, version, _ in NEEDS}
