"""Which moment files must be older than, and for which packages that is another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """A resolution sees no file that was uploaded after ``moment``; of ``packages`` (normalised) after theirs."""

    moment: datetime
    packages: tuple[tuple[str, datetime], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A locked package with files younger than the cut-off: after ``limit`` only those of ``versions`` count."""

    limit: datetime
    versions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What stands in the locks though nothing as young could enter them.

    ``kept`` by package; ``undated`` are the packages with a locked file of which the index tells no upload time.
    """

    kept: Mapping[str, Kept] = field(default_factory=dict)
    undated: frozenset[str] = frozenset()
