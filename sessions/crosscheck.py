"""pip's own resolver judges the locks of this machine: pip-tools compiles and syncs what lockgrid pinned."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from sessions.cell import Cell, Grid, only_pins
from sessions.failure import Failure
from sessions.machine import ROOT, RUNNING, below_floor, host_platform, probe, say
from sessions.piptools import pip_env, run, tools_python
from sessions.spec import Spec, read_platform, read_spec

USAGE = "nox -s crosscheck -- [ENV...] [--python X.Y | --every-python]"
_SHIM = Path(__file__).with_name("stated_hashes.py")
_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)\s*(?:;([^\\]*))?\\?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

#: From a Python version to an interpreter of it that has pip-tools.
Tools = Callable[[str], str]


@dataclass(slots=True)
class Pinned:
    """A pin of a requirements file: its hashes, and who asks for it as far as the file says so."""

    version: str
    hashes: set[str]
    via: set[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where pip and the lock do not agree over a package; ``why`` is empty where nothing explains it."""

    package: str
    what: str
    why: str = ""

    def __str__(self) -> str:
        """One line."""
        return f"{self.package}: {self.what}" + (f" ({self.why})" if self.why else "")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure("arguments", f"{message}; usage: {USAGE}")


def crosscheck(given: Sequence[str], tools: Tools | None = None) -> None:
    """Judge the proven cells of this machine, one after the other. Raises ``Failure`` where pip does not agree.

    ``tools``: where pip-tools is, if not in a venv made from ``locks/dev``.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("environments", nargs="*")
    parser.add_argument("--python")
    parser.add_argument("--every-python", action="store_true")
    asked = parser.parse_args(given)
    platform = host_platform()
    if too_old := below_floor(read_platform(ROOT, platform)):
        raise Failure("grid", f"nothing can be judged here: {too_old}")
    grid = Grid(ROOT, platform)
    named = asked.environments or sorted(file.stem for file in (ROOT / "envs").glob("*.toml"))
    environments = [name for name in named if asked.environments or grid.cells(name)]
    proven = {name: [p for p, cell in grid.cells(name).items() if cell["status"] == "proven"] for name in environments}
    pythons = [asked.python or RUNNING]
    if asked.every_python:
        pythons = sorted({p for some in proven.values() for p in some}, key=lambda p: int(p.partition(".")[2]))
    failed: list[str] = []
    judged = 0
    for python in pythons:
        chosen = [name for name in environments if python in proven[name]]
        for name in environments:
            if name not in chosen:
                say(f"{name}: Python {python} is not proven on {platform}: not judged")
        interpreter = (tools or partial(tools_python, grid))(python) if chosen else ""
        for name in chosen if interpreter else ():
            judged += 1
            failed += [] if _judge(grid.choose(name, python, RUNNING, probe), interpreter) else [name]
    if failed:
        raise Failure(
            "crosscheck", f"pip does not agree with the locks of {', '.join(dict.fromkeys(failed))}, see above"
        )
    if not judged:
        raise Failure("crosscheck", "no cell was judged, see above")
    say(f"pip agrees with the locks: {judged} cells judged on {platform}")


# -- the judgement -----------------------------------------------------------------------------------------


def _judge(cell: Cell, interpreter: str) -> bool:
    """Whether pip agrees with the lock of a cell; every difference is said, with what explains it."""
    began = time.perf_counter()
    spec = read_spec(ROOT, cell.environment)
    env = pip_env(cell)
    found = [*compile_differences(cell, spec, interpreter, env), *sync_differences(cell, interpreter, env)]
    seconds = time.perf_counter() - began
    if not found:
        what = f"pip-compile arrives at the same {len(cell.pins)} pins, and pip-sync takes the lockfile"
        say(f"{cell}: {what} ({seconds:.0f} s)")
    else:
        open_ = sum(1 for difference in found if not difference.why)
        say(f"{cell}: {len(found)} differences in {len(cell.pins)} pins, {open_} of them unexplained ({seconds:.0f} s)")
    for difference in found:
        say(f"  {difference}")
    return all(difference.why for difference in found)


def compile_differences(cell: Cell, spec: Spec, interpreter: str, env: Mapping[str, str]) -> list[Difference]:
    """What pip-compile makes of the environment's requirements, the lockfile being its constraints.

    pip knows no overrides: what the environment overrides is not constrained, so pip chooses what the packages
    themselves ask for.
    """
    lock = cell.lockfile.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
        asked, constraints, out = (Path(folder) / name for name in ("asked.in", "lock.txt", "out.txt"))
        asked.write_text("".join(f"{text}\n" for text, _ in spec.requires), encoding="utf-8")
        free = set(cell.pins) - {canonicalize_name(name) for name in spec.overridden}
        constraints.write_text(only_pins(lock, free), encoding="utf-8")
        # METADATA is read by ranges: without that feature pip downloads every wheel, and torch alone has 500 MB.
        words = ["--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header", "--no-emit-index-url"]
        words += ["--no-config", "--quiet", "--pip-args", "--use-feature=fast-deps", "--cache-dir", folder]
        words += ["--constraint", str(constraints), "--output-file", str(out), str(asked)]
        done = run([interpreter, str(_SHIM), *words], env)
        if done.returncode or not out.is_file():
            said = [line for line in done.stderr.splitlines() if line.strip()]
            return [Difference(package=cell.environment, what="pip-compile failed:\n    " + "\n    ".join(said[-12:]))]
        compiled = read_pinned(out.read_text(encoding="utf-8"), cell.python)
    return compare(read_pinned(lock, cell.python), compiled, spec.overridden)


def read_pinned(text: str, python: str) -> dict[str, Pinned]:
    """The pins of a requirements file that are for this Python, by normalised name."""
    pins: dict[str, Pinned] = {}
    pin: Pinned | None = None
    for line in text.splitlines():
        if found := _LINE.fullmatch(line.strip()):
            name, version, marker = found.groups()
            applies = not marker or Marker(marker).evaluate({"python_version": python})
            pin = Pinned(version, set(), set()) if applies else None
            if pin:
                pins[canonicalize_name(name)] = pin
        elif pin and (hashed := _HASH.search(line)):
            pin.hashes.add(hashed[1])
        elif pin and line.strip().startswith("#"):
            asker = line.strip().lstrip("# ").removeprefix("via").strip()
            pin.via |= {canonicalize_name(asker.partition("==")[0].partition("[")[0])} if asker else set()
    return pins


def compare(locked: Mapping[str, Pinned], compiled: Mapping[str, Pinned], overridden: set[str]) -> list[Difference]:
    """The differences between a lock and what pip-compile made of it, by package.

    pip may have more hashes: it takes those of all files of a version, the lock those that this platform installs.
    """
    freed: set[str] = {canonicalize_name(name) for name in overridden}
    found = []
    for name in sorted({*locked, *compiled}):
        ours, theirs = locked.get(name), compiled.get(name)
        if ours and theirs and ours.version == theirs.version:
            if missing := ours.hashes - theirs.hashes:
                what = f"pip does not know the file with sha256 {min(missing)}"
                found.append(Difference(package=name, what=f"{what} of {ours.version}"))
            continue
        what = f"the lock has {ours.version if ours else 'no pin'}, pip {theirs.version if theirs else 'none'}"
        found.append(Difference(package=name, what=what, why=_why(name, ours or theirs, freed)))
    return found


def _why(name: str, pin: Pinned | None, freed: set[str]) -> str:
    """What explains a difference: an override, which pip does not know, or that only what is overridden asks for it."""
    if name in freed:
        return "[overrides] replaces what packages ask of it, and pip cannot"
    if pin and pin.via and pin.via <= freed:
        return f"asked for by {', '.join(sorted(pin.via))} alone, which [overrides] replaces"
    return ""


def sync_differences(cell: Cell, interpreter: str, env: Mapping[str, str]) -> list[Difference]:
    """Whether ``pip-sync --dry-run`` would install what the lock pins and the interpreter has not already."""
    listed = run([interpreter, "-m", "pip", "list", "--format", "json"], env)
    done = run([interpreter, "-m", "piptools", "sync", "--dry-run", "--no-config", str(cell.lockfile)], env)
    if listed.returncode or done.returncode not in (0, 1) or "Traceback" in done.stderr:  # 1: there is something to do
        said = (listed.stderr if listed.returncode else done.stderr).strip().splitlines()
        return [Difference(package=cell.environment, what="pip-sync failed:\n    " + "\n    ".join(said[-12:]))]
    there: dict[str, str] = {canonicalize_name(entry["name"]): entry["version"] for entry in json.loads(listed.stdout)}
    expected = {name: version for name, version in cell.pins.items() if there.get(name) != version}
    lines = [line.strip() for line in done.stdout.partition("Would install:")[2].splitlines() if "==" in line]
    would: dict[str, str] = {
        canonicalize_name(n): version for n, _, version in (line.partition("==") for line in lines)
    }
    return [
        Difference(
            package=name, what=f"pip-sync would install {would.get(name)}, the lock asks for {expected.get(name)}"
        )
        for name in sorted({*would, *expected})
        if would.get(name) != expected.get(name)
    ]
