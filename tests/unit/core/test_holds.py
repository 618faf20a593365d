"""``[hold]`` is edited as a person would: the rest of the file stays byte for byte."""

from __future__ import annotations

import tomllib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from lockgrid.core.holds import bases_of, drop_hold, hold_files, put_hold, read_holds, shorten
from lockgrid.model.tested import HoldEntry

FILE = "envs/app.toml"
DAY = date(2026, 11, 30)
PLAIN = '# about\nrequires = ["lib"]   # here\n\n[smoke]\nimports = ["lib"]\n'
LINE = 'lib = { version = "<2", why = "a case failed", since = 2026-11-30 }\n'


def entry(name: str = "lib", version: str = "<2", why: str = "a case failed", since: date | None = DAY) -> HoldEntry:
    return HoldEntry(file=FILE, name=canonicalize_name(name), version=version, why=why, since=since)


def test_a_first_hold_makes_the_table_at_the_end() -> None:
    assert put_hold(PLAIN, entry()) == f"{PLAIN}\n[hold]\n{LINE}"


def test_the_table_at_the_end_is_followed_by_nothing_else() -> None:
    assert put_hold('requires = ["lib"]', entry()) == f'requires = ["lib"]\n\n[hold]\n{LINE}'


def test_a_second_hold_stands_below_the_first_and_before_what_follows() -> None:
    text = f'requires = ["lib"]\n[hold] # kept back\n# the first\n{LINE}\n# about smoke\n[smoke]\nimports = []\n'
    other = 'other = { version = "<3", why = "y", since = 2026-11-30 }\n'
    assert put_hold(text, entry("other", "<3", "y")) == text.replace(LINE, LINE + other)


def test_the_line_endings_stay() -> None:
    text = PLAIN.replace("\n", "\r\n")
    assert put_hold(text, entry()) == put_hold(PLAIN, entry()).replace("\n", "\r\n")
    assert drop_hold(put_hold(text, entry()), canonicalize_name("lib"), FILE) == text


def test_another_bound_keeps_the_day_and_the_comment() -> None:
    text = put_hold(PLAIN, entry()).replace(LINE, LINE.rstrip() + "  # ask upstream\n")
    changed = put_hold(text, entry(version="<1.5", why="another", since=date(2027, 1, 1)))
    assert changed == text.replace("<2", "<1.5").replace("a case failed", "another")


def test_the_same_hold_again_changes_nothing() -> None:
    text = PLAIN + '[hold.Lib]\nversion = "<2"\nwhy = "a case failed"\nsince = 2026-11-30\n'
    assert put_hold(text, entry()) == text


@pytest.mark.parametrize(
    "holds",
    [
        '[hold]\n"Li.b" = { version = "<2", why = "x" }\n',
        '[hold.li_b]\nversion = "<2"\nwhy = "x"\n',
        'hold.li-b = { version = "<2", why = "x" }\n',
        'hold = { li-b = { version = "<2", why = "x" } }\n',
    ],
)
def test_every_spelling_is_found_changed_and_dropped(holds: str) -> None:
    text = f'summary = "s"\n{holds}' if holds.startswith("hold") else f"{PLAIN}\n{holds}"
    changed = put_hold(text, entry("li-b", "<3"))
    assert [(one.name, one.version, one.why) for one in read_holds({FILE: changed})] == [
        ("li-b", "<3", "a case failed")
    ]
    more = put_hold(text, entry("other"))
    assert {one.name for one in read_holds({FILE: more})} == {"li-b", "other"}
    rest = tomllib.loads(drop_hold(text, canonicalize_name("li-b"), FILE))
    assert not rest.pop("hold", {})
    assert rest == {key: value for key, value in tomllib.loads(text).items() if key != "hold"}


def test_a_reason_may_hold_anything() -> None:
    why = "assert \"a\\b\" == 'c' # {no} [table]"
    text = put_hold(PLAIN, entry(why=why))
    assert read_holds({FILE: text})[0].why == why
    assert drop_hold(text, canonicalize_name("lib"), FILE) == PLAIN


