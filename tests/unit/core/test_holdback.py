"""What a refresh does not take, and what ``envs/`` holds back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from packaging.utils import canonicalize_name

from lockgrid.core.holdback import HeldBack, blamed, bounds, without
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.spec import Hold
from unit.builders import (
    AFTER,
    BEFORE,
    CUTOFF,
    MAC,
    declared,
    environment,
    facts,
    index_file,
    locked,
    old_lock,
    page,
    target,
)

OLD = old_lock("app", "linux-x86_64", locked("a", "1.0", ["3.12"]), locked("my-lib", "1.0.post1", ["3.12"]))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("app on linux-x86_64, Python 3.12: a==1.1: glibc:a: it needs glibc 2.38", [("a", "1.1")]),
        ("a==1.1 and my_lib==1.0.post2: code-clash", [("a", "1.1"), ("my-lib", "1.0.post2")]),
        ("b>=2 (required by envs/app.toml, a[x,y]==1.1.0): matches no release", [("a", "1.1.0")]),
        ("uv: because only a==1.1.0+cpu, is available", [("a", "1.1.0+cpu")]),
        ("a==1.1.", [("a", "1.1")]),
        ("a==1.0: was yanked", []),
        ("new==3.0 is not locked, nor is not-a==1.1", []),
        ("a==1.x.y and a>=1.1", []),
    ],
)
def test_a_reason_blames_the_releases_that_are_new(reason: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.name, one.version) for one in blamed([reason, reason], OLD)] == expected


def test_a_release_is_kept_out_by_the_moment_before_its_first_file() -> None:
    files = [index_file(f"a-1.1-cp31{n}-none-any.whl", uploaded=AFTER - timedelta(hours=n)) for n in (1, 3, 2)]
    known = facts(page("a", *files), page("b", index_file("b-2-py3-none-any.whl", uploaded=None)))
    back = [HeldBack(name="a", version="1.1", because=""), HeldBack(name="b", version="2", because="")]
    cutoff = Cutoff(moment=AFTER, packages=(("c", BEFORE),))
    moment = AFTER - timedelta(hours=3, seconds=1)
    assert without(cutoff, back, known) == Cutoff(moment=AFTER, packages=(("a", moment), ("c", BEFORE)))
    earlier = Cutoff(moment=AFTER, packages=(("a", BEFORE),))
    assert without(earlier, back, known) == earlier


RELEASES = page(
    "a",
    index_file("a-1.0-py3-none-any.whl"),
    index_file("a-1.5-py3-none-any.whl", uploaded=BEFORE),
    index_file("a-1.5-py2-none-any.whl", uploaded=BEFORE - timedelta(days=3)),
    index_file("a-2.0rc1-py3-none-any.whl"),
    index_file("a-3.0-py3-none-any.whl", uploaded=AFTER),
    index_file("a-4.0-py3-none-any.whl", yanked="broken"),
    index_file("a-5.0-py3-none-win32.whl"),
    index_file("a-6.0.tar.gz"),
)


@pytest.mark.parametrize(
    ("requirement", "held"),
    [
        ("a==1.0", "1.5"),
        ("a<1.5", "1.5"),
        ("a!=1.5", "1.5"),
        ("a~=1.0.0", "1.5"),
        ("a<1.5.dev1", "2.0rc1"),
        ("a", ""),
        ("a>=1", ""),
        ("a<2", ""),
        ("a==1.0 ; sys_platform == 'win32'", ""),
        ("b==1.0", ""),
    ],
)
def test_a_requirement_holds_back_the_newest_release_that_could_be_taken(requirement: str, held: str) -> None:
    found = bounds([environment(requirement)], OLD, facts(RELEASES, page("b")))
    assert [bound.version for bound in found] == ([held] if held else [])


def test_where_it_stands_and_when_the_release_appeared_is_told() -> None:
    (bound,) = bounds([environment("x", "A[z]==1.0 ; sys_platform == 'linux'")], OLD, facts(RELEASES))
    assert bound.sentence == "envs/app.toml requires[1]: A[z]==1.0 holds back a 1.5 (released 2026-04-28)"
    assert replace(bound, released=None).sentence.endswith("holds back a 1.5")


def test_a_sdist_counts_where_it_is_allowed() -> None:
    (bound,) = bounds([environment("a==1.0", sdists=["a"])], OLD, facts(RELEASES))
    assert bound.version == "6.0"


def test_an_override_speaks_for_the_requirement_and_a_hold_for_itself() -> None:
    app = environment("a==1.0", overrides={"a": ">=1"})
    assert bounds([app], OLD, facts(RELEASES)) == []
    app = environment("a", overrides={"a": "<1.4"})
    hold = Hold(name=canonicalize_name("a"), specifier="<1.3", why="x", file="envs/base.toml")
    app = replace(app, overrides=(replace(app.overrides[0], file="envs/base.toml"),), holds=(hold,))
    assert [(b.file, b.key, b.text) for b in bounds([app, app], OLD, facts(RELEASES))] == [
        ("envs/base.toml", "hold.a", "a<1.3"),
        ("envs/base.toml", "overrides.a", "a<1.4"),
    ]


def test_a_base_is_named_once_with_the_newest_release_that_any_environment_could_take() -> None:
    pages = page("a", index_file("a-1.0-py3-none-any.whl"), index_file("a-2.0-py3-none-macosx_11_0_arm64.whl"))
    base = declared("a==1.0", "envs/base.toml", "requires[10]")
    near = declared("a<2", "envs/base.toml", "requires[9]")
    linux = replace(environment(name="app"), requires=(base, near))
    mac = replace(environment(name="mac", targets=[target(MAC)]), requires=(base, near))
    old = OLD | old_lock("mac", "macos-arm64", locked("a", "1.0", ["3.12"]))
    assert [(b.key, b.version) for b in bounds([linux, mac, linux], old, facts(pages))] == [
        ("requires[9]", "2.0"),
        ("requires[10]", "2.0"),
    ]


def test_what_is_not_older_than_the_cooldown_is_not_held_back() -> None:
    known = facts(RELEASES)
    assert bounds([environment("a<3")], OLD, known) == []
    late = known.as_of(Cutoff(moment=CUTOFF, packages=(("a", AFTER),)))
    assert [b.version for b in bounds([environment("a<3")], OLD, late)] == ["3.0"]
