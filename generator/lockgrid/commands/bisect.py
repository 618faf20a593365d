"""``refresh --test``: propose only what passes, and hold back the fewest updates so that it does.

Holds that stand are tried anew: what is no longer needed goes, what still is stays as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lockgrid.commands.candidate import Candidate
from lockgrid.commands.trials import Trials
from lockgrid.core.bisect import Held, Verdict, drive, smallest_hold
from lockgrid.core.holding import Holding, Wanted
from lockgrid.core.holds import read_holds
from lockgrid.core.updates import Group, Requires, Update, find_updates, group_updates
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.grid import OldLocks
from lockgrid.model.tested import Culprit, HoldEntry, State, TrialReport
from lockgrid.model.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A candidate, resolved and proven: all files that would change by path, those that would go, its lockfiles.

    ``digest`` is of the lockfiles. ``candidate`` is what they were taken from, for whoever made it.
    """

    texts: Mapping[str, str]
    removed: tuple[str, ...]
    locks: OldLocks
    digest: str
    candidate: Candidate | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether all files would stay as they are."""
        return not self.texts and not self.removed


#: Makes a candidate of changed texts of ``envs/`` and of packages that keep their pins. Raises ``UnsatisfiableError``.
Propose = Callable[[Mapping[str, str], frozenset[str]], Offer]


@dataclass(slots=True, kw_only=True)
class Bisection:
    """One tested refresh.

    ``requires`` tells what the releases in the locks that stand and in those of a candidate require, as far as that
    is known.
    """

    command: str
    tester: Trials
    propose: Propose
    holding: Holding
    requires: Callable[[OldLocks], Requires]
    resolutions: int = 0
    retried: tuple[HoldEntry, ...] = ()
    groups: tuple[Group, ...] = ()
    moving: tuple[str, ...] = ()
    offers: dict[Held, Offer | None] = field(default_factory=dict)
    trials: dict[Held, Trial] = field(default_factory=dict)

    def run(self) -> tuple[TrialReport, Offer | None]:
        """The report, and the candidate that passed, which may change nothing; None where no update is to blame.

        Raises what ``propose`` raises where no hold is in question, and ``ToolError`` where the test cannot be run.
        """
        first = self._first()
        if first.changes_nothing:
            return self._report(State.NOTHING), first
        updates = find_updates(self.holding.locks, first.locks)
        trial = self._test(first, f"all {len(updates)} updates" if len(updates) != 1 else updates[0].text)
        report = replace(self._report(State.PASSED, first), trial=trial)
        if trial.passed:
            return replace(report, released=self.retried), first
        baseline = self.tester.judge({}, (), "the locks as they stand", counted=False)
        if not baseline.passed:
            return replace(self._report(State.BROKEN), trial=trial, baseline=baseline), None
        self.groups = group_updates(updates, self.requires(first.locks))
        self.offers[frozenset()], self.trials[frozenset()] = first, trial
        held = self._search()
        if held is None:
            return replace(self._report(State.UNBLAMED), trial=trial, baseline=baseline), None
        final, culprits = self._final(held)
        report = self._report(State.HELD, final, culprits=culprits, released=self._released(held))
        return replace(report, trial=trial, baseline=baseline), final

    # -- candidates ------------------------------------------------------------------------------------

    def _first(self) -> Offer:
        """Everything that can move, without the holds that something would move past."""
        entries = self.holding.entries
        free = self._proposed(self.holding.texts(entries)) if entries else None
        if free is not None:
            self.retried = tuple(entry for entry in entries if self.holding.passed_by(entry, free.locks))
            if len(self.retried) == len(entries):
                return free
        offer = self._proposed(self.holding.texts(self.retried)) if self.retried else None
        if offer is None:
            self.retried = ()
            self.resolutions += 1
            return self.propose({}, frozenset())
        return offer

    def _proposed(self, envs: Mapping[str, str], keep: frozenset[str] = frozenset()) -> Offer | None:
        """A candidate; None where it cannot be resolved, or would lose a cell."""
        self.resolutions += 1
        try:
            return self.propose(envs, keep)
        except UnsatisfiableError:
            return None

    def _names(self, held: Held) -> frozenset[str]:
        return frozenset(name for number in held for name in self.groups[number].names)

    def _released(self, held: Held) -> tuple[HoldEntry, ...]:
        """Of the holds that were tried anew, those that go."""
        names = self._names(held)
        return tuple(entry for entry in self.retried if entry.name not in names)

    # -- the search ------------------------------------------------------------------------------------

    def _search(self) -> Held | None:
        """The fewest groups to hold so that the test passes; None where even all that can be held does not do."""
        free = self._holdable()
        if not free or self._judge(frozenset(free)) is not Verdict.PASS:
            return None
        names = {str(entry.name) for entry in self.retried}  # held before: the first to suspect
        suspects = [place for place, number in enumerate(free) if names & self.groups[number].names]
        found = drive(
            smallest_hold(len(free), suspects), lambda held: self._judge(frozenset(free[place] for place in held))
        )
        return frozenset(free[place] for place in found)

    def _holdable(self) -> list[int]:
        """The groups that may be held, if need be all at once: what was locked may be yanked since, and has to move.

        The search is the same, for the fewest that must move so that the rest can be held. It runs no test.
        """
        everything = frozenset(range(len(self.groups)))
        if self._offer(everything) is not None:
            return sorted(everything)

        def judge(moving: Held) -> Verdict:
            return Verdict.FAIL if self._offer(everything - moving) is None else Verdict.PASS

        moving = drive(smallest_hold(len(self.groups)), judge)
        self.moving = tuple(self.groups[number].text for number in sorted(moving))
        return sorted(everything - moving)

    def _offer(self, held: Held) -> Offer | None:
        """The candidate with these groups held; None where it cannot be resolved."""
        if held not in self.offers:
            self.offers[held] = self._proposed(self._envs(held), self._names(held))
        return self.offers[held]

    # -- tests -----------------------------------------------------------------------------------------

    def _judge(self, held: Held) -> Verdict:
        offer = self._offer(held)
        if offer is None:
            return Verdict.UNRESOLVABLE
        if held not in self.trials:
            self.trials[held] = self._test(offer, self._described(held))
        return Verdict.PASS if self.trials[held].passed else Verdict.FAIL

    def _test(self, offer: Offer, what: str) -> Trial:
        return self.tester.judge(offer.texts, offer.removed, what)

    def _described(self, held: Held) -> str:
        names = sorted(name for number in held for name in self.groups[number].leaders)
        shown = ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"
        return f"{len(self.groups)} updates less {len(held)} ({shown})"

    def _evidence(self, held: Held, number: int) -> Trial | None:
        """The run that failed with this group and with everything else held."""
        return self.trials.get(held - {number})

    # -- what is written -------------------------------------------------------------------------------

    def _envs(self, held: Held, *, failing: bool = False) -> dict[str, str]:
        """The texts of ``envs/`` that change when groups are held, and the other holds that were tried go.

        ``failing``: only in the environments whose test failed, where that is known.
        """
        wanted = [
            Wanted(
                update=update,
                environments=self._where(held, number, update) if failing else update.environments,
                why=self._reason(held, number),
            )
            for number in sorted(held)
            for update in self.groups[number].updates
            if update.name in self.groups[number].leaders
        ]
        return self.holding.texts(self._released(held), wanted)

    def _where(self, held: Held, number: int, update: Update) -> tuple[str, ...]:
        trial = self._evidence(held, number)
        failing = trial.environments & {*update.environments} if trial else frozenset[str]()
        return tuple(sorted(failing)) or update.environments

    def _final(self, held: Held) -> tuple[Offer, tuple[Culprit, ...]]:
        """The candidate to propose, with its holds and their reasons written out; what is proposed passed as it is.

        Where the result files say which environment fails, the hold is that environment's, if this passes too. What
        is held may move up to its bound, if this passes too.
        """
        seen = self.offers[held]
        assert seen is not None, "it passed"  # noqa: S101
        envs = self._envs(held)
        # Reasons have no meaning for a lock: these are the bytes that passed.
        best = replace(seen, texts={**{p: t for p, t in seen.texts.items() if p not in self.holding.envs}, **envs})
        narrow = self._envs(held, failing=True)
        for texts in (narrow, *([envs] if narrow != envs else ())):
            offer = self._proposed(texts)
            if offer is not None and self._passes_too(offer, best, held):
                envs, best = texts, offer
                break
        return best, tuple(self._culprit(held, number, envs) for number in sorted(held))

    def _passes_too(self, offer: Offer, seen: Offer, held: Held) -> bool:
        """Whether another candidate passes as well as the one that was seen to."""
        return offer.digest == seen.digest or self._test(offer, f"{self._described(held)}, as written").passed

    def _reason(self, held: Held, number: int) -> str:
        trial = self._evidence(held, number)
        if trial is None or trial.passed:
            return "cannot be resolved while the other updates are held"
        if not trial.cases:
            return f"{self.command} failed: {trial.why}"
        case = trial.cases[0]
        more = f" (and {len(trial.cases) - 1} more)" if len(trial.cases) > 1 else ""
        head = f"{case.environment or self.command}: case {case.name} failed{more}"
        return f"{head}: {case.message}" if case.message else head

    def _culprit(self, held: Held, number: int, envs: Mapping[str, str]) -> Culprit:
        group = self.groups[number]
        entries = read_holds({**self.holding.envs, **envs})
        return Culprit(
            text=group.text,
            packages=tuple(sorted(group.names)),
            why=self._reason(held, number),
            holds=tuple(entry for entry in entries if entry.name in group.names),
            trial=self._evidence(held, number),
            again=any(entry.name in group.names for entry in self.retried),
        )

    def _report(
        self,
        state: State,
        offer: Offer | None = None,
        *,
        culprits: tuple[Culprit, ...] = (),
        released: tuple[HoldEntry, ...] = (),
    ) -> TrialReport:
        tester = self.tester
        updates = find_updates(self.holding.locks, offer.locks) if offer else ()
        return TrialReport(
            command=self.command,
            state=state,
            proposed=tuple(update.text for update in updates),
            culprits=culprits,
            released=released,
            moving=self.moving,
            untried=tuple(entry for entry in self.holding.entries if entry not in self.retried),
            flaky=tuple(tester.flaky),
            runs=tester.runs,
            reruns=tester.reruns,
            remembered=tester.remembered,
            resolutions=self.resolutions,
        )
