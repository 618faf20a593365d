"""The input, validated: what ``envs/`` means once bases are merged and names are normalised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from packaging.requirements import Requirement
from packaging.utils import NormalizedName

from lockgrid.model.index import GIT_INDEX, page_key
from lockgrid.model.target import Platform, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A requirement as an ``envs/`` file states it, with the file and key that state it."""

    requirement: Requirement
    file: str
    key: str

    @property
    def text(self) -> str:
        """The requirement in normal spelling (PEP 508)."""
        return str(self.requirement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A version specifier that replaces what packages themselves ask of ``name``; ``file`` states it."""

    name: NormalizedName
    specifier: str
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A version bound that ``refresh`` wrote because something newer broke a test; ``file`` states it."""

    name: NormalizedName
    specifier: str
    why: str
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A finding (``model.finding``) that is known and meant, by its name; ``file`` states it."""

    name: str
    why: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """On one platform a package comes from the index of this name and no other; ``file`` and ``key`` state it.

    ``dateless``: that index tells no upload times, so its files cannot be held to the cut-off.
    """

    name: NormalizedName
    platform: str
    index: str
    file: str
    key: str
    dateless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """A package that is built from one commit (``rev``, all its digits) of a git repository; ``file`` states it.

    ``subdirectory`` is where its ``pyproject.toml`` is, empty for the root. ``url`` holds no credentials.
    """

    name: NormalizedName
    url: str
    rev: str
    file: str
    subdirectory: str = ""

    @property
    def key(self) -> str:
        """Where it stands in ``file``."""
        return f"git.{self.name}"

    @property
    def index(self) -> str:
        """What stands for it where other packages have the name of an index: what it builds comes from nowhere else."""
        below = re.sub(r"[^A-Za-z0-9]+", "-", self.subdirectory)
        return f"{GIT_INDEX}{self.name}.{self.rev[:12]}" + (f".{below}" if below else "")

    @property
    def label(self) -> str:
        """For people: ``cmsis-nn at 0123456789ab``."""
        return f"{self.name} at {self.rev[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    """What must hold in a finished venv: modules that import, commands that exit with 0."""

    imports: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One dependency set with its bases merged in. ``name`` is the file's stem, ``extra`` the same normalised.

    ``sources`` are of platforms that it has, ``idle`` those that name another one. A package of ``git`` has a source on
    every platform: the ``index`` of its git source.
    """

    name: str
    extra: NormalizedName
    file: str
    requires: tuple[Declared, ...]
    targets: tuple[Target, ...]
    summary: str = ""
    apart: bool = False
    sdists: tuple[NormalizedName, ...] = ()
    overrides: tuple[Override, ...] = ()
    holds: tuple[Hold, ...] = ()
    accepts: tuple[Acceptance, ...] = ()
    smoke: Smoke = field(default_factory=Smoke)
    sources: tuple[Source, ...] = ()
    idle: tuple[Source, ...] = ()
    git: tuple[GitSource, ...] = ()

    def override(self, name: str) -> Override | None:
        """The override of the package ``name`` (normalised), if there is one."""
        return next((o for o in self.overrides if o.name == name), None)

    def index(self, name: str, target: Target) -> str:
        """The name of the index that ``[sources]`` names for a package on a target, empty for uv's plain indexes."""
        if not self.sources:  # asked for every pin of every cell
            return ""
        where = target.platform.name
        return next((s.index for s in self.sources if s.name == name and s.platform == where), "")

    def project(self, name: str, target: Target) -> str:
        """The key of the page (``model.index.page_key``) that offers a package to a target."""
        return page_key(name, self.index(name, target)) if self.sources else name

    def projects(self, name: str) -> set[str]:
        """The keys of the pages that offer a package to any of the targets."""
        return {self.project(name, target) for target in self.targets} if self.sources else {name}


#: A cell by name: an environment's name and a target.
Cell = tuple[str, Target]
#: The cells to lock: environments, each with those of its targets that are asked for.
Domain = Sequence[tuple[Environment, tuple[Target, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownException:
    """A package with a cool-down of its own, up to the end of the day ``until`` (UTC)."""

    name: NormalizedName
    cooldown: timedelta
    why: str
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """All of ``envs/``: the platforms, the Pythons, and the environments sorted by name.

    ``indexes`` gives indexes by name, each with its URL, which holds no credentials. ``cooldown`` and its
    ``exceptions``, sorted by name, are for ``refresh`` alone. ``runners`` are the labels of the runners that platforms
    name, which decide nothing in a lock.
    """

    platforms: tuple[Platform, ...]
    pythons: tuple[str, ...]
    environments: tuple[Environment, ...]
    cooldown: timedelta | None = None
    exceptions: tuple[CooldownException, ...] = ()
    indexes: tuple[tuple[str, str], ...] = ()
    runners: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def environment(self, name: str) -> Environment | None:
        """The environment of that name, None where there is none."""
        return next((environment for environment in self.environments if environment.name == name), None)
