"""Wheels built of sdists by uv: isolated, with pinned and hashed build requirements out of folders, offline."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from lockgrid.adapters.uv import Uv
from lockgrid.model.target import PLATFORM_KINDS

# The earliest time that a zip archive can hold: the same sdist gives the same bytes, whenever it is built.
_EPOCH = "315532800"


def host_platform() -> str:
    """The name that ``targets.toml`` has for this machine, empty where it has none."""
    here = sys.platform, platform.machine().lower()
    kinds = PLATFORM_KINDS.items()
    return next((n for n, k in kinds if (k.sys_platform, k.platform_machine.lower()) == here), "")


def find_python(uv: Uv, python: str) -> str:
    """The path of a CPython of this minor version on this machine, empty where uv knows none."""
    outcome = uv.run(["python", "find", "--no-project", "--no-config", f"cpython@{python}"], {})
    return outcome.out.strip() if outcome.code == 0 else ""


def build_wheel(
    uv: Uv, sdist: Path, python: str, constraints: Path, links: Sequence[Path], out: Path
) -> tuple[Path | None, str]:
    """The wheel of a sdist in ``out``, a folder made for it; or None, and what the build said.

    ``constraints`` pins the build requirements with their hashes, ``links`` are folders with their files: nothing
    else can enter the build.
    """
    shutil.rmtree(out, ignore_errors=True)
    words = ["build", "--wheel", "--no-config", "--no-create-gitignore", "--python", python, "--out-dir", str(out)]
    words += ["--build-constraints", str(constraints), "--require-hashes", "--offline", "--no-index"]
    for folder in links:
        words += ["--find-links", str(folder)]
    outcome = uv.run([*words, str(sdist)], {"SOURCE_DATE_EPOCH": _EPOCH, "PYTHONHASHSEED": "0", "TZ": "UTC"})
    made = sorted(out.glob("*.whl")) if outcome.code == 0 else []
    return (made[0], "") if len(made) == 1 else (None, outcome.said.strip())
