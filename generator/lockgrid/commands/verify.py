"""``lockgrid verify``: every hash of every lockfile against what the index lists now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from lockgrid.commands.context import Context
from lockgrid.commands.ports import open_ports
from lockgrid.core.candidates import Facts
from lockgrid.core.digest import digest_text
from lockgrid.core.export import IndexUrls
from lockgrid.core.gitwheels import distinct
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.render.requirements import BUILD, lockfile_key
from lockgrid.core.verify import Fault, merge_faults, pin_faults
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Grid, LockedPin, Lockfile
from lockgrid.model.spec import Environment, Spec
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was compared: lockfiles, the hashes in them, different ones of these, and the indexes; and what is wrong."""

    lockfiles: int
    hashes: int
    distinct: int
    indexes: IndexUrls
    faults: tuple[Fault, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Lockfiles, hashes, different hashes."""
        return self.lockfiles, self.hashes, self.distinct


def verify(context: Context) -> Verified:
    """Ask the index, anew, for every project that a lockfile pins, and compare every hash.

    Raises ``InputError`` where there are no locks or they cannot be read, ``ToolError`` when the index fails.
    """
    spec, grid = context.spec(), context.require_grid()
    lockfiles = _read(context, grid)
    locks = {lockfile_key(path): lockfile for path, lockfile in lockfiles.items()}
    with open_ports(context, spec, spec.environments, locks, grid.cutoff, anew=True) as (_, learner):
        learner.pages(
            _project(pin, targets, environment)
            for path, lockfile in lockfiles.items()
            for environment in [spec.environment(lockfile_key(path)[0])]
            for pin in lockfile.pins
            for targets in [_targets(spec, path, pin)]
        )
        faults = [*_file_faults(grid, lockfiles)]
        for path, lockfile in lockfiles.items():
            faults += _faults(spec, path, lockfile, learner.facts)
        urls = learner.index.urls()
    for source in distinct(spec.environments):
        context.progress.note(f"{source.name} is built from git: its wheels are held against grid.toml, not an index")
    hashes = [sha for lockfile in lockfiles.values() for pin in lockfile.pins for sha in pin.hashes]
    if not hashes:
        raise InputError([Problem(file=GRID, what="no lockfile pins anything")], next_step="run `lockgrid lock`")
    return Verified(
        lockfiles=len(lockfiles),
        hashes=len(hashes),
        distinct=len(set(hashes)),
        indexes=IndexUrls(plain=urls[0], named=tuple(sorted(urls[1].items()))),
        faults=merge_faults(faults),
    )


def _read(context: Context, grid: Grid) -> dict[str, Lockfile]:
    """Every lockfile by its path below ``locks/``, those that were edited since the lock being told."""
    found: dict[str, Lockfile] = {}
    digests = dict(grid.lockfiles)
    for path in context.store.lockfiles():
        lockfile = context.lockfile(path)
        if lockfile is not None:
            found[path] = lockfile
        if digest_text(context.store.read(f"locks/{path}") or "") != digests.get(path):
            context.progress.note(f"locks/{path} is not as it was locked: see `lockgrid check`")
    return found


def _file_faults(grid: Grid, lockfiles: Mapping[str, Lockfile]) -> list[Fault]:
    """Lockfiles of the grid that are not there, or pin nothing though their cells are proven."""
    gone = [path for path, _ in grid.lockfiles if path not in lockfiles]
    empty = [path for path, lockfile in lockfiles.items() if not lockfile.pins and lockfile_key(path)[0] != BUILD]
    faults = [Fault(kind="lockfile", what="is missing", lockfiles=(f"locks/{path}",)) for path in gone]
    return faults + [Fault(kind="lockfile", what="pins nothing", lockfiles=(f"locks/{path}",)) for path in empty]


def _faults(spec: Spec, path: str, lockfile: Lockfile, facts: Facts) -> list[Fault]:
    environment = spec.environment(lockfile_key(path)[0])
    found = []
    for pin in lockfile.pins:
        targets = _targets(spec, path, pin)
        project = _project(pin, targets, environment)
        for fault in pin_faults(pin, project, targets, facts, sdist=pin.name in lockfile.sdists):
            found.append(replace(fault, lockfiles=(f"locks/{path}",)))
    return found


def _targets(spec: Spec, path: str, pin: LockedPin) -> list[Target]:
    """The targets that a lockfile's pin is for; ``build.txt`` serves all platforms."""
    environment, name = lockfile_key(path)
    known = {platform.name: platform for platform in spec.platforms}
    if environment == BUILD:
        platforms = list(known.values())
    else:
        platforms = [known.get(name, Platform(name=name))] if name in PLATFORM_KINDS else []
    return [Target(platform=platform, python=python) for platform in platforms for python in pin.pythons]


def _project(pin: LockedPin, targets: list[Target], environment: Environment | None) -> str:
    """The key of the page that offers a pin: all targets of one lockfile have the same."""
    return environment.project(pin.name, targets[0]) if environment and targets else pin.name


def verified_as_json(result: Verified) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "lockfiles": result.lockfiles,
        "hashes": result.hashes,
        "files": result.distinct,
        "indexes": [*result.indexes.plain],
        "named-indexes": dict(result.indexes.named),
        "faults": [asdict(fault) for fault in result.faults],
    }
