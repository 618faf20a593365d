"""The scan for cells that no resolution can save: every blocker at once, and never a guess."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lockgrid.core.candidates import Facts
from lockgrid.core.forced import Scan
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.index import Page
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target
from unit.builders import (
    LINUX,
    MAC,
    WINDOWS,
    any_wheel,
    environment,
    facts,
    index_file,
    metadata,
    missing_page,
    page,
    simple_facts,
    target,
)

LINUX_ONLY = "b-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"


def blocked(one: Environment, known: Facts) -> Mapping[Target, tuple[Blocker, ...]]:
    """The outcome of a scan that needs no more facts."""
    scan = Scan(one)
    assert scan.advance(known), (scan.pages, scan.files)
    return scan.blockers(known)


def texts(one: Environment, known: Facts, where: Target | None = None) -> list[str]:
    return [blocker.text for blocker in blocked(one, known).get(where or target(), ())]


def test_a_cell_that_can_be_has_no_blocker() -> None:
    known = simple_facts(metadata("a", "1.0", "b>=1"), metadata("b", "1.0"))
    assert blocked(environment("a==1.0"), known) == {}


def test_every_blocker_of_a_cell_is_found_at_once_sorted_by_package() -> None:
    known = simple_facts(metadata("a", "1.0", "z", "b", "c>=3"))
    old = index_file("b-1.0-cp310-cp310-manylinux_2_28_x86_64.whl")
    known.metadata[old.sha256] = metadata("b", "1.0")
    known.pages |= {
        "b": page("b", old),
        "c": page("c", any_wheel("c", "1.0")),
        "z": missing_page("z"),
    }
    assert blocked(environment("a==1.0"), known) == {
        target(): (
            Blocker(
                proof=Proof.TAGS,
                package="b",
                required_by=("a==1.0",),
                exists="has wheels for CPython 3.10 and no sdist",
                missing="a wheel for CPython 3.12 on linux-x86_64 (glibc 2.28)",
            ),
            Blocker(
                proof=Proof.RESOLUTION,
                package="c>=3",
                required_by=("a==1.0",),
                exists="matches no release",
                missing="a release that all of them admit",
                serves=("1.0",),
            ),
            Blocker(
                proof=Proof.RESOLUTION,
                package="z",
                required_by=("a==1.0",),
                exists="is not on the index",
                missing="a project of that name",
            ),
        )
    }


def test_cells_are_judged_one_by_one() -> None:
    cells = [target(LINUX), target(MAC), target(WINDOWS)]
    known = facts(page("b", LINUX_ONLY, "b-0.9-py3-none-any.whl"))
    known.metadata |= {f.sha256: metadata("b", v) for v, (f,) in known.pages["b"].releases.items()}
    found = blocked(environment("b==1.0", targets=cells), known)
    assert list(found) == cells[1:]
    assert (
        found[target(MAC)][0].text == "b==1.0 (required by envs/app.toml) has wheels for linux-x86_64 only and no sdist"
    )
    assert found[target(MAC)][0].serves == ("0.9",)


def test_all_specifiers_and_requirers_of_a_package_stand_together() -> None:
    known = simple_facts(metadata("a", "1.0", "c>=1,<3"), metadata("b", "1.0", "c>=2"), metadata("c", "3.0"))
    assert texts(environment("a==1.0", "b==1.0"), known) == [
        "c>=2,<3 (required by a==1.0, b==1.0) matches no release: a==1.0 wants >=1,<3, b==1.0 wants >=2"
    ]


def test_those_whose_wishes_do_not_matter_are_left_out_of_the_contradiction() -> None:
    known = simple_facts(
        metadata("a", "1.0", "c<2"), metadata("b", "1.0", "c>=2"), metadata("d", "1.0", "c>=1"), metadata("c", "1.5")
    )
    (text,) = texts(environment("a", "b", "d"), known)
    assert text.endswith("matches no release: a==1.0 wants <2, b==1.0 wants >=2")


def test_who_contradicts_an_exact_version_is_named() -> None:
    known = simple_facts(metadata("a", "1.0", "c==1.5"), metadata("b", "1.0", "c>=2"), metadata("c", "1.5"))
    (text,) = texts(environment("a", "b"), known)
    assert text.endswith("matches no release: a==1.0 wants ==1.5, b==1.0 wants >=2")


def test_a_choice_of_two_versions_forces_nothing() -> None:
    versions = [metadata("a", "1.0", "gone"), metadata("a", "2.0", "gone")]
    one = environment("a")
    both, single = simple_facts(*versions), simple_facts(*versions[:1])
    for known in (both, single):
        known.pages["gone"] = missing_page("gone")
    assert blocked(one, both) == {}
    assert texts(one, single) == ["gone (required by a==1.0) is not on the index"]


def test_a_release_that_the_target_cannot_install_is_no_choice() -> None:
    known = simple_facts(metadata("a", "1.0", "gone"))
    windows = index_file("a-2.0-cp312-cp312-win_amd64.whl")
    known.pages["a"] = page("a", any_wheel("a", "1.0"), windows)
    known.pages["gone"] = missing_page("gone")
    assert texts(environment("a"), known) == ["gone (required by a==1.0) is not on the index"]


def test_a_blocked_package_still_tells_what_else_it_would_need() -> None:
    near = index_file("a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    known = facts(page("a", near), missing_page("gone"))
    known.metadata[near.sha256] = metadata("a", "1.0", "gone")
    found = blocked(environment("a==1.0"), known)[target()]
    assert [blocker.package for blocker in found] == ["a==1.0", "gone"]


@pytest.mark.parametrize(
    ("override", "blockers"),
    [({}, ["b==2 (required by a==1.0) matches no release"]), ({"b": "==1.0"}, []), ({"B": ">=1"}, [])],
)
def test_an_override_replaces_what_packages_ask(override: dict[str, str], blockers: list[str]) -> None:
    known = simple_facts(metadata("a", "1.0", "b==2"), metadata("b", "1.0"))
    assert texts(environment("a==1.0", overrides=override), known) == blockers


def test_markers_and_extras_decide_what_is_forced() -> None:
    lines = ["w; sys_platform == 'win32'", "x; extra == 'x'", "y; extra == 'y'"]
    known = simple_facts(metadata("a", "1.0", *lines, extras=["x", "y"]))
    known.pages |= {name: missing_page(name) for name in "wxy"}
    one = environment("a[x]==1.0", "z; sys_platform == 'win32'", targets=[target(), target(WINDOWS)])
    known.pages["z"] = missing_page("z")
    found = {where: [b.text for b in blockers] for where, blockers in blocked(one, known).items()}
    assert found == {
        target(): ["x (required by a[x]==1.0) is not on the index"],
        target(WINDOWS): [
            "w (required by a[x]==1.0) is not on the index",
            "x (required by a[x]==1.0) is not on the index",
            "z (required by envs/app.toml) is not on the index",
        ],
    }


def test_missing_facts_are_asked_for_and_the_scan_goes_on() -> None:
    complete = simple_facts(metadata("a", "1.0", "b"), metadata("b", "1.0"))
    known = facts()
    scan = Scan(environment("a==1.0", targets=[target(), target(MAC)]))
    assert not scan.advance(known)
    assert (scan.pages, scan.files) == ({"a"}, {})
    known.pages["a"] = complete.pages["a"]
    assert not scan.advance(known)
    assert (scan.pages, [f.filename for f in scan.files.values()]) == (set(), ["a-1.0-py3-none-any.whl"])
    known.metadata |= complete.metadata
    assert not scan.advance(known)
    assert (scan.pages, scan.files) == ({"b"}, {})
    known.pages["b"] = complete.pages["b"]
    assert scan.advance(known)
    assert scan.blockers(known) == {}


def stand_in_facts() -> Facts:
    """``a`` has a wheel a platform; METADATA is known of the one for macOS only."""
    mac = index_file("a-1.0-cp312-cp312-macosx_11_0_arm64.whl")
    known = facts(page("a", LINUX_ONLY.replace("b-", "a-"), mac), missing_page("gone"))
    known.metadata[mac.sha256] = metadata("a", "1.0", "gone")
    return known


def test_one_wheels_metadata_stands_for_another_only_in_a_guess() -> None:
    one, known = environment("a==1.0"), stand_in_facts()
    honest = Scan(one)
    assert not honest.advance(known)
    assert [f.filename for f in honest.files.values()] == [LINUX_ONLY.replace("b-", "a-")]
    guess = Scan(one, stand_in=True)
    assert guess.advance(known)
    assert [b.package for b in guess.blockers(known)[target()]] == ["gone"]


def test_a_guess_looks_at_one_platform_only() -> None:
    known = facts(page("a", "a-1.0-cp312-cp312-win_amd64.whl"), missing_page("gone"))
    one = environment("gone", targets=[target(), target(MAC), target(python="3.11")])
    guess = Scan(one, stand_in=True)
    assert guess.advance(known)
    assert list(guess.blockers(known)) == [target(), target(python="3.11")]


def test_an_eager_scan_follows_the_newest_of_several() -> None:
    known = simple_facts(metadata("a", "1.0", "old"), metadata("a", "2.0", "new"))
    scan = Scan(environment("a"), eager=True)
    assert not scan.advance(known)
    assert scan.pages == {"new"}


def test_a_sdist_is_forced_only_where_it_is_named() -> None:
    known = facts(page("a", "a-1.0.tar.gz"))
    assert texts(environment("a"), known) == [
        "a (required by envs/app.toml) has no wheel and a sdist that [sdists] does not name"
    ]
    assert texts(environment("a", sdists=["a"]), known) == []


def test_a_quarantined_project_is_a_blocker_even_without_a_release() -> None:
    for known in (facts(page("a", quarantined=True)), facts(page("a", any_wheel("a", "1.0"), quarantined=True))):
        known.metadata[any_wheel("a", "1.0").sha256] = metadata("a", "1.0")
        assert texts(environment("a"), known) == ["a (required by envs/app.toml) is quarantined by the index"]


def test_lines_that_are_no_requirements_and_urls_are_left_to_the_closure_proof() -> None:
    known = simple_facts(metadata("a", "1.0", "not a requirement", "u @ https://index.example/u.whl"))
    assert blocked(environment("a==1.0"), known) == {}


def test_packages_that_require_each_other_end_the_scan() -> None:
    known = simple_facts(metadata("a", "1.0", "b[x]"), metadata("b", "1.0", "a; extra == 'x'", extras=["x"]))
    assert blocked(environment("a"), known) == {}


CPU = {"b@linux-x86_64": "cpu"}


@pytest.mark.parametrize(
    ("page_of_b", "said"),
    [
        (missing_page("b@cpu"), "b>=1 (required by a==1.0) is not on the index (index cpu)"),
        (page("b@cpu", "b-0.5-py3-none-any.whl"), "b>=1 (required by a==1.0) matches no release (index cpu)"),
        (
            page("b@cpu", "b-1.0+cpu-py3-none-win_amd64.whl"),
            "b>=1 (required by a==1.0) has wheels for windows-x86_64 only and no sdist (index cpu)",
        ),
    ],
)
def test_a_package_with_a_source_is_looked_for_there_and_that_is_said(page_of_b: Page, said: str) -> None:
    known = simple_facts(metadata("a", "1.0", "b>=1"), metadata("b", "1.0"))
    known.pages[page_of_b.name] = page_of_b
    assert texts(environment("a==1.0", sources=CPU), known) == [said]
    assert texts(environment("a==1.0"), known) == []


def test_a_scan_asks_for_the_page_of_the_index_that_is_named() -> None:
    scan = Scan(environment("b", targets=[target(), target(MAC)], sources=CPU))
    assert not scan.advance(facts())
    assert scan.pages == {"b", "b@cpu"}
