"""What lockgrid remembers between runs, in one SQLite file: project pages for minutes, METADATA for ever.

Losing the cache loses time and nothing else, so a broken file is thrown away. A file that is only locked or
cannot be written is somebody else's good one, and stays.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lockgrid.errors import ToolError

# Raised when what is kept, or how it is made, changes.
_SCHEMA = 6
# How long another run may hold the file.
_WAIT_SECONDS = 10.0


def cache_folder(environ: Mapping[str, str]) -> Path:
    """``$LOCKGRID_CACHE_DIR``, or the platform's place for caches."""
    if chosen := environ.get("LOCKGRID_CACHE_DIR"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("lockgrid", appauthor=False))


def unwritable(error: OSError) -> ToolError:
    """The error of a cache without which a verb cannot work."""
    return ToolError(f"the cache cannot be written: {error}", next_step="set LOCKGRID_CACHE_DIR to a folder that can")


class Cache:
    """Values by ``(kind, key)``, each with the time at which it was put, in seconds since the epoch.

    Where the folder cannot be written, or the file stays locked for ten seconds, the cache holds nothing, and
    everything is fetched anew.
    """

    def __init__(self, folder: Path) -> None:
        self._connection: sqlite3.Connection | None = None
        path = folder / f"cache-{_SCHEMA}.sqlite3"
        for _ in range(2):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._connection = _open(path)
                return
            except (sqlite3.OperationalError, OSError):
                return
            except sqlite3.DatabaseError:  # no database, or malformed
                with contextlib.suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, kind: str, keys: Iterable[str], *, newer_than: float = 0.0) -> dict[str, bytes]:
        """The values that are there and were put after ``newer_than``."""
        found: dict[str, bytes] = {}
        if self._connection is None:
            return found
        wanted = list(dict.fromkeys(keys))
        with contextlib.suppress(sqlite3.DatabaseError):
            for chunk in _chunks(wanted, 500):
                marks = ",".join("?" * len(chunk))
                rows = self._connection.execute(
                    f"select key, value from entries where kind = ? and put > ? and key in ({marks})",  # noqa: S608
                    (kind, newer_than, *chunk),
                )
                found.update(dict(rows))
        return found

    def put(self, kind: str, values: Mapping[str, bytes], *, now: float) -> None:
        """Keep the values; a full disk or a locked file is no error."""
        if self._connection is None or not values:
            return
        with contextlib.suppress(sqlite3.DatabaseError):
            self._connection.execute("begin immediate")
            self._connection.executemany(
                "insert or replace into entries values (?, ?, ?, ?)",
                [(kind, key, now, value) for key, value in values.items()],
            )
            self._connection.execute("commit")


def _open(path: Path) -> sqlite3.Connection:
    """The file with its table; on any error it is closed again, for Windows removes no file that is open."""
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = off")
        connection.execute(
            "create table if not exists entries "
            "(kind text, key text, put real, value blob, primary key (kind, key)) without rowid"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _chunks(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
