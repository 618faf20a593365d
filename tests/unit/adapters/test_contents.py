"""The inside of a wheel: what is read of it, and hostile archives end in a fault with bounded memory."""

from __future__ import annotations

import io
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lockgrid.adapters.archive import Limits
from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.source import LocalFile
from lockgrid.errors import ToolError
from lockgrid.model.contents import Contents, FaultKind
from support.archives import zip_bytes
from support.binaries import Linker, elf, machine_code, macho
from support.wheels import Files, wheel

NAME = "a-1.0-py3-none-any.whl"
INFO = "a-1.0.dist-info"
LIBRARY = elf([("libc.so.6", "GLIBC_2.17", "f")], ["libc.so.6"])
MEGABYTE = 1024**2


class Bytes:
    """A byte source in memory that remembers its reads."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.bytes_read = 0
        self.longest = 0

    def read(self, start: int, end: int) -> bytes:
        chunk = self.data[start:end]
        self.bytes_read += len(chunk)
        self.longest = max(self.longest, len(chunk))
        return chunk


def contents(data: bytes, limits: Limits | None = None) -> Contents:
    return read_contents(NAME, Bytes(data), limits)


def built(files: Files, *, compressed: bool = False) -> bytes:
    return wheel("a", "1.0", files=files, compressed=compressed).data


def faults(data: bytes, limits: Limits | None = None) -> list[tuple[FaultKind, str]]:
    return [(fault.kind, fault.path) for fault in contents(data, limits).faults]


@pytest.mark.parametrize("compressed", [False, True])
def test_members_binaries_and_scripts_are_found(compressed: bool) -> None:
    files = {"a/__init__.py": b"", "a/x.so": LIBRARY, "a/data": b"\x7fELF of a kind" * 9, "a/y": macho()}
    made = wheel("a", "1.0", files=files, scripts={"Run": "a:main"}, compressed=compressed)
    result = contents(made.data)
    assert {member.path for member in result.members} > set(files)
    assert all(member.sha256 for member in result.members if not member.path.endswith("RECORD"))
    assert [binary.path for binary in result.binaries] == ["a/x.so", "a/y"]
    assert result.scripts == (("Run", "a:main"),)
    assert [(fault.kind, fault.path) for fault in result.faults] == [("binary", "a/data")]
    assert result.size == len(made.data)
    assert result.read >= len(LIBRARY) if not compressed else result.read > 0


def test_a_file_of_this_machine_is_a_source(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(built({"a/x.so": LIBRARY}))
    with LocalFile(path) as source:
        result = read_contents(NAME, source)
        assert source.read(source.size - 4, source.size + 9) == path.read_bytes()[-4:]
    assert len(result.binaries) == 1
    assert result.size == path.stat().st_size


def test_text_is_not_read_and_of_a_macho_file_only_the_beginning() -> None:
    big = {"a/text.py": b"\x7fELF" + bytes(4 * MEGABYTE), "a/x.dylib": macho() + bytes(4 * MEGABYTE)}
    data = built(big)
    result = contents(data)
    assert [binary.path for binary in result.binaries] == ["a/x.dylib"]
    assert result.read < len(data) / 20
    assert result.faults == ()


@pytest.mark.parametrize("cut", [1, 30, 200, 5000])
def test_a_truncated_archive_is_an_error(cut: int) -> None:
    data = built({"a/x.so": LIBRARY + bytes(6000)})
    with pytest.raises(ToolError, match="no valid zip archive"):
        contents(data[:-cut])


@pytest.mark.parametrize("data", [b"", b"PK", b"<html>", bytes(100_000), b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_archive_is_an_error(data: bytes) -> None:
    with pytest.raises(ToolError, match="no valid zip archive"):
        contents(data)


def test_a_directory_beyond_the_limit_is_an_error_before_it_is_read() -> None:
    data = zip_bytes([(f"a/{number:050}.py", b"") for number in range(3000)])
    source = Bytes(data)
    with pytest.raises(ToolError, match="its directory takes"):
        read_contents(NAME, source, Limits(directory=100_000))
    assert source.longest < 100_000


def raw(entries: list[tuple[str, bytes]], **fields: int) -> bytes:
    """A wheel with these members too; ``fields`` are set in the ZipInfo of each of them."""
    buffer = io.BytesIO(built({}))
    with zipfile.ZipFile(buffer, "a") as archive:
        for path, data in entries:
            info = zipfile.ZipInfo("x")
            info.filename = path
            for name, value in fields.items():
                setattr(info, name, value)
            archive.writestr(info, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x.py", "a/../../x.py", "a/..", "C:/x", "C:\\x", "..\\x", "\\\\host\\share\\x"]
)
def test_a_path_that_leads_out_is_a_fault_and_not_installed(path: str) -> None:
    result = contents(raw([(path, LIBRARY)]))
    assert "member-path" in {fault.kind for fault in result.faults}
    assert path not in {member.path for member in result.members}
    assert result.binaries == ()


def test_a_zero_byte_in_a_path_is_a_fault() -> None:
    data = raw([("a/xZy.so", LIBRARY)]).replace(b"a/xZy.so", b"a/x\0y.so")
    assert ("member-path", "a/x?y.so") in faults(data)


def test_a_symbolic_link_is_a_fault() -> None:
    data = raw([("a/link.so", b"/etc/passwd")], external_attr=(stat.S_IFLNK | 0o777) << 16)
    assert ("symlink", "a/link.so") in faults(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_path_that_is_there_twice_is_a_fault() -> None:
    assert ("duplicate", "a/x.so") in faults(raw([("a/x.so", LIBRARY), ("a/x.so", b"other")]))


def patched(data: bytes, path: str, offsets: tuple[int, int], form: str, value: int) -> bytes:
    """The field of a member that stands at ``offsets`` in its local header and in its directory entry."""
    out = bytearray(data)
    for at, back in ((data.index(path.encode()), 30), (data.rindex(path.encode()), 46)):
        struct.pack_into(form, out, at - back + offsets[0 if back == 30 else 1], value)
    return bytes(out)


def test_an_encrypted_member_is_a_fault() -> None:
    data = patched(raw([("b.so", LIBRARY)]), "b.so", (6, 8), "<H", 1)
    assert ("encrypted", "b.so") in faults(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_without_bounds_is_not_read(method: int) -> None:
    data = raw([("b.so", LIBRARY)], compress_type=method)
    source = Bytes(data)
    assert ("unread", "b.so") in [(f.kind, f.path) for f in read_contents(NAME, source).faults]


def test_bytes_that_do_not_match_their_checksum_are_a_fault() -> None:
    data = raw([("b.so", LIBRARY)])
    at = data.rindex(b"GLIBC_2.17", 0, data.rindex(b"b.so"))
    assert ("corrupt", "b.so") in faults(data[:at] + b"GLIBC_2.18" + data[at + 10 :])


def bomb(size: int) -> bytes:
    """A wheel with a binary of ``size`` bytes, nearly all of them zero, whose tables stand at its end."""
    whole = elf([("libc.so.6", "GLIBC_2.17", "f")], padding=size)
    return raw([("b.so", whole)], compress_type=zipfile.ZIP_DEFLATED)


def test_a_bomb_is_not_kept_in_memory() -> None:
    data = bomb(96 * MEGABYTE)
    assert len(data) < MEGABYTE
    tracemalloc.start()
    result = contents(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [binary.path for binary in result.binaries] == ["b.so"]
    assert peak < 24 * MEGABYTE


def test_beyond_the_limits_nothing_more_is_unpacked() -> None:
    data = bomb(24 * MEGABYTE)
    few = contents(data, Limits(inflated=4 * MEGABYTE))
    assert ("unread", "b.so") in [(f.kind, f.path) for f in few.faults]
    assert few.inflated < 5 * MEGABYTE
    none = contents(data, Limits(member=MEGABYTE))
    assert ("unread", "b.so") in [(f.kind, f.path) for f in none.faults]
    assert none.inflated < MEGABYTE
    assert ("size", "") in faults(data, Limits(installed=MEGABYTE))


@pytest.mark.parametrize("claimed", [60, 100, 2**31])
def test_a_member_of_another_size_than_it_claims_is_a_fault(claimed: int) -> None:
    data = patched(raw([("b.so", LIBRARY)], compress_type=zipfile.ZIP_DEFLATED), "b.so", (22, 24), "<L", claimed)
    assert {kind for kind, path in faults(data) if path == "b.so"} & {"corrupt", "binary"}


def record_of(text: bytes, *, deflated: bool = True) -> bytes:
    entries = [(f"{INFO}/RECORD", text), ("a.py", b"")]
    return zip_bytes(entries, compressed=deflated)


def test_a_huge_record_is_a_fault_and_not_kept() -> None:
    data = record_of(b"a.py,sha256=x,1\n" * (3 * MEGABYTE))
    tracemalloc.start()
    result = contents(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [fault.kind for fault in result.faults] == ["record"]
    assert peak < 4 * MEGABYTE


def test_a_record_that_claims_to_be_small_is_cut_by_its_claim() -> None:
    data = patched(record_of(b"a.py,sha256=x,1\n" * 500_000), f"{INFO}/RECORD", (22, 24), "<L", 16)
    assert [fault.kind for fault in contents(data).faults] == ["record"]


@pytest.mark.parametrize("text", [b"\xff\xfe", b'"' + b"x" * 200_000, b"a.py,\0\r\r\n,,,,\n\n"])
def test_a_record_that_is_no_csv_is_a_fault(text: bytes) -> None:
    assert {fault.kind for fault in contents(record_of(text)).faults} <= {"record", "unlisted"}
    assert contents(record_of(text)).faults


def test_a_wheel_without_a_record_of_its_own_is_a_fault() -> None:
    assert faults(zip_bytes([("a.py", b"")])) == [("record", "")]
    assert faults(zip_bytes([("b-1.0.dist-info/RECORD", b"")]))[0] == ("record", "")


def test_a_record_that_lists_other_files_is_a_fault() -> None:
    found = faults(record_of(f"gone.py,sha256=x,1\n{INFO}/RECORD,,\n".encode()))
    assert found == [("unlisted", "a.py"), ("unlisted", "gone.py")]


@pytest.mark.parametrize("text", [b"[console_scripts\n", b"x = y\n", b"\xff", b"[a]\nx\n"])
def test_entry_points_that_cannot_be_read_are_a_fault(text: bytes) -> None:
    data = raw([(f"{INFO}/entry_points.txt", text)])
    assert "entry-points" in {kind for kind, _ in faults(data)}
    assert contents(data).scripts == ()


def test_an_archive_of_the_64_bit_kind_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    data = raw([("b.so", LIBRARY)])
    assert b"PK\6\6" in data
    assert [binary.path for binary in contents(data).binaries] == ["b.so"]


def _damages() -> list[Callable[[bytearray, int], None]]:
    def flip(data: bytearray, at: int) -> None:
        data[at] ^= 0xFF

    def fill(data: bytearray, at: int) -> None:
        data[at : at + 8] = b"\xff" * min(8, len(data) - at)

    return [flip, fill]


@pytest.mark.parametrize("damage", _damages())
def test_damage_anywhere_ends_in_contents_or_in_one_error(damage: Callable[[bytearray, int], None]) -> None:
    good = built({"a/x.so": LIBRARY}, compressed=True)
    for at in range(0, len(good) - 8, 3):
        data = bytearray(good)
        damage(data, at)
        try:
            contents(bytes(data))
        except ToolError as error:
            assert error.where == NAME  # noqa: PT017


def test_the_checksum_of_a_member_is_its_own() -> None:
    (member,) = [m for m in contents(built({"a/x.so": LIBRARY})).members if m.path == "a/x.so"]
    assert (member.crc, member.size) == (zlib.crc32(LIBRARY), len(LIBRARY))


BIG_NEEDS = [("libc.so.6", "GLIBC_2.38", "f"), ("libstdc++.so.6", "GLIBCXX_3.4.32", "g")]


@pytest.mark.parametrize("linker", ["lld", "gnu", "patchelf"])
@pytest.mark.parametrize("compressed", [False, True])
def test_where_bytes_cost_a_big_library_is_read_in_part(linker: Linker, compressed: bool) -> None:
    library = elf(BIG_NEEDS, ["libc.so.6", "libstdc++.so.6"], linker=linker, code=machine_code(4 * MEGABYTE))
    source = Bytes(built({"a/big.so": library}, compressed=compressed))
    (found,) = read_contents(NAME, source, sparing=True).binaries
    (exact,) = contents(source.data).binaries
    assert (found.partial, exact.partial) == (True, False)
    assert [(n.library, n.version) for n in found.needs] == [(n.library, n.version) for n in exact.needs]
    assert set(found.libraries) == set(exact.libraries)
    assert source.bytes_read < len(source.data) // 3


def test_a_small_library_is_read_exactly_also_where_bytes_cost() -> None:
    data = built({"a/x.so": elf(BIG_NEEDS, code=machine_code(4096))}, compressed=True)
    assert not read_contents(NAME, Bytes(data), sparing=True).binaries[0].partial
    assert read_contents(NAME, Bytes(data), Limits(exact=0), sparing=True).binaries[0].partial


def test_an_archive_that_lies_about_where_a_library_ends_is_read_without_its_end() -> None:
    library = elf(BIG_NEEDS, linker="patchelf", code=machine_code(4 * MEGABYTE))
    data = bytearray(built({"a/big.so": library}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        start = archive.getinfo("a/big.so").header_offset
    struct.pack_into("<H", data, start + 28, 65535)  # APPNOTE 4.3.7: the extra field's length
    found = read_contents(NAME, Bytes(bytes(data)), sparing=True)
    assert not [binary for binary in found.binaries if binary.partial]


@pytest.mark.parametrize("path", ["a/x.a", "a/x.LIB", "a/zoneinfo/Europe/Rome", "a/x.npz"])
def test_what_no_linker_opens_is_not_read(path: str) -> None:
    assert contents(built({path: LIBRARY})).binaries == ()


@pytest.mark.parametrize("path", ["a/x", "a/x.bin", "a/x.dat", "a/x.so.1", "a/x.o", "a/x.cpython-312.so"])
def test_whatever_may_be_a_binary_is_read(path: str) -> None:
    assert [binary.path for binary in contents(built({path: LIBRARY})).binaries] == [path]
