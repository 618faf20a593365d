"""What can go wrong, said once: what happened, where, what to do next, and the exit code.

Exit codes (DESIGN.md): 2 the input is wrong, 3 unsatisfiable, 4 a tool, an index or the network failed
or bytes did not match their hash. Exit code 1, "out of date", is a result and not an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class LockgridError(Exception):
    """Base of every error that lockgrid raises on purpose; the command line prints it without a traceback.

    ``what`` happened, ``where`` (a file and key, a package, a URL without credentials; may be empty) and
    ``next_step``, what the user can do about it (may be empty).
    """

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  next: {self.next_step}" if self.next_step else head


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of the input: ``file`` relative to the project, ``key`` in it, ``what``, and a ``hint``."""

    file: str
    key: str = ""
    what: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        tail = f" ({self.hint})" if self.hint else ""
        return f"{where}: {self.what}{tail}"


class InputError(LockgridError):
    """The input is wrong. Holds every problem of every file, so that one run shows them all."""

    exit_code = 2

    def __init__(self, problems: list[Problem] | tuple[Problem, ...], *, next_step: str = "") -> None:
        unique = dict.fromkeys(problems)
        self.problems = tuple(sorted(unique, key=lambda p: (p.file, p.key, p.what)))
        super().__init__("\n".join(str(problem) for problem in self.problems), next_step=next_step)


class UnsatisfiableError(LockgridError):
    """No set of versions meets the requirements; ``reasons`` are the blockers as sentences, where they are known."""

    exit_code = 3

    def __init__(self, what: str, *, where: str = "", next_step: str = "", reasons: Sequence[str] = ()) -> None:
        super().__init__(what, where=where, next_step=next_step)
        self.reasons = tuple(reasons)


class ToolError(LockgridError):
    """uv, an index, the network, or the disk failed."""

    exit_code = 4


class FailingError(ToolError):
    """A test command fails, and no update is to blame."""


class HashMismatchError(ToolError):
    """Bytes did not match the hash that was promised for them."""
