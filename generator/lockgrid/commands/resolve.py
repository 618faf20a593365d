"""From environments to proven cells: scan, resolve together, prove, and take apart what cannot be together.

uv decides every version. What happens here is bookkeeping around it: which cells to ask for, which facts
to tell it, and what to ask again when it finds no solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import NoSolution, Resolved, Uv
from lockgrid.core import keep
from lockgrid.core.candidates import Facts
from lockgrid.core.differ import differ_over
from lockgrid.core.forced import Scan
from lockgrid.core.prove import listed_file, prove_closure, prove_index, prove_tags
from lockgrid.core.remember import decode_scan, encode_scan, pages_of, scan_key
from lockgrid.core.resolution import (
    Exclusion,
    Preference,
    Request,
    exclude_all,
    preferences_lock,
    project_toml,
    resolver_settings,
)
from lockgrid.core.select import (
    Selection,
    decode_selections,
    encode_selections,
    parse_pylock,
    select,
    selection_key,
)
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.grid import Blocker, Pin, Proof, ProvenCell
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target
from lockgrid.progress import Progress

_ROUNDS = 40
_WORKERS = 2

Cell = tuple[str, Target]
Blockers = dict[Cell, tuple[Blocker, ...]]
Outcome = Resolved | NoSolution


@dataclass(slots=True)
class Solved:
    """A group of environments, resolved: its proven cells, and why the others of its domain are not."""

    environments: tuple[Environment, ...]
    proven: dict[Cell, ProvenCell] = field(default_factory=dict)
    blockers: Blockers = field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()

    def cells(self, environment: str) -> list[ProvenCell]:
        """The proven cells of one environment."""
        return [cell for (name, _), cell in self.proven.items() if name == environment]


@dataclass(slots=True)
class Resolver:
    """Resolves groups of environments. ``old`` and ``upgrade`` say which pins to keep."""

    uv: Uv
    index: Index
    facts: Facts
    progress: Progress
    old: keep.OldLocks
    upgrade: frozenset[str] | None  # None: upgrade everything
    cache: Cache
    now: float
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))
    apart: list[str] = field(default_factory=list)
    started: dict[Request, Future[Outcome]] = field(default_factory=dict)

    # -- facts ---------------------------------------------------------------------------------------

    def learn_pages(self, names: Iterable[str]) -> None:
        """Fetch the pages that are not known yet."""
        missing = {name for name in names if name not in self.facts.pages}
        if missing:
            self.progress.step(f"fetching {len(missing)} project pages")
            self.facts.pages |= self.index.pages(missing, self.progress.advance)

    def scan(self, environments: Sequence[Environment]) -> Blockers:
        """The cells that no resolution can save, with every reason (``core.forced``)."""
        self.progress.step("looking for cells that cannot be")
        key = scan_key(environments)
        if known := self.cache.get("scan", [key]):
            self.learn_pages(pages_of(known[key]))
            kept = decode_scan(known[key], environments, self.facts)
            if kept is not None:
                return kept
        return self._scan([Scan(environment) for environment in environments], environments)

    def remember(self, environments: Sequence[Environment], blockers: Blockers) -> None:
        """Keep the outcome of a scan for the next run. For input that was found faultless."""
        value = encode_scan(blockers, self.facts)
        if value is not None:
            self.cache.put("scan", {scan_key(environments): value}, now=self.now)

    def guess(self, environments: Sequence[Environment]) -> Blockers:
        """The same, sooner and not to be trusted: METADATA of one wheel stands for its release."""
        self.progress.step("reading the requirements")
        return self._scan([Scan(environment, stand_in=True) for environment in environments], environments)

    def _scan(self, scans: Sequence[Scan], environments: Sequence[Environment]) -> Blockers:
        while self._advance(scans):
            self._learn(scans)
        return {
            (environment.name, target): blockers
            for environment, scan in zip(environments, scans, strict=True)
            for target, blockers in scan.blockers(self.facts).items()
        }

    def _advance(self, scans: Sequence[Scan]) -> bool:
        """Take every scan as far as it goes; whether any needs more facts."""
        complete = [scan.advance(self.facts) for scan in scans]
        return not all(complete)

    def _learn(self, scans: Sequence[Scan]) -> None:
        self.learn_pages({name for scan in scans for name in scan.pages})
        files = {sha: file for scan in scans for sha, file in scan.files.items()}
        self.facts.metadata |= self.index.metadata(files.values())

    def prefetch(self, environments: Sequence[Environment]) -> None:
        """While uv works, fetch what its answer is likely to need."""
        scans = [Scan(environment, eager=True) for environment in environments]
        while any(not future.done() for future in self.started.values()):
            if not self._advance(scans):
                break
            self._learn(scans)

    # -- resolution ----------------------------------------------------------------------------------

    def start(self, groups: Sequence[Sequence[Environment]], hopeless: Iterable[Cell]) -> None:
        """Let uv begin on what ``resolve`` will probably be asked; a wrong guess costs time and nothing else."""
        names = ", ".join(e.name for group in groups for e in group)
        self.progress.step(f"resolving {names}")
        for group in groups:
            request = self._first_request(group, frozenset(hopeless))
            if all(targets for _, targets in request.domain):
                self.started[request] = self.pool.submit(self._uv_lock, request)

    def _first_request(self, group: Sequence[Environment], hopeless: frozenset[Cell]) -> Request:
        domain = {e.name: tuple(t for t in e.targets if (e.name, t) not in hopeless) for e in group}
        return self._request(group, domain, self._preferences(group))

    def resolve(self, groups: Sequence[Sequence[Environment]], hopeless: Blockers) -> list[Solved]:
        """Resolve every group; groups whose environments cannot share come back as several.

        Raises ``UnsatisfiableError`` when an environment is left without a cell.
        """
        requests = [self._first_request(group, frozenset(hopeless)) for group in groups]
        futures = [self.started.get(r) or self.pool.submit(self._uv_lock, r) for r in requests]
        solved = []
        for group, request, first in zip(groups, requests, futures, strict=True):
            solved += self._solve_kept(group, request, first)
        return solved

    def _solve_kept(self, group: Sequence[Environment], request: Request, first: Future[Outcome]) -> list[Solved]:
        """Solve with the old pins preferred; the verdict on a cell must not hang on them."""
        solved = self._solve(group, request, first)
        if request.preferences and any(result.blockers for result in solved):
            self.progress.note("a cell failed with the old pins; resolving without them")
            bare = replace(request, preferences=(), exclusions=())
            solved = self._solve(group, bare, self.pool.submit(self._uv_lock, bare))
        return solved

    def _solve(self, group: Sequence[Environment], request: Request, first: Future[Outcome]) -> list[Solved]:
        """Prove and resolve again until every cell left is proven, or uv finds no solution."""
        blockers: Blockers = {}
        outcome = first.result()
        for _ in range(_ROUNDS):
            if isinstance(outcome, NoSolution):
                return self._diagnose(group, request, outcome, blockers)
            result, exclusions = self._prove(group, request, outcome)
            known = set(request.exclusions)
            new = [exclusion for exclusion in exclusions if exclusion not in known]
            if not result.blockers:
                result.blockers = blockers
                result.exclusions = request.exclusions
                return self._separate(group, request, result)
            if new:
                request = replace(request, exclusions=(*request.exclusions, *new))
            else:
                blockers |= result.blockers
                request = self._without(request, result.blockers, blockers)
            self.progress.step("resolving again, with what was learnt")
            outcome = self._uv_lock(request)
        raise UnsatisfiableError(
            f"no set of files was found in {_ROUNDS} rounds for {', '.join(e.name for e in group)}",
            next_step="narrow the requirements in envs/",
        )

    def _without(self, request: Request, failed: Blockers, blockers: Blockers) -> Request:
        """The request less the failed cells; an environment without a cell is an error."""
        domain = {name: tuple(t for t in targets if (name, t) not in failed) for name, targets in request.domain}
        for environment in request.environments:
            if not domain[environment.name]:
                raise nothing_left(environment, blockers)
        return replace(request, domain=tuple(domain.items()))

    def _request(
        self,
        group: Sequence[Environment],
        domain: dict[str, tuple[Target, ...]],
        preferences: tuple[Preference, ...] = (),
        exclusions: tuple[Exclusion, ...] = (),
    ) -> Request:
        return Request(
            environments=tuple(group),
            domain=tuple((e.name, domain[e.name]) for e in group),
            cutoff=self.facts.cutoff,
            preferences=preferences,
            exclusions=exclusions,
        )

    def _preferences(self, group: Sequence[Environment], also: Iterable[Preference] = ()) -> tuple[Preference, ...]:
        if self.upgrade is None:
            return tuple(also)
        return keep.preferences(group, self.old, upgrade=self.upgrade, also=also)

    def _uv_lock(self, request: Request) -> Outcome:
        default = self.uv.config.default
        url = default.url if default else ""
        kept = preferences_lock(request, url) if request.preferences else ""
        return self.uv.lock(project_toml(request), resolver_settings(request), kept)

    # -- proofs --------------------------------------------------------------------------------------

    def _prove(
        self, group: Sequence[Environment], request: Request, resolved: Resolved
    ) -> tuple[Solved, list[Exclusion]]:
        selections = self._select(group, request, resolved)
        pins = [pin for selection in selections.values() for pin in selection.pins]
        names = {pin.name for pin in pins} | {name for s in selections.values() for name, _ in s.unservable}
        self.learn_pages(names)
        result = Solved(environments=tuple(group))
        exclusions: dict[tuple[str, str], list[Target]] = {}
        chosen: dict[Cell, list[Pin]] = {}
        for (name, target), selection in selections.items():
            environment = next(e for e in group if e.name == name)
            blockers, hopeless = prove_tags(environment, target, selection, self.facts)
            kept = [self._kept(pin, environment, target) for pin in selection.pins]
            index_blockers, index_hopeless = prove_index(kept, self.facts)
            if blockers or index_blockers:
                result.blockers[name, target] = (*blockers, *index_blockers)
            for version in [*hopeless, *index_hopeless]:
                exclusions.setdefault(version, []).append(target)
            chosen[name, target] = kept
        self._learn_metadata(chosen, resolved)
        self.progress.step(f"proving {len(chosen)} cells")
        for number, ((name, target), kept) in enumerate(chosen.items(), 1):
            if (name, target) in result.blockers:
                continue
            environment = next(e for e in group if e.name == name)
            closure = prove_closure(environment, target, kept, self.facts)
            if closure.blockers:
                result.blockers[name, target] = tuple(closure.blockers)
            else:
                via = tuple((pin, tuple(by)) for pin, by in closure.via.items())
                cell = ProvenCell(environment=name, target=target, pins=tuple(kept), via=via)
                result.proven[name, target] = cell
            self.progress.advance(number, len(chosen))
        facts = [e for (name, version), where in exclusions.items() for e in exclude_all(name, [version], where)]
        return result, facts

    def _select(self, group: Sequence[Environment], request: Request, resolved: Resolved) -> dict[Cell, Selection]:
        exports = [self.pool.submit(self.uv.export, resolved, environment.extra) for environment in group]
        selections = {}
        for environment, export in zip(group, exports, strict=True):
            targets = request.targets(environment.name)
            found = self._selected(export.result(), targets, frozenset(environment.sdists))
            for target, selection in found.items():
                selections[environment.name, target] = selection
        return selections

    def _selected(self, text: str, targets: tuple[Target, ...], sdists: frozenset[str]) -> dict[Target, Selection]:
        """``core.select``, remembered: it is the dearest step, and its answer hangs on its input alone."""
        key = selection_key(text, targets, sdists)
        if known := self.cache.get("selection", [key]):
            return decode_selections(known[key], targets)
        selections = select(parse_pylock(text), targets, sdists)
        self.cache.put("selection", {key: encode_selections(selections)}, now=self.now)
        return selections

    def _kept(self, pin: Pin, environment: Environment, target: Target) -> Pin:
        if self.upgrade is None or pin.name in self.upgrade:
            return pin
        return keep.keep_file(pin, environment, target, self.old, self.facts)

    def _learn_metadata(self, chosen: dict[Cell, list[Pin]], resolved: Resolved) -> None:
        """METADATA of every file of every cell: from the wheel itself, for a sdist from what uv learnt."""
        pins = {pin.file.sha256: pin for kept in chosen.values() for pin in kept}
        missing = {sha: pin for sha, pin in pins.items() if sha not in self.facts.metadata}
        wheels = [listed_file(pin, self.facts) for pin in missing.values() if pin.file.is_wheel]
        if wheels:
            self.progress.step(f"reading METADATA of {len(wheels)} wheels")
            self.facts.metadata |= self.index.metadata(wheels, self.progress.advance)
        for sha, pin in missing.items():
            if not pin.file.is_wheel:
                self.facts.metadata[sha] = self.uv.sdist_metadata(resolved, pin.name, pin.version)

    # -- when uv finds no solution -------------------------------------------------------------------

    def _diagnose(
        self, group: Sequence[Environment], request: Request, failure: NoSolution, blockers: Blockers
    ) -> list[Solved]:
        """Find the cells that cannot be, or the environments that cannot share, and go on without."""
        self.progress.step("no common solution; looking for who is at fault")
        failed: Blockers = {}
        for environment in group:
            failed |= self._narrow(environment, request)
        known = blockers | failed
        if failed:
            request = self._without(request, failed, known)
            outcome = self._uv_lock(request)
            if not isinstance(outcome, NoSolution):
                return self._again(group, request, known)
        if len(group) == 1:
            raise UnsatisfiableError(
                f"{group[0].file} cannot be resolved:\n{_indent(failure.explanation)}", next_step=_NEXT
            )
        return self._take_apart(group, request, known)

    def _again(self, group: Sequence[Environment], request: Request, blockers: Blockers) -> list[Solved]:
        solved = self._solve(group, request, self.pool.submit(self._uv_lock, request))
        solved[0].blockers = blockers | solved[0].blockers
        return solved

    def _narrow(self, environment: Environment, request: Request) -> Blockers:
        """The cells of one environment that uv cannot solve by themselves: tried by Python, then by platform."""
        targets = request.targets(environment.name)
        if self._attempt(environment, targets, request) is None:
            return {}
        failed: Blockers = {}
        for python in sorted({t.python for t in targets}):
            row = tuple(t for t in targets if t.python == python)
            if self._attempt(environment, row, request) is None:
                continue
            for target in row:
                explanation = self._attempt(environment, (target,), request)
                if explanation is not None:
                    failed[environment.name, target] = (_unsolvable(explanation),)
        return failed

    def _attempt(self, environment: Environment, targets: tuple[Target, ...], request: Request) -> str | None:
        """Uv's explanation when the environment alone has no solution on these targets."""
        alone = self._request([environment], {environment.name: targets}, exclusions=request.exclusions)
        outcome = self._uv_lock(alone)
        return outcome.explanation if isinstance(outcome, NoSolution) else None

    def _take_apart(self, group: Sequence[Environment], request: Request, blockers: Blockers) -> list[Solved]:
        """Put each environment into the first set with which it can share; solve each set by itself."""
        sets: list[list[Environment]] = []
        domain = dict(request.domain)
        for environment in group:
            for members in sets:
                trial = self._request([*members, environment], domain, exclusions=request.exclusions)
                if not isinstance(self._uv_lock(trial), NoSolution):
                    members.append(environment)
                    break
            else:
                sets.append([environment])
        return self._solve_sets(sets, domain, request.exclusions, blockers)

    def _solve_sets(
        self,
        sets: Sequence[Sequence[Environment]],
        domain: dict[str, tuple[Target, ...]],
        exclusions: tuple[Exclusion, ...],
        blockers: Blockers,
    ) -> list[Solved]:
        solved: list[Solved] = []
        for members in sets:
            earlier = [pin_preference for result in solved for pin_preference in _as_preferences(result)]
            request = self._request(members, domain, self._preferences(members, earlier), exclusions)
            solved += self._solve(members, request, self.pool.submit(self._uv_lock, request))
        solved[0].blockers = blockers | solved[0].blockers
        self._say_apart(solved)
        return solved

    def _separate(self, group: Sequence[Environment], request: Request, result: Solved) -> list[Solved]:
        """Uv's overrides and sdists hold for a whole resolution: who did not ask for one must not get it."""
        sets: list[list[Environment]] = []
        for environment in group:
            names = {pin.name for cell in result.cells(environment.name) for pin in cell.pins}
            for members in sets:
                if all(_agree(environment, member, names, result) for member in members):
                    members.append(environment)
                    break
            else:
                sets.append([environment])
        if len(sets) == 1:
            return [result]
        return self._solve_sets(sets, dict(request.domain), request.exclusions, result.blockers)

    def _say_apart(self, solved: Sequence[Solved]) -> None:
        for number, later in enumerate(solved):
            for earlier in solved[:number]:
                for one in earlier.environments:
                    for other in later.environments:
                        packages = differ_over(
                            (one, earlier.cells(one.name)), (other, later.cells(other.name)), self.facts
                        )
                        over = "; ".join(packages[:5]) or "their overrides or sdists"
                        self.apart.append(f"{one.name} and {other.name} are locked apart: they differ over {over}")


