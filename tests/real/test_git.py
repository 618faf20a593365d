"""[git] with the real setuptools: it builds an extension in C, twice to the same bytes, and the lock installs."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from integration.machine import HERE, python_of
from real.asked import Asked
from support.gitrepo import PACKAGE, Repository, compiler, extension, pythons, two_pythons

pytestmark = [
    pytest.mark.skipif(bool(compiler()), reason=compiler()),
    pytest.mark.skipif(not two_pythons() or not HERE.startswith("linux"), reason="no Python has its headers here"),
]
PYPROJECT = f"""
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "{PACKAGE}"
version = "7.0.0"
"""
SETUP = """
from setuptools import Extension, setup
setup(ext_modules=[Extension("cmsis_nn._kernels", ["src/kernels.c"])], packages=["cmsis_nn"])
"""


def lockgrid(folder: Path, cache: Path, *words: str) -> None:
    environ = {**os.environ, "LOCKGRID_CACHE_DIR": str(cache), "UV_PYTHON_DOWNLOADS": "never"}
    subprocess.run([sys.executable, "-m", "lockgrid", *words], cwd=folder, env=environ, check=True)


def test_setuptools_gives_the_same_bytes_and_the_lock_installs(real_index: Asked, tmp_path: Path) -> None:
    real_index.pages({"setuptools"}, "setuptools built nothing")
    repository = Repository(tmp_path / "repository")
    files = {"pyproject.toml": PYPROJECT, "setup.py": SETUP, "cmsis_nn/__init__.py": "from ._kernels import add\n"}
    rev = repository.commit({"src/kernels.c": extension()["src/kernels.c"], **files})
    python = two_pythons()[0]
    project = tmp_path / "project"
    (project / "envs").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.10"\n')
    (project / "envs/targets.toml").write_text(f'pythons = ["{python}"]\n[platforms.{HERE}]\nglibc = "2.40"\n')
    source = f'{{ url = "{repository.url}", rev = "{rev}" }}'
    (project / "envs/app.toml").write_text(f'requires = ["{PACKAGE}"]\n[git]\n{PACKAGE} = {source}\n')
    digests = []
    for name in ("one", "another"):
        words = ("build", "app", "-o", str(tmp_path / name), "--python", pythons()[python], "--as-of", "2026-05-01")
        lockgrid(project, tmp_path / f"cache of {name}", *words)
        (made,) = (tmp_path / name).glob("*.whl")
        digests.append(sha256(made.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
    lockgrid(project, tmp_path / "cache", "lock", "--built", str(tmp_path / "one"))
    lockfile = project / f"locks/app/{HERE}.txt"
    assert digests[0] in lockfile.read_text()
    venv = tmp_path / "venv"
    subprocess.run(["uv", "venv", "--quiet", "--python", pythons()[python], venv], check=True)
    sync = ["uv", "pip", "sync", "--quiet", "--require-hashes", "--find-links", str(tmp_path / "one"), str(lockfile)]
    subprocess.run([*sync, "--python", str(python_of(venv))], check=True)
    code = "import cmsis_nn; assert cmsis_nn.add(2, 3)[0] == 5"
    subprocess.run([python_of(venv), "-I", "-c", code], check=True)
