"""``lockgrid lock``: resolve, prove, write; or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import Uv, find_uv
from lockgrid.commands.build import PATH as BUILD_PATH
from lockgrid.commands.build import lock_build
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.hold import held_cells
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import Locked, check_partial, read_locked
from lockgrid.commands.resolve import Resolver
from lockgrid.commands.sources import (
    dateless,
    index_config,
    named_packages,
    part_by_sources,
    recorded_sources,
    tell_sources,
)
from lockgrid.core import extras, gridfile
from lockgrid.core.assemble import build_grid, lockfile_texts, lost_cells, records, same_result
from lockgrid.core.candidates import Facts
from lockgrid.core.changes import loss, moved_pins, new_sdists, pin_changes
from lockgrid.core.differ import unshareable
from lockgrid.core.digest import digest_environment, digest_text
from lockgrid.core.failure import nothing_left
from lockgrid.core.inputs import exception_problems, forced_extra_problems, index_problems
from lockgrid.core.render import readme
from lockgrid.core.schema import nearest
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Blocker, Blockers, CellRecord, Grid, ProvenCell
from lockgrid.model.spec import Cell, Environment, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. ``as_of`` None means now; ``upgrade`` names packages, normalised."""

    environments: tuple[str, ...] = ()
    as_of: datetime | None = None
    upgrade_all: bool = False
    upgrade: frozenset[str] = frozenset()
    allow_loss: bool = False


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
    spec = context.spec()
    wanted = _wanted(spec, options.environments)
    folder = cache_folder(context.environ)
    with context.store.exclusive(folder, context.progress.note):
        old = read_locked(context)
        check_partial(spec, wanted, old)
        _check_manifest(context, spec)
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


