"""What uv answered, judged: the files that each cell would install, and proofs 1 to 3 of each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockgrid.adapters.uv import Resolved, Uv
from lockgrid.commands.learn import Learner
from lockgrid.core.inputs import extra_problems
from lockgrid.core.prove import Closure, prove_closure, prove_index, prove_tags
from lockgrid.core.resolution import Exclusion, Request, exclude_all
from lockgrid.core.sdist import asked_extras
from lockgrid.core.select import Selection, parse_pylocks, select
from lockgrid.errors import InputError, ToolError
from lockgrid.model.grid import Blocker, Blockers, Pin, ProvenCell
from lockgrid.model.spec import Cell, Environment
from lockgrid.model.target import Target

Selections = dict[Cell, Selection]
KeepFile = Callable[[Pin, Environment, Target], Pin]


@dataclass(slots=True)
class Verdict:
    """The proven cells, and why the others are not.

    ``exclusions`` are versions that cells failed over and no resolution should offer them again; ``extras``
    what is asked of overridden packages, by name; ``unmet`` the packages that a cell asks for and has no pin of.
    """

    proven: dict[Cell, ProvenCell] = field(default_factory=dict)
    blockers: Blockers = field(default_factory=dict)
    exclusions: list[Exclusion] = field(default_factory=list)
    extras: dict[str, set[str]] = field(default_factory=dict)
    unmet: dict[Cell, set[str]] = field(default_factory=dict)


def choose(
    learner: Learner, request: Request, texts: Sequence[str], keep_file: KeepFile, indexes: Mapping[str, str]
) -> Selections:
    """What each cell would install of the exported ``texts``, with the files that ``keep_file`` prefers.

    ``indexes`` are those that ``[sources]`` names, by URL. Raises ``ToolError`` when uv took a package from another
    index than that asks for.
    """
    selections: Selections = {}
    known: dict[tuple[str, tuple[Target, ...], frozenset[str]], dict[Target, Selection]] = {}
    locks = dict(zip(texts, parse_pylocks(texts), strict=True))
    for environment, text in zip(request.environments, texts, strict=True):
        key = text, request.targets(environment.name), frozenset(environment.sdists)
        if key not in known:  # environments that require the same have the same export
            known[key] = select(locks[text], key[1], key[2], indexes)
        selections |= {(environment.name, target): selection for target, selection in known[key].items()}
    learner.pages(
        environment.project(name, target)
        for environment, target in request.cells()
        for name in _names(selections[environment.name, target])
    )
    for environment, target in request.cells():
        selection = selections[environment.name, target]
        _check_origins(environment, target, selection)
        kept = tuple(keep_file(pin, environment, target) for pin in selection.pins)
        selections[environment.name, target] = replace(selection, pins=kept)
    return selections


def _names(selection: Selection) -> list[str]:
    return [*(pin.name for pin in selection.pins), *(name for name, _ in selection.unservable)]


def _check_origins(environment: Environment, target: Target, selection: Selection) -> None:
    """Every package comes from the index that ``[sources]`` names for it, and nothing else does."""
    for pin in selection.pins:
        wanted = environment.index(pin.name, target)
        if pin.index != wanted:
            names = [f"the index {index}" if index else "another index" for index in (pin.index, wanted)]
            raise ToolError(
                f"uv took {pin.name}=={pin.version} from {names[0]}, and [sources] says {names[1]}",
                where=f"{environment.file}, {target.label}",
                next_step="report this with the version of uv",
            )


def prove(learner: Learner, uv: Uv, request: Request, resolved: Resolved, selections: Selections) -> Verdict:
    """Proofs 1 to 3 of every cell. Raises ``InputError`` for extras that no pin provides."""
    return _Proofs(learner, request).run(uv, resolved, selections)


@dataclass(slots=True)
class _Standing:
    """A cell after proofs 1 and 3: the pins that passed, what failed, and the versions at fault."""

    pins: tuple[Pin, ...]
    blockers: tuple[Blocker, ...]
    hopeless: tuple[tuple[str, str], ...]


class _Proofs:
    def __init__(self, learner: Learner, request: Request) -> None:
        self.learner = learner
        self.request = request
        self.excluded: dict[tuple[str, str], list[Target]] = {}
        self.verdict = Verdict()

    def run(self, uv: Uv, resolved: Resolved, selections: Selections) -> Verdict:
        """The verdict."""
        facts = self.learner.facts
        standing = {
            (environment.name, target): self._standing(environment, target, selections[environment.name, target])
            for environment, target in self.request.cells()
        }
        open_ = {cell: found for cell, found in standing.items() if self._may_pass(cell, found)}
        self._learn_metadata(uv, resolved, (pin for found in open_.values() for pin in found.pins))
        sound = [(name, found.pins) for (name, _), found in open_.items() if not found.blockers]
        if problems := extra_problems(self.request.environments, sound, facts):
            raise InputError(problems)
        self.learner.progress.step(f"proving {len(selections)} cells")
        for number, (cell, found) in enumerate(standing.items(), 1):
            if cell in open_:
                self._close(cell, found)
            else:
                self._fail(cell, found.blockers, found.hopeless)
            self.learner.progress.advance(number, len(standing))
        for (name, version), where in self.excluded.items():
            self.verdict.exclusions += exclude_all(name, [version], where)
        return self.verdict

    def _standing(self, environment: Environment, target: Target, selection: Selection) -> _Standing:
        facts = self.learner.facts
        blockers, hopeless = prove_tags(environment, target, selection, facts)
        index_blockers, index_hopeless = prove_index(selection.pins, facts)
        failed = {name for name, _ in index_hopeless}
        return _Standing(
            pins=tuple(pin for pin in selection.pins if pin.name not in failed),
            blockers=(*blockers, *index_blockers),
            hopeless=(*hopeless, *index_hopeless),
        )

    def _may_pass(self, cell: Cell, found: _Standing) -> bool:
        """Whether the closure is to decide: an override of uv's drops the marker of what it overrides.

        So a cell may have been given a package that nothing in it asks for, and that package decides nothing.
        """
        by_package = len(found.blockers) == len(found.hopeless)
        return not found.blockers or (by_package and bool(self.request.environment(cell[0]).overrides))

    def _fail(self, cell: Cell, blockers: tuple[Blocker, ...], hopeless: Iterable[tuple[str, str]]) -> None:
        if blockers:
            self.verdict.blockers[cell] = blockers
        for version in hopeless:
            self.excluded.setdefault(version, []).append(cell[1])

    def _close(self, cell: Cell, found: _Standing) -> None:
        """Proof 2 of one cell. What nothing in it asks for stays out."""
        name, target = cell
        closure = prove_closure(self.request.environment(name), target, found.pins, self.learner.facts)
        for package, extras in closure.extras.items():
            self.verdict.extras.setdefault(package, set()).update(extras)
        self.verdict.unmet[cell] = closure.unmet
        if any(package in closure.unmet for package, _ in found.hopeless):
            self._fail(cell, found.blockers, found.hopeless)
            return
        self._fail(cell, tuple(closure.blockers), closure.hopeless)
        if not closure.blockers:
            self.verdict.proven[cell] = _proven(name, target, found.pins, closure)

    def _learn_metadata(self, uv: Uv, resolved: Resolved, pins: Iterable[Pin]) -> None:
        """METADATA of every file: from the wheel or sdist itself, or as uv built it for this very resolution."""
        wanted = {pin.file.sha256: pin for pin in pins}
        self.learner.metadata(wanted.values())
        sdists = self.learner.sdists(wanted.values())
        built = {sha: wanted[sha] for sha, sdist in sdists.items() if sdist.metadata is None}
        facts = self.learner.facts.metadata
        asked = asked_extras(self.request.environments, [facts[sha] for sha in wanted if sha not in built])
        new = {
            sha: uv.sdist_metadata(resolved, pin.name, pin.version, asked.get(pin.name, frozenset()))
            for sha, pin in built.items()
        }
        facts |= new
        self.learner.keep_built(self.request.all_domain, new)
        for pin in built.values():
            self.learner.note_once(
                f"{pin.file.filename} has no static metadata (PEP 643): uv ran its build, now or for an earlier lock, "
                "to learn what it requires"
            )


def _proven(name: str, target: Target, pins: tuple[Pin, ...], closure: Closure) -> ProvenCell:
    via = tuple((pin, tuple(by)) for pin, by in closure.via.items() if by)
    needed = tuple(pin for pin in pins if closure.via[pin.name])
    return ProvenCell(environment=name, target=target, pins=needed, via=via)
