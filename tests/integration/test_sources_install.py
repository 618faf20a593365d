"""Locks whose packages come from several indexes: what uv, pip and the sessions need to install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.installers import installed, lockfile_of, new_venv, pip_install
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from integration.test_sessions import PYTEST, ROOT, nox
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

#: ``other`` is what the second index does not own: a higher version of a pin, as an index of builds has many.
TEXT = f"""
[[packages]]
name = "lib"
version = "1.0"
requires = ["torch", "local", "other"]
[[packages]]
name = "torch"
version = "1.0"
[[packages]]
name = "torch"
version = "2.0"
[[packages]]
name = "other"
version = "1.0"
[[packages]]
name = "torch"
version = "1.0"
files = {{ "torch.py" = "cpu = True" }}
index = "cpu"
[[packages]]
name = "local"
version = "3.0+cpu"
files = {{ "local.py" = "" }}
index = "cpu"
[[packages]]
name = "other"
version = "9.0"
index = "cpu"
[[packages]]
name = "pytest"
version = "9.0"
files = {{ "pytest/__init__.py" = "", "pytest/__main__.py" = '''{PYTEST}''' }}
[envs.toy]
requires = ["lib", "pytest"]
[envs.toy.sources]
torch = "cpu"
local = "cpu"
[envs.toy.smoke]
commands = [["python", "-c", "import torch; assert torch.cpu"]]
"""
CONTENT = scenario.parse(TEXT, name="sources")
PINS = {"lib": "1.0", "torch": "1.0", "local": "3.0+cpu", "other": "1.0", "pytest": "9.0"}

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(os.name == "nt", reason="the stand-in for pytest aborts as POSIX programs do"),
]


@pytest.fixture(scope="module")
def cpu() -> Iterator[LocalIndex]:
    with LocalIndex(credentials=("me", "s3cr3t")) as index:
        CONTENT.populate(index, "cpu")
        yield index


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex, cpu: LocalIndex) -> Project:
    """The project, locked, with this repository's sessions; not to be changed."""
    project = make_project(CONTENT, served)
    project.run("lock", env=env(cpu)).expect(0)
    assert Locks(project).versions("toy", HERE, PYTHON) == PINS
    shutil.copy(ROOT / "noxfile.py", project.folder)
    shutil.copytree(ROOT / "sessions", project.folder / "sessions", ignore=shutil.ignore_patterns("__pycache__"))
    flows = project.folder / "tests" / "flows"
    flows.mkdir(parents=True)
    (flows / "test_toy.py").write_text("0", encoding="utf-8")
    return project


def env(cpu: LocalIndex, **more: str | None) -> dict[str, str | None]:
    """What names the second index to uv."""
    words = {"UV_INDEX": f"cpu={cpu.url}", "UV_INDEX_CPU_USERNAME": "me", "UV_INDEX_CPU_PASSWORD": "s3cr3t"}
    return {**words, **more}


def test_uv_sync_needs_the_index_and_the_strategy_and_uv_lock_binds_it(
    locked: Project, cpu: LocalIndex, tmp_path: Path
) -> None:
    shutil.copytree(locked.folder, tmp_path / "clone")
    clone = Project(tmp_path / "clone", locked.index, tmp_path / "cache")
    words = ("sync", "--extra", "toy", "--python", sys.executable)
    python = python_of(clone.folder / ".venv")
    assert "other" in clone.uv(*words, env=env(cpu)).err  # uv takes the package from the first index that has it
    assert clone.uv(*words).code != 0
    best = env(cpu, UV_INDEX_STRATEGY="unsafe-best-match")
    clone.uv(*words, env=best).expect(0)
    assert installed(python) == PINS
    clone.run("uv-lock", env=best).expect(0)
    assert "s3cr3t" not in (clone.folder / "uv.lock").read_text(encoding="utf-8")
    shutil.rmtree(clone.folder / ".venv")
    clone.uv(*words, "--locked", env=best).expect(0)
    assert installed(python) == PINS
    subprocess.run([python, "-c", "import torch; assert torch.cpu"], check=True)


