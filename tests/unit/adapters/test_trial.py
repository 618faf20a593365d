"""A test command: its words, its end, and that it takes all that it started with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockgrid.adapters.trial import read_command, run_command
from lockgrid.errors import InputError, ToolError

posix = pytest.mark.skipif(os.name == "nt", reason="signals and ps")


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_the_words_are_those_of_a_shell() -> None:
    environ = {"PATH": str(Path(sys.executable).parent)}
    name = Path(sys.executable).name
    assert read_command(f"{name} -k 'a and b' --x=1", environ) == (name, "-k", "a and b", "--x=1")
    assert read_command("./not-yet-there -s", environ) == ("./not-yet-there", "-s")


@pytest.mark.parametrize("text", ["", "a 'b", "true && true", "true | cat", "A=1 true", "no-such-program-here"])
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--test"):
        read_command(text, os.environ)


def test_the_exit_code_and_all_of_the_output(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['A']); sys.stderr.write('oh'); sys.exit(3)"
    ran = run_command(python(code), tmp_path, tmp_path / "log", {**os.environ, "A": "b"})
    assert (ran.code, ran.timed_out) == (3, False)
    said = (tmp_path / "log").read_text()
    assert f"{tmp_path} b" in said
    assert "oh" in said


def test_a_command_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run"):
        run_command(("./nothing",), tmp_path, tmp_path / "log", os.environ)


@posix
def test_a_timeout_ends_what_the_command_started_and_what_does_not_listen(tmp_path: Path) -> None:
    deaf = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True)"
    child = f"{deaf}; time.sleep(600)"
    code = f"{deaf}; import subprocess; subprocess.run([sys.executable, '-c', {child!r}])"
    ran = run_command(python(code), tmp_path, tmp_path / "log", os.environ, 3)
    assert ran.timed_out
    pids = (tmp_path / "log").read_text().split()
    assert len(pids) == 2
    for pid in pids:
        _assert_gone(int(pid))


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whatever_ends_lockgrid_ends_the_command(tmp_path: Path, number: signal.Signals) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    script = (
        "import os, sys; from pathlib import Path; from lockgrid.adapters.trial import run_command;"
        f"run_command((sys.executable, '-c', {code!r}), Path('.'), Path('log'), os.environ)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.DEVNULL)
    log = tmp_path / "log"
    deadline = time.monotonic() + 60
    while not (log.exists() and log.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=60) != 0
    _assert_gone(int(log.read_text()))


def _assert_gone(pid: int) -> None:
    """Ended, or about to be reaped by whoever inherits it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
        if not state.strip() or state.startswith("Z"):
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} is still there")
