"""From environments to proven cells: resolve together, prove, and take apart what cannot be together.

uv decides every version. What happens here is bookkeeping around it: which cells to ask for, which facts
to tell it, and what to ask again when it finds no solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from lockgrid.adapters.uv import Resolved, Uv
from lockgrid.adapters.uvanswer import NoSolution
from lockgrid.commands.diagnose import Outcome, narrow, sharing
from lockgrid.commands.gitsources import own_file
from lockgrid.commands.learn import Learner
from lockgrid.commands.prove import Selections, Verdict, choose, prove
from lockgrid.core import keep
from lockgrid.core.anchor import name_indexes
from lockgrid.core.candidates import absent_sources
from lockgrid.core.cooldown import uv_cutoffs, young_exclusions
from lockgrid.core.differ import apart_over, received_exceptions
from lockgrid.core.failure import NEXT, indent, nothing_left
from lockgrid.core.remember import decode_proofs, encode_proofs, proof_key
from lockgrid.core.resolution import (
    Preference,
    Request,
    preferences_lock,
    project_toml,
    resolver_settings,
)
from lockgrid.core.sources import found_by_one_only
from lockgrid.core.undated import Undated, has_undated, locked_keys, undated
from lockgrid.errors import ToolError, UnsatisfiableError
from lockgrid.model.grid import Blockers, OldLocks, Pin, ProvenCell
from lockgrid.model.spec import Cell, Domain, Environment
from lockgrid.model.target import Target

# Each round excludes a version or gives up a cell, so a run ends by itself; this only bounds a strange index.
_ROUNDS = 100
_WORKERS = 2


@dataclass(slots=True)
class Solved:
    """A group of environments, resolved: its proven cells, and why the others of its domain are not."""

    environments: tuple[Environment, ...]
    proven: dict[Cell, ProvenCell] = field(default_factory=dict)
    blockers: Blockers = field(default_factory=dict)

    def cells(self, environment: str) -> list[ProvenCell]:
        """The proven cells of one environment."""
        return [cell for (name, _), cell in self.proven.items() if name == environment]


@dataclass(slots=True)
class Resolver:
    """Resolves groups of environments. ``old`` and ``upgrade`` say which pins to keep.

    The pages of the sdists that the environments name must be known: uv is told which of them have one.
    """

    uv: Uv
    learner: Learner
    old: OldLocks
    old_digest: str  # of the lockfiles in `old`, empty when nothing is kept
    upgrade: frozenset[str] | None  # None: upgrade everything
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))
    apart: list[str] = field(default_factory=list)
    started: dict[Request, Future[Outcome]] = field(default_factory=dict)
    _proven: list[tuple[Domain, Sequence[str], Sequence[ProvenCell]]] = field(default_factory=list)

    def start(self, groups: Sequence[Sequence[Environment]], hopeless: Iterable[Cell]) -> None:
        """Let uv begin on what ``resolve`` will probably be asked; a wrong guess costs time and nothing else."""
        names = ", ".join(e.name for group in groups for e in group)
        self.learner.progress.step(f"resolving {names}")
        for group in groups:
            request = self._first_request(group, frozenset(hopeless))
            if all(targets for _, targets in request.domain):
                self.started[request] = self.pool.submit(self.uv_lock, request)

    def busy(self) -> bool:
        """Whether uv still works on what was started."""
        return any(not future.done() for future in self.started.values())

    def resolve(self, groups: Sequence[Sequence[Environment]], hopeless: Blockers) -> list[Solved]:
        """Resolve every group; groups whose environments cannot share come back as several.

        Raises ``UnsatisfiableError`` when an environment is left without a cell.
        """
        requests = [self._first_request(group, frozenset(hopeless)) for group in groups]
        futures = [self.started.get(r) or self.pool.submit(self.uv_lock, r) for r in requests]
        solved = []
        for request, first in zip(requests, futures, strict=True):
            solved += self._solve_kept(request, first)
        return solved

    def uv_lock(self, request: Request) -> Outcome:
        """Ask uv."""
        config, facts = self.uv.config, self.learner.facts
        urls = {"": config.default.url if config.default else ""}
        urls |= {name: source.url for name, source in config.named.items()}
        kept = preferences_lock(request, urls) if request.preferences else ""
        named = [(name, e.projects(name)) for e in request.environments for name in e.sdists]
        sdists = sorted({name for name, projects in named if any(map(facts.offers_sdist, projects))})
        project = project_toml(request, self.uv.index_tables)
        outcome = self.uv.lock(project, resolver_settings(request, sdists), kept)
        said = outcome.explanation if isinstance(outcome, NoSolution) else ""
        if lost := found_by_one_only(said, request.environments, facts):
            raise ToolError(
                f"uv found no {', '.join(lost)} on an index where lockgrid found it: that index refused to answer",
                next_step="check the credentials of uv's indexes, and run again",
            )
        if isinstance(outcome, NoSolution) and request.absent:
            return replace(outcome, explanation=name_indexes(outcome.explanation, request))
        return outcome

    def _first_request(self, group: Sequence[Environment], hopeless: frozenset[Cell]) -> Request:
        domain = tuple((e.name, tuple(t for t in e.targets if (e.name, t) not in hopeless)) for e in group)
        everything = list(dict.fromkeys(target for _, targets in domain for target in targets))
        return Request(
            environments=tuple(group),
            domain=domain,
            cutoff=self.learner.facts.cutoff,
            cutoffs=uv_cutoffs(self.learner.facts),
            exclusions=young_exclusions(group, everything, self.learner.facts),
            preferences=self._preferences(group),
            absent=absent_sources(group, self.learner.facts),
            undated=self._undated(group),
        )

    def _undated(self, group: Sequence[Environment]) -> tuple[Undated, ...]:
        """What a mirror without upload times has of the locks, for uv to take."""
        facts = self.learner.facts
        if not has_undated(facts):
            return ()
        self.learner.pages(locked_keys(group, self.old))
        return undated(group, self.old, facts)

    def _preferences(
        self, group: Sequence[Environment], also: Iterable[Preference] = (), *, keep_old: bool = True
    ) -> tuple[Preference, ...]:
        old = self.old if keep_old and self.upgrade is not None else {}
        return keep.preferences(group, old, upgrade=self.upgrade or frozenset(), also=also)

    # -- rounds --------------------------------------------------------------------------------------

    def _solve_kept(self, request: Request, first: Future[Outcome]) -> list[Solved]:
        """Solve with the old pins preferred; the verdict on a cell must not hang on them."""
        solved = self._solve(request, first.result(), {})
        if request.preferences and any(result.blockers for result in solved):
            self.learner.progress.note("a cell failed with the old pins; resolving without them")
            bare = replace(request, preferences=())
            solved = self._solve(bare, self.uv_lock(bare), {})
        return solved

    def _solve(self, request: Request, outcome: Outcome, blockers: Blockers) -> list[Solved]:
        """Prove and resolve again until every cell left is proven, or uv finds no solution.

        ``blockers`` are of cells that were given up on the way here.
        """
        for _ in range(_ROUNDS):
            if isinstance(outcome, NoSolution):
                return self._diagnose(request, outcome, blockers)
            texts = self._export(request, outcome)
            if kept := self._proven_before(request, texts):
                return [Solved(environments=request.environments, proven=kept, blockers=blockers)]
            selections = self._choose(request, texts)
            sets = received_exceptions(request.environments, selections)
            if len(sets) > 1:
                return self._solve_sets(sets, request, blockers)
            verdict = prove(self.learner, self.uv, request, outcome, selections)
            if not verdict.blockers:
                self._proven.append((request.all_domain, texts, tuple(verdict.proven.values())))
                return [Solved(environments=request.environments, proven=verdict.proven, blockers=blockers)]
            known = request.exclusions
            more = [exclusion for exclusion in verdict.exclusions if exclusion not in known]
            wiser = replace(request, exclusions=(*known, *more)).with_extras(verdict.extras)
            if wiser != request:
                request = wiser
            else:
                blockers = blockers | verdict.blockers
                request = self._without(request, verdict.blockers, blockers)
            self.learner.progress.step("resolving again, with what was learnt")
            outcome = self.uv_lock(request)
        raise UnsatisfiableError(
            f"no set of files was found in {_ROUNDS} rounds for {', '.join(e.name for e in request.environments)}",
            next_step="narrow the requirements in envs/",
        )

    def _without(self, request: Request, failed: Blockers, blockers: Blockers) -> Request:
        """The request less the failed cells; an environment without a cell is an error."""
        domain = {name: tuple(t for t in targets if (name, t) not in failed) for name, targets in request.domain}
        for environment in request.environments:
            if not domain[environment.name]:
                raise nothing_left(environment, blockers)
        return replace(request, domain=tuple(domain.items()))

    # -- proofs --------------------------------------------------------------------------------------

    def _export(self, request: Request, resolved: Resolved) -> list[str]:
        """The ``pylock.toml`` of each environment, in order."""
        return list(self.pool.map(lambda e: self.uv.export(resolved, e.extra), request.environments))

    def _choose(self, request: Request, texts: Sequence[str]) -> Selections:
        indexes = {source.url: name for name, source in self.uv.config.named.items()}
        return choose(self.learner, request, texts, self._own_file, indexes)

    def _proven_before(self, request: Request, texts: Sequence[str]) -> dict[Cell, ProvenCell] | None:
        """The cells as an earlier run proved them, when all that the proofs read is as it was."""
        key = proof_key(request.all_domain, texts, self.old_digest)
        known = self.learner.kept("proof", key)
        cells = decode_proofs(known, request.all_domain, self.learner.facts) if known else None
        return {(cell.environment, cell.target): cell for cell in cells} if cells is not None else None

    def remember(self, old_digest: str) -> None:
        """Keep the proofs of this run for the next, which will find the lockfiles that ``old_digest`` is of."""
        for domain, texts, cells in self._proven:
            value = encode_proofs(cells, self.learner.facts)
            if value is not None:
                self.learner.keep("proof", proof_key(domain, texts, old_digest), value)

    def _own_file(self, pin: Pin, environment: Environment, target: Target) -> Pin:
        """The pin with a file that is on its page: of a git source uv saw a stub; and the old file where it serves."""
        return self._keep_file(own_file(pin, self.learner.facts.pages), environment, target)

    def _keep_file(self, pin: Pin, environment: Environment, target: Target) -> Pin:
        """The pin with the file that the old lock had where that still serves."""
        if self.upgrade is None or pin.name in self.upgrade:
            return pin
        return keep.keep_file(pin, environment, target, self.old, self.learner.facts)

    # -- when uv finds no solution -------------------------------------------------------------------

    def _diagnose(self, request: Request, failure: NoSolution, blockers: Blockers) -> list[Solved]:
        """Find the cells that cannot be, or the environments that cannot share, and go on without."""
        self.learner.progress.step("no common solution; looking for who is at fault")
        failed: Blockers = {}
        spared: dict[str, dict[Target, frozenset[str]]] = {}
        for environment in request.environments:
            found, without = narrow(environment, request, self.uv_lock, self._judge)
            failed |= found
            spared |= {environment.name: without} if without else {}
        known = blockers | failed
        if failed:
            request = self._without(request, failed, known)
        if spared and len(request.environments) > 1:  # an override reaches everyone, and so does its absence
            alone = [[e] for e in request.environments if e.name in spared]
            others = [e for e in request.environments if e.name not in spared]
            return self._solve_sets([*([others] if others else []), *alone], request, known)
        for target, names in (item for without in spared.values() for item in without.items()):
            request = request.sparing(names, [target])
        if failed or spared:
            outcome = self.uv_lock(request)
            if not isinstance(outcome, NoSolution):
                return self._solve(request, outcome, known)
            failure = outcome
        elif not request.split:
            split = replace(request, split=True)
            outcome = self.uv_lock(split)
            if not isinstance(outcome, NoSolution):
                return self._solve(split, outcome, known)
        if len(request.environments) == 1:
            file = request.environments[0].file
            raise UnsatisfiableError(f"{file} cannot be resolved:\n{indent(failure.explanation)}", next_step=NEXT)
        return self._solve_sets(sharing(request, self.uv_lock), request, known)

    def _judge(self, request: Request, resolved: Resolved) -> Verdict:
        texts = self._export(request, resolved)
        return prove(self.learner, self.uv, request, resolved, self._choose(request, texts))

    def _solve_sets(self, sets: Sequence[Sequence[Environment]], request: Request, blockers: Blockers) -> list[Solved]:
        """Solve each set by itself, later ones preferring what earlier ones pinned; say over what they differ."""
        solved: list[Solved] = []
        for members in sets:
            earlier = [p for result in solved for p in keep.pinned(result.proven.values())]
            preferences = self._preferences(members, earlier, keep_old=bool(request.preferences))
            part = request.part(members, preferences=preferences)
            solved += self._solve(part, self.uv_lock(part), {})
        solved[0].blockers = blockers | solved[0].blockers
        # Proofs that were remembered have read nothing yet.
        self.learner.metadata(pin for result in solved for cell in result.proven.values() for pin in cell.pins)
        self._say_apart(solved)
        return solved

    def _say_apart(self, solved: Sequence[Solved]) -> None:
        found = [[(e, result.cells(e.name)) for e in result.environments] for result in solved]
        for number, later in enumerate(found):
            for earlier in found[:number]:
                said = apart_over(earlier, later, self.learner.facts)
                self.apart += [sentence for sentence in said if sentence not in self.apart]
