"""The cells to write: as locked where that still holds, or resolved; then judged by what is inside their wheels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockgrid.commands.gitsources import carried_records, unread_pins
from lockgrid.commands.hold import held_cells
from lockgrid.commands.inspect import inspect
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import Locked
from lockgrid.commands.resolve import Resolver
from lockgrid.commands.sources import named_packages, part_by_sources
from lockgrid.core.accept import failures, record
from lockgrid.core.differ import unshareable
from lockgrid.core.digest import digest_environment, digest_text
from lockgrid.core.failure import nothing_left
from lockgrid.core.inputs import exception_problems, forced_extra_problems, index_problems
from lockgrid.core.render.audit import read_text
from lockgrid.core.table import nearest
from lockgrid.errors import InputError, Problem
from lockgrid.model.finding import RULES
from lockgrid.model.grid import Blockers, CellRecord, FoundRecord, Proof, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec
from lockgrid.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What a run came to. ``failed``: cells that failed the proofs 4 and 5; ``held``: all is as it was locked."""

    cells: Mapping[Cell, ProvenCell]
    blockers: Blockers
    apart: Sequence[str] = ()
    held: bool = False
    failed: frozenset[Cell] = frozenset()
    records: tuple[FoundRecord, ...] = ()


def groups_of(spec: Spec, wanted: Sequence[Environment]) -> list[list[Environment]]:
    """The environments to resolve together: all that share with a wanted one, and each one apart."""
    shared = [e for e in spec.environments if not e.apart]
    groups = [shared] if any(e in wanted for e in shared) else []
    return groups + [[e] for e in wanted if e.apart]


