"""Sessions against another index than the lock was made from: they ask that one, however uv was told of it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.installers import installed
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from integration.noxing import PYTEST, add_sessions, crosscheck, nox, ways
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

CONTENT = scenario.parse(
    f"""
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain", "tree", "pytest"]
[[packages]]
name = "plain"
version = "1.0+cpu"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = {{ build_requires = ["builder"], dynamic = true }}
[[packages]]
name = "builder"
version = "1.0"
[[packages]]
name = "pytest"
version = "9.0"
files = {{ "pytest/__init__.py" = "", "pytest/__main__.py" = '''{PYTEST}''' }}
[[packages]]
name = "tool"
version = "1.0"
[envs.dev]
apart = true
requires = ["tool"]
[envs.toy]
requires = ["app-kit"]
[envs.toy.sdists]
tree = "there is no wheel"
""",
    name="mirrored",
)
# lockgrid as `install_tools` finds it in generator/: a project that builds without anything, and runs the real one.
BACKEND = """
import pathlib
def get_requires_for_build_editable(config_settings=None):
    return []
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "lockgrid-0-py3-none-any.whl"
    pathlib.Path(wheel_directory, name).write_bytes(pathlib.Path(__file__).with_name(name).read_bytes())
    return name
"""
MANIFEST = """
[project]
name = "lockgrid"
version = "0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
STAND_IN = f"""
import subprocess, sys
def main():
    sys.exit(subprocess.run([{sys.executable!r}, "-m", "lockgrid", *sys.argv[1:]]).returncode)
"""

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(os.name == "nt", reason="the stand-in for pytest aborts as POSIX programs do"),
]


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    """The project, locked, with the sessions and a lockgrid to install; not to be changed."""
    project = make_project(CONTENT, served)
    project.run("lock").expect(0)
    add_sessions(project, "toy")
    generator = project.folder / "generator"
    generator.mkdir()
    (generator / "pyproject.toml").write_text(MANIFEST, encoding="utf-8")
    (generator / "backend.py").write_text(BACKEND, encoding="utf-8")
    scripts = {"lockgrid": "lockgrid_stand_in:main"}
    built = wheel("lockgrid", "0", scripts=scripts, files={"lockgrid_stand_in.py": STAND_IN})
    (generator / built.filename).write_bytes(built.data)
    return project


@pytest.fixture
def mirror() -> Iterator[LocalIndex]:
    """The same files: in HTML, without sizes and dates, with links of another kind."""
    with LocalIndex(html_only=True, relative_urls=True) as index:
        for built in CONTENT.builts:
            index.add(built)
        yield index


Told = tuple[Project, dict[str, str | None]]


TOLD_BY = ("UV_DEFAULT_INDEX", "uv.toml", "the user's uv.toml", "UV_CONFIG_FILE", "pyproject.toml")


@pytest.fixture(params=TOLD_BY)
def told(
    request: pytest.FixtureRequest, locked: Project, served: LocalIndex, mirror: LocalIndex, tmp_path: Path
) -> Iterator[Told]:
    """A copy of the project, of which uv was told in one of its ways that the mirror is its index."""
    folder = tmp_path / "copy"
    shutil.copytree(locked.folder, folder, ignore=shutil.ignore_patterns(".nox", "__pycache__"))
    project = Project(folder, mirror, tmp_path / "cache")
    env: dict[str, str | None] = {"UV_DEFAULT_INDEX": None, "XDG_CONFIG_HOME": str(project.home / "own")}
    places = {
        "uv.toml": folder / "uv.toml",
        "the user's uv.toml": project.home / "own" / "uv" / "uv.toml",
        "UV_CONFIG_FILE": project.home / "named.toml",
    }
    if request.param == "UV_DEFAULT_INDEX":
        env["UV_DEFAULT_INDEX"] = mirror.url
    elif request.param == "pyproject.toml":
        path = folder / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        assert "[tool.uv]\n" in text
        path.write_text(text.replace("[tool.uv]\n", f'[tool.uv]\nindex-url = "{mirror.url}"\n'), encoding="utf-8")
    else:
        places[request.param].parent.mkdir(parents=True, exist_ok=True)
        places[request.param].write_text(f'[[index]]\nurl = "{mirror.url}"\ndefault = true\n', encoding="utf-8")
    if request.param == "UV_CONFIG_FILE":
        env["UV_CONFIG_FILE"] = str(places[request.param])
    del served.requests[:]
    yield project, env
    assert served.requests == []  # and what is not on the loopback interface has no proxy that answers


