"""`lockgrid refresh --commit --push`: from the index to the branch, and whatever ends it on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import Start
from integration.test_atomicity import processes_of, wait_for
from integration.test_refresh import BASE, COOL, LOCKED, NOW, lock
from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.publish import Place, open_draft
from lockgrid.core.published import is_own
from lockgrid.model.branch import Commit
from lockgrid.terminal import open_progress
from support.clones import GIT_ENVIRONMENT, Clone, Forge
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

BRANCH = "lockgrid/refresh"
LOCK = "locks/app/linux-x86_64.txt"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the paths of the repositories are POSIX ones")

# Passes unless locks/ holds dep 1.1, or 2.0: then it names a case.
TEST = """
import json, os, pathlib, sys
if any(pin in pathlib.Path("locks/app/linux-x86_64.txt").read_text() for pin in ("dep==1.1", "dep==2.0")):
    case = {"case": "attn/INT", "outcome": "failed", "message": "3 steps off"}
    report = {"schema": 1, "environment": "app", "status": "failed", "cases": [case]}
    pathlib.Path(os.environ["LOCKGRID_RESULTS"], "app.json").write_text(json.dumps(report))
    sys.exit(1)
"""


class Bot:
    """A clone of a locked project with a remote, beside an index that has something newer."""

    def __init__(self, project: Project, forge: Forge) -> None:
        self.project = project
        self.forge = forge
        self.body = forge.clone.folder.parent / "body.md"

    def words(self, *args: str) -> list[str]:
        place = ["--commit", "--push", "origin", "--body", str(self.body)]
        return ["refresh", "--as-of", NOW, *place, *args]

    def run(self, *args: str) -> Result:
        """Refresh in the clone; assert that nothing there but the branch has changed."""
        before = self.forge.clone.state()
        result = self.project.run(*self.words(*args), env=dict(GIT_ENVIRONMENT))
        assert self.forge.clone.state() == before
        assert self.forge.clone.locks() == self.forge.remote.locks() == []
        return result

    def outcome(self, *args: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*args, "--json").expect(0).out)
        return found

    @property
    def tips(self) -> tuple[str, str]:
        """Where the branch stands at the remote, and here."""
        return self.forge.remote.tip(BRANCH), self.forge.clone.tip(BRANCH)


@pytest.fixture
def bot(start: Start, index: LocalIndex, tmp_path: Path) -> Bot:
    project = start(BASE)
    lock(project, "--as-of", LOCKED).expect(0)
    texts = {path: data.decode() for path, data in project.snapshot(".").items()}
    forge = Forge.make(tmp_path, {**texts, "check.py": TEST, ".hidden/file": "x\n"})
    project.folder = forge.clone.folder
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    return Bot(project, forge)


def test_from_the_index_to_the_branch_and_back(bot: Bot, index: LocalIndex) -> None:
    opened = bot.run().expect(0)
    assert opened.out.splitlines()[-1].startswith("lockgrid/refresh on origin: opened, commit ")
    assert "lib 1.0 -> 1.1 (app)" in opened.out.splitlines()
    remote = bot.forge.remote
    assert remote.tip(BRANCH) == bot.forge.clone.tip(BRANCH)
    assert "lib==1.1" in remote.show(BRANCH, LOCK)
    assert remote.git("log", "-1", "--format=%s", BRANCH) == "Refresh locks: lib 1.0 to 1.1"
    body = bot.body.read_text(encoding="utf-8")
    assert body.startswith("# Refresh locks: lib 1.0 to 1.1\n")
    assert "| `lib` | `1.0` | `1.1` |" in body

    first, bodies = bot.tips, bot.body.read_bytes()
    same = bot.outcome()["branch"]
    assert (same["state"], bot.tips) == ("same", first)
    assert bot.body.read_bytes() == bodies

    bot.forge.push("More code", {"code.py": "1\n"})
    assert bot.outcome()["branch"]["state"] == "updated"
    assert remote.git("rev-parse", f"{BRANCH}^") == remote.tip("main")

    bot.forge.person.git("fetch", "-q")
    bot.forge.person.git("checkout", "-q", "main")
    bot.forge.person.git("merge", "-q", "--squash", f"origin/{BRANCH}")
    bot.forge.person.git("commit", "-q", "-m", "Refresh (#1)")
    bot.forge.person.git("push", "-q", "origin", "main")
    closed = bot.run().expect(0)
    assert closed.out.splitlines()[-1] == "lockgrid/refresh on origin: removed, since main has caught up"
    assert bot.tips == ("", "")
    nothing = bot.run().expect(0)
    assert nothing.out == "nothing to refresh: no release up to 2026-04-03T00:00:00Z changes the locks\n"


def test_a_persons_commit_stops_it_before_anything_is_asked(bot: Bot, index: LocalIndex) -> None:
    bot.run().expect(0)
    mine = bot.forge.push("Mend the test", {"code.py": "1\n"}, BRANCH)
    before, asked = bot.tips, len(index.requests)
    result = bot.run().expect(2)
    assert f"{mine[:12]} 'Mend the test' by Ann Person" in result.err
    assert bot.tips == before
    assert len(index.requests) == asked


def test_what_breaks_a_test_is_held_back_and_reported(bot: Bot, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=COOL)
    result = bot.outcome("--test", f"{sys.executable} check.py")
    assert result["branch"]["title"] == "Refresh locks: lib 1.0 to 1.1"
    remote = bot.forge.remote
    assert {"envs/app.toml", LOCK, "locks/grid.toml"} <= set(remote.git("diff", "--name-only", "main", BRANCH).split())
    assert "[hold]" in remote.show(BRANCH, "envs/app.toml")
    body, message = bot.body.read_text(encoding="utf-8"), remote.git("log", "-1", "--format=%B", BRANCH)
    for said in ("attn/INT", "3 steps off", "envs/app.toml"):
        assert said in body
    assert "Held back dep 1.0 -> 1.1" in message
    assert str(bot.project.store) not in body + message
    first = bot.tips
    assert bot.outcome("--test", f"{sys.executable} check.py")["branch"]["state"] == "same"
    assert bot.tips == first


def test_without_a_branch_there_is_a_body_too(bot: Bot) -> None:
    result = bot.project.run("refresh", "--as-of", NOW, "--body", str(bot.body)).expect(0)
    assert "wrote locks/grid.toml" in result.out
    assert bot.body.read_text(encoding="utf-8").startswith("# Refresh locks: lib 1.0 to 1.1\n")
    assert bot.forge.clone.git("status", "--porcelain").split()[1::2] == [
        line.split()[1] for line in result.out.splitlines() if line.startswith("wrote ")
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--push", "origin"], "go with --commit"),
        (["--branch", "x"], "go with --commit"),
        (["--commit", "--dry-run"], "contradict"),
        (["--advisories"], "goes with --body"),
        (["--commit", "--body", "nowhere/at/all/body.md"], "--body: there is no folder nowhere/at/all"),
        (["--commit", "--body", "envs"], "is a directory"),
    ],
)
def test_options_that_go_not_together(bot: Bot, words: list[str], said: str) -> None:
    result = bot.project.run("refresh", *words, env=dict(GIT_ENVIRONMENT)).expect(2)
    assert said in result.err
    assert "Traceback" not in result.err


# -- ended on the way --------------------------------------------------------------------------------

MOMENTS = 20
# Widens what is quick: a git that is about to change something, or has just done so, takes its time.
SLOW_GIT = """#!/bin/sh
case " $* " in *" push "* | *" update-ref "* | *" commit-tree "* | *" write-tree "*)
    sleep 0.15; git "$@"; code=$?; sleep 0.15; exit $code;;
