"""Proposals: how a commit of lockgrid's own is known, what counts as the same content, how it is described."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from lockgrid.core.gridfile import PATH as GRID
from lockgrid.model.branch import Commit, Outcome

TRAILER = "Lockgrid-Refresh"
_SIGNED = re.compile(rf"(?s)(.*)\n\n{TRAILER}: (sha256:[0-9a-f]{{64}})\n*")
# What a later run with the same outcome writes anew: the cut-off, the day of a hold, digests of files with these in.
_DATED = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+Z)?\b|\bsha256:[0-9a-f]{64}")
_FILES = re.compile(r"(?:envs|locks)/.+|pyproject\.toml|README\.md")


def sign(message: str, tree: str, parent: str) -> str:
    """A commit message with the trailer by which ``is_own`` knows the commit of ``tree`` on ``parent``."""
    text = message.strip()
    return f"{text}\n\n{TRAILER}: {_digest(text, tree, (parent,))}\n"


def is_own(commit: Commit) -> bool:
    """Whether lockgrid made this commit, and nobody has changed its files, its parent or its message since.

    The parent of such a commit was the base at that time, so a branch that ends in one holds nothing of anybody else.
    """
    match = _SIGNED.fullmatch(commit.message)
    return match is not None and match[2] == _digest(match[1].strip(), commit.tree, commit.parents)


def _digest(message: str, tree: str, parents: Sequence[str]) -> str:
    text = "\n".join([f"tree {tree}", *(f"parent {parent}" for parent in parents), "", message])
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def foreign_files(paths: Sequence[str]) -> list[str]:
    """Those of the paths (relative to the project) that no refresh writes, but for copies of ``pins.toml``."""
    return [path for path in paths if not _FILES.fullmatch(path)]


def same_but_for_dates(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> bool:
    """Whether two trees pin the same, given the files in which they differ (by path in the project; None: absent).

    The cut-off of a resolution and the day of a hold say when a run was made, not what came out of it. Lockfiles hold
    neither, so any that differs makes a difference.
    """
    if not all(path == GRID or (path.startswith("envs/") and path.endswith(".toml")) for path in {*old, *new}):
        return False
    return {path: _undated(data) for path, data in old.items()} == {path: _undated(data) for path, data in new.items()}


def _undated(data: bytes | None) -> str | None:
    return None if data is None else _DATED.sub("", data.decode("utf-8", "replace"))


def outcome_line(outcome: Outcome) -> str:
    """One line for a person."""
    where = f"{outcome.branch} on {outcome.remote}" if outcome.remote else outcome.branch
    commit = outcome.commit[:12]
    return {
        "opened": f"{where}: opened, commit {commit} on {outcome.base}",
        "updated": f"{where}: rebuilt, commit {commit} on {outcome.base}",
        "same": f"{where}: holds this already, commit {commit} on {outcome.base}",
        "closed": f"{where}: removed, since {outcome.base} has caught up",
        "none": f"nothing to propose to {outcome.base}",
    }[outcome.state]


def outcome_as_json(outcome: Outcome) -> dict[str, str]:
    """The same for machines."""
    return {name: getattr(outcome, name) for name in ("state", "branch", "base", "remote", "commit", "title")}
