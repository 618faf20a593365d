"""The ways in: each installs the pins of one cell into a new venv, as the docs tell people to (docs/consumers.md)."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from sessions.cell import Cell, only_pins, sdists
from sessions.failure import Failure
from sessions.machine import ROOT, UV, clean_env, say, sync_command
from sessions.piptools import pip_env, pip_settings, python_of, run
from sessions.uvsettings import uv_env

# Where nothing listens.
_CLOSED = "http://127.0.0.1:9/simple"
# What a clone needs for uv and lockgrid to work in it.
_CLONED = ("pyproject.toml", "README.md", "uv.toml", "envs", "locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """``python`` has pip, pip-tools and pypiserver; ``lockgrid`` is its command; ``give_pip`` installs a venv's own."""

    python: str
    lockgrid: Sequence[str]
    give_pip: Callable[[str], None]


class Desk:
    """What the ways of one cell share, below a folder: a clone, the bundle, and a mirror that serves its files."""

    def __init__(self, cell: Cell, tools: Tools, folder: Path) -> None:
        self.cell = cell
        self.tools = tools
        self.folder = folder
        self.venv = folder / "venv"
        self.python = str(python_of(self.venv))
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Desk:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def clear(self) -> None:
        """Remove the venv and what else a way left behind."""
        for path in (self.venv, self.folder / "cache"):
            shutil.rmtree(path, ignore_errors=True)

    def new_venv(self) -> None:
        """Make the venv, empty."""
        with uv_env() as env:
            words = ["venv", "--quiet", "--no-project", "--python", self.cell.interpreter, str(self.venv)]
            self.do([*UV, *words], env)

    def do(self, command: Sequence[str], env: Mapping[str, str], folder: Path = ROOT) -> str:
        """Run a command; what it prints. Raises ``Failure`` with the end of what it says where it fails."""
        done = run(command, env, folder)
        if done.returncode:
            said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()][-15:]
            words = " ".join(Path(word).name if os.sep in word else word for word in command[:6])
            raise Failure("ways", "\n    ".join([f"`{words} ...` ended with exit code {done.returncode}:", *said]))
        return done.stdout

    @cached_property
    def clone(self) -> Path:
        """A copy of the project as it would be cloned: without a uv.lock."""
        folder = self.folder / "clone"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in _CLONED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
            elif (ROOT / name).is_file():
                shutil.copy(ROOT / name, folder)
        return folder

    @cached_property
    def bundle(self) -> Path:
        """The bundle of the cell, made or resumed."""
        began = time.perf_counter()
        folder = self.folder / "bundle"
        words = ["bundle", self.cell.environment, "--platform", self.cell.platform, "--python", self.cell.python]
        self.do([*self.tools.lockgrid, *words, "-o", str(folder)], clean_env())
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        say(f"  the bundle: {size / 1e6:,.0f} MB, {time.perf_counter() - began:.0f} s")
        return folder

    @cached_property
    def _sources(self) -> Path:
        """The sdists of the cell and what builds them: a bundle may hold wheels in their place."""
        folder = self.folder / "sources"
        folder.mkdir(exist_ok=True)
        text = self.cell.lockfile.read_text(encoding="utf-8")
        if built := sdists(text):
            some = self.folder / "sdists.txt"
            some.write_text(only_pins(text, built), encoding="utf-8")
            env = pip_env(self.cell)
            for pins in (some, self.cell.build):
                words = ["download", "--quiet", "--no-deps", "--require-hashes", "-r", str(pins), "-d", str(folder)]
                self.do([self.tools.python, "-m", "pip", *words], env)
        return folder

    @cached_property
    def mirror(self) -> str:
        """The URL of a pypiserver on the loopback interface that has the files of the cell, and asks nobody else."""
        folders = [str(self.bundle / "wheels"), str(self._sources)]
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        words = ["run", "-i", "127.0.0.1", "-p", str(port), "--disable-fallback", "--hash-algo", "sha256", *folders]
        return self._stack.enter_context(_serving([self.tools.python, "-m", "pypiserver", *words], port))

    def pip(self) -> dict[str, str]:
        """The environment for pip on the mirror. Nothing is kept: a wheel that one way built would serve another."""
        bare = {"PIP_NO_CACHE_DIR": "1", "PIP_NO_COMPILE": "1"}
        return pip_settings(self.cell, self.mirror) | bare | _DIRECT

    def pylock(self, env: Mapping[str, str]) -> Path:
        """The pylock.toml of the cell, with the URLs of the index that the environment names."""
        path = self.folder / "pylock.toml"
        words = ["export", self.cell.environment, "--platform", self.cell.platform, "--python", self.cell.python]
        self.do([*self.tools.lockgrid, *words, "--format", "pylock", "-o", str(path)], env)
        return path


_DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


