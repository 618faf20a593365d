"""A wheel written anew: the same content is the same bytes, and it is still a wheel."""

from __future__ import annotations

import base64
import csv
import io
import zipfile
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import pytest

from lockgrid.adapters.gitwheels import read_wheel, write_pages, write_stubs
from lockgrid.adapters.rewheel import rewrite_wheel
from lockgrid.errors import ToolError
from lockgrid.model.git import PROVENANCE
from lockgrid.model.index import DistMetadata

NAME = "pkg-1.0-py3-none-any.whl"
INFO = "pkg-1.0.dist-info/"
METADATA = b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n"
MEMBERS = {"pkg/b.py": b"b", "pkg/a.py": b"a" * 100, f"{INFO}METADATA": METADATA, f"{INFO}RECORD": b"old"}


def made(folder: Path, order: tuple[str, ...] = tuple(MEMBERS), *, mode: int = 0o644, year: int = 2020) -> Path:
    """A wheel as a backend may make it."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / NAME, "w") as archive:
        for number, path in enumerate(order):
            info = zipfile.ZipInfo(path, (year, 1, 1 + number, 0, 0, 0))
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
            archive.writestr(info, MEMBERS[path])
    return folder / NAME


def test_order_times_modes_and_compression_do_not_matter(tmp_path: Path) -> None:
    digests = set()
    for number, order in enumerate(permutations(MEMBERS)):
        source = made(tmp_path / str(number), order, mode=0o600 if number % 2 else 0o664, year=1980 + number)
        digests.add(rewrite_wheel(source, tmp_path / NAME, {PROVENANCE: b"{}"}, 1_700_000_000))
    assert digests == {sha256((tmp_path / NAME).read_bytes()).hexdigest()}


def test_what_it_holds_is_what_it_held_and_record_tells_it_in_order(tmp_path: Path) -> None:
    rewrite_wheel(made(tmp_path / "in", mode=0o700), tmp_path / NAME, {PROVENANCE: b"{}"}, 0)
    with zipfile.ZipFile(tmp_path / NAME) as archive:
        names = archive.namelist()
        assert names == ["pkg/a.py", "pkg/b.py", f"{INFO}METADATA", f"{INFO}{PROVENANCE}", f"{INFO}RECORD"]
        rows = list(csv.reader(io.StringIO(archive.read(names[-1]).decode())))
        assert [row[0] for row in rows] == names
        assert rows[-1][1:] == ["", ""]
        for path, digest, size in rows[:-1]:
            data = archive.read(path)
            assert digest == "sha256=" + base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            assert int(size) == len(data)
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        assert modes["pkg/a.py"] == 0o755
        assert modes[names[-1]] == 0o644
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_times_are_those_of_the_commit_and_of_zip(tmp_path: Path) -> None:
    for seconds, year in ((1_700_000_000, 2023), (-5, 1980), (10**12, 2107)):
        rewrite_wheel(made(tmp_path / "in"), tmp_path / NAME, {}, seconds)
        with zipfile.ZipFile(tmp_path / NAME) as archive:
            assert {info.date_time[0] for info in archive.infolist()} == {year}


@pytest.mark.parametrize("name", ["other-1.0.dist-info/METADATA", "pkg-2.0.dist-info/METADATA", "pkg/METADATA"])
def test_what_has_no_metadata_of_its_own_is_no_wheel(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / NAME, "w") as archive:
        archive.writestr(name, METADATA)
    with pytest.raises(ToolError, match="holds no METADATA of its own"):
        rewrite_wheel(tmp_path / NAME, tmp_path / "out.whl", {}, 0)
    assert not (tmp_path / "out.whl").exists()


def test_a_file_that_is_there_twice_and_a_broken_archive_are_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("pkg/a.py", b"other")
    with pytest.raises(ToolError, match="a file twice"):
        rewrite_wheel(path, tmp_path / "out.whl", {}, 0)
    path.write_bytes(b"nonsense")
    with pytest.raises(ToolError, match="no wheel"):
        rewrite_wheel(path, tmp_path / "out.whl", {}, 0)


def test_a_wheel_is_read_with_what_it_says_of_itself(tmp_path: Path) -> None:
    bare = read_wheel(made(tmp_path / "in"))
    assert (bare.metadata.name, bare.metadata.version, bare.provenance) == ("pkg", "1.0", b"")
    digest = rewrite_wheel(made(tmp_path / "in"), tmp_path / NAME, {PROVENANCE: b"{}"}, 0)
    found = read_wheel(tmp_path / NAME)
    assert (found.sha256, found.size, found.provenance) == (digest, (tmp_path / NAME).stat().st_size, b"{}")
    (tmp_path / NAME).write_bytes(b"nonsense")
    with pytest.raises(ToolError, match="no wheel"):
        read_wheel(tmp_path / NAME)


def test_a_stub_says_the_same_as_the_wheel(tmp_path: Path) -> None:
    said = DistMetadata(
        name="pkg",
        version="1.0",
        requires_dist=("a>=1", "b; extra == 'c'"),
        requires_python=">=3.10",
        provides_extra=("c",),
    )
    write_stubs(tmp_path / "stubs", {NAME: said})
    assert read_wheel(tmp_path / "stubs" / NAME).metadata == said


def test_pages_link_every_wheel_with_its_hash(tmp_path: Path) -> None:
    path = made(tmp_path)
    write_pages(tmp_path)
    assert '<a href="pkg/">pkg</a>' in (tmp_path / "index.html").read_text()
    digest = sha256(path.read_bytes()).hexdigest()
    assert f'<a href="../{NAME}#sha256={digest}">{NAME}</a>' in (tmp_path / "pkg/index.html").read_text()