def test_uv_installs_the_lock_as_the_summary_says(locked: Project, cpu: LocalIndex, tmp_path: Path) -> None:
    said = locked.run("lock", env=env(cpu)).expect(0).out
    assert 'UV_INDEX="cpu=<its URL>" UV_INDEX_STRATEGY=unsafe-best-match' in said
    python = new_venv(locked, tmp_path / "venv")
    words = ("pip", "sync", "--require-hashes", f"locks/toy/{HERE}.txt", "--python", str(python))
    refused = locked.uv(*words)
    assert refused.code != 0
    locked.uv(*words, env=env(cpu, UV_INDEX_STRATEGY="unsafe-best-match")).expect(0)
    assert installed(python) == PINS
    subprocess.run([python, "-c", "import torch; assert torch.cpu"], check=True)


def test_pip_installs_the_lock_from_both_indexes(locked: Project, cpu: LocalIndex, tmp_path: Path) -> None:
    python = new_venv(locked, tmp_path / "venv")
    words = ("--require-hashes", "-r", lockfile_of("toy"), "--extra-index-url", cpu.url_with_credentials)
    pip_install(locked, python, *words).expect(0)
    assert installed(python) == PINS
    subprocess.run([python, "-c", "import torch; assert torch.cpu"], check=True)


@pytest.mark.parametrize("how", ["UV_INDEX", "uv.toml", "indexes"])
@pytest.mark.parametrize("clash", [False, True])
def test_a_session_installs_each_package_from_its_index(
    locked: Project, cpu: LocalIndex, tmp_path: Path, how: str, clash: bool
) -> None:
    """Also where the second index has a file of the very name and version that comes from the first."""
    folder = tmp_path / "project"
    shutil.copytree(locked.folder, folder)
    project = Project(folder, locked.index, tmp_path / "cache")
    environ = env(cpu)
    if how != "UV_INDEX":
        environ["UV_INDEX"] = None
    if how == "uv.toml":
        (folder / "uv.toml").write_text(f'[[index]]\nname = "cpu"\nurl = "{cpu.url}"\nexplicit = true\n')
    elif how == "indexes":
        path = folder / "envs/targets.toml"
        path.write_text(f'{path.read_text()}\n[indexes]\ncpu = "{cpu.url}"\n')
    evil = wheel("other", "1.0", files={"other.py": "evil = True"})
    if clash:
        cpu.add(evil)
    try:
        nox(project, "toy", env=environ).expect(0)
    finally:
        if clash:
            cpu.remove(evil.filename)
    assert installed(python_of(folder / ".nox" / f"toy-{PYTHON}")) == PINS


def test_a_session_that_is_not_told_of_an_index_says_which(locked: Project, tmp_path: Path) -> None:
    shutil.copytree(locked.folder, tmp_path / "project")
    said = nox(Project(tmp_path / "project", locked.index, tmp_path / "cache"), "toy").expect(1).err
    assert "the lock needs the index cpu, and nothing says where that is: set UV_INDEX=cpu=<its URL>" in said


def test_a_session_builds_a_sdist_whose_builder_is_on_another_index(make_project: MakeProject, tmp_path: Path) -> None:
    """The second index has another version of what builds it, which is pinned, and comes from the first."""
    text = TEXT.replace('name = "local"\nversion = "3.0+cpu"\n', 'name = "local"\nversion = "3.0"\nwheels = []\n')
    text = text.replace('files = { "local.py" = "" }', 'sdist = { build_requires = ["builder"] }')
    text += '[[packages]]\nname = "builder"\nversion = "1.0"\n'
    text += '[[packages]]\nname = "builder"\nversion = "9.0"\nindex = "cpu"\n[envs.toy.sdists]\nlocal = "so it is"\n'
    content = scenario.parse(text, name="built")
    with LocalIndex() as index, LocalIndex(credentials=("me", "s3cr3t")) as cpu:
        content.populate(index)
        content.populate(cpu, "cpu")
        project = make_project(content, index)
        project.run("lock", env=env(cpu)).expect(0)
        assert Locks(project)["build"].versions(PYTHON) == {"builder": "1.0"}
        shutil.copy(ROOT / "noxfile.py", project.folder)
        shutil.copytree(ROOT / "sessions", project.folder / "sessions", ignore=shutil.ignore_patterns("__pycache__"))
        flows = project.folder / "tests" / "flows"
        flows.mkdir(parents=True)
        (flows / "test_toy.py").write_text("0", encoding="utf-8")
        nox(project, "toy", env=env(cpu)).expect(0)
        assert installed(python_of(project.folder / ".nox" / f"toy-{PYTHON}")) == {**PINS, "local": "3.0"}
