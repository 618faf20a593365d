"""Run by a backend venv's own Python: what it sees, and whether what ``[smoke]`` imports can be imported.

    python inside.py see OUT              -> {"python", "path", "base", "user_site", "distributions"}
    python inside.py import OUT MODULE... -> {MODULE: null, or what was raised and who should have provided it}
    python inside.py command OUT NAME...  -> {NAME: the pin that installs it, or null}

Writes JSON to the file OUT, because what is imported may print. Standard library alone, Python 3.10 or newer.
"""

from __future__ import annotations

import importlib
import json
import site
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any


def see() -> dict[str, Any]:
    """The version of this Python, where it looks for modules, and every distribution that it finds there."""
    distributions = [
        {**_identity(found), "folder": str(found.locate_file("")), "requires": found.requires or []}
        for found in metadata.distributions()
    ]
    return {
        "python": sys.version,
        "path": sys.path,
        "base": [sys.base_prefix, sys.base_exec_prefix],
        "user_site": bool(site.ENABLE_USER_SITE),
        "distributions": distributions,
    }


def _identity(found: metadata.Distribution) -> dict[str, str]:
    """Name and version; of what is left of a torn distribution the name of its folder."""
    if name := found.metadata["Name"]:
        return {"name": name, "version": found.version}
    return {"name": Path(str(getattr(found, "_path", "a distribution"))).name, "version": "without METADATA"}


def provider(module: str) -> dict[str, str] | None:
    """The distribution that installed the most of the way to a module, and how far that is; None for none."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        stem = "/".join(parts[:length])
        for found in metadata.distributions():
            for file in found.files or ():
                name = file.as_posix()
                if name.startswith((f"{stem}/", f"{stem}.")) or name == f"{stem}.py":
                    pin = f"{found.metadata['Name']}=={found.version}"
                    return {"pin": pin, "provides": ".".join(parts[:length])}
    return None


def command_provider(command: str) -> str | None:
    """The pin of the distribution that installs a command, None when none does."""
    for found in metadata.distributions():
        scripts = {point.name for point in found.entry_points if point.group in ("console_scripts", "gui_scripts")}
        # Those that are files stand beside the site folder, in RECORD as ../../../bin/name.
        outside = [Path(str(file)) for file in found.files or () if file.parts[0] == ".."]
        files = {file.stem for file in outside if file.parent.name in ("bin", "Scripts")}
        if command in scripts | files:
            return f"{found.metadata['Name']}=={found.version}"
    return None


def try_import(module: str) -> dict[str, Any] | None:
    """None when a module can be imported; else what was raised, and who should have provided what is missing."""
    try:
        importlib.import_module(module)
    except BaseException as error:  # a module may even call sys.exit
        missing = error.name if isinstance(error, ModuleNotFoundError) and error.name else module
        return {
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc(),
            "missing": missing if isinstance(error, ModuleNotFoundError) else None,
            "provider": provider(missing),
        }
    return None


def main() -> None:
    """Answer one question."""
    question, out, *names = sys.argv[1:]
    sys.path.pop(0)  # nothing of this folder may stand in for what a pin should have installed
    if question == "see":
        answer: dict[str, Any] = see()
    elif question == "import":
        answer = {name: try_import(name) for name in names}
    else:
        answer = {name: command_provider(name) for name in names}
    Path(out).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
