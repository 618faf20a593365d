"""What a vulnerability service says of the pins of a grid."""

from __future__ import annotations

from dataclasses import dataclass

#: Environment, platform, Python. What ``locks/build.txt`` pins has the environment ``build``.
CellName = tuple[str, str, str]
#: Name and version.
PinName = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerability:
    """What the service says of one pin. ``fixes`` are versions without it, in no order."""

    id: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    fixes: tuple[str, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """All its names, in lower case."""
        return frozenset(name.lower() for name in (self.id, *self.aliases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The answer to a question about pins: the vulnerabilities of those that were audited, why the others were not."""

    audited: dict[PinName, tuple[Vulnerability, ...]]
    skipped: dict[PinName, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedPin:
    """A pin that an advisory is about. ``fixed`` is the first later version without it, empty where there is none."""

    name: str
    version: str
    fixed: str
    cells: tuple[CellName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """One advisory, under whichever of its names the service says first.

    ``accepted`` has the environments that accept it with their reasons, ``open`` those that are touched and do not.
    """

    id: str
    aliases: tuple[str, ...]
    description: str
    pins: tuple[TouchedPin, ...]
    accepted: tuple[tuple[str, str], ...]
    open: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAudited:
    """A pin of which nobody knows whether there is an advisory."""

    name: str
    version: str
    why: str
    cells: tuple[CellName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisories:
    """The outcome for a grid. ``stale`` are acceptances (file, name) of advisories that no pin has.

    ``pins`` and ``cells`` say how many there are.
    """

    service: str
    pins: int
    cells: int
    advisories: tuple[Advisory, ...]
    not_audited: tuple[NotAudited, ...]
    stale: tuple[tuple[str, str], ...]
