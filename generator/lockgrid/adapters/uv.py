"""What lockgrid asks of uv: to lock, to export, to say which index it would use by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import tomlkit

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.uvanswer import NoSolution, lacking_extras, locked_metadata, no_lock
from lockgrid.adapters.uvconfig import (
    CACHE_CONTROL,
    IndexSource,
    UvConfig,
    index_variables,
    login,
    strip_credentials,
    uv_environment,
)
from lockgrid.adapters.uvrun import INSTALL, LIMIT_SECONDS, Outcome, end, failed, finish, start
from lockgrid.adapters.uvrun import find_uv as find_uv  # for those who open uv
from lockgrid.errors import ToolError
from lockgrid.model.index import DistMetadata

#: The oldest uv that does all that lockgrid and its docs ask of it: it knows hashes of build requirements, in
#: pyproject.toml and on the command line (``--require-build-hashes``).
OLDEST_UV = (0, 13, 0)
_LIMIT_SECONDS = LIMIT_SECONDS


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolution: a folder with a ``uv.lock`` that ``export`` reads.

    ``lacking`` are the extras (name, version, extra) that were asked for and that uv found missing.
    """

    folder: Path
    lacking: frozenset[tuple[str, str, str]] = frozenset()


class Uv:
    """uv with one configuration, in a folder of its own that is removed at the end.

    What it is told of indexes has lockgrid's cache rules, and uv's own default is among them. Credentials stand in
    its environment alone.
    """

    def __init__(self, binary: str, config: UvConfig, environ: Mapping[str, str], cache: Cache, now: float) -> None:
        self._binary = binary
        self._environ = uv_environment(environ) | _credentials(config)
        self._running: set[subprocess.Popen[str]] = set()
        self._guard = threading.Lock()
        self._stopped = False
        self._scratch = Path(tempfile.mkdtemp(prefix="lockgrid-"))
        self._count = 0
        try:
            self.version = self._check_version()
            self.config = config if config.default else self._with_default(config, cache, now)
        except BaseException:  # __exit__ is only called for what could be made
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def stop(self) -> None:
        """End every uv that still runs, with its children."""
        with self._guard:
            self._stopped = True
            running = list(self._running)
        for process in running:
            end(process)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What runs is ended, with its children, since nobody waits for the answer; in the block nothing starts."""
        before = self._stopped
        self.stop()
        try:
            yield
        finally:
            self._stopped = before

    @property
    def index_tables(self) -> list[dict[str, Any]]:
        """The indexes that ``[sources]`` names, for ``[[tool.uv.index]]``, where alone uv's sources find them.

        Without credentials: uv has those in its environment.
        """
        return [_index_table(source, name) for name, source in self.config.named.items()]

    def lock(self, project: str, settings: Mapping[str, object], preferences: str = "") -> Resolved | NoSolution:
        """Lock the ``pyproject.toml`` text ``project`` under ``settings`` (keys of ``uv.toml``).

        ``preferences`` is the text of a ``uv.lock`` whose versions are kept where they can be. Raises
        ``ToolError`` when uv fails for another reason than the requirements.
        """
        folder = self._new_folder()
        (folder / "pyproject.toml").write_text(project, encoding="utf-8")
        (folder / "settings.toml").write_text(self._settings(settings), encoding="utf-8")
        if preferences:
            (folder / "uv.lock").write_text(preferences, encoding="utf-8")
        outcome = self._run(["lock", "--python", sys.executable], folder)
        if outcome.code == 0:
            return Resolved(folder, lacking_extras(outcome))
        return no_lock(outcome)

    def export(self, resolved: Resolved, extra: str) -> str:
        """The ``pylock.toml`` text (PEP 751) of one extra of a resolution."""
        words = ["export", "--frozen", "--quiet", "--no-emit-project", "--no-header", "--format", "pylock.toml"]
        outcome = self._run([*words, "--extra", extra], resolved.folder)
        if outcome.code != 0:
            raise failed("export", outcome)
        return outcome.out

    def sdist_metadata(
        self, resolved: Resolved, name: str, version: str, asked: frozenset[str] = frozenset()
    ) -> DistMetadata:
        """What a sdist requires, as uv learnt it by a build: true of this resolution alone.

        ``uv.lock`` leaves out what no target of the resolution needs, and extras that require nothing; ``asked``
        are the extras that may have been asked for, of which uv says which are missing.
        """
        data = tomllib.loads((resolved.folder / "uv.lock").read_text(encoding="utf-8"))
        for package in data.get("package", ()):
            if package["name"] == name and package.get("version") == version:
                provided = {e for e in asked if (name, version, e) not in resolved.lacking}
                return locked_metadata(package, provided)
        raise ToolError(f"uv.lock does not hold {name}=={version}, which uv exported", next_step="report this")

    def _settings(self, settings: Mapping[str, object]) -> str:
        document: dict[str, Any] = {**self.config.network, **settings}
        if linked := next((s.folders for s in self.config.indexes if len(s.folders) > 1), ()):  # uv takes them as one
            return tomlkit.dumps({**document, "no-index": True, "find-links": [str(folder) for folder in linked]})
        document["index"] = [_index_table(*pair) for pair in _told(self.config)]
        return tomlkit.dumps(document)

    @property
    def environ(self) -> dict[str, str]:
        """The variables that every uv gets."""
        return dict(self._environ)

    def run(self, words: list[str], extra: Mapping[str, str]) -> Outcome:
        """A verb of uv that needs no folder of its own, with further variables."""
        return self._run(words, extra=extra)

    def run_configured(self, words: list[str], extra: Mapping[str, str]) -> Outcome:
        """A verb of uv that may ask the indexes, with further variables."""
        folder = self._new_folder()
        (folder / "settings.toml").write_text(self._settings({}), encoding="utf-8")
        return self._run(words, folder, extra)

    def _new_folder(self) -> Path:
        with self._guard:
            self._count += 1
            folder = self._scratch / f"run-{self._count}"
        folder.mkdir()
        return folder

    def _run(self, words: list[str], folder: Path | None = None, extra: Mapping[str, str] | None = None) -> Outcome:
        command = [self._binary, *words, "--color", "never"]
        if folder is not None:
            command += ["--config-file", str(folder / "settings.toml"), "--directory", str(folder)]
        with self._guard:
            if self._stopped:
                raise ToolError("uv was stopped")
            process = start(command, {**self._environ, **(extra or {})})
            self._running.add(process)
        try:
            return finish(process, words[0], _LIMIT_SECONDS)
        finally:
            with self._guard:
                self._running.discard(process)

    def _check_version(self) -> str:
        outcome = self._run(["--version"])
        return check_version(outcome.out if outcome.code == 0 else "", self._binary)

    def _with_default(self, config: UvConfig, cache: Cache, now: float) -> UvConfig:
        """Ask uv for its built-in default index: no file of lockgrid names one."""
        key = f"{self._binary} {self.version}"
        known = cache.get("default-index", [key])
        if key in known:
            url = known[key].decode()
        else:
            requirements = self._scratch / "none.in"
            requirements.write_text("", encoding="utf-8")
            words = ["pip", "compile", str(requirements), "--emit-index-url", "--offline", "--no-config", "--no-header"]
            outcome = self._run(words)
            match = re.search(r"^--index-url (\S+)$", outcome.out, re.MULTILINE)
            if match is None:
                raise ToolError("uv does not say which index it uses", next_step="set UV_DEFAULT_INDEX to its URL")
            url = match[1].rstrip("/")
            cache.put("default-index", {key: url.encode()}, now=now)
        source = IndexSource(url=url, default=True, table={"url": url})
        return replace(config, indexes=(*config.indexes, source))


def check_version(said: str, binary: str) -> str:
    """The version in what ``uv --version`` said; raises ``ToolError`` where there is none, or one that is too old."""
    match = re.match(r"uv (\d+)\.(\d+)\.(\d+)", said)
    if match is None:
        raise ToolError(f"{binary} does not say what version of uv it is", next_step=INSTALL)
    if tuple(int(part) for part in match.groups()) < OLDEST_UV:
        oldest = ".".join(str(part) for part in OLDEST_UV)
        raise ToolError(f"uv {match[0][3:]} is too old: {oldest} or newer is needed", next_step=INSTALL)
    return match[0][3:]


def _told(config: UvConfig) -> list[tuple[IndexSource, str]]:
    """The plain indexes with the names that uv knows them by.

    One with credentials in its URL gets a name of lockgrid's own, under which no variable of the user's speaks.
    """
    return [
        (source, f"lockgrid-{number}" if source.url != strip_credentials(source.url) else source.name)
        for number, source in enumerate(config.indexes)
    ]


def _credentials(config: UvConfig) -> dict[str, str]:
    """Users and passwords of all indexes, as variables: no file may hold them."""
    found: dict[str, str] = {}
    for source, name in [*_told(config), *((source, name) for name, source in config.named.items())]:
        values = dict(zip(index_variables(name), login(source), strict=True)) if name else {}
        found |= {key: value for key, value in values.items() if value}
    return found


def _index_table(source: IndexSource, name: str) -> dict[str, Any]:
    table: dict[str, Any] = {**source.table, "url": strip_credentials(source.url)}
    if name:
        table["name"] = name
    table.pop("default", None)  # what its table said; which one is asked last was settled since
    if source.explicit:
        table["explicit"] = True
    elif source.default:
        table["default"] = True
    table.setdefault("cache-control", CACHE_CONTROL)
    return table
