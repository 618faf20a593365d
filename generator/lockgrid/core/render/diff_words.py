"""The words that the text and the Markdown of a diff share: where, what, how much."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lockgrid.core.advisories import printable
from lockgrid.core.describe import python_ranges
from lockgrid.core.render.requirements import BUILD
from lockgrid.model.advisory import CellName
from lockgrid.model.diff import NOT_ASKED, CellChange, EnvironmentDiff, FindingChange, GridDiff, Move, SizeChange
from lockgrid.model.grid import CellRecord
from lockgrid.model.target import PLATFORM_KINDS, python_key

#: The targets (platform, Python) that there are, by environment.
Universe = Mapping[str, Collection[tuple[str, str]]]

BUILD_NAME = "locks/build.txt"
EVERYWHERE = "all environments"
# How many of a thing a line names.
_NAMED = 8


def plural(number: int, word: str) -> str:
    """``1 cell``, ``2 cells``, ``3 advisories``."""
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{number} {word if number == 1 else many}"


def environment_name(name: str) -> str:
    """What an environment is called; the build requirements are no environment."""
    return BUILD_NAME if name == BUILD else name


def where(cells: Iterable[CellName], universe: Universe) -> str:
    """The shortest words for cells among all there are: ``tosa, vgf (linux, Python 3.10)``."""
    environments: dict[str, list[tuple[str, str]]] = {}
    for environment, *target in sorted(cells, key=lambda cell: cell[0] == BUILD):
        environments.setdefault(environment, []).append((target[0], target[1]))
    folded: dict[str, list[str]] = {}
    for name, targets in environments.items():
        folded.setdefault("" if name == BUILD else fold(targets, universe.get(name, ())), []).append(name)
    all_names = {name for name, targets in universe.items() if targets} - {BUILD}
    parts = []
    for words, names in folded.items():
        said = ", ".join(map(environment_name, names))
        if len(all_names) > 1 and all_names <= set(names):
            said = f"{EVERYWHERE}, {BUILD_NAME}" if BUILD in names else EVERYWHERE
        parts.append(f"{said} ({words})" if words else said)
    return "; ".join(parts)


def fold(targets: Collection[tuple[str, str]], among: Collection[tuple[str, str]]) -> str:
    """Platforms and Pythons among those of one environment, in the fewest words; empty for all of them."""
    chosen, every = set(targets), set(among) | set(targets)
    if chosen == every:
        return ""
    platforms, pythons = {p for p, _ in chosen}, {v for _, v in chosen}
    words = _platforms(platforms, {p for p, _ in every}), f"Python {_pythons(pythons)}"
    if chosen == {t for t in every if t[0] in platforms}:
        return words[0]
    if chosen == {t for t in every if t[1] in pythons}:
        return words[1]
    if chosen == {t for t in every if t[0] in platforms and t[1] in pythons}:
        return ", ".join(words)
    by_pythons: dict[str, set[str]] = {}
    for platform in platforms:
        mine, all_mine = ({v for p, v in some if p == platform} for some in (chosen, every))
        by_pythons.setdefault("" if mine == all_mine else f" with Python {_pythons(mine)}", set()).add(platform)
    among_platforms = {p for p, _ in every}
    return " and ".join(_platforms(some, among_platforms) + words for words, some in sorted(by_pythons.items()))


def _platforms(platforms: set[str], among: set[str]) -> str:
    """Names of platforms; those of one system by its name where there are several and all are meant."""
    found = []
    for system in sorted({_system(platform) for platform in platforms}):
        mine = sorted(platform for platform in platforms if _system(platform) == system)
        all_mine = {platform for platform in among if _system(platform) == system}
        found += [system] if len(mine) > 1 and set(mine) == all_mine else mine
    return ", ".join(found)


def _system(platform: str) -> str:
    return platform.partition("-")[0] if platform in PLATFORM_KINDS else platform


def _pythons(pythons: set[str]) -> str:
    return python_ranges(sorted(pythons, key=python_key))


def versions(move: Move, arrow: str = "->") -> str:
    """``1.0 -> 1.1``, or the version that was added or removed."""
    return f"{move.old} {arrow} {move.new}" if move.old and move.new else move.new or move.old


def how(move: Move) -> str:
    """``minor``, ``major downgrade``, ``added``; empty where there is nothing to say."""
    if not move.step:
        return move.kind
    step = "" if move.step == "other" else move.step
    return f"{step} downgrade".strip() if move.kind == "downgraded" else step


def size_text(size: int) -> str:
    """``2.98 GB``, ``123.4 MB``; what is not known is said."""
    if not size:
        return "unknown"
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def size_lines(sizes: Sequence[SizeChange]) -> list[tuple[str, int, int]]:
    """For each platform its largest cell before and after, in bytes."""
    platforms: dict[str, list[SizeChange]] = {}
    for size in sizes:
        platforms.setdefault(size.platform, []).append(size)
    return [(name, max(s.before for s in some), max(s.after for s in some)) for name, some in platforms.items()]


def download(sizes: Sequence[SizeChange], arrow: str = "->") -> str:
    """The largest cell of all before and after, and by how much per cent that changed."""
    before, after = (max((getattr(s, side) for s in sizes), default=0) for side in ("before", "after"))
    if not sizes or size_text(before) == size_text(after):
        return size_text(after) if sizes else ""
    change = f" ({(after - before) / before:+.1%})" if before and after else ""
    return f"{size_text(before)} {arrow} {size_text(after)}{change}"


def counts(environment: EnvironmentDiff) -> dict[str, int]:
    """How many packages moved which way; one that moves both ways counts for each."""
    names: dict[str, set[str]] = {kind: set() for kind in ("upgraded", "downgraded", "added", "removed")}
    for move in environment.moves:
        names[move.kind].add(move.name)
    return {kind: len(some) for kind, some in names.items()}


def cell_counts(environment: EnvironmentDiff, arrow: str = "->") -> str:
    """``16``, or ``15 -> 16``; what builds sdists has none."""
    before, after = len(environment.cells_before), len(environment.cells_after)
    if environment.name == BUILD:
        return ""
    return (
        str(after) if before == after and not (environment.gained or environment.lost) else f"{before} {arrow} {after}"
    )


def file_names(hashes: Sequence[str], known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The names of files that are known, sorted, and in words how many are not."""
    named = sorted(known[sha] for sha in hashes if sha in known)
    rest = len(hashes) - len(named)
    return named, [f"{rest} of unknown name"] if rest else []


