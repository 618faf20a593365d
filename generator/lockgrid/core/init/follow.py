"""Requirements files with the files that they name by ``-r`` and ``-c``, each read once."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from lockgrid.core.init import reqfile
from lockgrid.core.init.reqfile import Entry
from lockgrid.core.init.values import Collected, Note, Place

#: The bytes of a file by its path, with ``/``. Raises ``OSError``.
Reader = Callable[[str], bytes]

_REMOTE = re.compile(r"(?i)https?:")


@dataclass(slots=True)
class RequirementsFile:
    """A file's entries, and the paths of the files that it names by ``-r`` and ``-c``."""

    path: str
    entries: list[Entry] = field(default_factory=list)
    included: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)


def follow(
    paths: Iterable[str], read: Reader, environ: Mapping[str, str], out: Collected
) -> dict[str, RequirementsFile]:
    """The files and all that they lead to, by path, in the order of reading.

    What cannot be read or is wrong is a problem in ``out``; a file of another machine is a note there.
    """
    files: dict[str, RequirementsFile] = {}
    for path in paths:
        _follow(posixpath.normpath(path), (), Place(path), _Run(files, read, environ, out))
    return files


@dataclass(frozen=True, slots=True)
class _Run:
    files: dict[str, RequirementsFile]
    read: Reader
    environ: Mapping[str, str]
    out: Collected


def _follow(path: str, above: tuple[str, ...], named: Place, run: _Run) -> bool:
    """Read a file that ``named`` names, below the files ``above``; whether that went well."""
    if path in above:
        circle = " -> ".join([*above[above.index(path) :], path])
        run.out.problems.append(named.problem(f"a circle: {circle}", "take one of these lines out"))
        return False
    if path in run.files:
        return True
    try:
        text = reqfile.decode(run.read(path))
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}" if above else f"cannot be read: {error.strerror}"
        hint = "a path is relative to the file that names it" if above else "name a file that exists"
        run.out.problems.append(named.problem(what, hint))
        return False
    except ValueError as error:
        what = f"cannot be read as text: {error}"
        run.out.problems.append(Place(path).problem(what, "save it as UTF-8, or say its encoding as PEP 263 does"))
        return False
    file = run.files[path] = RequirementsFile(path)
    file.entries, faults = reqfile.parse(text, run.environ)
    for fault in faults:
        run.out.problems.append(Place(path, fault.line).problem(fault.what, fault.hint))
    for entry in file.entries:
        if entry.requirement:
            continue  # pip overlooks these options beside a requirement, and so convert says
        for option, known in (("--requirement", file.included), ("--constraint", file.constraints)):
            for value in entry.values(option):
                place = Place(path, entry.line)
                target = _target(value, path)
                if target is None:
                    what = "is on another machine, and is not read"
                    run.out.notes.append(Note(place, entry.text, what, "save it here and name that file"))
                elif _follow(target, (*above, path), place, run):
                    known.append(target)
    return True


def _target(value: str, path: str) -> str | None:
    """The path that ``-r`` or ``-c`` means, from where paths are counted; None for a URL of another machine."""
    if _REMOTE.match(value):
        return None
    if value.lower().startswith("file:"):
        return posixpath.normpath(unquote(urlsplit(value).path))
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), value.replace("\\", "/")))
