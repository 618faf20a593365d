"""The files that a project keeps its requirements in: found, and read as bytes."""

from __future__ import annotations

import re
from pathlib import Path

_PATTERNS = (
    "pyproject.toml",
    *(f"{stem}.{end}" for stem in ("requirements*", "*-requirements", "*_requirements") for end in ("txt", "in")),
    "requirements/*.txt",
    "requirements/*.in",
)
_BOUNDS = re.compile(r"(?i)constraint")
#: Files that name requirements in ways that are not read.
_UNREAD = ("setup.cfg", "setup.py", "Pipfile", "environment.yml", "environment.yaml")


class Inputs:
    """The files below ``root``, by relative path with ``/``; absolute ones as they are."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises ``OSError``."""
        return (self.root / path).read_bytes()

    def find(self) -> list[str]:
        """``pyproject.toml`` first, then the requirements files of the usual names, without those of constraints."""
        found: dict[str, None] = {}
        for pattern in _PATTERNS:
            for path in sorted(self.root.glob(pattern)):
                if path.is_file() and not _BOUNDS.search(path.name):
                    found.setdefault(path.relative_to(self.root).as_posix())
        return list(found)

    def unread(self) -> list[str]:
        """Files that may name requirements too, and that nobody reads."""
        return [name for name in _UNREAD if (self.root / name).is_file()]
