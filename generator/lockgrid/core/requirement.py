"""Requirements, parsed once each into the form that the proofs ask for again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version


@dataclass(frozen=True, slots=True)
class Demand:
    """A requirement (PEP 508): normalised name and extras, specifier and marker as text, empty where absent."""

    name: NormalizedName
    specifier: str
    extras: frozenset[str]
    marker: str
    url: str


def demand(requirement: Requirement) -> Demand:
    """The requirement in the form of the proofs."""
    return Demand(
        name=canonicalize_name(requirement.name),
        specifier=str(requirement.specifier),
        extras=frozenset(canonicalize_name(extra) for extra in requirement.extras),
        marker=str(requirement.marker or ""),
        url=requirement.url or "",
    )


@cache
def parse_demand(text: str) -> Demand | None:
    """A ``Requires-Dist`` line; None where it is not valid, which the closure proof reports."""
    try:
        return demand(Requirement(text))
    except InvalidRequirement:
        return None


@cache
def specifier_set(text: str) -> SpecifierSet:
    """The set, parsed once."""
    return SpecifierSet(text)


@cache
def admits(specifier: str, version: str) -> bool:
    """Whether the specifier admits the version, pre-releases included: a pin was chosen already."""
    return specifier_set(specifier).contains(Version(version), prereleases=True)


def tidy(specifiers: Iterable[str]) -> str:
    """Several specifiers as one that people can read, and that admits the same.

    An exact version that the rest admits stands alone; of plain bounds the tightest of each kind stays.
    """
    singles = {single for text in specifiers for single in specifier_set(text)}
    exact = [s for s in singles if s.operator == "==" and not s.version.endswith(".*")]
    if len(exact) == 1:
        (only,) = exact
        others = SpecifierSet(",".join(str(s) for s in singles if s != only))
        if others.contains(only.version, prereleases=True):
            return str(only)
    # What > and < say of pre- and post-releases hangs on the version itself, so only final ones compare.
    plain = [s for s in singles if s.operator in _BOUNDS and _is_final(s.version)]
    lower = [s for s in plain if s.operator.startswith(">")]
    upper = [s for s in plain if s.operator.startswith("<")]
    chosen: list[Specifier] = []
    if lower:
        chosen.append(max(lower, key=lambda s: (Version(s.version), s.operator == ">")))
    if upper:
        chosen.append(min(upper, key=lambda s: (Version(s.version), s.operator == "<=")))
    return ",".join([*(str(s) for s in chosen), *sorted(str(s) for s in singles if s not in plain)])


_BOUNDS = (">=", ">", "<", "<=")


def _is_final(text: str) -> bool:
    version = Version(text)
    return not (version.is_prerelease or version.is_postrelease or version.local)
