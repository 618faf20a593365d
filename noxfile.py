"""Sessions: lockgrid's own tools, and one for each backend. Needs only nox and uv.

``nox -s lock check`` locks and checks; ``nox -s tests`` tests lockgrid; ``nox -s tosa`` builds the venv of
a backend from its lockfile and runs its flow.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parent
LOCKS = ROOT / "locks"
UV = (sys.executable, "-m", "uv")
# Interpreters are probed, never downloaded; what is not in a lockfile does not enter a venv.
UV_SETTINGS = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
# Settings of uv that say how to reach an index, as in lockgrid (a test compares). Everything else of uv's, pip's and
# Python's is kept out.
NETWORK = {
    "UV_CACHE_DIR",
    "UV_CONCURRENT_DOWNLOADS",
    "UV_CONFIG_FILE",
    "UV_CREDENTIALS_DIR",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_HTTP_CONNECT_TIMEOUT",
    "UV_HTTP_RETRIES",
    "UV_HTTP_TIMEOUT",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_INSECURE_HOST",
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_NO_CONFIG",
    "UV_OFFLINE",
    "UV_REQUEST_TIMEOUT",
    "UV_SYSTEM_CERTS",
}

nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests"]


def clean_env() -> dict[str, str]:
    """The environment for every tool: this machine's, less what could let something else into a venv."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "UV_")) and k != "VIRTUAL_ENV"}
    for key, value in os.environ.items():
        if key in NETWORK or (key.startswith("UV_INDEX_") and key.endswith(("_USERNAME", "_PASSWORD"))):
            kept[key] = value
    return kept | UV_SETTINGS | {"PYTHONNOUSERSITE": "1", "PIP_CONFIG_FILE": os.devnull}


def host_platform() -> str:
    """The name that targets.toml has for this machine."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}.get(platform.system(), platform.system())
    machine = {"AMD64": "x86_64", "ARM64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{system}-{machine}"


def cells(environment: str) -> dict[str, dict[str, Any]]:
    """The grid's cells of an environment on this machine's platform, by Python."""
    grid = LOCKS / "grid.toml"
    if not grid.is_file():
        return {}
    data = tomllib.loads(grid.read_text(encoding="utf-8"))
    host = host_platform()
    return {c["python"]: c for c in data["cells"] if c["environment"] == environment and c["platform"] == host}


def sync(session: nox.Session, environment: str, python: str) -> None:
    """Make the venv of ``python`` hold exactly the pins of the environment's lockfile, every file by its hash."""
    lockfile = LOCKS / environment / f"{host_platform()}.txt"
    hashes = ["--require-hashes", "--build-constraints", str(LOCKS / "build.txt"), "--require-build-hashes"]
    command = [*UV, "pip", "sync", "--quiet", "--compile-bytecode", "--python", python, *hashes, str(lockfile)]
    session.run_install(*command, env=clean_env(), include_outer_env=False, external=True)


# -- lockgrid itself --------------------------------------------------------------------------------------


