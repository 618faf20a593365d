"""A folder of wheels and sdists as an index: what it holds of a project, read from the disk and from nowhere else.

A folder tells no upload times (proof 3 lets pass what ``locks/`` has by its hash) and no yanks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename

from lockgrid.adapters import pages
from lockgrid.adapters.cache import Cache
from lockgrid.adapters.disk import disk_error, hash_of
from lockgrid.adapters.uvfolders import file_url
from lockgrid.model.index import Page

# The kind of the cache.
_HASH = "file-hash"


@cache
def project_of(filename: str) -> str:
    """The normalised name of the project that a file is of, empty for what is neither wheel nor sdist."""
    if filename.endswith(".whl"):
        return canonicalize_name(filename.partition("-")[0])
    try:
        return parse_sdist_filename(filename)[0]
    except InvalidSdistFilename:
        return ""


def listing(folder: Path) -> dict[str, list[Path]]:
    """The wheels and sdists of a folder (not of those below it) by project, sorted. Raises ``ToolError``."""
    found: dict[str, list[Path]] = {}
    try:
        for path in sorted(folder.iterdir()):
            if (name := project_of(path.name)) and path.is_file():
                found.setdefault(name, []).append(path)
    except OSError as error:
        raise disk_error(folder, error) from error
    return found


class Folders:
    """Pages of folders. A hash is kept as long as path, size and time of the file stay; ``anew``: it is made again."""

    def __init__(self, kept: Cache, clock: Callable[[], float], *, anew: bool = False) -> None:
        self._kept = kept
        self._clock = clock
        self._anew = anew
        self._listings: dict[Path, dict[str, list[Path]]] = {}

    def page(self, name: str, folders: Sequence[Path]) -> Page:
        """What the folders, taken together, hold of a project; of a file name that several have, the first one's.

        Raises ``ToolError`` where a folder or a file cannot be read.
        """
        paths: dict[str, Path] = {}
        for folder in folders:
            if folder not in self._listings:
                self._listings[folder] = listing(folder)
            for path in self._listings[folder].get(name, ()):
                paths.setdefault(path.name, path)
        if not paths:
            return Page(name=name, missing=True)
        return pages.local_page(name, self._rows(paths.values()))

    def _rows(self, paths: Iterable[Path]) -> list[tuple[str, str, str, int]]:
        try:
            stats = {path: path.stat() for path in paths}
        except OSError as error:
            raise disk_error(next(iter(paths)), error) from error
        keys = {path: f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats.items()}
        known = {} if self._anew else self._kept.get(_HASH, keys.values())
        hashes = {path: known[key].decode() if key in known else hash_of(path) for path, key in keys.items()}
        fresh = {key: hashes[path].encode() for path, key in keys.items() if key not in known}
        self._kept.put(_HASH, fresh, now=self._clock())
        return [(path.name, file_url(path), hashes[path], stat.st_size) for path, stat in stats.items()]
