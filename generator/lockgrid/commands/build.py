"""``locks/build.txt``: the pinned build requirements of every sdist that the grid installs, and of git sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lockgrid.commands.hold import held_cells
from lockgrid.commands.resolve import Resolver
from lockgrid.core.failure import indent
from lockgrid.core.render.requirements import BUILD, render
from lockgrid.core.resolution import gated
from lockgrid.core.targets import platform_marker, targets_marker
from lockgrid.errors import ToolError, UnsatisfiableError
from lockgrid.model.grid import GitRecord, LockedPin, Lockfile, Pin, ProvenCell
from lockgrid.model.spec import Declared, Environment
from lockgrid.model.target import Platform, Target, python_key

PATH = "build.txt"
_WHERE = "what envs/ has built"


def lock_build(resolver: Resolver, cells: Iterable[ProvenCell], git: Sequence[GitRecord] = ()) -> str:
    """Resolve, prove and render the build requirements of the sdists in ``cells``, and of what was built from git.

    The bytes of a wheel from git are pinned, so what built it is pinned to what it says: else none can build it again.
    """
    targets: dict[str, dict[Target, None]] = {}
    sdists: dict[str, Pin] = {}
    platforms: dict[str, Platform] = {}
    for cell in cells:
        platforms[cell.target.platform.name] = cell.target.platform
        for pin in cell.pins:
            if not pin.file.is_wheel:
                sdists[pin.file.sha256] = pin
                targets.setdefault(pin.file.sha256, {})[cell.target] = None
    built = {
        Target(platform=platforms[wheel.platform], python=wheel.python): None
        for record in git
        for wheel in record.wheels
        if wheel.platform in platforms
    }
    if not sdists and not built:
        return render(Lockfile(environment=BUILD, platform="any", pythons=(), sdists=(), pins=()))
    requires = {sha: sdist.build_requires for sha, sdist in resolver.learner.sdists(sdists.values()).items()}
    used = {target for found in targets.values() for target in found}
    asked = {f"{sdists[sha].name}=={sdists[sha].version}": lines for sha, lines in requires.items()}
    asked |= {f"{record.package}=={w.version}": record.build_requires for record in git for w in record.wheels}
    wanted = [
        gated(Requirement(line), targets_marker(used, {*used, *built}))
        for line in sorted({line for lines in requires.values() for line in lines})
    ]
    wanted += [gated(Requirement(line), "") for line in _built_with(git, platforms)]
    names = [*(pin.file.filename for pin in sdists.values()), *(record.package for record in git)]
    return _render(resolve_requirements(resolver, wanted, {*used, *built}, names), asked)


def _built_with(git: Iterable[GitRecord], platforms: Mapping[str, Platform]) -> list[str]:
    """What was in the builds of wheels from git, as requirements for where they were built."""
    lines = {
        f"{pin} ; python_version == '{wheel.python}' and {platform_marker(platforms[wheel.platform])}"
        for record in git
        for wheel in record.wheels
        for pin in wheel.pins
        if wheel.platform in platforms
    }
    return sorted(lines)


def resolve_requirements(
    resolver: Resolver, wanted: Iterable[str], targets: Iterable[Target], names: Iterable[str]
) -> list[ProvenCell]:
    """A proven cell of what is ``wanted`` for each target; pins of the old build.txt are kept where they can be.

    ``names`` are of what is to be built, for messages. Raises ``UnsatisfiableError``.
    """
    used = sorted(targets, key=lambda t: t.sort_key)
    environment = Environment(
        name=BUILD,
        extra=canonicalize_name(BUILD),
        file=_WHERE,
        requires=tuple(Declared(requirement=Requirement(line), file=_WHERE, key="") for line in wanted),
        targets=tuple(used),
    )
    if (locked := resolver.old.get((BUILD, BUILD))) is not None:
        # build.txt serves every platform; pins are kept by platform.
        everywhere = {(BUILD, target.platform.name): locked for target in used}
        resolver = replace(resolver, old={**resolver.old, **everywhere})
        if resolver.upgrade is not None and not resolver.upgrade & {pin.name for pin in locked.pins}:
            held = held_cells(resolver.learner, [environment], {}, resolver.old, resolver.old_digest)
            if held is not None:
                return list(held.values())
    recalled = resolver.learner.recall([environment])
    hopeless = resolver.learner.scan([environment]) if recalled is None else recalled
    solved = [] if len(hopeless) == len(used) else resolver.resolve([[environment]], hopeless)
    cells = [cell for result in solved for cell in result.cells(BUILD)]
    if len(cells) < len(used):
        reasons = [b for found in hopeless.values() for b in found]
        reasons += [b for result in solved for found in result.blockers.values() for b in found]
        said = indent("\n".join(dict.fromkeys(b.text for b in reasons)))
        raise UnsatisfiableError(
            f"the build requirements of {', '.join(sorted(names))} cannot be installed:\n{said}",
            next_step="require a version that has wheels, or one whose build requirements have; "
            "a wheel from git may have to be built again, with what there is now",
        )
    return cells


def _render(cells: Iterable[ProvenCell], asked: Mapping[str, Iterable[str]]) -> str:
    """``asked``: by ``name==version`` of what is built, the requirements of its build."""
    asked_by: dict[str, list[str]] = {}
    for label, lines in sorted(asked.items()):
        for name in _names(lines):
            asked_by.setdefault(name, []).append(label)
    return render(_assemble(cells, asked_by))


def _names(lines: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def _assemble(cells: Iterable[ProvenCell], asked_by: Mapping[str, list[str]]) -> Lockfile:
    """One file for all platforms: the hashes of every platform stand together under one pin."""
    hashes: dict[tuple[str, str], set[str]] = {}
    pythons: dict[tuple[str, str], set[str]] = {}
    via: dict[tuple[str, str], set[str]] = {}
    everything: set[str] = set()
    for cell in cells:
        everything.add(cell.target.python)
        by = dict(cell.via)
        for pin in cell.pins:
            key = pin.name, pin.version
            hashes.setdefault(key, set()).add(pin.file.sha256)
            pythons.setdefault(key, set()).add(cell.target.python)
            requirers = {name for name in by.get(pin.name, ()) if name != _WHERE}
            via.setdefault(key, set()).update(requirers | set(asked_by.get(pin.name, ())))
    seen: dict[tuple[str, str], str] = {}
    for (name, version), where in pythons.items():
        for python in where:
            if seen.setdefault((name, python), version) != version:
                raise ToolError(
                    f"{name} is {version} on one platform and {seen[name, python]} on another for Python {python}",
                    where=_WHERE,
                    next_step="build.txt holds one version a Python: require one in the sdist's environment, or build "
                    "the wheels from git with the same --as-of on all machines",
                )
    pins = [
        LockedPin(
            name=key[0],
            version=key[1],
            pythons=tuple(sorted(pythons[key], key=python_key)),
            hashes=tuple(sorted(hashes[key])),
            via=tuple(sorted(via[key])),
        )
        for key in sorted(hashes, key=lambda k: (k[0], python_key(min(pythons[k], key=python_key))))
    ]
    return Lockfile(
        environment=BUILD,
        platform="any",
        pythons=tuple(sorted(everything, key=python_key)),
        sdists=(),
        pins=tuple(pins),
    )
