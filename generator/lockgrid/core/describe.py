"""What a project offers a target, in words: why no version of it serves, what a release has."""

from __future__ import annotations

from packaging.version import Version

from lockgrid.core.candidates import Facts, refusal, wheel_rank, wheel_tags
from lockgrid.model.grid import Proof
from lockgrid.model.index import IndexFile, is_git, split_key
from lockgrid.model.target import PLATFORM_KINDS, Platform, Target, python_key

#: What is missing where a git source has no wheel for a target.
NOT_BUILT = "its wheel: run `lockgrid build` on a machine of that kind, and lock with `--built` and its folder"
# Pythons that a wheel may name; used to tell people which ones a release covers.
_KNOWN_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 20))


def why_not(
    name: str, versions: list[Version], target: Target, facts: Facts, *, sdist_allowed: bool
) -> tuple[Proof, str, str]:
    """Why the target can install none of ``versions`` (not empty): the proof, what exists, what is missing."""
    wanted = f"a wheel for CPython {target.python} on {target.platform.label}"
    if facts.pages[name].quarantined:
        return Proof.INDEX, "is quarantined by the index", "a release that the index does not hold back"
    refusals = [
        refusal(file, target, facts, sdist_allowed=sdist_allowed, name=name)
        for version in versions
        for file in facts.release(name, version)
    ]
    # A file that came furthest tells most: one with the right tags that was yanked beats one for another machine.
    for proof in (Proof.INDEX, Proof.CLOSURE):
        reasons = [r.reason for r in refusals if r and r.proof is proof]
        if reasons:
            return proof, f"{_span(versions)}{reasons[-1]}", wanted
    if is_git(split_key(name)[1]):
        built = _describe_wheels([f.filename for f in facts.release(name, versions[-1])], target)
        return Proof.TAGS, f"is not built for this target: it has {built}", NOT_BUILT
    newest = describe_release(facts.release(name, versions[-1]), target, sdist_allowed=sdist_allowed)
    if len(versions) > 1:
        return Proof.TAGS, f"admits {versions[0]} to {versions[-1]}, and the last of these has {newest}", wanted
    return Proof.TAGS, f"has {newest}", wanted


def _span(versions: list[Version]) -> str:
    """Names the versions where there are several: the sentence so far names the requirement alone."""
    if len(versions) == 1:
        return ""
    return f"admits {versions[0]} to {versions[-1]}, none of which serves: a file of the last "


def describe_release(files: tuple[IndexFile, ...], target: Target, *, sdist_allowed: bool) -> str:
    """What a release offers the target's platform: ``wheels for CPython 3.10 to 3.13 and no sdist``."""
    wheels = [f.filename for f in files if f.is_wheel]
    sdists = [f for f in files if not f.is_wheel]
    tail = "no sdist"
    if sdists:
        tail = "a sdist" if sdist_allowed else "a sdist that [sdists] does not name"
    if not wheels:
        return f"no wheel and {tail}"
    return f"{_describe_wheels(wheels, target)} and {tail}"


def _describe_wheels(wheels: list[str], target: Target) -> str:
    pythons = _pythons(wheels, target.platform)
    if pythons:
        return f"wheels for CPython {python_ranges(pythons)}"
    newer = Platform(name=target.platform.name, floor=(target.platform.floor[0] if target.platform.floor else 0, 99))
    if target.platform.kind.floor_key == "macos":
        newer = Platform(name=target.platform.name, floor=(99, 0))
    if target.platform.floor and _pythons(wheels, newer):
        needs = sorted(
            {t.platform for w in wheels if wheel_rank(w, _at(newer, target)) is not None for t in wheel_tags(w)}
        )
        return f"wheels for {target.platform.name} only above its floor ({', '.join(needs) or 'newer systems'})"
    others = [
        name
        for name, kind in PLATFORM_KINDS.items()
        if _pythons(wheels, Platform(name=name, floor={"glibc": (2, 99), "macos": (99, 0)}.get(kind.floor_key)))
    ]
    return f"wheels for {', '.join(others)} only" if others else "wheels for other systems only"


def _at(platform: Platform, target: Target) -> Target:
    return Target(platform=platform, python=target.python)


def _pythons(wheels: list[str], platform: Platform) -> list[str]:
    return [
        python
        for python in _KNOWN_PYTHONS
        if any(wheel_rank(wheel, Target(platform=platform, python=python)) is not None for wheel in wheels)
    ]


def python_ranges(pythons: list[str]) -> str:
    """``3.10 to 3.13`` of sorted Pythons; runs joined by commas."""
    runs: list[list[str]] = []
    for python in pythons:
        if runs and python_key(runs[-1][-1])[1] + 1 == python_key(python)[1]:
            runs[-1].append(python)
        else:
            runs.append([python])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
