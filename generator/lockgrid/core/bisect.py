"""Which updates must be held back so that a test passes: a search that asks, and is told verdicts.

Delta debugging (Zeller, Hildebrandt 2002) turned to its complement: a smallest set to take away. One culprit among n
takes about log2(n) questions, since the end of the shortest prefix that must be held is a culprit; what else is
needed is looked for in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from enum import StrEnum

#: The updates to hold back, by number.
Held = frozenset[int]


class Verdict(StrEnum):
    """What came of holding some updates back. ``UNRESOLVABLE``: no resolution serves, so nothing was tested."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    UNRESOLVABLE = "unresolvable"


#: Asks for sets to hold back, is sent the verdict of each, returns the set to hold.
Search = Generator[Held, Verdict, Held]

# How many neighbours of a set that cannot be resolved are tried. They cost no test, but a resolution each.
_NEIGHBOURS = 4
# ln 2: a group of this many mean gaps between culprits holds none of them half of the time.
_EVEN_CHANCE = 0.69


def smallest_hold(count: int, suspects: Iterable[int] = ()) -> Search:
    """The search among the updates 0 to ``count`` - 1, of which none held fails and all held passes.

    ``suspects``, if any, are looked at first. Asks for no set twice, and for neither of these two. The set returned
    passes: it was asked for, or is all. None of it can be spared by itself: each such set was asked for, and did not
    pass. That a set passes is never concluded from what a smaller one does.
    """
    everything = frozenset(range(count))
    if count < 2:
        return everything
    known = {frozenset[int](): Verdict.FAIL, everything: Verdict.PASS}
    first = [number for number in dict.fromkeys(suspects) if number in everything]
    order = [*first, *(number for number in range(count) if number not in first)]
    kept, rest = frozenset[int](), order
    while True:
        if kept and (yield from _passes(kept, known)):
            break
        position = yield from _shortest_prefix(kept, rest, known, len(first) if not kept else 0, count)
        kept |= {rest[position]}
        rest = rest[:position]
    return (yield from _without_spare(kept, order, known))


def drive(search: Search, judge: Callable[[Held], Verdict]) -> Held:
    """The set that a search returns, with ``judge`` to answer it."""
    try:
        held = next(search)
        while True:
            held = search.send(judge(held))
    except StopIteration as end:
        found: Held = end.value
        return found


def _passes(held: Held, known: dict[Held, Verdict]) -> Generator[Held, Verdict, bool]:
    """Whether a set passes; it is asked for unless that is known."""
    if held not in known:
        known[held] = yield held
    return known[held] is Verdict.PASS


def _shortest_prefix(
    kept: Held, rest: list[int], known: dict[Held, Verdict], first: int, count: int
) -> Generator[Held, Verdict, int]:
    """Where in ``rest`` a prefix that passes together with ``kept`` ends, while the next shorter one does not.

    ``kept`` alone does not pass, and with all of ``rest`` it does. ``first``: the length to begin with, 0 for none.
    """
    low, high = 0, len(rest)
    pace = _Pace(len(kept), count - len(rest))
    while high - low > 1:
        middle = first if low < first < high else pace.middle(low, high)
        first = 0
        passes = False
        for length in _near(middle, low, high):
            held = kept | frozenset(rest[:length])
            passes = yield from _passes(held, known)
            if known[held] is not Verdict.UNRESOLVABLE:
                middle = length
                break
        if passes:
            high = middle
            pace.free()
        else:
            low = middle  # also where nothing near could be resolved: such a prefix does not pass
            pace.met()
    return high - 1


class _Pace:
    """Where to divide: in halves, or near the end where culprits were found to lie close together."""

    def __init__(self, found: int, looked_at: int) -> None:
        self._step = round(_EVEN_CHANCE * looked_at / found) if found > 1 else 0

    def middle(self, low: int, high: int) -> int:
        """The next length to try, between the two."""
        half = (low + high) // 2
        return max(half, high - max(1, self._step)) if self._step else half

    def free(self) -> None:
        """No culprit was in what was left away: look further."""
        self._step *= 2

    def met(self) -> None:
        """There is one: halves from now on."""
        self._step = 0


def _near(middle: int, low: int, high: int) -> Iterator[int]:
    """A length and those next to it, between the two, nearest first."""
    yield middle
    for distance in range(1, _NEIGHBOURS // 2 + 1):
        yield from (length for length in (middle + distance, middle - distance) if low < length < high)


def _without_spare(kept: Held, order: list[int], known: dict[Held, Verdict]) -> Search:
    """The set without those that it can spare one by one, until it can spare none.

    Where more held can only help, nothing is to spare and each question is a mere proof of that.
    """
    spared = True
    while spared:
        spared = False
        for number in [n for n in order if n in kept]:
            if len(kept) > 1 and (yield from _passes(kept - {number}, known)):
                kept -= {number}
                spared = True
    return kept
