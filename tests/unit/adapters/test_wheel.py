"""METADATA out of a wheel on an index, by as few and as small requests as do it."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Coroutine
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from lockgrid.adapters.wheel import (
    TAIL_BYTES,
    WHOLE_BYTES,
    check_hash,
    check_metadata_hash,
    decode_metadata,
    encode_metadata,
    parse_licence,
    parse_metadata,
    read_metadata,
)
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import DistMetadata, IndexFile, Licence
from support.archives import flip_byte, zip_bytes
from support.wheels import Built, Corruption, wheel
from unit.builders import HOST, digest

BIG = {"big/data.bin": b"\0" * (WHOLE_BYTES + TAIL_BYTES)}
INFO = "a-1.0.dist-info"
METADATA = b"Metadata-Version: 2.4\nName: a\nVersion: 1.0\n"


class Server:
    """Answers range requests on one file, and remembers them."""

    def __init__(self, data: bytes, *, ranges: bool = True) -> None:
        self.data = data
        self.ranges = ranges
        self.asked: list[tuple[int, int | None]] = []
        self.sent = 0

    async def fetch(self, start: int, end: int | None) -> tuple[int, bytes, int]:
        self.asked.append((start, end))
        if not self.ranges:
            self.sent += len(self.data)
            return 0, self.data, len(self.data)
        begin = max(0, len(self.data) + start) if start < 0 else start
        chunk = self.data[begin:end]
        self.sent += len(chunk)
        return begin, chunk, len(self.data)


def finish(job: Coroutine[Any, Any, bytes]) -> bytes:
    """The result of a coroutine that waits for nothing."""
    try:
        job.send(None)
    except StopIteration as stop:
        return bytes(stop.value)
    raise AssertionError("it waits for something")


def listed(data: bytes, filename: str = "a-1.0-py3-none-any.whl", **more: Any) -> IndexFile:
    file = IndexFile(filename=filename, url=f"{HOST}/{filename}", sha256=digest_of(data), size=len(data))
    return replace(file, **more)


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def read(server: Server, file: IndexFile | None = None) -> bytes:
    return finish(read_metadata(file or listed(server.data), server.fetch))


def big(**more: Any) -> Built:
    return wheel("a", "1.0", files=BIG, requires=["b>=1"], **more)


def test_a_small_wheel_is_fetched_whole_and_hashed() -> None:
    built = wheel("a", "1.0", requires=["b>=1"])
    server = Server(built.data)
    assert read(server) == built.metadata
    assert server.asked == [(0, None)]
    with pytest.raises(HashMismatchError):
        read(Server(built.data), listed(built.data, sha256=digest("other")))


@pytest.mark.parametrize("compressed", [False, True])
def test_of_a_big_wheel_the_tail_is_enough(compressed: bool) -> None:
    files = {f"m{number}.py": digest(str(number)) * 40 for number in range(60)}
    built = wheel("a", "1.0", files=files, compressed=compressed)
    server = Server(built.data)
    assert read(server, listed(built.data, size=10 * WHOLE_BYTES)) == built.metadata
    assert server.asked == [(-TAIL_BYTES, None)]


def test_a_wheel_of_unknown_size_is_asked_for_its_tail() -> None:
    server = Server(big().data)
    assert read(server, listed(server.data, size=None)) == big().metadata
    assert server.asked == [(-TAIL_BYTES, None)]


def many(count: int, *, last: bool) -> bytes:
    """A wheel with a directory of more than a tail, and METADATA at its end or at its beginning."""
    members = [(f"package/{number:05}-{'x' * 40}.py", b"") for number in range(count)]
    info = [(f"{INFO}/METADATA", METADATA), (f"{INFO}/RECORD", b"")]
    return zip_bytes([*members, *info] if last else [*info, *members])


def test_a_directory_beyond_the_tail_is_not_fetched_where_dist_info_is_last() -> None:
    data = many(2000, last=True)
    server = Server(data)
    assert read(server) == METADATA
    assert server.asked[0] == (-TAIL_BYTES, None)
    assert server.sent < len(data) / 3


def test_a_directory_beyond_the_tail_is_fetched_where_dist_info_is_first() -> None:
    server = Server(many(2000, last=False))
    assert read(server) == METADATA
    assert len(server.asked) <= 4
    assert all(end is not None for _, end in server.asked[1:])


def test_dist_info_need_not_be_last() -> None:
    data = zip_bytes([(f"{INFO}/METADATA", METADATA), ("big.bin", b"\0" * (WHOLE_BYTES + 2 * TAIL_BYTES))])
    server = Server(data)
    assert read(server) == METADATA
    assert len(server.asked) <= 3
    assert server.sent < len(data)


def test_metadata_longer_than_a_step_is_read() -> None:
    long = METADATA + b"\n" + b"x" * 100_000
    data = zip_bytes([(f"{INFO}/METADATA", long), ("big.bin", b"\0" * 3 * TAIL_BYTES)])
    assert read(Server(data)) == long


@pytest.mark.parametrize("data", [many(2000, last=False), many(2000, last=True), big().data])
def test_a_server_without_ranges_sends_the_whole_file_which_is_hashed(data: bytes) -> None:
    server = Server(data, ranges=False)
    assert read(server).startswith(b"Metadata-Version: 2.4\nName: a\n")
    assert len(server.asked) == 1
    with pytest.raises(HashMismatchError) as caught:
        read(Server(data, ranges=False), listed(data, sha256=digest("other")))
    assert caught.value.where == "a-1.0-py3-none-any.whl"
    assert digest("other") in caught.value.what


def test_the_metadata_of_another_package_is_not_taken() -> None:
    built = wheel("a", "1.0", corrupt="two-dist-info")
    assert read(Server(built.data)) == built.metadata
    data = zip_bytes([("a-2.0.dist-info/METADATA", METADATA), ("b-1.0.dist-info/METADATA", METADATA)])
    with pytest.raises(ToolError, match="it holds no METADATA of its own name and version"):
        read(Server(data))


@pytest.mark.parametrize("stem", ["A-1.0", "a-1.0.0", "a-01.0"])
def test_the_folder_may_spell_name_and_version_in_its_own_way(stem: str) -> None:
    assert read(Server(zip_bytes([(f"{stem}.dist-info/METADATA", METADATA)]))) == METADATA


@pytest.mark.parametrize("corrupt", ["not-a-zip", "truncated", "crc", "no-metadata"])
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("files", [None, BIG], ids=["small", "big"])
def test_a_broken_wheel_is_a_tool_error_that_names_it(
    corrupt: Corruption, ranges: bool, files: dict[str, bytes] | None
) -> None:
    built = wheel("a", "1.0", files=files, corrupt=corrupt)
    with pytest.raises(ToolError) as caught:
        read(Server(built.data, ranges=ranges))
    assert caught.value.where == built.filename
    assert caught.value.exit_code == 4
    assert "require another version" in caught.value.next_step


def test_a_truncated_download_is_broken_or_does_not_match() -> None:
    built = big()
    for cut in (10, 1000, len(built.data) // 2):
        with pytest.raises(ToolError):
            read(Server(built.data[:-cut]), listed(built.data))


def test_metadata_of_an_absurd_size_is_refused() -> None:
    data = zip_bytes([(f"{INFO}/METADATA", METADATA)])
    claimed = data.replace(struct.pack("<I", len(METADATA)), struct.pack("<I", 64 * 1024 * 1024))
    assert claimed != data
    with pytest.raises(ToolError, match="claims 67108864 bytes"):
        read(Server(claimed))


def test_an_archive_with_something_before_it_is_refused_and_a_comment_behind_it_is_not() -> None:
    data = big().data
    with pytest.raises(ToolError, match="does not end where its end record begins"):
        read(Server(b"#!" + data))
    assert read(Server(data[:-2] + b"\x05\x00hello")) == big().metadata


def flagged(flag: int = 0, method: int = 0) -> bytes:
    """A wheel whose METADATA claims a flag, or a compression, that it does not have."""
    data = bytearray(zip_bytes([(f"{INFO}/METADATA", METADATA)]))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.index(signature) + offset
        struct.pack_into("<2H", data, at, flag, method)
    return bytes(data)


@pytest.mark.parametrize("data", [flagged(method=99), flagged(method=8)])
def test_a_compression_that_fails_is_a_tool_error(data: bytes) -> None:
    with pytest.raises(ToolError):
        read(Server(data))


def lzma_damaged() -> bytes:
    """A wheel whose METADATA is compressed with LZMA, with a byte of the stream changed."""
    buffer = io.BytesIO()
    text = METADATA + b"".join(digest(str(number)).encode() for number in range(99))
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(zipfile.ZipInfo(f"{INFO}/METADATA"), text, zipfile.ZIP_LZMA)
    data = bytearray(buffer.getvalue())
    begin = 30 + len(f"{INFO}/METADATA")
    for at in range(begin + 9, begin + 60):
        data[at] ^= 0xFF
    return bytes(data)


@pytest.mark.parametrize("data", [flagged(flag=1), lzma_damaged()], ids=["encrypted", "lzma"])
def test_an_encrypted_or_lzma_member_that_fails_is_a_tool_error(data: bytes) -> None:
    with pytest.raises(ToolError) as caught:
        read(Server(data))
    assert caught.value.where == "a-1.0-py3-none-any.whl"
    assert "encrypted" in caught.value.what or "cannot be decompressed" in caught.value.what


def test_a_compression_that_this_python_lacks_is_a_tool_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = lzma_damaged()
    monkeypatch.setattr(zipfile, "lzma", None)
    with pytest.raises(ToolError, match="cannot be decompressed"):
        read(Server(data))


def test_whole_files_are_checked_against_the_hash_that_was_promised() -> None:
    check_hash(listed(b"x"), b"x")
    check_hash(replace(listed(b"x"), sha256=""), b"anything")
    with pytest.raises(HashMismatchError) as caught:
        check_hash(listed(b"x"), b"y")
    assert caught.value.exit_code == 4


def test_metadata_beside_a_wheel_is_checked_against_its_own_hash() -> None:
    file = listed(b"wheel", metadata_sha256=digest_of(METADATA))
    assert check_metadata_hash(file, METADATA) == METADATA
    with pytest.raises(HashMismatchError, match="the METADATA beside it"):
        check_metadata_hash(file, flip_byte(METADATA, b"Name"))


def test_what_the_closure_proof_needs_is_parsed() -> None:
    built = wheel(
        "Foo.Bar",
        "1.0+cpu",
        requires=["b>=1;\n  extra == 'x'", "c (>=2)"],
        provides_extra=["x", "Y_z"],
        requires_python=">=3.10",
    )
    assert parse_metadata(listed(built.data, built.filename), built.metadata) == DistMetadata(
        name="foo-bar",
        version="1.0+cpu",
        requires_dist=("b>=1; extra == 'x'", "c (>=2)"),
        requires_python=">=3.10",
        provides_extra=("x", "Y_z"),
    )


def test_pkg_info_of_a_sdist_is_parsed_too() -> None:
    file = listed(b"", "foo_bar-1.0.tar.gz")
    assert parse_metadata(file, b"Metadata-Version: 2.4\nName: Foo-Bar\nVersion: 1.0.0\n").version == "1.0"


LICENCE = """\
Metadata-Version: 2.4
Name: a
Version: 1.0
License-Expression: MIT  OR
        Apache-2.0
