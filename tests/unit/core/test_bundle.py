"""The plan of a bundle, without a file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.bundle import (
    Plan,
    built_pin,
    downloads,
    mark_text,
    needed_to_build,
    parse_sums,
    strangers,
    sums_text,
)
from lockgrid.model.grid import LockedPin, Lockfile, Pin
from unit.builders import LINUX, WINDOWS, any_wheel, digest, index_file, target


def sdist_pin(name: str, version: str) -> Pin:
    return Pin(name=name, version=version, file=index_file(f"{name.replace('-', '_')}-{version}.tar.gz"))


PLAN = Plan(
    environment="app",
    target=target(),
    lockfile="sha256:1",
    pins=(
        Pin(name="plain", version="1.0", file=any_wheel("plain", "1.0")),
        sdist_pin("the-tree", "2.0"),
    ),
    build=(Pin(name="builder", version="3.0", file=any_wheel("builder", "3.0")),),
)
OWN = [
    *("bundle.json", "SHA256SUMS", "requirements.txt", "build.txt", "install.sh", "install.bat", "install.py"),
    *("wheels/plain-1.0-py3-none-any.whl", "wheels/builder-3.0-py3-none-any.whl", "sdists/the_tree-2.0.tar.gz"),
    *("wheels/the_tree-2.0-py3-none-any.whl", "wheels/the_tree-2.0-cp312-cp312-linux_x86_64.whl"),
    *(".partial/abc", ".build/out/x.whl", ".build/the_tree-2.0.tar.gz", "requirements.txt.new"),
]
FOREIGN = [
    *("notes.txt", "wheels/notes.txt", "plain-1.0-py3-none-any.whl", "sdists/plain-1.0-py3-none-any.whl"),
    *("wheels/the_tree-2.1-py3-none-any.whl", "wheels/the_tree-2.0-cp312-cp312-win_amd64.whl", "wheels/a/b.whl"),
    *("wheels/the_tree-2.0-cp311-cp311-linux_x86_64.whl", "other/.partial/x", "wheels/other-1.0-py3-none-any.whl"),
]


def test_what_is_of_a_bundle_is_no_stranger() -> None:
    assert strangers([*OWN, *FOREIGN], PLAN) == sorted(FOREIGN)


def test_a_plan_without_sdists_takes_no_wheel_that_was_built() -> None:
    plan = replace(PLAN, pins=PLAN.wheels, build=())
    assert strangers(["wheels/the_tree-2.0-py3-none-any.whl"], plan) == ["wheels/the_tree-2.0-py3-none-any.whl"]
    assert built_pin("plain-1.0-py3-none-any.whl", plan) is None


def test_the_mark_says_what_the_script_has_to_know_and_differs_by_cell_and_lock() -> None:
    assert json.loads(mark_text(PLAN)) == {
        "schema": 1,
        "environment": "app",
        "platform": "linux-x86_64",
        "python": "3.12",
        "sys_platform": "linux",
        "machine": "x86_64",
        "floor": {"glibc": "2.28"},
        "packages": 2,
        "lockfile": "sha256:1",
    }
    others = [
        replace(PLAN, lockfile="sha256:2"),
        replace(PLAN, environment="other"),
        replace(PLAN, target=target(WINDOWS)),
        replace(PLAN, target=target(LINUX, "3.11")),
    ]
    assert len({mark_text(plan) for plan in [PLAN, *others]}) == 5
    assert json.loads(mark_text(others[2]))["floor"] == {}


def test_a_file_that_is_there_under_another_name_is_not_fetched_again() -> None:
    (pin,) = PLAN.wheels
    assert downloads([pin], ".build") == {".build/plain-1.0-py3-none-any.whl": pin.file}
    assert downloads([pin], ".build", {pin.file.sha256}) == {}


def locked(name: str, *via: str, pythons: tuple[str, ...] = ("3.11", "3.12")) -> LockedPin:
    return LockedPin(name=name, version="1", pythons=pythons, hashes=(digest(name),), via=via)


@pytest.mark.parametrize(
    ("python", "names"),
    [("3.12", ["a", "b", "c"]), ("3.11", ["b", "c"])],
)
def test_only_what_builds_these_sdists_is_taken(python: str, names: list[str]) -> None:
    pins = (
        locked("a", "the-tree==2.0", pythons=("3.12",)),
        locked("b", "the-tree==2.0", "other==1"),
        locked("c", "b==1"),
        locked("d", "other==1"),
        locked("e", "d==1"),
    )
    build = Lockfile(environment="build", platform="any", pythons=("3.11", "3.12"), sdists=(), pins=pins)
    assert [pin.name for pin in needed_to_build(build, PLAN.sdists, python)] == names


PATHS = st.text(st.characters(codec="ascii", exclude_characters="\r\n", min_codepoint=33), min_size=1)


@given(st.dictionaries(PATHS, st.text("0123456789abcdef", min_size=64, max_size=64)))
def test_sums_are_sorted_and_come_back(sums: dict[str, str]) -> None:
    text = sums_text(sums)
    assert parse_sums(text) == sums
    assert [line[66:] for line in text.splitlines()] == sorted(sums)
