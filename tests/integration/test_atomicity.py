"""All or nothing: whatever stops a lock, locks/ is as it was; two at once do not get in each other's way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from integration.conftest import LIB_AND_DEP, MakeProject, Start
from integration.locked import Locks, assert_sound
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, find_uv
from support.wheels import wheel

TEXT = f"""
{LIB_AND_DEP}
python_wheels = "3.10-3.14"
[envs.app]
requires = ["lib"]
[envs.other]
requires = ["dep"]
"""
CONTENT = scenario.parse(TEXT, name="atomicity")
CELL = ("app", "linux-x86_64", "3.12")
Popen = Callable[..., subprocess.Popen[str]]
posix = pytest.mark.skipif(os.name == "nt", reason="needs signals and mounts")


@pytest.fixture
def project(start_locked: Start, index: LocalIndex) -> Project:
    """Return a locked project whose next upgrade would change every lockfile."""
    project = start_locked(TEXT)
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True)
    index.add(wheel("dep", "1.1"), core_metadata=True)
    return project


@pytest.fixture
def popen() -> Iterator[Popen]:
    """Return a function that starts an upgrade and does not wait; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(
        project: Project, env: Mapping[str, str] | None = None, words: tuple[str, ...] = ("lock", "--upgrade")
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lockgrid", *words],
            cwd=project.folder,
            env=project.environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


# -- interrupts --------------------------------------------------------------------------------------


def processes_of(store: Path) -> list[str]:
    """Return the command lines of processes that have a project's cache folder in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(store).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to that in 30 s")


def interrupt(project: Project, running: subprocess.Popen[str]) -> None:
    """Press Ctrl-C; assert that it ends at once, says so and leaves nothing behind, no process either."""
    before = project.snapshot(".")
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""
    assert project.snapshot(".") == before
    assert processes_of(project.store) == []


@posix
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("pattern", ["/simple/*", "*.metadata"])
@pytest.mark.parametrize("words", [("lock", "--upgrade"), ("refresh",)], ids=["lock", "refresh"])
def test_an_interrupt_while_the_index_is_slow(
    project: Project, index: LocalIndex, popen: Popen, pattern: str, words: tuple[str, ...]
) -> None:
    fault = index.fault(pattern, delay=30)
    running = popen(project, words=words)
    wait_for(lambda: fault.hits)
    time.sleep(0.2)
    interrupt(project, running)
    index.clear_faults()
    project.run(*words).expect(0)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.1"}


@posix
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_an_interrupt_while_uv_works(project: Project, popen: Popen, tmp_path: Path) -> None:
    """uv and what it has started, which stands here for the build of an sdist, end too."""
    fake, mark = tmp_path / "uv", tmp_path / "locking"
    fake.write_text(f"#!/bin/sh\ncase $1 in lock) touch '{mark}'; sleep 60; exit 1;; esac\nexec '{find_uv()}' \"$@\"\n")
    fake.chmod(0o755)
    running = popen(project, {"LOCKGRID_UV": str(fake)})
    wait_for(mark.exists)
    wait_for(lambda: any(line.startswith("sleep") for line in processes_of(project.store)))
    interrupt(project, running)


@posix
def test_a_run_that_was_killed_does_not_stop_the_next(project: Project, index: LocalIndex, popen: Popen) -> None:
    before = project.snapshot(".")
    fault = index.fault("/simple/*", delay=30)
    running = popen(project)
    wait_for(lambda: fault.hits)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=20)
    assert project.snapshot(".") == before
    index.clear_faults()
    project.run("lock", "--upgrade").expect(0)


# -- two at once -------------------------------------------------------------------------------------


def test_two_runs_at_once_both_end_well(project: Project, index: LocalIndex, popen: Popen) -> None:
    index.fault("/simple/*", delay=0.2)
    runs = [popen(project), popen(project)]
    ended = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ended
    assert any("another lockgrid" in err for _, err in ended)
    assert_sound(project, [*CONTENT.builts, wheel("lib", "1.1", requires=["dep"]), wheel("dep", "1.1")])
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.1"}
    project.run("check").expect(0)


def test_two_projects_do_not_wait_for_each_other(
    project: Project, index: LocalIndex, make_project: MakeProject, popen: Popen
) -> None:
    other = make_project(CONTENT, index)
    other.store = project.store
    fault = index.fault("/simple/lib/", delay=2, times=1)
    slow = popen(project)
    wait_for(lambda: fault.hits)
    result = other.run("lock").expect(0)
    assert "another lockgrid" not in result.err
    slow.communicate(timeout=60)
    assert slow.returncode == 0


# -- what cannot be written --------------------------------------------------------------------------


@pytest.fixture
def mount() -> Iterator[object]:
    """Return a function that mounts a small tmpfs on a folder, holding what the folder held."""
    mounted: list[Path] = []

    def do(folder: Path, size: str, *, read_only: bool = False) -> None:
        kept = folder.parent / f"{folder.name}-kept"
        shutil.copytree(folder, kept)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this machine lets no test mount a tmpfs")
        mounted.append(folder)
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)

    yield do
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


def fail_to_write(project: Project) -> str:
    """Upgrade; assert that it fails as a whole and says why. Return what it said."""
    before = project.snapshot(".")
    result = project.run("lock", "--upgrade").expect(4)
    assert project.snapshot(".") == before
    assert "Traceback" not in result.err
    assert "error: " in result.err
    assert "next: " in result.err
    assert not [path for path in project.folder.rglob("*") if path.name.endswith((".new", ".tmp"))]
    return result.err


@posix
def test_a_folder_that_is_read_only(project: Project, mount: object) -> None:
    assert callable(mount)
    mount(project.folder / "locks", "1m", read_only=True)
    assert "ead-only" in fail_to_write(project)


@posix
@pytest.mark.parametrize("sub", ["locks", "locks/other"])
def test_a_full_disk(project: Project, mount: object, sub: str) -> None:
    assert callable(mount)
    folder = project.folder / sub
    mount(folder, "128k")
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    assert "space" in fail_to_write(project)


def test_a_file_where_the_folder_should_be(project: Project) -> None:
    shutil.rmtree(project.folder / "locks/app")
    (project.folder / "locks/app").write_text("mine", encoding="utf-8")
    fail_to_write(project)
    shutil.rmtree(project.folder / "locks")
    (project.folder / "locks").write_text("mine", encoding="utf-8")
    fail_to_write(project)


# -- what cannot be read -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["<<<<<<< ours\nschema = 1\n=======\n", 'schema = 1\ncells = "none"\n'])
def test_a_broken_grid_is_made_anew_and_that_is_said(project: Project, text: str) -> None:
    (project.folder / "locks/grid.toml").write_text(text, encoding="utf-8")
    result = project.run("lock").expect(0)
    assert "locks/grid.toml" in result.err
    assert Locks(project).versions(*CELL) == {"lib": "1.0", "dep": "1.0"}
    project.run("check").expect(0)


def test_a_lockfile_with_conflict_markers_is_made_anew_and_that_is_said(project: Project) -> None:
    path = project.folder / "locks/app/linux-x86_64.txt"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("lib==1.0", "<<<<<<< ours\nlib==1.0"), encoding="utf-8")
    project.run("check").expect(1)
    result = project.run("lock").expect(0)
    assert "locks/app/linux-x86_64.txt" in result.err
    assert "<<<<" not in path.read_text(encoding="utf-8")
    project.run("check").expect(0)


def test_files_that_are_no_text_are_told(project: Project) -> None:
    (project.folder / "locks/app/linux-x86_64.txt").write_bytes(b"\xff\xfe\x00")
    result = project.run("lock")
    assert result.code in (0, 2)
    assert "locks/app/linux-x86_64.txt" in result.err
    assert "Traceback" not in result.err


def test_a_cache_that_is_broken_costs_time_and_nothing_else(project: Project) -> None:
    project.run("lock").expect(0)
    before = project.snapshot(".")
    for path in project.store.glob("*.sqlite3*"):
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert "nothing changed" in project.run("lock").expect(0).out
    assert project.snapshot(".") == before