def cells_by_reason(environment: EnvironmentDiff, changes: Iterable[CellChange]) -> list[tuple[str, list[CellName]]]:
    """Why cells were lost, or what stood in the way of those gained, each once with the cells that it is of.

    In the words of the first: wheels differ by Python, findings do not.
    """
    grouped: dict[object, tuple[str, list[CellName]]] = {}
    for change in changes:
        unproven = next((r for r in (change.after, change.before) if r and not r.proven), None)
        found = tuple((b.package, b.finding) for b in unproven.blockers) if unproven else ()
        key = found if found and all(name for _, name in found) else _reason(change, unproven)
        cells = grouped.setdefault(key, (_reason(change, unproven), []))[1]
        cells.append(change.cell)
    return list(grouped.values())


def _reason(change: CellChange, unproven: CellRecord | None) -> str:
    if change.after is None:
        return "no longer in envs/"
    if unproven is None:
        return "new in envs/"
    before = "" if unproven is change.after else "before: "
    if len(unproven.blockers) < 2:
        return f"{before}{unproven.because}"
    return f"{before}{unproven.blockers[0].text}; and {plural(len(unproven.blockers) - 1, 'more reason')}"


def same_findings(changes: Iterable[FindingChange]) -> list[list[FindingChange]]:
    """Those together that are the same in several environments."""
    grouped: dict[tuple[str, str, str, bool], list[FindingChange]] = {}
    for change in changes:
        grouped.setdefault((change.kind, change.severity, change.name, change.accepted), []).append(change)
    order = {"new": 0, "unaccepted": 1, "accepted": 2, "gone": 3}
    return [some for _, some in sorted(grouped.items(), key=lambda item: (order[item[0][0]], *item[0][1:]))]


def finding_word(change: FindingChange) -> str:
    """``new error``, ``gone warning``, ``warning, now accepted``."""
    if change.kind in ("accepted", "unaccepted"):
        return f"{change.severity}, {'now' if change.kind == 'accepted' else 'no longer'} accepted"
    accepted = ", accepted" if change.accepted else ""
    return f"{change.kind} {change.severity}{accepted}"


def compared(diff: GridDiff) -> Iterator[str]:
    """What of moved packages nobody looked at, and what was looked at and is as it was, in sentences."""
    if not any(environment.moves or environment.brought for environment in diff.environments):
        return
    if diff.licences_why:
        yield f"licences: not compared ({printable(diff.licences_why)})"
    elif diff.licences_unknown:
        yield f"licences: not known of {some(diff.licences_unknown)}: {printable(diff.licences_gap)}"
    elif not diff.licences:
        yield "licences: none changed"
    if diff.advisories_why:
        asking = "; lockgrid diff --advisories does" if diff.advisories_why == NOT_ASKED else ""
        yield f"advisories: not compared ({printable(diff.advisories_why)}{asking})"
    elif diff.unaudited:
        names = [f"{name} {version}" for name, version, _ in diff.unaudited]
        yield f"advisories: not audited: {some(names)}; {printable(diff.unaudited[0][2])}"
    elif not diff.advisories:
        yield f"advisories: none fixed and none new among what moved, by {diff.service}"


def some(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
