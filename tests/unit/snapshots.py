"""Snapshots of ``locks/`` in a few words: made as text and read back, so that a test sees what a user's diff sees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from lockgrid.core.digest import digest_text
from lockgrid.core.gridfile import render_grid
from lockgrid.core.render.requirements import render
from lockgrid.core.snapshot import Snapshot, read_snapshot
from lockgrid.model.advisory import CellName
from lockgrid.model.finding import Finding, Severity
from lockgrid.model.grid import CellRecord, FoundRecord, LockedPin, Lockfile
from lockgrid.model.target import python_key
from unit.builders import digest
from unit.grids import GRID, proven, unsupported

Pins = Mapping[str, str]
Cells = dict[CellName, dict[str, str]]
LINUX, ARM, MAC = "linux-x86_64", "linux-aarch64", "macos-arm64"


def cells(environments: str, pins: Pins, platforms: Sequence[str] = (LINUX, MAC), pythons: str = "3.11 3.12") -> Cells:
    """The same pins (name -> version) in every cell of environments, platforms and Pythons."""
    return {(e, p, python): dict(pins) for e in environments.split() for p in platforms for python in pythons.split()}


def snapshot(
    pins: Cells,
    *,
    via: Mapping[str, str] | None = None,
    more: Mapping[str, Sequence[str]] | None = None,
    records: Iterable[CellRecord] = (),
    findings: Iterable[FoundRecord] = (),
    build: Pins | None = None,
    day: int = 1,
    size: int = 1_000_000,
    sdists: Collection[str] = (),
) -> Snapshot:
    """A snapshot of proven cells with their pins, and of the ``records`` of others.

    ``via``: who asks for a package, by spaces; a file of envs/ where it is not named. ``more``: further files of a
    package, beside the one of its version. ``size``: bytes of each cell for each of its packages.
    """
    texts = files(pins, via or {}, more or {}, sdists)
    if build is not None:
        texts["locks/build.txt"] = render(_lockfile("build", "any", {"3.11": build}, via or {}, more or {}, ()))
    grid = replace(
        GRID,
        exclude_newer=datetime(2026, 10, day, tzinfo=UTC),
        lockfiles=tuple(sorted((path.removeprefix("locks/"), digest_text(text)) for path, text in texts.items())),
        cells=tuple(
            sorted(
                [*(proven(*cell, len(has), size * len(has)) for cell, has in pins.items()), *records],
                key=lambda cell: cell.sort_key,
            )
        ),
        findings=tuple(findings),
        apart=(),
    )
    return read_snapshot({**texts, "locks/grid.toml": render_grid(grid)})


def files(
    pins: Cells,
    via: Mapping[str, str],
    more: Mapping[str, Sequence[str]],
    sdists: Collection[str] = (),
) -> dict[str, str]:
    """The lockfiles of the cells, by path."""
    by_file: dict[tuple[str, str], dict[str, Pins]] = {}
    for (environment, platform, python), has in pins.items():
        by_file.setdefault((environment, platform), {})[python] = has
    return {
        f"locks/{environment}/{platform}.txt": render(_lockfile(environment, platform, some, via, more, sdists))
        for (environment, platform), some in by_file.items()
    }


def _lockfile(
    environment: str,
    platform: str,
    pins: Mapping[str, Pins],
    via: Mapping[str, str],
    more: Mapping[str, Sequence[str]],
    sdists: Collection[str],
) -> Lockfile:
    where: dict[tuple[str, str], list[str]] = {}
    for python in sorted(pins, key=python_key):
        for name, version in pins[python].items():
            where.setdefault((name, version), []).append(python)
    versions = {name: version for has in pins.values() for name, version in has.items()}
    found = [
        LockedPin(
            name=name,
            version=version,
            pythons=tuple(pythons),
            hashes=tuple(sorted(map(digest, (f"{name}-{version}", *more.get(name, ()))))),
            via=tuple(
                asker if asker.startswith("envs/") else f"{asker}[x]=={versions.get(asker, '1')}"
                for asker in via.get(name, f"envs/{environment}.toml").split()
            ),
        )
        for (name, version), pythons in sorted(where.items())
    ]
    return Lockfile(
        environment=environment,
        platform=platform,
        pythons=tuple(sorted(pins, key=python_key)),
        sdists=tuple(sorted(sdists)),
        pins=tuple(found),
    )


def found(
    name: str, environment: str, *targets: tuple[str, str], severity: Severity = "warning", accepted: bool = False
) -> FoundRecord:
    """A finding on targets (platform, Python) of an environment."""
    return FoundRecord(
        environment=environment,
        finding=Finding(name=name, severity=severity, wheels=(), what=f"what {name} is"),
        packages=(f"{name.partition(':')[2]}==1",),
        cells=targets,
        accepted=accepted,
    )


__all__ = ["ARM", "LINUX", "MAC", "Cells", "cells", "files", "found", "snapshot", "unsupported"]
