"""``lockgrid refresh``: newer releases within what ``envs/`` asks for, after a cool-down; or no change at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lockgrid.adapters.cache import cache_folder
from lockgrid.commands.candidate import Candidate, CandidateOptions, Workshop, make_candidate, open_workshop
from lockgrid.commands.context import Context
from lockgrid.commands.copies import Copies, read_copies
from lockgrid.commands.mend import require_merged
from lockgrid.core.changes import loss
from lockgrid.core.cooldown import cooled, ended
from lockgrid.core.gridfile import cell_values
from lockgrid.core.holdback import Bound, HeldBack, blamed, bounds, loss_reasons, without
from lockgrid.core.render.pins import change_values
from lockgrid.core.render.refresh import render_back, render_cells, render_copies, render_exceptions, render_moves
from lockgrid.core.render.tested import render_tested, report_as_json
from lockgrid.core.resolution import timestamp
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.spec import CooldownException, Spec
from lockgrid.model.tested import TrialReport

if TYPE_CHECKING:
    from lockgrid.commands.tested import TrialOptions

# A round holds back at least one release more; where so many do not help, none will.
_MOST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOptions:
    """What the command line asks for. ``as_of`` None means now; the cool-down counts from there.

    ``test``: what is proposed has to pass it, else updates are held back until it does.
    """

    environments: tuple[str, ...] = ()
    as_of: datetime | None = None
    dry_run: bool = False
    allow_loss: bool = False
    test: TrialOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What a refresh came to. ``back`` are the releases that it did not take since cells would be lost with them.

    ``bounds`` is what ``envs/`` holds back, ``over`` the exceptions from the cool-down that count no more.
    ``written`` is false where nothing changed, and for a dry run. ``tested`` is the report of the test.
    """

    candidate: Candidate
    back: tuple[HeldBack, ...]
    bounds: tuple[Bound, ...]
    exceptions: tuple[CooldownException, ...]
    over: tuple[CooldownException, ...]
    written: bool
    seconds: float
    tested: TrialReport | None = None


def refresh(context: Context, options: RefreshOptions) -> Refreshed:
    """Take what is new and old enough, prove it, and write it, all or nothing.

    Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError`` with every file untouched, ``FailingError`` where
    the test fails and no update is to blame.
    """
    begin = time.perf_counter()
    now = options.as_of or datetime.fromtimestamp(int(context.clock()), UTC)
    with ExitStack() as stack:
        stack.enter_context(context.store.exclusive(cache_folder(context.environ), context.progress.note))
        spec = context.spec()  # not before: the run that this one waited for may have written holds
        require_merged(context)
        cutoff = cooled(spec, now)
        copies = read_copies(context)
        workshop = stack.enter_context(open_workshop(context, spec, cutoff, options.environments))
        candidate, back, tested = _proposed(context, spec, cutoff, workshop, copies, options)
        if not options.dry_run:
            copies.check_unchanged(candidate)
            candidate.write(context)
        facts = workshop.learner_as_of(spec, cutoff).facts
        held = bounds(workshop.wanted, workshop.old.locks, facts)
    return Refreshed(
        candidate=candidate,
        back=back,
        bounds=tuple(held),
        exceptions=tuple(e for e in spec.exceptions if not ended(e, now)),
        over=tuple(e for e in spec.exceptions if ended(e, now)),
        written=not options.dry_run and not candidate.changes_nothing,
        seconds=time.perf_counter() - begin,
        tested=tested,
    )


def _proposed(
    context: Context, spec: Spec, cutoff: Cutoff, workshop: Workshop, copies: Copies, options: RefreshOptions
) -> tuple[Candidate, tuple[HeldBack, ...], TrialReport | None]:
    if options.test is None:
        candidate, back = propose_update(context, spec, cutoff, workshop, allow_loss=options.allow_loss)
        return copies.follow(candidate), back, None
    from lockgrid.commands.tested import Candidates, tested_refresh

    candidates = Candidates(
        context=context, spec=spec, cutoff=cutoff, workshop=workshop, copies=copies, allow_loss=options.allow_loss
    )
    tested, candidate = tested_refresh(context, candidates, options.test)
    return candidate, candidates.back, tested


