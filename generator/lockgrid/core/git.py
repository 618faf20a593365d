"""``[git]``: which URLs and commits may stand there, the digest of a commit's content, and what a built wheel says.

Every wheel that ``lockgrid build`` makes holds a file ``model.git.PROVENANCE`` in its .dist-info folder, which tells
what it was built from. RECORD covers it, and so does the sha256 that the lockfile pins: it goes where the wheel goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from lockgrid.model.git import Provenance, TreeFile

_PROVENANCE_SCHEMA = 1
# SHA-1, or SHA-256 where a repository was made with that.
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-fA-F]{4,63}")
_SCHEMES = ("https", "ssh", "file")
_WRITE = "write https://host/repository, ssh://git@host/repository or file:///path"

#: Where in an entry of [git], what is wrong, and what to do.
Fault = tuple[str, str, str]


def is_commit(rev: str) -> bool:
    """Whether this is a commit with all its digits."""
    return _COMMIT.fullmatch(rev) is not None


def is_short(rev: str) -> bool:
    """Whether this may be the beginning of a commit; a branch may be called so too."""
    return _SHORT.fullmatch(rev) is not None and not is_commit(rev)


def git_faults(url: str, rev: str, subdirectory: str) -> list[Fault]:
    """What is wrong with an entry of ``[git]``; no message repeats the URL, which may hold a password."""
    faults = []
    if fault := url_fault(url):
        faults.append(("url", *fault))
    if is_commit(rev.lower()) and not is_commit(rev):
        faults.append(("rev", f"{rev!r} is a commit in capital letters", f'write rev = "{rev.lower()}"'))
    elif not is_commit(rev):
        kind = "the beginning of a commit" if is_short(rev) else "a branch or a tag, which may move"
        what = f"{rev!r} is {kind}: a lock needs the commit with all its digits" if rev else "no commit is named"
        faults.append(("rev", what, REV_HINT))
    path = PurePosixPath(subdirectory)
    if subdirectory and (path.is_absolute() or ".." in path.parts or "\\" in subdirectory or ":" in subdirectory):
        faults.append(("subdirectory", "is no path inside of the repository", 'write "python" or "bindings/python"'))
    return faults


#: Where the commit cannot be looked up.
REV_HINT = "`git ls-remote URL BRANCH-OR-TAG` prints it, and in a clone `git rev-parse NAME^{commit}`"


def url_fault(url: str) -> tuple[str, str] | None:
    """Why git may not be given this URL, and what to do; None when it may.

    git would run a command for ``ext::``, and a helper by its name for every scheme that it does not know itself.
    """
    if not url:
        return "no URL is given", _WRITE
    if any(character.isspace() or not character.isprintable() for character in url):
        return "the URL holds a blank or a control character", _WRITE
    if "://" not in url.partition("::")[0]:
        what = "is not a URL with a scheme"
        if "::" in url:
            what = "names a helper of git, which may run any command"
        return what, _WRITE
    try:
        parts = urlsplit(url)
        host, user, password = parts.hostname or "", parts.username, parts.password
    except ValueError:
        return "is no URL", _WRITE
    if parts.scheme not in _SCHEMES:
        return f"the scheme {parts.scheme!r} is not taken", _WRITE
    if parts.query or parts.fragment:
        return "the URL of a repository has no query and no fragment", "give `rev` and `subdirectory` as keys"
    if password is not None or (user is not None and parts.scheme != "ssh"):
        return "the URL holds credentials", "leave them out: git asks its credential helper, or ssh its agent"
    if parts.scheme == "file":
        return None if not parts.netloc and parts.path.startswith("/") else ("is no path on this machine", _WRITE)
    if not host or host.startswith("-") or (user or "").startswith("-") or not parts.path.strip("/"):
        return "names no repository on a host", _WRITE
    return None


def tree_digest(files: Iterable[TreeFile]) -> str:
    """``sha256:...`` of paths, modes and content, which does not trust git's SHA-1."""
    digest = sha256()
    for file in sorted(files, key=lambda f: f.path):
        digest.update(f"{file.mode} {file.sha256} ".encode() + file.path + b"\0")
    return f"sha256:{digest.hexdigest()}"


def encode_provenance(value: Provenance) -> bytes:
    """The same provenance gives the same bytes."""
    document = {"schema": _PROVENANCE_SCHEMA, **asdict(value)}
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def decode_provenance(data: bytes) -> Provenance | None:
    """The inverse of ``encode_provenance``; None for what it did not write."""
    texts = ("rev", "subdirectory", "tree", "platform", "python", "build")
    try:
        document = json.loads(data)
        if document.pop("schema") != _PROVENANCE_SCHEMA:
            return None
        values: dict[str, Any] = {key: str(document[key]) for key in texts}
        values |= {key: tuple(map(str, document[key])) for key in ("requires", "pins")}
        return Provenance(**values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def build_digest(pins: Iterable[tuple[str, str, Iterable[str]]]) -> str:
    """``sha256:...`` of what a build may use: names, versions and the hashes that they may have."""
    lines = sorted(f"{name}=={version} {' '.join(sorted(hashes))}" for name, version, hashes in pins)
    return f"sha256:{sha256(chr(10).join(lines).encode()).hexdigest()}"
