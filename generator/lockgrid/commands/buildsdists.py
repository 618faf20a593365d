"""The sdists of a bundle built on this machine, where it is one of the target's kind; else they stay sdists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lockgrid.adapters.build import build_wheel, find_python, host_platform
from lockgrid.adapters.bundlefolder import BundleFolder
from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.disk import hash_of
from lockgrid.adapters.source import LocalFile
from lockgrid.adapters.uv import Uv
from lockgrid.core.binaries import judge_binaries
from lockgrid.core.bundle import SCRATCH, WHEELS, Plan, built_pin
from lockgrid.core.floor import target_floor
from lockgrid.core.render.install import build_text
from lockgrid.model.grid import Pin
from lockgrid.model.target import Target
from lockgrid.progress import Progress


def can_build(uv: Uv, target: Target) -> str:
    """The Python that builds for the target here, empty where this machine is of another kind or has none."""
    return find_python(uv, target.python) if host_platform() == target.platform.name else ""


def build_sdists(
    progress: Progress, uv: Uv, files: BundleFolder, plan: Plan, sdists: Sequence[Pin], python: str
) -> dict[str, tuple[str, str]]:
    """By the pin's name the path of each wheel that was built, and its sha256.

    A sdist that cannot be built here, or whose wheel would not run on the target's oldest system, is told and left.
    """
    scratch = files.root / SCRATCH
    constraints = scratch / "build.txt"
    files.write({f"{SCRATCH}/build.txt": build_text(plan)})
    links = [folder for folder in (scratch, files.root / WHEELS) if folder.is_dir()]
    built: dict[str, tuple[str, str]] = {}
    for pin in sdists:
        progress.step(f"building {pin.file.filename}")
        wheel, said = build_wheel(uv, scratch / pin.file.filename, python, constraints, links, scratch / "out")
        if wheel is not None:
            said = _unfit(wheel, pin, plan)
        if said or wheel is None:
            progress.note(f"{pin.file.filename} stays a sdist, to be built where it is installed: {_last(said)}")
            continue
        path = f"{WHEELS}/{wheel.name}"
        files.move(wheel, path)
        built[pin.name] = path, hash_of(files.root / path)
    return built


def _unfit(wheel: Path, pin: Pin, plan: Plan) -> str:
    """Why a wheel that was built here does not serve the target, empty when it does."""
    if built_pin(wheel.name, plan) is not pin:
        return f"the build made {wheel.name}, which is no wheel of {pin.name}=={pin.version} for {plan.target.label}"
    with LocalFile(wheel) as source:
        contents = read_contents(wheel.name, source)
    findings = judge_binaries(contents, [target_floor(plan.target)])
    return "; ".join(f"built here, {finding.what}" for finding in findings if finding.severity == "error")


def _last(said: str) -> str:
    """The last lines of what a build said: they hold the error."""
    return "\n    ".join(said.splitlines()[-12:]) or "the build made no wheel"
