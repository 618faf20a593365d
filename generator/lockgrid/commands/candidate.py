"""Candidates: what a refresh would make of the locks, resolved and proven as ``lock --upgrade`` would, unwritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lockgrid.adapters.uv import Uv
from lockgrid.commands.context import Context
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import Locked, check_partial, read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.commands.propose import Proposal, Proposer, check_manifest, involved_environments, wanted_environments
from lockgrid.core.cooldown import keep_young, locked_projects
from lockgrid.core.digest import digest_texts
from lockgrid.core.moves import Move, moves
from lockgrid.core.trial import with_holds
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import CellRecord, Grid
from lockgrid.model.pins import Row
from lockgrid.model.spec import Environment, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """What a candidate is made under.

    ``held`` are version specifiers by package (normalised), tried without writing ``envs/``: a hold in every
    environment that can have the package. ``keep`` are packages that stay at their pins where they can.
    """

    cutoff: Cutoff
    held: Mapping[str, str] = field(default_factory=dict)
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a refresh would write, see ``Proposal``. ``moves`` are the packages whose pins differ from the locks'.

    ``digest`` is of the lockfiles alone, so that what was found out about them holds for another candidate that has
    the same; ``before`` is that of the lockfiles that stand. ``gained`` are cells that are proven and were not;
    ``lost`` the other way round, where the input is the same. ``holding`` are the environments with a hold, by the
    package that is held for a trial. ``copies`` are the copies of ``pins.toml`` that are rewritten in ``texts``, each
    as it was before, with what it becomes in ``wanted``.
    """

    options: CandidateOptions
    proposal: Proposal
    digest: str
    before: str
    moves: tuple[Move, ...]
    gained: tuple[CellRecord, ...]
    lost: tuple[CellRecord, ...]
    holding: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    copies: tuple[Row, ...] = ()

    @property
    def grid(self) -> Grid:
        """The grid as it would stand."""
        return self.proposal.grid

    @property
    def texts(self) -> Mapping[str, str]:
        """The files that would change, by path, grid.toml last."""
        return self.proposal.texts

    @property
    def removed(self) -> tuple[str, ...]:
        """The files that would go."""
        return self.proposal.removed

    @property
    def changes_nothing(self) -> bool:
        """Whether all files would stay as they are."""
        return not self.texts and not self.removed

    def write(self, context: Context) -> None:
        """Replace the files, all or none; raises ``ToolError``. Where nothing changes no file is touched."""
        self.proposal.write(context)


@dataclass(slots=True, kw_only=True)
class Workshop:
    """What the candidates of one run share: uv, and all that is learnt of the index. The project must be held."""

    context: Context
    wanted: tuple[Environment, ...]
    old: Locked
    uv: Uv
    learner: Learner
    _learners: dict[Cutoff, Learner] = field(default_factory=dict)

    def learner_as_of(self, spec: Spec, cutoff: Cutoff) -> Learner:
        """What is learnt of the index under these cut-offs, and under which all that is locked counts."""
        if cutoff not in self._learners:
            locked = locked_projects(spec.environments, self.old.locks)
            self.learner.pages(locked)
            cutoffs, keeping = keep_young(cutoff, locked, self.learner.facts)
            facts = self.learner.facts.as_of(cutoffs, keeping)
            self._learners[cutoff] = replace(self.learner, facts=facts, scanned={})
        return self._learners[cutoff]


@contextmanager
def open_workshop(
    context: Context, spec: Spec, cutoff: Cutoff, environments: tuple[str, ...] = ()
) -> Iterator[Workshop]:
    """A workshop for the environments of these names, all where there are none. The caller holds the project.

    Raises ``InputError`` for what cannot be locked at all.
    """
    wanted = wanted_environments(spec, environments)
    old = read_locked(context)
    check_partial(spec, wanted, old)
    check_manifest(context)
    involved = involved_environments(spec, wanted)
    with open_ports(context, spec, involved, old.locks, cutoff) as (uv, learner):
        yield Workshop(context=context, wanted=wanted, old=old, uv=uv, learner=learner)


def make_candidate(
    context: Context,
    spec: Spec,
    options: CandidateOptions,
    workshop: Workshop | None = None,
    *,
    base: Spec | None = None,
) -> Candidate:
    """Resolve, prove and compare as ``lock --upgrade`` would under these cut-offs and holds, and write nothing.

    ``spec`` is what ``envs/`` says, or is to say; then ``base`` is what it does say: what differs is the refresh's own
    doing, and no other input for which a cell may be lost. Without a workshop one is opened for this candidate.
    Nothing that is locked is too young. Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError``; cells that
    would be lost are no error.
    """
    if workshop is None:
        with open_workshop(context, spec, options.cutoff) as opened:
            return make_candidate(context, spec, options, opened, base=base)
    old = workshop.old
    trial, holding = with_holds(spec, options.held, old.locks)
    names = {environment.name for environment in workshop.wanted}
    proposal = Proposer(
        context=context,
        spec=trial,
        wanted=tuple(e for e in trial.environments if e.name in names),
        old=old,
        uv=workshop.uv,
        learner=workshop.learner_as_of(spec, options.cutoff),
        upgrade=_all_but(options.keep, old),
        base=base or spec,
    ).propose()
    unsupported = {c.sort_key for c in old.grid.cells if not c.proven} if old.grid else set()
    return Candidate(
        options=options,
        proposal=proposal,
        digest=digest_texts(proposal.lockfiles),
        before=digest_texts(old.texts),
        moves=moves(old.locks, proposal.lockfiles),
        gained=tuple(c for c in proposal.grid.cells if c.proven and c.sort_key in unsupported),
        lost=proposal.lost,
        holding=holding,
    )


def _all_but(keep: frozenset[str], old: Locked) -> frozenset[str] | None:
    """The packages to upgrade; None for all."""
    names = {pin.name for lockfile in old.locks.values() for pin in lockfile.pins}
    return frozenset(names - keep) if keep else None
