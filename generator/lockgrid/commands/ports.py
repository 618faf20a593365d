"""What a verb needs that asks the index: uv, the index, the facts learnt of it, and the cache, opened together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import Uv, find_uv
from lockgrid.commands.context import Context
from lockgrid.commands.gitsources import GitWheels, git_wheels, with_git_indexes
from lockgrid.commands.learn import Learner
from lockgrid.commands.sources import dateless, index_config
from lockgrid.core.candidates import Facts
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import GitRecord, OldLocks
from lockgrid.model.spec import Environment, Spec


@contextmanager
def open_ports(
    context: Context,
    spec: Spec,
    involved: Sequence[Environment],
    locks: OldLocks,
    cutoff: Cutoff,
    *,
    git: GitWheels | None = None,
    anew: bool = False,
) -> Iterator[tuple[Uv, Learner]]:
    """Uv and what there is to learn for the ``involved`` environments, with ``locks`` in place.

    ``git`` is what is known of git sources, by default what the grid and ``$LOCKGRID_BUILT`` tell. ``anew``: pages are
    asked of the index, however lately they were. Raises ``InputError`` for settings of uv and for ``[sources]`` that
    name no index.
    """
    now = context.clock()
    with ExitStack() as stack:
        cache = Cache(cache_folder(context.environ))
        stack.callback(cache.close)
        wheels = git or git_wheels(context, spec, _records(context, spec))
        config = stack.enter_context(with_git_indexes(index_config(context, spec, involved), wheels))
        uv = stack.enter_context(Uv(find_uv(context.environ), config, context.environ, cache, now))
        here = frozenset(f.url for page in wheels.pages.values() for files in page.releases.values() for f in files)
        client = Index(uv.config, cache, context.environ, context.clock, anew=anew, here=here - {""})
        index = stack.enter_context(client)
        known = frozenset(h for lockfile in locks.values() for pin in lockfile.pins for h in pin.hashes)
        facts = Facts(
            cutoff=cutoff.moment,
            cutoffs=dict(cutoff.packages),
            pages=dict(wheels.pages),
            metadata=dict(wheels.metadata),
            known_hashes=known,
            dateless=dateless(spec),
        )
        yield uv, Learner(index=index, facts=facts, progress=context.progress, cache=cache, now=now, git=wheels.known)


def _records(context: Context, spec: Spec) -> tuple[GitRecord, ...]:
    """What the grid keeps of git sources; nothing is read where there are none."""
    grid = context.grid() if any(environment.git for environment in spec.environments) else None
    return grid.git if grid else ()
