"""What an environment is once its bases are merged in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lockgrid.model.spec import Acceptance, Environment, Hold, Override, Smoke
from lockgrid.model.target import Platform
from unit.builders import LINUX, MAC, TARGETS, named, parse


def merged(**environments: str) -> Environment:
    """The environment ``app``."""
    return named(parse(**environments), "app")


def requires(environment: Environment) -> list[tuple[str, str, str]]:
    return [(d.text, d.file.removeprefix("envs/"), d.key) for d in environment.requires]


def test_what_bases_require_comes_first_in_the_order_of_extends() -> None:
    environment = merged(
        b='abstract = true\nrequires = ["b==1"]',
        a='abstract = true\nrequires = ["a==1", "a2==1"]',
        app='extends = ["b", "a"]\nrequires = ["app==1"]',
    )
    assert requires(environment) == [
        ("b==1", "b.toml", "requires[0]"),
        ("a==1", "a.toml", "requires[0]"),
        ("a2==1", "a.toml", "requires[1]"),
        ("app==1", "app.toml", "requires[0]"),
    ]


def test_a_base_reached_twice_counts_once() -> None:
    environment = merged(
        root='abstract = true\nrequires = ["root==1"]',
        a='abstract = true\nextends = ["root"]\nrequires = ["a==1"]',
        b='abstract = true\nextends = ["root"]\nrequires = ["b==1"]',
        app='extends = ["a", "b"]\nrequires = ["app==1"]',
    )
    assert [text for text, _, _ in requires(environment)] == ["root==1", "a==1", "b==1", "app==1"]


def test_what_only_a_base_requires_is_enough() -> None:
    environment = merged(base='abstract = true\nrequires = ["a==1"]', app='extends = ["base"]')
    assert [text for text, _, _ in requires(environment)] == ["a==1"]


def test_the_nearest_override_and_hold_of_a_package_win_however_it_is_spelled() -> None:
    base = """
    abstract = true
    requires = ["a==1"]
    [overrides]
    Foo_Bar = { version = "==1", why = "base" }
    other = { version = "==9", why = "base" }
    [hold]
    held = { version = "<1", why = "base" }
    """
    app = """
    extends = ["base"]
    [overrides]
    foo-bar = { version = "==2", why = "app" }
    [hold]
    Held = { version = "<2", why = "app" }
    """
    environment = merged(base=base, app=app)
    assert environment.overrides == (
        Override(name="foo-bar", specifier="==2", file="envs/app.toml"),  # type: ignore[arg-type]
        Override(name="other", specifier="==9", file="envs/base.toml"),  # type: ignore[arg-type]
    )
    held = Hold(name="held", specifier="<2", why="app", file="envs/app.toml")  # type: ignore[arg-type]
    assert environment.holds == (held,)
    assert environment.override("foo-bar") == environment.overrides[0]
    assert environment.override("held") is None


def test_the_nearest_acceptance_of_a_finding_wins_and_says_where_it_stands() -> None:
    environment = merged(
        base='abstract = true\nrequires = ["a==1"]\n[accept]\n"glibc:b" = "base"\n"any:a" = "base"',
        app='extends = ["base"]\n[accept]\n"glibc:b" = "app"',
    )
    assert environment.accepts == (
        Acceptance(name="any:a", why="base", file="envs/base.toml"),
        Acceptance(name="glibc:b", why="app", file="envs/app.toml"),
    )


def test_sdists_of_bases_add_up_normalised_and_sorted() -> None:
    environment = merged(
        base='abstract = true\nrequires = ["a==1"]\n[sdists]\nZ_z = "w"',
        app='extends = ["base"]\n[sdists]\na = "w"\nz-z = "again"',
    )
    assert environment.sdists == ("a", "z-z")


@pytest.mark.parametrize(
    ("base", "app", "expected"),
    [
        ("", "", ["3.10", "3.11", "3.12"]),
        ('pythons = ["3.12", "3.10"]', "", ["3.10", "3.12"]),
        ('pythons = ["3.10"]', 'pythons = ["3.11"]', ["3.11"]),
        ("", 'pythons = ["3.12"]', ["3.12"]),
    ],
)
def test_pythons_of_the_environment_replace_those_of_the_base(base: str, app: str, expected: list[str]) -> None:
    environment = merged(
        base=f'abstract = true\nrequires = ["a==1"]\n{base}',
        app=f'extends = ["base"]\nplatforms = ["macos-arm64"]\n{app}',
    )
    assert [t.python for t in environment.targets] == expected
    assert {t.platform for t in environment.targets} == {MAC}


@pytest.mark.parametrize(
    ("base", "app", "expected"),
    [
        ("", "", {LINUX, MAC}),
        ('platforms = ["linux-x86_64"]', "", {LINUX}),
        ('platforms = ["linux-x86_64"]', 'platforms = ["macos-arm64"]', {MAC}),
    ],
)
def test_platforms_of_the_environment_replace_those_of_the_base(base: str, app: str, expected: set[Platform]) -> None:
    environment = merged(base=f'abstract = true\nrequires = ["a==1"]\n{base}', app=f'extends = ["base"]\n{app}')
    assert {t.platform for t in environment.targets} == expected
    assert all(t.platform.floor for t in environment.targets)


@pytest.mark.parametrize(
    ("base", "app", "expected"),
    [("", "", False), ("apart = true", "", True), ("apart = true", "apart = false", False), ("", "apart = true", True)],
)
def test_apart_of_the_environment_replaces_that_of_the_base(base: str, app: str, expected: bool) -> None:
    environment = merged(base=f'abstract = true\nrequires = ["a==1"]\n{base}', app=f'extends = ["base"]\n{app}')
    assert environment.apart is expected


def test_smoke_tests_add_up_bases_first_each_once() -> None:
    environment = merged(
        base='abstract = true\nrequires = ["a==1"]\n[smoke]\nimports = ["a", "b"]\ncommands = [["x"]]',
        app='extends = ["base"]\n[smoke]\nimports = ["b", "c"]\ncommands = [["x"], ["y", "-v"]]',
    )
    assert environment.smoke == Smoke(imports=("a", "b", "c"), commands=(("x",), ("y", "-v")))


def test_summary_and_name_are_the_environments_own() -> None:
    spec = parse(
        base='abstract = true\nsummary = "base"\nrequires = ["a==1"]',
        ethos_u='extends = ["base"]\nsummary = "own"',
        app='extends = ["base"]',
    )
    assert [e.name for e in spec.environments] == ["app", "ethos_u"]
    own = named(spec, "ethos_u")
    assert (own.summary, own.extra, own.file) == ("own", "ethos-u", "envs/ethos_u.toml")
    assert named(spec, "app").summary == ""


def test_a_base_is_no_environment() -> None:
    spec = parse(base='abstract = true\nrequires = ["a==1"]', app='extends = ["base"]')
    assert [environment.name for environment in spec.environments] == ["app"]


def test_pythons_and_platforms_of_the_grid_are_sorted_whatever_the_file_says() -> None:
    targets = (
        'cooldown = "2 weeks"\npythons = ["3.9", "3.11", "3.10"]\n[platforms.windows-x86_64]\n'
        + TARGETS.partition("\n")[2]
    )
    spec = parse(targets, app='requires = ["a==1"]')
    assert spec.pythons == ("3.9", "3.10", "3.11")
    assert [p.name for p in spec.platforms] == ["linux-x86_64", "macos-arm64", "windows-x86_64"]
    assert spec.cooldown == timedelta(days=14)
    assert [t.label for t in named(spec, "app").targets[:2]] == [
        "linux-x86_64, Python 3.9",
        "linux-x86_64, Python 3.10",
    ]


def test_requirements_keep_their_markers_and_extras() -> None:
    environment = merged(app="requires = [\"a[x,y]>=1 ; sys_platform == 'linux'\"]")
    assert environment.requires[0].text == 'a[x,y]>=1; sys_platform == "linux"'
