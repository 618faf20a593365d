"""The lock beside what pip-compile made of it: every difference is told, and only overrides explain one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions import piptools
from sessions.crosscheck import compare, read_pinned

LOCK = """\
# environment: app
--only-binary :all:

a==1.0 ; python_version < "3.12" \\
    --hash=sha256:{a}
    # via envs/app.toml
a==2.0 ; python_version >= "3.12" \\
    --hash=sha256:{b} \\
    --hash=sha256:{a}
The_B.c==0.5+local \\
    --hash=sha256:{c}
    # via
    #   a[x]==2.0
    #   d==1
"""
A, B, C = ("a" * 64, "b" * 64, "c" * 64)
TEXT = LOCK.format(a=A, b=B, c=C)
COMPILED = """\
a==2.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b} \\
    --hash=sha256:{c}
    # via
    #   -c /tmp/lock.txt
    #   -r /tmp/asked.in
the-b-c==0.5+local \\
    --hash=sha256:{c}
    # via a
"""


def compiled(old: str = "", new: str = "", more: str = "") -> str:
    text = COMPILED.format(a=A, b=B, c=C)
    assert old in text
    return text.replace(old, new) + more


def differences(text: str, *overridden: str) -> list[str]:
    found = compare(read_pinned(TEXT, "3.12"), read_pinned(text, "3.12"), set(overridden))
    return [str(difference) for difference in found]


def test_the_pins_of_one_python_are_read_with_hashes_and_askers() -> None:
    pins = read_pinned(TEXT, "3.12")
    assert {name: (pin.version, pin.hashes, pin.via) for name, pin in pins.items()} == {
        "a": ("2.0", {A, B}, set()),
        "the-b-c": ("0.5+local", {C}, {"a", "d"}),
    }
    assert read_pinned(TEXT, "3.11")["a"].version == "1.0"


def test_more_hashes_are_no_difference() -> None:
    assert differences(compiled()) == []


def test_every_kind_of_difference_is_told() -> None:
    assert differences(compiled("a==2.0", "a==2.1")) == ["a: the lock has 2.0, pip 2.1"]
    assert differences(compiled(more="e==1\n")) == ["e: the lock has no pin, pip 1"]
    assert differences(compiled("the-b-c==0.5+local", "the-b-c==0.5")) == ["the-b-c: the lock has 0.5+local, pip 0.5"]
    assert differences(compiled(B, C)) == [f"a: pip does not know the file with sha256 {B} of 2.0"]
    assert differences("") == ["a: the lock has 2.0, pip none", "the-b-c: the lock has 0.5+local, pip none"]


def test_an_override_explains_its_package_and_what_that_alone_asks_for() -> None:
    text = compiled("a==2.0", "a==2.1", more="e==1\n    # via a\nf==1\n    # via\n    #   a\n    #   the-b-c\n")
    found = compare(read_pinned(TEXT, "3.12"), read_pinned(text, "3.12"), {"A"})
    assert [(one.package, bool(one.why)) for one in found] == [("a", True), ("e", True), ("f", False)]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "https://a.example/simple"),
        (
            {"UV_INDEX_CORP_A_USERNAME": "me", "UV_INDEX_CORP_A_PASSWORD": "p@:/"},
            "https://me:p%40%3A%2F@a.example/simple",
        ),
        ({"UV_INDEX_CORP_A_PASSWORD": "token"}, "https://:token@a.example/simple"),
        ({"UV_INDEX_OTHER_USERNAME": "me"}, "https://a.example/simple"),
    ],
)
@pytest.mark.parametrize("where", ["UV_INDEX", "UV_DEFAULT_INDEX", "uv.toml"])
def test_pip_gets_the_login_that_uv_has_from_variables(
    tmp_path: Path, where: str, given: dict[str, str], url: str
) -> None:
    """uv says its indexes without it, and an index behind a login would not answer pip."""
    text = '[[index]]\nname = "corp-a"\nurl = "https://a.example/simple/"\n' if where == "uv.toml" else ""
    (tmp_path / "uv.toml").write_text(text, encoding="utf-8")
    env = {"UV_CONFIG_FILE": str(tmp_path / "uv.toml"), **given}
    if where != "uv.toml":
        env[where] = "https://b.example corp-a=https://a.example/simple/"
    named = piptools._named(env)
    assert piptools._with_login("https://a.example/simple", named["https://a.example/simple"], env) == url
    assert piptools._with_login("https://b.example", named.get("https://b.example", ""), env) == "https://b.example"
