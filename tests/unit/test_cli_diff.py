"""`lockgrid diff` and `matrix` on a git repository and on folders. The fence proves that nothing is asked."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lockgrid.core.digest import digest_environment, digest_inputs
from lockgrid.core.gridfile import PATH, parse_grid, render_grid
from lockgrid.core.spec import parse_spec
from support.repository import commit_all, git
from unit.snapshots import LINUX, Cells, cells, snapshot
from unit.test_cli import Run, process_settings

__all__ = ["process_settings"]  # a fixture

INPUT = {
    "envs/targets.toml": """\
pythons = ["3.11", "3.12"]
[platforms.linux-x86_64]
glibc = "2.28"
[platforms.macos-arm64]
macos = "15.0"
""",
    "envs/tosa.toml": 'requires = ["x"]\n',
    "envs/vgf.toml": 'requires = ["y"]\n',
    "tests/flows/test_tosa.py": "import models\n",
    "tests/flows/models.py": "",
}
OLD = cells("tosa vgf", {"x": "1", "y": "1"})
NEW = OLD | {("tosa", LINUX, "3.12"): {"x": "2", "y": "1"}}
Go = Callable[..., Run]


def write(folder: Path, pins: Cells) -> None:
    """A project in date with these pins."""
    made = snapshot(pins)
    spec = parse_spec({path: text for path, text in INPUT.items() if path.startswith("envs/")})
    grid = parse_grid(made.texts[PATH])
    grid = replace(
        grid,
        inputs=digest_inputs(spec),
        environments=tuple((e.name, digest_environment(e)) for e in spec.environments),
    )
    for path, text in {**INPUT, **made.texts, PATH: render_grid(grid)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, newline="")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose HEAD has the old locks, and whose work tree the new ones."""
    folder = tmp_path / "project"
    folder.mkdir()
    write(folder, OLD)
    commit_all(folder)
    git(folder, "tag", "v1")
    write(folder, NEW)
    return folder


