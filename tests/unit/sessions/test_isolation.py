"""What a venv must be: exactly the pins, nothing from outside, every requirement met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessions.isolation import differences, unmet

VENV = Path("/project/.nox/app-3.11")
BASE = "/opt/python3.11"
SITE = f"{VENV}/lib/python3.11/site-packages"
STANDARD = [f"{BASE}/lib/python311.zip", f"{BASE}/lib/python3.11", f"{BASE}/lib/python3.11/lib-dynload"]


def seen(*path: str, **versions: str) -> dict[str, Any]:
    """What ``inside.py see`` tells of a venv that holds these distributions."""
    return {
        "path": [*STANDARD, SITE, *path],
        "base": [BASE, BASE],
        "user_site": False,
        "distributions": [{"name": n, "version": v, "folder": SITE, "requires": []} for n, v in versions.items()],
    }


def test_a_venv_that_holds_the_pins_and_nothing_else_has_no_differences() -> None:
    assert differences({"a": "1.0", "typing-extensions": "4"}, seen(a="1.0", Typing_Extensions="4.0"), VENV) == []


@pytest.mark.parametrize(
    ("installed", "clause"),
    [
        ({"a": "1.0"}, "b==2.0 is pinned and not installed"),
        ({"a": "1.0", "b": "2.0", "c": "3"}, "c==3 is installed and not pinned"),
        ({"a": "1.0", "b": "2.1"}, "b==2.0 is pinned, and 2.1 is installed"),
        ({"a": "1.0", "b": "2.0+cpu"}, "b==2.0 is pinned, and 2.0+cpu is installed"),
        ({"a": "1.0", "b": "no version"}, "b==2.0 is pinned, and no version is installed"),
    ],
)
def test_each_difference_is_a_clause(installed: dict[str, str], clause: str) -> None:
    assert differences({"a": "1.0", "b": "2.0"}, seen(**installed), VENV) == [clause]


def test_two_installed_versions_of_one_name_are_a_difference_whichever_is_pinned() -> None:
    for versions in (("1.0", "2.0"), ("2.0", "1.0")):
        twice = seen()
        twice["distributions"] = [{"name": "a", "version": v, "folder": SITE, "requires": []} for v in versions]
        assert differences({"a": "1.0"}, twice, VENV) == ["a==1.0 is pinned, and 2.0 is installed"]


def test_the_user_site_is_a_leak() -> None:
    assert differences({}, {**seen(), "user_site": True}, VENV) == ["the user's own site-packages are visible"]


@pytest.mark.parametrize(
    "place",
    [
        "/home/me/lib",  # PYTHONPATH
        "",  # the working folder
        "/project/.nox/app-3.11-other/lib/python3.11/site-packages",  # begins like the venv's name
        f"{BASE}/lib/python3.11/site-packages",  # the machine's own packages are under the base as well
        f"{BASE}/lib/python3/dist-packages",
        f"{BASE}/lib/python3.11/site-packages/win32",  # as a .pth file there adds it
    ],
)
def test_a_place_outside_the_venv_is_a_leak(place: str) -> None:
    (clause,) = differences({}, seen(place), VENV)
    assert clause == f"{place} is outside the venv, and modules are looked for there"


def test_folders_that_a_package_of_the_venv_adds_are_none() -> None:
    assert differences({}, seen(f"{SITE}/win32", f"{SITE}/setuptools/_vendor"), VENV) == []


def installed(**packages: tuple[str, list[str]]) -> list[dict[str, Any]]:
    return [{"name": name, "version": v, "folder": SITE, "requires": r} for name, (v, r) in packages.items()]


def test_requirements_are_followed_as_far_as_they_go() -> None:
    found = installed(a=("1.0", ["b>=1"]), b=("1.5", ["c"]), c=("1", ["a"]))  # a circle ends
    assert unmet([("a==1.0", "envs/app.toml")], set(), found, "3.11.4") == []
    found = installed(a=("1.0", ["b>=2"]), b=("1.5", ["c"]))
    assert unmet([("a==1.0", "envs/app.toml")], set(), found, "3.11.4") == [
        "a==1.0 requires b>=2, and the lock pins b==1.5",
        "b==1.5 requires c, and no pin provides c",
    ]


def test_what_nothing_asks_for_is_not_looked_at() -> None:
    found = installed(a=("1.0", []), stray=("1.0", ["nowhere"]))
    assert unmet([("a", "envs/app.toml")], set(), found, "3.11.4") == []


def test_extras_bring_their_requirements_and_no_others_do() -> None:
    found = installed(a=("1.0", ["b ; extra == 'fast'", "c ; extra == 'slow'"]))
    assert unmet([("a", "envs/app.toml")], set(), found, "3.11.4") == []
    assert unmet([("a[fast]", "envs/app.toml")], set(), found, "3.11.4") == ["a==1.0 requires b, and no pin provides b"]


def test_an_extra_that_another_package_asks_for_counts_too() -> None:
    found = installed(a=("1.0", ["b[fast]>=1"]), b=("2.0", ["c ; extra == 'fast'"]))
    asked = [("b", "envs/app.toml"), ("a", "envs/app.toml")]  # first without the extra
    assert unmet(asked, set(), found, "3.11.4") == ["b==2.0 requires c, and no pin provides c"]


@pytest.mark.parametrize(
    ("marker", "python", "applies"),
    [
        ("python_version < '3.11'", "3.10.13", True),
        ("python_version < '3.11'", "3.11.0", False),
        ("python_full_version >= '3.11.4'", "3.11.3", False),
        ("python_full_version >= '3.11.4'", "3.11.4", True),
        ("python_version >= '3.9'", "3.10.1", True),  # compared as versions, not as text
        ("sys_platform == 'amiga'", "3.11.4", False),
    ],
)
def test_markers_are_answered_by_the_python_of_the_venv(marker: str, python: str, applies: bool) -> None:
    problems = unmet([(f"a ; {marker}", "envs/app.toml")], set(), [], python)
    assert problems == (["envs/app.toml requires a, and no pin provides a"] if applies else [])


def test_an_overridden_package_may_have_any_version_but_has_to_be_there() -> None:
    asked = [("Some_Pack==1.0", "envs/app.toml")]
    found = installed(**{"some-pack": ("2.0", ["b"])})
    assert unmet(asked, set(), [*found, *installed(b=("1", []))], "3.11.4") == [
        "envs/app.toml requires Some_Pack==1.0, and the lock pins some-pack==2.0"
    ]
    assert unmet(asked, {"some.pack"}, found, "3.11.4") == ["some-pack==2.0 requires b, and no pin provides b"]
    assert unmet(asked, {"some.pack"}, [], "3.11.4") == [
        "envs/app.toml requires Some_Pack==1.0, and no pin provides Some_Pack"
    ]


def test_a_pre_release_that_the_lock_pins_meets_a_plain_requirement() -> None:
    assert unmet([("a>=1", "envs/app.toml")], set(), installed(a=("2.0rc1", [])), "3.11.4") == []


def test_one_problem_is_told_once_though_two_ask() -> None:
    found = installed(a=("1.0", ["c"]), b=("1.0", ["a", "c"]))
    asked = [("a", "envs/app.toml"), ("b", "envs/app.toml"), ("a", "envs/base.toml")]
    assert unmet(asked, set(), found, "3.11.4") == [
        "a==1.0 requires c, and no pin provides c",
        "b==1.0 requires c, and no pin provides c",
    ]
