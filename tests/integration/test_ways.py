"""`nox -s ways` on a grid of tiny packages: every way in ends with the same lines, and one that does not is told."""

from __future__ import annotations

import importlib.util
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.machine import HERE, PYTHON
from integration.noxing import add_sessions, ways
from sessions.wayin import WAYS
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = scenario.parse(
    """
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain<3", "compiled", "tree", "new ; python_version >= '3.12'", "win ; sys_platform == 'win32'"]
extras = { fast = ["quick"] }
[[packages]]
name = "plain"
version = "2.0+cpu"
[[packages]]
name = "plain"
version = "3.0"
[[packages]]
name = "compiled"
version = "1.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "quick"
version = "1.0"
[[packages]]
name = "new"
version = "1.0"
[[packages]]
name = "win"
version = "1.0"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { build_requires = ["builder"], dynamic = true }
requires = ["quick"]
[[packages]]
name = "builder"
version = "1.0"
[envs.toy_env]
requires = ["app-kit[fast]"]
[envs.toy_env.sdists]
tree = "there is no wheel"
""",
    name="ways",
)
PINS = 5 if PYTHON < "3.12" else 6

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("pip", "piptools", "pypiserver"))), reason="a tool is not installed here"
    ),
]


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    project = make_project(CONTENT, served)
    project.run("lock").expect(0)
    add_sessions(project)
    return project


@pytest.fixture(scope="module")
def said(locked: Project) -> list[str]:
    """What a run over all ways prints. It leaves nothing behind."""
    before = files(locked)
    lines = ways(locked).expect(0).out.splitlines()
    assert files(locked) == before
    assert list((locked.folder / ".nox" / "ways-files").iterdir()) == []
    return lines


def files(project: Project) -> dict[str, bytes]:
    return {path: data for path, data in project.snapshot(".").items() if "__pycache__" not in path}


def test_all_ways_of_all_environments_are_tried_by_default(said: list[str]) -> None:
    assert said[0] == f"toy_env on {HERE} with Python {PYTHON}: {PINS} pins"
    assert said[1].split() == ["way", "packages", "seconds"]
    assert [line.split()[0] for line in said[2:]] == list(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_ends_with_the_pins_line_for_line(said: list[str], way: str) -> None:
    (line,) = [line for line in said[2:] if line.split()[0] == way]
    assert line.split()[1] == str(PINS)
    assert line.endswith("the pins, line for line")


@pytest.fixture
def copy(locked: Project, served: LocalIndex, tmp_path: Path) -> Project:
    shutil.copytree(locked.folder, tmp_path / "copy", ignore=shutil.ignore_patterns(".nox"))
    return Project(tmp_path / "copy", served, tmp_path / "cache")  # whose pages no other test has read


def test_a_way_that_installs_something_else_is_told_by_its_lines(copy: Project, served: LocalIndex) -> None:
    manifest = copy.folder / "pyproject.toml"
    text = manifest.read_text(encoding="utf-8")
    assert '"compiled==1.0",' in text
    manifest.write_text(text.replace('"compiled==1.0",', '"compiled>=1.0",'), encoding="utf-8")
    newer = wheel("compiled", "2.0", requires=["win"])
    served.add(newer)
    try:
        failed = ways(copy, "--way", "uv-sync", "--way", "uv-pip-sync").expect(1)
    finally:
        served.remove(newer.filename)
    lines = failed.out.splitlines()
    assert lines[2].split()[-1] == "DIFFERS"
    assert [line.strip() for line in lines[3:6]] == ["- compiled==1.0", "+ compiled==2.0", "+ win==1.0"]
    assert lines[6].endswith("the pins, line for line")
    assert f"ways: not every way ends with the pins, see above: toy_env on {HERE}" in failed.err


def test_a_way_that_fails_is_told_and_the_others_are_tried(copy: Project) -> None:
    path = copy.folder / "locks" / "toy_env" / f"{HERE}.txt"
    before = path.read_bytes()
    quick = next(built for built in CONTENT.builts if built.name == "quick")
    path.write_bytes(before.replace(quick.sha256.encode(), b"0" * 64))
    grid = copy.folder / "locks" / "grid.toml"
    text = grid.read_text(encoding="utf-8")
    grid.write_text(text.replace(sha256(before).hexdigest(), sha256(path.read_bytes()).hexdigest()), encoding="utf-8")
    failed = ways(copy, "--way", "uv-pip-sync", "--way", "uv-sync", "--way", "bundle-uv").expect(1)
    lines = failed.out.splitlines()
    assert lines[2].split()[-1] == "FAILED"
    assert "quick" in failed.out
    assert failed.out.count("FAILED") == 2
    assert "line for line" in failed.out  # a bare `uv sync` is bound to no hash


def test_what_cannot_be_tried_is_told(copy: Project) -> None:
    assert "usage: nox -s ways" in ways(copy, "--nonsense").expect(1).err
    assert "invalid choice" in ways(copy, "--way", "conda").expect(1).err
    assert "the grid has no Python 3.9 for toy_env" in ways(copy, "toy_env", "--python", "3.9").expect(1).err
