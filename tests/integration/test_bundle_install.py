"""A bundle installs what the lock pins from its own files alone; or it says what is wrong and installs nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration import bundles
from integration.bundles import assert_complete, content, install, make, without_python
from integration.installers import installed
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = bundles.CONTENT
BUILT = {"wheels/old-1.0-py3-none-any.whl", "wheels/tree-1.0-py3-none-any.whl"}
LEFT = {"sdists/old-1.0.tar.gz", "sdists/tree-1.0.tar.gz", "build.txt"}

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(sys.platform == "win32", reason="the script for POSIX is tried here"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="the cell of this Python is unsupported"),
]


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    bundles.serve(served)
    return served


@pytest.fixture(scope="module")
def made(locked: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return bundles of the host's cells: `app`, `source` with what was built, `left` with the sdists."""
    root = tmp_path_factory.mktemp("made")
    make(locked, root / "app").expect(0)
    make(locked, root / "source", "source").expect(0)
    make(locked, root / "left", "source", env=without_python(root / "bare")).expect(0)
    return root


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    """Return a copy of `app`, to break."""
    return Path(shutil.copytree(made / "app", tmp_path / "bundle"))


def cut_off() -> Iterator[bool]:
    yield False
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0:
        yield True


def test_sdists_are_built_where_the_host_can_and_left_where_not(made: Path) -> None:
    for name, there, absent in [("source", BUILT, LEFT), ("left", LEFT, BUILT)]:
        assert_complete(made / name)
        files = content(made / name)
        assert there <= set(files)
        assert not absent & set(files)
        requirements = files["requirements.txt"].decode()
        assert re.findall(r"^--no-binary (\S+)$", requirements, re.MULTILINE) == (
            ["old", "tree"] if name == "left" else []
        )
    files = content(made / "left")
    build = files["build.txt"].decode()
    assert set(re.findall(r"^(\S+)==", build, re.MULTILINE)) == {"builder", "below", "setuptools"}
    assert {"wheels/builder-1.0-py3-none-any.whl", "wheels/setuptools-80.0.0-py3-none-any.whl"} <= set(files)
    assert "wheels/builder-1.0-py3-none-any.whl" not in content(made / "source")


def test_a_bundle_for_another_machine_holds_the_sdists(locked: Project, tmp_path: Path) -> None:
    other = "windows-x86_64" if HERE != "windows-x86_64" else "linux-x86_64"
    told = make(locked, tmp_path / "b", "source", "--json", platform=other).expect(0).json()
    assert told["to_build"] == ["sdists/old-1.0.tar.gz", "sdists/tree-1.0.tar.gz"]
    assert told["built"] == []
    assert set(content(tmp_path / "b")) >= LEFT


def test_sdists_that_were_left_are_built_by_a_run_that_can(made: Path, locked: Project, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made / "left", tmp_path / "b"))
    make(locked, folder, "source").expect(0)
    assert content(folder) == content(made / "source")


@pytest.mark.parametrize("tool", ["uv", "pip"])
@pytest.mark.parametrize("name", ["app", "source", "left"])
def test_it_installs_exactly_the_pins_without_a_network(
    made: Path, locked: Project, tmp_path: Path, name: str, tool: str
) -> None:
    environment = "app" if name == "app" else "source"
    pins = Locks(locked).versions(environment, HERE, PYTHON)
    for number, alone in enumerate(cut_off()):
        venv = tmp_path / f"a folder {number}"
        done = install(locked, made / name, venv, tool=tool, cut_off=alone)
        assert done.returncode == 0, done.stderr
        assert f"installed {len(pins)} packages into {venv}" in done.stdout
        assert installed(python_of(venv)) == pins


def test_a_network_namespace_was_tried() -> None:
    if True not in list(cut_off()):
        pytest.skip("this machine allows no network namespaces: indexes at a closed port stood in")


