"""The first platforms and Pythons of a project."""

from __future__ import annotations

import pytest

from lockgrid.core.init.targets import CURRENT, Choice, choose
from lockgrid.core.init.values import Collected, Place


def chosen(
    requires_python: str = "", *classifiers: str, platforms: tuple[str, ...] = (), pythons: tuple[str, ...] = ()
) -> tuple[Choice, Collected]:
    out = Collected()
    place = Place("pyproject.toml")
    return choose(requires_python, classifiers, place, platforms=platforms, pythons=pythons, out=out), out


def python(*minors: str) -> tuple[str, ...]:
    return tuple(f"Programming Language :: Python :: {minor}" for minor in minors)


@pytest.mark.parametrize(
    ("requires_python", "classifiers", "expected", "notes"),
    [
        ("", (), CURRENT, 0),
        (">=3.8", (), CURRENT, 0),
        (">=3.12,<3.14", (), ("3.12", "3.13"), 0),
        ("<=3.12", (), ("3.10", "3.11", "3.12"), 0),
        (">=3.11.4", (), ("3.11", "3.12", "3.13", "3.14"), 1),
        ("!=3.11.*", (), ("3.10", "3.12", "3.13", "3.14"), 0),
        (">=3.10", python("3", "3.10", "3.11", "3 :: Only"), ("3.10", "3.11"), 1),
        (">=3.10", python("3.8", "3.9"), CURRENT, 0),
        ("", python("3.12"), ("3.12",), 1),
    ],
)
def test_pythons_are_the_current_ones_that_the_project_admits(
    requires_python: str, classifiers: tuple[str, ...], expected: tuple[str, ...], notes: int
) -> None:
    choice, out = chosen(requires_python, *classifiers)
    assert (choice.pythons, len(out.notes), out.problems) == (expected, notes, [])


@pytest.mark.parametrize(
    ("systems", "expected"),
    [
        ((), ["linux-x86_64", "linux-aarch64", "macos-arm64", "windows-x86_64"]),
        (("OS Independent",), ["linux-x86_64", "linux-aarch64", "macos-arm64", "windows-x86_64"]),
        (("POSIX :: Linux",), ["linux-x86_64", "linux-aarch64"]),
        (("POSIX",), ["linux-x86_64", "linux-aarch64", "macos-arm64"]),
        (("MacOS :: MacOS X", "Microsoft :: Windows"), ["macos-arm64", "windows-x86_64"]),
        (("Android",), ["linux-x86_64", "linux-aarch64", "macos-arm64", "windows-x86_64"]),
    ],
)
def test_platforms_are_the_usual_ones_that_the_classifiers_name(systems: tuple[str, ...], expected: list[str]) -> None:
    choice, _ = chosen("", *(f"Operating System :: {system}" for system in systems))
    assert [platform.name for platform in choice.platforms] == expected


def test_platforms_and_pythons_may_be_asked_for() -> None:
    words = ("linux-x86_64=2.31", "linux-aarch64", "windows-arm64", "macos-x86_64=13.0")
    choice, out = chosen(">=3.13", platforms=words, pythons=("3.12", "3.9", "3.12"))
    assert [platform.label for platform in choice.platforms] == [
        "linux-x86_64 (glibc 2.31)",
        "linux-aarch64 (glibc 2.28)",
        "windows-arm64",
        "macos-x86_64 (macos 13.0)",
    ]
    assert (choice.pythons, out.problems) == (("3.9", "3.12"), [])
    assert "--platform" in choice.why_platforms
    assert "--python" in choice.why_pythons


@pytest.mark.parametrize(
    ("option", "word", "said"),
    [
        ("platforms", "linux-x86-64", "'linux-x86-64' is no platform (did you mean 'linux-x86_64'?)"),
        ("platforms", "linux-x86_64=new", "'new' is no version of glibc (write --platform linux-x86_64=2.28)"),
        ("platforms", "windows-x86_64=10", "windows-x86_64 has no floor (write --platform windows-x86_64)"),
        ("pythons", "3", "'3' is no Python minor version (write --python 3.12)"),
        ("pythons", "3.12.1", "'3.12.1' is no Python minor version"),
    ],
)
def test_what_is_asked_for_wrongly_is_a_problem(option: str, word: str, said: str) -> None:
    _, out = chosen(platforms=(word,) if option == "platforms" else (), pythons=(word,) if option == "pythons" else ())
    (problem,) = out.problems
    assert said in str(problem)
