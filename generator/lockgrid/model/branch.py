"""What a run proposes to a repository, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

#: The branch of proposals, where none is named.
DEFAULT_BRANCH = "lockgrid/refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as git stores it: full object names, ``author`` as a name alone, ``message`` with its trailers."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a branch.

    ``state``: ``opened`` (there was no such branch), ``updated``, ``same`` (it held this content on this base already),
    ``closed`` (the base has caught up: the branch is gone) or ``none`` (nothing to propose, and no branch).
    ``commit`` and ``title`` are empty where there is no branch (any more); ``remote`` where nothing was pushed.
    """

    state: str
    branch: str
    base: str
    remote: str = ""
    commit: str = ""
    title: str = ""