_NEXT = "change the requirements that contradict each other in envs/"


def _agree(one: Environment, other: Environment, names: set[str], result: Solved) -> bool:
    """Whether neither is given something by the other's overrides, sdists or holds."""
    theirs = {pin.name for cell in result.cells(other.name) for pin in cell.pins}
    for subject, rival, present in ((one, other, names), (other, one, theirs)):
        for override in rival.overrides:
            mine = subject.override(override.name)
            if override.name in present and (mine is None or mine.specifier != override.specifier):
                return False
    return True


def _as_preferences(result: Solved) -> list[Preference]:
    grouped: dict[tuple[str, str], list[Target]] = {}
    for (_, target), cell in result.proven.items():
        for pin in cell.pins:
            grouped.setdefault((pin.name, pin.version), []).append(target)
    return [Preference(name=n, version=v, targets=tuple(dict.fromkeys(t))) for (n, v), t in grouped.items()]


def _unsolvable(explanation: str) -> Blocker:
    text = " ".join(explanation.split())
    return Blocker(proof=Proof.RESOLUTION, package="uv:", exists=text, missing="a set of versions")


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()[:28])


def nothing_left(environment: Environment, blockers: Blockers) -> UnsatisfiableError:
    """The error for an environment without one proven cell, with each reason once."""
    reasons: dict[str, list[str]] = {}
    for (name, target), found in blockers.items():
        if name == environment.name:
            for blocker in found:
                reasons.setdefault(blocker.text, []).append(target.label)
    lines = [f"    {text}" for text in list(reasons)[:12]]
    return UnsatisfiableError(
        f"{environment.file}: no cell of {environment.name} can be installed:\n" + "\n".join(lines), next_step=_NEXT
    )


Say = Callable[[str], None]
