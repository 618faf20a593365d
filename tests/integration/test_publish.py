"""One branch for one proposal, against a bare repository: open, update, no-op, base moved, commits of others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.publish import Place, open_draft, publish_commit
from lockgrid.errors import InputError, LockgridError, ToolError
from lockgrid.model.branch import Outcome
from lockgrid.terminal import open_progress
from support.clones import GIT_ENVIRONMENT, Clone, Forge

GRID = "locks/grid.toml"
LOCK = "locks/tosa/linux-x86_64.txt"
BRANCH = "lockgrid/refresh"
FIRST = {
    "envs/tosa.toml": 'requires = ["a"]\n',
    GRID: "schema = 1\nexclude-newer = 2026-10-01T00:00:00Z\n",
    LOCK: "a==1\n",
    "README.md": "the project\n",
    "src/code.py": "print()\n",
}
SECOND = {GRID: "schema = 1\nexclude-newer = 2026-11-01T00:00:00Z\n", LOCK: "a==2\n"}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the paths of the repositories are POSIX ones")


class Bot:
    """lockgrid in the clone, with a cache of its own."""

    def __init__(self, forge: Forge, cache: Path) -> None:
        self.forge = forge
        self.cache = cache
        self.project = forge.clone.folder
        self.env = {"PATH": os.environ["PATH"], "LOCKGRID_CACHE_DIR": str(cache), **GIT_ENVIRONMENT}

    def context(self) -> Context:
        return Context(store=Store(self.project), environ=self.env, clock=time.time, progress=open_progress(quiet=True))

    def race(self, meanwhile: Callable[[], str]) -> str:
        """Propose while somebody else pushes, and be refused; return what the other came to."""
        with open_draft(self.context(), Place(remote="origin")) as draft:
            (draft.project / LOCK).write_text("a==9\n", encoding="utf-8")
            came = meanwhile()
            with pytest.raises(ToolError, match="somebody else pushed"):
                draft.propose([LOCK], "Refresh")
        return came

    def propose(
        self, texts: Mapping[str, str | None], message: str = "Refresh", remote: str = "origin", base: str = ""
    ) -> Outcome:
        """Propose files (None: removed), and assert that nothing but the branch has changed in the clone."""
        before = self.forge.clone.state()
        try:
            with open_draft(self.context(), Place(remote=remote, base=base)) as draft:
                for path, text in texts.items():
                    if text is None:
                        (draft.project / path).unlink()
                    else:
                        (draft.project / path).parent.mkdir(parents=True, exist_ok=True)
                        (draft.project / path).write_text(text, encoding="utf-8")
                return draft.propose(texts, message)
        finally:
            assert self.forge.clone.state() == before
            assert self.forge.clone.locks() == self.forge.remote.locks() == []
            assert list((self.cache / "proposals").glob("*/*")) == []


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge.make(tmp_path, FIRST)


@pytest.fixture
def bot(forge: Forge, tmp_path: Path) -> Bot:
    return Bot(forge, tmp_path / "cache")


def test_the_first_time_a_branch_is_opened_on_the_remotes_default_branch(bot: Bot, forge: Forge) -> None:
    outcome = bot.propose(SECOND, "Refresh locks: a 1 to 2\n\nWhy.")
    assert (outcome.state, outcome.base, outcome.title) == ("opened", "main", "Refresh locks: a 1 to 2")
    assert forge.remote.tip(BRANCH) == forge.clone.tip(BRANCH) == outcome.commit
    assert forge.remote.git("rev-parse", f"{BRANCH}^") == forge.remote.tip("main")
    assert forge.remote.git("diff", "--name-only", "main", BRANCH).split() == [GRID, LOCK]
    assert forge.remote.show(BRANCH, LOCK) == "a==2"
    assert forge.remote.git("log", "-1", "--format=%an <%ae>", BRANCH) == "A bot <bot@example.com>"
    assert "Why.\n\nLockgrid-Refresh: sha256:" in forge.remote.git("log", "-1", "--format=%B", BRANCH)


def test_files_are_removed_and_added(bot: Bot, forge: Forge) -> None:
    bot.propose({LOCK: None, "locks/tosa/macos-arm64.txt": "a==2\n"})
    assert forge.remote.git("diff", "--no-renames", "--name-status", "main", BRANCH).split("\n") == [
        f"D\t{LOCK}",
        "A\tlocks/tosa/macos-arm64.txt",
    ]


def test_another_content_takes_its_place(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    outcome = bot.propose({LOCK: "a==3\n"})
    assert outcome.state == "updated"
    assert forge.remote.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    assert forge.remote.git("diff", "--name-only", "main", BRANCH) == LOCK
    assert forge.remote.show(BRANCH, LOCK) == "a==3"


def test_the_same_content_on_the_same_base_is_left_and_nothing_is_pushed(bot: Bot, forge: Forge) -> None:
    first = bot.propose(SECOND)
    hook = forge.remote.folder / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    again = bot.propose(SECOND, "Another message, since the day is another")
    assert (again.state, again.commit, again.title) == ("same", first.commit, "Refresh")
    assert forge.remote.tip(BRANCH) == forge.clone.tip(BRANCH) == first.commit


def test_a_later_cut_off_with_the_same_pins_is_the_same_content(bot: Bot) -> None:
    first = bot.propose(SECOND)
    later = {**SECOND, GRID: SECOND[GRID].replace("2026-11-01", "2026-11-02")}
    assert bot.propose(later).commit == first.commit
    assert bot.propose({**later, GRID: later[GRID] + "more = 1\n"}).state == "updated"


def test_a_branch_that_only_the_remote_has_is_known_again(bot: Bot, forge: Forge) -> None:
    first = bot.propose(SECOND)
    forge.clone.git("branch", "-D", BRANCH)
    forge.clone.git("update-ref", "-d", f"refs/remotes/origin/{BRANCH}")
    again = bot.propose(SECOND)
    assert (again.state, again.commit) == ("same", first.commit)
    assert forge.clone.tip(BRANCH) == first.commit


def test_the_branch_is_rebuilt_where_the_base_moved(bot: Bot, forge: Forge) -> None:
    first = bot.propose(SECOND)
    base = forge.push("More code", {"src/code.py": "print(2)\n"})
    outcome = bot.propose(SECOND)
    assert outcome.state == "updated"
    assert outcome.commit != first.commit
    assert forge.remote.git("rev-parse", f"{BRANCH}^") == base
    assert forge.remote.git("diff", "--name-only", "main", BRANCH).split() == [GRID, LOCK]


def test_a_base_that_was_rewritten_is_no_commit_of_others(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    forge.person.git("commit", "-q", "--amend", "-m", "Begin otherwise")
    forge.person.git("push", "-q", "-f", "origin", "main")
    assert bot.propose(SECOND).state == "updated"


def test_the_branch_goes_where_the_base_caught_up(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    forge.push("The same by hand", SECOND)
    outcome = bot.propose(SECOND)
    assert (outcome.state, outcome.commit) == ("closed", "")
    assert forge.remote.tip(BRANCH) == forge.clone.tip(BRANCH) == ""
    assert bot.propose(SECOND).state == "none"


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_branch_that_was_merged_goes(bot: Bot, forge: Forge, how: str) -> None:
    bot.propose(SECOND)
    forge.push("Ours", {"src/code.py": "print(3)\n"})
    forge.person.git("fetch", "-q")
    forge.person.git("merge", "-q", *(["--squash"] if how == "squash" else ["--no-ff"]), f"origin/{BRANCH}")
    if how == "squash":
        forge.person.git("commit", "-q", "-m", "Refresh (#1)")
    forge.person.git("push", "-q")
    assert bot.propose(SECOND).state == "closed"


# -- commits of others -------------------------------------------------------------------------------


def refused(bot: Bot, forge: Forge) -> str:
    """Propose; assert that it is refused and that the branch stays as it is. Return what was said."""
    before = forge.remote.tip(BRANCH), forge.clone.tip(BRANCH)
    with pytest.raises(InputError) as told:
        bot.propose({LOCK: "a==9\n"})
    assert (forge.remote.tip(BRANCH), forge.clone.tip(BRANCH)) == before
    return str(told.value)


def test_a_commit_that_a_person_added_stays(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    mine = forge.push("Mend the test", {"src/code.py": "print(1)\n"}, BRANCH)
    said = refused(bot, forge)
    assert f"{mine[:12]} 'Mend the test' by Ann Person" in said
    assert "next: merge the branch, or move these commits" in said
    assert "Refresh" not in said


def test_a_commit_that_a_person_added_is_not_deleted_either(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    forge.push("Mend the test", {"src/code.py": "print(1)\n"}, BRANCH)
    forge.push("The same by hand", SECOND)
    with pytest.raises(InputError), open_draft(bot.context(), Place(remote="origin")) as draft:
        draft.close()
    assert forge.remote.tip(BRANCH)


@pytest.mark.parametrize("what", ["its files", "its message", "its parent"])
def test_a_commit_that_a_person_amended_stays(bot: Bot, forge: Forge, what: str) -> None:
    bot.propose(SECOND)
    forge.push("More code", {"src/code.py": "print(2)\n"})
    forge.person.git("fetch", "-q")
    forge.person.git("checkout", "-q", "-B", BRANCH, f"origin/{BRANCH}")
    message = forge.person.git("log", "-1", "--format=%B")
    if what == "its files":
        forge.person.write({LOCK: "a==4\n"}).git("commit", "-q", "-a", "--amend", "--no-edit")
    elif what == "its message":
        forge.person.git("commit", "-q", "--amend", "-m", message.replace("Refresh\n", "Refresh, says Ann\n"))
    else:
        forge.person.git("rebase", "-q", "origin/main")
    forge.person.git("push", "-q", "-f", "origin", BRANCH)
    assert "by A bot" in refused(bot, forge)


def test_a_branch_of_a_person_that_is_only_here_stays(bot: Bot, forge: Forge) -> None:
    forge.clone.git("branch", BRANCH, "main")
    assert bot.propose(SECOND).state == "opened"  # nothing of it is lost: main holds all of it
    forge.clone.git("worktree", "add", "-q", "--detach", "../other", BRANCH)
    (forge.clone.folder / "../other/mine").write_text("mine", encoding="utf-8")
    forge.clone.git("-C", "../other", "add", "mine")
    forge.clone.git("-C", "../other", "commit", "-q", "-m", "Mine")
    forge.clone.git("branch", "-f", BRANCH, forge.clone.git("-C", "../other", "rev-parse", "HEAD"))
    assert "in this repository: holds commits of others" in refused(bot, forge)


def test_a_commit_that_was_added_during_the_run_stays(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    mine = bot.race(lambda: forge.push("Mend the test", {"src/code.py": "print(1)\n"}, BRANCH))
    assert forge.remote.tip(BRANCH) == mine


def test_a_branch_that_was_opened_during_the_run_stays(bot: Bot, forge: Forge) -> None:
    bot.race(lambda: forge.person.git("push", "-q", "origin", f"main:refs/heads/{BRANCH}"))
    assert forge.remote.tip(BRANCH) == forge.remote.tip("main")


# -- other places ------------------------------------------------------------------------------------


def test_without_a_remote_the_branch_is_made_of_head(bot: Bot, forge: Forge) -> None:
    forge.clone.commit("Not pushed", {"src/code.py": "print(5)\n"})
    outcome = bot.propose(SECOND, remote="")
    assert (outcome.state, outcome.base) == ("opened", "HEAD")
    assert forge.clone.git("rev-parse", f"{BRANCH}^") == forge.clone.tip("main")
    assert bot.propose(SECOND, remote="").commit == outcome.commit
    assert forge.remote.tip(BRANCH) == ""


def test_another_base_is_named(bot: Bot, forge: Forge) -> None:
    forge.person.git("push", "-q", "origin", "main:refs/heads/release")
    base = forge.push("For the release", {"src/code.py": "print(6)\n"}, "release")
    assert bot.propose(SECOND, base="release").base == "release"
    assert forge.remote.git("rev-parse", f"{BRANCH}^") == base


def test_a_project_below_the_top(tmp_path: Path) -> None:
    forge = Forge.make(tmp_path, {f"sub/dir/{path}": text for path, text in FIRST.items()} | {"top.txt": "top\n"})
    bot = Bot(forge, tmp_path / "cache")
    bot.project = forge.clone.folder / "sub/dir"
    first = bot.propose(SECOND)
    assert forge.remote.git("diff", "--name-only", "main", BRANCH).split() == [f"sub/dir/{GRID}", f"sub/dir/{LOCK}"]
    assert bot.propose({**SECOND, GRID: SECOND[GRID].replace("2026-11", "2026-12")}).commit == first.commit


def test_what_is_not_committed_is_neither_taken_nor_touched(bot: Bot, forge: Forge) -> None:
    forge.clone.write({LOCK: "mine\n", "README.md": "changed\n", "new.txt": "new\n"}).git("add", "README.md")
    bot.propose(SECOND)
    assert forge.remote.git("diff", "--name-only", "main", BRANCH).split() == [GRID, LOCK]
    assert forge.clone.git("diff", "--cached", "--name-only") == "README.md"


def test_a_shallow_clone_and_one_with_a_sparse_checkout_do(bot: Bot, forge: Forge, tmp_path: Path) -> None:
    forge.push("More", {"src/code.py": "print(7)\n"})
    bot.propose(SECOND)
    forge.push("More still", {"src/code.py": "print(8)\n"})
    forge.person.git("clone", "-q", "--depth=1", f"file://{forge.remote.folder}", str(tmp_path / "shallow"))
    bot.project = tmp_path / "shallow"
    assert bot.propose({LOCK: "a==5\n"}).state == "updated"
    assert forge.remote.git("rev-parse", f"{BRANCH}^") == forge.remote.tip("main")
    forge.clone.git("sparse-checkout", "set", "locks")
    bot.project = forge.clone.folder
    assert bot.propose({LOCK: "a==6\n"}).state == "updated"
    assert forge.remote.git("diff", "--name-only", "main", BRANCH) == LOCK


def test_line_endings_are_what_gitattributes_say(bot: Bot, forge: Forge) -> None:
    forge.push("Attributes", {".gitattributes": "locks/** text eol=lf\n*.toml text eol=lf\n"})
    forge.clone.git("config", "core.autocrlf", "true")
    bot.propose(SECOND)
    assert "\r" not in forge.remote.git("cat-file", "blob", f"{BRANCH}:{LOCK}")


def test_a_lock_of_somebody_elses_git_is_no_hindrance(bot: Bot, forge: Forge) -> None:
    """The user may be in the middle of a commit: its index is not ours."""
    lock = forge.clone.folder / ".git/index.lock"
    lock.touch()
    with open_draft(bot.context(), Place(remote="origin")) as draft:
        (draft.project / LOCK).write_text("a==2\n", encoding="utf-8")
        assert draft.propose([LOCK], "Refresh").state == "opened"
    assert lock.exists()


def test_the_draft_is_a_repository_at_the_base(bot: Bot, forge: Forge) -> None:
    """As a clone would be: with the files of other folders, a history, and nothing that could be pushed to."""
    base = forge.push("More", {".hidden/file": "x\n"})
    with open_draft(bot.context(), Place(remote="origin")) as draft:
        there = Clone(draft.project)
        assert there.git("ls-files").split() == [".hidden/file", *sorted(FIRST, key=str)]
        assert there.git("status", "--porcelain") == there.git("remote") == ""
        assert there.git("log", "--format=%H").split() == [base, forge.remote.git("rev-parse", "main^")]


def test_what_a_killed_run_left_in_the_cache_is_cleared_away(bot: Bot) -> None:
    with open_draft(bot.context(), Place(remote="origin")) as draft:
        folder = draft.project.parent
    (folder / "tree/locks").mkdir(parents=True)
    (folder / "tree/locks/old.txt").touch()
    (folder / "index.lock").touch()
    assert bot.propose(SECOND).state == "opened"


def test_commits_are_signed_where_git_says_so(bot: Bot, forge: Forge) -> None:
    bot.propose(SECOND)
    forge.clone.git("config", "commit.gpgSign", "true")
    forge.clone.git("config", "gpg.program", "/bin/false")
    with pytest.raises(ToolError, match="commit-tree"):
        bot.propose({LOCK: "a==3\n"})


# -- what is refused ---------------------------------------------------------------------------------


def place_refused(bot: Bot, **place: str) -> LockgridError:
    with pytest.raises(LockgridError) as told, open_draft(bot.context(), Place(**place)):
        raise AssertionError("it was opened")
    assert not list((bot.cache / "proposals").glob("*/*"))
    return told.value


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ({"remote": "nowhere"}, 4, "nowhere"),
        ({"remote": "https://me:secret@127.0.0.1:9/x.git"}, 4, "https://127.0.0.1:9/x.git"),
        ({"remote": "--upload-pack=touch /tmp/x"}, 2, "is no remote"),
        ({"remote": "origin", "base": "no-such"}, 2, "--base no-such: the remote has no such branch"),
        ({"remote": "origin", "base": BRANCH}, 2, "the branch of the proposal itself"),
        ({"base": "no-such"}, 2, "is no revision here"),
        ({"base": "--all"}, 2, "is no revision here"),
        ({"branch": "a..b"}, 2, "can be no branch"),
        ({"branch": "-d"}, 2, "can be no branch"),
        ({"branch": "main"}, 2, "is checked out in"),
    ],
)
def test_a_place_that_cannot_be(bot: Bot, place: dict[str, str], code: int, said: str) -> None:
    error = place_refused(bot, **place)
    assert error.exit_code == code
    assert said in str(error)
    assert "secret" not in str(error)


def test_a_folder_in_no_repository(bot: Bot, tmp_path: Path) -> None:
    bot.project = tmp_path / "plain"
    bot.project.mkdir()
    assert "is in no git repository" in str(place_refused(bot))


def test_no_author(bot: Bot) -> None:
    bot.env = {k: v for k, v in bot.env.items() if not k.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    bot.env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.useConfigOnly", "GIT_CONFIG_VALUE_0": "true"}
    assert "git config user.name" in str(place_refused(bot, remote="origin"))


def test_a_remote_that_refuses_is_quoted(bot: Bot, forge: Forge) -> None:
    hook = forge.remote.folder / "hooks/update"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(ToolError, match="hook declined"):
        bot.propose(SECOND)
    assert forge.clone.tip(BRANCH) == ""


# -- made in one clone, pushed from another ----------------------------------------------------------


def bundled(bot: Bot, forge: Forge, texts: Mapping[str, str]) -> str:
    """Commit in the clone without pushing; carry the commit to the person's clone in a bundle, and return it."""
    commit = bot.propose(texts, remote="").commit
    forge.clone.git("bundle", "create", "-q", "../refresh.bundle", f"main..{BRANCH}")
    forge.person.git("fetch", "-q", "../refresh.bundle", BRANCH)
    return commit