def test_dropping_the_last_hold_keeps_a_comment_beside_it() -> None:
    text = f"{PLAIN}\n[hold]\n# written by refresh\n{LINE}"
    assert drop_hold(text, canonicalize_name("lib"), FILE) == f"{PLAIN}\n[hold]\n# written by refresh\n"


def test_dropping_what_is_not_held_changes_nothing() -> None:
    assert drop_hold(PLAIN, canonicalize_name("lib"), FILE) is PLAIN


bodies = st.lists(
    st.sampled_from(['summary = "s"', "# note", "", "apart = true  # why", 'requires = [\n  "a",\n]']), unique=True
).map(lambda lines: "".join(f"{line}\n" for line in lines))
tables = st.sampled_from(["", '\n[smoke]\nimports = ["a"]\n', "\n# last\n[accept]\n", '\n[sdists]\na = "b"\n# end\n'])
names = st.from_regex(r"[a-z0-9]([a-z0-9.]{0,4}[a-z0-9])?", fullmatch=True)


@given(bodies, tables, st.lists(names.map(canonicalize_name), min_size=1, max_size=3, unique=True), st.booleans())
def test_what_is_put_and_dropped_again_leaves_no_byte(
    body: str, table: str, packages: list[str], windows: bool
) -> None:
    text = body.rstrip("\n") + "\n" + table if body.strip() else table or "# nothing\n"
    text = text.replace("\n", "\r\n") if windows else text
    held = text
    for package in packages:
        held = put_hold(held, entry(package))
    assert held.startswith(text)
    assert [one.name for one in read_holds({FILE: held})] == packages
    for package in packages:
        held = drop_hold(held, canonicalize_name(package), FILE)
    assert held == text


ENVS = {
    "envs/targets.toml": "pythons = []",
    "envs/base.toml": "abstract = true",
    "envs/upper.toml": 'abstract = true\nextends = ["base"]',
    "envs/a.toml": 'extends = ["upper"]',
    "envs/b.toml": 'extends = ["upper"]',
    "envs/c.toml": 'extends = ["base"]',
    "envs/d.toml": "",
}


def test_lineages() -> None:
    assert bases_of(ENVS) == {
        "envs/a.toml": ("envs/a.toml", "envs/upper.toml", "envs/base.toml"),
        "envs/b.toml": ("envs/b.toml", "envs/upper.toml", "envs/base.toml"),
        "envs/c.toml": ("envs/c.toml", "envs/base.toml"),
        "envs/d.toml": ("envs/d.toml",),
    }


@pytest.mark.parametrize(
    ("wanted", "pinning", "chosen"),
    [
        ("a", "a", "a"),
        ("a", "abcd", "a"),
        ("ab", "ab", "upper"),  # base would do as well; c does not pin it
        ("ab", "abc", "upper"),
        ("abc", "abc", "base"),
        ("abcd", "abcd", "base d"),
        ("ac", "abc", "a c"),  # base would reach b
    ],
)
def test_the_fewest_files_that_reach_those_and_no_other(wanted: str, pinning: str, chosen: str) -> None:
    found = hold_files(canonicalize_name("lib"), set(wanted), set(pinning), ENVS)
    assert {f"envs/{name}.toml" for name in chosen.split()} == set(found)


def test_a_hold_stays_in_its_file() -> None:
    held = {**ENVS, "envs/base.toml": 'abstract = true\n[hold]\nlib = { version = "<2", why = "x" }\n'}
    assert hold_files(canonicalize_name("lib"), {"a", "b"}, {"a", "b"}, held) == ("envs/base.toml",)
    held = {**ENVS, "envs/a.toml": 'extends = ["upper"]\n[hold]\nlib = { version = "<2", why = "x" }\n'}
    assert hold_files(canonicalize_name("lib"), {"a", "b"}, {"a", "b"}, held) == ("envs/a.toml", "envs/b.toml")


def test_a_reason_is_one_line() -> None:
    assert shorten("a\n  b\x1b[31m c") == "a b [31m c"
    assert shorten("x" * 300) == "x" * 197 + "..."
