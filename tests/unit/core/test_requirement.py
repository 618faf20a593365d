"""Requirements in the form of the proofs, and several specifiers tidied into one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lockgrid.core.requirement import Demand, admits, demand, parse_demand, tidy

VERSIONS = ["0.9", "1.0", "1.0.1", "1.1", "1.9", "2.0", "2.0.1", "2.1", "3.0"]


def test_a_demand_is_normalised() -> None:
    assert demand(Requirement("Foo.Bar[X_y,Z]<2,>=1 ; python_version<'3.12'")) == Demand(
        name="foo-bar",  # type: ignore[arg-type]
        specifier="<2,>=1",
        extras=frozenset({"x-y", "z"}),
        marker='python_version < "3.12"',
        url="",
    )


def test_a_demand_knows_its_url() -> None:
    found = parse_demand("foo @ https://index.example/foo-1.0-py3-none-any.whl")
    assert found is not None
    assert found.url == "https://index.example/foo-1.0-py3-none-any.whl"


@pytest.mark.parametrize("line", ["foo ==", "foo bar", "", "foo>=1;", "foo; python_version > 3"])
def test_a_line_that_is_no_requirement_is_no_demand(line: str) -> None:
    assert parse_demand(line) is None


@pytest.mark.parametrize(
    ("specifier", "version", "admitted"),
    [
        ("", "1.0", True),
        ("==1.0", "1.0+cpu", True),
        (">=1.0", "1.1rc1", True),
        (">=1.0", "1.0rc1", False),
        ("<2", "2.0", False),
        ("===1.0", "1.0", True),
    ],
)
def test_a_pin_may_be_a_pre_release(specifier: str, version: str, admitted: bool) -> None:
    assert admits(specifier, version) is admitted


@pytest.mark.parametrize(
    ("specifiers", "tidied"),
    [
        ([], ""),
        ([""], ""),
        (["", ">=1"], ">=1"),
        ([">=1", ">=2,<4", "<3"], ">=2,<3"),
        ([">=1", ">1"], ">1"),
        (["<=2", "<2"], "<2"),
        (["<=2", "<3"], "<=2"),
        ([">=1.9", ">=1.10"], ">=1.10"),
        (["!=1.5,>=1", "!=1.4", "~=1.2"], ">=1,!=1.4,!=1.5,~=1.2"),
        (["==1.*", ">=1.2"], ">=1.2,==1.*"),
        (["==1.5", ">=1"], "==1.5"),
    ],
)
def test_tidy_keeps_the_tightest_bounds(specifiers: list[str], tidied: str) -> None:
    assert tidy(specifiers) == tidied


BOUND = st.builds("{}{}".format, st.sampled_from([">=", ">", "<=", "<", "!=", "~="]), st.sampled_from(VERSIONS))
SET = st.lists(BOUND, max_size=3).map(",".join)


def probes() -> list[Version]:
    return [Version(text) for text in [*VERSIONS, "0.1", "1.5", "2.5", "4.0"]]


@given(st.lists(SET, max_size=4))
def test_tidy_admits_exactly_what_the_set_admits(specifiers: list[str]) -> None:
    together = SpecifierSet(",".join(s for s in specifiers if s))
    tidied = SpecifierSet(tidy(specifiers))
    for version in probes():
        assert tidied.contains(version) == together.contains(version), (tidied, together, version)


@pytest.mark.parametrize(
    "specifiers", [["==1.0", "==2.0"], ["==1.0", ">=2"], ["==1.0", "!=1.0"], ["==1.0", "==1.0+cpu"]]
)
def test_tidy_shows_what_contradicts_an_exact_version(specifiers: list[str]) -> None:
    together, tidied = SpecifierSet(",".join(specifiers)), SpecifierSet(tidy(specifiers))
    versions = [Version(text) for text in ("1.0", "1.0+cpu", "1.0+cu130", "2.0")]
    assert [v for v in versions if tidied.contains(v)] == [v for v in versions if together.contains(v)]


@pytest.mark.parametrize(
    ("specifiers", "version"), [([">1.0", ">=1.0.post1"], "1.0.post1"), (["<2.0", "<=2.0rc1"], "2.0rc1")]
)
def test_tidy_keeps_what_a_bound_says_of_its_own_post_and_pre_releases(specifiers: list[str], version: str) -> None:
    together, tidied = SpecifierSet(",".join(specifiers)), SpecifierSet(tidy(specifiers))
    assert tidied.contains(version, prereleases=True) == together.contains(version, prereleases=True)
