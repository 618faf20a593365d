"""The only place that reads git: what the files of a project were at a revision. It writes nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lockgrid.adapters.printable import printable
from lockgrid.adapters.tools import find_tool
from lockgrid.errors import InputError, Problem, ToolError

_LIMIT_SECONDS = 300.0
_INSTALL = "install git, or name a folder with the other locks instead of a revision"
# A hook's or another git's variables say which repository, index and objects are meant, and another one is meant here.
# These only say who the user is, how to reach a remote, and which settings of his own hold.
_KEPT = (
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_VALUE_",
    "GIT_EXEC_PATH",
    "GIT_PROXY_SSL_",
    "GIT_SSH",
    "GIT_SSL_",
)
# Nothing that a repository's own settings name is run.
_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false", "log.showSignature=false")
_FILES = frozenset({"100644", "100755"})


def find_git(environ: Mapping[str, str]) -> str:
    """The git to run: ``$LOCKGRID_GIT``, or the first on PATH. Raises ``ToolError`` when there is none."""
    return find_tool("git", environ, _INSTALL)


def git_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What git shall see of the environment: no other repository, English, no pager, no questions, no locks."""
    kept = {k: v for k, v in environ.items() if not k.upper().startswith("GIT_") or k.upper().startswith(_KEPT)}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }


@dataclass(frozen=True, slots=True)
class Ran:
    """What one git run came to: its exit code, what it printed, what it said."""

    code: int
    out: bytes
    said: str

    @property
    def line(self) -> str:
        """The first line that it said, fit for a message."""
        return printable(next((line for line in self.said.splitlines() if line.strip()), "").removeprefix("fatal: "))


class Git:
    """The repository that ``folder`` (a project, at the top or below it) stands in.

    ``settings`` (``name=value``) and ``variables`` hold further to those of all runs; ``limit`` in seconds for one run.
    Raises ``ToolError`` where there is no git.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        settings: Iterable[str] = (),
        variables: Mapping[str, str] | None = None,
        limit: float = _LIMIT_SECONDS,
    ) -> None:
        self.folder = folder
        self._binary = find_git(environ)
        self._environ = {**git_environ(environ), **(variables or {})}
        self._settings = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
        self._limit = limit

    def run(self, *words: str, given: bytes = b"") -> Ran:
        """Run git in the folder, without a shell. Raises ``ToolError`` where it cannot be run or does not end."""
        try:
            done = subprocess.run(
                [self._binary, "--no-pager", *self._settings, *words],
                cwd=self.folder,
                env=self._environ,
                input=given,
                capture_output=True,
                timeout=self._limit,
                check=False,
            )
        except OSError as error:
            raise ToolError(f"git cannot be run: {error}", next_step=_INSTALL) from error
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"git {words[0]} took more than {self._limit:.0f} s and was ended") from error
        return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def resolve(self, revision: str) -> str:
        """The full name of the commit that a revision means. Raises ``InputError`` where it means none."""
        if not revision or revision.startswith("-") or not revision.isprintable():
            raise _unknown(revision, "is no revision", "name a branch, a tag or a commit")
        ran = self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        if ran.code == 0:
            return ran.out.decode().strip()
        if "not a git repository" in ran.said:
            what = f"{self.folder.resolve()} is in no git repository"
            raise _unknown(revision, what, "name a folder with the other locks instead of a revision")
        if "dubious ownership" in ran.said:
            what = "git does not trust the repository, since another user owns it"
            raise _unknown(revision, what, f"git config --global --add safe.directory {self.folder.resolve()}")
        if ran.code != 1:
            raise ToolError(f"git failed: {ran.line}", where=str(self.folder))
        shallow = self.run("rev-parse", "--is-shallow-repository").out.strip() == b"true"
        hint = "this clone is shallow: `git fetch --unshallow`, or fetch-depth: 0 in a workflow" if shallow else ""
        raise _unknown(revision, "is no revision of this repository", hint or "`git log --all` lists those there are")

    def blobs(self, revision: str, under: Iterable[str] = ("envs", "locks")) -> dict[str, bytes]:
        """The files below the folders ``under`` (or these files) as committed: by path relative to the project.

        Symbolic links and submodules are no files. Raises ``InputError`` for a revision that there is not, and
        ``ToolError`` where objects are missing.
        """
        commit = self.resolve(revision)
        listed = self.run("ls-tree", "-r", "-z", commit, "--", *under)
        if listed.code:
            raise ToolError(f"git cannot list the files of {revision}: {listed.line}", where=str(self.folder))
        names: dict[str, bytes] = {}
        for entry in listed.out.split(b"\0"):
            about, _, path = entry.partition(b"\t")
            if about[:6].decode() in _FILES:
                names[path.decode("utf-8", "surrogateescape")] = about.split()[2]
        found = self._contents(names.values()) if names else {}
        return {path: found[name] for path, name in names.items()}

    def _contents(self, names: Iterable[bytes]) -> dict[bytes, bytes]:
        """The bytes of objects by their names; no filter and no converter touches them."""
        wanted = list(dict.fromkeys(names))
        ran = self.run("cat-file", "--batch", given=b"".join(name + b"\n" for name in wanted))
        found = {name: content for name, _, content in read_batch(ran.out)}
        if ran.code or len(found) < len(wanted):
            what = "objects of the revision are missing" + (f": {ran.line}" if ran.line else "")
            raise ToolError(what, where=str(self.folder), next_step="`git fsck` tells what is wrong with this clone")
        return found

    def files(self, revision: str, under: Iterable[str] = ("envs", "locks")) -> dict[str, str]:
        """The same as text. What is no UTF-8 is left out, or an ``InputError`` where it ought to be text."""
        texts = {}
        for path, data in self.blobs(revision, under).items():
            try:
                texts[path] = data.decode()
            except UnicodeDecodeError as error:
                if path.endswith((".toml", ".txt")):
                    problem = Problem(file=f"{revision}:{path}", what=f"cannot be read: {error}")
                    raise InputError([problem]) from error
        return texts

    def unmerged(self, under: Iterable[str] = ("locks",)) -> dict[str, Mapping[int, bytes]]:
        """The files below ``under`` that a merge left in conflict: by path, what each stage of the index has.

        Stage 1 is the common base, 2 our side, 3 theirs; a side without the file has no stage. Empty outside of a
        repository.
        """
        listed = self.run("ls-files", "--unmerged", "-z", "--", *under)
        entries = [entry.partition(b"\t") for entry in listed.out.split(b"\0") if entry] if listed.code == 0 else []
        files = [(path.decode("utf-8", "surrogateescape"), about.split()) for about, _, path in entries]
        found = self._contents(about[1] for _, about in files) if files else {}
        stages: dict[str, dict[int, bytes]] = {}
        for path, about in files:
            stages.setdefault(path, {})[int(about[2])] = found[about[1]]
        return dict(stages)


def read_batch(out: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Name, kind and content of each object that ``git cat-file --batch`` printed, up to the first that is missing."""
    at = 0
    while at < len(out):
        start = out.index(b"\n", at) + 1
        words = out[at:start].split()
        if len(words) != 3:  # "<name> missing"
            return
        end = start + int(words[2])
        yield words[0], words[1], out[start:end]
        at = end + 1


def _unknown(revision: str, what: str, hint: str) -> InputError:
    return InputError([Problem(file="git", key=printable(revision) or "''", what=what, hint=hint)])
