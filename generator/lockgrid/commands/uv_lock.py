"""``lockgrid uv-lock``: a ``uv.lock`` for the index that uv is configured with, bound to the hashes in ``locks/``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lockgrid.adapters.uvrun import Outcome, abandon, find_uv, finish, start_lock
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


def uv_lock(context: Context) -> UvLocked:
    """Let uv lock the project, hold the answer to ``locks/``, and write it; or leave what was there.

    Raises ``InputError`` where ``pyproject.toml`` is not in step with ``locks/``, and ``ToolError`` where uv fails or
    the index lacks a locked file or has other bytes for it.
    """
    store = context.store
    old = store.read(PATH)
    done = False
    if old is not None:
        store.replace({}, (PATH,))  # uv would keep its files without asking the index
    process = start_lock(find_uv(context.environ), store.root, context.environ)
    try:
        domain, locks = _wanted(context)  # while uv is at work
        outcome = finish(process, "lock")
        lock = _answer(context, outcome)
        hashes = _local_hashes(store.root, lock)
        check(lock, locks, domain, hashes)
        text, strangers = cut(lock, locks, hashes)
        store.replace({PATH: text})
        done = True
    finally:
        abandon(process)
        if not done:
            _put_back(context, old)
    kept = sum(1 for line in text.splitlines() if ', hash = "sha256:' in line)
    return UvLocked(packages=len(lock.packages), files=kept, strangers=tuple(strangers))


def _wanted(context: Context) -> tuple[Mapping[str, tuple[Target, ...]], OldLocks]:
    """The lockfiles, and the targets of each environment that is an extra."""
    spec, grid, store = context.spec(), context.require_grid(), context.store
    locks = read_locks({path: store.read(f"locks/{path}") or "" for path in store.lockfiles()})
    manifest = store.read(extras.PATH)
    if manifest is None:
        raise InputError([Problem(file=extras.PATH, what="there is no such file")], next_step="run `lockgrid lock`")
    pythons = extras.requires_python(manifest)
    if said := extras.extras_in_step(manifest, uv_project(spec, grid, locks, pythons)):
        raise InputError([Problem(file=extras.PATH, what=what) for what in said], next_step="run `lockgrid lock`")
    return domain_of(spec, grid, pythons), locks


def _answer(context: Context, outcome: Outcome) -> UvLock:
    if outcome.code != 0:
        lines = [line for line in outcome.said.splitlines() if not line.startswith("Using CPython")]
        raise ToolError(
            "uv lock failed with the pins of locks/:\n" + "\n".join(f"    {line}" for line in lines[:25]),
            where=PATH,
            next_step="nothing was written; the index must have every locked version: check uv's index settings",
        )
    text = context.store.read(PATH)
    if text is None:
        raise ToolError("uv wrote it elsewhere", where=PATH, next_step="run this in the root of uv's workspace")
    return parse(text)


def _local_hashes(root: Path, lock: UvLock) -> dict[int, str]:
    """The sha256 of the files of a folder of wheels, which uv lists without: by line, for those that are there."""
    found = {}
    for package in lock.packages:
        for file in package.files:
            path = None if file.sha256 or not package.registry else _local(root, package.registry, file.location)
            if path is not None:
                with suppress(OSError), path.open("rb") as stream:
                    found[file.line] = file_digest(stream, "sha256").hexdigest()
    return found


def _local(root: Path, registry: str, location: str) -> Path | None:
    """Where a file of uv.lock is on this machine, None where it is not."""
    if location.startswith("file:"):
        return Path(url2pathname(urlsplit(location).path))
    if "://" in location or registry.startswith(("http:", "https:")):
        return None
    folder = url2pathname(urlsplit(registry).path) if registry.startswith("file:") else registry
    return root / folder / location


def _put_back(context: Context, old: str | None) -> None:
    """What stood there before: an answer of uv that was not held to ``locks/`` must not be taken for one that was."""
    if old is not None:
        context.store.replace({PATH: old})
    elif context.store.read(PATH) is not None:
        context.store.replace({}, (PATH,))
