"""Lockfiles as values: put together from proven cells, and read back from their text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from lockgrid.core.lockfile import assemble, parse_lockfile, pins_by_python
from lockgrid.core.render.requirements import render
from lockgrid.errors import InputError
from lockgrid.model.grid import LockedPin, Lockfile
from lockgrid.model.target import python_key
from unit.builders import LINUX, WINDOWS, any_wheel, cell, digest, index_file, locked, pin, target

PATH = "locks/app/linux-x86_64.txt"
PYTHONS = ["3.9", "3.10", "3.11", "3.12"]


def test_the_cells_of_a_platform_become_one_lockfile() -> None:
    old, new = (index_file(f"a-1.0-cp3{minor}-cp3{minor}-manylinux_2_28_x86_64.whl") for minor in (9, 10))
    cells = [
        cell("app", target(python="3.10"), pin("a", "1.0", new), pin("b", "2.0"), via={"a": ["b==2.0"]}),
        cell("app", target(python="3.9"), pin("a", "1.0", old), pin("b", "1.0"), via={"a": ["envs/app.toml"]}),
    ]
    assert assemble("app", LINUX, cells) == Lockfile(
        environment="app",
        platform="linux-x86_64 (glibc 2.28)",
        pythons=("3.9", "3.10"),
        sdists=(),
        pins=(
            locked("a", "1.0", ["3.9", "3.10"], old.filename, new.filename, via=["b==2.0", "envs/app.toml"]),
            locked("b", "1.0", ["3.9"]),
            locked("b", "2.0", ["3.10"]),
        ),
    )


def test_a_hash_that_several_pythons_install_stands_once_and_sdists_are_named() -> None:
    sdist = index_file("z-1.0.tar.gz")
    cells = [
        cell("app", target(WINDOWS, python), pin("z", "1.0", sdist), pin("a", "1.0")) for python in ("3.9", "3.10")
    ]
    lockfile = assemble("app", WINDOWS, cells)
    assert lockfile.sdists == ("z",)
    assert lockfile.platform == "windows-x86_64"
    assert [p.hashes for p in lockfile.pins] == [(any_wheel("a", "1.0").sha256,), (sdist.sha256,)]


def test_pins_of_one_name_come_in_the_order_of_their_pythons() -> None:
    cells = [
        cell("app", target(python="3.10"), pin("a", "1.0")),
        cell("app", target(python="3.9"), pin("a", "2.0")),
    ]
    assert [p.version for p in assemble("app", LINUX, cells).pins] == ["2.0", "1.0"]


def test_pins_are_found_by_name() -> None:
    pins = (locked("a", "1", ["3.9"]), locked("b", "1", ["3.9"]), locked("b", "2", ["3.10"]), locked("c", "1", ["3.9"]))
    lockfile = Lockfile(environment="app", platform="p", pythons=("3.9", "3.10"), sdists=(), pins=pins)
    assert lockfile.named("b") == pins[1:3]
    assert lockfile.named("a") == pins[:1]
    assert lockfile.named("bb") == ()
    assert pins_by_python(lockfile) == {"3.9": {"a": "1", "b": "1", "c": "1"}, "3.10": {"b": "2"}}


NAME = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,6}[a-z0-9])?", fullmatch=True).map(canonicalize_name)
VERSION = st.builds(
    lambda release, suffix: str(Version(".".join(map(str, release)) + suffix)),
    st.lists(st.integers(0, 30), min_size=1, max_size=3),
    st.sampled_from(["", "rc1", ".post2", ".dev3", "+cpu.1"]),
)
HASHES = st.lists(st.integers(0, 999).map(lambda n: digest(str(n))), min_size=1, max_size=3, unique=True)
VIA = st.lists(st.sampled_from(["envs/app.toml", "a[x,y]==1.0", "b==2.0+cpu", "the sdists"]), max_size=3, unique=True)


@st.composite
def lockfiles(draw: st.DrawFn) -> Lockfile:
    pythons = sorted(draw(st.lists(st.sampled_from(PYTHONS), min_size=1, unique=True)), key=python_key)
    names = sorted(draw(st.lists(NAME, max_size=4, unique=True)))
    pins = []
    for name in names:
        first = draw(st.lists(st.sampled_from(pythons), min_size=1, unique=True))
        groups = [first, [python for python in pythons if python not in first]]
        versions = draw(st.lists(VERSION, min_size=2, max_size=2, unique_by=Version))
        for group, version in zip(groups, versions, strict=True):
            if group:
                chosen = sorted(group, key=python_key)
                hashes, via = sorted(draw(HASHES)), sorted(draw(VIA))
                pins.append(
                    LockedPin(name=name, version=version, pythons=tuple(chosen), hashes=tuple(hashes), via=tuple(via))
                )
    pins.sort(key=lambda p: (p.name, python_key(p.pythons[0])))
    return Lockfile(
        environment=draw(st.sampled_from(["app", "ethos_u", "build", "a.b-c"])),
        platform=draw(st.sampled_from(["linux-x86_64 (glibc 2.28)", "windows-x86_64", "any"])),
        pythons=tuple(pythons),
        sdists=(),
        pins=tuple(pins),
    )


@given(lockfiles(), st.lists(NAME, max_size=2, unique=True).map(sorted))
def test_a_rendered_lockfile_is_read_back_as_it_was(lockfile: Lockfile, sdists: list[str]) -> None:
    named = tuple(sdists) if lockfile.environment != "build" else ()
    before = Lockfile(
        environment=lockfile.environment,
        platform=lockfile.platform,
        pythons=lockfile.pythons,
        sdists=named,
        pins=lockfile.pins,
    )
    text = render(before)
    assert parse_lockfile(PATH, text) == before
    assert render(parse_lockfile(PATH, text)) == text


HEADER = "# environment: app\n# platform: any\n# pythons: 3.9 3.10\n"
HASH = f"    --hash=sha256:{digest('x')}\n"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (HEADER + "a==1.0\n", "line 4", "'a==1.0' has no hash"),
        (HEADER + "a>=1.0 \\\n" + HASH, "line 4", "'a>=1.0' is no pin name==version"),
        (HEADER + "a==1.0,!=2 \\\n" + HASH, "line 4", "'a==1.0,!=2' is no pin name==version"),
        (HEADER + "a ~ 1 \\\n" + HASH, "line 4", "'a ~ 1' is no pin"),
        (HEADER + "--index-url https://index.example/simple\n", "line 4", "is no pin"),
        (HEADER + "a==1.0 \\\n    --hash=md5:00\n", "line 5", "no sha256 hash"),
        (HEADER + "a==1.0 \\\n    --hash=sha256:00\n", "line 5", "no sha256 hash"),
        (HEADER + "a @ https://index.example/a.whl \\\n" + HASH, "line 4", "is no pin name==version"),
        ("# environment: app\n# pythons: 3.9\n", "line 1", "the header names no platform"),
        ("# platform: any\n# pythons: 3.9\n", "line 1", "the header names no environment"),
        ("# environment: app\n# platform: any\n", "line 1", "the header names no pythons"),
        ("", "line 1", "the header names no environment"),
    ],
)
def test_a_line_that_is_none_of_lockgrids_is_named(text: str, line: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_lockfile(PATH, text)
    (problem,) = caught.value.problems
    assert (problem.file, problem.key) == (PATH, line)
    assert what in problem.what
    assert "lockgrid lock" in caught.value.next_step


def test_a_lockfile_of_another_schema_is_refused() -> None:
    with pytest.raises(InputError):
        parse_lockfile(PATH, "# lockgrid lockfile, schema: 2\n" + HEADER + "a==1.0 \\\n" + HASH)


@pytest.mark.parametrize(
    ("marker", "pythons"),
    [
        ("", ("3.9", "3.10")),
        (" ; python_version < '3.10'", ("3.9",)),
        (' ; python_version >= "3.10"', ("3.10",)),
    ],
)
def test_a_marker_is_read_as_the_pythons_that_it_picks(marker: str, pythons: tuple[str, ...]) -> None:
    lockfile = parse_lockfile(PATH, f"{HEADER}a==1.0{marker} \\\n{HASH}")
    assert lockfile.pins[0].pythons == pythons


def test_windows_line_ends_are_read() -> None:
    text = render(
        Lockfile(environment="a", platform="any", pythons=("3.9",), sdists=(), pins=(locked("a", "1", ["3.9"]),))
    )
    parsed: Mapping[str, object] = {"": parse_lockfile(PATH, text.replace("\n", "\r\n"))}
    assert parsed[""] == parse_lockfile(PATH, text)
