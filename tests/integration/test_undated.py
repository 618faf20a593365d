"""A mirror without upload times: what is in `locks/` is known by its hash and may be resolved anew, nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import few_targets
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = scenario.parse(
    """
[[packages]]
name = "app"
version = "1.0"
requires = ["lib", "other", "tree"]
[[packages]]
name = "lib"
version = "1.0"
[[packages]]
name = "lib"
version = "1.1"
[[packages]]
name = "other"
version = "1.0"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { build_requires = ["builder"], dynamic = true }
requires = ["lib"]
[[packages]]
name = "builder"
version = "1.0"
[envs.one]
requires = ["app"]
[envs.one.sdists]
tree = "there is no wheel"
"""
    + few_targets("3.11", "3.12"),
    name="undated",
)
#: The one package that the mirror tells upload times of.
DATED = "other"


@pytest.fixture
def mirror() -> Iterator[LocalIndex]:
    with LocalIndex() as index:
        for built in CONTENT.builts:
            index.add(built, uploaded="2026-01-01T00:00:00Z" if built.name == DATED else None)
        for newer in ("lib", "app", "builder"):
            index.add(wheel(newer, "9.0"), uploaded=None)
        index.add(wheel(DATED, "9.0"))
        yield index


@pytest.fixture
def moved(locked: Project, mirror: LocalIndex, tmp_path: Path) -> Project:
    """The locked project beside the mirror, with nothing remembered, and input that takes a resolution."""
    shutil.copytree(locked.folder, tmp_path / "copy")
    project = Project(tmp_path / "copy", mirror, tmp_path / "cache")
    require(project, "app", "lib")
    return project


def require(project: Project, *names: str) -> None:
    path = project.folder / "envs" / "one.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"requires = {list(names)}\n" + text.partition("\n")[2], encoding="utf-8")


def pins(project: Project) -> dict[str, dict[str, str]]:
    locks = Locks(project)
    return {path: lockfile.versions("3.12") for path, lockfile in locks.files.items()}


def test_the_content_is_what_it_is_meant_to_show(locked: Project) -> None:
    assert pins(locked)["one/linux-x86_64.txt"] == {"app": "1.0", "lib": "1.1", "other": "1.0", "tree": "1.0"}
    assert pins(locked)["build.txt"] == {"builder": "1.0"}


@pytest.mark.parametrize("words", [(), ("-P", "lib"), ("-P", "builder")])
def test_what_is_locked_is_resolved_again_and_nothing_newer_is_taken(
    moved: Project, locked: Project, words: tuple[str, ...]
) -> None:
    moved.run("lock", *words).expect(0)
    assert pins(moved) == pins(locked)
    for path, lockfile in Locks(moved).files.items():
        assert {h for pin in lockfile.pins for h in pin.hashes} == {
            h for pin in Locks(locked).files[path].pins for h in pin.hashes
        }


def test_a_package_with_dates_is_kept_by_its_pin_and_upgraded_when_asked(moved: Project) -> None:
    moved.run("lock").expect(0)
    assert pins(moved)["one/linux-x86_64.txt"][DATED] == "1.0"
    moved.run("lock", "-P", DATED).expect(0)
    assert pins(moved)["one/linux-x86_64.txt"] == {"app": "1.0", "lib": "1.1", "other": "9.0", "tree": "1.0"}


def test_what_is_not_locked_is_refused(moved: Project, mirror: LocalIndex) -> None:
    mirror.add(wheel("fresh", "1.0"), uploaded=None)
    require(moved, "app", "fresh")
    before = moved.snapshot()
    refused = moved.run("lock").expect(3)
    assert "fresh" in refused.err
    assert "upload" in refused.err
    assert moved.snapshot() == before


def test_an_older_version_of_what_is_locked_is_refused_too(moved: Project) -> None:
    """lib 1.0 was there at the cut-off of the lock; but nothing on this mirror says so."""
    require(moved, "app", "lib<1.1")
    before = moved.snapshot()
    assert "lib" in moved.run("lock").expect(3).err
    assert moved.snapshot() == before


def test_a_file_with_other_bytes_is_refused(moved: Project, mirror: LocalIndex) -> None:
    mirror.add(wheel("lib", "1.1", files={"lib.py": "evil"}), uploaded=None)
    before = moved.snapshot()
    assert "lib" in moved.run("lock").expect(3).err
    assert moved.snapshot() == before


def test_from_nothing_it_says_what_is_needed(moved: Project) -> None:
    shutil.rmtree(moved.folder / "locks")
    said = " ".join(moved.run("lock").expect(3).err.split())
    assert "has no upload time on the index, so it cannot be held to the cut-off" in said
    assert "next: lock with an index that tells upload times" in said
    assert not (moved.folder / "locks").exists()
