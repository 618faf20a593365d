"""Run lockgrid, or uv, in a project folder with an environment that holds nothing unexpected."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, Self

# A port where nothing listens: what is not on the loopback interface fails at once.
_NOWHERE: Final = "http://127.0.0.1:9"

# What programs need to run at all, or to measure coverage in a subprocess.
_KEPT: Final = ("SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH")
_KEPT_PREFIXES: Final = ("COVERAGE_",)


class HasUrl(Protocol):
    """An index, as far as a sandbox cares."""

    @property
    def url(self) -> str:
        """The root of the simple API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a process did."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    def expect(self, code: int) -> Self:
        """Return self; AssertionError with both streams where the exit code is another."""
        if self.code != code:
            command = " ".join(self.args)
            raise AssertionError(
                f"{command}: exit code {self.code}, expected {code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"
            )
        return self

    def json(self) -> Any:
        """Return stdout parsed as JSON."""
        return json.loads(self.out)


class Project:
    """A project folder with an index and caches of its own.

    The home folder and lockgrid's cache are temporary and last as long as the project object;
    uv's cache is the caller's, who may share one between tests whose indexes differ by port.
    lockgrid must be installed in the interpreter that runs the tests (an editable install will do).
    """

    def __init__(self, folder: Path, index: HasUrl, cache: Path) -> None:
        self.folder = folder
        self.index = index
        self.cache = cache
        self._temporary = Path(tempfile.mkdtemp(prefix="lockgrid-test-"))
        self.home = self._temporary / "home"
        self.store = self._temporary / "store"  # LOCKGRID_CACHE_DIR; lockgrid makes it
        self.home.mkdir()
        weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)

    def run(self, *args: str, env: Mapping[str, str | None] | None = None, timeout: float = 60) -> Result:
        """Run `python -m lockgrid *args` in the folder.

        env: variables to add, or with None to leave out. timeout: seconds, after which the process
        and all its children are killed and AssertionError tells what they said so far.
        """
        return self._start([sys.executable, "-m", "lockgrid", *args], env, timeout)

    def uv(self, *args: str, env: Mapping[str, str | None] | None = None, timeout: float = 60) -> Result:
        """Run `uv *args` in the folder, in the same environment as `run`."""
        return self._start([str(find_uv()), *args], env, timeout)

    def snapshot(self, sub: str = "locks") -> dict[str, bytes]:
        """Return the content of every file below `sub`, by path from the folder with slashes.

        A folder that does not exist is empty; "." is the whole project.
        """
        files = (path for path in sorted((self.folder / sub).rglob("*")) if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files}

    def environment(self, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """Return the environment of a process, made from nothing rather than cleaned."""
        env = {
            name: value
            for name, value in os.environ.items()
            if name.upper() in _KEPT or name.startswith(_KEPT_PREFIXES)
        }
        env |= {
            "PATH": search_path(),
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "XDG_CONFIG_DIRS": str(self.home),  # else uv reads a system-wide configuration
            "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1",
            "UV_DEFAULT_INDEX": self.index.url,
            "UV_CACHE_DIR": str(self.cache),
            "UV_PYTHON_DOWNLOADS": "never",
            "LOCKGRID_CACHE_DIR": str(self.store),
            "ALL_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        env.update({name: value for name, value in (extra or {}).items() if value is not None})
        dropped = {name for name, value in (extra or {}).items() if value is None}
        return {name: value for name, value in env.items() if name not in dropped}

    def _start(self, command: Sequence[str], env: Mapping[str, str | None] | None, timeout: float) -> Result:
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            out, err = process.communicate()
            raise AssertionError(
                f"{' '.join(command)}: not done after {timeout} s\n--- stdout\n{out}\n--- stderr\n{err}"
            ) from None
        return Result(args=tuple(command), code=process.returncode, out=out, err=err)


def find_uv() -> Path:
    """Return the uv that tests use: the one on PATH, else the one of the `uv` package.

    Raises FileNotFoundError where there is neither.
    """
    if found := shutil.which("uv"):
        return Path(found)
    try:
        return Path(importlib.import_module("uv").find_uv_bin())
    except ImportError:
        raise FileNotFoundError("uv is neither on PATH nor installed as a package") from None


def search_path() -> str:
    """Return PATH for a process: uv, this Python, git, and the folders of the system."""
    git = shutil.which("git")
    folders = [find_uv().parent, Path(sys.executable).parent, *([Path(git).parent] if git else [])]
    system = ["/usr/bin", "/bin"]
    if os.name == "nt":
        root = os.environ.get("SYSTEMROOT", "C:/Windows")
        system = [f"{root}/System32", root]
    return os.pathsep.join(dict.fromkeys([*map(str, folders), *system]))


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children: one that survives would hold the pipes open."""
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
