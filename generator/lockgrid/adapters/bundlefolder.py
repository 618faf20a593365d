"""The folder of a bundle: what is in it, and its texts, each written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from lockgrid.adapters.disk import disk_error
from lockgrid.errors import InputError, Problem


class BundleFolder:
    """``root``, made if it is not there. Paths below it have slashes. Raises ``ToolError`` where the disk fails."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            problem = Problem(file=str(root), what="it is there, and no folder")
            raise InputError([problem], next_step="name a folder that is empty or new") from None
        except OSError as error:
            raise disk_error(root, error) from error

    def paths(self) -> list[str]:
        """Every file below the root, and every folder that is a link: nothing is followed."""
        found = []
        try:
            for folder, folders, names in os.walk(self.root, onerror=_raise):
                links = [name for name in folders if (Path(folder) / name).is_symlink()]
                found += [(Path(folder) / name).relative_to(self.root).as_posix() for name in (*names, *links)]
        except OSError as error:
            raise disk_error(self.root, error) from error
        return sorted(found)

    def read(self, path: str) -> str:
        """The text of a file, empty where there is none or it is no text."""
        try:
            return (self.root / path).read_bytes().decode()
        except (FileNotFoundError, UnicodeDecodeError):
            return ""
        except OSError as error:
            raise disk_error(self.root / path, error) from error

    def write(self, texts: Mapping[str, str]) -> None:
        """Write texts as they are, line ends and all; scripts of a shell can be run."""
        for path, text in texts.items():
            final = self.root / path
            beside = final.with_name(f"{final.name}.new")
            try:
                final.parent.mkdir(parents=True, exist_ok=True)
                beside.write_bytes(text.encode())
                beside.chmod(0o755 if path.endswith(".sh") else 0o644)
                beside.replace(final)
            except OSError as error:
                beside.unlink(missing_ok=True)
                raise disk_error(final, error) from error

    def move(self, source: Path, path: str) -> None:
        """Put a file of the same disk at a path."""
        final = self.root / path
        try:
            final.parent.mkdir(exist_ok=True)
            source.replace(final)
        except OSError as error:
            raise disk_error(final, error) from error

    def clear(self, keep: Collection[str]) -> None:
        """Remove every file but these, and what is then an empty folder."""
        for path in self.paths():
            if path not in keep:
                try:
                    (self.root / path).unlink()
                except OSError as error:
                    raise disk_error(self.root / path, error) from error
        for folder in [p for p in self.root.iterdir() if p.is_dir()]:
            if not any(p.is_file() for p in folder.rglob("*")):
                shutil.rmtree(folder, ignore_errors=True)

    def size(self) -> int:
        """In bytes, of all files."""
        return sum((self.root / path).stat().st_size for path in self.paths())


def _raise(error: OSError) -> None:
    raise error
