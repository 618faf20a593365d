"""Cut-offs of a refresh: what is old enough, and what is locked and stays."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from lockgrid.core.candidates import Facts, best_file, index_refusal
from lockgrid.core.cooldown import cooled, keep_young, locked_projects, uv_cutoffs, young_exclusions
from lockgrid.core.remember import decode_scan, encode_scan
from lockgrid.core.resolution import Exclusion
from lockgrid.model.cutoff import Cutoff, Keeping, Kept
from lockgrid.model.spec import CooldownException, Spec
from unit.builders import (
    AFTER,
    BEFORE,
    CUTOFF,
    digest,
    environment,
    facts,
    index_file,
    locked,
    old_lock,
    page,
    spec_of,
    target,
)

NOW = datetime(2026, 6, 8, 12, 0, 30, 123456, tzinfo=UTC)
LATE = AFTER + timedelta(days=1)
APP = environment("a")
OLD, YOUNG, YOUNGER = "a-1.0-py3-none-any.whl", "a-1.1-py3-none-any.whl", "a-2.0-py3-none-any.whl"


def spec(cooldown: timedelta | None, *exceptions: tuple[str, int, date]) -> Spec:
    found = spec_of(APP)
    return Spec(
        platforms=found.platforms,
        pythons=found.pythons,
        environments=found.environments,
        cooldown=cooldown,
        exceptions=tuple(
            CooldownException(name=canonicalize_name(name), cooldown=timedelta(days=days), why="x", until=until)
            for name, days, until in exceptions
        ),
    )


def test_the_cooldown_counts_back_from_now_to_the_second() -> None:
    assert cooled(spec(timedelta(days=7)), NOW) == Cutoff(moment=datetime(2026, 6, 1, 12, 0, 30, tzinfo=UTC))
    assert cooled(spec(None), NOW) == Cutoff(moment=NOW.replace(microsecond=0))


def test_a_cooldown_longer_than_time_itself_is_no_crash() -> None:
    assert cooled(spec(timedelta(days=999_999)), NOW).moment.year == 1


@pytest.mark.parametrize(("until", "counts"), [(date(2026, 6, 7), False), (date(2026, 6, 8), True)])
def test_an_exception_counts_through_its_last_day(until: date, counts: bool) -> None:
    found = cooled(spec(timedelta(days=7), ("b", 1, until)), NOW)
    assert found.packages == ((("b", datetime(2026, 6, 7, 12, 0, 30, tzinfo=UTC)),) if counts else ())


def known(*files: tuple[str, datetime | None], cutoff: datetime = CUTOFF) -> Facts:
    listed = [index_file(name, uploaded=uploaded) for name, uploaded in files]
    hashes = [digest(name) for name, uploaded in files if uploaded is None]
    return facts(page("a", *listed), cutoff=cutoff, known=hashes[:1])


def test_what_is_locked_is_known_by_the_page_that_offers_it() -> None:
    sourced = environment("a", sources={"a@linux-x86_64": "x"})
    old = old_lock("app", "linux-x86_64", locked("a", "1.0", ["3.12"])) | old_lock(
        "build", "build", locked("b", "1", ["3.12"])
    )
    assert {key: {v for v, _ in found} for key, found in locked_projects([sourced], old).items()} == {
        "a@x": {"1.0"},
        "b": {"1"},
    }


def kept_facts(
    *files: tuple[str, datetime | None], version: str = "1.1", own: tuple[tuple[str, datetime], ...] = ()
) -> Facts:
    """The facts of a refresh where ``a`` is locked in that version."""
    base = known(*files)
    pairs = {"a": {(version, digest(f"a-{version}-py3-none-any.whl"))}}
    cutoff, keeping = keep_young(Cutoff(moment=CUTOFF, packages=own), pairs, base)
    return base.as_of(cutoff, keeping)


def test_a_locked_file_that_is_old_enough_needs_no_cut_off_of_its_own() -> None:
    found = kept_facts((OLD, BEFORE), version="1.0")
    assert (found.cutoffs, found.keeping) == ({}, Keeping())


def test_a_locked_file_that_is_too_young_gets_the_second_after_it() -> None:
    found = kept_facts((OLD, BEFORE), (YOUNG, AFTER + timedelta(microseconds=5)))
    assert found.cutoffs == {"a": AFTER + timedelta(seconds=1)}
    assert found.keeping.kept == {"a": Kept(limit=CUTOFF, versions=frozenset({"1.1"}))}
    assert uv_cutoffs(found) == (("a", AFTER + timedelta(seconds=1)),)
    assert best_file("a", Version("1.1"), target(), found, sdist_allowed=False) is not None
    assert (found.cutoff_of("a"), found.cutoff_of("a@x"), found.cutoff_of("b")) == (
        AFTER + timedelta(seconds=1),
        AFTER + timedelta(seconds=1),
        CUTOFF,
    )


def test_an_exception_that_is_nearer_to_now_wins_over_what_is_locked() -> None:
    assert kept_facts((YOUNG, AFTER), own=(("a", LATE),)).cutoffs == {"a": LATE}


def test_an_exception_as_long_as_the_cooldown_is_none() -> None:
    assert kept_facts((OLD, BEFORE), version="1.0", own=(("a", CUTOFF),)).cutoffs == {}


def test_another_young_release_stays_out_though_it_is_older_than_the_locked_one() -> None:
    found = kept_facts((OLD, BEFORE), (YOUNG, AFTER), (YOUNGER, AFTER - timedelta(days=1)))
    young = index_file(YOUNGER, uploaded=AFTER - timedelta(days=1))
    refused = index_refusal(young, found, "a")
    assert refused is not None
    assert "after the cut-off" in refused.reason
    assert young_exclusions([APP], [target()], found) == (Exclusion(name="a", version="2.0", targets=(target(),)),)


def test_what_uv_does_not_see_need_not_be_excluded() -> None:
    assert young_exclusions([APP], [target()], kept_facts((YOUNG, AFTER), (YOUNGER, LATE))) == ()


def test_a_locked_file_without_an_upload_time_is_shown_to_uv_and_nothing_newer_is() -> None:
    found = kept_facts((OLD, BEFORE), (YOUNG, None), (YOUNGER, AFTER))
    assert found.keeping.undated == {"a"}
    assert uv_cutoffs(found) == (("a", None),)
    assert [e.version for e in young_exclusions([APP], [target()], found)] == ["2.0"]
    assert kept_facts((YOUNG, None), (YOUNGER, BEFORE)).keeping.undated == {"a"}
    assert young_exclusions([APP], [target()], kept_facts((YOUNG, None), (YOUNGER, BEFORE))) == ()


def test_an_index_that_is_declared_dateless_is_no_matter_of_keeping() -> None:
    base = facts(page("a@x", index_file(OLD, uploaded=None)), dateless=["x"])
    _, keeping = keep_young(Cutoff(moment=CUTOFF), {"a@x": {("1.0", digest(OLD))}}, base)
    assert keeping == Keeping()


def test_a_locked_file_that_is_gone_keeps_nothing() -> None:
    assert kept_facts((OLD, BEFORE), version="9").keeping == Keeping()


@pytest.mark.parametrize("days", [-1, 1])
def test_an_outcome_holds_only_if_it_holds_for_every_cut_off(days: int) -> None:
    base = facts(page("a", index_file(OLD, uploaded=BEFORE), newest=BEFORE))
    other = base.as_of(Cutoff(moment=CUTOFF, packages=(("b", BEFORE + timedelta(days=days)),)))
    value = encode_scan({}, base)
    assert value is not None
    assert (decode_scan(value, [APP], other) == {}) == (days > 0)
    assert (encode_scan({}, other) is not None) == (days > 0)


def test_facts_of_another_moment_share_what_is_learnt_and_not_what_follows_from_the_cut_off() -> None:
    base = known((OLD, BEFORE), (YOUNG, AFTER))
    assert best_file("a", Version("1.1"), target(), base, sdist_allowed=False) is None
    later = base.as_of(Cutoff(moment=LATE))
    assert best_file("a", Version("1.1"), target(), later, sdist_allowed=False) is not None
    later.pages["b"] = page("b")
    assert "b" in base.pages
