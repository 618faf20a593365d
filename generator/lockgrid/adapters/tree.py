"""A source tree that lockgrid does not own: named files of it are read, and rewritten all together or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lockgrid.adapters.store import Store
from lockgrid.errors import InputError, Problem

_LARGEST = 16 << 20  # bytes


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file that was read: ``path`` is its own below the root, whatever link or spelling led to it."""

    path: str
    text: str


class Tree:
    """The files below ``root``, by relative path with ``/``."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError([Problem(file=str(root), what="there is no such folder")])
        self.root = root.resolve()
        self._read: dict[tuple[int, int] | Path, TreeFile | str] = {}
        self._folders: dict[str, Path | None] = {}

    def read(self, path: str) -> TreeFile | str:
        """A file, or a word on why it cannot be a copy: missing, no file, out of the tree, too large, not UTF-8.

        A file that is named twice is read once; its line ends and its byte order mark are kept.
        """
        try:
            resolved = self._resolve(path)
            if resolved is None:
                return "this leads out of the tree"
            found = resolved.stat()
            if not stat.S_ISREG(found.st_mode):
                return "this is no file"
            if found.st_size > _LARGEST:
                return f"this file has {found.st_size >> 20} MB, and {_LARGEST >> 20} are read"
            # Where a system gives no numbers to files (st_ino is 0), each path is a file of its own.
            key = (found.st_dev, found.st_ino) if found.st_ino else resolved
            if key not in self._read:
                self._read[key] = _decoded(resolved.relative_to(self.root).as_posix(), resolved.read_bytes())
            return self._read[key]
        except (FileNotFoundError, NotADirectoryError):
            return "there is no such file"
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: links in a circle
            return f"cannot be read: {getattr(error, 'strerror', None) or error}"

    def _resolve(self, path: str) -> Path | None:
        """The file behind a path, links followed; None where that is not in the tree."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            real = (self.root / folder).resolve()
            self._folders[folder] = real if real.is_relative_to(self.root) else None
        inside = self._folders[folder]
        if inside is None:
            return None
        file = inside / name
        if not file.is_symlink():
            return file
        file = file.resolve()
        return file if file.is_relative_to(self.root) else None

    def replace(self, texts: Mapping[str, str]) -> None:
        """Write files that were read, by their own paths: all of them or, on any error, none. Raises ``ToolError``.

        Each keeps its permissions. Raises ``InputError`` for one that may not be written.
        """
        self.check_writable(texts)
        Store(self.root).replace(texts)

    def check_writable(self, paths: Iterable[str]) -> None:
        """Raise ``InputError`` for files that were read and may not be written."""
        problems = [
            Problem(file=path, what="this file is read-only", hint="nothing was changed")
            for path in paths
            if not os.access(self.root / path, os.W_OK)
        ]
        if problems:
            raise InputError(problems)


def _decoded(path: str, data: bytes) -> TreeFile | str:
    try:
        return TreeFile(path, data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line} is not UTF-8, and nothing else is read or rewritten"
