"""``pins.toml`` as values: a truth, and the copies of it in files that lockgrid does not own."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import StrEnum

#: A way into a TOML, JSON or YAML file: keys, and numbers of entries of lists.
KeyPath = tuple[str | int, ...]


class Kind(StrEnum):
    """What finds a copy, by the name that it has in ``pins.toml``."""

    REQUIREMENT = "requirement"
    DEPENDENCY = "dependency"
    CMAKE_SET = "cmake-set"
    CMAKE_GIT_TAG = "cmake-git-tag"
    SHELL = "shell"
    PYTHON = "python"
    TOML = "toml"
    JSON = "json"
    YAML = "yaml"
    REGEX = "regex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a copy is found in its file.

    ``name`` is the package, variable or pattern; ``key`` is the way to it, of TOML, JSON and YAML alone. ``operator``
    is that of the clause of a requirement. A dependency stands in ``extra``, ``group``, ``build`` or in none of them.
    """

    kind: Kind
    name: str = ""
    key: KeyPath = ()
    operator: str = ""
    extra: str = ""
    group: str = ""
    build: bool = False

    @property
    def text(self) -> str:
        """For people: ``cmake-set CMSIS_NN_VERSION``."""
        where = f" of extra {self.extra}" if self.extra else f" of group {self.group}" if self.group else ""
        where = " of the build" if self.build else where
        name = ".".join(str(part) for part in self.key) or self.name
        return f"{self.kind} {name}{f' {self.operator}' if self.operator else ''}{where}"


@dataclass(frozen=True, slots=True)
class Differs:
    """Why a copy may differ, and the last day on which it may."""

    why: str
    until: datetime.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One place that repeats the truth: ``file`` is relative to the tree, with ``/``.

    ``components`` is how much of a version it says (2 of 2.13.0 is 2.13), 0 for all of it.
    """

    file: str
    match: Match
    components: int = 0
    differs: Differs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageTruth:
    """The version that the grid pins; empty words stand for all. ``required_by``: where that package asks for it."""

    package: str
    environment: str = ""
    platform: str = ""
    python: str = ""
    required_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTruth:
    """What ``match`` finds in a file, of the project or, with ``in_tree``, of the tree that is judged."""

    file: str
    match: Match
    in_tree: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTruth:
    """The commit of a git source (``[git]``) of an environment; an empty environment stands for all."""

    source: str
    environment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralTruth:
    """A version or commit that ``pins.toml`` itself says."""

    value: str


Source = PackageTruth | FileTruth | GitTruth | LiteralTruth


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRule:
    """``[pins.<name>]``: where the truth stands, and its copies."""

    name: str
    truth: Source
    copies: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """A truth once it was read: a version (PEP 440) or a commit, and ``origin``, where it stands."""

    value: str
    origin: str
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a version stands in a text, in characters. ``wildcard``: it is the beginning of one, as before ``.*``."""

    start: int
    end: int
    text: str
    wildcard: bool = False


class State(StrEnum):
    """What a copy came to."""

    IN_STEP = "in step"
    DRIFT = "drift"
    DIFFERS = "may differ"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One copy, judged. ``line`` and ``column`` count from 1, and are 0 where it was not found.

    ``wanted`` is the truth in the copy's own grammar, ``place`` the characters that hold what was ``found``;
    ``what`` is the error, or what there is to say of a copy that may differ.
    """

    pin: str
    copy: Copy
    state: State
    found: str = ""
    wanted: str = ""
    place: Place | None = None
    line: int = 0
    column: int = 0
    what: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.copy.file}:{self.line}" if self.line else self.copy.file


@dataclass(frozen=True, slots=True, kw_only=True)
class PinReport:
    """One pin, judged: the truth, None where it cannot be told (``what`` says why), and its copies."""

    name: str
    truth: Truth | None
    rows: tuple[Row, ...]
    what: str = ""
