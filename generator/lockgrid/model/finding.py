"""A finding of proofs 4 and 5: something about the inside of wheels that no resolver sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]

#: The number of the rules that findings are made by: raised when the same wheels come to be judged otherwise.
RULES = 1

#: What a finding's name may begin with, and so what an ``[accept]`` may name (docs/audit.md explains each). Of one kind
#: all have one severity: who accepts a warning does not accept an error that comes later.
KINDS: dict[str, Severity] = {
    # of ``lockgrid advisories`` alone: no proof looks for it, so it decides nothing in a lock
    "advisory": "warning",
    # proof 4
    "any": "warning",
    "architecture": "error",
    "binary": "warning",
    "corrupt": "error",
    "cxxabi": "error",
    "encrypted": "error",
    "foreign": "warning",
    "gcc": "error",
    "glibc": "error",
    "glibc-private": "warning",
    "glibcxx": "error",
    "library": "warning",
    "machine": "error",
    "macos": "error",
    "unread": "warning",
    # proof 5
    "code-clash": "error",
    "dist-info": "error",
    "duplicate": "error",
    "entry-points": "warning",
    "file-clash": "warning",
    "generic": "warning",
    "guest": "warning",
    "member-path": "error",
    "record": "error",
    "shadow": "error",
    "size": "error",
    "stdlib": "warning",
    "symlink": "warning",
    "unlisted": "warning",
}
#: Those of proof 5; the others are of proof 4.
FILE_KINDS = frozenset(list(KINDS)[list(KINDS).index("code-clash") :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``name`` is what ``[accept]`` calls it: stable over versions of the package and of lockgrid.

    ``wheels`` are file names, sorted. ``files`` are paths in the wheels, the worst or the first ones before
    the others, at most ``FILES_SHOWN``; ``count`` says how many there are. ``needs`` says in one phrase what
    would have to hold, ``has`` what holds; both may be empty.
    """

    name: str
    severity: Severity
    wheels: tuple[str, ...]
    what: str
    files: tuple[str, ...] = ()
    count: int = 0
    needs: str = ""
    has: str = ""

    @property
    def kind(self) -> str:
        """The part of the name before the colon, one of ``KINDS``."""
        return self.name.partition(":")[0]

    @property
    def sort_key(self) -> tuple[bool, str, tuple[str, ...]]:
        """Errors before warnings, then by name."""
        return self.severity != "error", self.name, self.wheels


#: How many files a finding names; of the others it gives the number.
FILES_SHOWN = 5
