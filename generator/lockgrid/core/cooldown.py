"""The cool-down of ``refresh``: which moment releases must be older than, and what is kept though it is younger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from packaging.version import Version

from lockgrid.core.candidates import Facts, index_refusal
from lockgrid.core.render.requirements import BUILD
from lockgrid.core.resolution import Exclusion
from lockgrid.model.cutoff import Cutoff, Keeping, Kept
from lockgrid.model.grid import OldLocks
from lockgrid.model.index import split_key
from lockgrid.model.spec import CooldownException, Environment, Spec
from lockgrid.model.target import Target

_SECOND = timedelta(seconds=1)


def before(moment: datetime, length: timedelta) -> datetime:
    """``length`` before ``moment``, to the second; never before the year 1."""
    try:
        return (moment - length).replace(microsecond=0)
    except OverflowError:
        return datetime.min.replace(tzinfo=moment.tzinfo)


def cooled(spec: Spec, now: datetime) -> Cutoff:
    """The cut-offs of a refresh at ``now``: the cool-down of ``targets.toml`` before it, with its exceptions."""
    counting = [e for e in spec.exceptions if not ended(e, now)]
    packages = tuple((e.name, before(now, e.cooldown)) for e in counting)
    return Cutoff(moment=before(now, spec.cooldown or timedelta()), packages=packages)


def ended(exception: CooldownException, now: datetime) -> bool:
    """Whether an exception counts no more: its last day (UTC) is over."""
    return now.date() > exception.until


def locked_projects(environments: Iterable[Environment], old: OldLocks) -> dict[str, set[tuple[str, str]]]:
    """By the key of its page: the versions and hashes of each project that the old lockfiles pin, builds included."""
    found: dict[str, set[tuple[str, str]]] = {}
    for pin in old[BUILD, BUILD].pins if (BUILD, BUILD) in old else ():
        found.setdefault(pin.name, set()).update((pin.version, sha256) for sha256 in pin.hashes)
    for environment in environments:
        for target in {t.platform.name: t for t in environment.targets}.values():
            lockfile = old.get((environment.name, target.platform.name))
            for pin in lockfile.pins if lockfile else ():
                pairs = found.setdefault(environment.project(pin.name, target), set())
                pairs.update((pin.version, sha256) for sha256 in pin.hashes)
    return found


def keep_young(cutoff: Cutoff, locked: Mapping[str, Iterable[tuple[str, str]]], facts: Facts) -> tuple[Cutoff, Keeping]:
    """Cut-offs under which every locked file counts, and what else must not: nothing locked is to be downgraded.

    A package with locked files that are younger than its cut-off gets the moment after the youngest of them.
    ``locked`` as ``locked_projects`` gives it; the pages must be known.
    """
    own = dict(cutoff.packages)
    youngest: dict[str, datetime] = {}
    kept: dict[str, Kept] = {}
    undated: set[str] = set()
    for key, pairs in locked.items():
        (name, index), hashes = split_key(key), {sha256 for _, sha256 in pairs}
        files = [
            f for version in {v for v, _ in pairs} for f in facts.release(key, Version(version)) if f.sha256 in hashes
        ]
        if any(f.uploaded is None for f in files) and index not in facts.dateless:
            undated.add(name)
        limit = own.get(name, cutoff.moment)
        if young := [f.uploaded for f in files if f.uploaded and f.uploaded > limit]:
            youngest[name] = max([*young, *([youngest[name]] if name in youngest else [])])
            versions = {v for v, _ in pairs} | (set(kept[name].versions) if name in kept else set())
            kept[name] = Kept(limit=limit, versions=frozenset(versions))
    # uv wants files that are older than the cut-off.
    own |= {name: moment.replace(microsecond=0) + _SECOND for name, moment in youngest.items()}
    return (
        Cutoff(moment=cutoff.moment, packages=tuple((n, m) for n, m in sorted(own.items()) if m != cutoff.moment)),
        Keeping(kept=kept, undated=frozenset(undated)),
    )


def uv_cutoffs(facts: Facts) -> tuple[tuple[str, datetime | None], ...]:
    """The cut-offs of single packages for uv; None where a locked file has no upload time: uv would not see it."""
    found: dict[str, datetime | None] = {**facts.cutoffs, **dict.fromkeys(facts.keeping.undated)}
    return tuple(sorted(found.items()))


def young_exclusions(
    environments: Sequence[Environment], targets: Sequence[Target], facts: Facts
) -> tuple[Exclusion, ...]:
    """What uv's cut-offs cannot say of packages that are kept: which releases newer than the locked are too young."""
    names = {*facts.keeping.kept, *facts.keeping.undated}
    if not names:
        return ()
    found = []
    for key in sorted({key for e in environments for name in names for key in e.projects(name)} & facts.pages.keys()):
        for version in reversed(facts.versions(key)):
            files = facts.release(key, version)
            if any(index_refusal(file, facts, key) is None for file in files):
                break  # uv takes the newest that it may, and the proofs catch the rest
            if any(_seen(file.uploaded, key, facts) for file in files):
                found.append(Exclusion(name=split_key(key)[0], version=str(version), targets=tuple(targets)))
    return tuple(dict.fromkeys(found))


def _seen(uploaded: datetime | None, key: str, facts: Facts) -> bool:
    """Whether uv would take a file of this upload time into account."""
    if split_key(key)[0] in facts.keeping.undated:
        return True
    return uploaded is not None and uploaded <= facts.cutoff_of(key)
