"""Constraints become ``[hold]`` and overrides ``[overrides]``, neither of which knows markers."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.core.init.carry import applies
from lockgrid.core.init.values import Bound, Collected, Draft, Note, Wanted
from lockgrid.core.requirement import tidy
from lockgrid.model.target import Target


def add_holds(draft: Draft, wanted: Sequence[Wanted], targets: Sequence[Target], out: Collected) -> None:
    """Write constraints as ``[hold]`` where their marker holds on all targets; say so of the others."""
    bounds: dict[NormalizedName, list[Wanted]] = {}
    for one in wanted:
        requirement = one.requirement
        somewhere, everywhere = applies(requirement, targets)
        what = hint = ""
        if not requirement.specifier:
            what = "left out: it bounds no version"
        elif not somewhere:
            what = "left out: its marker holds on no target of the grid"
        elif not everywhere:
            what = "left out: [hold] knows no markers, and this one does not hold on all targets"
            hint = f'add "{requirement}" to requires of environments that require {requirement.name} anyway'
        if what:
            out.notes.append(Note(one.place, str(requirement), what, hint))
        else:
            bounds.setdefault(canonicalize_name(requirement.name), []).append(one)
    for name, ones in bounds.items():
        version = _together([str(one.requirement.specifier) for one in ones])
        draft.holds.append(Bound(name, version, "a constraint of " + ", ".join(str(one.place) for one in ones)))


def add_overrides(draft: Draft, wanted: Sequence[Wanted], out: Collected) -> None:
    """Write uv's overrides as ``[overrides]`` where they are a version alone; say so of the others."""
    for one in wanted:
        requirement = one.requirement
        if requirement.marker or requirement.extras or not requirement.specifier:
            what = "left out: [overrides] takes a version alone, for all targets"
            out.notes.append(Note(one.place, str(requirement), what, "see docs/envs.md, [overrides]"))
        else:
            name = canonicalize_name(requirement.name)
            draft.overrides.append(Bound(name, str(requirement.specifier), f"as in {one.place}"))


def join_holds(draft: Draft, lineage: Sequence[Draft]) -> None:
    """The nearest ``[hold]`` of a package replaces those of bases, but constraints add up."""
    several: dict[NormalizedName, list[Bound]] = {}
    for one in lineage:
        for bound in one.holds:
            several.setdefault(bound.name, []).append(bound)
    for name, bounds in several.items():
        if len(bounds) > 1:
            whys = dict.fromkeys(bound.why for bound in bounds)
            draft.holds = [own for own in draft.holds if own.name != name]
            draft.holds.append(Bound(name, _together([bound.version for bound in bounds]), "; ".join(whys)))


def _together(specifiers: Sequence[str]) -> str:
    """All of the specifiers as one."""
    if len(specifiers) == 1:
        return specifiers[0]
    try:
        return tidy(specifiers)
    except ValueError:  # === takes anything
        return str(SpecifierSet(",".join(specifiers)))
