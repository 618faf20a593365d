"""The cell that a session runs in: which Python, which lockfile, which pins, and whether the grid proves it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from sessions.failure import Failure

_RENEW = "run `nox -s lock`"
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)\s*(?:;([^\\]*))?\\?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A proven cell of this machine.

    ``digests`` are those of its lockfile and of ``build.txt``, as in the grid; ``download`` is in bytes. ``sources``
    names the index of each package that comes from one of its own.
    """

    environment: str
    platform: str
    python: str
    interpreter: str
    lockfile: Path
    build: Path
    pins: Mapping[str, str]
    digests: tuple[str, str]
    download: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def lock(self) -> str:
        """The lockfile's path in the repository."""
        return f"locks/{self.environment}/{self.platform}.txt"

    def __str__(self) -> str:
        """The cell in words."""
        return f"{self.environment} on {self.platform} with Python {self.python}"


class Grid:
    """``locks/`` as it is found under ``root``, for the platform of this machine.

    Raises ``Failure`` when ``grid.toml`` is there and cannot be read.
    """

    def __init__(self, root: Path, platform: str) -> None:
        self.platform = platform
        self.locks = root / "locks"
        file = self.locks / "grid.toml"
        try:
            self._table = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Failure("grid", f"locks/grid.toml: {error}; restore it, or {_RENEW}") from error

    def cells(self, environment: str) -> dict[str, dict[str, Any]]:
        """The cells of an environment on this platform, by Python, as ``grid.toml`` has them."""
        found = [cell for cell in self._all(environment) if cell["platform"] == self.platform]
        return {cell["python"]: cell for cell in found}

    def _all(self, environment: str) -> list[dict[str, Any]]:
        return [cell for cell in (self._table or {}).get("cells", ()) if cell["environment"] == environment]

    def choose(self, environment: str, asked: str | None, running: str, probe: Callable[[str], str | None]) -> Cell:
        """The proven cell to run: the Python that was asked for, else the running one, else the newest one here.

        Raises ``Failure`` with the grid's own reason where there is none, before anything is installed.
        """
        here = self._cells_or_fail(environment)
        proven = [python for python, cell in here.items() if cell["status"] == "proven"]
        if asked is not None:
            self._refuse(environment, asked, here, proven)
            wanted = [asked]
        else:
            wanted = sorted(proven, key=lambda p: (p != running, -int(p.partition(".")[2])))
        for python in wanted:
            if path := probe(python):
                return self._cell(environment, python, path)
        needs = f"{environment} on {self.platform} needs Python {' or '.join(wanted) or '(none is proven)'}"
        reasons = sorted({cell["because"] for cell in here.values() if cell["status"] != "proven"})
        others = f"; other Pythons are unsupported: {' / '.join(reasons)}" if reasons and asked is None else ""
        raise Failure("grid", f"{needs}, and no such interpreter is here{others}")

    def _cells_or_fail(self, environment: str) -> dict[str, dict[str, Any]]:
        if self._table is None:
            raise Failure("grid", f"nothing is locked: {_RENEW}")
        if here := self.cells(environment):
            return here
        known = sorted({cell["platform"] for cell in self._all(environment)})
        where = f"it is locked for {', '.join(known)}" if known else f"it is not in locks/grid.toml: {_RENEW}"
        raise Failure("grid", f"{environment} has no cell on {self.platform}, this machine's platform; {where}")

    def _refuse(self, environment: str, asked: str, here: Mapping[str, Mapping[str, Any]], proven: list[str]) -> None:
        choice = f"proven are {', '.join(proven)}" if proven else "no Python is proven"
        if asked not in here:
            raise Failure("grid", f"the grid has no Python {asked} for {environment} on {self.platform}: {choice}")
        if asked not in proven:
            because = here[asked]["because"]
            raise Failure(
                "grid", f"{environment} on {self.platform} with Python {asked} is unsupported: {because} ({choice})"
            )

    def _cell(self, environment: str, python: str, interpreter: str) -> Cell:
        lockfile = self.locks / environment / f"{self.platform}.txt"
        build = self.locks / "build.txt"
        pinned, building = self._read(lockfile), self._read(build)
        return Cell(
            environment=environment,
            platform=self.platform,
            python=python,
            interpreter=interpreter,
            lockfile=lockfile,
            build=build,
            pins=dict(read_pins(pinned.decode("utf-8"), python)),
            digests=(_digest(pinned), _digest(building)),
            download=self.cells(environment)[python].get("bytes", 0),
            sources=self._sources(environment),
        )

    def _sources(self, environment: str) -> dict[str, str]:
        """The index, by its name, of each package that the grid says to come from one of its own."""
        entries = (self._table or {}).get("sources", ())
        mine = [e for e in entries if e["environment"] == environment and self.platform in e["platforms"]]
        return {entry["package"]: entry["index"] for entry in mine}

    def _read(self, path: Path) -> bytes:
        """A file under ``locks/``, which must be the one that the grid was proven with."""
        name = path.relative_to(self.locks).as_posix()
        if not path.is_file():
            raise Failure("grid", f"locks/{name} is missing: {_RENEW}")
        content = path.read_bytes()  # bytes, since what was damaged need not be text
        if _digest(content) != (self._table or {}).get("lockfiles", {}).get(name):
            raise Failure(
                "grid",
                f"locks/{name} is not the file that locks/grid.toml was proven with: it was edited or merged by hand; "
                f"restore both from version control, or {_RENEW}",
            )
        return content


def sdists(text: str) -> set[str]:
    """The packages (normalised) that a lockfile has as sdists."""
    lines = (line.split() for line in text.splitlines())
    return {canonicalize_name(words[1]) for words in lines if len(words) == 2 and words[0] == "--no-binary"}


def only_pins(text: str, names: Collection[str]) -> str:
    """A lockfile with its options and the pins of these packages (normalised) alone."""
    kept = []
    keeps = True
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            found = _PIN.fullmatch(line.strip())
            keeps = found is None or canonicalize_name(found[1]) in names
        if keeps:
            kept.append(f"{line}\n")
    return "".join(kept)


def read_pins(text: str, python: str) -> Iterator[tuple[str, str]]:
    """Name (normalised) and version of the pins of a lockfile that are for this Python."""
    for line in text.splitlines():
        if (found := _PIN.fullmatch(line.strip())) is None:
            continue
        name, version, marker = found.groups()
        if not marker or Marker(marker).evaluate({"python_version": python}):
            yield canonicalize_name(name), version


def _digest(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"
