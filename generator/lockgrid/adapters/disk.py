"""Files on the disk: their hashes, and what is said where one cannot be read or written."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path

from lockgrid.errors import ToolError


def hash_of(path: Path) -> str:
    """The sha256 of a file in hexadecimal, empty where there is none. Raises ``ToolError``."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise disk_error(path, error) from error


def disk_error(path: Path, error: OSError) -> ToolError:
    """The error for a file that cannot be written or read; what is whole stays."""
    return ToolError(
        f"it cannot be written or read: {error.strerror or error}",
        where=str(path),
        next_step="free space or set permissions, then run again: what is complete is kept",
    )
