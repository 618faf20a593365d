"""What the tests of this folder ask of the real index."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from lockgrid.core.lockfile import parse_lockfile
from lockgrid.model.index import IndexFile, Page

ROOT = Path(__file__).parents[2]


class Asked(Protocol):
    """The real index. ``untested``: what is not tested where it cannot be reached, for the skipped test's reason."""

    def pages(self, names: set[str], untested: str) -> dict[str, Page]:
        """Project pages by normalised name."""

    def fetch(self, file: IndexFile, untested: str) -> Path:
        """A whole file, checked against the sha256 of the page that names it."""


def locked_wheel(name: str, platform: str, page: Page) -> IndexFile:
    """The wheel of the project that the lockfiles of the platform pin for the newest Python.

    Raises ``LookupError`` where none pins it, or the page does not list it.
    """
    hashes = {
        sha256
        for path in (ROOT / "locks").glob(f"*/{platform}.txt")
        for pin in parse_lockfile(str(path), path.read_text(encoding="utf-8")).pins
        if pin.name == name
        for sha256 in pin.hashes
    }
    found = [file for files in page.releases.values() for file in files if file.is_wheel and file.sha256 in hashes]
    if not found:
        raise LookupError(f"no lockfile of {platform} pins a wheel of {name} that the index lists")
    return max(found, key=_newest)


def _newest(file: IndexFile) -> tuple[Version, int, str]:
    _, version, _, tags = parse_wheel_filename(file.filename)
    minor = max((int(tag.interpreter[3:] or 0) for tag in tags if tag.interpreter.startswith("cp3")), default=0)
    return version, minor, file.filename
