"""``lockgrid uv-lock``: a ``uv.lock`` for the index that uv is configured with, bound to the hashes in ``locks/``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from urllib.parse import urlsplit

from lockgrid.adapters.uvrun import Outcome, find_uv, finish, quoted, start
from lockgrid.commands.context import Context
from lockgrid.core import extras
from lockgrid.core.uvlock import PATH, UvLock, check, cut, parse
from lockgrid.core.uvproject import domain_of, read_locks, uv_project
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.grid import OldLocks
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class UvLocked:
    """What was written: packages and files in ``uv.lock``, and packages that no lockfile holds (without files)."""

    packages: int
    files: int
    strangers: tuple[str, ...]


def uv_lock(context: Context, process: subprocess.Popen[str]) -> UvLocked:
    """Hold what uv answers to ``locks/``, and write it.

    ``process`` is uv at work in ``uvrun.locking``, which undoes it all on an error: ``InputError`` where
    ``pyproject.toml`` is not in step with ``locks/``, ``ToolError`` where uv fails, or the index lacks a locked file or
    has other bytes for it.
    """
    domain, locks = _wanted(context)  # while uv is at work
    lock = _answer(context, finish(process, "lock"))
    hashes = _local_hashes(context.store.root, lock)
    check(lock, locks, domain, hashes)
    text, strangers = cut(lock, locks, hashes)
    context.store.replace({PATH: text})
    kept = text.count(', hash = "sha256:')
    return UvLocked(packages=len(lock.packages), files=kept, strangers=tuple(strangers))


def _wanted(context: Context) -> tuple[Mapping[str, tuple[Target, ...]], OldLocks]:
    """The lockfiles, and the targets of each environment that is an extra."""
    spec, grid, store = context.spec(), context.require_grid(), context.store
    locks = read_locks(context.lockfile_texts())
    manifest = store.read(extras.PATH)
    if manifest is None:
        raise InputError([Problem(file=extras.PATH, what="there is no such file")], next_step="run `lockgrid lock`")
    pythons = extras.requires_python(manifest)
    if said := extras.extras_in_step(manifest, uv_project(spec, grid, locks, pythons)):
        raise InputError([Problem(file=extras.PATH, what=what) for what in said], next_step="run `lockgrid lock`")
    return domain_of(spec, grid, pythons), locks


def _answer(context: Context, outcome: Outcome) -> UvLock:
    if outcome.code != 0:
        _refuse_old(context)
        raise ToolError(
            f"uv lock failed with the pins of locks/:\n{quoted(outcome)}",
            where=PATH,
            next_step="nothing was written; the index must have every locked version: check uv's index settings",
        )
    text = context.store.read(PATH)
    if text is None:
        raise ToolError("uv wrote it elsewhere", where=PATH, next_step="run this in the root of uv's workspace")
    return parse(text)


def _refuse_old(context: Context) -> None:
    """Raise ``ToolError`` where an old uv explains the failure: what it says of ``pyproject.toml`` misleads."""
    from lockgrid.adapters.uv import check_version  # only where something is amiss

    binary = find_uv(context.environ)
    check_version(finish(start([binary, "--version"], context.environ), "--version").out, binary)


def _local_hashes(root: Path, lock: UvLock) -> dict[int, str]:
    """The sha256 of the files of a folder of wheels, which uv lists without: by line, for those that are there."""
    found = {}
    for package in lock.packages:
        for file in package.files:
            if file.sha256 or not package.registry:
                continue
            if (path := _local(root, package.registry, file.location)) is not None:
                with suppress(OSError), path.open("rb") as stream:
                    found[file.line] = file_digest(stream, "sha256").hexdigest()
    return found


def _local(root: Path, registry: str, location: str) -> Path | None:
    """Where a file of uv.lock is on this machine, None where it is not."""
    from urllib.request import url2pathname  # takes as long to import as half of the rest, and is rarely needed

    if location.startswith("file:"):
        return Path(url2pathname(urlsplit(location).path))
    if "://" in location or registry.startswith(("http:", "https:")):
        return None
    folder = url2pathname(urlsplit(registry).path) if registry.startswith("file:") else registry
    return root / folder / location
