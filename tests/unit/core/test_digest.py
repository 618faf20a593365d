"""Digests of inputs by meaning, of outputs by bytes."""

from __future__ import annotations

from hashlib import sha256

import pytest

from lockgrid.core.digest import digest_environment, digest_inputs, digest_text
from unit.builders import TARGETS, named, parse

APP = """
summary = "one"
requires = ["a==1", "b>=2,<3"]
pythons = ["3.11", "3.12"]
[sdists]
y = "why"
z = "why"
[overrides]
c = { version = "==4", why = "because" }
[hold]
d = { version = "<5", why = "because" }
[accept]
"glibc:e" = "because"
[smoke]
imports = ["a"]
"""


# Of an environment "app" that requires a==1 on the targets of TARGETS.
GOLDEN = "sha256:006b40dd38cde84b2843d555d1794237fad9a821c7a35d9d2ca6194b31a75c61"


def digest(app: str = APP, targets: str = TARGETS) -> str:
    spec = parse(targets, app=app, other='requires = ["x"]')
    return f"{digest_inputs(spec)} {digest_environment(named(spec, 'app'))}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("requires", "# a comment\nrequires"),
        ('"one"', '"another summary"'),
        ('["a==1", "b>=2,<3"]', '["b>=2,<3", "a==1"]'),
        ('["a==1", "b>=2,<3"]', '["a == 1", "b<3, >=2", "a==1"]'),
        ('["3.11", "3.12"]', '["3.12", "3.11"]'),
        ('"because"', '"of another reason"'),
        ('y = "why"\nz = "why"', 'z = "no wheel"\ny = "none"'),
        ("c = {", "C = {"),
        ('imports = ["a"]', 'imports = ["b"]\ncommands = [["x"]]'),
        ("[accept]", '[accept]\n"advisory:GHSA-1" = "harmless"'),
    ],
)
def test_what_decides_no_lock_does_not_change_the_digest(old: str, new: str) -> None:
    assert old in APP
    assert digest(APP.replace(old, new)) == digest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a==1", "a==1.1"),
        ("glibc:e", "glibc:f"),
        ('"a==1", ', ""),
        ("a==1", "a[x]==1"),
        ("a==1", "a==1; sys_platform == 'linux'"),
        ('["3.11", "3.12"]', '["3.12"]'),
        ("pythons", 'platforms = ["linux-x86_64"]\npythons'),
        ("summary", "apart = true\nsummary"),
        ('y = "why"\n', ""),
        ("==4", "==4.1"),
        ("c = {", "e = {"),
        ("<5", "<6"),
    ],
)
def test_what_decides_a_lock_changes_the_digest(old: str, new: str) -> None:
    assert old in APP
    assert digest(APP.replace(old, new)) != digest()


@pytest.mark.parametrize(("old", "new"), [("a==1", "A==1"), ('"==4"', '"== 4"')])
def test_another_spelling_does_not_change_the_digest(old: str, new: str) -> None:
    assert digest(APP.replace(old, new)) == digest()


def test_a_higher_floor_changes_the_digest_and_the_cooldown_does_not() -> None:
    assert digest(targets=TARGETS.replace("2.28", "2.34")) != digest()
    assert digest(targets='cooldown = "9 days"\n' + TARGETS) == digest()


def test_a_base_counts_like_the_environment_itself() -> None:
    base = 'abstract = true\nrequires = ["a==1"]\n'
    split = parse(base=base, app='extends = ["base"]\nrequires = ["b==2"]')
    whole = parse(app='requires = ["b==2", "a==1"]')
    changed = parse(base=base.replace("a==1", "a==2"), app='extends = ["base"]\nrequires = ["b==2"]')
    assert digest_inputs(split) == digest_inputs(whole)
    assert digest_inputs(split) != digest_inputs(changed)


def test_one_environment_does_not_change_the_digest_of_another() -> None:
    one = parse(app='requires = ["a"]', other='requires = ["b"]')
    two = parse(app='requires = ["a"]', other='requires = ["c"]')
    assert digest_environment(named(one, "app")) == digest_environment(named(two, "app"))
    assert digest_inputs(one) != digest_inputs(two)


def test_a_name_is_part_of_the_meaning() -> None:
    one, two = (parse(**{name: 'requires = ["a"]'}) for name in ("a", "b"))
    assert digest_inputs(one) != digest_inputs(two)


def test_a_text_is_digested_as_utf_8_line_ends_included() -> None:
    assert digest_text("ä\n") == "sha256:" + sha256("ä\n".encode()).hexdigest()
    assert digest_text("a\r\n") != digest_text("a\n")


def test_a_digest_stays_the_same_from_release_to_release() -> None:
    spec = parse(app='requires = ["a==1"]')
    assert digest_inputs(spec) == GOLDEN, "a new meaning needs a new _MEANING, and every lock ages with it"


@pytest.mark.parametrize(
    ("sources", "same"),
    [
        ('torch = "cpu"', True),
        ('"torch@linux-x86_64" = "cpu"\n"Torch@macos-arm64" = "cpu"', True),
        ('torch = "gpu"', False),
        ('"torch@linux-x86_64" = "cpu"', False),
        ("", False),
    ],
)
def test_sources_count_by_what_they_say_of_each_platform(sources: str, same: bool) -> None:
    before = digest(f'{APP}[sources]\ntorch = "cpu"\n')
    assert (digest(f"{APP}[sources]\n{sources}\n") == before) == same


def test_where_an_index_is_does_not_count_but_whether_it_has_dates() -> None:
    app = f'{APP}[sources]\ntorch = "cpu"\n'
    before = digest(app)
    assert digest(app, f'{TARGETS}[indexes]\ncpu = "https://index.example"\n') == before
    assert digest(app, f"{TARGETS}[indexes]\ncpu = {{ dateless = true }}\n") != before
