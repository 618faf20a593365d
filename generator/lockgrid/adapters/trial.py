"""Runs a test command and waits for it: in a folder, with its output in a file, ended with all that it started."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from lockgrid.adapters.uvrun import end
from lockgrid.errors import InputError, Problem, ToolError

# How long a command may take to end itself when it is told to.
_GRACE_SECONDS = 5.0
_OPERATORS = ("&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command came to: its exit code, and the seconds that it took. ``timed_out``: it was ended."""

    code: int
    seconds: float
    timed_out: bool = False


def read_command(text: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a command line, which is run without a shell.

    Raises ``InputError`` where it is none: empty, quotes left open, words that only a shell understands, or a program
    that is not there. One with a slash is looked for in the copy later.
    """
    try:
        words = tuple(shlex.split(text, posix=os.name != "nt"))
    except ValueError as error:
        raise _wrong(f"{text!r} is no command line: {error}", "close the quotes") from error
    if not words:
        raise _wrong("the command is empty", 'for example --test "nox -s tests"')
    shell = f"it is run without a shell: for one, write --test {shlex.quote(f'sh -c {shlex.quote(text)}')}"
    if found := next((word for word in words if word in _OPERATORS), None):
        raise _wrong(f"{found} is for a shell", shell)
    if "=" in words[0].partition("/")[0]:
        raise _wrong(f"{words[0]} is for a shell", f"write --test {shlex.quote(f'env {text}')}")
    if not {"/", os.sep} & set(words[0]) and not shutil.which(words[0], path=environ.get("PATH")):
        raise _wrong(f"there is no program {words[0]} on PATH", "name one that is")
    return words


def _wrong(what: str, hint: str) -> InputError:
    return InputError([Problem(file="command line", key="--test", what=what, hint=hint)])


def run_command(
    command: Sequence[str], folder: Path, log: Path, environ: Mapping[str, str], timeout: float | None = None
) -> Ran:
    """Run a command in a folder, for ``timeout`` seconds at most. All output goes to the file ``log``.

    Whatever ends lockgrid meanwhile (Ctrl-C, TERM) ends the command too. Raises ``ToolError`` where it does not start.
    """
    began = time.monotonic()
    with log.open("wb") as output, _terminable():
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=os.name != "nt",
            )
        except OSError as error:
            raise ToolError(
                f"the test command cannot be run: {error.strerror or error}",
                where=command[0],
                next_step="--test names a program on PATH, or a file of the project that can be executed",
            ) from error
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            if process.poll() is None:
                _end_all(process)
    return Ran(code=process.returncode, seconds=time.monotonic() - began, timed_out=timed_out)


def _end_all(process: subprocess.Popen[str]) -> None:
    """Tell a command and all that it started to end, and end what does not."""
    if os.name == "nt":
        # /T: with its children, which Windows does not group.
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)  # noqa: S607
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        with suppress(ProcessLookupError, PermissionError):  # those that outlive the command itself
            os.killpg(process.pid, signal.SIGKILL)
    end(process)


@contextmanager
def _terminable() -> Iterator[None]:
    """TERM as an exception, so that what was started is ended. Only the main thread gets signals."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