License:
        The   A Licence
        .
        Permission is hereby granted
Classifier: License :: OSI Approved :: MIT License
Classifier: Topic :: Utilities

License-Expression: no header
"""


def test_of_the_licence_the_fields_are_kept_and_of_its_text_the_first_line() -> None:
    assert parse_licence(LICENCE.encode()) == Licence(
        expression="MIT OR Apache-2.0", text="The A Licence", classifiers=("License :: OSI Approved :: MIT License",)
    )
    assert parse_metadata(listed(b""), LICENCE.encode()).licence == parse_licence(LICENCE.encode())
    assert parse_licence(METADATA) == Licence()
    assert len(parse_licence(f"Name: a\nLicense: {'long ' * 100}\n".encode()).text) == 200


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_description_is_no_header(end: bytes) -> None:
    lines = [b"Metadata-Version: 2.4", b"Name: a", b"Version: 1.0", b"Requires-Dist: b", b"", b"Requires-Dist: c"]
    assert parse_metadata(listed(b""), end.join([*lines, b"", b"Requires-Dist: d"])).requires_dist == ("b",)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (METADATA.replace(b"Name: a", b"Name: b"), "says b 1.0, the file name says a 1.0"),
        (METADATA.replace(b"Version: 1.0", b"Version: 1.1"), "says a 1.1, the file name says a 1.0"),
        (b"", "says no name and no version"),
        (b"\xff\xfe\x00", "says no name and no version"),
    ],
)
def test_metadata_of_another_name_or_version_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_metadata(listed(b""), data)
    assert said in caught.value.what
    assert caught.value.where == "a-1.0-py3-none-any.whl"


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.builds(
        DistMetadata,
        name=TEXT.map(canonicalize_name),
        version=TEXT,
        requires_dist=st.lists(TEXT, max_size=3).map(tuple),
        requires_python=st.none() | TEXT,
        provides_extra=st.lists(TEXT, max_size=3).map(tuple),
        licence=st.builds(Licence, expression=TEXT, text=TEXT, classifiers=st.lists(TEXT, max_size=3).map(tuple)),
    )
)
def test_metadata_survives_the_cache(metadata: DistMetadata) -> None:
    assert decode_metadata(encode_metadata(metadata)) == metadata
