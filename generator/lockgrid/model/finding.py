"""A finding of proofs 4 and 5: something about the inside of wheels that no resolver sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]

#: The number of the rules that findings are made by: raised when the same wheels come to be judged otherwise.
RULES = 1

#: What a finding's name may begin with, and so what an ``[accept]`` may name (docs/audit.md explains each). An
#: advisory is found by `lockgrid advisories` alone: no proof looks for it, so it decides nothing in a lock.
KINDS = (
    "advisory", "any", "architecture", "binary", "corrupt", "cxxabi", "duplicate", "encrypted", "entry-points",
    "file-clash", "gcc", "glibc", "glibc-private", "glibcxx", "library", "machine", "macos", "member-path", "record",
    "shadow", "size", "symlink", "unlisted", "unread",
)  # fmt: skip
#: Those of proof 5; the others are of proof 4, but for advisories.
FILE_KINDS = frozenset(
    {"duplicate", "entry-points", "file-clash", "member-path", "record", "shadow", "size", "symlink", "unlisted"}
)


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
