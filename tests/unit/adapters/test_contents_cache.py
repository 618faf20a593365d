"""The short form of contents gives back what went in."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.contents_cache import contents_key, decode_contents, encode_contents
from lockgrid.model.contents import Binary, Code, Contents, Fault, Member, Need

TEXT = st.text(max_size=9)  # lone surrogates too: names in archives are strangers' bytes
VERSION = st.none() | st.lists(st.integers(0, 99), max_size=3).map(tuple)


def some(made: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(made, max_size=3).map(tuple)


def all_of(kind: Any, /, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a class; every field has to be given, so that a new one is not forgotten here."""
    assert {field.name for field in fields(kind)} == values.keys()
    return st.builds(kind, **values)


BINARY = all_of(
    Binary,
    path=TEXT,
    format=st.sampled_from(["ELF", "Mach-O", "PE"]),
    codes=some(all_of(Code, machine=TEXT, minimum=VERSION)),
    needs=some(all_of(Need, version=TEXT, library=TEXT, symbol=TEXT)),
    libraries=some(TEXT),
    linked=st.booleans(),
    partial=st.booleans(),
)
CONTENTS = all_of(
    Contents,
    filename=TEXT,
    members=some(all_of(Member, path=TEXT, sha256=TEXT, crc=st.integers(0, 2**32), size=st.integers(0, 2**64))),
    binaries=some(BINARY),
    scripts=some(st.tuples(TEXT, TEXT)),
    faults=some(all_of(Fault, kind=st.sampled_from(["corrupt", "binary"]), path=TEXT, what=TEXT)),
    read=st.integers(0),
    size=st.integers(0),
    inflated=st.integers(0),
)


@given(CONTENTS)
def test_contents_come_back_as_they_were(contents: Contents) -> None:
    assert decode_contents(encode_contents(contents)) == contents


def test_ten_thousand_members_take_little_room() -> None:
    members = tuple(
        Member(path=f"torch/include/ATen/ops/{n}.h", sha256=f"{n * 7**60:043}"[:43], crc=n, size=n)
        for n in range(10_000)
    )
    contents = Contents(filename="a", members=members, binaries=())
    assert len(encode_contents(contents)) < 60 * len(members)
    assert decode_contents(encode_contents(contents)) == contents


def test_a_key_is_of_the_hash_and_of_the_name() -> None:
    keys = {contents_key("a.whl", "00"), contents_key("a.whl", "11"), contents_key("b.whl", "00")}
    assert len(keys) == 3
