"""What ``lockgrid bundle`` says of a bundle that is complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_bundled(values: Mapping[str, Any]) -> str:
    """A few lines, out of the fields of ``commands.bundle.Bundled``."""
    cell = f"{values['environment']} on {values['platform']}, Python {values['python']}"
    lines = [f"{values['folder']}: {cell}: {values['packages']} packages, {values['bytes'] / 1e6:,.1f} MB"]
    came = f"{values['fetched']} files came now ({values['received'] / 1e6:,.1f} MB)"
    lines.append(f"{came}, {values['kept']} were there" if values["kept"] else came)
    lines += [f"built here: {path}" for path in values["built"]]
    lines += [f"to be built where it is installed: {path}" for path in values["to_build"]]
    script = "install.bat" if values["platform"].startswith("windows") else "sh install.sh"
    lines.append(f"to install it there: {script} VENV")
    return "".join(f"{line}\n" for line in lines)
