"""What is exported: the pins of some cells of one environment, each with its files and the targets that install it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from packaging.version import Version

from lockgrid.core.targets import python_marker
from lockgrid.model.grid import Pin, ProvenCell
from lockgrid.model.index import IndexFile, is_git
from lockgrid.model.target import Target, python_key


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPin:
    """One ``name==version`` of one index, the files that the targets install for it, and a marker that tells these.

    The marker is empty where every exported target installs the pin, and is only asked on exported targets.
    """

    name: str
    version: str
    index: str
    files: tuple[IndexFile, ...]  # sorted by name
    marker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Cells of one environment, at least one; pins sorted by name, then version."""

    environment: str
    targets: tuple[Target, ...]
    pins: tuple[ExportPin, ...]

    @property
    def single(self) -> bool:
        """Whether this is one target, which needs no markers."""
        return len(self.targets) == 1

    @property
    def counted(self) -> str:
        """How many targets these are, in words."""
        return "1 target" if self.single else f"{len(self.targets)} targets"

    @property
    def sdists(self) -> tuple[str, ...]:
        """The packages that some target builds from a sdist, sorted."""
        return tuple(sorted({pin.name for pin in self.pins for file in pin.files if not file.is_wheel}))

    @property
    def indexes(self) -> tuple[str, ...]:
        """The names of the indexes that ``[sources]`` names for a pin, sorted."""
        return tuple(sorted({pin.index for pin in self.pins if pin.index and not is_git(pin.index)}))

    @property
    def built(self) -> tuple[str, ...]:
        """The packages that are built from git, which no index serves by itself, sorted."""
        return tuple(sorted({pin.name for pin in self.pins if is_git(pin.index)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUrls:
    """Where an export says that files come from, without credentials: uv's plain indexes in its order, and named ones.

    The last of ``plain`` is the default index.
    """

    plain: tuple[str, ...]
    named: tuple[tuple[str, str], ...] = ()

    def of(self, index: str) -> str | None:
        """The URL of the index that serves a pin; None where several plain ones might, and for what git builds."""
        if is_git(index):
            return None
        if index:
            return dict(self.named)[index]
        return self.plain[0] if len(self.plain) == 1 else None


def gather(cells: Sequence[ProvenCell]) -> Export:
    """The cells, all of one environment, as one export.

    Raises ``ValueError`` for a cell without a pin: whoever installs it would succeed by installing nothing.
    """
    if not cells or not all(cell.pins for cell in cells):
        raise ValueError("there is nothing to export")
    found: dict[tuple[str, str, str], dict[Target, Pin]] = {}
    for cell in cells:
        for pin in cell.pins:
            found.setdefault((pin.name, pin.version, pin.index), {})[cell.target] = pin
    targets = tuple(sorted((cell.target for cell in cells), key=lambda target: target.sort_key))
    pins = []
    for name, version, index in sorted(found, key=lambda key: (key[0], Version(key[1]), key[2])):
        where = found[name, version, index]
        files = {pin.file.sha256: pin.file for pin in where.values()}
        pins.append(
            ExportPin(
                name=name,
                version=version,
                index=index,
                files=tuple(sorted(files.values(), key=lambda file: (file.filename, file.sha256))),
                marker=marker_among(where, targets),
            )
        )
    return Export(environment=cells[0].environment, targets=targets, pins=tuple(pins))


def marker_among(chosen: Collection[Target], among: Collection[Target]) -> str:
    """A marker that picks ``chosen`` out of ``among``, the shorter the better; empty when that is all of them.

    What it says of any other target means nothing.
    """
    pythons = {target.python for target in chosen}
    every_python = {target.python for target in among}
    if {target for target in among if target.python in pythons} == set(chosen):
        return python_marker(pythons, every_python)
    parts = []
    for platforms, wanted in _by_pythons(chosen).items():
        there = {target.python for target in among if target.platform.name in platforms}
        same = all({t.python for t in among if t.platform.name == p} == there for p in platforms)
        for group in [platforms] if same else [frozenset({p}) for p in sorted(platforms)]:
            where = _platforms_marker(group, among)
            python = python_marker(wanted, {t.python for t in among if t.platform.name in group})
            parts.append(f"{_bracketed(where)} and {_bracketed(python)}" if where and python else where or python)
    return parts[0] if len(parts) == 1 else " or ".join(_bracketed(part) for part in sorted(parts))


def _by_pythons(targets: Iterable[Target]) -> dict[frozenset[str], tuple[str, ...]]:
    """Sets of platforms that have the same Pythons among the targets, and these Pythons."""
    pythons: dict[str, list[str]] = {}
    for target in sorted(targets, key=lambda t: t.sort_key):
        pythons.setdefault(target.platform.name, []).append(target.python)
    grouped: dict[tuple[str, ...], set[str]] = {}
    for platform, found in pythons.items():
        grouped.setdefault(tuple(found), set()).add(platform)
    return {frozenset(platforms): found for found, platforms in grouped.items()}


def _platforms_marker(platforms: frozenset[str], among: Iterable[Target]) -> str:
    """A marker that is true on these platforms of ``among`` alone; empty for all."""
    kinds = {target.platform.name: target.platform.kind for target in among}
    if platforms == kinds.keys():
        return ""
    parts = []
    for system in sorted({kinds[name].sys_platform for name in platforms}):
        alike = {name for name, kind in kinds.items() if kind.sys_platform == system}
        if alike <= platforms:
            parts.append(f"sys_platform == '{system}'")
            continue
        for name in sorted(alike & platforms):
            parts.append(f"sys_platform == '{system}' and platform_machine == '{kinds[name].platform_machine}'")
    return parts[0] if len(parts) == 1 else " or ".join(_bracketed(part) for part in parts)


def _bracketed(marker: str) -> str:
    return f"({marker})" if " or " in marker else marker


def outside_marker(targets: Collection[Target]) -> str:
    """A marker that is true on every platform and Python but these targets (PEP 508 has no ``not``)."""
    pythons: dict[str, list[tuple[int, int]]] = {}
    kinds = {target.platform.name: target.platform.kind for target in targets}
    for target in targets:
        pythons.setdefault(target.platform.name, []).append(python_key(target.python))
    parts = []
    for name, kind in sorted(kinds.items()):
        other = f"sys_platform != '{kind.sys_platform}' or platform_machine != '{kind.platform_machine}'"
        parts.append(f"({other} or {_other_pythons(sorted(pythons[name]))})")
    return " and ".join(parts) if len(parts) > 1 else parts[0].removeprefix("(").removesuffix(")")


def _other_pythons(pythons: Sequence[tuple[int, int]]) -> str:
    """True on all Pythons but these, sorted: before the first, in each gap, after the last."""
    parts = [f"python_version < '{_text(pythons[0])}'"]
    for low, high in pairwise(pythons):
        if high != (after := (low[0], low[1] + 1)):
            parts.append(f"(python_version >= '{_text(after)}' and python_version < '{_text(high)}')")
    last = pythons[-1]
    parts.append(f"python_version >= '{_text((last[0], last[1] + 1))}'")
    return " or ".join(parts)


def _text(python: tuple[int, int]) -> str:
    return f"{python[0]}.{python[1]}"


def described(export: Export) -> str:
    """Which targets these are, for people: ``linux-x86_64 (glibc 2.31), Python 3.10 3.11``."""
    pythons: dict[str, list[str]] = {}
    for target in export.targets:
        pythons.setdefault(target.platform.label, []).append(target.python)
    return "; ".join(f"{label}, Python {' '.join(found)}" for label, found in pythons.items())
