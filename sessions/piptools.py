"""pip and pip-tools as the sessions run them: from ``locks/dev``, on uv's index, without settings of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from sessions.cell import Cell, Grid
from sessions.failure import Failure
from sessions.machine import ROOT, RUNNING, UV, clean_env, probe, say, sync_command
from sessions.uvsettings import uv_env

#: The environment whose lockfile has pip, pip-tools and pypiserver.
TOOLS = "dev"
_SECONDS = 1800


def tools_python(grid: Grid, python: str) -> str:
    """An interpreter of this version that has pip-tools; nothing, and that is said, where there is none."""
    if grid.cells(TOOLS).get(python, {}).get("status") != "proven":
        say(f"Python {python}: {TOOLS}, which has pip-tools, is not locked for it: its cells are not judged")
        return ""
    if not probe(python):
        say(f"Python {python}: no such interpreter is here: its cells are not judged")
        return ""
    cell = grid.choose(TOOLS, python, RUNNING, probe)
    folder = ROOT / ".nox" / f"crosscheck-{python}"
    binary = python_of(folder)
    stamp = folder / "lockgrid-lock.json"
    wanted = json.dumps([cell.interpreter, *cell.digests])
    if not (binary.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted):
        say(f"building .nox/{folder.name} from {cell.lock}")
        shutil.rmtree(folder, ignore_errors=True)
        with uv_env() as env:
            make = [*UV, "venv", "--quiet", "--no-project", "--python", cell.interpreter, str(folder)]
            for command in (make, sync_command(str(binary), cell.lockfile, cell.build)):
                done = run(command, env)
                if done.returncode:
                    raise Failure("install", f"{cell.lock} cannot be installed: {done.stderr.strip()}")
        stamp.write_text(wanted, encoding="utf-8")
    return str(binary)


def python_of(venv: Path) -> Path:
    """The interpreter of a venv."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(command: Sequence[str], env: Mapping[str, str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder and keep what it says. Raises ``Failure`` where it does not start, or never ends."""
    try:
        return subprocess.run(
            command,
            env=env,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure("tools", f"{Path(command[0]).name} failed: {error}") from error


def pip_env(cell: Cell) -> dict[str, str]:
    """The environment for pip: uv's index, the hashed build requirements, and nothing of pip's own settings."""
    urls = _urls()
    reserved = set(cell.sources.values())
    for name in sorted(reserved):
        urls += [url for url in _urls(name, reserved) if url not in urls]
    env = pip_settings(cell, urls[0])
    if len(urls) > 1:
        env["PIP_EXTRA_INDEX_URL"] = " ".join(urls[1:])
    if hosts := os.environ.get("UV_INSECURE_HOST"):
        env["PIP_TRUSTED_HOST"] = hosts
    return env


def pip_settings(cell: Cell, url: str) -> dict[str, str]:
    """The environment for pip with this index alone."""
    env = {key: value for key, value in clean_env().items() if not key.startswith("UV_")}
    env |= {"PIP_INDEX_URL": url, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    if " " not in str(cell.build):  # pip takes such a variable for a list; without it any release may build a sdist
        env["PIP_BUILD_CONSTRAINT"] = str(cell.build)
    return env


def _urls(index: str = "", reserved: set[str] | frozenset[str] = frozenset()) -> list[str]:
    """The indexes that uv would ask, the default first, with their credentials: uv says it itself."""
    with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder, uv_env(index, reserved) as env:
        nothing = Path(folder) / "none.in"
        nothing.write_text("", encoding="utf-8")
        words = ["pip", "compile", str(nothing), "--emit-index-url", "--offline", "--no-header"]
        done = run([*UV, *words], env)
        named = _named(env)
    default = re.findall(r"^--index-url (\S+)$", done.stdout, re.MULTILINE)
    if not default:
        raise Failure("tools", f"uv does not say which index it uses: {done.stderr.strip()}")
    found = [*default, *re.findall(r"^--extra-index-url (\S+)$", done.stdout, re.MULTILINE)]
    return [_with_login(url, named.get(url.rstrip("/"), ""), env) for url in found]


def _named(env: Mapping[str, str]) -> dict[str, str]:
    """The names of the indexes that uv is told of in such an environment, by URL."""
    words = f"{env.get('UV_INDEX', '')} {env.get('UV_DEFAULT_INDEX', '')}".split()
    pairs = [(url, name) for name, _, url in (word.partition("=") for word in words) if "/" not in name]
    table = tomllib.loads(Path(env["UV_CONFIG_FILE"]).read_text(encoding="utf-8"))
    pairs += [(entry["url"], entry["name"]) for entry in table.get("index", ()) if "name" in entry]
    return {url.rstrip("/"): name for url, name in reversed(pairs)}


def _with_login(url: str, name: str, env: Mapping[str, str]) -> str:
    """The URL with user and password of the index's variables: uv says only those that stand in the URL itself."""
    key = "".join(c.upper() if c.isalnum() else "_" for c in name)
    parts = urlsplit(url)
    login = [quote(env.get(f"UV_INDEX_{key}_{what}", ""), safe="") for what in ("USERNAME", "PASSWORD")]
    if not name or not any(login):
        return url
    return urlunsplit(parts._replace(netloc=f"{':'.join(login)}@{parts.netloc.rpartition('@')[2]}"))
