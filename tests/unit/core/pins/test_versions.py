"""Versions and commits compared, and respelt, in the grammar of the copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from lockgrid.core.pins.versions import comparable, in_step, read_truth, respell
from lockgrid.model.pins import Place, Truth

COMMIT = "dbf45dbfcc515421dd6099037d3e2637b90748c8"
OTHER = "c0ffee1789abcdef0123456789abcdef01234567"
SHA256 = "0123456789abcdef" * 4


def truth(text: str) -> Truth:
    found = read_truth(text)
    assert found is not None
    return found


def place(text: str) -> Place:
    shown = text.removesuffix(".*")
    return Place(0, len(shown), shown, shown != text)


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        ("1.2.0", False),
        ("v1.2", False),
        ("2026.05.0", False),
        ("1!2.0rc1.post3.dev4+cpu.1", False),
        ("20260530", False),
        (COMMIT, True),
        (COMMIT[:7], True),
        ("1" * 40, True),
        (SHA256, True),
    ],
)
def test_what_a_truth_is(text: str, commit: bool) -> None:
    assert truth(text).commit is commit


@pytest.mark.parametrize("text", ["main", "", "1.2-SNAPSHOT", "abcdef", "0123abg", "a" * 65])
def test_what_is_neither(text: str) -> None:
    assert read_truth(text) is None


@pytest.mark.parametrize(
    ("true", "held", "same"),
    [
        ("1.2.0", "1.2.0", True),
        ("1.2.0", "1.2", True),
        ("1.2", "1.2.0.0", True),
        ("1.2.0", "v1.2.0", True),
        ("2026.5.0", "2026.05.0", True),
        ("1.0rc1", "1.0-RC.1", True),
        ("1.2.3", "1.2", False),
        ("1.2", "1.2.3", False),
        ("1.20", "1.2", False),
        ("1.2", "1.2.post1", False),
        ("2.13.0+cpu", "2.13.0", True),
        ("2.13.0", "2.13.0+cpu", True),
        ("2.13.0+cpu", "2.13.0+cu130", False),
        ("1!1.2", "1.2", False),
        ("1.2.3", "1.2.*", True),
        ("1.2", "1.2.0.*", True),
        ("1.20", "1.2.*", False),
        ("1.3", "1.2.*", False),
        ("1!1.2.3", "1.2.*", False),
        (COMMIT, COMMIT, True),
        (COMMIT, COMMIT.upper(), True),
        (COMMIT, COMMIT[:7], True),
        (COMMIT[:8], COMMIT, True),
        (COMMIT, OTHER, False),
        (COMMIT, OTHER[:7], False),
    ],
)
def test_in_step(true: str, held: str, same: bool) -> None:
    assert comparable(truth(true), place(held))
    assert in_step(truth(true), place(held)) is same


@pytest.mark.parametrize(
    ("true", "held"), [("1.2", "main"), ("1.2", COMMIT), (COMMIT, "v1.2"), (COMMIT, "abcdef"), (COMMIT, f"{COMMIT}.*")]
)
def test_not_comparable(true: str, held: str) -> None:
    assert not comparable(truth(true), place(held))


@pytest.mark.parametrize(
    ("true", "held", "wanted"),
    [
        ("1.3.0", "1.2.0", "1.3.0"),
        ("1.3.0", "1.2", "1.3"),
        ("1.3.1", "1.2", "1.3.1"),
        ("1.3", "1.2.0", "1.3.0"),
        ("2", "1.2.0", "2.0.0"),
        ("1.3.0.0", "1.2.0", "1.3.0"),
        ("1.3", "v1.2", "v1.3"),
        ("v1.3", "1.2", "1.3"),
        ("1.3", "V1.2", "V1.3"),
        ("2026.6.0", "2026.05.0", "2026.06.0"),
        ("2026.11.0", "2026.05.0", "2026.11.0"),
        ("1.3rc2", "1.2", "1.3rc2"),
        ("1.3rc2", "1.2-rc.1", "1.3-rc.2"),
        ("1.3", "1.2-rc1", "1.3"),
        ("1.3a2", "1.2-beta1", "1.3-alpha2"),
        ("1.3b1", "1.2alpha1", "1.3beta1"),
        ("1.3rc1", "1.2c1", "1.3c1"),
        ("1.3.dev2", "1.2-dev1", "1.3-dev2"),
        ("1.3.post1", "1.2", "1.3.post1"),
        ("1.3.post2", "1.2-r1", "1.3-r2"),
        ("2.14.0+cpu", "2.13.0", "2.14.0"),
        ("2.14.0", "2.13.0+cpu", "2.14.0+cpu"),
        ("2.14.0+cpu", "2.13.0+cu130", "2.14.0+cpu"),
        ("1!2.0", "1.2", "1!2.0"),
        ("2.0", "1!1.2", "2.0"),
        ("1.3.4", "1.2.*", "1.3"),
        ("1.3", "1.2.0.*", "1.3.0"),
        ("2.1rc1", "1.*", "2"),
        ("25.2.10", "24.3.25", "25.2.10"),
        (OTHER, COMMIT, OTHER),
        (OTHER, COMMIT[:7], OTHER[:7]),
        (OTHER, "ABCDEF0", "C0FFEE1"),
        (COMMIT, "ABCDEF0123", "DBF45DBFCC"),
        (SHA256, COMMIT, SHA256),
        (OTHER[:9], COMMIT[:9], OTHER[:9]),
    ],
)
def test_respell(true: str, held: str, wanted: str) -> None:
    assert respell(truth(true), place(held)) == wanted


def test_a_short_commit_cannot_be_written_where_a_longer_one_stands() -> None:
    assert respell(truth(OTHER[:9]), place(COMMIT)) is None


@pytest.mark.parametrize(("size", "wanted"), [(1, "2"), (2, "2.13"), (3, "2.13.1"), (4, "2.13.1.0")])
def test_the_beginning_of_a_version_in_so_many_components(size: int, wanted: str) -> None:
    assert respell(truth("2.13.1"), Place(0, 4, "2.12", wildcard=True), size) == wanted


numbers = st.integers(0, 30)
releases = st.lists(numbers, min_size=1, max_size=4)


@st.composite
def versions(draw: st.DrawFn) -> str:
    """A version in any of its spellings."""
    release = ".".join(draw(st.sampled_from([str(n), str(n).zfill(2)])) for n in draw(releases))
    mark = draw(st.sampled_from(["", "", "v"]))
    pre = draw(st.sampled_from(["", "", "rc1", "-alpha.2", "_b3", "-preview4", "c5"]))
    post = draw(st.sampled_from(["", "", ".post1", "-r2", "-3"]))
    dev = draw(st.sampled_from(["", "", ".dev1", "-dev2"]))
    local = draw(st.sampled_from(["", "", "+cpu"]))
    return mark + release + pre + post + dev + local


@given(true=versions(), held=versions())
def test_what_is_respelt_is_in_step_and_stays(true: str, held: str) -> None:
    one = truth(true)
    first = respell(one, place(held))
    assert first is not None
    assert in_step(one, place(first))
    assert respell(one, place(first)) == first
    assert Version(Version(first).public) == Version(Version(true).public)
    assert first.startswith("v") == held.startswith("v")


@given(
    true=st.text("0123456789abcdef", min_size=40, max_size=40),
    held=st.text("0123456789abcdef", min_size=7, max_size=40),
)
def test_a_commit_keeps_its_length(true: str, held: str) -> None:
    one = truth(true)
    written = respell(one, place(held))
    assert written is not None
    assert (len(written), in_step(one, place(written))) == (len(held), True)
