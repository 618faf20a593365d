"""Outcomes of scans and proofs, kept until anything that they were made from changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.remember import (
    decode_proofs,
    decode_scan,
    encode_proofs,
    encode_scan,
    pages_of,
    proof_key,
    scan_key,
)
from lockgrid.model.grid import Blocker, Pin, Proof, ProvenCell
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Target
from unit.builders import (
    AFTER,
    BEFORE,
    CUTOFF,
    MAC,
    any_wheel,
    environment,
    facts,
    index_file,
    missing_page,
    page,
    pin,
    target,
)

APP = environment("a", targets=[target(), target(MAC)])
A, B = page("a", any_wheel("a", "1.0")), page("b", any_wheel("b", "1.0"))
BLOCKERS = {
    ("app", target(MAC)): (
        Blocker(proof=Proof.TAGS, package="a", required_by=("x", "y"), exists="e", missing="m", serves=("1", "2")),
        Blocker(proof=Proof.RESOLUTION, package="b"),
    )
}


def kept() -> bytes:
    value = encode_scan(BLOCKERS, facts(A, B))
    assert value is not None
    return value


def test_a_scan_survives_the_cache() -> None:
    assert decode_scan(kept(), [APP], facts(A, B)) == BLOCKERS
    empty = encode_scan({}, facts(A))
    assert empty is not None
    assert decode_scan(empty, [APP], facts(A)) == {}


def test_it_names_the_pages_that_it_hangs_on() -> None:
    assert sorted(pages_of(kept())) == ["a", "b"]


def test_a_page_that_changed_speaks_against_it() -> None:
    changed = page("b", any_wheel("b", "1.0"), any_wheel("b", "1.1"))
    assert decode_scan(kept(), [APP], facts(A, changed)) is None


@pytest.mark.parametrize(("days", "holds"), [(9, True), (-1, True), (-31, True), (-32, False)])
def test_it_holds_for_every_cut_off_after_the_newest_file(days: int, holds: bool) -> None:
    known = facts(A, B, cutoff=CUTOFF + timedelta(days=days))
    assert timedelta(days=31) == CUTOFF - BEFORE
    assert (decode_scan(kept(), [APP], known) is not None) is holds


@pytest.mark.parametrize(
    "known",
    [
        facts(),
        facts(A, page("b", any_wheel("b", "1.0"), newest=None)),
        facts(A, missing_page("b")),
        facts(A, page("b", any_wheel("b", "1.0"), newest=CUTOFF + timedelta(seconds=1))),
    ],
)
def test_what_may_change_without_a_trace_is_not_kept(known: object) -> None:
    assert encode_scan(BLOCKERS, known) is None  # type: ignore[arg-type]


def test_the_key_hangs_on_what_the_environments_mean() -> None:
    others = [
        environment("a", targets=[target()]),
        environment("a==1", targets=APP.targets),
        environment("a", targets=APP.targets, overrides={"b": "==1"}),
        environment("a", targets=APP.targets, sdists=["b"]),
        environment("a", targets=APP.targets, name="other"),
        replace(APP, requires=tuple(replace(d, file="envs/base.toml") for d in APP.requires)),
    ]
    keys = {scan_key([one]) for one in (APP, *others)}
    assert len(keys) == len(others) + 1
    assert scan_key([APP, others[0]]) not in keys
    assert scan_key([replace(APP, summary="other words")]) == scan_key([APP])


def test_blockers_come_back_for_the_targets_of_these_environments() -> None:
    found = decode_scan(kept(), [APP], facts(A, B))
    assert found is not None
    ((_, where),) = found
    assert isinstance(where, Target)
    assert where.platform.floor == (15, 0)


PROVEN = [
    ProvenCell(
        environment="app",
        target=where,
        pins=(pin("a", "1.0"), pin("b", "1.0")),
        via=(("a", ("envs/app.toml",)), ("b", ("a==1.0", "envs/app.toml"))),
    )
    for where in APP.targets
]
DOMAIN = [(APP, APP.targets)]


def proofs() -> bytes:
    value = encode_proofs(PROVEN, facts(A, B))
    assert value is not None
    return value


def test_proofs_survive_the_cache() -> None:
    assert decode_proofs(proofs(), DOMAIN, facts(A, B)) == PROVEN


def test_proofs_hang_on_the_pages_of_their_pins_alone() -> None:
    other = page("other", any_wheel("other", "1.0"), newest=None)
    value = encode_proofs(PROVEN, facts(A, B, other, missing_page("gone")))
    assert value is not None
    assert sorted(pages_of(value)) == ["a", "b"]
    yanked = page("b", replace(any_wheel("b", "1.0"), yanked=""))
    assert decode_proofs(proofs(), DOMAIN, facts(A, yanked)) is None


@pytest.mark.parametrize(("days", "holds"), [(9, True), (-31, True), (-32, False)])
def test_proofs_hold_for_every_cut_off_after_the_newest_file(days: int, holds: bool) -> None:
    known = facts(A, B, cutoff=CUTOFF + timedelta(days=days))
    assert (decode_proofs(proofs(), DOMAIN, known) is not None) is holds


def test_proofs_on_a_page_that_tells_no_times_are_not_kept() -> None:
    assert encode_proofs(PROVEN, facts(A, page("b", any_wheel("b", "1.0"), newest=None))) is None


def test_the_key_of_proofs_hangs_on_cells_exports_and_old_locks() -> None:
    base = proof_key(DOMAIN, ["text"], "old")
    assert base == proof_key([(replace(APP, summary="other words"), APP.targets)], ["text"], "old")
    others = [
        proof_key([(APP, APP.targets[:1])], ["text"], "old"),
        proof_key([(environment("a==1", targets=APP.targets), APP.targets)], ["text"], "old"),
        proof_key(DOMAIN, ["text "], "old"),
        proof_key(DOMAIN, ["text", "text"], "old"),
        proof_key(DOMAIN, ["text"], "new"),
        scan_key([APP]),
    ]
    assert len({base, *others}) == len(others) + 1


WORD = st.text(st.characters(codec="utf-8"), max_size=8)
FILE = st.builds(
    IndexFile,
    filename=WORD,
    url=WORD,
    sha256=WORD,
    size=st.none() | st.integers(0, 2**40),
    uploaded=st.none() | st.datetimes(timezones=st.just(UTC)),
)
PINS = st.lists(st.builds(Pin, name=st.sampled_from(["a", "b"]), version=WORD, file=FILE), min_size=1, max_size=4).map(
    tuple
)
VIA = st.dictionaries(WORD, st.lists(WORD, max_size=2).map(tuple), max_size=2).map(lambda found: tuple(found.items()))
CELLS = st.lists(
    st.builds(ProvenCell, environment=st.just("app"), target=st.sampled_from(APP.targets), pins=PINS, via=VIA),
    min_size=1,
    max_size=3,
)


@given(CELLS)
def test_any_proven_cells_survive_the_cache(cells: list[ProvenCell]) -> None:
    value = encode_proofs(cells, facts(A, B))
    assert value is not None
    assert decode_proofs(value, DOMAIN, facts(A, B)) == cells


BLOCKER = st.builds(
    Blocker,
    proof=st.sampled_from(Proof),
    package=WORD,
    required_by=st.lists(WORD, max_size=2).map(tuple),
    exists=WORD,
    missing=WORD,
    serves=st.lists(WORD, max_size=2).map(tuple),
)


@given(st.dictionaries(st.sampled_from([("app", where) for where in APP.targets]), st.lists(BLOCKER).map(tuple)))
def test_any_blockers_survive_the_cache(blockers: dict[tuple[str, Target], tuple[Blocker, ...]]) -> None:
    value = encode_scan(blockers, facts(A))
    assert value is not None
    assert decode_scan(value, [APP], facts(A)) == blockers


def test_proofs_hang_on_the_page_of_the_index_that_is_named() -> None:
    one = environment("a", targets=[target()], sources={"a@linux-x86_64": "cpu"})
    cpu = page("a@cpu", any_wheel("a", "1.0"))
    cells = [ProvenCell(environment="app", target=target(), pins=(pin("a", "1.0", index="cpu"),), via=())]
    value = encode_proofs(cells, facts(A, cpu))
    assert value is not None
    assert pages_of(value) == ["a@cpu"]
    assert decode_proofs(value, [(one, one.targets)], facts(cpu)) == cells
    assert decode_proofs(value, [(one, one.targets)], facts(page("a@cpu"), A)) is None


def test_an_index_without_dates_keeps_no_outcome_from_being_kept() -> None:
    undated = replace(page("a@cpu", any_wheel("a", "1.0")), newest=None)
    assert encode_scan({}, facts(B, undated)) is None
    assert encode_scan({}, facts(B, replace(undated, releases={}), dateless=["cpu"])) is not None
    late = replace(page("a@cpu", index_file("a-1.0-py3-none-any.whl", uploaded=AFTER)), newest=None)
    assert encode_scan({}, facts(B, late, dateless=["cpu"])) is None
    assert encode_scan({}, facts(B, late, cutoff=AFTER, dateless=["cpu"])) is not None
