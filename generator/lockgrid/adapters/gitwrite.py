"""The only place that writes to git: one branch, by plumbing. No work tree, index or current branch of anybody changes.

Files of a commit are laid out in a folder of lockgrid's own, with an index of its own. Each git runs in a session of
its own: a signal to lockgrid's process group never cuts it off between two files of ``.git``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lockgrid.adapters.git import Ran, git_environ
from lockgrid.adapters.printable import printable
from lockgrid.adapters.tools import find_tool
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.branch import Commit

_INSTALL = "install git"
_LOCAL_SECONDS = 300.0
_REMOTE_SECONDS = 1800.0
# Where settings of a clone would change what is laid out, or start something that outlives the command.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_NO_HOOKS = f"core.hooksPath={os.devnull}"


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What a remote said: commits by branch, and the name of its default branch (empty where it has none)."""

    tips: Mapping[str, str]
    default: str


@dataclass(slots=True)
class Desk:
    """A folder of lockgrid's own: ``tree`` holds the files of a commit, ``index`` is git's index of them."""

    folder: Path
    tree: Path = field(init=False)
    index: Path = field(init=False)

    def __post_init__(self) -> None:
        self.tree = self.folder / "tree"
        self.index = self.folder / "index"


class Repository:
    """The repository that holds ``project``. ``prefix`` is where in it, with a ``/`` at its end, or empty.

    Raises ``InputError`` where there is none, ``ToolError`` where git is missing.
    """

    def __init__(self, project: Path, environ: Mapping[str, str]) -> None:
        self._binary = find_tool("git", environ, _INSTALL)
        self._environ = git_environ(environ)
        self._project = project
        asked = self._start(["rev-parse", "--absolute-git-dir", "--show-prefix"], cwd=project)
        if asked.code:
            what = f"{project.resolve()} is in no git repository that git would use: {asked.line}"
            raise _wrong("--commit", what, "run it in a clone")
        lines = asked.out.decode("utf-8", "surrogateescape").split("\n")
        self.git_dir = lines[0]
        self.prefix = lines[1]

    # -- asking ------------------------------------------------------------------------------------------

    def check_identity(self) -> None:
        """Raise ``InputError`` where git does not know whom to name as author and committer."""
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self._git("var", name).code:
                hint = "git config user.name and user.email, or GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL and so on"
                raise _wrong("--commit", "git knows no name and address to commit with", hint)

    def check_branch(self, name: str) -> None:
        """Raise ``InputError`` where ``name`` can be no branch, or is checked out in some work tree."""
        if name.startswith("-") or self._git("check-ref-format", f"refs/heads/{name}").code:
            raise _wrong("--branch", f"{printable(name)!r} can be no branch", "such as lockgrid/refresh")
        where = self._text("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{name}").strip()
        if where:
            hint = "switch to another branch there"
            raise _wrong("--branch", f"{name} is checked out in {where}, and would change under it", hint)

    def resolve(self, revision: str) -> str | None:
        """The commit that a revision means here; None where it means none."""
        if revision.startswith("-"):
            return None
        asked = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return asked.out.decode().strip() if asked.code == 0 else None

    def branch(self, name: str) -> str | None:
        """The commit at which a local branch stands."""
        return self.resolve(f"refs/heads/{name}")

    def commit(self, name: str) -> Commit:
        """A commit by its full object name. Raises ``ToolError`` where it is not here."""
        raw = self._output("cat-file", "commit", name).decode("utf-8", "replace")
        head, _, message = raw.partition("\n\n")
        fields = [line.split(" ", 1) for line in head.split("\n") if " " in line and not line.startswith(" ")]
        parents = tuple(value for key, value in fields if key == "parent")
        named = dict(fields)
        author = printable(named["author"].partition(" <")[0])
        return Commit(id=name, tree=named["tree"], parents=parents, author=author, message=message)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether ``new`` holds ``old``."""
        return self._git("merge-base", "--is-ancestor", old, new).code == 0

    def differing(self, old: str, new: str) -> list[str]:
        """The paths, from the top of the repository, in which two trees or commits differ."""
        listed = self._output("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        return [path.decode("utf-8", "surrogateescape") for path in listed.split(b"\0") if path]

    def blob(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file in a tree or commit; None where it is not there."""
        asked = self._git("cat-file", "blob", f"{tree}:{path}")
        return asked.out if asked.code == 0 else None

    # -- a remote ----------------------------------------------------------------------------------------

    def remote_state(self, remote: str, branches: Iterable[str]) -> RemoteState:
        """Where ``branches`` and the default branch stand at a remote. Raises ``InputError`` or ``ToolError``."""
        if remote.startswith("-") or not remote:
            raise _wrong("--push", f"{printable(remote)!r} is no remote", "such as origin")
        wanted = [f"refs/heads/{name}" for name in branches]
        asked = self._git("ls-remote", "--symref", remote, "HEAD", *wanted, limit=_REMOTE_SECONDS)
        if asked.code:
            raise ToolError(
                f"git cannot reach the remote: {asked.line}",
                where=_without_login(remote),
                next_step="check its address (`git remote -v`), the network and the rights of whoever runs this",
            )
        tips: dict[str, str] = {}
        default = head = ""
        for line in asked.out.decode("utf-8", "replace").splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: refs/heads/") and name == "HEAD":
                default = value.removeprefix("ref: refs/heads/")
            elif name == "HEAD":
                head = value
            elif name in wanted:
                tips[name.removeprefix("refs/heads/")] = value
        if default and head:
            tips[default] = head
        return RemoteState(tips, default)

    def fetch(self, remote: str, tips: Mapping[str, str]) -> None:
        """Get the commits of branches; no ref is moved. Raises ``ToolError`` where one has moved meanwhile."""
        missing = {name: tip for name, tip in tips.items() if not self.resolve(tip)}
        if not missing:
            return
        quiet = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="]
        refs = [f"refs/heads/{name}" for name in missing]
        ran = self._git("fetch", *quiet, remote, *refs, limit=_REMOTE_SECONDS)
        if ran.code:
            raise ToolError(f"git fetch failed: {ran.line}", where=_without_login(remote), next_step="run it again")
        for name, tip in missing.items():
            if not self.resolve(tip):
                raise ToolError(f"{name} has moved at the remote meanwhile", next_step="run it again")

    def push(self, remote: str, branch: str, new: str | None, expected: str | None) -> None:
        """Set a branch of the remote to ``new`` (None: delete it) if it stands at ``expected`` (None: nowhere).

        The remote does it in one step or not at all. Raises ``ToolError`` where it refuses.
        """
        ref = f"refs/heads/{branch}"
        lease = f"--force-with-lease={ref}:{expected or ''}"
        options = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no", lease]
        ran = self._git("push", *options, remote, f"{new or ''}:{ref}", limit=_REMOTE_SECONDS, hooks=True)
        if ran.code == 0:
            return
        said = next((line for line in ran.out.decode("utf-8", "replace").splitlines() if line.startswith("!")), "")
        if "stale info" in said or "already exists" in said:
            raise ToolError(
                "somebody else pushed to the branch meanwhile, and nothing of theirs was touched",
                where=f"{branch} on {_without_login(remote)}",
                next_step="run it again: it looks at what they did first",
            )
        what = printable(said.rpartition("\t")[2]) or ran.line
        raise ToolError(
            f"the remote refused the branch: {what}",
            where=f"{branch} on {_without_login(remote)}",
            next_step="check the rights of whoever runs this, and the remote's rules for branches",
        )

    # -- writing -----------------------------------------------------------------------------------------

    def lay_out(self, commit: str, desk: Desk) -> None:
        """Put the files of a commit into ``desk.tree``, as a checkout would, and into its index.

        The folder is a repository too, at that commit and without a remote, so that a program in it that asks git what
        is versioned gets the answer that it would get in a clone. It borrows the objects.
        """
        desk.tree.mkdir(parents=True)
        self._at_desk(desk, "read-tree", commit)
        self._at_desk(desk, "checkout-index", "--all", "--force")
        own = desk.tree / ".git"
        self._checked(self._start(["init", "--quiet", "--template=", str(desk.tree)]), "init")
        objects = Path(self._text("rev-parse", "--path-format=absolute", "--git-path", "objects").rstrip("\n"))
        (own / "objects/info").mkdir(exist_ok=True)
        (own / "objects/info/alternates").write_text(f"{objects}\n", encoding="utf-8", errors="surrogateescape")
        shallow = Path(self._text("rev-parse", "--path-format=absolute", "--git-path", "shallow").rstrip("\n"))
        if shallow.is_file():
            shutil.copyfile(shallow, own / "shallow")
        shutil.copyfile(desk.index, own / "index")
        (own / "HEAD").write_text(f"{commit}\n", encoding="ascii")

    def write_tree(self, desk: Desk, paths: Iterable[str]) -> str:
        """The tree of the commit that was laid out, with the files ``paths`` as they are in ``desk.tree`` now."""
        listed = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self._at_desk(desk, "update-index", "--add", "--remove", "-z", "--stdin", given=listed)
        return self._at_desk(desk, "write-tree").decode().strip()

    def make_commit(self, tree: str, parent: str, message: str) -> str:
        """Write a commit; no branch knows it yet. Signed where git's settings say that commits are."""
        signed = self._git("config", "--type=bool", "commit.gpgSign").out.strip() == b"true"
        words = ["commit-tree", *(["-S"] if signed else []), "-p", parent, "-F", "-", tree]
        return self._output(*words, given=message.encode()).decode().strip()

    def set_branch(self, name: str, new: str | None, old: str | None) -> None:
        """Move a local branch from ``old`` (None: there is none) to ``new`` (None: delete it), in one step.

        Raises ``ToolError`` where it is not at ``old`` any more.
        """
        ref, nowhere = f"refs/heads/{name}", "0" * len(new or old or "")
        words = [ref, new, old or nowhere] if new else ["-d", ref, old or ""]
        ran = self._git("update-ref", "-m", "lockgrid refresh", *words)
        if ran.code:
            raise ToolError(f"cannot be moved: {ran.line}", where=name, next_step="run it again")

    # -- running git -------------------------------------------------------------------------------------

    def _git(self, *words: str, given: bytes = b"", limit: float = _LOCAL_SECONDS, hooks: bool = False) -> Ran:
        return self._start([f"--git-dir={self.git_dir}", *words], given=given, limit=limit, hooks=hooks)

    def _output(self, *words: str, given: bytes = b"") -> bytes:
        return self._checked(self._git(*words, given=given), words[0])

    def _checked(self, ran: Ran, verb: str) -> bytes:
        if ran.code:
            raise ToolError(f"git {verb} failed: {ran.line}", where=self.git_dir)
        return ran.out

    def _text(self, *words: str) -> str:
        return self._output(*words).decode("utf-8", "replace")

    def _at_desk(self, desk: Desk, *words: str, given: bytes = b"") -> bytes:
        extra = {"GIT_INDEX_FILE": str(desk.index.resolve())}
        place = [f"--git-dir={self.git_dir}", f"--work-tree={desk.tree.resolve()}"]
        return self._checked(self._start([*place, *words], given=given, cwd=desk.tree, extra=extra), words[0])

    def _start(
        self,
        words: list[str],
        *,
        cwd: Path | None = None,
        given: bytes = b"",
        extra: Mapping[str, str] | None = None,
        limit: float = _LOCAL_SECONDS,
        hooks: bool = False,
    ) -> Ran:
        settings = [*_SETTINGS, *([] if hooks else [_NO_HOOKS])]
        command = [self._binary, "--no-pager", *(word for one in settings for word in ("-c", one)), *words]
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd or self._project,
                env={**self._environ, **(extra or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name != "nt",
            )
        except OSError as error:
            raise ToolError(f"git cannot be run: {error}", next_step=_INSTALL) from error
        try:
            out, said = process.communicate(given, timeout=limit)
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"git took more than {limit:.0f} s and was ended: {words[-1]}") from error
        finally:
            _end(process)
        return Ran(process.returncode, out, said.decode("utf-8", "replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a git that still runs, as on Ctrl-C. Asked to end, it first removes what it holds locked."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    if process.poll() is None:
        process.kill()


def _without_login(remote: str) -> str:
    """A remote as it may be shown: a URL may hold a password."""
    scheme, slashes, rest = remote.partition("://")
    return printable(f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else remote)


def _wrong(key: str, what: str, hint: str) -> InputError:
    return InputError([Problem(file="command line", key=key, what=what, hint=hint)])
