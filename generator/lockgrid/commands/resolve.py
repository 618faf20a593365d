"""From environments to proven cells: resolve together, prove, and take apart what cannot be together.

uv decides every version. What happens here is bookkeeping around it: which cells to ask for, which facts
to tell it, and what to ask again when it finds no solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from lockgrid.adapters.uv import NoSolution, Resolved, Uv
from lockgrid.commands.learn import Learner
from lockgrid.core import keep
from lockgrid.core.differ import differ_over, received_exceptions
from lockgrid.core.failure import NEXT, indent, nothing_left, unsolvable
from lockgrid.core.inputs import extra_problems
from lockgrid.core.prove import prove_closure, prove_index, prove_tags
from lockgrid.core.remember import decode_proofs, encode_proofs, proof_key
from lockgrid.core.resolution import (
    Exclusion,
    Preference,
    Request,
    exclude_all,
    preferences_lock,
    project_toml,
    resolver_settings,
)
from lockgrid.core.sdist import asked_extras
from lockgrid.core.select import Selection, parse_pylock, select
from lockgrid.errors import InputError, UnsatisfiableError
from lockgrid.model.grid import Blockers, OldLocks, Pin, ProvenCell
from lockgrid.model.spec import Cell, Domain, Environment
from lockgrid.model.target import Target

# Each round excludes a version or gives up a cell, so a run ends by itself; this only bounds a strange index.
_ROUNDS = 100
_WORKERS = 2

Outcome = Resolved | NoSolution
Selections = dict[Cell, Selection]


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
    """Resolves groups of environments. ``old`` and ``upgrade`` say which pins to keep."""

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
        self.learner.pages({name for group in groups for e in group for name in e.sdists})
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
        self.learner.pages({name for group in groups for e in group for name in e.sdists})
        requests = [self._first_request(group, frozenset(hopeless)) for group in groups]
        futures = [self.started.get(r) or self.pool.submit(self.uv_lock, r) for r in requests]
        solved = []
        for request, first in zip(requests, futures, strict=True):
            solved += self._solve_kept(request, first)
        return solved

    def uv_lock(self, request: Request) -> Outcome:
        """Ask uv."""
        default = self.uv.config.default
        kept = preferences_lock(request, default.url if default else "") if request.preferences else ""
        named = {name for environment in request.environments for name in environment.sdists}
        sdists = sorted(name for name in named if self.learner.facts.offers_sdist(name))
        return self.uv.lock(project_toml(request), resolver_settings(request, sdists), kept)

    def request(
        self,
        group: Sequence[Environment],
        domain: dict[str, tuple[Target, ...]],
        preferences: tuple[Preference, ...] = (),
        exclusions: tuple[Exclusion, ...] = (),
    ) -> Request:
        """A request over some environments of a larger domain."""
        return Request(
            environments=tuple(group),
            domain=tuple((e.name, domain[e.name]) for e in group),
            cutoff=self.learner.facts.cutoff,
            preferences=preferences,
            exclusions=exclusions,
        )

    def _first_request(self, group: Sequence[Environment], hopeless: frozenset[Cell]) -> Request:
        domain = {e.name: tuple(t for t in e.targets if (e.name, t) not in hopeless) for e in group}
        return self.request(group, domain, self._preferences(group))

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
            selections = self._select(request, texts)
            sets = received_exceptions(request.environments, selections)
            if len(sets) > 1:
                return self._solve_sets(sets, request, blockers)
            result, exclusions = self._prove(request, selections, outcome)
            if not result.blockers:
                result.blockers = blockers
                self._proven.append((_domain(request), texts, tuple(result.proven.values())))
                return [result]
            new = [exclusion for exclusion in exclusions if exclusion not in request.exclusions]
            if new:
                request = replace(request, exclusions=(*request.exclusions, *new))
            else:
                blockers = blockers | result.blockers
                request = self._without(request, result.blockers, blockers)
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

    def _proven_before(self, request: Request, texts: Sequence[str]) -> dict[Cell, ProvenCell] | None:
        """The cells as an earlier run proved them, when all that the proofs read is as it was."""
        key = proof_key(_domain(request), texts, self.old_digest)
        known = self.learner.kept("proof", key)
        cells = decode_proofs(known, _domain(request), self.learner.facts) if known else None
        return {(cell.environment, cell.target): cell for cell in cells} if cells is not None else None

    def remember(self, old_digest: str) -> None:
        """Keep the proofs of this run for the next, which will find the lockfiles that ``old_digest`` is of."""
        for domain, texts, cells in self._proven:
            value = encode_proofs(cells, self.learner.facts)
            if value is not None:
                self.learner.keep("proof", proof_key(domain, texts, old_digest), value)

    def _select(self, request: Request, texts: Sequence[str]) -> Selections:
        """What each cell would install, with the files that the old lock had where they still serve."""
        selections: Selections = {}
        known: dict[tuple[str, tuple[Target, ...], frozenset[str]], dict[Target, Selection]] = {}
        for environment, text in zip(request.environments, texts, strict=True):
            key = text, request.targets(environment.name), frozenset(environment.sdists)
            if key not in known:  # environments that require the same have the same export
                known[key] = select(parse_pylock(text), key[1], key[2])
            selections |= {(environment.name, target): selection for target, selection in known[key].items()}
        named = {pin.name for selection in selections.values() for pin in selection.pins}
        self.learner.pages(named | {name for s in selections.values() for name, _ in s.unservable})
        for environment in request.environments:
            for target in request.targets(environment.name):
                selection = selections[environment.name, target]
                kept = tuple(self._kept(pin, environment, target) for pin in selection.pins)
                selections[environment.name, target] = replace(selection, pins=kept)
        return selections

    def _kept(self, pin: Pin, environment: Environment, target: Target) -> Pin:
        if self.upgrade is None or pin.name in self.upgrade:
            return pin
        return keep.keep_file(pin, environment, target, self.old, self.learner.facts)

    def _prove(self, request: Request, selections: Selections, resolved: Resolved) -> tuple[Solved, list[Exclusion]]:
        """Proofs 1 to 3 of every cell; also the versions that a cell failed over and no resolution should offer it."""
        facts = self.learner.facts
        result = Solved(environments=request.environments)
        exclusions: dict[tuple[str, str], list[Target]] = {}
        for environment in request.environments:
            for target in request.targets(environment.name):
                selection = selections[environment.name, target]
                blockers, hopeless = prove_tags(environment, target, selection, facts)
                index_blockers, index_hopeless = prove_index(selection.pins, facts)
                if blockers or index_blockers:
                    result.blockers[environment.name, target] = (*blockers, *index_blockers)
                for version in [*hopeless, *index_hopeless]:
                    exclusions.setdefault(version, []).append(target)
        sound = {cell: selection.pins for cell, selection in selections.items() if cell not in result.blockers}
        self._learn_metadata(request, {pin.file.sha256: pin for pins in sound.values() for pin in pins}, resolved)
        problems = extra_problems(request.environments, [(name, pins) for (name, _), pins in sound.items()], facts)
        if problems:
            raise InputError(problems)
        self.learner.progress.step(f"proving {len(selections)} cells")
        for number, (cell, pins) in enumerate(sound.items(), 1):
            for version in self._prove_closure(request, cell, pins, result):
                exclusions.setdefault(version, []).append(cell[1])
            self.learner.progress.advance(number, len(sound))
        found = [e for (name, version), where in exclusions.items() for e in exclude_all(name, [version], where)]
        return result, found

    def _prove_closure(
        self, request: Request, cell: Cell, pins: tuple[Pin, ...], result: Solved
    ) -> list[tuple[str, str]]:
        """Proof 2 of one cell, into ``result``; the versions that the cell should not be offered again."""
        name, target = cell
        environment = next(e for e in request.environments if e.name == name)
        closure = prove_closure(environment, target, pins, self.learner.facts)
        if closure.blockers:
            result.blockers[cell] = tuple(closure.blockers)
        else:
            # An override of uv's drops the marker of what it overrides: what nothing asks for here stays out.
            via = tuple((pin, tuple(by)) for pin, by in closure.via.items() if by)
            needed = tuple(pin for pin in pins if closure.via[pin.name])
            result.proven[cell] = ProvenCell(environment=name, target=target, pins=needed, via=via)
        return closure.hopeless

    def _learn_metadata(self, request: Request, pins: dict[str, Pin], resolved: Resolved) -> None:
        """METADATA of every file: from the wheel or sdist itself, or as uv built it for this very resolution."""
        self.learner.metadata(pins.values())
        built = {sha: pins[sha] for sha, sdist in self.learner.sdists(pins.values()).items() if sdist.metadata is None}
        facts = self.learner.facts.metadata
        asked = asked_extras(request.environments, [facts[sha] for sha in pins if sha not in built])
        new = {
            sha: self.uv.sdist_metadata(resolved, pin.name, pin.version, asked.get(pin.name, frozenset()))
            for sha, pin in built.items()
        }
        facts |= new
        self.learner.keep_built(_domain(request), new)

    # -- when uv finds no solution -------------------------------------------------------------------

    def _diagnose(self, request: Request, failure: NoSolution, blockers: Blockers) -> list[Solved]:
        """Find the cells that cannot be, or the environments that cannot share, and go on without."""
        self.learner.progress.step("no common solution; looking for who is at fault")
        failed: Blockers = {}
        for environment in request.environments:
            failed |= self._narrow(environment, request)
        known = blockers | failed
        if failed:
            request = self._without(request, failed, known)
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
        return self._solve_sets(self._sharing(request), request, known)

    def _narrow(self, environment: Environment, request: Request) -> Blockers:
        """The cells of one environment that uv cannot solve by themselves: tried by Python, then by platform."""
        targets = request.targets(environment.name)
        if not request.split and self._attempt(environment, targets, request) is None:
            return {}
        failed: Blockers = {}
        for python in sorted({t.python for t in targets}):
            row = tuple(t for t in targets if t.python == python)
            if self._attempt(environment, row, request) is None:
                continue
            for target in row:
                failure = self._attempt(environment, (target,), request)
                if failure is not None:
                    failed[environment.name, target] = (unsolvable(failure.explanation, failure.sdists),)
        return failed

    def _attempt(self, environment: Environment, targets: tuple[Target, ...], request: Request) -> NoSolution | None:
        """The answer of uv when the environment alone has no solution on these targets."""
        alone = self.request([environment], {environment.name: targets}, exclusions=request.exclusions)
        outcome = self.uv_lock(alone)
        return outcome if isinstance(outcome, NoSolution) else None

    def _sharing(self, request: Request) -> list[list[Environment]]:
        """Put each environment into the first set with which uv finds a common solution."""
        sets: list[list[Environment]] = []
        domain = dict(request.domain)
        for environment in request.environments:
            for members in sets:
                trial = self.request([*members, environment], domain, exclusions=request.exclusions)
                if any(not isinstance(self.uv_lock(replace(trial, split=s)), NoSolution) for s in (False, True)):
                    members.append(environment)
                    break
            else:
                sets.append([environment])
        return sets

    def _solve_sets(self, sets: Sequence[Sequence[Environment]], request: Request, blockers: Blockers) -> list[Solved]:
        """Solve each set by itself, later ones preferring what earlier ones pinned; say over what they differ."""
        solved: list[Solved] = []
        domain = dict(request.domain)
        for members in sets:
            earlier = [p for result in solved for p in keep.pinned(result.proven.values())]
            preferences = self._preferences(members, earlier, keep_old=bool(request.preferences))
            part = self.request(members, domain, preferences, request.exclusions)
            solved += self._solve(part, self.uv_lock(part), {})
        solved[0].blockers = blockers | solved[0].blockers
        # Proofs that were remembered have read nothing yet.
        self.learner.metadata(pin for result in solved for cell in result.proven.values() for pin in cell.pins)
        self._say_apart(solved)
        return solved

    def _say_apart(self, solved: Sequence[Solved]) -> None:
        for number, later in enumerate(solved):
            for earlier in solved[:number]:
                for one in earlier.environments:
                    for other in later.environments:
                        packages = differ_over(
                            (one, earlier.cells(one.name)), (other, later.cells(other.name)), self.learner.facts
                        )
                        over = "; ".join(packages[:5]) or "their overrides or sdists"
                        sentence = f"{one.name} and {other.name} are locked apart: they differ over {over}"
                        if sentence not in self.apart:
                            self.apart.append(sentence)


def _domain(request: Request) -> Domain:
    return [(environment, request.targets(environment.name)) for environment in request.environments]
