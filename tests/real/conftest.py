"""Files of the real index, found and fetched by lockgrid itself. Where it cannot be reached, tests are skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import Uv, find_uv
from lockgrid.adapters.uvconfig import read_config
from lockgrid.errors import HashMismatchError, ToolError
from lockgrid.model.index import IndexFile, Page
from real.asked import ROOT, Asked


class _Asked:
    """See ``Asked``."""

    def __init__(self, index: Index, folder: Path) -> None:
        self._index = index
        self._folder = folder

    def pages(self, names: set[str], untested: str) -> dict[str, Page]:
        """Project pages by name."""
        try:
            return self._index.pages(names)
        except ToolError as error:
            pytest.skip(f"the index cannot be reached, so {untested} ({error.what})")

    def fetch(self, file: IndexFile, untested: str) -> Path:
        """A whole file, checked against the sha256 of the page that names it."""
        path = self._folder / file.filename
        if path.is_file():
            return path
        try:
            path.write_bytes(self._index.download(file))
        except HashMismatchError:
            raise
        except ToolError as error:
            pytest.skip(f"{file.filename} cannot be fetched, so {untested} ({error.what})")
        return path


@pytest.fixture(scope="session")
def real_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The indexes that uv would ask in this repository, with a cache of their own."""
    cache = Cache(tmp_path_factory.mktemp("cache"))
    now = time.time()
    uv = Uv(find_uv(os.environ), read_config(ROOT, os.environ), os.environ, cache, now)
    with Index(uv.config, cache, os.environ, lambda: now) as index:
        yield _Asked(index, tmp_path_factory.mktemp("wheels"))
