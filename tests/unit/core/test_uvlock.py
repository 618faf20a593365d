"""A `uv.lock` is held to the lockfiles file by file, and cut to what they hold."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

import pytest

from lockgrid.core.uvlock import check, cut, parse
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.grid import LockedPin, Lockfile
from lockgrid.model.target import Target
from unit.builders import HOST, LINUX, WINDOWS, digest, locked, target

L11, L12, W11 = target(LINUX, "3.11"), target(LINUX, "3.12"), target(WINDOWS, "3.11")
CP311, CP312 = (f"native-1.0-cp3{n}-cp3{n}-manylinux_2_28_x86_64.whl" for n in (11, 12))
WIN = "native-1.0-cp311-cp311-win_amd64.whl"
PURE = "pure-2.0-py3-none-any.whl"


def entry(filename: str, sha: str | None = None) -> str:
    stated = digest(filename) if sha is None else sha
    known = f', hash = "sha256:{stated}"' if stated else ""
    return f'{{ url = "{HOST}/files/{filename}"{known}, size = 5, upload-time = "2026-01-01T00:00:00Z" }}'


def package(name: str, version: str, *wheels: str, sdist: str = "", source: str = "") -> str:
    where = source or f'{{ registry = "{HOST}/simple" }}'
    lines = ["[[package]]", f'name = "{name}"', f'version = "{version}"', f"source = {where}"]
    lines += ["dependencies = [", '    { name = "wheels" },', "]"]
    lines += [f"sdist = {sdist}"] if sdist else []
    lines += ["wheels = [", *(f"    {wheel}," for wheel in wheels), "]"] if wheels else []
    return "\n".join(lines) + "\n\n"


# An extra may be called as a key of a package is.
PROJECT = """\
[[package]]
name = "environments"
version = "0"
source = { virtual = "." }

[package.optional-dependencies]
wheels = [
    { name = "pure" },
]
sdist = [
    { name = "pure" },
]