@dataclass(frozen=True, slots=True)
class Solver:
    """Solves for the ``wanted`` environments, with ``old`` in ``locks/``."""

    resolver: Resolver
    spec: Spec
    wanted: Sequence[Environment]
    old: Locked
    progress: Progress

    def solve(self) -> Solved:
        """The cells that pass all five proofs, the blockers of the others, and what was found in their wheels.

        Where a cell comes to fail over its old pins, those that are blamed get another chance without being kept.
        """
        self._note_unknown_upgrades()
        solved = self._judge(self._solve(self.resolver))
        blamed = self._blamed(solved)
        if blamed and self.old.locks and self.resolver.upgrade is not None:
            self.progress.note(f"cells fail over what is inside wheels; resolving without the old {', '.join(blamed)}")
            upgrade = self.resolver.upgrade | set(blamed)
            digest = " ".join([self.resolver.old_digest, *blamed])
            freed = replace(self.resolver, old_digest=digest, upgrade=upgrade, apart=[], started={})
            again = self._judge(self._solve(freed))
            solved = again if again.failed < solved.failed else solved
        for environment in self.involved():
            if all((environment.name, target) in solved.blockers for target in environment.targets):
                raise nothing_left(environment, solved.blockers)
        return solved

    def _blamed(self, solved: Solved) -> list[str]:
        """The packages over which cells failed the proofs 4 and 5, but for what the old grid has as unsupported so."""
        old = self._old_cells(self.involved())
        new = {
            cell: solved.blockers[cell]
            for cell in solved.failed
            if {b.finding for b in solved.blockers[cell]}
            != {b.finding for b in (old[cell].blockers if cell in old else ())}
        }
        packages = (package for found in new.values() for b in found for package in b.package.split(" and "))
        return sorted({package.partition("==")[0] for package in packages})

    def _old_cells(self, environments: Sequence[Environment]) -> dict[Cell, CellRecord]:
        """The cells of these environments as the old grid has them."""
        old = {(c.environment, c.platform, c.python): c for c in (self.old.grid.cells if self.old.grid else ())}
        keys = {(e.name, t): (e.name, t.platform.name, t.python) for e in environments for t in e.targets}
        return {cell: old[key] for cell, key in keys.items() if key in old}

    def _judge(self, solved: Solved) -> Solved:
        """Proofs 4 and 5. The same files were judged by the same rules when they were locked."""
        if solved.held and self.old.grid is not None and self.old.grid.rules == RULES:
            return replace(solved, records=self.old.grid.findings)
        inspected = inspect(self.resolver.learner, solved.cells)
        self.progress.note(read_text(inspected.contents.values())) if inspected.contents else None
        environments = self.involved()
        failed = failures(environments, solved.cells, inspected.findings)
        carried = self._carried(solved.cells, inspected.unread)
        return replace(
            solved,
            cells={cell: proven for cell, proven in solved.cells.items() if cell not in failed},
            blockers=solved.blockers | failed,
            failed=frozenset(failed),
            records=(*(found for e in environments for found in record(e, inspected.findings)), *carried),
        )

    def _carried(self, cells: Mapping[Cell, ProvenCell], unread: frozenset[str]) -> list[FoundRecord]:
        """What the grid has of wheels of git sources that are not at hand: what is inside them was judged before.

        Raises ``InputError`` where it was not: by other rules, in a cell that was not proven, or another file.
        """
        grid = self.old.grid
        old = self._old_cells(self.involved())
        needed: set[str] = set()
        for (name, target), cell in cells.items():
            lockfile = self.old.locks.get((name, target.platform.name))
            for pin in unread_pins(cell, unread):
                locked = lockfile.named(pin.name) if lockfile else ()
                same = any(pin.file.sha256 in one.hashes and target.python in one.pythons for one in locked)
                proven = (name, target) in old and old[name, target].proven
                if grid is None or grid.rules != RULES or not (same and proven):
                    needed.add(pin.file.filename)
        if needed:
            what = "what is inside of it has to be judged, and it is not at hand"
            problems = [Problem(file=f"[git] {filename}", what=what) for filename in needed]
            raise InputError(problems, next_step="give the folder that holds it: `lockgrid lock --built DIR`")
        return carried_records(cells, unread, grid.findings) if grid and unread else []

    def involved(self) -> list[Environment]:
        """The environments that the resolution is about: more than are wanted, where others share it."""
        return [e for group in groups_of(self.spec, self.wanted) for e in group]

    def _solve(self, resolver: Resolver) -> Solved:
        """Proofs 1 to 3: the cells as locked where that still holds, or resolved."""
        learner = resolver.learner
        involved = self.involved()
        learner.pages(key for e in involved for name in named_packages(e) for key in e.projects(name))
        if problems := exception_problems(involved, learner.facts):
            raise InputError(problems)
        groups = [
            part for group in groups_of(self.spec, self.wanted) for part in part_by_sources(group, resolver.apart)
        ]
        groups = [part for group in groups for part in self._parts(group, resolver)]
        same_input = resolver.upgrade == frozenset() and self._same_input(involved)
        recalled = learner.recall(involved)
        if not same_input:
            resolver.start(groups, learner.guess(involved) if recalled is None else recalled)
        blockers = dict(learner.scan(involved) if recalled is None else recalled)
        self._check_facts(involved, learner, blockers)
        judged = self._judged_unsupported(involved) if same_input else {}
        if same_input and blockers.keys() | judged.keys() == self._unsupported(involved):
            held = held_cells(learner, involved, blockers | judged, self.old.locks, resolver.old_digest)
            if held is not None:
                resolver.apart = list(self.old.grid.apart) if self.old.grid else []
                return Solved(cells=held, blockers=blockers | judged, apart=resolver.apart, held=True)
        learner.prefetch(involved, resolver.busy)
        cells: dict[Cell, ProvenCell] = {}
        for result in resolver.resolve(groups, blockers):
            blockers |= result.blockers
            cells |= result.proven
        return Solved(cells=cells, blockers=blockers, apart=resolver.apart)

    def _parts(self, group: list[Environment], resolver: Resolver) -> list[list[Environment]]:
        """The group, with each environment by itself whose override would bend the others."""
        targets = {target for environment in group for target in environment.targets}
        together, alone = [], []
        for environment in group:
            package = unshareable(environment, targets, resolver.learner.facts) if len(group) > 1 else ""
            if package:
                alone.append([environment])
                sentence = f"{environment.name} is locked apart: its override of {package} does not serve every target"
                resolver.apart.append(sentence)
            else:
                together.append(environment)
        return [part for part in (together, *alone) if part]

    def _check_facts(self, involved: Sequence[Environment], learner: Learner, blockers: Blockers) -> None:
        """Raise for what the index shows to be wrong with the input, or for an environment without a cell."""
        problems = index_problems(involved, learner.facts) + forced_extra_problems(involved, learner.facts)
        if problems:
            raise InputError(problems)
        for environment in involved:
            if all((environment.name, target) in blockers for target in environment.targets):
                raise nothing_left(environment, blockers)
        learner.remember(involved, blockers)

    def _same_input(self, environments: Sequence[Environment]) -> bool:
        """Whether there is a whole lock of this very input."""
        old = self.old.grid
        if old is None:
            return False
        digests = dict(old.environments)
        texts = {path: digest_text(text) for path, text in self.old.texts.items()}
        return texts == dict(old.lockfiles) and all(digests.get(e.name) == digest_environment(e) for e in environments)

    def _unsupported(self, environments: Sequence[Environment]) -> set[Cell]:
        """The cells that the old grid has as unsupported."""
        return {cell for cell, old in self._old_cells(environments).items() if not old.proven}

    def _judged_unsupported(self, environments: Sequence[Environment]) -> Blockers:
        """The cells that these very rules found unsupported for what is inside their wheels."""
        if self.old.grid is None or self.old.grid.rules != RULES:
            return {}
        inside = (Proof.BINARIES, Proof.FILES)
        old = self._old_cells(environments)
        return {cell: record.blockers for cell, record in old.items() if record.failed in inside}

    def _note_unknown_upgrades(self) -> None:
        locked = {pin.name for lockfile in self.old.locks.values() for pin in lockfile.pins}
        for name in sorted((self.resolver.upgrade or frozenset()) - locked):
            hint = nearest(name, locked)
            tail = f"; {hint}" if hint.startswith("did you mean") else ""
            self.progress.note(f"no lockfile pins {name}, so there is nothing to upgrade{tail}")
