"""What a candidate moves: updates, those that cannot move without each other, and the bound that holds one back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from lockgrid.core.lockfile import pins_by_python
from lockgrid.core.render.requirements import BUILD
from lockgrid.core.requirement import admits, parse_demand
from lockgrid.model.grid import OldLocks

#: What each ``(name, version)`` requires (``Requires-Dist``), as far as that is known.
Requires = Mapping[tuple[str, str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """In one cell a pin goes from one version to another."""

    environment: str
    platform: str
    python: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One package that moves, in at least one cell."""

    name: str
    steps: tuple[Step, ...]

    @property
    def before(self) -> tuple[str, ...]:
        """The versions that it leaves, oldest first."""
        return _versions(step.before for step in self.steps)

    @property
    def after(self) -> tuple[str, ...]:
        """The versions that it goes to, oldest first."""
        return _versions(step.after for step in self.steps)

    @property
    def environments(self) -> tuple[str, ...]:
        """Those in which it moves, sorted."""
        return tuple(sorted({step.environment for step in self.steps}))

    @property
    def text(self) -> str:
        """``narwhals 2.29.0 -> 2.30.1``."""
        return f"{self.name} {', '.join(self.before)} -> {', '.join(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Updates that cannot move without each other. Whoever holds the ``leaders`` holds them all."""

    updates: tuple[Update, ...]
    leaders: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """The packages."""
        return frozenset(update.name for update in self.updates)

    @property
    def text(self) -> str:
        """``torch 2.13.0 -> 2.14.0, with 15 that move along``."""
        heads = [update.text for update in self.updates if update.name in self.leaders]
        rest = len(self.updates) - len(heads)
        return ", ".join(heads) + (f", with {rest} that move{'s' if rest == 1 else ''} along" if rest else "")


def find_updates(old: OldLocks, new: OldLocks) -> tuple[Update, ...]:
    """The packages that some cell, locked before and after, pins in another version; sorted by name."""
    found: dict[str, list[Step]] = {}
    for key in sorted(key for key in old.keys() & new.keys() if key[0] != BUILD):  # nothing holds what only builds
        before, after = pins_by_python(old[key]), pins_by_python(new[key])
        for python in [python for python in old[key].pythons if python in after]:
            was, now = dict(before[python]), dict(after[python])
            for name in sorted(was.keys() & now.keys()):
                if was[name] != now[name]:
                    step = Step(environment=key[0], platform=key[1], python=python, before=was[name], after=now[name])
                    found.setdefault(name, []).append(step)
    return tuple(Update(name=name, steps=tuple(found[name])) for name in sorted(found))


def group_updates(updates: Sequence[Update], requires: Requires) -> tuple[Group, ...]:
    """The updates in groups that can only move as one: each needs the other to move, as ``torch`` and what it pins.

    One that merely needs the other to move first stays a group of its own: it can be held back while the other moves,
    and a resolution without the other finds an older release of it.
    """
    by_name = {update.name: update for update in updates}
    forces = {update.name: _forces(update, by_name, requires) for update in updates}
    mutual = {name: {other for other in others if name in forces[other]} for name, others in forces.items()}
    groups, seen = [], set[str]()
    for update in updates:
        if update.name not in seen:
            names = _reached({update.name}, mutual)
            seen |= names
            members = tuple(u for u in updates if u.name in names)
            groups.append(Group(updates=members, leaders=_leaders(members, requires)))
    return tuple(groups)


def bound(update: Update, environments: Collection[str]) -> str:
    """The specifier that keeps a package from what it moved to in these environments.

    Below the lowest version that is newer than all that are kept, so that versions in between, and whatever mends it,
    can be tried later; where Pythons differ and there is no such version, without the new ones.
    """
    steps = [step for step in update.steps if step.environment in environments] or list(update.steps)
    newest = max(Version(step.before) for step in steps)
    versions = sorted({Version(step.after) for step in steps})
    above = [version for version in versions if version > newest]
    # A local part (2.13.0+cpu) may stand behind == and != alone (PEP 440).
    below = f"<{above[0].public}" if above else ""
    if below and all(admits(below, step.before) for step in steps):
        return below
    return ",".join(f"!={version}" for version in versions)


def _versions(versions: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(versions), key=Version))


def _forces(update: Update, updates: Mapping[str, Update], requires: Requires) -> set[str]:
    """The others that have to move when this one does: its new release refuses them as they are, or they refuse it."""
    return {
        name
        for name, other in updates.items()
        if name != update.name
        and (
            _refuses(update.name, update.after, other.name, other.before, requires)
            or _refuses(other.name, other.before, update.name, update.after, requires)
        )
    }


def _refuses(name: str, versions: Sequence[str], other: str, offered: Sequence[str], requires: Requires) -> bool:
    """Whether some version of ``name`` requires ``other`` in none of the versions that are ``offered``."""
    for version in versions:
        for line in requires.get((name, version), ()):
            asked = parse_demand(line)
            if asked and asked.name == other and not any(admits(asked.specifier, one) for one in offered):
                return True
    return False


def _reached(names: set[str], edges: Mapping[str, Collection[str]]) -> set[str]:
    found, queue = set(names), list(names)
    while queue:
        for name in edges[queue.pop()]:
            if name not in found:
                found.add(name)
                queue.append(name)
    return found


def _leaders(members: Sequence[Update], requires: Requires) -> tuple[str, ...]:
    """The fewest members, found greedily, whose old releases refuse the new ones of all others."""
    keeps = {
        one.name: {
            other.name
            for other in members
            if other is one or _refuses(one.name, one.before, other.name, other.after, requires)
        }
        for one in members
    }
    missing, leaders = {member.name for member in members}, []
    while missing:
        best = min(keeps, key=lambda name: (-len(keeps[name] & missing), name))
        leaders.append(best)
        missing -= keeps[best]
    return tuple(sorted(leaders))
