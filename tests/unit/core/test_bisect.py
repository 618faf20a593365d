"""The search for what to hold back: it passes, nothing of it can be spared, and it asks little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgrid.core.bisect import Held, Verdict, drive, smallest_hold

Judge = Callable[[Held], Verdict]
Conflict = frozenset[int]


class Bench:
    """A test command that fails while some conflict is whole, and counts its runs. The candidate's own is the first."""

    def __init__(self, conflicts: Iterable[Iterable[int]], unresolvable: Callable[[Held], bool] | None = None) -> None:
        self.conflicts = [frozenset(conflict) for conflict in conflicts]
        self.unresolvable = unresolvable or (lambda _held: False)
        self.runs = 1
        self.asked: list[Held] = []

    def __call__(self, held: Held) -> Verdict:
        self.asked.append(held)
        if self.unresolvable(held):
            return Verdict.UNRESOLVABLE
        self.runs += 1
        return self.verdict(held)

    def verdict(self, held: Held) -> Verdict:
        whole = any(not conflict & held for conflict in self.conflicts)
        return Verdict.FAIL if whole else Verdict.PASS


def search(count: int, bench: Bench, suspects: Sequence[int] = ()) -> Held:
    return drive(smallest_hold(count, suspects), bench)


def assert_smallest(held: Held, count: int, judge: Judge) -> None:
    """It passes, and nothing can be spared alone."""
    assert len(held) == count or judge(held) is Verdict.PASS
    for one in held:
        assert len(held) == 1 or judge(held - {one}) is not Verdict.PASS


@pytest.mark.parametrize("culprit", range(40))
def test_one_of_forty_is_found_in_ten_runs(culprit: int) -> None:
    bench = Bench([[culprit]])
    assert search(40, bench) == {culprit}
    assert bench.runs <= 8


def test_of_two_that_break_together_one_is_held() -> None:
    for pair in combinations(range(40), 2):
        bench = Bench([pair])
        held = search(40, bench)
        assert len(held) == 1
        assert held < set(pair)
        assert bench.runs <= 8


def test_two_that_break_alone_are_both_held() -> None:
    for pair in combinations(range(40), 2):
        bench = Bench([[culprit] for culprit in pair])
        assert search(40, bench) == set(pair)
        assert bench.runs <= 16


def test_a_single_update_needs_no_further_run() -> None:
    bench = Bench([[0]])
    assert search(1, bench) == {0}
    assert bench.runs == 1


def test_everything_is_held_where_each_breaks_alone() -> None:
    bench = Bench([[number] for number in range(60)])
    assert search(60, bench) == frozenset(range(60))
    assert bench.runs <= 130


def test_suspects_come_first() -> None:
    bench = Bench([[37]])
    assert search(40, bench, [37]) == {37}
    assert bench.runs == 2


def test_a_wrong_suspicion_costs_one_run() -> None:
    bench = Bench([[3]])
    assert search(40, bench, [37, 38]) == {3}
    assert bench.runs <= 9


def test_a_set_that_cannot_be_resolved_costs_no_run() -> None:
    # 20 and 21 belong together: one of them alone cannot be held.
    bench = Bench([[20]], lambda held: (20 in held) != (21 in held))
    assert search(40, bench) == {20, 21}
    assert bench.runs <= 10


def test_a_neighbour_stands_in_for_a_set_that_cannot_be_resolved() -> None:
    bench = Bench([[3]], lambda held: len(held) in (20, 21))
    assert search(40, bench) == {3}
    assert bench.runs <= 8


def test_what_only_made_a_set_resolvable_is_not_held() -> None:
    # Nothing can be held alone that is not 0 or has 39 beside it.
    bench = Bench([[0]], lambda held: 39 not in held and held != {0})
    assert search(40, bench) == {0}


def test_what_is_proposed_was_seen_to_pass() -> None:
    """A failure that holding more brings back: nothing is concluded from other sets."""

    def judge(held: Held) -> Verdict:
        return Verdict.PASS if 2 in held and 3 not in held else Verdict.FAIL

    asked: list[Held] = []

    def noted(held: Held) -> Verdict:
        asked.append(held)
        return judge(held)

    held = drive(smallest_hold(8), noted)
    assert held == frozenset(range(8)) or (held in asked and judge(held) is Verdict.PASS)


conflicts = st.integers(2, 60).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.frozensets(st.integers(0, count - 1), min_size=1, max_size=4), min_size=1, max_size=6),
        st.lists(st.integers(0, count - 1), max_size=4),
    )
)


@given(conflicts)
@settings(max_examples=400, deadline=None)
def test_monotone_failures(case: tuple[int, list[Conflict], list[int]]) -> None:
    count, given_conflicts, suspects = case
    bench = Bench(given_conflicts)
    held = search(count, bench, suspects)
    assert_smallest(held, count, bench.verdict)
    assert len(bench.asked) == len(set(bench.asked))
    each = ceil(log2(count)) + 3  # to find one, to see whether that will do, to see that it cannot be spared
    assert bench.runs <= 2 + each * len(held)


@given(conflicts, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_any_verdicts_whatever(case: tuple[int, list[Conflict], list[int]], random: object) -> None:
    """Verdicts that follow no rule: the search ends, and what it returns passed when it was asked for."""
    count, _, suspects = case
    told: dict[Held, Verdict] = {}

    def judge(held: Held) -> Verdict:
        assert held not in told
        assert 0 < len(held) < count
        told[held] = random.choice(list(Verdict))  # type: ignore[attr-defined]
        return told[held]

    held = drive(smallest_hold(count, suspects), judge)
    assert len(held) == count or told[held] is Verdict.PASS
    for one in held:
        assert len(held) == 1 or told[held - {one}] is not Verdict.PASS


@given(conflicts, st.data())
@settings(max_examples=200, deadline=None)
def test_pairs_that_cannot_be_held_apart(case: tuple[int, list[Conflict], list[int]], data: st.DataObject) -> None:
    count, given_conflicts, suspects = case
    pairs = data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=5))
    bench = Bench(given_conflicts, lambda held: any((a in held) != (b in held) for a, b in pairs))
    held = search(count, bench, suspects)

    def judge(one: Held) -> Verdict:
        return Verdict.UNRESOLVABLE if bench.unresolvable(one) else bench.verdict(one)

    assert_smallest(held, count, judge)
