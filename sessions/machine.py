"""The machine at hand: its name in targets.toml, its interpreters, and the environment that its tools get."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The package beside nox, or else a uv of its own on PATH.
UV = (sys.executable, "-m", "uv") if importlib.util.find_spec("uv") else ("uv",)
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
# Interpreters are probed, never downloaded; what is not in a lockfile does not enter a venv.
_UV_SETTINGS = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
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


def clean_env() -> dict[str, str]:
    """The environment for every tool: this machine's, less what could let something else into a venv."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "UV_")) and k != "VIRTUAL_ENV"}
    for key, value in os.environ.items():
        if key in NETWORK or (key.startswith("UV_INDEX_") and key.endswith(("_USERNAME", "_PASSWORD"))):
            kept[key] = value
    return kept | _UV_SETTINGS | {"PYTHONNOUSERSITE": "1", "PIP_CONFIG_FILE": os.devnull}


def sync_command(python: str, lockfile: Path, build: Path) -> list[str]:
    """Uv's command that makes a venv hold exactly the pins of a lockfile, every file by its hash."""
    hashes = ["--require-hashes", "--build-constraints", str(build), "--require-build-hashes"]
    return [*UV, "pip", "sync", "--quiet", "--compile-bytecode", "--python", python, *hashes, str(lockfile)]


def say(text: str) -> None:
    """Tell what a session does, on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def host_platform() -> str:
    """The name that targets.toml has for this machine."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}.get(platform.system(), platform.system())
    machine = {"AMD64": "x86_64", "ARM64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{system}-{machine}"


def below_floor(table: Mapping[str, Any]) -> str:
    """What is too old here for a platform of targets.toml, as a clause; empty when nothing is."""
    if floor := table.get("glibc"):
        library, version = platform.libc_ver()
        if library != "glibc":
            return f"its lock is for glibc {floor} and newer, and this system has {library or 'another C library'}"
        if _older(version, floor):
            return f"its lock is for glibc {floor} and newer, and this system has glibc {version}"
    if floor := table.get("macos"):
        version = platform.mac_ver()[0]
        if version and _older(version, floor):
            return f"its lock is for macOS {floor} and newer, and this is macOS {version}"
    return ""


def _older(version: str, floor: str) -> bool:
    ours, theirs = ([int(part) for part in text.split(".")[:2]] for text in (f"{version}.0", f"{floor}.0"))
    return ours < theirs


def probe(python: str) -> str | None:
    """The path of an interpreter of this minor version that really starts: a shim may be there and fail."""
    if python == RUNNING and sys.implementation.name == "cpython":
        return sys.executable
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    with contextlib.suppress(OSError):
        folders += [version / "bin" for version in sorted(pyenv.glob(f"{python}.*"), key=_patch, reverse=True)]
    for candidate in [
        str(folder / name) for folder in folders for name in (f"python{python}", "python3", "python.exe")
    ]:
        if _is_cpython(candidate, python):
            return candidate
    return None


def _patch(version: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in version.name.split(".") if part.isdigit())


def _is_cpython(candidate: str, python: str) -> bool:
    question = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        if not Path(candidate).is_file():
            return False
        asked = subprocess.run([candidate, "-c", question], capture_output=True, text=True, timeout=30, check=False)
        return asked.returncode == 0 and asked.stdout.split() == [python, "cpython"]
    return False
