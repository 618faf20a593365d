"""``lockgrid lock``: resolve, prove, write; or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from lockgrid.adapters.cache import cache_folder
from lockgrid.commands.context import Context
from lockgrid.commands.copies import tell_drift
from lockgrid.commands.gitsources import git_wheels, read_spec
from lockgrid.commands.locked import Locked, check_partial, read_locked
from lockgrid.commands.mend import mend
from lockgrid.commands.ports import open_ports
from lockgrid.commands.propose import Proposal, Proposer, check_manifest, involved_environments, wanted_environments
from lockgrid.core.changes import loss
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import Grid
from lockgrid.model.spec import Environment, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. ``as_of`` None means now; ``upgrade`` names packages, normalised.

    ``as_of_packages`` are the cut-offs of packages that have their own.
    ``built`` is a folder of wheels that ``lockgrid build`` made.
    """

    environments: tuple[str, ...] = ()
    as_of: datetime | None = None
    as_of_packages: Mapping[str, datetime] = field(default_factory=dict)
    upgrade_all: bool = False
    upgrade: frozenset[str] = frozenset()
    allow_loss: bool = False
    built: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockResult:
    """The grid as it now stands, the files that were written (relative paths), and what happened to them."""

    grid: Grid
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    seconds: float = 0.0


def lock(context: Context, options: Options) -> LockResult:
    """Lock the environments (all, or those named) and write the result.

    Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError`` with ``locks/`` untouched.
    """
    begin = time.perf_counter()
    with context.store.exclusive(cache_folder(context.environ), context.progress.note):
        spec = read_spec(context)  # not before: the run that this one waited for may have written holds
        wanted = wanted_environments(spec, options.environments)
        merge = mend(context)
        context = merge.context
        options = replace(options, as_of=options.as_of or merge.cutoff)
        old = read_locked(context)
        check_partial(spec, wanted, old)
        check_manifest(context)
        proposal = _propose(context, options, spec, wanted, old)
        if proposal.lost and not options.allow_loss:
            raise loss(proposal.lost)
        proposal.write(context)
    if proposal.texts:
        tell_drift(context)
    if merge.files:
        context.progress.note(f"the merge is mended: `git add {' '.join(merge.files)}`")
    return LockResult(
        grid=proposal.grid,
        written=tuple(sorted(proposal.texts)),
        removed=proposal.removed,
        changes=proposal.changes,
        apart=proposal.grid.apart,
        seconds=time.perf_counter() - begin,
    )


def _propose(context: Context, options: Options, spec: Spec, wanted: tuple[Environment, ...], old: Locked) -> Proposal:
    """Resolve, prove, compare with the old locks."""
    involved = involved_environments(spec, wanted)
    upgrade = None if options.upgrade_all else options.upgrade
    git = git_wheels(context, spec, old.grid.git if old.grid else (), options.built, upgrade)
    cutoff = _cutoff(context, options, old)
    with open_ports(context, spec, involved, old.locks, cutoff, git=git) as (uv, learner):
        return Proposer(
            context=context, spec=spec, wanted=wanted, old=old, uv=uv, learner=learner, upgrade=upgrade
        ).propose()


def _cutoff(context: Context, options: Options, old: Locked) -> Cutoff:
    """The cut-offs: as of the recorded one, those of packages that were recorded with it hold too."""
    moment = options.as_of or datetime.fromtimestamp(int(context.clock()), UTC)
    packages: dict[str, datetime] = {}
    if options.as_of and old.grid is not None and old.grid.exclude_newer == options.as_of:
        packages = dict(old.grid.exclude_newer_package)
    packages |= options.as_of_packages
    return Cutoff(moment=moment, packages=tuple(sorted(packages.items())))
