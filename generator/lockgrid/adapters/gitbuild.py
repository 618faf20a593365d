"""Builds a wheel of a source tree: in a venv that holds nothing but pinned files, the same bytes each time.

A build runs code of the repository with the rights of the user, as every installation from source does.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockgrid.adapters.rewheel import EARLIEST
from lockgrid.adapters.uv import Uv
from lockgrid.errors import ToolError
from lockgrid.model.target import Target

_PROBE = (
    "import json, os, sys, sysconfig; print(json.dumps([sys.implementation.name, list(sys.version_info[:2]),"
    " bool(sysconfig.get_config_var('Py_GIL_DISABLED')), os.path.isfile(os.path.join("
    "sysconfig.get_path('include'), 'Python.h'))]))"
)
# PEP 517: what the backend asks for beyond [build-system] requires. A backend without the hook asks for nothing.
_ASK = """
import functools, importlib, json, sys
backend, paths = json.loads(sys.argv[1])
sys.path[:0] = paths
module, _, attribute = backend.partition(":")
found = functools.reduce(getattr, attribute.split(".") if attribute else [], importlib.import_module(module))
hook = getattr(found, "get_requires_for_build_wheel", None)
print("\\n" + json.dumps(list(hook({})) if hook else []))
"""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one wheel is built: always the same folder for the same commit and Python, so no path differs."""

    root: Path

    @property
    def source(self) -> Path:
        """The content of the commit."""
        return self.root / "source"

    @property
    def venv(self) -> Path:
        """What the build may import."""
        return self.root / "venv"

    @property
    def out(self) -> Path:
        """Where the build puts its wheel."""
        return self.root / "out"

    @property
    def python(self) -> str:
        """The interpreter of the venv."""
        return str(self.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))

    def clear(self) -> None:
        """Make the folder anew, for nobody but the user. Raises ``ToolError``."""
        try:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise ToolError(f"cannot be made: {error.strerror or error}", where=str(self.root)) from error


def probe(python: str) -> tuple[str, str]:
    """The version of an interpreter (such as ``3.12``), and why it does not build for CPython, empty where it does.

    What is on PATH may be a stub that only tells that there is no such Python.
    """
    try:
        done = subprocess.run(
            [python, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        name, version, free_threaded, headers = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError):
        return "", "does not run"
    found = f"{version[0]}.{version[1]}"
    if name != "cpython" or free_threaded:
        return found, f"is {name} {found}{' without the GIL' if free_threaded else ''}"
    return found, "" if headers else "has no Python.h: install the headers that go with it"


def fill_venv(uv: Uv, place: Place, python: str, requirements: str) -> str:
    """A venv with exactly the pinned ``requirements`` (text, with hashes); empty, or what uv said where it failed."""
    shutil.rmtree(place.venv, ignore_errors=True)
    file = place.root / "requirements.txt"
    file.write_text(requirements, encoding="utf-8")
    words = ["venv", "--no-project", "--quiet", "--python", python, str(place.venv)]
    outcome = uv.run_configured(words, {})
    if outcome.code == 0 and requirements:
        words = ["pip", "sync", "--quiet", "--require-hashes", "--only-binary", ":all:", "--python", place.python]
        outcome = uv.run_configured([*words, str(file)], {})
    return "" if outcome.code == 0 else outcome.said.strip() or "uv failed"


def asked_by_backend(
    place: Place, folder: Path, backend: str, paths: Sequence[str], environ: Mapping[str, str]
) -> list[str]:
    """What the build backend itself asks for (PEP 517, ``get_requires_for_build_wheel``). Raises ``ToolError``.

    ``backend`` is ``module:object``, ``paths`` are folders of the tree that may hold it.
    """
    asked = json.dumps([backend, [str(folder / path) for path in paths]])
    try:
        done = subprocess.run(
            [place.python, "-I", "-c", _ASK, asked],
            cwd=folder,
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS * 10,
            check=False,
        )
        if done.returncode == 0:
            return [str(line) for line in json.loads(done.stdout.splitlines()[-1])]
        said = last_lines(done.stderr)
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        said = str(error)
    raise ToolError(f"the build backend does not say what it needs:\n    {said}")


def build(uv: Uv, place: Place, folder: Path, environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """The wheel of a source tree; or None, and the end of what the build said. Nothing is downloaded."""
    words = ["build", "--wheel", "--no-config", "--no-build-isolation", "--offline", "--no-create-gitignore"]
    outcome = uv.run([*words, "--python", place.python, "--out-dir", str(place.out), str(folder)], environ)
    made = sorted(place.out.glob("*.whl")) if outcome.code == 0 else []
    return (made[0], "") if len(made) == 1 else (None, last_lines(outcome.said))


def last_lines(said: str) -> str:
    """The last lines of what a build said, indented: they hold the error."""
    return "\n    ".join(said.strip().splitlines()[-20:]) or "the build made no wheel"


def build_environ(place: Place, target: Target, seconds: int, path: str) -> dict[str, str]:
    """The variables of a build: one time, one language, and no path of this machine in what a compiler writes.

    The flags stand in place of the user's own: those would be in the bytes, and nobody else has them.
    """
    (place.root / "home").mkdir(exist_ok=True)
    values = {
        "SOURCE_DATE_EPOCH": str(max(seconds, EARLIEST)),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
        "ZERO_AR_DATE": "1",
        "HOME": str(place.root / "home"),
        "PATH": os.pathsep.join([str(Path(place.python).parent), path]),
        "VIRTUAL_ENV": str(place.venv),
        **dict.fromkeys(("CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"), ""),
    }
    if os.name != "nt":
        values |= dict.fromkeys(("CFLAGS", "CXXFLAGS"), shlex.quote(f"-ffile-prefix-map={place.root}=/build"))
    if target.platform.kind.floor_key == "macos" and target.platform.floor:
        values["MACOSX_DEPLOYMENT_TARGET"] = ".".join(map(str, target.platform.floor))
    return values
