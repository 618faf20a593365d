"""What ``locks/`` and the files beside it would be: resolved, proven, compared with what stands. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lockgrid.adapters.uv import Uv
from lockgrid.commands.build import PATH as BUILD_PATH
from lockgrid.commands.build import lock_build
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import Locked
from lockgrid.commands.resolve import Resolver
from lockgrid.commands.solve import Solved, Solver, groups_of
from lockgrid.commands.sources import recorded_sources, tell_sources
from lockgrid.core import extras, gridfile
from lockgrid.core.accept import stale
from lockgrid.core.assemble import build_grid, lockfile_texts, lost_cells, records, same_result
from lockgrid.core.changes import moved_pins, new_sdists, pin_changes
from lockgrid.core.digest import digest_environment, digest_texts
from lockgrid.core.gitwheels import git_records
from lockgrid.core.render import readme
from lockgrid.core.uvproject import BLOCKER_FILES, read_locks, uv_project
from lockgrid.errors import InputError, Problem
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import CellRecord, FoundRecord, GitRecord, Grid, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a run would write. ``texts`` are the files that would change, grid.toml last, and ``removed`` those to go.

    ``lockfiles`` are the texts of all lockfiles, by path below ``locks/``. ``lost`` are cells that were proven and are
    not, though the input is the same: whoever writes must have asked about them.
    """

    grid: Grid
    lockfiles: Mapping[str, str]
    texts: Mapping[str, str]
    removed: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    lost: tuple[CellRecord, ...] = ()

    def write(self, context: Context) -> None:
        """Replace the files, all or none; raises ``ToolError``. Where nothing changes no file is touched."""
        if self.texts or self.removed:
            context.store.replace(self.texts, self.removed)


def wanted_environments(spec: Spec, names: Sequence[str]) -> tuple[Environment, ...]:
    """The environments of these names, all where there are none; raises ``InputError``."""
    known = {environment.name for environment in spec.environments}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError([unknown_environment(name, spec) for name in unknown])
    return tuple(e for e in spec.environments if not names or e.name in names)


def involved_environments(spec: Spec, wanted: Sequence[Environment]) -> list[Environment]:
    """The environments that a lock of the ``wanted`` is about: more, where others share their resolution."""
    return [e for group in groups_of(spec, wanted) for e in group]


