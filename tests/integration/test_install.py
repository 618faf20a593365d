"""uv and pip take the lockfiles as they stand, and what they install is exactly what is pinned."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.installers import installed, lockfile_of, new_venv, pip_install, serve_builders, uv_sync
from integration.locked import Cell, Locks
from integration.machine import HERE, PYTHON
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

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

pytestmark = pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform")


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    return serve_builders(served)


@pytest.fixture(scope="module")
def project(locked: Project) -> Project:
    return locked


def test_uv_installs_exactly_the_pins(project: Project, tmp_path: Path) -> None:
    python = new_venv(project, tmp_path / "venv")
    uv_sync(project, python, lockfile_of("app")).expect(0)
    pins = Locks(project).versions("app", HERE, PYTHON)
    assert installed(python) == pins
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
    uv_sync(project, python, lockfile_of("source")).expect(0)
    assert installed(python) == Locks(project).versions("source", HERE, PYTHON)
    for built in newer:
        assert not served.seen(built.filename)
        served.remove(built.filename)


@pytest.mark.parametrize("environment", ["app", "source"])
def test_pip_installs_exactly_the_pins(project: Project, tmp_path: Path, environment: str) -> None:
    python = new_venv(project, tmp_path / "venv")
    pip_install(project, python, "--require-hashes", "-r", lockfile_of(environment)).expect(0)
    assert installed(python) == Locks(project).versions(environment, HERE, PYTHON)


def test_a_build_requirement_that_was_replaced_is_refused(make_project: MakeProject, tmp_path: Path) -> None:
    with LocalIndex() as index:
        CONTENT.populate(index)
        serve_builders(index)
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
        evil = wheel("builder", "1.0", requires=["below"], files={"builder.py": "evil"})
        index.add(evil, core_metadata=True)
        project.cache = tmp_path / "cache"
        python = new_venv(project, tmp_path / "venv")
        refused = uv_sync(project, python, lockfile_of("source"))
    assert refused.code != 0
    assert "builder" in refused.err
    assert installed(python) == {}


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