[package.metadata]
requires-dist = [{ name = "pure", marker = "extra == 'wheels'" }]
"""
HEAD = 'version = 1\nrevision = 5\nrequires-python = ">=3.10"\n\n'


def text_of(*packages: str) -> str:
    return HEAD + "".join(packages) + PROJECT


def locks_of(*pins: LockedPin, name: str = "app", platform: str = "linux-x86_64") -> dict[tuple[str, str], Lockfile]:
    lockfile = Lockfile(environment=name, platform=platform, pythons=("3.11", "3.12"), sdists=(), pins=tuple(pins))
    return {(name, platform): lockfile}


DOMAIN: Mapping[str, Sequence[Target]] = {"app": (L11, L12, W11)}
BOTH = locked("native", "1.0", ["3.11", "3.12"], CP311, CP312)
FINE = text_of(package("native", "1.0", entry(CP311), entry(CP312), entry(WIN)), package("pure", "2.0", entry(PURE)))


def kept(text: str) -> set[str]:
    packages = tomllib.loads(text)["package"]
    files = [f for p in packages for f in [*p.get("wheels", []), *([p["sdist"]] if "sdist" in p else [])]]
    return {f["url"].rpartition("/")[2] for f in files}


def test_files_that_no_lockfile_holds_are_left_out_and_everything_else_stays() -> None:
    lock = parse(FINE)
    locks = locks_of(BOTH)
    check(lock, locks, DOMAIN, {})
    text, strangers = cut(lock, locks, {})
    assert strangers == ["pure==2.0"]
    assert kept(text) == {CP311, CP312}
    before, after = tomllib.loads(FINE), tomllib.loads(text)
    for data in (before, after):
        for one in data["package"]:
            one.pop("wheels", None)
    assert before == after
    assert text.endswith(PROJECT)


def test_what_is_held_wholly_is_returned_byte_for_byte() -> None:
    locks = locks_of(BOTH, locked("pure", "2.0", ["3.11", "3.12"], PURE))
    locks |= locks_of(locked("native", "1.0", ["3.11"], WIN), platform="windows-x86_64")
    assert cut(parse(FINE), locks, {}) == (FINE, [])


def test_a_sdist_is_a_file_like_any_other() -> None:
    text = text_of(package("tree", "1.0", entry("tree-1.0-py3-none-any.whl"), sdist=entry("tree-1.0.tar.gz")))
    pin = locked("tree", "1.0", ["3.11"], "tree-1.0.tar.gz")
    check(parse(text), locks_of(pin), DOMAIN, {})
    assert kept(cut(parse(text), locks_of(pin), {})[0]) == {"tree-1.0.tar.gz"}
    wheel = locked("tree", "1.0", ["3.11"])
    assert kept(cut(parse(text), locks_of(wheel), {})[0]) == {"tree-1.0-py3-none-any.whl"}


def test_the_hash_of_another_package_or_version_lets_no_file_in() -> None:
    text = text_of(package("a", "1.0", entry("a-1.0-py3-none-any.whl", digest(PURE))))
    locks = locks_of(locked("pure", "2.0", ["3.11"], PURE), locked("a", "2.0", ["3.11"], PURE))
    _, strangers = cut(parse(text), locks, {})
    assert strangers == ["a==1.0"]


def test_what_comes_from_no_index_is_not_cut() -> None:
    text = text_of(package("mine", "1.0", entry(PURE), source='{ url = "https://index.example/mine.whl" }'))
    assert cut(parse(text), {}, {}) == (text, [])


def test_a_file_that_is_missing_is_named_by_pin_hash_and_lockfile() -> None:
    lock = parse(text_of(package("native", "1.0", entry(CP311))))
    with pytest.raises(ToolError) as caught:
        check(lock, locks_of(BOTH), DOMAIN, {})
    assert not isinstance(caught.value, HashMismatchError)
    assert f"native==1.0: no file with sha256 {digest(CP312)} (locks/app/linux-x86_64.txt)" in caught.value.what
    assert digest(CP311) not in caught.value.what


def test_a_package_that_is_missing_altogether_is_named() -> None:
    with pytest.raises(ToolError, match=r"native==1\.0: no file"):
        check(parse(text_of()), locks_of(BOTH), DOMAIN, {})


def test_a_file_with_other_bytes_is_named_with_both_hashes_and_every_lockfile() -> None:
    lock = parse(text_of(package("pure", "2.0", entry(PURE, "ab" * 32))))
    pin = locked("pure", "2.0", ["3.11"], PURE)
    locks = locks_of(pin) | locks_of(pin, platform="windows-x86_64")
    with pytest.raises(HashMismatchError) as caught:
        check(lock, locks, DOMAIN, {})
    said = f"pure==2.0: no file with sha256 {digest(PURE)}; {PURE} has {'ab' * 32}"
    assert f"{said} (locks/app/linux-x86_64.txt, locks/app/windows-x86_64.txt)" in caught.value.what


def test_of_other_bytes_only_those_are_named_that_would_be_installed_instead() -> None:
    lock = parse(text_of(package("native", "1.0", entry(CP311), entry(CP312, "ab" * 32), entry(WIN, "cd" * 32))))
    with pytest.raises(HashMismatchError) as caught:
        check(lock, locks_of(BOTH), DOMAIN, {})
    assert CP312 in caught.value.what
    assert WIN not in caught.value.what


def test_a_better_wheel_that_is_missing_is_told_even_where_another_serves() -> None:
    pure = "native-1.0-py3-none-any.whl"
    lock = parse(text_of(package("native", "1.0", entry(pure))))
    with pytest.raises(ToolError, match=digest(CP311)):
        check(lock, locks_of(locked("native", "1.0", ["3.11"], CP311, pure)), DOMAIN, {})


def test_of_pythons_that_the_project_does_not_admit_files_may_be_missing() -> None:
    """uv leaves out what `requires-python` rules out."""
    lock = parse(text_of(package("native", "1.0", entry(CP312))))
    check(lock, locks_of(BOTH), {"app": (L12,)}, {})
    with pytest.raises(ToolError):
        check(lock, locks_of(BOTH), {"app": (L11,)}, {})


def test_environments_that_are_no_extras_are_not_asked_for() -> None:
    check(parse(text_of()), locks_of(BOTH, name="dev"), DOMAIN, {})


def test_a_file_without_a_hash_is_told_of_and_gets_that_of_its_bytes() -> None:
    text = text_of(package("pure", "2.0", '{ path = "pure-2.0-py3-none-any.whl" }', source='{ registry = "wheels" }'))
    lock, locks = parse(text), locks_of(locked("pure", "2.0", ["3.11"], PURE))
    with pytest.raises(ToolError, match="tells no sha256"):
        check(lock, locks, DOMAIN, {})
    (found,) = lock.packages[0].files
    hashes = {found.line: digest(PURE)}
    check(lock, locks, DOMAIN, hashes)
    new, _ = cut(lock, locks, hashes)
    assert f'{{ path = "{PURE}", hash = "sha256:{digest(PURE)}" }},' in new
    with pytest.raises(HashMismatchError):
        check(lock, locks, DOMAIN, {found.line: "ab" * 32})


def test_a_name_in_a_url_is_decoded() -> None:
    text = text_of(package("a", "1.0+cpu", entry("a-1.0%2Bcpu-py3-none-any.whl")))
    assert parse(text).packages[0].files[0].filename == "a-1.0+cpu-py3-none-any.whl"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wheels = [\n", "wheels = [ # more\n"),
        ("hash = ", "digest = "),
        ('"sha256:', '"sha512:'),
        ("{ url", "{ uri"),
        ("source = {", "source = ["),
        ('name = "native"', "name = 'native'"),
    ],
)
def test_what_is_written_in_another_way_is_refused_and_never_misread(old: str, new: str) -> None:
    assert old in FINE
    with pytest.raises(ToolError):
        check(parse(FINE.replace(old, new)), locks_of(BOTH), DOMAIN, {})