def install_tools(session: nox.Session, *, bootstrap: bool = False) -> None:
    """Install the ``dev`` environment from its lockfile, and lockgrid itself from this tree.

    ``bootstrap``: where ``dev`` is not locked yet, install lockgrid with what its pyproject.toml asks for.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    cell = cells("dev").get(running)
    python = str(session.virtualenv.location)
    options: dict[str, Any] = {"env": clean_env(), "include_outer_env": False, "external": True}
    install = [*UV, "pip", "install", "--quiet", "--python", python]
    if bootstrap and not (LOCKS / "dev" / f"{host_platform()}.txt").is_file():
        session.warn("locks/dev is not there yet: installing lockgrid unpinned, from generator/pyproject.toml")
        session.run_install(*install, "--editable", "generator", **options)
        return
    if not LOCKS.is_dir():
        session.error("nothing is locked: run `nox -s lock`")
    if cell is None or cell["status"] != "proven":
        known = ", ".join(p for p, c in cells("dev").items() if c["status"] == "proven") or "none on this machine"
        session.error(f"dev is not proven on {host_platform()} with Python {running}; run nox on one of: {known}")
    sync(session, "dev", python)
    install += ["--no-deps", "--no-build-isolation", "--offline", "--compile-bytecode", "--editable", "generator"]
    session.run_install(*install, **options)


def run(session: nox.Session, *command: str) -> None:
    """Run a tool of the session's venv in the clean environment."""
    env = clean_env() | {"PATH": os.pathsep.join([*(session.virtualenv.bin_paths or []), os.environ.get("PATH", "")])}
    session.run(*command, env=env, include_outer_env=False)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve and prove the grid, write locks/. Arguments go to ``lockgrid lock``."""
    install_tools(session, bootstrap=True)
    run(session, "lockgrid", "lock", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Check offline that locks/ is in date."""
    install_tools(session)
    run(session, "lockgrid", "check", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Test lockgrid: unit tests offline, integration tests with the real uv against a local index."""
    install_tools(session)
    run(session, "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and the direction of imports."""
    install_tools(session)
    run(session, "ruff", "format", "--check", ".")
    run(session, "ruff", "check", ".")
    run(session, "lint-imports")


@nox.session
def typing(session: nox.Session) -> None:
    """Check types, strictly."""
    install_tools(session)
    run(session, "mypy")


@nox.session
def bench(session: nox.Session) -> None:
    """Compare lockgrid with uv in one run: medians of pairs. Arguments go to tests/bench/bench.py."""
    install_tools(session)
    run(session, "python", "tests/bench/bench.py", *session.posargs)


# -- the backends -----------------------------------------------------------------------------------------


def probe(python: str) -> str | None:
    """The path of an interpreter of this minor version that really starts: a shim may be there and fail."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += [version / "bin" for version in sorted(pyenv.glob(f"{python}.*"), reverse=True)]
    names = (f"python{python}", "python3", "python.exe")
    for candidate in [sys.executable, *(str(folder / name) for folder in folders for name in names)]:
        if not Path(candidate).is_file():
            continue
        question = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            asked = subprocess.run([candidate, "-c", question], capture_output=True, text=True, timeout=30, check=False)
            if asked.returncode == 0 and asked.stdout.split() == [python, "cpython"]:
                return candidate
    return None


def interpreter(session: nox.Session, environment: str) -> tuple[str, str]:
    """A Python that the grid proves for the environment here, and its path: the running one if it is proven."""
    here = cells(environment)
    if not LOCKS.is_dir():
        session.error("nothing is locked: run `nox -s lock`")
    if not here:
        session.error(f"{environment} has no cell on {host_platform()}: see `lockgrid show`")
    proven = [python for python, cell in here.items() if cell["status"] == "proven"]
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in sorted(proven, key=lambda p: (p != running, -int(p.partition(".")[2]))):
        if path := probe(python):
            return python, path
    reasons = sorted({cell["because"] for cell in here.values() if cell["status"] != "proven"})
    others = f"; other Pythons are unsupported: {' / '.join(reasons)}" if reasons else ""
    return session.error(
        f"{environment} on {host_platform()} needs Python {' or '.join(proven) or '(none is proven)'}, "
        f"and no such interpreter is here{others}"
    )


def smoke(environment: str) -> tuple[list[str], list[list[str]]]:
    """The imports and commands of ``[smoke]``, the bases' first."""
    table = tomllib.loads((ROOT / "envs" / f"{environment}.toml").read_text(encoding="utf-8"))
    own = table.get("smoke", {})
    imports: list[str] = []
    commands: list[list[str]] = []
    for base in table.get("extends", ()):
        base_imports, base_commands = smoke(base)
        imports += base_imports
        commands += base_commands
    return [*imports, *own.get("imports", ())], [*commands, *own.get("commands", ())]


def backend(session: nox.Session, environment: str) -> None:
    """Build the backend's venv from its lockfile, check what ``[smoke]`` asks for, run its flow."""
    python, path = interpreter(session, environment)
    venv = ROOT / ".nox" / f"{environment}-{python}"
    binaries = venv / ("Scripts" if os.name == "nt" else "bin")
    inside = str(binaries / ("python.exe" if os.name == "nt" else "python"))
    env = clean_env() | {"PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", "")]), "VIRTUAL_ENV": str(venv)}
    if not Path(inside).is_file():
        shutil.rmtree(venv, ignore_errors=True)
        create = [*UV, "venv", "--quiet", "--no-project", "--python", path, str(venv)]
        session.run_install(*create, env=clean_env(), include_outer_env=False, external=True)
    sync(session, environment, inside)
    imports, commands = smoke(environment)
    for module in imports:
        session.run(inside, "-c", f"import {module}", env=env, include_outer_env=False, external=True)
    for command in commands:
        session.run(*command, env=env, include_outer_env=False, external=True)
    flow = [inside, "-m", "pytest", "-c", "tests/flows/pytest.ini", "--rootdir", "."]
    flow += [f"tests/flows/test_{environment}.py", *session.posargs]
    session.run(*flow, env=env, include_outer_env=False, external=True)


@nox.session(venv_backend="none")
def tosa(session: nox.Session) -> None:
    """Lower models to TOSA, execute them with the reference model, compare with PyTorch."""
    backend(session, "tosa")
