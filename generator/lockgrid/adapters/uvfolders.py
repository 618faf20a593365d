"""Folders in the place of an index: which of uv's settings name one, and what they come to.

uv takes a folder of wheels and sdists as an index of ``format = "flat"`` and by ``find-links`` with ``no-index``.
A folder as the URL of an index without a format is taken for one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from lockgrid.errors import InputError, Problem

_SETTINGS = "uv's settings"
# What the WHATWG leaves alone in a path, as uv writes its URLs; Python would quote more.
_SAFE = "/:!$&'()*+,;=@[]^|~"
# Wheels, and what sdists are packed as.
_FILES = (".whl", ".tar.gz", ".zip")
NEXT = 'one folder is asked as an index of `format = "flat"` and `default = true`, or as find-links with no-index'


def folder_of(url: str, base: Path) -> Path | None:
    """The absolute path that a path or a ``file:`` URL stands for, as seen from ``base``; None for any other URL."""
    if url.startswith("file:"):
        return (base / url2pathname(urlsplit(url).path)).absolute()
    return None if "://" in url else (base / url).absolute()


def file_url(path: Path) -> str:
    """The URL of an absolute path, spelt as uv spells it."""
    text = path.as_posix()
    return f"file://{'' if text.startswith('/') else '/'}{quote(text, safe=_SAFE)}"


def absolute(table: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Settings of uv with every path of an index absolute: uv reads them from the folder of their file, ``base``."""
    found = dict(table)
    if "index" in table:
        found["index"] = [{**entry, "url": _absolute(entry["url"], base)} for entry in table["index"]]
    for key in ("extra-index-url", "find-links"):
        if key in table:
            found[key] = [_absolute(url, base) for url in table[key]]
    if table.get("index-url"):
        found["index-url"] = _absolute(table["index-url"], base)
    return found


def _absolute(url: str, base: Path) -> str:
    return url if "://" in url or url.startswith("file:") else str((base / url).absolute())


def linked_folders(
    tables: Iterable[Mapping[str, Any]], environ: Mapping[str, str], project: Path, where: str
) -> tuple[Path, ...]:
    """The folders of ``find-links``, for ``where`` (file and key) forbids every index.

    Raises ``InputError`` where there is none, one is missing, or a page of links is among them.
    """
    words = [word for word in environ.get("UV_FIND_LINKS", "").split(",") if word]
    words += [word for table in tables for word in table.get("find-links", ())]
    file, _, key = where.partition(": ")
    if not words:
        what = "no index may be asked, and no find-links names a folder of files"
        raise InputError([Problem(file=file, key=key, what=what)], next_step=f"unset it, or name a folder: {NEXT}")
    found = [folder_of(word, project) for word in words]
    problems = [
        Problem(file=_SETTINGS, key="find-links", what=f"{word} is no folder, and lockgrid reads no page of links")
        for word, folder in zip(words, found, strict=True)
        if folder is None
    ]
    folders = tuple(dict.fromkeys(folder for folder in found if folder is not None))
    problems += [problem for folder in folders if (problem := missing(folder, "find-links"))]
    if problems:
        raise InputError(problems, next_step=NEXT)
    return folders


def missing(folder: Path, key: str) -> Problem | None:
    """What is wrong where there is no such folder, or one without any file of a package."""
    try:
        if any(path.name.endswith(_FILES) for path in folder.iterdir()):
            return None
        what = f"no wheel and no sdist lies in {folder}"
    except FileNotFoundError:
        what = f"there is no folder {folder}"
    except OSError as error:
        what = f"the folder {folder} cannot be read: {error.strerror or error}"
    return Problem(file=_SETTINGS, key=key, what=what)