def _check_manifest(context: Context, spec: Spec) -> None:
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
    extras.extras_in_step(text, spec)


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
        self.now = context.clock()

    def run(self) -> LockResult:
        """Resolve, prove, compare with the old locks, write."""
        with ExitStack() as stack:
            cache = Cache(cache_folder(self.context.environ))
            stack.callback(cache.close)
            involved = [environment for group in self._groups() for environment in group]
            config = index_config(self.context, self.spec, involved)
            uv = stack.enter_context(Uv(find_uv(self.context.environ), config, self.context.environ, cache, self.now))
            index = stack.enter_context(Index(uv.config, cache, self.context.environ, self.context.clock))
            facts = Facts(cutoff=self.cutoff, known_hashes=self._known_hashes(), dateless=dateless(self.spec))
            learner = Learner(index=index, facts=facts, progress=self.context.progress, cache=cache, now=self.now)
            upgrade = self._upgrade()
            digest = "" if upgrade is None else " ".join([_digest_texts(self.old.texts), *sorted(upgrade)])
            resolver = Resolver(uv=uv, learner=learner, old=self.old.locks, old_digest=digest, upgrade=upgrade)
            stack.callback(resolver.pool.shutdown, cancel_futures=True)
            stack.callback(uv.stop)
            cells, blockers = self._solve(resolver)
            tell_sources(self.context, self.wanted, cells, self.old, facts, upgrade)
            build = self._build(resolver, cells)
            result, texts = self._finish(cells, blockers, build, uv.version, resolver.apart)
            resolver.remember(_digest_texts(texts))
            return result

    def _upgrade(self) -> frozenset[str] | None:
        """The packages to upgrade; None for all."""
        return None if self.options.upgrade_all else self.options.upgrade

    def _known_hashes(self) -> frozenset[str]:
        return frozenset(h for lockfile in self.old.locks.values() for pin in lockfile.pins for h in pin.hashes)

    def _groups(self) -> list[list[Environment]]:
        """The environments to resolve together: all that share with a wanted one, and each one apart."""
        shared = [e for e in self.spec.environments if not e.apart]
        groups = [shared] if any(e in self.wanted for e in shared) else []
        return groups + [[e] for e in self.wanted if e.apart]

    def _solve(self, resolver: Resolver) -> tuple[dict[Cell, ProvenCell], Blockers]:
        """The proven cells, and the blockers of the others: as locked where that still holds, or resolved."""
        learner = resolver.learner
        involved = [e for group in self._groups() for e in group]
        learner.pages(key for e in involved for name in named_packages(e) for key in e.projects(name))
        if problems := exception_problems(involved, learner.facts):
            raise InputError(problems)
        groups = [part for group in self._groups() for part in part_by_sources(group, resolver.apart)]
        groups = [part for group in groups for part in self._parts(group, resolver)]
        self._note_unknown_upgrades()
        same_input = self._same_input(involved)
        recalled = learner.recall(involved)
        if not same_input:
            resolver.start(groups, learner.guess(involved) if recalled is None else recalled)
        blockers = dict(learner.scan(involved) if recalled is None else recalled)
        self._check_facts(involved, learner, blockers)
        if same_input and set(blockers) == self._unsupported(involved):
            held = held_cells(learner, involved, blockers, self.old.locks, resolver.old_digest)
            if held is not None:
                resolver.apart = list(self.old.grid.apart) if self.old.grid else []
                return held, blockers
        learner.prefetch(involved, resolver.busy)
        cells: dict[Cell, ProvenCell] = {}
        for result in resolver.resolve(groups, blockers):
            blockers |= result.blockers
            cells |= result.proven
        return cells, blockers

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
        """Whether there is a whole lock of this very input, and nothing is to be upgraded."""
        old = self.old.grid
        if old is None or self.options.upgrade_all or self.options.upgrade:
            return False
        digests = dict(old.environments)
        texts = {path: digest_text(text) for path, text in self.old.texts.items()}
        return texts == dict(old.lockfiles) and all(digests.get(e.name) == digest_environment(e) for e in environments)

    def _unsupported(self, environments: Sequence[Environment]) -> set[Cell]:
        """The cells that the old grid has as unsupported."""
        old = self.old.grid.cells if self.old.grid else ()
        failed = {(c.environment, c.platform, c.python) for c in old if not c.proven}
        return {(e.name, t) for e in environments for t in e.targets if (e.name, t.platform.name, t.python) in failed}

    def _note_unknown_upgrades(self) -> None:
        locked = {pin.name for lockfile in self.old.locks.values() for pin in lockfile.pins}
        for name in sorted(self.options.upgrade - locked):
            hint = nearest(name, locked)
            tail = f"; {hint}" if hint.startswith("did you mean") else ""
            self.context.progress.note(f"no lockfile pins {name}, so there is nothing to upgrade{tail}")

    def _build(self, resolver: Resolver, cells: Mapping[Cell, ProvenCell]) -> str:
        if self.wanted != self.spec.environments and BUILD_PATH in self.old.texts:
            kept = {e.name for e in self.spec.environments} - {e.name for e in self.wanted}
            if kept and not new_sdists(cells, self.old.locks, [e.name for e in self.wanted]):
                return self.old.texts[BUILD_PATH]
        return lock_build(resolver, cells.values())

    # -- what comes of it ------------------------------------------------------------------------------

    def _finish(
        self,
        cells: Mapping[Cell, ProvenCell],
        blockers: Mapping[Cell, Sequence[Blocker]],
        build: str,
        uv: str,
        apart: Sequence[str],
    ) -> tuple[LockResult, Mapping[str, str]]:
        """Compare with the old locks and write; also the texts that now stand in ``locks/``."""
        new_texts = lockfile_texts(self.wanted, cells)
        texts = {**self._kept_texts(), **new_texts, BUILD_PATH: build}
        self._check_others(cells)
        sources = recorded_sources(self.spec, self.wanted, cells, self.old, self._upgrade())
        cell_records = [*records(self.wanted, cells, blockers), *self._kept_records()]
        grid = build_grid(self.spec, cell_records, texts, self.cutoff, uv, apart or self._kept_apart())
        grid = replace(grid, sources=sources)
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

    def _kept_apart(self) -> tuple[str, ...]:
        shared_untouched = not any(not e.apart for e in self.wanted)
        return self.old.grid.apart if self.old.grid and shared_untouched else ()

    def _check_others(self, cells: Mapping[Cell, ProvenCell]) -> None:
        """``lock ENV`` may not leave the others behind: what the common resolution moves must be locked too."""
        involved = {e.name for group in self._groups() for e in group} - {e.name for e in self.wanted}
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
        wanted[extras.PATH] = extras.update_extras(store.read(extras.PATH) or "", self.spec)
        if (text := store.read(readme.PATH)) is not None:
            wanted[readme.PATH] = readme.update_readme(text, grid)
        changed = {path: text for path, text in wanted.items() if store.read(path) != text}
        removed = tuple(f"locks/{path}" for path in self.old.texts if path not in texts)
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
