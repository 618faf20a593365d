"""What the tests of bundles share: a scenario, and how a bundle is made, read and installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from integration.installers import serve_builders
from integration.machine import HERE, PYTHON
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result, find_uv

TEXT = """
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain", "compiled", "new ; python_version >= '3.12'", "win ; sys_platform == 'win32'"]
[[packages]]
name = "plain"
version = "1.0+cpu"
[[packages]]
name = "compiled"
version = "2.0"
python_wheels = "3.10-3.13"
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
requires = ["plain"]
[[packages]]
name = "old"
version = "1.0"
wheels = []
sdist = { backend = "setuptools" }
[[packages]]
name = "builder"
version = "1.0"
requires = ["below"]
[[packages]]
name = "below"
version = "1.0"
[envs.app]
requires = ["app-kit"]
[envs.source]
requires = ["tree", "old", "below"]
[envs.source.sdists]
tree = "there is no wheel"
old = "there is no wheel"
"""
CONTENT = scenario.parse(TEXT, name="bundle")


def serve(index: LocalIndex) -> None:
    """Put the scenario on an index."""
    CONTENT.populate(index)
    serve_builders(index)


def make(
    project: Project,
    folder: Path,
    environment: str = "app",
    *more: str,
    platform: str = HERE,
    python: str = PYTHON,
    env: Mapping[str, str | None] | None = None,
) -> Result:
    """Run `lockgrid bundle`, for this machine and Python by default."""
    words = ("bundle", environment, "--platform", platform, "--python", python, "-o", str(folder))
    return project.run(*words, *more, env=env)


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a bundle by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def assert_complete(folder: Path) -> None:
    """Assert what `sha256sum -c` says, and that every file is listed, sorted."""
    files = content(folder)
    lines = files.pop("SHA256SUMS").decode().splitlines()
    assert lines == [f"{sha256(files[path]).hexdigest()}  {path}" for path in sorted(files)]


def install(
    project: Project,
    bundle: Path,
    venv: Path | None,
    *,
    tool: str = "uv",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    cut_off: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run the install script with every index at a closed port; tool: "uv", or "pip" on a PATH without uv.

    cut_off: in a network namespace of its own, where this machine allows that.
    """
    folder = project.home / tool
    folder.mkdir(exist_ok=True)
    for name, path in {"sh": shutil.which("sh"), "dirname": shutil.which("dirname"), "uv": find_uv()}.items():
        if path and not (folder / name).exists() and (name != "uv" or tool == "uv"):
            (folder / name).symlink_to(path)
    closed = "http://127.0.0.1:9/simple"
    given = {
        **project.environment({"UV_DEFAULT_INDEX": closed, "PIP_INDEX_URL": closed, "UV_CACHE_DIR": str(folder / "c")}),
        "PATH": str(folder),
        "PYTHON": sys.executable,
        **(env or {}),
    }
    command = [*(["unshare", "-rn"] if cut_off else []), "/bin/sh", str(bundle / "install.sh")]
    if cut_off:
        command[0] = shutil.which("unshare") or "unshare"
    return subprocess.run(
        [*command, *([str(venv)] if venv else [])], env=given, cwd=cwd, capture_output=True, text=True, check=False
    )


def without_python(folder: Path) -> dict[str, str | None]:
    """Variables with which uv finds no Python, so that nothing can be built."""
    folder.mkdir(exist_ok=True)
    return {"PATH": str(folder), "HOME": str(folder)} if os.name != "nt" else {"PATH": str(folder)}
