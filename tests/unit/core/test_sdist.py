"""What a sdist needs to be built, read without running any of it."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Callable
from typing import Literal

import pytest

from lockgrid.core.sdist import asked_extras, build_requirements, pkg_info, static_metadata
from lockgrid.errors import ToolError
from support.archives import tar_gz_bytes, zip_bytes
from support.wheels import sdist
from unit.builders import environment, metadata

LEGACY = ("setuptools>=40.8.0",)
SYSTEM = '[build-system]\nrequires = ["flit_core >=3,<5", "b; python_version < \'3.11\'"]\n'


def tar(text: str | None, path: str = "a-1.0/pyproject.toml") -> bytes:
    entries = [("a-1.0/PKG-INFO", b"Name: a\n")]
    return tar_gz_bytes(entries + ([(path, text.encode())] if text is not None else []))


def test_build_system_requires_is_read_in_normal_spelling() -> None:
    expected = ("flit_core<5,>=3", 'b; python_version < "3.11"')
    assert build_requirements("a-1.0.tar.gz", tar(SYSTEM)) == expected
    assert build_requirements("a-1.0.zip", zip_bytes([("a-1.0/pyproject.toml", SYSTEM.encode())])) == expected


def test_other_compressions_are_read_too() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        info = tarfile.TarInfo("a-1.0/pyproject.toml")
        info.size = len(SYSTEM)
        archive.addfile(info, io.BytesIO(SYSTEM.encode()))
    assert len(build_requirements("a-1.0.tar.xz", buffer.getvalue())) == 2


@pytest.mark.parametrize(
    "data",
    [
        tar(None),
        tar(""),
        tar("[project]\nname = 'a'\n"),
        tar(SYSTEM, "a-1.0/vendored/pyproject.toml"),
        tar(SYSTEM, "pyproject.toml"),
    ],
)
def test_a_sdist_without_a_build_system_gets_setuptools(data: bytes) -> None:
    assert build_requirements("a-1.0.tar.gz", data) == LEGACY


def test_the_sdists_of_the_other_tests_are_read() -> None:
    built = sdist("a", "1.0", build_requires=["b>=1", "c"])
    assert build_requirements(built.filename, built.data) == ("b>=1", "c")
    old = sdist("a", "1.0", backend="setuptools")
    assert build_requirements(old.filename, old.data) == LEGACY


def test_a_build_system_that_requires_nothing_gets_nothing() -> None:
    assert build_requirements("a-1.0.tar.gz", tar("[build-system]\nrequires = []\nbackend-path = ['.']\n")) == ()


def encrypted() -> bytes:
    """A zip archive whose pyproject.toml claims to be encrypted."""
    data = bytearray(zip_bytes([("a-1.0/pyproject.toml", SYSTEM.encode())]))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def damaged(data: bytes, mode: Literal["w:gz", "w:xz"] = "w:gz") -> bytes:
    """A compressed archive with a byte of its content changed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        info = tarfile.TarInfo("a-1.0/pyproject.toml")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    packed = bytearray(buffer.getvalue())
    packed[len(packed) // 2] ^= 0xFF
    return bytes(packed)


@pytest.mark.parametrize(
    ("filename", "make"),
    [
        ("a-1.0.tar.gz", lambda: b"no archive"),
        ("a-1.0.tar.gz", lambda: b""),
        ("a-1.0.zip", lambda: b"no archive"),
        ("a-1.0.tar.gz", lambda: tar(SYSTEM)[:60]),
        ("a-1.0.tar.gz", lambda: damaged(b"".join(bytes([n % 251]) * 3 for n in range(4000)))),
        ("a-1.0.tar.gz", lambda: tar("[build-system\n")),
        ("a-1.0.tar.gz", lambda: tar('[build-system]\nrequires = ["a b"]\n')),
        ("a-1.0.tar.gz", lambda: tar_gz_bytes([("a-1.0/pyproject.toml", b"\xff\xfe")])),
        ("a-1.0.tar.xz", lambda: damaged(random.Random(1).randbytes(100_000).hex().encode(), "w:xz")),
        ("a-1.0.zip", encrypted),
    ],
)
def test_a_sdist_that_cannot_be_read_is_named(filename: str, make: Callable[[], bytes]) -> None:
    with pytest.raises(ToolError) as caught:
        build_requirements(filename, make())
    assert caught.value.where == filename
    assert caught.value.what.startswith("the sdist cannot be read: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("build-system = 1\n", "build-system must be a table"),
        ("[[build-system]]\n", "build-system must be a table"),
        ("[build-system]\nrequires = [1]\n", "build-system.requires must be a list of strings"),
        ('[build-system]\nrequires = "abc"\n', "build-system.requires must be a list of strings"),
        ("[build-system]\nrequires = { a = 1 }\n", "build-system.requires must be a list of strings"),
        ("[build-system]\nbuild-backend = 'x'\n", "[build-system] has no requires"),
        ("[build-system]\n", "[build-system] has no requires"),
    ],
)
def test_a_build_system_that_is_none_is_named(text: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        build_requirements("a-1.0.tar.gz", tar(text))
    assert caught.value.where == "a-1.0.tar.gz"
    assert f"pyproject.toml: {said}" in caught.value.what


def described(text: str | None) -> bytes:
    """A sdist with this PKG-INFO, and another deeper down that means nothing."""
    entries = [("a-1.0/a.egg-info/PKG-INFO", b"Metadata-Version: 2.4\n")]
    return tar_gz_bytes(entries + ([("a-1.0/PKG-INFO", text.encode())] if text is not None else []))


@pytest.mark.parametrize(
    ("text", "static"),
    [
        ("Metadata-Version: 2.2\nName: a\n", True),
        ("Metadata-Version: 2.10\nDynamic: License\nDynamic: description\n", True),
        ("Metadata-Version: 3.0\n", True),
        ("Metadata-Version: 2.1\n", False),
        ("Metadata-Version: 1.2\n", False),
        ("Metadata-Version: 2.4\nDynamic: Summary\nDynamic: REQUIRES-Dist\n", False),
        ("Metadata-Version: 2.4\nDynamic: Provides-Extra\n", False),
        ("Metadata-Version: 2.4\nDynamic: Requires-Python\n", False),
        ("Metadata-Version: new\n", False),
        ("Name: a\n", False),
        ("", False),
        (None, False),
    ],
)
def test_metadata_is_static_where_the_standard_says_so(text: str | None, static: bool) -> None:
    found = static_metadata(pkg_info("a-1.0.tar.gz", described(text)))
    assert found == (text.encode() if static and text else None)


def test_a_broken_archive_has_no_metadata() -> None:
    with pytest.raises(ToolError, match="cannot be read"):
        pkg_info("a-1.0.tar.gz", b"no archive")


def test_extras_are_asked_by_environments_and_by_what_they_install() -> None:
    asked = asked_extras(
        [environment("A[One]", "b"), environment("a[two]", name="other")],
        [metadata("b", "1", "a[three]>=1 ; sys_platform == 'win32'", "c[x,y]", "no requirement!")],
    )
    assert asked == {"a": {"one", "two", "three"}, "b": set(), "c": {"x", "y"}}
