"""``envs/`` as text in, ``Spec`` out: merges bases, normalises names, and reports every fault in one go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.duration import read_cooldown
from lockgrid.core.merge import EXTRA, INDEX, TARGETS, Merger
from lockgrid.core.schema import EnvironmentFile, IndexEntry, TargetsFile, parse_environment, parse_targets
from lockgrid.core.table import nearest
from lockgrid.errors import InputError, Problem
from lockgrid.model.index import GIT_INDEX, is_git
from lockgrid.model.spec import CooldownException, Spec
from lockgrid.model.target import PLATFORM_KINDS, Platform, python_key

_TAKEN = {"build": "locks/build.txt, the lock of build requirements"}
_PYTHON = re.compile(r"3\.(?:[0-9]|[1-9][0-9])")
_FLOOR = re.compile(r"([0-9]+)\.([0-9]+)")


def parse_spec(files: Mapping[str, str]) -> Spec:
    """Validate the texts of ``envs/`` (``envs/tosa.toml`` -> text) and merge them.

    Raises ``InputError`` with every problem of every file: broken TOML, unknown keys, platforms, Pythons
    and bases, cycles, names that are no extras or that normalise alike, invalid requirements, exceptions
    without a reason.
    """
    problems: list[Problem] = []
    shapeless: list[Problem] = []
    targets_file: TargetsFile | None = None
    if TARGETS in files:
        targets_file, found = parse_targets(TARGETS, files[TARGETS])
        shapeless += found
    else:
        problems.append(Problem(file=TARGETS, what="this file is missing", hint="it lists platforms and Pythons"))
    parsed: dict[str, EnvironmentFile] = {}
    broken: set[str] = set()
    for file in sorted(files):
        if file == TARGETS:
            continue
        name = PurePosixPath(file).stem
        environment_file, found = parse_environment(file, files[file])
        shapeless += found
        if environment_file is None or found:
            broken.add(name)
        if environment_file is not None:
            parsed[name] = environment_file
    problems += _name_problems({*parsed, *broken})
    if not broken and all(entry.abstract for entry in parsed.values()):
        what = "there is no environment, only bases" if parsed else "there is no environment"
        problems.append(Problem(file="envs", what=what, hint="add envs/<name>.toml"))
    platforms: tuple[Platform, ...] = ()
    cooldown: timedelta | None = None
    exceptions: tuple[CooldownException, ...] = ()
    if targets_file is not None:
        platforms, found = _platforms(targets_file)
        problems += found
        cooldown, exceptions, found = read_cooldown(targets_file, TARGETS)
        problems += found
    pythons = tuple(sorted(targets_file.pythons, key=_python_sort)) if targets_file else ()
    judged = targets_file is not None and not any(p.file == TARGETS for p in shapeless)
    indexes = targets_file.indexes if targets_file else {}
    entries = targets_file.platforms if targets_file else {}
    dateless = frozenset(name for name, entry in indexes.items() if entry.dateless)
    merger = Merger(parsed, broken, platforms if judged else None, pythons, dateless)
    environments = merger.environments()
    problems += merger.problems
    if problems or shapeless:
        # A value of the wrong shape is told once: what follows from its absence is not.
        wrong = [(p.file, p.key) for p in shapeless]
        kept = [p for p in problems if not any(p.file == f and k.startswith(p.key or " ") for f, k in wrong)]
        raise InputError([*shapeless, *kept])
    return Spec(
        platforms=platforms,
        pythons=pythons,
        environments=environments,
        cooldown=cooldown,
        exceptions=exceptions,
        runners=tuple((name, entry.runner) for name, entry in sorted(entries.items()) if entry.runner),
        indexes=tuple((name, entry.url.rstrip("/")) for name, entry in sorted(indexes.items()) if entry.url),
    )


def _python_sort(python: str) -> tuple[int, int]:
    return python_key(python) if _PYTHON.fullmatch(python) else (0, 0)


def _name_problems(names: set[str]) -> list[Problem]:
    problems = []
    seen: dict[NormalizedName, str] = {}
    for name in sorted(names):
        file = f"envs/{name}.toml"
        if canonicalize_name(name) in _TAKEN:
            what = f"{name!r} is the name of {_TAKEN[canonicalize_name(name)]}"
            problems.append(Problem(file=file, what=what, hint="choose another"))
        if not EXTRA.fullmatch(name):
            problems.append(
                Problem(file=file, what=f"{name!r} is no valid name of an extra", hint="use letters, digits, - _ .")
            )
            continue
        other = seen.setdefault(canonicalize_name(name), name)
        if other != name:
            problems.append(
                Problem(file=file, what=f"{name!r} and {other!r} are the same name once normalised", hint="rename one")
            )
    return problems


def _platforms(targets: TargetsFile) -> tuple[tuple[Platform, ...], list[Problem]]:
    problems = []
    platforms = []
    for name, entry in targets.platforms.items():
        key = f"platforms.{name}"
        kind = PLATFORM_KINDS.get(name)
        if kind is None:
            problems.append(Problem(file=TARGETS, key=key, what="unknown platform", hint=nearest(name, PLATFORM_KINDS)))
            continue
        floors = {k: v for k, v in (("glibc", entry.glibc), ("macos", entry.macos)) if v is not None}
        for wrong in sorted(set(floors) - {kind.floor_key}):
            problems.append(Problem(file=TARGETS, key=f"{key}.{wrong}", what="this platform has no such floor"))
        floor = None
        if kind.floor_key:
            text = floors.get(kind.floor_key)
            match = _FLOOR.fullmatch(text or "")
            if match is None:
                example = {"glibc": "2.28", "macos": "15.0"}[kind.floor_key]
                what = "this key is missing" if text is None else f"{text!r} is no version such as {example}"
                hint = "the oldest version that must do"
                problems.append(Problem(file=TARGETS, key=f"{key}.{kind.floor_key}", what=what, hint=hint))
                continue
            floor = int(match[1]), int(match[2])
        platforms.append(Platform(name=name, floor=floor))
    for index, python in enumerate(targets.pythons):
        if not _PYTHON.fullmatch(python):
            what = f"{python!r} is no Python minor version"
            problems.append(Problem(file=TARGETS, key=f"pythons[{index}]", what=what, hint='write "3.12"'))
        elif python in targets.pythons[:index]:
            problems.append(Problem(file=TARGETS, key=f"pythons[{index}]", what=f"{python} is listed twice"))
    if not targets.pythons:
        problems.append(Problem(file=TARGETS, key="pythons", what="no Python is listed"))
    if not targets.platforms:
        problems.append(Problem(file=TARGETS, key="platforms", what="no platform is listed"))
    problems += _index_problems(targets.indexes)
    return tuple(sorted(platforms, key=lambda p: p.name)), problems


def _index_problems(indexes: Mapping[str, IndexEntry]) -> list[Problem]:
    """Names that uv would not take, and URLs that are none or hold credentials; no message repeats a URL."""
    problems = []
    for name, entry in indexes.items():
        what = hint = ""
        url = "https://index.example" if entry.url is None else entry.url
        try:
            parts = urlsplit(url)
            host = parts.hostname if parts.scheme in ("http", "https") else None
        except ValueError:
            host = None
        if is_git(name):
            what, hint = f"{GIT_INDEX!r} begins no name of an index", "such names stand for what [git] builds"
        elif not INDEX.fullmatch(name):
            what, hint = f"{name!r} is no name of an index", "use letters, digits, - _ ."
        elif entry == IndexEntry():
            what, hint = "says nothing", "give a url, or say dateless = true of an index that uv's configuration names"
        elif not host or any(character.isspace() for character in url):
            what, hint = "is no URL of an index", "write https://index.example/simple"
        elif parts.query or parts.fragment:
            what, hint = "the URL of an index has no query and no fragment", "leave out what follows ? or #"
        elif "@" in parts.netloc:
            key = re.sub(r"[^A-Z0-9]", "_", name.upper())
            what, hint = "the URL holds credentials", f"set UV_INDEX_{key}_USERNAME and UV_INDEX_{key}_PASSWORD"
        if what:
            problems.append(Problem(file=TARGETS, key=f"indexes.{name}", what=what, hint=hint))
    return problems