@contextlib.contextmanager
def _serving(command: Sequence[str], port: int) -> Iterator[str]:
    """Run a server; the URL of its simple API once it answers."""
    process = subprocess.Popen(command, env=clean_env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/simple"
        for _ in range(600):
            with contextlib.suppress(URLError, OSError):
                build_opener(ProxyHandler({})).open(f"{url}/", timeout=60).close()
                break
            if process.poll() is not None:
                raise Failure("ways", f"`{' '.join(command[1:4])}` ended with exit code {process.returncode}")
            time.sleep(0.1)
        else:
            raise Failure("ways", "pypiserver does not answer")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


# -- the ways ----------------------------------------------------------------------------------------------


def _uv_sync(desk: Desk, *, locked: bool) -> None:
    """As a person does: uv reads its own configuration, and the project's."""
    (desk.clone / "uv.lock").unlink(missing_ok=True)
    if locked:
        desk.do([*desk.tools.lockgrid, "uv-lock"], clean_env(), desk.clone)
    env = clean_env() | {"UV_PROJECT_ENVIRONMENT": str(desk.venv)}
    words = ["sync", "--quiet", "--extra", desk.cell.environment, "--python", desk.cell.interpreter]
    desk.do([*UV, *words, *(["--locked"] if locked else [])], env, desk.clone)


def _uv_pip_sync(desk: Desk, *, pylock: bool) -> None:
    desk.new_venv()
    lock = desk.pylock(clean_env()) if pylock else desk.cell.lockfile
    with uv_env() as env:
        words = sync_command(desk.python, lock, desk.cell.build)
        desk.do([word for word in words if word != "--compile-bytecode"], env)  # takes longer than all the rest


def _pip(desk: Desk, *, pylock: bool) -> None:
    desk.new_venv()
    command = [desk.tools.python, "-m", "pip", "--python", desk.python, "install", "--quiet"]
    if not pylock:
        desk.do([*command, "--require-hashes", "-r", str(desk.cell.lockfile)], desk.pip())
        return
    empty = desk.folder / "empty.toml"
    empty.touch()
    kept = {key: value for key, value in clean_env().items() if key not in ("UV_INDEX", "UV_EXTRA_INDEX_URL")}
    env = kept | {"UV_DEFAULT_INDEX": desk.mirror, "UV_CONFIG_FILE": str(empty), **_DIRECT}
    lock = desk.pylock(env | {"LOCKGRID_CACHE_DIR": str(desk.folder / "cache")})
    desk.do([*command, "--no-deps", "-r", str(lock)], desk.pip())


def _pip_sync(desk: Desk) -> None:
    desk.new_venv()
    desk.tools.give_pip(desk.python)
    command = [desk.tools.python, "-m", "piptools", "sync", "--quiet", "--no-config"]
    # It puts the lockfile's `--only-binary :all:` behind its `--no-binary`, where pip lets the later one win.
    built = sorted(sdists(desk.cell.lockfile.read_text(encoding="utf-8")))
    more = ["--pip-args", f"--no-binary={','.join(built)}"] if built else []
    desk.do([*command, *more, "--python-executable", desk.python, str(desk.cell.lockfile)], desk.pip())


def _bundle(desk: Desk, *, uv: bool) -> None:
    """From the files alone, in a network namespace of its own where that is allowed."""
    script = desk.bundle / ("install.bat" if os.name == "nt" else "install.sh")
    env = clean_env() | {"UV_DEFAULT_INDEX": _CLOSED, "PIP_INDEX_URL": _CLOSED, "PYTHON": desk.tools.python}
    env |= {"PATH": _path(desk.folder / "path", uv=uv), "UV_CACHE_DIR": str(desk.folder / "cache")}
    command = [str(script)] if os.name == "nt" else ["/bin/sh", str(script)]
    desk.do([*_cut_off(), *command, str(desk.venv)], env)


def _path(folder: Path, *, uv: bool) -> str:
    """A PATH that has uv, or has not; the script takes uv where it finds one."""
    known = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if os.name == "nt":
        folders = [
            place for place in os.environ.get("PATH", "").split(os.pathsep) if not shutil.which("uv", path=place)
        ]
        return os.pathsep.join([*([str(Path(known).parent)] if uv and known else []), *folders])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, path in {"sh": "/bin/sh", "dirname": shutil.which("dirname"), "uv": known if uv else None}.items():
        if path:
            (folder / name).symlink_to(path)
    if uv and not known:
        raise Failure("ways", "there is no program uv to install the bundle with: put one on PATH")
    return str(folder)


def _cut_off() -> list[str]:
    """What cuts a program off the network; nothing, and that is said, where this machine has no such thing."""
    unshare = shutil.which("unshare")
    with contextlib.suppress(OSError):
        if unshare and subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0:
            return [unshare, "-rn"]
    say("  no network namespace can be made here: the bundle is installed with a closed port as index")
    return []


@dataclass(frozen=True, slots=True)
class Way:
    """``needs`` is what of the desk is made beforehand."""

    install: Callable[[Desk], None]
    needs: str = "clone"


WAYS = {
    "uv-sync": Way(partial(_uv_sync, locked=False)),
    "uv-sync-locked": Way(partial(_uv_sync, locked=True)),
    "uv-pip-sync": Way(partial(_uv_pip_sync, pylock=False)),
    "pip": Way(partial(_pip, pylock=False), "mirror"),
    "pip-sync": Way(_pip_sync, "mirror"),
    "pylock-pip": Way(partial(_pip, pylock=True), "mirror"),
    "pylock-uv": Way(partial(_uv_pip_sync, pylock=True)),
    "bundle-uv": Way(partial(_bundle, uv=True), "bundle"),
    "bundle-pip": Way(partial(_bundle, uv=False), "bundle"),
}
