"""uv and pip take the lockfiles as they stand, and what they install is exactly what is pinned."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.locked import Cell, Locks
from integration.machine import HERE, PYTHON, python_of
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import fake_setuptools, wheel

TEXT = """
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain", "compiled", "new ; python_version >= '3.12'", "win ; sys_platform == 'win32'"]
extras = { fast = ["quick"] }
scripts = { kit = "app_kit:main" }
files = { "app_kit.py" = "def main(): print('kit')" }
[[packages]]
name = "plain"
version = "1.0+cpu"
wheels = ["py2.py3-none-any"]
[[packages]]
name = "compiled"
version = "2.0"
python_wheels = "3.10-3.13"
[[packages]]
name = "compiled"
version = "1.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "new"
version = "1.0"
[[packages]]
name = "win"
version = "1.0"
[[packages]]
name = "quick"
version = "1.0"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { build_requires = ["builder"], dynamic = true }
requires = ["plain"]
[[packages]]
name = "old"
version = "1.0"
wheels = []
sdist = { backend = "setuptools" }
requires = ["quick"]
[[packages]]
name = "builder"
version = "1.0"
requires = ["below"]
[[packages]]
name = "below"
version = "1.0"
[envs.app]
requires = ["app-kit[fast]"]
[envs.source]
requires = ["tree", "old"]
[envs.source.sdists]
tree = "there is no wheel"
old = "there is no wheel"
"""
CONTENT = scenario.parse(TEXT, name="install")
BUILD = ("--build-constraints", "locks/build.txt", "--require-build-hashes")

pytestmark = pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform")


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    served.add(fake_setuptools())
    served.add(wheel("wheel", "0.40"))  # old pips want it for every setup.py
    return served


@pytest.fixture(scope="module")
def project(locked: Project) -> Project:
    return locked


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a venv with pip in it: the one of these tests where it has, to make one takes seconds."""
    if importlib.util.find_spec("pip"):
        return Path(sys.executable)
    folder = tmp_path_factory.mktemp("pip") / "venv"
    venv.create(folder, with_pip=True)
    return python_of(folder)


def new_venv(project: Project, folder: Path) -> Path:
    project.uv("venv", "--quiet", "--python", sys.executable, str(folder)).expect(0)
    return python_of(folder)


def installed(project: Project, python: Path) -> dict[str, str]:
    """Return name and version of what a venv holds, as uv reads it."""
    listed = project.uv("pip", "list", "--format", "json", "--python", str(python)).expect(0)
    return {entry["name"].replace(".", "-").lower(): entry["version"] for entry in json.loads(listed.out)}


def sync(project: Project, python: Path, environment: str, *more: str) -> Result:
    path = f"locks/{environment}/{HERE}.txt"
    return project.uv("pip", "sync", "--require-hashes", path, "--python", str(python), *more)


def test_uv_installs_exactly_the_pins(project: Project, tmp_path: Path) -> None:
    python = new_venv(project, tmp_path / "venv")
    sync(project, python, "app").expect(0)
    pins = Locks(project).versions("app", HERE, PYTHON)
    assert installed(project, python) == pins
    assert pins["plain"] == "1.0+cpu"
    assert subprocess.run([python.parent / "kit"], capture_output=True, check=True).stdout.split() == [b"kit"]


def test_uv_builds_an_sdist_with_the_pinned_build_requirements(
    project: Project, tmp_path: Path, served: LocalIndex
) -> None:
    newer = [wheel("setuptools", "81.0.0"), wheel("below", "2.0"), wheel("builder", "2.0")]
    for built in newer:
        served.add(built)
    project.uv("cache", "clean").expect(0)
    python = new_venv(project, tmp_path / "venv")
    sync(project, python, "source", *BUILD).expect(0)
    assert installed(project, python) == Locks(project).versions("source", HERE, PYTHON)
    for built in newer:
        assert not served.seen(built.filename)
        served.remove(built.filename)


@pytest.mark.parametrize("environment", ["app", "source"])
def test_pip_installs_exactly_the_pins(
    project: Project, pip: Path, tmp_path: Path, served: LocalIndex, environment: str
) -> None:
    python = new_venv(project, tmp_path / "venv")
    path = project.folder / f"locks/{environment}/{HERE}.txt"
    command = [str(pip), "-m", "pip", "--python", str(python), "install", "--require-hashes", "-r", str(path)]
    done = subprocess.run(
        [*command, "--index-url", served.url, "--disable-pip-version-check", "--no-cache-dir"],
        env=project.environment({"PIP_CONFIG_FILE": os.devnull}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert installed(project, python) == Locks(project).versions(environment, HERE, PYTHON)


def test_a_file_that_was_replaced_on_the_index_is_refused(make_project: MakeProject, tmp_path: Path) -> None:
    with LocalIndex() as index:
        CONTENT.populate(index)
        index.add(fake_setuptools())
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
        index.add(wheel("quick", "1.0", files={"quick.py": "evil"}), core_metadata=True)
        project.cache = tmp_path / "cache"
        python = new_venv(project, tmp_path / "venv")
        refused = sync(project, python, "app")
    assert refused.code != 0
    assert "quick" in refused.err
    assert installed(project, python) == {}


def test_a_build_requirement_that_was_replaced_is_refused(make_project: MakeProject, tmp_path: Path) -> None:
    with LocalIndex() as index:
        CONTENT.populate(index)
        index.add(fake_setuptools())
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
        evil = wheel("builder", "1.0", requires=["below"], files={"builder.py": "evil"})
        index.add(evil, core_metadata=True)
        project.cache = tmp_path / "cache"
        python = new_venv(project, tmp_path / "venv")
        refused = sync(project, python, "source", *BUILD)
    assert refused.code != 0
    assert "builder" in refused.err
    assert installed(project, python) == {}


UV_PLATFORMS = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "linux-aarch64": "aarch64-manylinux_2_28",
    "macos-arm64": "aarch64-apple-darwin",
    "windows-x86_64": "x86_64-pc-windows-msvc",
}


@pytest.mark.parametrize("target", UV_PLATFORMS)
def test_uv_would_install_every_proven_cell_from_here(project: Project, tmp_path: Path, target: str) -> None:
    """A dry run for another machine: every pin of the cell is found with a hash of the lockfile."""
    locks = Locks(project)
    cells: list[Cell] = [cell for cell in locks.cells if cell[:2] == ("app", target)]
    assert len(cells) == 5
    for _, _, python in cells[:: 4 if target != HERE else 1]:
        options = ("--target", str(tmp_path / "x"), "--python-platform", UV_PLATFORMS[target])
        path = f"locks/app/{target}.txt"
        words = ("pip", "sync", "--dry-run", "--require-hashes", *options, "--python-version", python, path)
        said = project.uv(*words, env={"MACOSX_DEPLOYMENT_TARGET": "15.0"}).expect(0).err
        plan = {line.split("==")[0].strip(" +") for line in said.splitlines() if line.startswith(" + ")}
        assert plan == set(locks.versions("app", target, python)), said
