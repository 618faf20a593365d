"""A finding of proofs 4 and 5: something about the inside of wheels that no resolver sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]

#: What a finding's name may begin with, and so what an ``[accept]`` may name (docs/audit.md explains each).
KINDS = (
    "any", "architecture", "binary", "corrupt", "cxxabi", "duplicate", "encrypted", "entry-points", "file-clash", "gcc",
    "glibc", "glibc-private", "glibcxx", "library", "machine", "macos", "member-path", "record", "shadow", "size",
    "symlink", "unlisted", "unread",
)  # fmt: skip


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
    def sort_key(self) -> tuple[bool, str, tuple[str, ...]]:
        """Errors before warnings, then by name."""
        return self.severity != "error", self.name, self.wheels


#: How many files a finding names; of the others it gives the number.
FILES_SHOWN = 5
