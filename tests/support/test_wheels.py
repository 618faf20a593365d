"""Distributions made for tests are the same each time, and valid where they claim to be."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile

import pytest
from packaging.metadata import Metadata
from packaging.tags import parse_tag
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from support.wheels import Built, sdist, wheel

GOLDEN = ["cc92025e", "27fc0e00", "caadd6d9"]


def test_the_same_arguments_give_the_same_bytes_on_every_machine() -> None:
    def build() -> list[Built]:
        return [
            wheel("A.b", "1.0", requires=["c>=1"], scripts={"run": "a_b:main"}),
            sdist("A.b", "1.0", requires=["c>=1"], build_requires=["d"]),
            sdist("A.b", "1.0", requires=["c>=1"], backend="setuptools"),
        ]

    assert build() == build()
    # Golden files hold such hashes. A change here is a change to every one of them.
    assert [built.sha256[:8] for built in build()] == GOLDEN


@pytest.mark.parametrize(
    ("tags", "filename"),
    [
        (("py3-none-any",), "foo_bar-1.0+cpu-7-py3-none-any.whl"),
        (("py3-none-any", "py2-none-any"), "foo_bar-1.0+cpu-7-py2.py3-none-any.whl"),
        (
            ("cp311-abi3-manylinux_2_28_x86_64.manylinux2014_x86_64",),
            "foo_bar-1.0+cpu-7-cp311-abi3-manylinux_2_28_x86_64.manylinux2014_x86_64.whl",
        ),
    ],
)
def test_packaging_agrees_on_file_name_tags_metadata_and_record(tags: tuple[str, ...], filename: str) -> None:
    built = wheel("Foo.-Bar", "1.0+cpu", tags=tags, build="7", files={"a,b.txt": "x"})
    name, version, build, parsed_tags = parse_wheel_filename(built.filename)
    assert (built.filename, name, str(version), build) == (filename, "foo-bar", "1.0+cpu", (7, ""))
    archive = zipfile.ZipFile(io.BytesIO(built.data))
    info = "foo_bar-1.0+cpu.dist-info"
    lines = archive.read(f"{info}/WHEEL").decode().splitlines()
    in_wheel = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    assert {tag for text in in_wheel for tag in parse_tag(text)} == parsed_tags
    assert len(in_wheel) == len(parsed_tags)
    assert Metadata.from_email(archive.read(f"{info}/METADATA")).name == "Foo.-Bar"
    rows = list(csv.reader(archive.read(f"{info}/RECORD").decode().splitlines()))
    assert [row[0] for row in rows] == archive.namelist()
    for path, digest, size in rows[:-1]:
        data = archive.read(path)
        right = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={right}", str(len(data)))


def test_tags_that_no_file_name_can_say_are_refused() -> None:
    with pytest.raises(ValueError, match="make two wheels"):
        wheel("a", "1", tags=("cp310-cp310-win_amd64", "cp311-cp311-win_amd64"))


def test_sdist_file_names_and_pkg_info_are_valid() -> None:
    built = sdist("Foo.Bar", "1.0", requires=["a ; extra == 'x'"], provides_extra=["x"])
    assert parse_sdist_filename(built.filename)[0] == built.name == "foo-bar"
    assert Metadata.from_email(built.metadata).provides_extra == ["x"]
