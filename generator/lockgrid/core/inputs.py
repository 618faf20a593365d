"""Faults of ``envs/`` that only the index can reveal: names, versions and extras that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name

from lockgrid.core.candidates import Facts, at_index, matching_versions
from lockgrid.core.table import nearest
from lockgrid.core.targets import marker_applies
from lockgrid.errors import Problem
from lockgrid.model.grid import Pin
from lockgrid.model.index import DistMetadata, is_git, split_key
from lockgrid.model.spec import Declared, Environment


def index_problems(environments: Iterable[Environment], facts: Facts) -> list[Problem]:
    """Declared packages that the index does not have, and specifiers that no release meets."""
    problems = []
    for environment in environments:
        for declared in environment.requires:
            name = canonicalize_name(declared.requirement.name)
            override = environment.override(name)
            specifier = override.specifier if override else str(declared.requirement.specifier)
            for project in sorted(_asked(environment, declared) & facts.pages.keys()):
                page = facts.pages[project]
                if page.missing:
                    what, hint = _no_project(project), "check the spelling, and uv's index settings"
                    problems.append(Problem(file=declared.file, key=declared.key, what=what, hint=hint))
                elif is_git(split_key(project)[1]) and not page.releases:
                    continue  # nothing is built yet: its cells say so
                elif not page.quarantined and not matching_versions(project, frozenset({specifier}), facts):
                    problems.append(_no_release(declared, project, specifier, facts))
    return problems


def _asked(environment: Environment, declared: Declared) -> set[str]:
    """The pages that may serve a requirement; of those that ``[sources]`` names, where its marker applies."""
    name, marker = canonicalize_name(declared.requirement.name), str(declared.requirement.marker or "")
    if not environment.sources:
        return {name}
    targets = [t for t in environment.targets if not marker or marker_applies(marker, t)]
    return {environment.project(name, target) for target in targets}


def _no_project(project: str) -> str:
    name, index = split_key(project)
    return f"the index {index} has no package {name}" if index else f"the index has no package {name}"


def exception_problems(environments: Iterable[Environment], facts: Facts) -> list[Problem]:
    """Overrides and sdists of packages that the index does not have, and overrides that no release matches."""
    problems = []
    for environment in environments:
        named = [(f"sdists.{name}", name, "") for name in environment.sdists]
        named += [(f"overrides.{o.name}.version", o.name, o.specifier) for o in environment.overrides]
        for key, name, specifier in named:
            faults = []
            projects = sorted(environment.projects(name))
            for project in projects:
                if facts.pages[project].missing:
                    faults.append(_no_project(project))
                elif specifier and not matching_versions(project, frozenset({specifier}), facts):
                    faults.append(f"no release of {name} matches {name}{specifier}{at_index(project)}")
            if len(faults) == len(projects):
                what = "; ".join(faults)
                hint = "check the spelling; the entry may stand in a base"
                problems.append(Problem(file=environment.file, key=key, what=what, hint=hint))
    return problems


def _no_release(declared: Declared, project: str, specifier: str, facts: Facts) -> Problem:
    name = split_key(project)[0]
    versions = facts.versions(project)
    final = [version for version in versions if not version.is_prerelease] or versions
    newest = f"the newest is {final[-1]}" if final else "it has no release at all"
    what = f"no release of {name} matches {name}{specifier}{at_index(project)}"
    if "+" in specifier and not split_key(project)[1]:
        newest += "; a version with a local part is on an index of its own, which [sources] names: docs/envs.md"
    return Problem(file=declared.file, key=declared.key, what=what, hint=newest)


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
