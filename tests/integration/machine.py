"""The machine that the tests run on, in the words of targets.toml."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
#: Empty where the targets of the tests do not have this platform.
HERE = {
    ("linux", "x86_64"): "linux-x86_64",
    ("linux", "aarch64"): "linux-aarch64",
    ("darwin", "arm64"): "macos-arm64",
    ("win32", "AMD64"): "windows-x86_64",
}.get((sys.platform, platform.machine()), "")


def python_of(venv: Path) -> Path:
    """The interpreter of a venv."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
