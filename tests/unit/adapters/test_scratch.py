"""The copy of a project: what is in it, what stays, and that the project is only read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgrid.adapters.scratch import Scratch, open_scratch
from lockgrid.errors import ToolError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for path in ("envs/targets.toml", "locks/app/a.txt", "src/x.py", ".ci/run", ".venv/big", "venv/pyvenv.cfg"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    (folder / ".ci/run").chmod(0o755)
    return folder


@pytest.fixture
def scratch(project: Path, tmp_path: Path) -> Iterator[Scratch]:
    with open_scratch(project, tmp_path / "cache", os.environ) as opened:
        yield opened


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def commit(project: Path, ignored: str) -> None:
    (project / ".gitignore").write_text(ignored)
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, env=environ)
    subprocess.run(["git", "add", "."], cwd=project, check=True, env=environ)


def test_without_git_folders_with_a_dot_and_venvs_are_left_out(scratch: Scratch) -> None:
    scratch.prepare({})
    assert names(scratch.folder) == {"envs/targets.toml", "locks/app/a.txt", "src/x.py"}


def test_with_git_it_is_what_git_knows_or_would_add(project: Path, tmp_path: Path) -> None:
    commit(project, "venv/\n.venv/\n*.log\n")
    (project / "new.py").write_text("new")
    (project / "a.log").write_text("no")
    (project / "src/x.py").unlink()  # known, and gone
    with open_scratch(project, tmp_path / "cache", os.environ) as scratch:
        scratch.prepare({})
    assert names(scratch.folder) == {".ci/run", ".gitignore", "envs/targets.toml", "locks/app/a.txt", "new.py"}
    assert os.access(scratch.folder / ".ci/run", os.X_OK)


@pytest.mark.skipif(os.name == "nt", reason="a script as the program")
def test_nothing_that_the_repository_names_is_run_and_git_is_the_one_that_was_chosen(
    project: Path, tmp_path: Path
) -> None:
    commit(project, "*.log\n")
    spy, git = tmp_path / "spy", tmp_path / "git"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/spied\n")
    git.write_text(f'#!/bin/sh\ntouch {tmp_path}/asked\nexec git "$@"\n')
    for script in (spy, git):
        script.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(spy)], cwd=project, check=True)
    with open_scratch(project, tmp_path / "cache", {**os.environ, "LOCKGRID_GIT": str(git)}) as scratch:
        scratch.prepare({})
    assert ".ci/run" in names(scratch.folder)
    assert ((tmp_path / "asked").exists(), (tmp_path / "spied").exists()) == (True, False)


def test_the_candidate_stands_in_place_of_the_projects_files(scratch: Scratch) -> None:
    scratch.prepare({"locks/app/a.txt": "other\n", "locks/b.txt": "b"}, ("src/x.py",))
    assert names(scratch.folder) == {"envs/targets.toml", "locks/app/a.txt", "locks/b.txt"}
    assert (scratch.folder / "locks/app/a.txt").read_bytes() == b"other\n"
    scratch.prepare({})
    assert names(scratch.folder) == {"envs/targets.toml", "locks/app/a.txt", "src/x.py"}
    assert (scratch.folder / "locks/app/a.txt").read_text() == "locks/app/a.txt"


def test_what_a_test_left_goes_but_for_venvs_and_folders_with_a_dot(scratch: Scratch) -> None:
    scratch.prepare({})
    for path in (".nox/tosa/x", "env2/pyvenv.cfg", "env2/lib/x", "out/deep/er.txt", "left.txt"):
        (scratch.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch.folder / path).write_text("left")
    (scratch.folder / "src/x.py").write_text("changed")
    scratch.prepare({})
    kept = {".nox/tosa/x", "env2/pyvenv.cfg", "env2/lib/x"}
    assert names(scratch.folder) == {"envs/targets.toml", "locks/app/a.txt", "src/x.py", *kept}
    assert (scratch.folder / "src/x.py").read_text() == "src/x.py"
    assert not (scratch.folder / "out").exists()


def test_a_tracked_file_in_a_folder_with_a_dot_goes_when_it_is_gone(project: Path, tmp_path: Path) -> None:
    commit(project, "venv/\n.venv/\n")
    with open_scratch(project, tmp_path / "cache", os.environ) as scratch:
        scratch.prepare({})
        (scratch.folder / ".ci/cache").write_text("left")
    (project / ".ci/run").unlink()
    with open_scratch(project, tmp_path / "cache", os.environ) as scratch:
        scratch.prepare({})
        assert {name for name in names(scratch.folder) if name.startswith(".ci")} == {".ci/cache"}


def test_a_file_that_is_the_same_is_not_written_again(scratch: Scratch) -> None:
    scratch.prepare({"new.txt": "x"})
    before = [(scratch.folder / path).stat().st_ino for path in ("new.txt", "src/x.py")]
    scratch.prepare({"new.txt": "x"})
    assert [(scratch.folder / path).stat().st_ino for path in ("new.txt", "src/x.py")] == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_lead_to_where_they_led(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("outside")
    (project / "inner").symlink_to("src/x.py")
    (project / "outer").symlink_to("../outside")
    (project / "folder").symlink_to("src")
    with open_scratch(project, tmp_path / "cache", os.environ) as scratch:
        for _ in range(2):
            scratch.prepare({})
            assert (scratch.folder / "inner").readlink() == Path("src/x.py")
            assert (scratch.folder / "outer").read_text() == "outside"
            assert (scratch.folder / "folder").is_symlink()
        (scratch.folder / "inner").write_text("changed")
        scratch.prepare({})
        assert (scratch.folder / "src/x.py").read_text() == "src/x.py"
    assert (project / "src/x.py").read_text() == "src/x.py"


def test_the_digest_tells_what_matters(scratch: Scratch) -> None:
    def essence(path: str, data: bytes) -> bytes | None:
        return None if path == "locks/grid.toml" else data

    def digest(texts: dict[str, str], *removed: str) -> str:
        scratch.prepare(texts, removed)
        return scratch.digest(essence)

    plain = digest({})
    assert digest({"locks/grid.toml": "any"}) == plain
    changed = [digest({"src/x.py": "y"}), digest({"src/y.py": "src/x.py"}), digest({}, "src/x.py"), digest({"a": ""})]
    (scratch.project / "src/x.py").chmod(0o755)
    changed.append(digest({}))
    assert len({plain, *changed}) == 6


def test_a_second_run_is_refused(scratch: Scratch, project: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match="another lockgrid tests this project"),
        open_scratch(project, tmp_path / "cache", os.environ),
    ):
        pass


def test_the_oldest_logs_go(scratch: Scratch) -> None:
    for number in range(60):
        scratch.new_log(f"{number:03}").write_text("x")
    assert len(list(scratch.logs.iterdir())) == 50
    assert scratch.new_log("100").parent == scratch.logs


def test_result_files_are_found_wherever_they_are_put(scratch: Scratch) -> None:
    folder = scratch.empty_results()
    (folder / "sub").mkdir()
    for name in ("a.json", "sub/b.XML", "c.txt"):
        (folder / name).write_bytes(b"\xff")
    assert set(scratch.result_files()) == {"a.json", "sub/b.XML"}
    scratch.empty_results()
    assert not scratch.result_files()
