"""The project's files: read, and replaced all together or not at all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from lockgrid.adapters.cache import unwritable
from lockgrid.errors import InputError, Problem, ToolError

_WAIT_SECONDS = 120.0
# What ``_write_beside`` calls its files, and which files outside of envs/ and locks/ are replaced while held.
_BESIDE = re.compile(r"\..+\.[a-z0-9_]{8}\.new")
_AT_TOP = ("pyproject.toml", "README.md", "uv.lock")


class Store:
    """Files of the project in ``root``, by relative path with ``/``.

    ``overlaid``: paths whose text is read from elsewhere than the disk, so that they must be written in any case.
    """

    overlaid: frozenset[str] = frozenset()

    def __init__(self, root: Path) -> None:
        self.root = root
        self._first: dict[str, str | None] = {}

    def read(self, path: str) -> str | None:
        """The text of a file, None when there is none. Raises ``InputError`` when it cannot be read."""
        text = self._on_disk(path)
        self._first.setdefault(path, text)
        return text

    def _on_disk(self, path: str) -> str | None:
        try:
            # newline="": line endings are part of what a digest covers.
            with (self.root / path).open(encoding="utf-8", newline="") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError([Problem(file=path, what=f"cannot be read: {error}")]) from error

    def read_environments(self) -> dict[str, str]:
        """The texts of ``envs/*.toml`` by path. Raises ``InputError`` when there is no ``envs/`` here."""
        folder = self.root / "envs"
        if not folder.is_dir():
            raise InputError(
                [Problem(file="envs", what=f"there is no such folder in {self.root}")],
                next_step="run lockgrid where envs/ is, or name that folder with --project",
            )
        texts = {}
        for path in sorted(folder.glob("*.toml")):
            relative = f"envs/{path.name}"
            text = self.read(relative)
            if text is not None:
                texts[relative] = text.replace("\r\n", "\n")
        return texts

    def check_foreign(self, path: Path) -> None:
        """Raise ``InputError`` for a place that is the project's own: what stands in ``locks/`` are lockfiles alone."""
        resolved, root = path.resolve(), self.root.resolve()
        own = next((name for name in ("envs", "locks") if resolved.is_relative_to(root / name)), "")
        own = own or (resolved.name if resolved == root / "pyproject.toml" else "")
        if own:
            what = f"{own} is lockgrid's own, and holds nothing else"
            raise InputError([Problem(file="command line", key=f"-o {path}", what=what, hint="name another place")])

    def lockfiles(self) -> list[str]:
        """The paths below ``locks/`` of every ``.txt`` file, sorted (``tosa/linux-x86_64.txt``)."""
        folder = self.root / "locks"
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.txt"))

    def tree(self, under: Iterable[str]) -> dict[str, bytes]:
        """The bytes of every file below the folders ``under`` (or of these files), as git would hold them.

        Links, caches of Python and what cannot be read are left out.
        """
        found = {}
        for top in under:
            start = self.root / top
            for path in sorted([start, *start.rglob("*")]):
                relative = path.relative_to(self.root)
                if path.is_file() and not path.is_symlink() and "__pycache__" not in relative.parts:
                    with suppress(OSError):
                        found[relative.as_posix()] = path.read_bytes()
        return found

    @contextmanager
    def exclusive(self, cache: Path, say: Callable[[str], None]) -> Iterator[None]:
        """Hold the project for one writer; a second run waits. The system frees it when a run dies.

        The lock is a file in the cache, named after the project, so nothing is left in the repository. What a killed
        run left beside files is cleared away. What was read before counts no more: another run may have changed it.
        """
        from filelock import FileLock, Timeout  # imports asyncio, which no reading verb needs

        name = sha256(str(self.root.resolve()).encode()).hexdigest()[:16]
        try:
            cache.mkdir(parents=True, exist_ok=True)
            lock = FileLock(cache / f"{name}.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                say("another lockgrid works in this project; waiting for it")
                lock.acquire(timeout=_WAIT_SECONDS)
        except Timeout as error:
            raise ToolError(
                f"another lockgrid has worked in this project for {_WAIT_SECONDS:.0f} s",
                where=str(self.root),
                next_step="wait until it ends, or end it",
            ) from error
        except OSError as error:
            raise unwritable(error) from error
        try:
            self._first.clear()
            self._clear_leftovers()
            yield
        finally:
            lock.release()

    def _clear_leftovers(self) -> None:
        found = [path for name in _AT_TOP for path in self.root.glob(f".{name}.*.new")]
        found += [path for folder in ("envs", "locks") for path in (self.root / folder).rglob(".*.new")]
        for path in found:
            if _BESIDE.fullmatch(path.name) and path.is_file():
                with suppress(OSError):
                    path.unlink()

    def replace(self, texts: Mapping[str, str], remove: tuple[str, ...] = ()) -> None:
        """Write ``texts`` and remove ``remove``: all of it or, on any error, nothing.

        Every text is written beside its place and synced before the first is renamed; an interrupt waits
        until the renames are done; a failed rename puts back what was there. Raises ``ToolError``, also where
        somebody else changed one of these files since this store first read it: a run may take hours.
        """
        staged: dict[str, Path] = {}
        writing = str(self.root)
        try:
            try:
                self._check_writable([*texts, *remove])
                for path, text in texts.items():
                    writing = path
                    staged[path] = _write_beside(self.root / path, text)
            except OSError as error:
                raise ToolError(
                    f"cannot write: {error.strerror or error}",
                    where=str(error.filename or writing),
                    next_step="nothing was changed; free space or set permissions, then run again",
                ) from error
            with _uninterrupted():
                self._check_unchanged([*texts, *remove])
                self._commit(staged, remove)
                self._first |= {**texts, **dict.fromkeys(remove)}
        finally:
            for temporary in staged.values():
                with suppress(OSError):
                    temporary.unlink()

    def _check_writable(self, paths: list[str]) -> None:
        """A folder that refuses new names would fail only in the middle of the renames."""
        for path in paths:
            folder = (self.root / path).parent
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(13, "the folder is read-only", str(folder))

    def _check_unchanged(self, paths: list[str]) -> None:
        """What somebody wrote meanwhile was not taken into account, and is not to be lost."""
        for path in paths:
            if path in self._first and self._on_disk(path) != self._first[path]:
                raise ToolError(
                    "was changed while this ran, and nothing was written over it",
                    where=path,
                    next_step="run it again",
                )

    def _commit(self, staged: dict[str, Path], remove: tuple[str, ...]) -> None:
        before: dict[Path, bytes | None] = {}
        try:
            for path, temporary in staged.items():
                final = self.root / path
                before[final] = final.read_bytes() if final.exists() else None
                temporary.replace(final)
            for path in remove:
                final = self.root / path
                before[final] = final.read_bytes() if final.exists() else None
                final.unlink(missing_ok=True)
        except OSError as error:
            for final, content in before.items():
                with suppress(OSError):
                    if content is None:
                        final.unlink(missing_ok=True)
                    else:
                        final.parent.mkdir(parents=True, exist_ok=True)
                        final.write_bytes(content)
            raise ToolError(
                f"cannot write: {error.strerror or error}",
                where=str(error.filename or self.root),
                next_step="the files were put back as they were; set permissions, then run again",
            ) from error
        # Not before everything else succeeded: what is put back needs its folder.
        for path in remove:
            with suppress(OSError):
                (self.root / path).parent.rmdir()


class Overlay(Store):
    """A store in which some files read as ``texts`` say, by path; what is written goes to the disk."""

    def __init__(self, root: Path, texts: Mapping[str, str]) -> None:
        super().__init__(root)
        self._texts = dict(texts)
        self.overlaid = frozenset(texts)

    def read(self, path: str) -> str | None:
        """The text that lies over a file, or the file's own."""
        found = self._texts.get(path)
        return super().read(path) if found is None else found

    def lockfiles(self) -> list[str]:
        """Those of the disk, and those that only the texts have."""
        laid = {path.removeprefix("locks/") for path in self._texts if path.startswith("locks/")}
        return sorted({*super().lockfiles(), *(path for path in laid if path.endswith(".txt"))})


def _write_beside(final: Path, text: str) -> Path:
    """A synced temporary file in the same folder, with the permissions of the file that it will replace."""
    handle, name = tempfile.mkstemp(prefix=f".{final.name}.", suffix=".new", dir=final.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if final.exists():
            shutil.copymode(final, temporary)
        else:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and TERM until the block is over. Only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    number: int
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda n, _f: caught.append(n)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in caught:
        signal.raise_signal(number)
