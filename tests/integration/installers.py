"""The tools that install a lock, as the tests run them: into a venv of the test's own, from one index or folder."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from integration.machine import HERE, python_of
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import fake_setuptools, wheel

#: What uv needs to hold to the locks what builds sdists.
BUILD = ("--build-constraints", "locks/build.txt", "--require-build-hashes")
#: `setuptools`, and `wheel`, which old pips want for every setup.py.
BUILDERS = (fake_setuptools(), wheel("wheel", "0.40"))


def serve_builders(index: LocalIndex) -> LocalIndex:
    """Put on an index what sdists of tests are built with."""
    for built in BUILDERS:
        index.add(built)
    return index


def new_venv(project: Project, folder: Path) -> Path:
    """Make a venv without pip; its Python."""
    project.uv("venv", "--quiet", "--python", sys.executable, str(folder)).expect(0)
    return python_of(folder)


def venv_with_pip(folder: Path) -> Path:
    """Make a venv that has nothing but the pip that Python brings along; its Python."""
    venv.create(folder, with_pip=True)
    python = python_of(folder)
    empty(python)
    return python


def empty(python: Path) -> None:
    """Take everything but pip out of a venv."""
    if extra := sorted(set(_listed(python)) - {"pip"}):
        command = [str(python), "-m", "pip", "uninstall", "--yes", "--quiet", *extra]
        subprocess.run(command, capture_output=True, check=True)


def _listed(python: Path) -> dict[str, str]:
    code = "import importlib.metadata as m, json; print(json.dumps([[d.name, d.version] for d in m.distributions()]))"
    out = subprocess.run([python, "-I", "-c", code], capture_output=True, check=True).stdout
    return {name.lower().replace(".", "-").replace("_", "-"): version for name, version in json.loads(out)}


def installed(python: Path) -> dict[str, str]:
    """Name and version of what a venv holds, as its own Python finds it; without the pip that pip-sync needs."""
    return {name: version for name, version in _listed(python).items() if name != "pip"}


def lockfile_of(environment: str) -> str:
    """The lockfile of an environment for this machine, as a path in the project."""
    return f"locks/{environment}/{HERE}.txt"


def uv_sync(
    project: Project, python: Path, path: Path | str, *more: str, env: Mapping[str, str | None] | None = None
) -> Result:
    """Run `uv pip sync --require-hashes` on a lockfile, a requirements file or a pylock.toml."""
    words = ("pip", "sync", "--require-hashes", str(path), "--python", str(python), *BUILD, *more)
    return project.uv(*words, env=env)


def pip_install(
    project: Project, python: Path, *words: str, env: Mapping[str, str | None] | None = None, index: bool = True
) -> Result:
    """Run `pip install` in the folder, with the project's index unless there is to be none."""
    if not importlib.util.find_spec("pip"):
        pytest.skip("pip is not installed")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-cache-dir", *words]
    return project._start([*command, *(_index(project) if index else [])], _pip_env(env), 120)


def pip_sync(
    project: Project, python: Path, *words: str, env: Mapping[str, str | None] | None = None, index: bool = True
) -> Result:
    """Run `pip-sync` in the folder on a venv that has pip."""
    if not importlib.util.find_spec("piptools"):
        pytest.skip("pip-tools is not installed")
    command = [sys.executable, "-m", "piptools", "sync", "--python-executable", str(python)]
    return project._start([*command, *(_index(project) if index else []), *words], _pip_env(env), 120)


def _index(project: Project) -> list[str]:
    return ["--index-url", project.index.url]


def _pip_env(more: Mapping[str, str | None] | None) -> dict[str, str | None]:
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}
    return {**settings, **(more or {})}
