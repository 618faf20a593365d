"""Locks with a wheel that was built from git: uv and pip install it from a folder or an index, by its hash."""

from __future__ import annotations

import contextlib
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.installers import lockfile_of, new_venv, pip_install
from integration.machine import PYTHON, python_of
from integration.test_git import Toolchain, built, copy, pytestmark, tools
from support.gitrepo import PACKAGE, pythons, two_pythons

__all__ = ["built", "copy", "pytestmark", "tools"]  # fixtures, and the same marks


@contextlib.contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Any web server over a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def runs(venv: Path) -> str:
    """What the extension says in a venv."""
    code = "import cmsis_nn; print(*cmsis_nn.add(2, 3))"
    done = subprocess.run([python_of(venv), "-I", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


LOCKFILE = lockfile_of("app")


@pytest.mark.parametrize("number", [0, 1])
def test_uv_installs_it_from_the_folder(built: Toolchain, tmp_path: Path, number: int) -> None:
    venv = tmp_path / "venv"
    built.project.uv("venv", "--quiet", "--python", pythons()[built.two[number]], str(venv)).expect(0)
    words = ("pip", "sync", "--require-hashes", "--python", str(python_of(venv)), LOCKFILE)
    assert PACKAGE in built.project.uv(*words).expect(1).err  # no index has it
    built.project.uv(*words, "--find-links", str(built.wheels)).expect(0)
    # The path that the compiler saw is the same on every machine.
    assert runs(venv) == "5 /build/source/src/kernels.c"


def test_uv_installs_it_from_any_web_server(built: Toolchain, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    built.project.uv("venv", "--quiet", "--python", pythons()[built.two[0]], str(venv)).expect(0)
    with web_server(built.wheels) as url:
        words = ("pip", "sync", "--require-hashes", "--python", str(python_of(venv)), LOCKFILE)
        built.project.uv(*words, env={"UV_INDEX": f"built={url}"}).expect(0)
    assert runs(venv).startswith("5 ")


def test_uv_refuses_other_bytes(copy: Toolchain, tmp_path: Path) -> None:
    for path in copy.wheels.glob("*.whl"):
        path.write_bytes(path.read_bytes() + b"\0")
    venv = tmp_path / "venv"
    copy.project.uv("venv", "--quiet", "--python", pythons()[copy.two[0]], str(venv)).expect(0)
    words = ("pip", "sync", "--require-hashes", "--python", str(python_of(venv)), LOCKFILE)
    assert "ash" in copy.project.uv(*words, "--find-links", str(copy.wheels)).expect(1).err


@pytest.mark.skipif(PYTHON not in two_pythons(), reason="the Python of the tests has no headers")
def test_pip_installs_it_from_the_folder(built: Toolchain, tmp_path: Path) -> None:
    python = new_venv(built.project, tmp_path / "venv")
    words = ("--require-hashes", "-r", lockfile_of("app"), "--find-links", str(built.wheels))
    pip_install(built.project, python, *words).expect(0)
    assert runs(tmp_path / "venv").startswith("5 ")
