"""A copy of the project, in the cache, in which a test command may do as it likes.

The work tree is only read: whatever kills a run leaves it as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

from lockgrid.adapters.cache import unwritable
from lockgrid.adapters.git import Git
from lockgrid.errors import ToolError

#: Turns the bytes of a file, by its path, into those that matter; None: the file does not matter.
Essence = Callable[[str, bytes], bytes | None]

_LOGS = 50


class Scratch:
    """The copy in ``folder``. Folders with a leading dot and venvs stay from run to run: they are slow to make."""

    def __init__(self, project: Path, home: Path, environ: Mapping[str, str]) -> None:
        self.project = project
        self.folder = home / "project"
        self.logs = home / "logs"
        self.results = home / "results"
        self._placed = home / "placed"
        self._wanted: list[str] = []
        self._digests: dict[tuple[str, int, int], bytes] = {}
        self._paths = _project_files(project, environ)

    def prepare(self, texts: Mapping[str, str], removed: tuple[str, ...] = ()) -> None:
        """Make the copy hold the project's files with ``texts`` in place of theirs, and nothing that a test left.

        ``removed`` are files that shall not be there. Raises ``ToolError``.
        """
        wanted = {*self._paths, *texts} - set(removed)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep(wanted)
            self._wanted = sorted(wanted)
            _write(self._placed, "\0".join(self._wanted))
            for path in self._wanted:
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                if path in texts:
                    _write(target, texts[path])
                else:
                    _copy(self.project / path, target, self.project)
        except OSError as error:
            raise ToolError(
                f"the copy to test in cannot be made: {error.strerror or error}",
                where=str(error.filename or self.folder),
                next_step=f"free space, or remove {self.folder.parent}",
            ) from error

    def digest(self, essence: Essence) -> str:
        """Of what ``prepare`` put there: the same for the same paths, bytes and permissions to execute."""
        total = sha256()
        for path in self._wanted:
            file = self.folder / path
            if file.is_symlink():
                total.update(f"{path}\0link\0{file.readlink()}\0".encode())
                continue
            found = file.stat()
            key = (path, found.st_mtime_ns, found.st_size)
            if key not in self._digests:
                matters = essence(path, file.read_bytes())
                self._digests[key] = b"" if matters is None else sha256(matters).digest()
            if self._digests[key]:
                executable = found.st_mode & 0o100
                total.update(f"{path}\0{executable:o}\0".encode() + self._digests[key])
        return total.hexdigest()

    def empty_results(self) -> Path:
        """The folder for result files, with nothing in it."""
        shutil.rmtree(self.results, ignore_errors=True)
        self.results.mkdir(parents=True, exist_ok=True)
        return self.results

    def result_files(self) -> dict[str, str]:
        """The texts of the result files (``.json``, ``.xml``) by path below their folder."""
        found = {}
        for path in sorted(self.results.rglob("*")):
            if path.suffix.lower() in (".json", ".xml") and path.is_file():
                with suppress(OSError):
                    name = path.relative_to(self.results).as_posix()
                    found[name] = path.read_text(encoding="utf-8", errors="replace")
        return found

    def new_log(self, name: str) -> Path:
        """A file for the output of a run; the oldest of many are removed."""
        self.logs.mkdir(parents=True, exist_ok=True)
        for old in sorted(self.logs.glob("*.log"))[: -_LOGS + 1]:
            with suppress(OSError):
                old.unlink()
        return self.logs / f"{name}.log"

    def _sweep(self, wanted: set[str]) -> None:
        """Remove what is not wanted: files of an earlier candidate, and what a test left."""
        parents = {parent.as_posix() for path in wanted for parent in PurePosixPath(path).parents}
        # Where a folder stays, only what was put there goes.
        placed = self._placed.read_text(encoding="utf-8").split("\0") if self._placed.is_file() else []
        for path in {*_walk(self.folder), *filter(None, placed)} - wanted:
            with suppress(FileNotFoundError, NotADirectoryError):
                (self.folder / path).unlink()
        for folder, _, _ in os.walk(self.folder, topdown=False):
            relative = Path(folder).relative_to(self.folder).as_posix()
            if relative not in parents and not _kept(Path(folder), self.folder):
                with suppress(OSError):  # not empty: there is a kept folder in it
                    Path(folder).rmdir()


@contextmanager
def open_scratch(project: Path, cache: Path, environ: Mapping[str, str]) -> Iterator[Scratch]:
    """The copy for a project, held against a second run. Raises ``ToolError`` where one is at work there."""
    from filelock import FileLock, Timeout  # imports asyncio, which no reading verb needs

    project = project.resolve()
    home = cache / "trials" / f"{project.name}-{sha256(str(project).encode()).hexdigest()[:16]}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home / "lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ToolError(
            "another lockgrid tests this project", where=str(home), next_step="wait until it ends, or end it"
        ) from error
    except OSError as error:
        raise unwritable(error) from error
    try:
        yield Scratch(project, home, environ)
    finally:
        lock.release()


def _project_files(project: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What git knows and what it would add; without git, or where that does not hold ``envs/``, what `_walk` finds."""
    with suppress(ToolError):  # there is no git, or it does not end
        git = Git(project, environ)
        listed = [
            git.run("ls-files", "-z", *options)
            for options in (("--cached", "--recurse-submodules"), ("--others", "--exclude-standard"))
        ]
        if listed[0].code == 0:
            paths = {os.fsdecode(path) for ran in listed if ran.code == 0 for path in ran.out.split(b"\0") if path}
            found = sorted(path for path in paths if _is_file(project / path))
            if any(path.startswith("envs/") for path in found):
                return tuple(found)
    return tuple(sorted(_walk(project)))


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _walk(root: Path) -> Iterator[str]:
    """The files below a folder, not those in folders with a leading dot, venvs and caches of Python."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links and not _is_kept(here / name)]
        for name in (*files, *links):
            if _is_file(here / name):
                yield (here / name).relative_to(root).as_posix()


def _is_kept(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name == "__pycache__" or (folder / "pyvenv.cfg").is_file()


def _kept(folder: Path, root: Path) -> bool:
    """Whether a folder is one that stays, or in such a one."""
    return any(_is_kept(one) for one in (folder, *folder.parents) if one != root and one.is_relative_to(root))


def _write(target: Path, text: str) -> None:
    """A text, unless it is there: programs look at the time of a file."""
    data = text.encode()
    if target.is_symlink():
        target.unlink()
    if not target.is_file() or target.read_bytes() != data:
        target.write_bytes(data)


def _copy(source: Path, target: Path, project: Path) -> None:
    """A file, unless one of the same size, time and permissions is there; a link that leads out leads to there."""
    if source.is_symlink():
        goal = source.resolve()
        link = source.readlink() if goal.is_relative_to(project) else goal
        if not (target.is_symlink() and target.readlink() == link):
            target.unlink(missing_ok=True)
            target.symlink_to(link, target_is_directory=goal.is_dir())
        return
    ours = source.stat()
    if target.is_file() and not target.is_symlink():
        theirs = target.stat()
        if (ours.st_size, ours.st_mtime_ns, ours.st_mode) == (theirs.st_size, theirs.st_mtime_ns, theirs.st_mode):
            return
    target.unlink(missing_ok=True)
    shutil.copy2(source, target)
