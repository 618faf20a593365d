"""Where the programs are that lockgrid runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from lockgrid.errors import ToolError


def find_tool(name: str, environ: Mapping[str, str], install: str) -> str:
    """The program to run: that of ``$LOCKGRID_<NAME>``, the one installed beside lockgrid, or the first on PATH.

    Raises ``ToolError`` when there is none; ``install`` says how to come by it.
    """
    variable = f"LOCKGRID_{name.upper().replace('-', '_')}"
    if chosen := environ.get(variable):
        if not shutil.which(chosen):
            raise ToolError(f"{variable} names {chosen}, which cannot be run", next_step="correct or unset it")
        return chosen
    beside = Path(sys.executable).parent / (f"{name}.exe" if os.name == "nt" else name)
    found = str(beside) if beside.is_file() else shutil.which(name, path=environ.get("PATH"))
    if not found:
        raise ToolError(f"{name} was not found", next_step=install)
    return found
