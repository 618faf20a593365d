"""``lockgrid lock``: resolve, prove, write; or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from lockgrid.adapters.cache import cache_folder
from lockgrid.commands.build import PATH as BUILD_PATH
from lockgrid.commands.build import lock_build
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.gitsources import git_wheels, read_spec
from lockgrid.commands.locked import Locked, check_partial, read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.commands.resolve import Resolver
from lockgrid.commands.solve import Solved, Solver, groups_of
from lockgrid.commands.sources import recorded_sources, tell_sources
from lockgrid.core import extras, gridfile
from lockgrid.core.accept import stale
from lockgrid.core.assemble import build_grid, lockfile_texts, lost_cells, records, same_result
from lockgrid.core.changes import loss, moved_pins, new_sdists, pin_changes
from lockgrid.core.digest import digest_text
from lockgrid.core.gitwheels import git_records
from lockgrid.core.render import readme
from lockgrid.core.uvproject import BLOCKER_FILES, read_locks, uv_project
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import CellRecord, FoundRecord, GitRecord, Grid, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. ``as_of`` None means now; ``upgrade`` names packages, normalised.

    ``built`` is a folder of wheels that ``lockgrid build`` made.
    """

    environments: tuple[str, ...] = ()
    as_of: datetime | None = None
    upgrade_all: bool = False
    upgrade: frozenset[str] = frozenset()
    allow_loss: bool = False
    built: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockResult:
    """The grid as it now stands, the files that were written (relative paths), and what happened to them."""

    grid: Grid
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    seconds: float = 0.0


def lock(context: Context, options: Options) -> LockResult:
    """Lock the environments (all, or those named) and write the result.

    Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError`` with ``locks/`` untouched.
    """
    begin = time.perf_counter()
    spec = read_spec(context)
    wanted = _wanted(spec, options.environments)
    folder = cache_folder(context.environ)
    with context.store.exclusive(folder, context.progress.note):
        old = read_locked(context)
        check_partial(spec, wanted, old)
        _check_manifest(context)
        run = _Run(context, options, spec, wanted, old)
        result = run.run()
    return LockResult(
        grid=result.grid,
        written=result.written,
        removed=result.removed,
        changes=result.changes,
        apart=result.apart,
        seconds=time.perf_counter() - begin,
    )


def _wanted(spec: Spec, names: Sequence[str]) -> tuple[Environment, ...]:
    known = {environment.name for environment in spec.environments}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError([unknown_environment(name, spec) for name in unknown])
    return tuple(e for e in spec.environments if not names or e.name in names)


def _check_manifest(context: Context) -> None:
    """A pyproject.toml that cannot take the extras is found before anything is resolved."""
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


class _Run:
    """One run of ``lock``, with the project held."""

    def __init__(
        self, context: Context, options: Options, spec: Spec, wanted: Sequence[Environment], old: Locked
    ) -> None:
        self.context = context
        self.options = options
        self.spec = spec
        self.wanted = tuple(wanted)
        self.old = old
        now = datetime.fromtimestamp(int(context.clock()), UTC)
        self.cutoff = options.as_of or now
        records = old.grid.git if old.grid else ()
        self.git = git_wheels(context, spec, records, options.built, self._upgrade())

    def run(self) -> LockResult:
        """Resolve, prove, compare with the old locks, write."""
        with ExitStack() as stack:
            involved = [e for group in groups_of(self.spec, self.wanted) for e in group]
            upgrade = self._upgrade()
            ports = open_ports(self.context, self.spec, involved, self.old.locks, self.cutoff, git=self.git)
            uv, learner = stack.enter_context(ports)
            digest = "" if upgrade is None else " ".join([_digest_texts(self.old.texts), *sorted(upgrade)])
            resolver = Resolver(uv=uv, learner=learner, old=self.old.locks, old_digest=digest, upgrade=upgrade)
            stack.callback(resolver.pool.shutdown, cancel_futures=True)
            stack.callback(uv.stop)
            solved = Solver(resolver, self.spec, self.wanted, self.old, self.context.progress).solve()
            tell_sources(self.context, self.spec, solved.cells, self.old, learner.facts, upgrade)
            build = self._build(resolver, solved.cells)
            result, texts = self._finish(solved, build, uv.version)
            resolver.remember(_digest_texts(texts))
            return result

    def _upgrade(self) -> frozenset[str] | None:
        """The packages to upgrade; None for all."""
        return None if self.options.upgrade_all else self.options.upgrade

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
        return git_records(self.wanted, self.git.known, before, kept)

    # -- what comes of it ------------------------------------------------------------------------------

    def _finish(self, solved: Solved, build: str, uv: str) -> tuple[LockResult, Mapping[str, str]]:
        """Compare with the old locks and write; also the texts that now stand in ``locks/``."""
        new_texts = lockfile_texts(self.wanted, solved.cells)
        texts = {**self._kept_texts(), **new_texts, BUILD_PATH: build}
        self._check_others(solved.cells)
        sources = recorded_sources(self.spec, self.wanted, solved.cells, self.old, self._upgrade())
        cell_records = [*records(self.wanted, solved.cells, solved.blockers), *self._kept_records()]
        grid = build_grid(
            self.spec,
            cell_records,
            self._findings(solved),
            texts,
            cutoff=self.cutoff,
            uv=uv,
            apart=solved.apart or self._kept_apart(),
        )
        grid = replace(grid, sources=sources, git=self._git_records())
        if self.old.grid is not None:
            lost = lost_cells(grid, self.old.grid)
            if lost and not self.options.allow_loss:
                raise loss(lost)
            if same_result(grid, self.old.grid):
                return self._write(self.old.grid, self.context.store.read(gridfile.PATH) or "", texts), texts
        return self._write(grid, gridfile.render_grid(grid), texts), texts

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

    def _write(self, grid: Grid, grid_text: str, texts: Mapping[str, str]) -> LockResult:
        store = self.context.store
        wanted = {f"locks/{path}": text for path, text in texts.items()}
        wanted[gridfile.PATH] = grid_text
        manifest = store.read(extras.PATH) or ""
        project = uv_project(self.spec, grid, read_locks(texts), extras.requires_python(manifest))
        wanted |= {extras.PATH: extras.update_extras(manifest, project), **project.files}
        if (text := store.read(readme.PATH)) is not None:
            wanted[readme.PATH] = readme.update_readme(text, grid)
        changed = {path: text for path, text in wanted.items() if store.read(path) != text}
        removed = tuple(f"locks/{path}" for path in self.old.texts if path not in texts)
        removed += tuple(path for path in BLOCKER_FILES if path not in wanted and store.read(path) is not None)
        # grid.toml last: whoever finds it in place finds the files that it names in place too.
        ordered = dict(sorted(changed.items(), key=lambda item: item[0] == gridfile.PATH))
        store.replace(ordered, removed)
        return LockResult(
            grid=grid,
            written=tuple(sorted(changed)),
            removed=removed,
            changes=tuple(pin_changes(self.old.locks, texts)) if changed else (),
            apart=grid.apart,
        )


def _digest_texts(texts: Mapping[str, str]) -> str:
    return digest_text("\n".join(f"{path} {digest_text(texts[path])}" for path in sorted(texts)))
