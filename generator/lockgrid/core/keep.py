"""A lock that still holds is kept: old pins as preferences, old files for pins that did not move."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from packaging.version import Version

from lockgrid.core.candidates import Facts, best_file
from lockgrid.core.resolution import Preference
from lockgrid.model.grid import LockedPin, Lockfile, OldLocks, Pin, ProvenCell
from lockgrid.model.index import DistMetadata, IndexFile, page_key
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


def preferences(
    environments: Iterable[Environment], old: OldLocks, *, upgrade: frozenset[str], also: Iterable[Preference] = ()
) -> tuple[Preference, ...]:
    """The pins to prefer, one version a target: those of the old lockfiles less ``upgrade``, then ``also``.

    Where two differ on a target, the first stands.
    """
    chosen: dict[tuple[str, Target], tuple[str, str]] = {}
    for environment in environments:
        for target in environment.targets:
            lockfile = old.get((environment.name, target.platform.name))
            for pin in lockfile.pins if lockfile else ():
                if pin.name not in upgrade and target.python in pin.pythons:
                    chosen.setdefault((pin.name, target), (pin.version, environment.index(pin.name, target)))
    for preference in also:
        for target in preference.targets:
            chosen.setdefault((preference.name, target), (preference.version, preference.index))
    grouped: dict[tuple[str, str, str], list[Target]] = {}
    for (name, target), (version, index) in chosen.items():
        grouped.setdefault((name, version, index), []).append(target)
    order = sorted(grouped.items(), key=lambda item: (item[0][0], Version(item[0][1]), item[0][2]))
    return tuple(
        Preference(name=name, version=version, index=index, targets=tuple(sorted(targets, key=lambda t: t.sort_key)))
        for (name, version, index), targets in order
    )


def pinned(cells: Iterable[ProvenCell]) -> list[Preference]:
    """What cells pin, as preferences for another resolution."""
    grouped: dict[tuple[str, str, str], list[Target]] = {}
    for cell in cells:
        for pin in cell.pins:
            grouped.setdefault((pin.name, pin.version, pin.index), []).append(cell.target)
    return [
        Preference(name=name, version=version, index=index, targets=tuple(dict.fromkeys(targets)))
        for (name, version, index), targets in grouped.items()
    ]


def keep_file(pin: Pin, environment: Environment, target: Target, old: OldLocks, facts: Facts) -> Pin:
    """The pin with the file that the old lock had for it, while that file still serves.

    A wheel that was added to a released version later does not by itself change a lock.
    """
    lockfile = old.get((environment.name, target.platform.name))
    for locked in lockfile.named(pin.name) if lockfile else ():
        same = locked.version == pin.version and target.python in locked.pythons
        if not same or pin.file.sha256 in locked.hashes:
            continue
        allowed = pin.name in environment.sdists
        version = Version(pin.version)
        held = best_file(pin.project, version, target, facts, sdist_allowed=allowed, only=_pinned_by(locked))
        if held:
            return replace(pin, file=held)
    return pin


def locked_pins(environment: Environment, target: Target, old: OldLocks, facts: Facts) -> list[Pin] | None:
    """The pins that the old lock has for a cell, each with its file; None when one has no file that serves."""
    lockfile = old.get((environment.name, target.platform.name))
    if lockfile is None or target.python not in lockfile.pythons:
        return None
    pins = []
    for locked in lockfile.pins:
        if target.python not in locked.pythons:
            continue
        allowed, version = locked.name in environment.sdists, Version(locked.version)
        only = _pinned_by(locked, built=locked.name in lockfile.sdists)
        index = environment.index(locked.name, target)
        project = page_key(locked.name, index)
        best = best_file(project, version, target, facts, sdist_allowed=allowed, only=only)
        if best is None:
            return None
        pins.append(Pin(name=locked.name, version=locked.version, file=best, index=index))
    return pins


def unbuilt_metadata(pin: Pin, lockfile: Lockfile, python: str) -> DistMetadata:
    """What a sdist requires as its lockfile tells it: every pin of this Python that it is said to ask for.

    Those that it asks for when an extra is chosen stand under that extra.
    """
    asked: dict[str, list[str]] = {}
    for locked in lockfile.pins:
        for label in locked.via if python in locked.pythons else ():
            asker, _, version = label.partition("==")
            name, _, extras = asker.removesuffix("]").partition("[")
            if (name, version) == (pin.name, pin.version):
                asked.setdefault(extras, []).append(f"{locked.name}=={locked.version}")
    lines = [
        f"{requirement}; extra == '{extra}'" if extra else requirement
        for extras, requirements in asked.items()
        for extra in extras.split(",")
        for requirement in requirements
    ]
    provided = sorted({extra for extras in asked for extra in extras.split(",") if extra})
    return DistMetadata(name=pin.name, version=pin.version, requires_dist=tuple(lines), provides_extra=tuple(provided))


def _pinned_by(locked: LockedPin, *, built: bool | None = None) -> Callable[[IndexFile], bool]:
    """Tells which files the pin holds; ``built`` asks for sdists alone, False for wheels alone."""
    return lambda file: file.sha256 in locked.hashes and built in (None, not file.is_wheel)