def test_the_venv_is_in_the_working_folder_by_default(made: Path, locked: Project, tmp_path: Path) -> None:
    done = install(locked, made / "app", None, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert installed(python_of(tmp_path / "app-venv"))


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_a_venv_is_taken_and_every_file_installed_anew(made: Path, locked: Project, tmp_path: Path, tool: str) -> None:
    """What is there is not trusted: it may be of other bytes."""
    venv = tmp_path / "venv"
    assert install(locked, made / "app", venv, tool=tool).returncode == 0
    (module,) = venv.rglob("plain.py")
    good = module.read_bytes()
    module.unlink()  # it may be a link into uv's cache
    module.write_bytes(b"evil")
    done = install(locked, made / "app", venv, tool=tool)
    assert done.returncode == 0, done.stderr
    assert module.read_bytes() == good


def test_what_else_a_taken_venv_holds_is_said(made: Path, locked: Project, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    assert install(locked, made / "source", venv).returncode == 0
    done = install(locked, made / "app", venv)
    assert done.returncode == 0, done.stderr
    assert "and not of this bundle: below, old, tree" in done.stdout


@pytest.mark.parametrize("tool", ["uv", "pip"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("wheels/plain-1.0+cpu-py3-none-any.whl", "wheels/plain-1.0+cpu-py3-none-any.whl is not the file"),
        ("requirements.txt", "requirements.txt is not the file"),
        ("bundle.json", "bundle.json is not the file"),
        ("wheels/more-1.0-py3-none-any.whl", "wheels/more-1.0-py3-none-any.whl is not of this bundle"),
        ("-wheels/plain-1.0+cpu-py3-none-any.whl", "wheels/plain-1.0+cpu-py3-none-any.whl is missing"),
        ("-SHA256SUMS", "not complete"),
    ],
)
def test_a_damaged_bundle_is_refused_before_anything_is_made(
    bundle: Path, locked: Project, tmp_path: Path, path: str, said: str, tool: str
) -> None:
    if path.startswith("-"):
        (bundle / path[1:]).unlink()
    elif (bundle / path).exists():
        (bundle / path).write_bytes((bundle / path).read_bytes() + b"\n")
    else:
        (bundle / path).write_bytes(wheel("more", "1.0").data)
    done = install(locked, bundle, tmp_path / "venv", tool=tool)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_a_wheel_that_was_replaced_together_with_its_sum_is_refused_by_the_installer(
    bundle: Path, locked: Project, tmp_path: Path, tool: str
) -> None:
    path = "wheels/plain-1.0+cpu-py3-none-any.whl"
    evil = wheel("plain", "1.0+cpu", files={"plain.py": "evil"})
    old = re.findall(rf"^(\w+)  {re.escape(path)}$", (bundle / "SHA256SUMS").read_text(), re.MULTILINE)
    (bundle / path).write_bytes(evil.data)
    (bundle / "SHA256SUMS").write_text((bundle / "SHA256SUMS").read_text().replace(old[0], evil.sha256))
    done = install(locked, bundle, tmp_path / "venv", tool=tool)
    assert done.returncode == 1
    assert "hash" in done.stderr.lower()
    assert "plain" not in installed(python_of(tmp_path / "venv"))
    assert "installed" not in done.stdout.replace("Successfully installed", "")


def test_the_wrong_machine_python_or_folder_is_told(made: Path, bundle: Path, locked: Project, tmp_path: Path) -> None:
    other = "macos-arm64" if HERE != "macos-arm64" else "linux-x86_64"
    make(locked, tmp_path / "other", platform=other).expect(0)
    done = install(locked, tmp_path / "other", tmp_path / "venv")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"this bundle is for {other}, CPython {PYTHON}, and this machine is" in done.stderr
    old = "3.10" if PYTHON != "3.10" else "3.11"
    make(locked, tmp_path / "old", python=old).expect(0)
    done = install(locked, tmp_path / "old", tmp_path / "venv")
    assert done.returncode == 1
    assert f"PYTHON names {sys.executable}, which is no Python {old} that runs" in done.stderr
    done = install(locked, tmp_path / "old", tmp_path / "venv", tool="pip", env={"PYTHON": ""})
    assert done.returncode == 1
    assert f"no Python {old} was found" in done.stderr
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "mine").write_text("x")
    done = install(locked, made / "app", tmp_path / "venv")
    assert done.returncode == 1
    assert "is no venv: name another folder" in done.stderr
    assert content(tmp_path / "venv") == {"mine": b"x"}


@pytest.mark.skipif(not HERE.startswith("linux"), reason="of Linux")
def test_a_system_below_the_floor_is_told(bundle: Path, locked: Project, tmp_path: Path) -> None:
    text = (bundle / "bundle.json").read_text().replace('"2.28"', '"2.99"')
    (bundle / "bundle.json").write_text(text)
    done = install(locked, bundle, tmp_path / "venv")
    assert done.returncode == 1
    assert "with glibc 2.99 or newer, and this system has 2." in done.stderr


@pytest.mark.parametrize("words", ["--upgrade", "-x"])
def test_an_option_is_no_folder(made: Path, locked: Project, tmp_path: Path, words: str) -> None:
    done = install(locked, made / "app", Path(words), cwd=tmp_path)
    assert done.returncode == 1
    assert "usage" in done.stderr
    assert list(tmp_path.iterdir()) == []


def stand_in(locked: Project, folder: Path, line: str) -> str:
    """A PATH on which uv is a script of one line, before the real one."""
    (folder / "uv").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "uv").chmod(0o755)
    return f"{folder}:{locked.environment()['PATH']}"


@pytest.mark.parametrize(
    ("line", "name", "used"),
    [
        ("[ $1 = --version ] && echo uv 0.12.24 || exit 2", "left", False),  # it knows no hashes of build requirements
        ("[ $1 = --version ] && echo uv 0.12.24 || exit 2", "app", True),
        ("exit 127", "app", False),
        ("exit 127", "left", False),
        ("echo what", "app", False),
    ],
)
def test_a_uv_that_cannot_do_it_is_passed_over_for_pip(
    made: Path, locked: Project, tmp_path: Path, line: str, name: str, used: bool
) -> None:
    path = stand_in(locked, tmp_path, line)
    done = install(locked, made / name, tmp_path / "venv", env={"PATH": path})
    assert (done.returncode, "the installation by uv failed" in done.stderr) == (int(used), used), done.stderr
    if not used:
        assert installed(python_of(tmp_path / "venv")) == Locks(locked).versions(
            "app" if name == "app" else "source", HERE, PYTHON
        )


def test_an_installer_that_does_nothing_is_found_out(made: Path, locked: Project, tmp_path: Path) -> None:
    path = stand_in(locked, tmp_path, "echo uv 99.0.0")
    done = install(locked, made / "app", tmp_path / "venv", env={"PATH": path})
    assert done.returncode == 1
    assert "not installed, though the installer reported no error: app-kit==1.0, compiled==2.0" in done.stderr
