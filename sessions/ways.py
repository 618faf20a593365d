"""Every way in, one after the other: all of them must end with the same packages, line for line."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from sessions.cell import Cell, Grid, only_pins
from sessions.failure import Failure
from sessions.machine import ROOT, RUNNING, below_floor, clean_env, host_platform, probe, say, sync_command
from sessions.piptools import TOOLS, run, tools_python
from sessions.spec import read_platform
from sessions.uvsettings import uv_env
from sessions.wayin import WAYS, Desk, Tools

USAGE = "nox -s ways -- [ENV...] [--python X.Y] [--way WAY]... [--keep]"
FOLDER = ROOT / ".nox" / "ways-files"
_INSIDE = Path(__file__).with_name("inside.py")
# A bundle, and twice its unpacked size: in a venv and in a cache.
_ROOM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a way came to: ``lines`` are ``name==version``, sorted; or why it ``failed``. Time in seconds."""

    way: str
    seconds: float
    lines: tuple[str, ...] = ()
    failed: str = ""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure("arguments", f"{message}; usage: {USAGE}")


def ways(given: Sequence[str], lockgrid: Sequence[str], tools: Tools | None = None) -> None:
    """Install the cells of one Python in every way. Raises ``Failure`` where a way does not end with the pins.

    ``tools``: what to do it with, if not with a venv made from ``locks/dev``.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("environments", nargs="*")
    parser.add_argument("--python", default=RUNNING)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args(given)
    platform = host_platform()
    if too_old := below_floor(read_platform(ROOT, platform)):
        raise Failure("grid", f"nothing can be installed here: {too_old}")
    grid = Grid(ROOT, platform)
    named = asked.environments or [name for name in _extras() if grid.cells(name)]
    cells = [grid.choose(name, asked.python, RUNNING, probe) for name in named]
    if not cells:
        raise Failure("ways", f"no environment is locked for {platform}")
    for cell in cells:
        _check(cell)
    tools = tools or _tools(grid, asked.python, lockgrid)
    differ = [cell for cell in cells if not _compare(cell, tools, asked.way or list(WAYS), keep=asked.keep)]
    if differ:
        raise Failure("ways", f"not every way ends with the pins, see above: {', '.join(map(str, differ))}")


def _extras() -> list[str]:
    """The environments that `uv sync --extra` knows."""
    manifest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(manifest.get("project", {}).get("optional-dependencies", {}))


def _check(cell: Cell) -> None:
    """Raise ``Failure`` for what cannot be tried here."""
    if cell.sources:
        what = f"{cell}: packages with an index of their own ([sources]) need other commands, and are not tried"
        raise Failure("ways", what)
    if (free := shutil.disk_usage(ROOT).free) < (needed := _ROOM * cell.download):
        raise Failure("ways", f"{cell} takes some {needed / 1e9:.0f} GB for a while, and {free / 1e9:.0f} are free")


def _tools(grid: Grid, python: str, lockgrid: Sequence[str]) -> Tools:
    interpreter = tools_python(grid, python)
    if not interpreter:
        raise Failure("ways", f"no way can be tried with Python {python}, see above")
    cell = grid.choose(TOOLS, python, RUNNING, probe)

    def give_pip(venv: str) -> None:
        """The pip of the lockfile, by its hash."""
        with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder, uv_env() as env:
            pip = Path(folder) / "pip.txt"
            pip.write_text(only_pins(cell.lockfile.read_text(encoding="utf-8"), {"pip"}), encoding="utf-8")
            done = run(sync_command(venv, pip, cell.build), env)
        if done.returncode:
            raise Failure("ways", f"pip cannot be installed: {done.stderr.strip()}")

    return Tools(python=interpreter, lockgrid=lockgrid, give_pip=give_pip)


# -- one cell ----------------------------------------------------------------------------------------------


def _compare(cell: Cell, tools: Tools, chosen: Sequence[str], *, keep: bool) -> bool:
    """Install a cell in the chosen ways, print what came of it, and tell whether all is as it should be."""
    folder = FOLDER / f"{cell.environment}-{cell.python}"
    say(f"{cell}: {len(cell.pins)} pins, {len(chosen)} ways")
    outcomes = []
    try:
        with Desk(cell, tools, folder) as desk:
            for way in chosen:
                outcomes.append(outcome := _try(way, desk))
                say(f"  {way}: {outcome.failed or f'{len(outcome.lines)} packages'}, {outcome.seconds:.0f} s")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    pins = tuple(sorted(map(_line, cell.pins, cell.pins.values())))
    sys.stdout.write("".join(f"{line}\n" for line in table(cell, pins, outcomes)))
    sys.stdout.flush()
    return all(outcome.lines == pins for outcome in outcomes)


def _try(way: str, desk: Desk) -> Outcome:
    """Go one way, in a new venv, which is gone afterwards. What the ways share is made first, and not timed."""
    began = time.perf_counter()
    try:
        desk.clear()
        getattr(desk, WAYS[way].needs)
        began = time.perf_counter()
        WAYS[way].install(desk)
        seconds = time.perf_counter() - began
        return Outcome(way=way, seconds=seconds, lines=_installed(desk))
    except Failure as failure:
        return Outcome(way=way, seconds=time.perf_counter() - began, failed=failure.message)
    finally:
        desk.clear()


def _installed(desk: Desk) -> tuple[str, ...]:
    """What the venv's own Python finds; not the pip that pip-sync has to have there."""
    answer = desk.folder / "answer.json"
    desk.do([desk.python, str(_INSIDE), "see", str(answer)], clean_env())
    found = json.loads(answer.read_text(encoding="utf-8"))["distributions"]
    lines = [_line(one["name"], one["version"]) for one in found]
    extra = {"pip"} - desk.cell.pins.keys()
    return tuple(sorted(line for line in lines if line.partition("==")[0] not in extra))


def _line(name: str, version: str) -> str:
    """``name==version``, both in normal form."""
    try:
        return f"{canonicalize_name(name)}=={Version(version)}"
    except InvalidVersion:
        return f"{canonicalize_name(name)}=={version}"


def table(cell: Cell, pins: Sequence[str], outcomes: Sequence[Outcome]) -> list[str]:
    """What came of the ways, a line each, with the lines in which one differs from the lockfile below it."""
    lines = [f"{cell}: {len(pins)} pins", f"  {'way':<16}{'packages':>8}  {'seconds':>7}"]
    for outcome in outcomes:
        wanted, found = Counter(pins), Counter(outcome.lines)
        equal = tuple(pins) == outcome.lines
        verdict = "FAILED" if outcome.failed else "the pins, line for line" if equal else "DIFFERS"
        lines.append(f"  {outcome.way:<16}{len(outcome.lines):>8}  {outcome.seconds:>7.1f}  {verdict}")
        if outcome.failed:
            lines.append(f"    {outcome.failed}")
        elif not equal:
            lines += [f"    - {line}" for line in sorted((wanted - found).elements())]
            lines += [f"    + {line}" for line in sorted((found - wanted).elements())]
    return lines