def check_manifest(context: Context) -> None:
    """A pyproject.toml that cannot take the extras is found before anything is resolved; raises ``InputError``."""
    text = context.store.read(extras.PATH)
    if text is None:
        raise InputError(
            [
                Problem(
                    file=extras.PATH, what="there is no such file", hint="lockgrid keeps one extra an environment there"
                )
            ],
            next_step='write one with [project] name = "environments" and version = "0"',
        )
    extras.check_manifest(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposer:
    """Makes a proposal for the ``wanted`` environments of ``spec``, with ``old`` in ``locks/``.

    ``upgrade`` are the packages to upgrade, None for all. The cut-offs are those of the learner's facts.
    ``base`` is what ``envs/`` says where ``spec`` differs from it for a trial: its input counts as that of ``spec``.
    """

    context: Context
    spec: Spec
    wanted: tuple[Environment, ...]
    old: Locked
    uv: Uv
    learner: Learner
    upgrade: frozenset[str] | None
    base: Spec | None = None

    def propose(self) -> Proposal:
        """Resolve, prove, compare. Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError``."""
        with self._resolver() as resolver:
            solved = Solver(resolver, self.spec, self.wanted, self.old, self.context.progress).solve()
            tell_sources(self.context, self.spec, solved.cells, self.old, self.learner.facts, self.upgrade)
            build = self._build(resolver, solved.cells)
            proposal = self._compare(solved, build)
            resolver.remember(digest_texts(proposal.lockfiles))
            return proposal

    @contextmanager
    def _resolver(self) -> Iterator[Resolver]:
        upgrade = self.upgrade
        digest = "" if upgrade is None else " ".join([digest_texts(self.old.texts), *sorted(upgrade)])
        resolver = Resolver(uv=self.uv, learner=self.learner, old=self.old.locks, old_digest=digest, upgrade=upgrade)
        try:
            yield resolver
        finally:  # what was begun on a guess that proved wrong
            resolver.pool.shutdown(wait=False, cancel_futures=True)
            with self.uv.paused():
                resolver.pool.shutdown()

    def _build(self, resolver: Resolver, cells: Mapping[Cell, ProvenCell]) -> str:
        records = self._git_records()
        if self.wanted != self.spec.environments and BUILD_PATH in self.old.texts:
            kept = {e.name for e in self.spec.environments} - {e.name for e in self.wanted}
            same = self.old.grid is not None and self.old.grid.git == records
            if kept and same and not new_sdists(cells, self.old.locks, [e.name for e in self.wanted]):
                return self.old.texts[BUILD_PATH]
        return lock_build(resolver, cells.values(), records)

    def _git_records(self) -> tuple[GitRecord, ...]:
        kept = {e.name for e in self.spec.environments} - {e.name for e in self.wanted}
        before = self.old.grid.git if self.old.grid else ()
        return git_records(self.wanted, self.learner.git, before, kept)

    # -- what comes of it ------------------------------------------------------------------------------

    def _compare(self, solved: Solved, build: str) -> Proposal:
        new_texts = lockfile_texts(self.wanted, solved.cells)
        texts = {**self._kept_texts(), **new_texts, BUILD_PATH: build}
        self._check_others(solved.cells)
        sources = recorded_sources(self.spec, self.wanted, solved.cells, self.old, self.upgrade)
        cell_records = [*records(self.wanted, solved.cells, solved.blockers), *self._kept_records()]
        facts = self.learner.facts
        grid = build_grid(
            self.spec,
            cell_records,
            self._findings(solved),
            texts,
            cutoff=Cutoff(moment=facts.cutoff, packages=tuple(sorted(facts.cutoffs.items()))),
            uv=self.uv.version,
            apart=solved.apart or self._kept_apart(),
        )
        grid = replace(grid, sources=sources, git=self._git_records())
        if self.old.grid is None:
            return self._proposal(grid, gridfile.render_grid(grid), texts)
        if same_result(grid, self.old.grid):
            return self._proposal(self.old.grid, self.context.store.read(gridfile.PATH) or "", texts)
        lost = tuple(lost_cells(self._as_the_base_is(grid), self.old.grid))
        return replace(self._proposal(grid, gridfile.render_grid(grid), texts), lost=lost)

    def _as_the_base_is(self, grid: Grid) -> Grid:
        if self.base is None:
            return grid
        return replace(grid, environments=tuple((e.name, digest_environment(e)) for e in self.base.environments))

    def _kept_texts(self) -> dict[str, str]:
        kept = {e.name for e in self.spec.environments if e not in self.wanted}
        return {path: text for path, text in self.old.texts.items() if path.partition("/")[0] in kept}

    def _kept_records(self) -> list[CellRecord]:
        kept = {e.name for e in self.spec.environments if e not in self.wanted}
        return [cell for cell in (self.old.grid.cells if self.old.grid else ()) if cell.environment in kept]

    def _findings(self, solved: Solved) -> list[FoundRecord]:
        """The findings on what was locked now, on what was kept, and on acceptances that serve nobody."""
        wanted = {e.name for e in self.wanted}
        kept = self.old.grid.findings if self.old.grid else ()
        found = [one for one in solved.records if one.environment in wanted and one.cells]
        found += [one for one in kept if one.environment not in wanted and one.cells]
        found = [one for one in found if one.environment in {e.name for e in self.spec.environments}]
        useless = list(stale(self.spec.environments, found, solved.blockers))
        for sentence in dict.fromkeys(one.finding.what for one in useless):
            self.context.progress.note(sentence)
        return [*found, *useless]

    def _kept_apart(self) -> tuple[str, ...]:
        shared_untouched = not any(not e.apart for e in self.wanted)
        return self.old.grid.apart if self.old.grid and shared_untouched else ()

    def _check_others(self, cells: Mapping[Cell, ProvenCell]) -> None:
        """``lock ENV`` may not leave the others behind: what the common resolution moves must be locked too."""
        involved = {e.name for group in groups_of(self.spec, self.wanted) for e in group} - {
            e.name for e in self.wanted
        }
        moved = moved_pins(cells, self.old.locks, involved)
        if moved:
            problems = [
                Problem(
                    file=f"envs/{name}.toml",
                    what=f"shares a resolution, and would move too: {', '.join(packages[:8])}",
                )
                for name, packages in moved.items()
            ]
            names = " ".join([*(e.name for e in self.wanted), *sorted(moved)])
            raise InputError(problems, next_step=f"lock them together: `lockgrid lock {names}`")

    def _proposal(self, grid: Grid, grid_text: str, texts: Mapping[str, str]) -> Proposal:
        store = self.context.store
        wanted = {f"locks/{path}": text for path, text in texts.items()}
        wanted[gridfile.PATH] = grid_text
        manifest = store.read(extras.PATH) or ""
        project = uv_project(self.spec, grid, read_locks(texts), extras.requires_python(manifest))
        wanted |= {extras.PATH: extras.update_extras(manifest, project), **project.files}
        if (text := store.read(readme.PATH)) is not None:
            wanted[readme.PATH] = readme.update_readme(text, grid)
        changed = {p: text for p, text in wanted.items() if store.read(p) != text or p in store.overlaid}
        removed = tuple(f"locks/{path}" for path in self.old.texts if path not in texts)
        removed += tuple(path for path in BLOCKER_FILES if path not in wanted and store.read(path) is not None)
        return Proposal(
            grid=grid,
            lockfiles=dict(texts),
            # grid.toml last: whoever finds it in place finds the files that it names in place too.
            texts=dict(sorted(changed.items(), key=lambda item: item[0] == gridfile.PATH)),
            removed=removed,
            changes=tuple(pin_changes(self.old.locks, texts)) if changed else (),
        )
