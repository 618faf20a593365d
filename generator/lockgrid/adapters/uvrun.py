"""Starts uv and waits for it: one process, which ends with all its children when lockgrid does.

Imports little, so that uv can begin before the rest of lockgrid is loaded.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lockgrid.adapters.tools import find_tool
from lockgrid.errors import ToolError

LIMIT_SECONDS = 900.0
UV_LOCK = "uv.lock"
# uv masks a password in a URL, and shows the user.
_USERINFO = re.compile(r"(?<=://)[^/\s@]*@")
INSTALL = "install it with `pip install -U uv`"
# What would make `uv lock` only look, or look elsewhere.
_NOT_FOR_LOCK = ("UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one uv run came to: its exit code, what it printed, what it said."""

    code: int
    out: str
    said: str


def find_uv(environ: Mapping[str, str]) -> str:
    """The uv to run: ``$LOCKGRID_UV``, the one installed beside lockgrid, or the first on PATH.

    Raises ``ToolError`` when there is none.
    """
    return find_tool("uv", environ, INSTALL)


def start(command: list[str], environ: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start uv; ``finish`` has to follow. Raises ``ToolError`` where it cannot be run."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=os.name != "nt",
        )
    except OSError as error:
        raise ToolError(f"uv cannot be run: {error}", next_step=INSTALL) from error


@contextmanager
def locking(project: Path, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """``uv lock`` of the project in a folder, begun without its old ``uv.lock``, under all of the user's own settings.

    uv would keep what stands in an old one without asking the index. On any error the old one is put back, or what uv
    wrote is removed: nobody shall take an answer of uv's that was not judged for one that was.
    """
    binary = find_uv(environ)
    path = project / UV_LOCK
    try:
        old = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ToolError(f"cannot be replaced: {error.strerror or error}", where=UV_LOCK) from error
    kept = {key: value for key, value in environ.items() if key not in _NOT_FOR_LOCK}
    command = [binary, "lock", "--project", str(project), "--color", "never"]
    process = None
    try:
        process = start(command, {**kept, "UV_NO_PROGRESS": "1", "UV_NO_WRAP": "1"})
        yield process
    except BaseException:
        if process is not None:
            abandon(process)
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        raise


def finish(process: subprocess.Popen[str], verb: str, limit: float = LIMIT_SECONDS) -> Outcome:
    """Wait for uv, ``limit`` seconds at most, then end it. Raises ``ToolError`` where it takes longer."""
    try:
        out, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"uv {verb} took more than {limit:.0f} s and was ended",
            next_step="check the network; narrow the requirements",
        ) from error
    finally:
        abandon(process)
    return Outcome(process.returncode, out, scrub(said))


def scrub(said: str) -> str:
    """What a tool said, without user and password in any URL."""
    return _USERINFO.sub("", said)


def abandon(process: subprocess.Popen[str]) -> None:
    """End a process with all its children, and close its pipes; harmless when it is over."""
    end(process)
    _close_pipes(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a process with all its children; harmless when it is over."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)


def _close_pipes(process: subprocess.Popen[str]) -> None:
    """Close the pipes of a process that was ended; ``communicate`` does so only where it came to its end."""
    if os.name == "nt":  # threads read there: they close the pipes themselves, and closing would wait for them
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        return
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def failed(verb: str, outcome: Outcome) -> ToolError:
    """The error for a uv that failed, with what it said."""
    return ToolError(
        f"uv {verb} failed:\n{quoted(outcome)}",
        next_step="if an index is at fault, check the network and uv's index settings",
    )


def quoted(outcome: Outcome) -> str:
    """What uv said, indented, as far as a person reads it; not which interpreter it took."""
    lines = [line for line in outcome.said.splitlines() if not line.startswith("Using CPython")]
    return "\n".join(f"    {line}" for line in lines[:25])
