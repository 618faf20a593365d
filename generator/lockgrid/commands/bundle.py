"""``lockgrid bundle``: a folder that installs one cell without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from lockgrid.adapters.bundlefolder import BundleFolder
from lockgrid.adapters.cache import cache_folder
from lockgrid.adapters.disk import hash_of
from lockgrid.adapters.download import Downloaded
from lockgrid.adapters.store import Store
from lockgrid.adapters.uv import Uv
from lockgrid.commands.buildsdists import build_sdists, can_build
from lockgrid.commands.context import Context
from lockgrid.commands.explain import explain
from lockgrid.commands.learn import Learner
from lockgrid.commands.locked import read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.core.bundle import (
    MARK,
    PARTIAL,
    SCRATCH,
    SDISTS,
    SUMS,
    WHEELS,
    Plan,
    built_pin,
    downloads,
    mark_text,
    needed_to_build,
    parse_sums,
    strangers,
    sums_text,
)
from lockgrid.core.digest import digest_text
from lockgrid.core.keep import locked_pins
from lockgrid.core.missing import missing_files
from lockgrid.core.render.install import texts
from lockgrid.core.render.requirements import BUILD
from lockgrid.errors import HashMismatchError, InputError, Problem, ToolError, UnsatisfiableError
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import CellRecord, Grid, Lockfile, OldLocks, Pin
from lockgrid.model.index import IndexFile
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target

# The locks say which files, by hash: when a mirror got them does not matter.
_ANY_TIME = Cutoff(moment=datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """A complete bundle. ``bytes`` is its size; ``built`` are wheels made here, ``to_build`` sdists left for there.

    ``kept`` and ``fetched`` count files that were there before and that came now, with ``received`` bytes.
    """

    folder: str
    environment: str
    platform: str
    python: str
    packages: int
    files: int
    bytes: int
    built: tuple[str, ...]
    to_build: tuple[str, ...]
    kept: int
    fetched: int
    received: int


def bundle(context: Context, environment: str, platform: str, python: str, folder: Path) -> Bundled:
    """Make the bundle of one cell in ``folder``, or complete one that was begun there.

    Raises ``InputError`` for unknown names, edited locks and a folder that holds something else;
    ``UnsatisfiableError`` for an unsupported cell; ``ToolError`` for the index, the network and the disk: then what
    is complete stays for the next run.
    """
    context.store.check_foreign(folder)
    grid, cell = _checked_cell(context, environment, platform, python)
    with (
        _planned(context, grid, cell) as (plan, uv, learner),
        Store(folder).exclusive(cache_folder(context.environ), context.progress.note),
    ):
        files = BundleFolder(folder)
        _refuse_strangers(files, folder, plan)
        files.write({MARK: mark_text(plan)})
        return _fill(context, files, plan, uv, learner)


def bundled_as_json(result: Bundled) -> dict[str, Any]:
    """For ``--json``: the fields by their names."""
    return asdict(result)


def _checked_cell(context: Context, environment: str, platform: str, python: str) -> tuple[Grid, CellRecord]:
    """The grid and the cell in it, which is proven, and of which the lockfiles are as they were written."""
    grid, cells = explain(context, environment, platform, python)
    if not cells:
        what = f"{environment} is not in the grid for {platform}, Python {python}"
        raise InputError([Problem(file="command line", what=what)], next_step="`lockgrid show` prints the grid")
    (cell,) = cells
    if not cell.proven:
        raise UnsatisfiableError(
            f"this cell is unsupported: {cell.because}",
            where=f"{environment} on {cell.platform}, Python {cell.python}",
            next_step=f"`lockgrid explain {environment} {cell.platform} {cell.python}` tells more",
        )
    digests = dict(grid.lockfiles)
    problems = [
        Problem(file=f"locks/{path}", what="is missing" if text is None else "was edited since the lock")
        for path in (f"{environment}/{cell.platform}.txt", "build.txt")
        if path in digests
        and ((text := context.store.read(f"locks/{path}")) is None or digest_text(text) != digests[path])
    ]
    if problems:
        raise InputError(problems, next_step="restore the file from version control, or run `lockgrid lock`")
    return grid, cell


@contextmanager
def _planned(context: Context, grid: Grid, cell: CellRecord) -> Iterator[tuple[Plan, Uv, Learner]]:
    """The plan of the bundle, with every file as the index lists it, and what carries it out."""
    name, platform, python = cell.environment, cell.platform, cell.python
    spec, locks = context.spec(), read_locked(context).locks
    environment = spec.environment(name)
    targets = environment.targets if environment else ()
    target = next((t for t in targets if (t.platform.name, t.python) == (platform, python)), None)
    if environment is None or target is None:
        what = f"{name} on {platform}, Python {python} is in the grid, and no longer in envs/"
        raise InputError([Problem(file=f"envs/{name}.toml", what=what)], next_step="run `lockgrid lock`")
    with open_ports(context, spec, [environment], locks, _ANY_TIME) as (uv, learner):
        pins = _located(learner, environment, target, locks)
        digest = dict(grid.lockfiles)[f"{name}/{platform}.txt"]
        plan = Plan(environment=name, target=target, lockfile=digest, pins=tuple(pins))
        if plan.sdists and (build := locks.get((BUILD, BUILD))) is not None:
            plan = replace(plan, build=tuple(_build_pins(learner, plan, build)))
        yield plan, uv, learner


def _located(learner: Learner, environment: Environment, target: Target, locks: OldLocks) -> list[Pin]:
    """The pins of a cell with their files; an error that names each that the index does not have."""
    lockfile = locks[environment.name, target.platform.name]
    learner.pages(environment.project(pin.name, target) for pin in lockfile.pins if target.python in pin.pythons)
    pins = locked_pins(environment, target, locks, learner.facts)
    if pins is not None:
        return pins
    missing = missing_files(environment, target, locks, learner.facts)
    lines = "".join(f"\n    {one.text}" for one in missing)
    kind = HashMismatchError if any(one.replaced for one in missing) else ToolError
    raise kind(
        f"the index does not have what the lock pins:{lines}",
        where=f"{environment.name} on {target.label}",
        next_step="ask whoever runs the index for these files, or point uv's settings at another",
    )


def _build_pins(learner: Learner, plan: Plan, build: Lockfile) -> list[Pin]:
    """The build requirements of the sdists for this target; those that have no wheel for it are for others."""
    target = plan.target
    found = []
    for locked in needed_to_build(build, plan.sdists, target.python):
        environment = Environment(
            name=BUILD, extra=canonicalize_name(BUILD), file="locks/build.txt", requires=(), targets=(target,)
        )
        alone = {(BUILD, target.platform.name): replace(build, pins=(locked,))}
        learner.pages([locked.name])
        pins = locked_pins(environment, target, alone, learner.facts)
        missing = [] if pins is not None else missing_files(environment, target, alone, learner.facts)
        if any(one.replaced for one in missing) or learner.facts.pages[locked.name].missing:
            found += _located(learner, environment, target, alone)  # which raises
        found += pins or []
    return found


def _refuse_strangers(files: BundleFolder, folder: Path, plan: Plan) -> None:
    present = files.paths()
    if not present:
        return
    what = ""
    if files.read(MARK) != mark_text(plan):
        what = "it is not empty, and no bundle of this cell as it is locked now"
    elif foreign := strangers(present, plan):
        more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
        what = f"it holds what is not of this bundle: {', '.join(foreign[:5])}{more}"
    if what:
        raise InputError([Problem(file=str(folder), what=what)], next_step="name a folder that is empty or new")


def _fill(context: Context, files: BundleFolder, plan: Plan, uv: Uv, learner: Learner) -> Bundled:
    """Fetch, build and write everything; the sums come last, so that a bundle with sums is complete."""
    fetch = _Fetch(context, files, learner)
    wheels = downloads(plan.wheels, WHEELS)
    fetch(wheels, f"downloading {len(wheels)} wheels")
    built = _kept_builds(files, plan)
    todo = [pin for pin in plan.sdists if pin.name not in built]
    if todo and (python := can_build(uv, plan.target)):
        known = {pin.file.sha256 for pin in plan.wheels}
        fetch(
            downloads(todo, SCRATCH) | downloads(plan.build, SCRATCH, known),
            "downloading sdists, and what builds them here",
        )
        built |= build_sdists(context.progress, uv, files, plan, todo, python)
    left = [pin for pin in plan.sdists if pin.name not in built]
    there = _for_there(plan, left) if left else {}
    fetch(there, "downloading sdists, and what builds them there")
    hashes = {pin.name: pin.file.sha256 for pin in plan.pins} | {name: sha for name, (_, sha) in built.items()}
    written = {MARK: mark_text(plan), **texts(plan, hashes, [pin.name for pin in left])}
    sums = {path: file.sha256 for path, file in {**wheels, **there}.items()} | dict(built.values())
    sums |= {path: sha256(text.encode()).hexdigest() for path, text in written.items()}
    files.write(written)
    files.clear({*sums, SUMS})
    files.write({SUMS: sums_text(sums)})
    return Bundled(
        folder=str(files.root),
        environment=plan.environment,
        platform=plan.target.platform.name,
        python=plan.target.python,
        packages=len(plan.pins),
        files=len(sums) + 1,
        bytes=files.size(),
        built=tuple(sorted(path for path, _ in built.values())),
        to_build=tuple(sorted(f"{SDISTS}/{pin.file.filename}" for pin in left)),
        kept=fetch.done.kept,
        fetched=fetch.done.fetched,
        received=fetch.done.received,
    )


def _kept_builds(files: BundleFolder, plan: Plan) -> dict[str, tuple[str, str]]:
    """By the pin's name the wheels that an earlier run built and listed, with their sha256."""
    kept: dict[str, tuple[str, str]] = {}
    for path, digest in parse_sums(files.read(SUMS)).items():
        folder, _, name = path.rpartition("/")
        pin = built_pin(name, plan) if folder == WHEELS else None
        if pin is not None and hash_of(files.root / path) == digest:
            kept[pin.name] = path, digest
    return kept


class _Fetch:
    """Downloads into the folder, and counts."""

    def __init__(self, context: Context, files: BundleFolder, learner: Learner) -> None:
        self.done = Downloaded(kept=0, fetched=0, received=0)
        self._progress = context.progress
        self._root = files.root
        self._index = learner.index

    def __call__(self, wanted: Mapping[str, IndexFile], step: str) -> None:
        """Have these files at their paths."""
        if not wanted:
            return
        self._progress.step(step)
        paths = {self._root / path: file for path, file in wanted.items()}
        more = self._index.download_to(paths, self._root / PARTIAL, self._progress.transfer)
        self.done = Downloaded(
            kept=self.done.kept + more.kept,
            fetched=self.done.fetched + more.fetched,
            received=self.done.received + more.received,
        )


def _for_there(plan: Plan, left: Sequence[Pin]) -> dict[str, IndexFile]:
    """What the machine there needs to build what is left: the sdists, and the wheels of their build requirements."""
    known = {pin.file.sha256 for pin in plan.wheels}
    return downloads(left, SDISTS) | downloads(plan.build, WHEELS, known)