def pins(project: Project, environment: str) -> dict[str, str]:
    return Locks(project).versions(environment, HERE, PYTHON)


@pytest.mark.parametrize("session", ["check", "lock"])
def test_a_session_of_lockgrid_itself_has_its_tools_from_the_mirror(
    told: Told, mirror: LocalIndex, session: str
) -> None:
    project, env = told
    before = project.snapshot()
    nox(project, session, env=env).expect(0)
    assert installed(python_of(project.folder / ".nox" / session)) == {**pins(project, "dev"), "lockgrid": "0"}
    assert mirror.seen("tool-1.0-*.whl")
    assert project.snapshot() == before


@pytest.mark.parametrize("session", ["toy", "flows"])
def test_a_backend_has_its_venv_from_the_mirror(told: Told, mirror: LocalIndex, session: str) -> None:
    project, env = told
    assert "venv built" in nox(project, session, env=env).expect(0).err
    assert installed(python_of(project.folder / ".nox" / f"toy-{PYTHON}")) == pins(project, "toy")
    assert mirror.seen("tree-1.0.tar.gz")
    assert mirror.seen("builder-1.0-*.whl")


FOLDERS = ("UV_DEFAULT_INDEX", "UV_NO_INDEX", "flat", "no-index")


@pytest.mark.parametrize("said", FOLDERS)
def test_a_backend_has_its_venv_from_a_folder(locked: Project, served: LocalIndex, tmp_path: Path, said: str) -> None:
    """A plain folder of files beside the project, and no network to be had."""
    wheels, folder = tmp_path / "wheels", tmp_path / "copy"
    wheels.mkdir()
    for built in CONTENT.builts:
        (wheels / built.filename).write_bytes(built.data)
    shutil.copytree(locked.folder, folder, ignore=shutil.ignore_patterns(".nox", "__pycache__"))
    texts = {
        "flat": '[[index]]\nurl = "../wheels"\nformat = "flat"\ndefault = true\n',
        "no-index": 'find-links = ["../wheels"]\nno-index = true\n',
    }
    (folder / "uv.toml").write_text(texts.get(said, ""), encoding="utf-8")
    env: dict[str, str | None] = {"UV_DEFAULT_INDEX": None, "NO_PROXY": None}
    env |= {"UV_DEFAULT_INDEX": str(wheels)} if said == "UV_DEFAULT_INDEX" else {}
    env |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels)} if said == "UV_NO_INDEX" else {}
    del served.requests[:]
    project = Project(folder, served, tmp_path / "cache")
    assert "venv built" in nox(project, "toy", env=env).expect(0).err
    assert installed(python_of(folder / ".nox" / f"toy-{PYTHON}")) == pins(project, "toy")
    assert served.requests == []


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pip", "piptools", "pypiserver"))), reason="a tool is not installed here"
)
@pytest.mark.parametrize("session", [crosscheck, ways])
@pytest.mark.parametrize("told", ["UV_DEFAULT_INDEX", "the user's uv.toml"], indirect=True)
def test_pip_judges_and_installs_from_the_mirror(
    told: Told, mirror: LocalIndex, session: Callable[..., Result]
) -> None:
    project, env = told
    session(project, "toy", env=env).expect(0)
    assert mirror.seen("plain-1.0+cpu-*.whl") or mirror.seen("plain-1.0%2Bcpu-*.whl")
