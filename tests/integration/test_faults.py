"""When uv, an index or the network fails: exit code 4, one clear error, locks/ as it was."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import LIB_AND_DEP, Start
from integration.locked import Locks
from support.index import LocalIndex
from support.metadata import core_metadata
from support.sandbox import Project, Result, find_uv, search_path
from support.wheels import sdist, wheel

QUICK = {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "2"}
TEXT = f"""
{LIB_AND_DEP}
[targets]
pythons = ["3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[envs.app]
requires = ["lib"]
"""
CELL = ("app", "linux-x86_64", "3.12")


@pytest.fixture
def project(start_locked: Start) -> Project:
    """Return a locked project beside its index, with empty caches."""
    return start_locked(TEXT)


@pytest.fixture
def unchanged(project: Project) -> Iterator[None]:
    before = project.snapshot(".")
    yield
    assert project.snapshot(".") == before


def lock(project: Project, *args: str, env: Mapping[str, str | None] | None = None) -> Result:
    """Lock all over again; assert that a failure is told as one, and that what is told can be acted on."""
    result = project.run("lock", "--upgrade", *args, env={**QUICK, **(env or {})})
    assert "Traceback" not in result.err
    if result.code:
        assert result.out == ""
        assert "error: " in result.err
        assert "next: " in result.err
    return result


ANSWERS: Mapping[str, tuple[dict[str, Any], str]] = {
    "500": ({"status": 500}, "500"),
    "403": ({"status": 403}, "403"),
    "a web page": ({"body": b"<!DOCTYPE html><p>Sign in", "headers": {"Content-Type": "text/plain"}}, "lib"),
    "broken JSON": (
        {"body": b'{"meta": {"api-ver', "headers": {"Content-Type": "application/vnd.pypi.simple.v1+json"}},
        "lib",
    ),
    "JSON of another kind": (
        {"body": b'["no", "page"]', "headers": {"Content-Type": "application/vnd.pypi.simple.v1+json"}},
        "lib",
    ),
    "silence": ({"close": True}, "lib"),
    "half an answer": ({"truncate": 10}, "lib"),
    "no answer in time": ({"delay": 30}, "lib"),
    "a drip": ({"drip": 8}, "lib"),
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", ANSWERS)
def test_a_page_that_is_none(project: Project, index: LocalIndex, name: str) -> None:
    fault, says = ANSWERS[name]
    index.fault("*", **fault)
    begin = time.monotonic()
    assert says in lock(project, env={"UV_HTTP_TIMEOUT": "1"}).expect(4).err
    assert time.monotonic() - begin < 40


@pytest.mark.usefixtures("unchanged")
def test_a_fault_below_the_first_page(project: Project, index: LocalIndex) -> None:
    index.fault("dep", status=500)
    assert "500" in lock(project).expect(4).err


def test_a_fault_that_passes_is_overcome(project: Project, index: LocalIndex) -> None:
    index.fault("lib", status=503, times=1)
    lock(project, env={"UV_HTTP_RETRIES": "3"}).expect(0)


@pytest.mark.usefixtures("unchanged")
def test_an_index_that_has_nothing(project: Project, index: LocalIndex) -> None:
    """404 is how an index says that it does not have a project: then the input is wrong, or the address is."""
    index.fault("*", status=404)
    result = project.run("lock", env=QUICK).expect(2)
    assert "envs/app.toml" in result.err
    assert "lib" in result.err
    assert "index" in result.err


@pytest.mark.usefixtures("unchanged")
def test_no_network(project: Project, index: LocalIndex) -> None:
    index.stop()
    result = lock(project).expect(4)
    assert "network" in result.err


@pytest.mark.usefixtures("unchanged")
def test_metadata_beside_a_wheel_whose_hash_is_wrong(project: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), core_metadata="wrong-hash")
    assert "dep-1.1" in lock(project).expect(4).err


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("name", "version"), [("other", "1.1"), ("dep", "1.2")])
def test_metadata_of_another_package_or_version(project: Project, index: LocalIndex, name: str, version: str) -> None:
    index.add(replace(wheel("dep", "1.1"), metadata=core_metadata(name, version)), core_metadata=True)
    result = lock(project).expect(4)
    assert "dep" in result.err
    assert (name if name == "other" else version) in result.err


@pytest.mark.usefixtures("unchanged")
def test_a_wheel_whose_bytes_are_not_what_the_index_promised(project: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), sha256="0" * 64)
    assert "dep-1.1" in lock(project).expect(4).err


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("corrupt", ["not-a-zip", "truncated", "crc"])
def test_a_wheel_that_is_broken(project: Project, index: LocalIndex, corrupt: Any) -> None:
    index.add(wheel("dep", "1.1", corrupt=corrupt))
    assert "dep" in lock(project).expect(4).err


def test_an_sdist_whose_bytes_are_not_what_the_index_promised(project: Project, index: LocalIndex) -> None:
    text = 'requires = ["source"]\n[sdists]\nsource = "why not"\n'
    (project.folder / "envs/new.toml").write_text(text, encoding="utf-8")
    index.add(sdist("source", "1.0"), sha256="0" * 64)
    before = project.snapshot(".")
    assert "source" in lock(project).expect(4).err
    assert project.snapshot(".") == before


@pytest.mark.parametrize("ranges", [True, False])
def test_a_large_wheel_without_metadata_beside_it(project: Project, index: LocalIndex, ranges: bool) -> None:
    index.ranges = ranges
    files: dict[str, str | bytes] = {"dep.py": "", "big.bin": bytes(range(256)) * 800}
    index.add(wheel("dep", "1.1", files=files, compressed=True), size=200_000)
    index.add(wheel("dep", "1.2", files=files))
    lock(project).expect(0)
    assert Locks(project).versions(*CELL) == {"lib": "1.0", "dep": "1.2"}


def test_an_index_without_dates_has_nothing_to_lock(project: Project, index: LocalIndex) -> None:
    """Nothing can be held to a cut-off there, and that is what is said."""
    shutil.rmtree(project.folder / "locks")
    index.html_only = True
    assert "upload time" in lock(project).expect(3).err


@pytest.mark.usefixtures("unchanged")
def test_a_lock_that_holds_passes_on_an_index_without_dates(project: Project, index: LocalIndex) -> None:
    index.html_only = True
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True)
    assert "nothing changed" in project.run("lock", env=QUICK).expect(0).out


# -- uv ----------------------------------------------------------------------------------------------


def fake_uv(folder: Path, script: str) -> dict[str, str | None]:
    """Write a program called uv and return the environment that makes lockgrid run it."""
    path = folder / "fake" / "uv"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport os, sys\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"LOCKGRID_UV": str(path)}


@pytest.mark.usefixtures("unchanged")
def test_no_uv_where_it_is_said_to_be(project: Project) -> None:
    result = lock(project, env={"LOCKGRID_UV": "/nonexistent/uv"}).expect(4)
    assert "/nonexistent/uv" in result.err


@pytest.mark.usefixtures("unchanged")
def test_no_uv_anywhere(project: Project, tmp_path: Path) -> None:
    """The one beside the interpreter is found too, so this runs where there is none: in a bare copy of its folder."""
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", bare)
    (bare / "bin/python").symlink_to(Path(sys.executable).resolve())
    (bare / "lib").symlink_to(Path(sys.prefix) / "lib")
    path = ":".join(f for f in search_path().split(":") if not (Path(f) / "uv").exists())
    result = subprocess.run(
        [bare / "bin/python", "-m", "lockgrid", "lock"],
        cwd=project.folder,
        env=project.environment({"PATH": path}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 4, result.stderr
    assert "uv was not found" in result.stderr
    assert "next: install" in result.stderr


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("print('uv 0.4.0')", "0.4.0"),
        ("print('Segmentation fault')", "version"),
        ("sys.exit(3)", "version"),
    ],
    ids=["too old", "nonsense", "failing"],
)
def test_a_uv_that_will_not_do(project: Project, tmp_path: Path, script: str, says: str) -> None:
    assert says in lock(project, env=fake_uv(tmp_path, script)).expect(4).err


@pytest.mark.usefixtures("unchanged")
def test_a_uv_that_crashes_while_it_locks(project: Project, tmp_path: Path) -> None:
    script = (
        f"if 'lock' in sys.argv: sys.exit('thread main panicked')\nos.execv({str(find_uv())!r}, ['uv', *sys.argv[1:]])"
    )
    result = lock(project, env=fake_uv(tmp_path, script)).expect(4)
    assert "panicked" in result.err