esac
exec git "$@"
"""


class Killer:
    """Starts refreshes, ends them, and looks at what is left."""

    def __init__(self, bot: Bot, folder: Path) -> None:
        self.bot = bot
        git, hook = folder / "git", bot.forge.remote.folder / "hooks/pre-receive"
        for path, text in ((git, SLOW_GIT), (hook, "#!/bin/sh\nsleep 0.2\n")):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.env = {**bot.project.environment(GIT_ENVIRONMENT), "LOCKGRID_GIT": str(git)}
        self.trees: set[str] = set()

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lockgrid", *self.bot.words("--test", f"{sys.executable} -c pass", "--retest")],
            cwd=self.bot.project.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def complete(self) -> float:
        """Let one run to its end; return the seconds it took."""
        began = time.monotonic()
        out, err = (running := self.start()).communicate(timeout=120)
        assert running.returncode == 0, out + err
        self.trees.add(self.bot.forge.remote.git("rev-parse", f"{BRANCH}^{{tree}}"))
        return time.monotonic() - began

    def another(self) -> str:
        """Make a commit of another refresh, which both repositories know; return it."""
        clone = self.bot.forge.clone
        context = Context(
            store=Store(clone.folder), environ=self.env, clock=time.time, progress=open_progress(quiet=True)
        )
        with open_draft(context, Place(branch="other")) as draft:
            (draft.project / LOCK).write_text("# another\n", encoding="utf-8")
            commit = draft.propose([LOCK], "Refresh").commit
        clone.git("push", "-q", "origin", "other")
        return commit

    def put(self, tip: str) -> None:
        """Let the branch stand at a commit, here and there; empty: nowhere."""
        for clone in (self.bot.forge.remote, self.bot.forge.clone):
            clone.git("update-ref", *([f"refs/heads/{BRANCH}", tip] if tip else ["-d", f"refs/heads/{BRANCH}"]))

    def end(self, after: float, number: signal.Signals) -> str:
        """Start one, and end it after some seconds, with all of its process group; return what it said."""
        running = self.start()
        time.sleep(after)
        os.killpg(running.pid, number)
        _, err = running.communicate(timeout=30)
        # A git that was let finish, and the pages that uv still reads, belong to nobody any more.
        wait_for(lambda: not processes_of(self.bot.project.store))
        return err

    def check(self, before: str) -> str:
        """Assert that the branch is as before or complete, here and there, and return where it stands there."""
        for clone in (self.bot.forge.remote, self.bot.forge.clone):
            tip = clone.tip(BRANCH)
            assert tip == before or self._is_complete(clone, tip)
            assert clone.locks() == []
        return self.bot.forge.remote.tip(BRANCH)

    def _is_complete(self, clone: Clone, tip: str) -> bool:
        tree, parents, message = clone.git("show", "-s", "--format=%T%n%P%n%B", tip).split("\n", 2)
        commit = Commit(id=tip, tree=tree, parents=tuple(parents.split()), author="", message=message)
        return tree in self.trees and is_own(commit) and parents == clone.tip("main")


@pytest.fixture
def killer(bot: Bot, tmp_path: Path) -> Iterator[Killer]:
    if not Path("/proc/self/environ").exists():
        pytest.skip("needs /proc")
    yield Killer(bot, tmp_path)
    wait_for(lambda: not processes_of(bot.project.store))


def test_killed_at_any_moment_everything_is_as_before_or_complete(killer: Killer, bot: Bot) -> None:
    """Mostly from a branch that another content is about to replace, else from none."""
    killer.complete()
    first = killer.another()
    killer.put(first)
    seconds = killer.complete()  # with the pages at hand, as the runs to come
    assert bot.tips[0] != first
    chance, before_files, came_through = random.Random(6), bot.forge.clone.state(), 0
    for moment in range(MOMENTS):
        before = first if moment % 5 else ""
        killer.put(before)
        # Denser towards the end, where it writes, and somewhat past it, since the machine may be busier now.
        part = 1.1 * (1 - (1 - (moment + chance.random()) / MOMENTS) ** 1.5)
        killer.end(part * seconds, signal.SIGKILL)
        came_through += killer.check(before) != before
        assert bot.forge.clone.state() == before_files
    assert 0 < came_through < MOMENTS, "all moments were on one side of the push"
    killer.complete()
    assert bot.tips[0] == bot.tips[1]
    for clone in (bot.forge.remote, bot.forge.clone):
        assert "missing" not in clone.git("fsck", "--connectivity-only")


def test_interrupted_it_ends_at_once_and_says_so(killer: Killer, bot: Bot) -> None:
    seconds = killer.complete()
    before_files = bot.forge.clone.state()
    for part in (0.5, 0.75, 0.95):
        killer.put("")
        said = killer.end(part * seconds, signal.SIGINT)
        killer.check("")
        assert bot.forge.clone.state() == before_files
        assert "Traceback" not in said
        assert "interrupted" in said or bot.forge.clone.tip(BRANCH)
    killer.complete()