def propose_update(
    context: Context,
    spec: Spec,
    cutoff: Cutoff,
    workshop: Workshop,
    *,
    allow_loss: bool = False,
    base: Spec | None = None,
) -> tuple[Candidate, tuple[HeldBack, ...]]:
    """The candidate of all that is old enough, and the releases that were not taken for the cells' sake.

    A release with which a proven cell would be lost is held back by a cut-off of its own, so that the next refresh
    tries again. ``base`` as in ``make_candidate``. Raises ``UnsatisfiableError`` where that does not help.
    """
    if allow_loss:
        return make_candidate(context, spec, CandidateOptions(cutoff=cutoff), workshop, base=base), ()
    attempt = _Attempt(context, spec, base, cutoff, workshop)
    back: list[HeldBack] = []
    found = attempt.make(back)
    while isinstance(found, _Losing):
        known, facts = {one.release for one in back}, workshop.learner.facts
        more = [one for one in blamed(found.reasons, workshop.old.locks) if one.release not in known]
        if without(cutoff, [*back, *more], facts) == without(cutoff, back, facts) or len(back) >= _MOST:
            raise found.error
        names = ", ".join(f"{one.name} {one.version}" for one in more)
        context.progress.note(f"proven cells would be lost with {names}: trying without")
        back += more
        found = attempt.make(back)
    for one in list(back) if len(back) > 1 else []:  # a sentence that names two blames one of them only
        fewer = [other for other in back if other is not one]
        again = attempt.make(fewer)
        if not isinstance(again, _Losing):
            back, found = fewer, again
    return found, tuple(sorted(back, key=lambda one: one.release))


@dataclass(frozen=True, slots=True)
class _Losing:
    """Proven cells would be lost: why, and the error to raise if nothing helps."""

    reasons: list[str]
    error: UnsatisfiableError


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A candidate without some releases."""

    context: Context
    spec: Spec
    base: Spec | None
    cutoff: Cutoff
    workshop: Workshop

    def make(self, back: Sequence[HeldBack]) -> Candidate | _Losing:
        cutoff = without(self.cutoff, back, self.workshop.learner.facts)
        try:
            options = CandidateOptions(cutoff=cutoff)
            candidate = make_candidate(self.context, self.spec, options, self.workshop, base=self.base)
        except UnsatisfiableError as error:
            if not error.reasons:
                raise
            return _Losing(list(error.reasons), error)
        return _Losing(loss_reasons(candidate.lost), loss(candidate.lost)) if candidate.lost else candidate


def remarks(result: Refreshed) -> Iterator[str]:
    """What was not taken, and why: for the person who keeps ``envs/``."""
    if result.tested is not None and result.tested.culprits and result.candidate.changes_nothing:
        yield from render_tested(result.tested)
    yield from render_exceptions(result.over)
    yield from render_back(result.back, result.bounds)


def said(result: Refreshed, *, apart: bool = False) -> Iterator[str]:
    """The result for a person, in lines: one where there is nothing to do. ``apart``: not in the work tree."""
    candidate = result.candidate
    cutoff = timestamp(candidate.options.cutoff.moment)
    if candidate.changes_nothing:
        yield f"nothing to refresh: no release up to {cutoff} changes the locks"
        return
    if result.tested is not None:
        yield from render_tested(result.tested)
    yield from render_cells(candidate.gained, candidate.lost, candidate.grid.cells)
    yield from render_moves(candidate.moves)
    yield from render_copies(candidate.copies)
    if apart:
        return
    done = ("wrote", "removed") if result.written else ("would write", "would remove")
    yield from (f"{done[0]} {path}" for path in sorted(candidate.texts))
    yield from (f"{done[1]} {path}" for path in candidate.removed)


def refreshed_as_json(result: Refreshed) -> dict[str, Any]:
    """The result for machines."""
    candidate, grid = result.candidate, result.candidate.grid
    cutoff = candidate.options.cutoff
    tested = {} if result.tested is None else {"tested": report_as_json(result.tested)}
    return {
        "changed": not candidate.changes_nothing,
        "written": sorted(candidate.texts) if result.written else [],
        "removed": list(candidate.removed) if result.written else [],
        "cut-off": timestamp(cutoff.moment),
        "cut-offs": {name: timestamp(moment) for name, moment in cutoff.packages},
        "lockfiles": candidate.digest,
        "moves": [
            {"package": m.name, "old": list(m.old), "new": list(m.new), "environments": list(m.environments)}
            for m in candidate.moves
        ],
        "copies": [change_values(row) for row in candidate.copies],
        "gained": [cell_values(cell) for cell in candidate.gained],
        "lost": [cell_values(cell) for cell in candidate.lost],
        "unsupported": [cell_values(cell) for cell in grid.cells if not cell.proven],
        "held-back": [{"package": b.name, "version": b.version, "because": b.because} for b in result.back],
        "bounds": [
            {
                "file": b.file,
                "key": b.key,
                "says": b.text,
                "package": b.package,
                "version": b.version,
                "released": timestamp(b.released) if b.released else None,
            }
            for b in result.bounds
        ],
        "exceptions": [_exception(e) for e in result.exceptions],
        "exceptions-over": [_exception(e) for e in result.over],
        **tested,
    }


def _exception(exception: CooldownException) -> dict[str, str]:
    return {"package": exception.name, "why": exception.why, "until": exception.until.isoformat()}
