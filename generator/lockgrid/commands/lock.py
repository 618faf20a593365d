"""``lockgrid lock``: resolve, prove, write; or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.index import Index
from lockgrid.adapters.uv import Uv, find_uv
from lockgrid.adapters.uvconfig import read_config
from lockgrid.commands.build import PATH as BUILD_PATH
from lockgrid.commands.build import lock_build
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.learn import Learner
from lockgrid.commands.resolve import Resolver, Solved, nothing_left
from lockgrid.core import extras, gridfile
from lockgrid.core.assemble import build_grid, lockfile_texts, lost_cells, records, same_result
from lockgrid.core.candidates import Facts
from lockgrid.core.digest import digest_environment
from lockgrid.core.inputs import forced_extra_problems, index_problems
from lockgrid.core.lockfile import parse_lockfile, pins_by_python
from lockgrid.core.render import readme
from lockgrid.core.render.requirements import BUILD
from lockgrid.errors import InputError, LockgridError, Problem, UnsatisfiableError
from lockgrid.model.grid import Blocker, CellRecord, Grid, Lockfile, ProvenCell
from lockgrid.model.spec import Environment, Spec
from lockgrid.model.target import Target

Cell = tuple[str, Target]


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


@dataclass(slots=True)
class _Old:
    """What stands in ``locks/``: the grid, the lockfiles that can be read, their texts."""

    grid: Grid | None = None
    locks: dict[tuple[str, str], Lockfile] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def lock(context: Context, options: Options) -> LockResult:
    """Lock the environments (all, or those named) and write the result.

    Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError`` with ``locks/`` untouched.
    """
    begin = time.perf_counter()
    spec = context.spec()
    wanted = _wanted(spec, options.environments)
    folder = cache_folder(context.environ)
    with context.store.exclusive(folder, context.progress.note):
        old = _read_old(context)
        _check_partial(spec, wanted, old)
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


def _read_old(context: Context) -> _Old:
    """The old locks; a file that cannot be read as one is made anew, and that is said."""
    old = _Old()
    try:
        old.grid = context.grid()
    except LockgridError as error:
        context.progress.note(f"{error.what}: made anew")
    for path in context.store.lockfiles():
        text = context.store.read(f"locks/{path}") or ""
        old.texts[path] = text
        environment, _, name = path.removesuffix(".txt").rpartition("/")
        try:
            lockfile = context.lockfile(path)
        except LockgridError as error:
            context.progress.note(f"{error.what}: its pins are not kept")
            continue
        if lockfile:
            old.locks[environment or BUILD, name] = lockfile
    return old


def _check_partial(spec: Spec, wanted: Sequence[Environment], old: _Old) -> None:
    """Locking some environments needs the others to be locked and in date: their files stay as they are."""
    others = [e for e in spec.environments if e not in wanted]
    digests = dict(old.grid.environments) if old.grid else {}
    stale = [e for e in others if digests.get(e.name) != digest_environment(e)]
    gone = sorted(set(digests) - {e.name for e in spec.environments}) if others else []
    if stale or gone:
        names = " ".join(e.name for e in (*wanted, *stale))
        problems = [
            Problem(
                file=e.file,
                what="changed since it was locked" if e.name in digests else "is not locked yet",
                hint="its lockfiles would no longer be what grid.toml says they are",
            )
            for e in stale
        ]
        problems += [Problem(file=f"envs/{n}.toml", what="is gone, and its lockfiles are still there") for n in gone]
        next_step = "run `lockgrid lock`" if gone else f"lock it too: `lockgrid lock {names}`"
        raise InputError(problems, next_step=next_step)


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
        self, context: Context, options: Options, spec: Spec, wanted: Sequence[Environment], old: _Old
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
            config = read_config(self.context.store.root, self.context.environ)
            uv = stack.enter_context(Uv(find_uv(self.context.environ), config, self.context.environ, cache, self.now))
            index = stack.enter_context(Index(uv.config, cache, self.context.environ, self.context.clock))
            facts = Facts(cutoff=self.cutoff, known_hashes=self._known_hashes())
            learner = Learner(index=index, facts=facts, progress=self.context.progress, cache=cache, now=self.now)
            upgrade = None if self.options.upgrade_all else self.options.upgrade
            resolver = Resolver(uv=uv, learner=learner, old=self.old.locks, upgrade=upgrade)
            stack.callback(resolver.pool.shutdown, cancel_futures=True)
            stack.callback(uv.stop)
            solved, blockers = self._solve(resolver)
            cells = {cell: proven for result in solved for cell, proven in result.proven.items()}
            build = self._build(resolver, cells)
            return self._finish(cells, blockers, build, uv.version, resolver.apart)

    def _known_hashes(self) -> frozenset[str]:
        return frozenset(h for lockfile in self.old.locks.values() for pin in lockfile.pins for h in pin.hashes)

    def _groups(self) -> list[list[Environment]]:
        """The environments to resolve together: all that share with a wanted one, and each one apart."""
        shared = [e for e in self.spec.environments if not e.apart]
        groups = [shared] if any(e in self.wanted for e in shared) else []
        return groups + [[e] for e in self.wanted if e.apart]

    def _solve(self, resolver: Resolver) -> tuple[list[Solved], dict[Cell, tuple[Blocker, ...]]]:
        groups = self._groups()
        involved = [e for group in groups for e in group]
        learner = resolver.learner
        self._note_unknown_upgrades()
        resolver.start(groups, self._guess(learner, involved))
        blockers = dict(learner.scan(involved))
        problems = index_problems(involved, learner.facts) + forced_extra_problems(involved, learner.facts)
        if problems:
            raise InputError(problems)
        for environment in involved:
            if all((environment.name, target) in blockers for target in environment.targets):
                raise nothing_left(environment, blockers)
        learner.remember(involved, blockers)
        learner.prefetch(involved, resolver.busy)
        solved = resolver.resolve(groups, blockers)
        for result in solved:
            blockers |= result.blockers
        return solved, blockers

    def _note_unknown_upgrades(self) -> None:
        locked = {pin.name for lockfile in self.old.locks.values() for pin in lockfile.pins}
        for name in sorted(self.options.upgrade - locked):
            self.context.progress.note(f"no lockfile pins {name}, so there is nothing to upgrade")

    def _guess(self, learner: Learner, environments: Sequence[Environment]) -> set[Cell]:
        """The cells that will probably turn out unsupported: as in the old grid, or by a quick scan."""
        old = self.old.grid
        digests = dict(old.environments) if old else {}
        if old is None or any(digests.get(e.name) != digest_environment(e) for e in environments):
            return set(learner.guess(environments))
        failed = {(c.environment, c.platform, c.python) for c in old.cells if not c.proven}
        return {(e.name, t) for e in environments for t in e.targets if (e.name, t.platform.name, t.python) in failed}

    def _build(self, resolver: Resolver, cells: Mapping[Cell, ProvenCell]) -> str:
        if self.wanted != self.spec.environments and BUILD_PATH in self.old.texts:
            kept = {e.name for e in self.spec.environments} - {e.name for e in self.wanted}
            if kept and not _new_sdists(cells, self.old.locks, [e.name for e in self.wanted]):
                return self.old.texts[BUILD_PATH]
        return lock_build(resolver, cells.values())

    # -- what comes of it ------------------------------------------------------------------------------

    def _finish(
        self,
        cells: Mapping[Cell, ProvenCell],
        blockers: Mapping[Cell, tuple[Blocker, ...]],
        build: str,
        uv: str,
        apart: Sequence[str],
    ) -> LockResult:
        new_texts = lockfile_texts(self.wanted, cells)
        texts = {**self._kept_texts(), **new_texts, BUILD_PATH: build}
        self._check_others(cells)
        cell_records = [*records(self.wanted, cells, blockers), *self._kept_records()]
        grid = build_grid(self.spec, cell_records, texts, self.cutoff, uv, apart or self._kept_apart())
        if self.old.grid is not None:
            lost = lost_cells(grid, self.old.grid)
            if lost and not self.options.allow_loss:
                raise _loss(lost)
            if same_result(grid, self.old.grid):
                return self._write(self.old.grid, self.context.store.read(gridfile.PATH) or "", texts)
        return self._write(grid, gridfile.render_grid(grid), texts)

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
        moved: dict[str, set[str]] = {}
        involved = {e.name for group in self._groups() for e in group} - {e.name for e in self.wanted}
        targets = {(t.platform.name, t.python): t for e in self.spec.environments for t in e.targets}
        for (name, platform), lockfile in self.old.locks.items():
            for python, before in pins_by_python(lockfile).items() if name in involved else ():
                cell = cells.get((name, targets[platform, python])) if (platform, python) in targets else None
                after = {pin.name: pin.version for pin in cell.pins} if cell else {}
                moved.setdefault(name, set()).update(package for package, _ in before.items() ^ after.items())
        moved = {name: packages for name, packages in moved.items() if packages}
        if moved:
            problems = [
                Problem(
                    file=f"envs/{name}.toml",
                    what=f"shares a resolution, and would move too: {', '.join(sorted(packages)[:8])}",
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
            changes=tuple(_changes(self.old.locks, texts)) if changed else (),
            apart=grid.apart,
        )


def _new_sdists(
    cells: Mapping[Cell, ProvenCell], old: Mapping[tuple[str, str], Lockfile], wanted: Iterable[str]
) -> bool:
    """Whether an environment installs a sdist that its old lockfile did not."""
    names = set(wanted)
    known = {h for lockfile in old.values() for pin in lockfile.pins for h in pin.hashes}
    return any(
        not pin.file.is_wheel and pin.file.sha256 not in known
        for (name, _), cell in cells.items()
        if name in names
        for pin in cell.pins
    )


def _loss(lost: Sequence[CellRecord]) -> UnsatisfiableError:
    lines = [f"    {c.environment} on {c.platform}, Python {c.python}: {c.because}" for c in lost[:8]]
    more = [f"    and {len(lost) - 8} more"] if len(lost) > 8 else []
    return UnsatisfiableError(
        f"{len(lost)} proven cells would be lost though the input did not change:\n" + "\n".join([*lines, *more]),
        next_step="pass --allow-loss to record them as unsupported",
    )


def _changes(old: Mapping[tuple[str, str], Lockfile], texts: Mapping[str, str]) -> list[str]:
    """One line for each pin that moved, over all lockfiles."""
    before: dict[str, set[str]] = {}
    after: dict[str, set[str]] = {}
    for lockfile in old.values():
        for pin in lockfile.pins:
            before.setdefault(pin.name, set()).add(pin.version)
    for path, text in texts.items():
        for pin in parse_lockfile(path, text).pins:
            after.setdefault(pin.name, set()).add(pin.version)
    lines = []
    for name in sorted(set(before) | set(after)):
        was, now = before.get(name, set()), after.get(name, set())
        if was == now or not before:
            continue
        shown = [", ".join(sorted(versions)) for versions in (was, now)]
        if not was:
            lines.append(f"added {name} {shown[1]}")
        elif not now:
            lines.append(f"removed {name} {shown[0]}")
        else:
            lines.append(f"changed {name} {shown[0]} -> {shown[1]}")
    return lines
