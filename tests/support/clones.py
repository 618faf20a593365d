"""A bare repository on disk, the clone that lockgrid works in, and the clone of a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from support.repository import git

# Nobody's own settings, and the same names wherever it runs.
GIT_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A bot",
    "GIT_AUTHOR_EMAIL": "bot@example.com",
    "GIT_COMMITTER_NAME": "A bot",
    "GIT_COMMITTER_EMAIL": "bot@example.com",
}
_PERSON: Final = {
    "GIT_AUTHOR_NAME": "Ann Person",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann Person",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
}


@dataclass(frozen=True, slots=True)
class Clone:
    """A work tree, or a bare repository, in ``folder``."""

    folder: Path

    def git(self, *words: str, check: bool = True) -> str:
        """Run git here as a person; return what it printed, stripped. AssertionError where it fails."""
        return git(self.folder, *words, check=check, environ=_PERSON)

    def write(self, texts: Mapping[str, str]) -> Self:
        """Write files into the work tree."""
        for path, text in texts.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text, encoding="utf-8", newline="")
        return self

    def commit(self, message: str, texts: Mapping[str, str]) -> str:
        """Commit files to the current branch, and return the commit."""
        self.write(texts)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def tip(self, branch: str) -> str:
        """Return the commit of a branch here; empty where there is none."""
        return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False)

    def show(self, revision: str, path: str) -> str:
        """Return a committed file."""
        return self.git("show", f"{revision}:{path}")

    def state(self) -> dict[str, bytes]:
        """Return all bytes that a run must leave alone: the work tree, the index, HEAD and the settings."""
        names = ("index", "HEAD", "config", "packed-refs", "refs/heads/main")
        files = [path for path in self.folder.rglob("*") if path.is_file() and ".git" not in path.parts]
        files += [path for name in names if (path := self.folder / ".git" / name).exists()]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def locks(self) -> list[str]:
        """Return the lock files that git keeps while it writes: there is none when nobody does."""
        return sorted(
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*.lock") if "uv" not in path.name
        )


@dataclass(frozen=True, slots=True)
class Forge:
    """``remote`` is bare, ``clone`` is where lockgrid runs, ``person`` a clone of somebody else."""

    remote: Clone
    clone: Clone
    person: Clone

    @classmethod
    def make(cls, folder: Path, texts: Mapping[str, str]) -> Self:
        """Return three repositories below ``folder``; ``main`` holds the files."""
        for name in ("remote", "person"):
            (folder / name).mkdir(parents=True)
        remote, person = Clone(folder / "remote"), Clone(folder / "person")
        remote.git("init", "-q", "--bare", "-b", "main")
        person.git("init", "-q", "-b", "main")
        person.commit("Begin", texts)
        person.git("remote", "add", "origin", str(remote.folder))
        person.git("push", "-q", "-u", "origin", "main")
        person.git("clone", "-q", str(remote.folder), str(folder / "clone"))
        return cls(remote, Clone(folder / "clone"), person)

    def push(self, message: str, texts: Mapping[str, str], branch: str = "main") -> str:
        """Let the person push a commit to a branch; return it."""
        self.person.git("fetch", "-q", "origin")
        self.person.git("checkout", "-q", "-B", branch, f"origin/{branch}")
        commit = self.person.commit(message, texts)
        self.person.git("push", "-q", "origin", branch)
        return commit
