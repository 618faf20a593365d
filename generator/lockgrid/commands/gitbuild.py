"""``lockgrid build``: the wheels of an environment's git sources, for the Pythons of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from lockgrid.adapters.build import find_python, host_platform
from lockgrid.adapters.cache import cache_folder
from lockgrid.adapters.disk import disk_error
from lockgrid.adapters.gitbuild import Place, probe
from lockgrid.adapters.gitfetch import GitFetch
from lockgrid.adapters.gitwheels import write_pages
from lockgrid.adapters.store import Store
from lockgrid.adapters.uv import Uv
from lockgrid.commands.buildgit import Fetched, Made, WheelBuild
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.gitsources import GitWheels, read_spec
from lockgrid.commands.locked import read_locked
from lockgrid.commands.ports import open_ports
from lockgrid.commands.resolve import Resolver
from lockgrid.core.candidates import wheel_rank
from lockgrid.core.digest import digest_text
from lockgrid.core.gitwheels import distinct
from lockgrid.core.render.requirements import BUILD
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.spec import Environment, GitSource
from lockgrid.model.target import Target

_WHERE = "command line"
_SHA1_DIGITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. ``pythons`` are versions or interpreters; none stands for every one that is here.

    ``as_of`` None: the cut-off of the grid, or now where there is none.
    """

    environment: str
    folder: Path
    pythons: tuple[str, ...] = ()
    as_of: datetime | None = None


def build_wheels(context: Context, options: Options) -> list[Made]:
    """Build the wheels. Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError``; what was built before stays."""
    spec = read_spec(context)
    environment = spec.environment(options.environment)
    if environment is None:
        raise InputError([unknown_environment(options.environment, spec)])
    targets = _targets(environment)
    git = GitFetch(context.environ)
    folder = cache_folder(context.environ) / "git"
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(options.folder, error) from error
    with ExitStack() as stack:
        # Mirrors and places of building are shared by all projects.
        stack.enter_context(Store(folder).exclusive(folder.parent, context.progress.note))
        old = read_locked(context)
        now = datetime.fromtimestamp(int(context.clock()), UTC)
        cutoff = old.grid.cutoff if old.grid and not options.as_of else Cutoff(moment=options.as_of or now)
        uv, learner = stack.enter_context(open_ports(context, spec, [], old.locks, cutoff, git=GitWheels()))
        stack.callback(uv.stop)
        digest = digest_text(old.texts.get(f"{BUILD}.txt", ""))
        resolver = Resolver(uv=uv, learner=learner, old=old.locks, old_digest=digest, upgrade=frozenset())
        stack.callback(resolver.pool.shutdown, cancel_futures=True)
        pythons = _pythons(context, uv, options.pythons, targets)
        made: list[Made] = []
        for source in distinct([environment]):
            fetched = _fetch(context, git, source, folder)
            here: list[Made] = []
            for target, python in pythons.items():
                if any(wheel_rank(one.filename, target) is not None for one in here):
                    continue  # a wheel for every Python, or for an older one and those after it
                place = Place(root=folder / "build" / f"{source.index}-{target.python}")
                build_one = WheelBuild(context, resolver, git, old, options.folder)
                here.append(build_one.run(fetched, target, python, place))
            made += here
        write_pages(options.folder)
        return made


def _targets(environment: Environment) -> list[Target]:
    """The targets of the environment that this machine can build for."""
    if not environment.git:
        problem = Problem(file=environment.file, what="has no [git], so there is nothing to build")
        raise InputError([problem], next_step="see docs/git.md")
    here = host_platform()
    targets = [target for target in environment.targets if target.platform.name == here]
    if not targets:
        known = ", ".join(dict.fromkeys(target.platform.name for target in environment.targets))
        what = f"this machine is {here or 'of no kind that lockgrid knows'}, and the environment is for {known}"
        problem = Problem(file=environment.file, key="platforms", what=what)
        raise InputError([problem], next_step="build on one of these")
    return targets


def _pythons(context: Context, uv: Uv, asked: Sequence[str], targets: Sequence[Target]) -> dict[Target, str]:
    """An interpreter for each target that has one here; which have none is said. Raises where that is all."""
    wanted = {target.python: target for target in targets}
    found: dict[Target, str] = {}
    for word in asked or wanted:
        python = word if Path(word).is_file() else find_python(uv, word)
        version, fault = probe(python) if python else ("", f"there is no Python {word} here")
        why = fault and f"{python} {fault}".strip()
        if not why and version not in wanted:
            why = f"{word} is Python {version}, and the environment is for {', '.join(wanted)}"
        if why and asked:
            problem = Problem(file=_WHERE, key="--python", what=why)
            raise InputError([problem], next_step="name a version that is installed, or an interpreter by its path")
        if why:
            context.progress.note(f"not built for Python {word}: {why}")
        else:
            found[wanted[version]] = python
    if not found:
        raise ToolError(
            "no Python of the environment is on this machine", next_step="install one, or name it: --python"
        )
    return dict(sorted(found.items(), key=lambda item: item[0].sort_key))


def _fetch(context: Context, git: GitFetch, source: GitSource, folder: Path) -> Fetched:
    """The commit, if a branch or a tag of the repository leads to it. Raises ``ToolError``."""
    context.progress.step(f"fetching {source.label}")
    kind = "sha1" if len(source.rev) == _SHA1_DIGITS else "sha256"
    mirror = folder / f"{sha256(f'{kind} {source.url}'.encode()).hexdigest()[:24]}.git"
    git.fetch(source.url, mirror, kind)
    where = f"{source.file}: {source.key}"
    if (commit := git.commit(mirror, source.rev)) not in ("", source.rev):
        raise ToolError(f"{source.rev} is a tag and no commit", where=where, next_step=f'write rev = "{commit}"')
    if not git.is_reachable(mirror, source.rev):
        raise ToolError(
            f"no branch and no tag leads to commit {source.rev}: it never was there, or the history was rewritten",
            where=where,
            next_step="find out what became of it; then name another commit, or a repository that keeps this one",
        )
    return Fetched(source=source, mirror=mirror, seconds=git.seconds(mirror, source.rev))


def made_lines(made: Sequence[Made], folder: Path) -> Iterator[str]:
    """What was built, for people."""
    for one in made:
        state = "built" if not one.was else "as it was" if one.was == one.sha256 else "built anew, with other bytes"
        yield f"{one.filename}: {state}, {one.size:,} bytes, sha256 {one.sha256}"
    yield f"next: gather the wheels of all machines in one folder, and `lockgrid lock --built {folder}`"


def made_as_json(made: Sequence[Made]) -> list[dict[str, Any]]:
    """What was built, for machines."""
    return [
        {
            "package": one.source.name,
            "rev": one.source.rev,
            "tree": one.tree,
            "python": one.python,
            "file": one.filename,
            "sha256": one.sha256,
            "size": one.size,
            "replaced": one.was,
        }
        for one in made
    ]
