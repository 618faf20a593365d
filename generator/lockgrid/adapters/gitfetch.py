"""git: looks up commits, fetches a repository, and takes a commit's content out of it; runs nothing that it holds.

No hook, no filter (such as that of Git LFS), no submodule and no helper by the name of a scheme is run. Content is read
from git's objects, and not checked out: neither attributes nor the user's settings change a byte of it. How to reach a
host (credential helpers, proxies, ssh, ``url.<base>.insteadOf``) is taken from the user's own git settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from lockgrid.adapters.git import Git, Ran, read_batch
from lockgrid.adapters.printable import printable
from lockgrid.adapters.uvrun import scrub
from lockgrid.errors import ToolError
from lockgrid.model.git import TreeFile

_LIMIT_SECONDS = 900.0
# Only what git speaks itself: every other scheme is a helper, which may run anything.
_VARIABLES = {"GIT_ALLOW_PROTOCOL": "https:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_NO_REPLACE_OBJECTS": "1"}
_SETTINGS = (
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
)
_REF = re.compile(r"([0-9a-f]+)\t(refs/(?:heads|tags)/\S+)")
_LFS = b"version https://git-lfs.github.com/spec/v1"
_SUBMODULE, _LINK = "160000", "120000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of a commit: git's mode, the id of its content, its path."""

    mode: str
    id: str
    path: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The content of a commit, written to a folder, and what was left out of it."""

    files: tuple[TreeFile, ...]
    submodules: tuple[str, ...]
    pointers: tuple[str, ...]


class GitFetch:
    """git under the user's settings for the network. Raises ``ToolError``, with no credentials in what it says."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._git = Git(Path(), environ, settings=_SETTINGS, variables=_VARIABLES, limit=_LIMIT_SECONDS)

    def refs(self, url: str) -> dict[str, str]:
        """The commit of every branch and tag (``refs/heads/main``) of a repository; of a tag, what it points at."""
        found: dict[str, str] = {}
        for commit, ref in _REF.findall(self._text(["ls-remote", "--heads", "--tags", "--", url], url)):
            found[ref.removesuffix("^{}")] = commit  # the peeled line comes after the tag's own
        return found

    def fetch(self, url: str, mirror: Path, kind: str = "sha1") -> None:
        """Bring all branches and tags into ``mirror``, a bare repository that is made where there is none.

        ``kind``: which hash names its commits, ``sha1`` or ``sha256``.
        """
        if not (mirror / "HEAD").is_file():
            mirror.mkdir(parents=True, exist_ok=True)
            self._text(["init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(mirror)], url)
        words = ["fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--", url]
        self._text([*words, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], url, mirror)

    def commit(self, mirror: Path, name: str) -> str:
        """The commit that a name or the beginning of a commit stands for in a mirror, empty where there is none."""
        found = self._run(["rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"], mirror)
        return found.out.decode().strip() if found.code == 0 else ""

    def is_reachable(self, mirror: Path, rev: str) -> bool:
        """Whether a branch or a tag leads to the commit: what is cut off by rewriting is not, even where it lingers."""
        if self.commit(mirror, rev) != rev:
            return False
        words = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", rev, "refs/heads", "refs/tags"]
        return bool(self._text(words, rev, mirror).strip())

    def seconds(self, mirror: Path, rev: str) -> int:
        """When the commit was made, in seconds since the epoch."""
        return int(self._text(["show", "--no-patch", "--no-show-signature", "--format=%ct", rev], rev, mirror))

    def export(self, mirror: Path, rev: str, folder: Path, seconds: int) -> Exported:
        """Write the content of a commit into ``folder``, which must be new: links last, so none is written through.

        All are as old as ``seconds`` says, since the epoch: what a build makes anew may depend on which is older.
        A submodule stays an empty folder, and a file of Git LFS the pointer that the repository holds. Raises
        ``ToolError`` for a path or a link that leads out of the folder.
        """
        listed = self._text(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", rev], rev, mirror)
        entries = sorted(_entries(listed), key=lambda e: (e.mode == _LINK, e.path))
        folder.mkdir(parents=True)
        files, submodules, pointers = [], [], []
        blobs = self._blobs(mirror, [entry.id for entry in entries if entry.mode != _SUBMODULE])
        for entry in entries:
            path = _inside(folder, entry.path)
            if entry.mode == _SUBMODULE:
                path.mkdir(parents=True, exist_ok=True)
                submodules.append(_shown(entry.path))
                content = entry.id.encode()
            else:
                content = next(blobs)
                _write(folder, path, entry, content)
                _date(path, seconds)
                if content.startswith(_LFS):
                    pointers.append(_shown(entry.path))
            files.append(TreeFile(path=entry.path, mode=entry.mode, sha256=sha256(content).hexdigest()))
        return Exported(files=tuple(files), submodules=tuple(submodules), pointers=tuple(pointers))

    def _blobs(self, mirror: Path, ids: list[str]) -> Iterator[bytes]:
        """The contents by their ids, in order."""
        asked = "".join(f"{one}\n" for one in ids).encode()
        found = read_batch(self._checked(["cat-file", "--batch"], "the repository", mirror, asked))
        for one in ids:
            name, kind, content = next(found, (b"", b"", b""))
            if name.decode() != one or kind != b"blob":
                raise ToolError(f"git has no content {one}", next_step="run again; the mirror in the cache is broken")
            yield content

    def _text(self, words: list[str], where: str, mirror: Path | None = None) -> str:
        return self._checked(words, where, mirror).decode("utf-8", "surrogateescape")

    def _checked(self, words: list[str], where: str, mirror: Path | None = None, sent: bytes = b"") -> bytes:
        done = self._run(words, mirror, sent)
        if done.code != 0:
            said = scrub(done.said).strip().splitlines()
            raise ToolError(
                f"git {words[0]} failed: {printable(' '.join(said[-4:])) or f'exit code {done.code}'}",
                where=scrub(where),
                next_step="check the URL and the network; try `git ls-remote` on it",
            )
        return done.out

    def _run(self, words: list[str], mirror: Path | None = None, sent: bytes = b"") -> Ran:
        return self._git.run(*([f"--git-dir={mirror}"] if mirror else []), *words, given=sent)


def _entries(listed: str) -> Iterator[Entry]:
    """What ``git ls-tree -z`` printed."""
    for line in listed.split("\0")[:-1]:
        head, _, path = line.partition("\t")
        mode, _, identity = head.split(" ")
        yield Entry(mode=mode, id=identity, path=os.fsencode(path) if os.name != "nt" else path.encode())


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _inside(folder: Path, path: bytes) -> Path:
    """Where a file of a commit goes."""
    text = os.fsdecode(path)
    parts = text.split("/")
    strange = "\\" in text or ":" in text if os.name == "nt" else False
    if strange or any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise ToolError("the commit holds a path that leads out of its folder", where=_shown(path))
    return folder.joinpath(*parts)


def _write(folder: Path, path: Path, entry: Entry, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.resolve() != folder.resolve().joinpath(path.parent.relative_to(folder)):
        raise ToolError("the commit holds a path below a link", where=_shown(entry.path))
    if entry.mode == _LINK:
        target = os.fsdecode(content)
        aim = os.path.normpath((PurePosixPath(path.relative_to(folder).as_posix()).parent / target).as_posix())
        if PurePosixPath(target).is_absolute() or aim.split("/")[0] == "..":
            raise ToolError("the commit holds a link that leads out of it", where=_shown(entry.path))
        path.symlink_to(target)
        return
    with path.open("xb") as file:
        file.write(content)
    path.chmod(0o755 if entry.mode == "100755" else 0o644)


def _date(path: Path, seconds: int) -> None:
    """Make a file as old as that; a link where the system can."""
    if not path.is_symlink() or os.utime in os.supports_follow_symlinks:
        os.utime(path, (seconds, seconds), follow_symlinks=os.utime not in os.supports_follow_symlinks)
