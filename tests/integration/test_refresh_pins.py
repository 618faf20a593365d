"""``lockgrid refresh`` beside a pins.toml: the copies of what moves are in the same commit, or nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import Start
from integration.test_refresh import BASE, COOL, LOCKED, NOW, lock, refresh, report, state
from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.publish import Place, open_draft, publish_commit
from lockgrid.errors import InputError
from lockgrid.terminal import open_progress
from support.clones import GIT_ENVIRONMENT, Forge
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

BRANCH = "lockgrid/refresh"
PINS = """
[pins.along]
truth = { file = "ci/setup.sh", match = { shell = "LIB" } }
copies = [{ file = "doc.yml", match = { yaml = "lib" } }]
[pins.lib]
truth = { package = "lib" }
copies = [
    { file = "req.txt", match = "requirement" },
    { file = "ci/setup.sh", match = { shell = "LIB" } },
    { file = "old.txt", match = "requirement", differs = { why = "an image of then", until = 2999-01-01 } },
    { file = "pyproject.toml", match = { toml = "tool.x.lib" } },
]
[pins.dep]
truth = { package = "dep" }
copies = [{ file = "req.txt", match = "requirement" }]
"""
FILES: dict[str, str | bytes] = {
    "pins.toml": PINS,
    "req.txt": b"# lib==1.0\r\nlib==1.0\r\ndep==0.9\r\n",
    "ci/setup.sh": b'#!/bin/sh\nLIB="v1.0.0"\n',
    "doc.yml": b"\xef\xbb\xbflib: 1.0 # 1.0",
    "old.txt": b"lib==0.1\n",
}
MOVED = {
    "req.txt": b"# lib==1.0\r\nlib==1.1\r\ndep==0.9\r\n",
    "ci/setup.sh": b'#!/bin/sh\nLIB="v1.1.0"\n',
    "doc.yml": b"\xef\xbb\xbflib: 1.1 # 1.0",
    "old.txt": b"lib==0.1\n",
}
# Passes where the copies say what the lock says, and with FAIL only where lib is 1.0.
CHECK = """
import os, pathlib, sys
locked = "lib==1.1" in pathlib.Path("locks/app/linux-x86_64.txt").read_text()
copied = "lib==1.1" in pathlib.Path("req.txt").read_text()
sys.exit(locked != copied or (locked and "FAIL" in os.environ))
"""
posix = pytest.mark.skipif(os.name == "nt", reason="the paths of the repositories are POSIX ones")


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def project(start: Start, index: LocalIndex) -> Project:
    project = start(BASE)
    lock(project, "--as-of", LOCKED).expect(0)
    write(project.folder, FILES)
    manifest = project.folder / "pyproject.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + '[tool.x]\nlib = "~=1.0"\n', encoding="utf-8")
    return project


@pytest.fixture
def newer(index: LocalIndex) -> None:
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)


def bytes_of(project: Project) -> dict[str, bytes]:
    return {path: (project.folder / path).read_bytes() for path in MOVED}


@pytest.mark.usefixtures("newer")
def test_copies_move_with_their_truth_and_others_stay(project: Project) -> None:
    before = state(project)
    assert "would write ci/setup.sh" in refresh(project, "--dry-run").expect(0).out.splitlines()
    assert state(project) == before
    found = report(project)
    assert bytes_of(project) == MOVED
    lines = (project.folder / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert {"req.txt", "ci/setup.sh", "doc.yml", "pyproject.toml", "locks/grid.toml"} <= {*found["written"]}
    assert {(row["pin"], row["file"], row["line"], row["old"], row["new"]) for row in found["copies"]} == {
        ("lib", "req.txt", 2, "1.0", "1.1"),
        ("lib", "ci/setup.sh", 2, "1.0.0", "1.1.0"),
        ("along", "doc.yml", 1, "1.0", "1.1"),
        ("lib", "pyproject.toml", lines.index('lib = "~=1.1"') + 1, "1.0", "1.1"),
    }
    project.run("check").expect(0)
    after = state(project)
    assert report(project)["copies"] == []
    assert state(project) == after


def test_where_no_truth_moves_no_copy_is_touched_and_none_is_judged(project: Project) -> None:
    write(project.folder, {"req.txt": "lib==0.5\n", "ci/setup.sh": "", "doc.yml": "other: 1\n"})
    before = state(project)
    assert refresh(project).expect(0).out.startswith("nothing to refresh")
    assert state(project) == before


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"req.txt": "lib==1.0\nlib==1.0\n"}, "more than one place, on the lines 1, 2"),
        ({"req.txt": "dep==1.0\n"}, "req.txt: pins.lib: "),
        ({"ci/setup.sh": b"LIB=1.0\n# \xe9\n"}, "ci/setup.sh: pins.lib: line 2 is not UTF-8"),
        ({"doc.yml": "a: 1\n"}, "doc.yml: pins.along: "),
        ({"pins.toml": PINS.replace("doc.yml", "no.yml")}, "no.yml: pins.along: there is no such file"),
        ({"pins.toml": PINS + "x = 1\n"}, "pins.toml"),
        ({"pins.toml": PINS.replace("doc.yml", "locks/app/linux-x86_64.txt")}, "written by `lockgrid lock`"),
        (
            {
                "envs/app.toml": 'requires = ["lib>=1.0"]\n',
                "pins.toml": PINS.replace(
                    '"doc.yml", match = { yaml = "lib" }',
                    "\"envs/app.toml\", match = { regex = 'lib>=(?P<v>[0-9.]+)' }",
                ),
            },
            "envs/app.toml:1: pins.along: holds 1.0, and 1.1 would be true; but the locks are made of this file",
        ),
    ],
)
def test_a_copy_that_cannot_move_stops_all(project: Project, files: Mapping[str, str | bytes], said: str) -> None:
    write(project.folder, files)
    if "envs/app.toml" in files:
        lock(project, "--as-of", LOCKED).expect(0)
    before = state(project)
    result = refresh(project).expect(2)
    assert said in result.err
    assert "Traceback" not in result.err
    assert state(project) == before


@pytest.mark.usefixtures("newer")
def test_lock_says_what_is_out_of_step_and_writes_no_copy(project: Project) -> None:
    write(project.folder, {"req.txt": "lib==1.0\ndep==1.0\n"})
    before = bytes_of(project)
    result = lock(project, "--upgrade", "--as-of", NOW).expect(0)
    assert "out of step: `lockgrid pins sync` rewrites them" in result.err
    assert bytes_of(project) == before
    project.run("pins", "sync").expect(0)
    (project.folder / "locks/grid.toml").unlink()
    again = lock(project, "--as-of", NOW).expect(0)
    assert "wrote" in again.out
    assert "out of step" not in again.err


@pytest.mark.usefixtures("newer")
def test_a_copy_that_somebody_changes_meanwhile_is_not_overwritten(project: Project) -> None:
    mine = project.folder / "req.txt"
    script = project.folder.parent / "edit.py"
    script.write_text(f"open({str(mine)!r}, 'a').write('mine')\n", encoding="utf-8")
    before = project.snapshot("locks")
    result = refresh(project, "--test", f"{sys.executable} {script}").expect(4)
    assert "req.txt: this copy was changed while the refresh ran, and nothing was written" in result.err
    assert mine.read_bytes() == b"# lib==1.0\r\nlib==1.0\r\ndep==0.9\r\nmine"
    assert project.snapshot("locks") == before


# -- on a branch -------------------------------------------------------------------------------------


class Bot:
    """A clone of the project with a bare remote."""

    def __init__(self, project: Project, folder: Path) -> None:
        files = {path: data.decode() for path, data in project.snapshot(".").items()}
        self.forge = Forge.make(folder, {**files, "check.py": CHECK})
        self.project = project
        project.folder = self.forge.clone.folder
        self.body = folder / "body.md"

    def run(self, *words: str, fail: bool = False, remote: bool = True) -> dict[str, Any]:
        before = self.forge.clone.state()
        push = ["--push", "origin"] if remote else []
        words = ("--as-of", NOW, "--commit", *push, "--body", str(self.body), "--json", *words)
        environ = {**GIT_ENVIRONMENT, **({"FAIL": "1"} if fail else {})}
        found: dict[str, Any] = json.loads(self.project.run("refresh", *words, env=environ).expect(0).out)
        assert self.forge.clone.state() == before
        return found

    def changed(self) -> set[str]:
        return set(self.forge.remote.git("diff", "--name-only", "main", BRANCH).split())


@pytest.fixture
def bot(project: Project, tmp_path: Path) -> Bot:
    return Bot(project, tmp_path)


@posix
@pytest.mark.usefixtures("newer")
def test_the_commit_has_the_copies_and_lists_them(bot: Bot) -> None:
    first = bot.run("--test", f"{sys.executable} check.py")
    assert first["branch"]["state"] == "opened"
    assert first["tested"]["state"] == "passed"  # the test saw the copies too
    assert bot.changed() >= {"req.txt", "ci/setup.sh", "doc.yml", "locks/grid.toml"}
    assert "old.txt" not in bot.changed()
    for path, content in MOVED.items():
        words = ["git", "cat-file", "blob", f"{BRANCH}:{path}"]
        assert subprocess.run(words, cwd=bot.forge.remote.folder, capture_output=True, check=True).stdout == content
    body, message = bot.body.read_text(encoding="utf-8"), bot.forge.remote.git("log", "-1", "--format=%B", BRANCH)
    assert "- `req.txt:2`: `1.0` to `1.1` (lib)" in body
    assert "Along with it, by pins.toml:\n  " in message
    assert "  ci/setup.sh:2: lib 1.0.0 -> 1.1.0" in message
    tip = bot.forge.remote.tip(BRANCH)
    assert bot.run("--test", f"{sys.executable} check.py")["branch"]["state"] == "same"
    assert bot.forge.remote.tip(BRANCH) == tip


@posix
@pytest.mark.usefixtures("newer")
def test_what_is_held_back_moves_no_copy(bot: Bot) -> None:
    found = bot.run("--test", f"{sys.executable} check.py", fail=True)
    assert found["tested"]["state"] == "held"
    assert found["copies"] == []
    assert {path for path in bot.changed() if not path.startswith(("envs/", "locks/"))} == set()


@posix
@pytest.mark.usefixtures("newer")
def test_another_clone_publishes_copies_as_a_refresh_makes_them_and_nothing_else(bot: Bot) -> None:
    commit = bot.run(remote=False)["branch"]["commit"]
    clone, person = bot.forge.clone, bot.forge.person
    environ = bot.project.environment(GIT_ENVIRONMENT)

    def publish(commit: str) -> str:
        person.git("fetch", "-q", str(clone.folder), BRANCH)
        context = Context(
            store=Store(person.folder), environ=environ, clock=time.time, progress=open_progress(quiet=True)
        )
        return publish_commit(context, Place(remote="origin"), commit).state

    def forged(path: str, content: bytes) -> str:
        """A commit with the trailer of a refresh, in which one file is another."""
        files = [line for line in clone.git("diff", "--name-only", "main", commit).split("\n") if line]
        context = Context(
            store=Store(clone.folder), environ=environ, clock=time.time, progress=open_progress(quiet=True)
        )
        with open_draft(context, Place()) as draft:
            for name in files:
                text = clone.git("show", f"{commit}:{name}") + "\n"
                (draft.project / name).write_bytes(MOVED.get(name, text.encode()))
            (draft.project / path).write_bytes(content)
            return draft.propose([*files, path], "Refresh").commit

    assert publish(commit) == "opened"
    for path, content in {
        "ci/setup.sh": b'#!/bin/sh\nLIB="v1.1.0"; curl example\n',
        "req.txt": MOVED["req.txt"].replace(b"1.1", b"1.2"),
        "old.txt": b"lib==1.1\n",
        "pins.toml": PINS.encode() + b"# more\n",
        "new.txt": b"new\n",
    }.items():
        with pytest.raises(InputError, match=f"changes files that no refresh writes: {path}"):
            publish(forged(path, content))