def test_a_commit_is_pushed_from_another_clone_under_the_same_rules(bot: Bot, forge: Forge) -> None:
    commit = bundled(bot, forge, SECOND)
    bot.project = forge.person.folder
    place = Place(remote="origin")
    assert publish_commit(bot.context(), place, commit).state == "opened"
    assert forge.remote.tip(BRANCH) == commit
    assert publish_commit(bot.context(), place, commit).state == "same"
    assert publish_commit(bot.context(), place, None).state == "closed"
    assert forge.remote.tip(BRANCH) == ""


def test_a_commit_that_changes_more_than_locks_is_not_pushed(bot: Bot, forge: Forge) -> None:
    commit = bundled(bot, forge, {**SECOND, ".github/workflows/ci.yml": "on: push\n"})
    bot.project = forge.person.folder
    with pytest.raises(InputError, match=r"changes files that no refresh writes: \.github/workflows/ci\.yml"):
        publish_commit(bot.context(), Place(remote="origin"), commit)


def test_a_commit_of_a_person_is_not_pushed(bot: Bot, forge: Forge) -> None:
    forge.clone.git("checkout", "-q", "-b", "mine")
    commit = forge.clone.commit("Mine", {LOCK: "a==7\n"})
    with pytest.raises(InputError, match="is no commit that `lockgrid refresh` made"):
        publish_commit(bot.context(), Place(remote="origin"), commit)
    with pytest.raises(InputError, match="is no revision here"):
        publish_commit(bot.context(), Place(remote="origin"), "nothing")
