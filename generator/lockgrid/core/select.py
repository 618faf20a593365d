"""From uv's pylock.toml (PEP 751) to the files that each target installs.

``packaging.pylock`` reads the file and selects; what this module adds is speed (each target is offered only
the wheels that it accepts) and an answer for packages of which a target can install nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.pylock import Package, PackageSdist, PackageWheel, Pylock, PylockSelectError, PylockValidationError

from lockgrid.core.candidates import wheel_rank
from lockgrid.core.targets import forbidden_marker, marker_environments, target_tags
from lockgrid.errors import ToolError
from lockgrid.model.grid import Pin
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Platform, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What one target installs: ``pins`` sorted by name, and the ``(name, version)`` it has no file for.

    ``conflicts`` are sentences: two versions of one package, or a marker that no target can answer.
    """

    pins: tuple[Pin, ...]
    unservable: tuple[tuple[str, str], ...] = ()
    conflicts: tuple[str, ...] = ()


_PACKAGES = "\n[[packages]]\n"
_NO_INDEXES: Mapping[str, str] = {}


def parse_pylocks(texts: Sequence[str]) -> list[Pylock]:
    """Read the ``pylock.toml`` files that uv wrote for the environments of one resolution.

    They have most packages in common, and each of these is read once. Raises ``ToolError`` when uv wrote
    something else.
    """
    heads = [text.partition(_PACKAGES)[0] for text in texts]
    tables = [text.split(_PACKAGES)[1:] for text in texts]
    distinct = list(dict.fromkeys(table.strip() for each in tables for table in each))
    if len(set(heads)) > 1 or not distinct:
        return [_parse_pylock(text) for text in texts]
    whole = _parse_pylock(_PACKAGES.join([heads[0], *distinct]))
    if len(whole.packages) != len(distinct):
        return [_parse_pylock(text) for text in texts]
    packages = dict(zip(distinct, whole.packages, strict=True))
    return [replace(whole, packages=[packages[table.strip()] for table in each]) for each in tables]


def _parse_pylock(text: str) -> Pylock:
    try:
        return Pylock.from_dict(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise ToolError(
            f"uv exported a pylock.toml that packaging does not accept: {error}",
            next_step="report this with the versions of uv and packaging",
        ) from error


def select(
    pylock: Pylock, targets: Sequence[Target], sdists: frozenset[str], indexes: Mapping[str, str] = _NO_INDEXES
) -> dict[Target, Selection]:
    """Select for each target. ``sdists`` are the packages (normalised) that may come as a sdist.

    ``indexes`` are those that ``[sources]`` names, by URL: a pin says from which of them it comes.
    """
    markers = {str(p.marker): p.marker for p in pylock.packages if p.marker is not None}
    forbidden = sorted({variable for text in markers if (variable := forbidden_marker(text))})
    files = [[(wheel, wheel.filename) for wheel in package.wheels or ()] for package in pylock.packages]
    texts = ["" if p.marker is None else str(p.marker) for p in pylock.packages]
    fine = [marker for text, marker in markers.items() if _finer_than_minor(text)]

    def select_at(target: Target, only_sdist: frozenset[str]) -> Selection:
        first, latest = environments = marker_environments(target)
        same = all(m.evaluate(first, "lock_file") == m.evaluate(latest, "lock_file") for m in fine)
        found = []
        for environment in environments[:1] if same else environments:
            # Many packages share few markers, so each is asked once and not by every package.
            holds = {text: marker.evaluate(environment, "lock_file") for text, marker in markers.items()}
            wanted = [holds.get(text, True) for text in texts]
            view = _view(pylock, files, wanted, target, sdists, only_sdist)
            found.append(_select_one(view, target, environment, indexes))
        return _merge(found, forbidden)

    by_platform: dict[Platform, list[Target]] = {}
    for target in targets:
        by_platform.setdefault(target.platform, []).append(target)
    selections: dict[Target, Selection] = {}
    for row in by_platform.values():
        chosen = {target: select_at(target, frozenset()) for target in row}
        # --no-binary holds for a whole lockfile: who needs the sdist on one Python has it on all.
        built = frozenset(p.name for s in chosen.values() for p in s.pins if not p.file.is_wheel)
        if any(p.file.is_wheel and p.name in built for s in chosen.values() for p in s.pins):
            chosen = {target: select_at(target, built) for target in row}
        selections |= chosen
    return {target: selections[target] for target in targets}


def _finer_than_minor(marker: str) -> bool:
    """Whether a marker can tell patch versions of Python apart."""
    return "full_version" in marker or "implementation_version" in marker


def _view(
    pylock: Pylock,
    files: list[list[tuple[PackageWheel, str]]],
    wanted: list[bool],
    target: Target,
    sdists: frozenset[str],
    only_sdist: frozenset[str],
) -> Pylock:
    """The lock with the packages that the target needs, and of each the files that it may install."""
    packages = [
        replace(
            package,
            marker=None,
            wheels=[
                wheel
                for wheel, filename in wheels
                if package.name not in only_sdist and wheel_rank(filename, target) is not None
            ],
            sdist=package.sdist if package.name in sdists else None,
        )
        for package, wheels, needed in zip(pylock.packages, files, wanted, strict=True)
        if needed
    ]
    return replace(pylock, packages=packages)


def _select_one(view: Pylock, target: Target, environment: Mapping[str, str], indexes: Mapping[str, str]) -> Selection:
    unservable = tuple((p.name, str(p.version)) for p in view.packages if not p.wheels and p.sdist is None)
    for package in view.packages:
        if package.is_direct and (package.vcs or package.directory or package.archive):
            raise ToolError(f"{package.name} is locked to something that is neither a wheel nor a sdist")
    served = replace(view, packages=[p for p in view.packages if p.wheels or p.sdist is not None])
    try:
        chosen = list(served.select(environment=dict(environment), tags=target_tags(target)))  # type: ignore[arg-type]
    except PylockSelectError as error:
        return Selection(pins=(), unservable=unservable, conflicts=(str(error),))
    pins = sorted((_pin(package, source, indexes) for package, source in chosen), key=lambda pin: pin.name)
    return Selection(pins=tuple(pins), unservable=unservable)


def _pin(package: Package, source: object, indexes: Mapping[str, str]) -> Pin:
    if not isinstance(source, PackageWheel | PackageSdist):
        raise ToolError(f"{package.name} is locked to something that is neither a wheel nor a sdist")
    file = IndexFile(
        filename=source.filename,
        url=source.url or "",
        sha256=source.hashes.get("sha256", ""),
        size=source.size,
        uploaded=source.upload_time,
    )
    index = indexes.get((package.index or "").rstrip("/"), "")
    return Pin(name=package.name, version=str(package.version), file=file, index=index)


def _merge(selections: list[Selection], forbidden: list[str]) -> Selection:
    """What either end of a Python minor version needs; two versions of one package are a conflict."""
    pins: dict[str, Pin] = {}
    conflicts = [f"a marker uses {variable}, which no target fixes" for variable in forbidden]
    for selection in selections:
        conflicts += selection.conflicts
        for pin in selection.pins:
            other = pins.setdefault(pin.name, pin)
            if other != pin:
                conflicts.append(f"{pin.name} is {other.version} or {pin.version}, by the patch version of Python")
    unservable = dict.fromkeys(item for selection in selections for item in selection.unservable)
    return Selection(
        pins=tuple(pins[name] for name in sorted(pins)), unservable=tuple(unservable), conflicts=tuple(conflicts)
    )
