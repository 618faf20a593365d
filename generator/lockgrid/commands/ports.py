"""What a verb needs that asks the index: uv, the index, the facts learnt of it, and the cache, opened together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import Uv, find_uv
from lockgrid.commands.context import Context
from lockgrid.commands.learn import Learner
from lockgrid.commands.sources import dateless, index_config
from lockgrid.core.candidates import Facts
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import OldLocks
from lockgrid.model.spec import Environment, Spec


@contextmanager
def open_ports(
    context: Context,
    spec: Spec,
    involved: Sequence[Environment],
    locks: OldLocks,
    cutoff: Cutoff,
    *,
    anew: bool = False,
) -> Iterator[tuple[Uv, Learner]]:
    """Uv and what there is to learn for the ``involved`` environments, with ``locks`` in place.

    ``anew``: pages are asked of the index, however lately they were. Raises ``InputError`` for settings of uv and
    for ``[sources]`` that name no index.
    """
    now = context.clock()
    with ExitStack() as stack:
        cache = Cache(cache_folder(context.environ))
        stack.callback(cache.close)
        config = index_config(context, spec, involved)
        uv = stack.enter_context(Uv(find_uv(context.environ), config, context.environ, cache, now))
        index = stack.enter_context(Index(uv.config, cache, context.environ, context.clock, anew=anew))
        known = frozenset(h for lockfile in locks.values() for pin in lockfile.pins for h in pin.hashes)
        cutoffs = dict(cutoff.packages)
        facts = Facts(cutoff=cutoff.moment, cutoffs=cutoffs, known_hashes=known, dateless=dateless(spec))
        yield uv, Learner(index=index, facts=facts, progress=context.progress, cache=cache, now=now)