@pytest.fixture
def go(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Go:
    """Run lockgrid in the project."""
    monkeypatch.setenv("LOCKGRID_CACHE_DIR", str(project.parent / "cache"))
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(project)

    def run(*words: str) -> Run:
        done = Run(capsys, monkeypatch, *words)
        assert "Traceback" not in done.err
        return done

    return run


def test_against_head_a_tag_and_a_folder(go: Go, project: Path) -> None:
    write(project.parent / "other", OLD)
    for word in ([], ["HEAD"], ["v1"], ["../other"], ["../other/locks"]):
        done = go("diff", *word)
        assert done.code == 0
        assert "x 1 -> 2 major, tosa (linux-x86_64, Python 3.12)" in done.out
        assert "licences: not known of x: lockgrid diff --licences asks the index" in done.out


def test_a_folder_without_locks_does_not_hide_a_branch(go: Go, project: Path) -> None:
    git(project, "branch", "envs")
    assert "x 1 -> 2" in go("diff", "envs").out


def test_the_own_locks_by_their_folder_are_no_difference(go: Go) -> None:
    for word in (".", "locks"):
        assert "no difference" in go("diff", word).out


def test_between_revisions(go: Go, project: Path) -> None:
    commit_all(project)
    assert "x 1 -> 2" in go("diff", "v1..HEAD").out
    assert "x 2 -> 1 major downgrade" in go("diff", "HEAD..v1").out
    assert "x 1 -> 2" in go("diff", "v1..").out
    assert "no difference" in go("diff").out
    assert go("diff", "v1...HEAD").code == 2


def test_no_difference_in_each_form(go: Go, project: Path) -> None:
    write(project, OLD)
    assert go("diff").out.endswith("no difference\n")
    assert json.loads(go("diff", "--json").out)["empty"] is True
    assert go("diff", "--format", "markdown").out.startswith("### Locks: no difference\n")


def test_json_in_either_spelling(go: Go) -> None:
    said = go("diff", "--json").out
    assert go("diff", "--format", "json").out == said
    assert json.loads(said)["old"]["name"] == "HEAD"
    assert len(json.loads(said)["old"]["commit"]) == 40


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "nothing: is no revision of this repository"),
        (["envs"], "envs: is a folder without locks/grid.toml, and no revision"),
        (["--json", "--format", "text"], "contradict each other"),
        ([""], "REV is empty"),
        (["--osv-url", "x"], "--osv-url goes with --service osv"),
        (["HEAD", "HEAD"], "unexpected extra argument"),
    ],
)
def test_wrong_words_are_wrong_input(words: list[str], said: str, go: Go) -> None:
    done = go("diff", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_where_nothing_was_locked_everything_is_new(go: Go, project: Path) -> None:
    shutil.rmtree(project / "locks")
    commit_all(project)
    write(project, NEW)
    done = go("diff")
    assert "nothing was locked before" in done.out
    assert "tosa: new in envs/" in done.out


def test_where_nothing_is_locked_there_is_nothing_to_compare(go: Go, project: Path) -> None:
    shutil.rmtree(project / "locks")
    done = go("diff")
    assert (done.code, "run `lockgrid lock`" in done.err) == (2, True)


def test_locks_that_cannot_be_read_are_named(go: Go, project: Path) -> None:
    path = project / "locks" / "tosa" / f"{LINUX}.txt"
    good = path.read_text()
    path.write_text(f"<<<<<<< ours\n{good}")
    done = go("diff")
    assert (done.code, f"locks/tosa/{LINUX}.txt: line 1" in done.err) == (2, True)
    commit_all(project)
    path.write_text(good)
    done = go("diff")
    assert (done.code, f"HEAD:locks/tosa/{LINUX}.txt: line 1" in done.err) == (2, True)
    assert go("diff", "v1").code == 0


def test_an_edited_lockfile_is_noted(go: Go, project: Path) -> None:
    path = project / "locks" / "tosa" / f"{LINUX}.txt"
    path.write_text(path.read_text().replace("x==2", "x==3"))
    done = go("diff")
    assert "x 1 -> 3" in done.out
    assert f"note: locks/tosa/{LINUX}.txt is not as it was locked" in done.err


def test_without_git_a_folder_still_serves(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project.parent / "other", OLD)
    monkeypatch.setenv("PATH", str(project))
    assert go("diff", "../other").code == 0
    done = go("diff")
    assert (done.code, "git was not found" in done.err) == (4, True)


def test_a_dead_network_breaks_nothing(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("LOCKGRID_PIP_AUDIT", "/nowhere/pip-audit")
    done = go("diff", "--licences", "--advisories")
    assert done.code == 0
    assert "x 1 -> 2" in done.out
    assert "licences: not known of x: the index could not be asked: " in done.out
    assert "advisories: not compared (LOCKGRID_PIP_AUDIT names /nowhere/pip-audit" in done.out


def test_licences_are_left_out_on_demand(go: Go) -> None:
    assert "licences: not compared (--no-licences)" in go("diff", "--no-licences").out


# -- matrix ------------------------------------------------------------------------------------------------


def included(done: Run) -> list[tuple[str, str, str]]:
    assert done.code == 0
    assert done.out.count("\n") == 1
    return [(job["environment"], job["platform"], job["python"]) for job in json.loads(done.out)["include"]]


def test_the_matrix_has_every_proven_cell(go: Go) -> None:
    assert included(go("matrix", "--json")) == sorted(NEW)
    assert included(go("matrix", "--json", "vgf")) == sorted(c for c in NEW if c[0] == "vgf")
    assert go("matrix").out.endswith("8 jobs\n")
    job = json.loads(go("matrix", "--json", "tosa").out)["include"][0]
    assert job == {
        "environment": "tosa",
        "platform": LINUX,
        "python": "3.11",
        "runner": "ubuntu-22.04",
        "lockfile": f"locks/tosa/{LINUX}.txt",
        "session": "tosa",
    }


def test_only_what_changed(go: Go, project: Path) -> None:
    assert included(go("matrix", "--json", "--changed-since", "v1")) == [("tosa", LINUX, "3.12")]
    assert included(go("matrix", "--json", "--changed-since", "v1", "vgf")) == []
    (project / "tests/flows/models.py").write_text("x = 1\n")
    assert included(go("matrix", "--json", "--changed-since", "v1")) == sorted(c for c in NEW if c[0] == "tosa")
    (project / "envs/vgf.toml").write_text('requires = ["y"]\n[smoke]\nimports = ["y"]\n')
    assert included(go("matrix", "--json", "--changed-since", "v1", "vgf")) == sorted(c for c in NEW if c[0] == "vgf")


def test_a_file_that_everything_hangs_on(go: Go, project: Path) -> None:
    words = ["matrix", "--json", "--changed-since", "v1", "--all-if", "noxfile.py", "--all-if", "sessions"]
    done = go(*words)
    assert len(included(done)) == 1
    assert "note: --all-if noxfile.py: there is no such file" in done.err
    (project / "sessions").mkdir()
    (project / "sessions" / "cell.py").write_text("")
    done = go(*words)
    assert len(included(done)) == 8
    assert "note: sessions/cell.py is not as in v1: every cell" in done.err


def test_before_the_first_commit_of_a_branch_everything_is_new(go: Go) -> None:
    assert len(included(go("matrix", "--json", "--changed-since", "0" * 40))) == 8


def test_a_revision_that_cannot_be_compared_is_everything(go: Go, project: Path) -> None:
    (project / "envs/tosa.toml").write_text("nonsense = 1\n")
    commit_all(project)
    (project / "envs/tosa.toml").write_text(INPUT["envs/tosa.toml"])
    done = go("matrix", "--json", "--changed-since", "HEAD")
    assert len(included(done)) == 8
    assert "note: HEAD cannot be compared, so every cell: envs/tosa.toml" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["toSa"], "did you mean 'tosa'?"),
        (["--changed-since", "nothing"], "is no revision"),
        (["--changed-since", ""], "names no revision"),
        (["--all-if", "x"], "goes with --changed-since"),
        (["--changed-since", "v1", "--all-if", "/etc"], "--all-if /etc: is not below the project"),
        (["--changed-since", "v1", "--all-if", "a/../.."], "is not below the project"),
    ],
)
def test_wrong_words_of_matrix_are_wrong_input(words: list[str], said: str, go: Go) -> None:
    done = go("matrix", "--json", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_locks_that_are_not_in_date_are_noted(go: Go, project: Path) -> None:
    (project / "envs/tosa.toml").write_text('requires = ["x<9"]\n')
    assert "note: the locks are not in date" in go("matrix").err


def test_too_many_jobs_are_noted(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgrid.commands.matrix.LIMIT", 7)
    assert "note: 8 jobs: GitHub refuses a matrix of more than 7" in go("matrix", "--json").err


def test_a_project_below_the_top_of_the_repository(go: Go, project: Path) -> None:
    inner = project / "inner"
    write(inner, OLD)
    commit_all(project)
    write(inner, NEW)
    assert "x 1 -> 2" in go("--project", "inner", "diff").out
    done = go("--project", "inner", "matrix", "--json", "--changed-since", "HEAD")
    assert included(done) == [("tosa", LINUX, "3.12")]
