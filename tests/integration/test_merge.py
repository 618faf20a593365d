"""Two branches that both changed `locks/` are mended by `lockgrid lock` alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from integration.conftest import Start, few_targets
from integration.locked import Locks
from support.index import LocalIndex
from support.repository import git
from support.sandbox import Project, Result
from support.wheels import wheel

TEXT = f"""
[[packages]]
name = "lib"
version = "1.0"
requires = ["dep"]
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "new"
version = "1.0"
[[packages]]
name = "other"
version = "1.0"
{few_targets("3.12", "3.13")}
[envs.app]
requires = ["lib"]
[envs.tool]
requires = ["dep"]
"""
CELL = ("app", "linux-x86_64", "3.12")
README = "# Words\n\n<!-- lockgrid: the grid, written by `lockgrid lock` -->\n<!-- lockgrid: end -->\n\nMore words.\n"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def branch(project: Project, name: str, *lock: str, edit: Callable[[Project], object] | None = None) -> None:
    """A branch of the first commit with an edit, locked anew."""
    git(project.folder, "checkout", "-q", "-b", name, "start")
    if edit:
        edit(project)
    project.run("lock", *lock).expect(0)
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", name)


def write(path: str, text: str) -> Callable[[Project], object]:
    """An edit: a file with this text."""
    return lambda project: (project.folder / path).write_text(text, encoding="utf-8")


@pytest.fixture
def project(start_locked: Start, index: LocalIndex) -> Project:
    """Return a locked project under git, at the tag `start`; its index has got newer releases since."""
    project = start_locked(TEXT)
    index.add(wheel("lib", "1.1", requires=["dep"]), uploaded="2026-02-01T00:00:00Z", core_metadata=True)
    index.add(wheel("dep", "1.1"), uploaded="2026-02-01T00:00:00Z", core_metadata=True)
    index.add(wheel("dep", "1.2"), uploaded="2026-03-01T00:00:00Z", core_metadata=True)
    write("README.md", README)(project)
    project.run("lock").expect(0)
    git(project.folder, "init", "-q", "-b", "main")
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", "start")
    git(project.folder, "tag", "start")
    return project


def mend(project: Project) -> Result:
    """Lock, and assert that nothing of the conflict is left."""
    result = project.run("lock").expect(0)
    for path, content in project.snapshot(".").items():
        assert path.startswith(".git/") or not re.search(rb"^(<{7}|={7}|>{7})", content, re.MULTILINE), path
    project.run("check").expect(0)
    return result


def merge(project: Project, ours: str, theirs: str, *more: str) -> str:
    """Merge with a conflict, and return what git says."""
    git(project.folder, "checkout", "-q", ours)
    said = git(project.folder, *more, "merge", theirs, check=False)
    assert "CONFLICT" in said
    return said


def test_a_pin_that_one_side_moved_is_taken_from_that_side(project: Project) -> None:
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b")
    result = mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.2"}
    assert "dep: 1.2 of theirs, which moved it, and not 1.0 of ours" in result.err
    assert "lib: 1.1 of ours, which moved it, and not 1.0 of theirs" in result.err
    assert "git add" in result.err
    assert "locks/grid.toml" in result.err
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", "merge")


def test_of_a_pin_that_both_moved_the_newer_is_taken(project: Project) -> None:
    branch(project, "a", "-P", "dep", "--as-of", "2026-02-15")
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b")
    assert "dep: 1.2 of theirs, the newer, and not 1.1 of ours" in mend(project).err
    assert Locks(project).versions(*CELL) == {"lib": "1.0", "dep": "1.2"}


def test_a_downgrade_that_one_side_meant_stands(project: Project) -> None:
    branch(project, "up", "-P", "dep")
    git(project.folder, "tag", "-f", "start", "up")
    branch(project, "a", edit=write("envs/tool.toml", 'requires = ["dep<1.2"]\n'))
    branch(project, "b", "-P", "lib")
    merge(project, "a", "b")
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.1"}


def test_pins_that_both_sides_have_stay_though_there_are_newer_ones(project: Project) -> None:
    branch(project, "a", edit=write("envs/app.toml", 'requires = ["lib", "new"]\n'))
    branch(project, "b", edit=write("envs/tool.toml", 'requires = ["dep", "other"]\n'))
    merge(project, "a", "b")
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.0", "dep": "1.0", "new": "1.0"}
    assert Locks(project).versions("tool", *CELL[1:]) == {"dep": "1.0", "other": "1.0"}


def test_both_ways_round_come_to_the_same_bytes(project: Project) -> None:
    branch(project, "a", "-P", "lib", edit=write("envs/three.toml", 'requires = ["new"]\n'))
    branch(project, "b", "-P", "dep", edit=write("envs/four.toml", 'requires = ["other"]\n'))
    merge(project, "a", "b")
    mend(project)
    first = project.snapshot()
    git(project.folder, "reset", "-q", "--hard")
    merge(project, "b", "a")
    mend(project)
    assert project.snapshot() == first


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_markers_alone_will_do(project: Project, style: str) -> None:
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b", "-c", f"merge.conflictStyle={style}")
    shutil.rmtree(project.folder / ".git")
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.2"}


def test_files_that_git_shall_not_merge_are_mended_too(project: Project) -> None:
    write(".gitattributes", "locks/** -merge\n")(project)
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", "attributes")
    git(project.folder, "tag", "-f", "start")
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b")
    assert b"<<<<<<<" not in b"".join(project.snapshot().values())
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.2"}


def test_an_environment_that_one_side_took_out_is_gone(project: Project) -> None:
    branch(project, "a", edit=lambda p: (p.folder / "envs/tool.toml").unlink())
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b")
    mend(project)
    assert not (project.folder / "locks/tool").exists()
    assert Locks(project).versions(*CELL) == {"lib": "1.0", "dep": "1.2"}


def test_a_rebase_is_mended_the_same_way(project: Project) -> None:
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep")
    git(project.folder, "rebase", "a", check=False)
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.2"}


def test_a_conflict_in_what_is_not_lockgrids_is_a_persons_to_decide(project: Project) -> None:
    manifest = (project.folder / "pyproject.toml").read_text(encoding="utf-8")
    for name, upgraded in (("a", "lib"), ("b", "dep")):
        text = manifest.replace('version = "0"', f'version = "0.{name}"'.replace("a", "1").replace("b", "2"))
        branch(project, name, "-P", upgraded, edit=write("pyproject.toml", text))
    merge(project, "a", "b")
    before = project.snapshot(".")
    result = project.run("lock").expect(2)
    assert re.search(r"pyproject\.toml: line \d+: holds a merge conflict in what is not lockgrid's", result.err)
    assert result.err.count("holds a merge conflict") == 1
    assert project.snapshot(".") == before


def test_a_conflict_in_envs_is_named_and_nothing_else(project: Project) -> None:
    branch(project, "a", edit=write("envs/app.toml", 'requires = ["lib", "new"]\n'))
    branch(project, "b", edit=write("envs/app.toml", 'requires = ["lib", "other"]\n'))
    merge(project, "a", "b")
    before = project.snapshot(".")
    result = project.run("lock").expect(2)
    assert "envs/app.toml: line 1: holds a merge conflict (decide what is required" in result.err
    assert project.snapshot(".") == before


def test_what_only_reads_says_that_there_is_a_conflict(project: Project) -> None:
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep")
    merge(project, "a", "b")
    result = project.run("check").expect(1)
    assert re.search(r"locks/grid\.toml line \d+: holds a merge conflict; mend with `lockgrid lock`", result.out)
    result = project.run("show").expect(2)
    assert "holds a merge conflict" in result.err
    assert "run `lockgrid lock`" in result.err


def test_a_merge_is_locked_as_of_the_later_side(project: Project) -> None:
    """The newest releases of today are no reason to move what neither side has moved."""
    branch(project, "a", "-P", "lib", "--as-of", "2026-02-15")
    branch(project, "b", "-P", "dep", "--as-of", "2026-02-20")
    merge(project, "a", "b")
    mend(project)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.1"}
    assert Locks(project).cutoff.startswith("2026-02-20")


@pytest.mark.parametrize("attributes", ["", "locks/** -merge\n"], ids=["markers", "no markers"])
def test_a_refresh_does_not_go_on_from_one_side(project: Project, attributes: str) -> None:
    write(".gitattributes", attributes)(project)
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", "attributes")
    git(project.folder, "tag", "-f", "start")
    branch(project, "a", "-P", "lib")
    branch(project, "b", "-P", "dep", "--as-of", "2026-02-20")
    merge(project, "a", "b")
    before = project.snapshot(".")
    result = project.run("refresh").expect(2)
    assert "locks/app/linux-x86_64.txt: a merge left it in conflict" in result.err
    assert "run `lockgrid lock`" in result.err
    assert project.snapshot(".") == before
    mend(project)
    git(project.folder, "add", ".")
    project.run("refresh").expect(0)
    assert Locks(project).versions(*CELL) == {"lib": "1.1", "dep": "1.2"}
