"""Faults of ``envs/`` that only the index can reveal: names, versions and extras that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name

from lockgrid.core.candidates import Facts, matching_versions
from lockgrid.core.schema import nearest
from lockgrid.errors import Problem
from lockgrid.model.grid import Pin
from lockgrid.model.index import DistMetadata
from lockgrid.model.spec import Declared, Environment


def index_problems(environments: Iterable[Environment], facts: Facts) -> list[Problem]:
    """Declared packages that the index does not have, and specifiers that no release meets."""
    problems = []
    for environment in environments:
        for declared in environment.requires:
            name = canonicalize_name(declared.requirement.name)
            if name not in facts.pages:
                continue
            override = environment.override(name)
            specifier = override.specifier if override else str(declared.requirement.specifier)
            if facts.pages[name].missing:
                problems.append(
                    Problem(
                        file=declared.file,
                        key=declared.key,
                        what=f"the index has no package {name}",
                        hint="check the spelling, and uv's index settings",
                    )
                )
            elif not facts.pages[name].quarantined and not matching_versions(name, frozenset({specifier}), facts):
                problems.append(_no_release(declared, name, specifier, facts))
    return problems


def exception_problems(environments: Iterable[Environment], facts: Facts) -> list[Problem]:
    """Overrides and sdists of packages that the index does not have, and overrides that no release matches."""
    problems = []
    for environment in environments:
        named = [(f"sdists.{name}", name, "") for name in environment.sdists]
        named += [(f"overrides.{o.name}.version", o.name, o.specifier) for o in environment.overrides]
        for key, name, specifier in named:
            what = ""
            if facts.pages[name].missing:
                what = f"the index has no package {name}"
            elif specifier and not matching_versions(name, frozenset({specifier}), facts):
                what = f"no release of {name} matches {name}{specifier}"
            if what:
                hint = "check the spelling; the entry may stand in a base"
                problems.append(Problem(file=environment.file, key=key, what=what, hint=hint))
    return problems


def _no_release(declared: Declared, name: str, specifier: str, facts: Facts) -> Problem:
    versions = facts.versions(name)
    final = [version for version in versions if not version.is_prerelease] or versions
    newest = f"the newest is {final[-1]}" if final else "it has no release at all"
    return Problem(
        file=declared.file, key=declared.key, what=f"no release of {name} matches {name}{specifier}", hint=newest
    )


def forced_extra_problems(environments: Iterable[Environment], facts: Facts) -> list[Problem]:
    """Extras asked of a package of which every release known so far lacks them: found before uv is asked.

    A resolver only warns of these, and then installs less.
    """
    known: dict[str, list[DistMetadata]] = {}
    for metadata in facts.metadata.values():
        known.setdefault(canonicalize_name(metadata.name), []).append(metadata)
    problems = []
    for environment in environments:
        for declared in environment.requires:
            name = canonicalize_name(declared.requirement.name)
            fitting = [m for m in known.get(name, ()) if declared.requirement.specifier.contains(m.version)]
            problems += _missing_extras(declared, fitting)
    return problems


def extra_problems(
    environments: Iterable[Environment], cells: Iterable[tuple[str, Sequence[Pin]]], facts: Facts
) -> list[Problem]:
    """Extras asked of a package of which no pin in any of the environment's ``cells`` provides them."""
    chosen: dict[tuple[str, str], list[DistMetadata]] = {}
    for environment_name, pins in cells:
        for pin in pins:
            chosen.setdefault((environment_name, pin.name), []).append(facts.metadata[pin.file.sha256])
    return [
        problem
        for environment in environments
        for declared in environment.requires
        for problem in _missing_extras(
            declared, chosen.get((environment.name, canonicalize_name(declared.requirement.name)), [])
        )
    ]


def _missing_extras(declared: Declared, releases: list[DistMetadata]) -> list[Problem]:
    problems = []
    for extra in sorted(declared.requirement.extras):
        provided = {canonicalize_name(e) for metadata in releases for e in metadata.provides_extra}
        if releases and canonicalize_name(extra) not in provided:
            what = f"{declared.requirement.name} {releases[-1].version} provides no extra {extra!r}"
            hint = nearest(extra, provided) if provided else "it provides none"
            problems.append(Problem(file=declared.file, key=declared.key, what=what, hint=hint))
    return problems
