"""A diff as text, as Markdown and as JSON."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lockgrid.core.diff import diff
from lockgrid.core.render import diff_json, diff_markdown, diff_text
from lockgrid.core.render.diff_words import download, fold, how, plural, where
from lockgrid.core.render.markdown import code, prose, table_cell
from lockgrid.model.advisory import Vulnerability
from lockgrid.model.diff import DiffFacts, GridDiff, Move, SizeChange
from lockgrid.model.index import Licence
from unit.builders import digest, golden
from unit.diffs import EVIL, OLD, the_diff
from unit.snapshots import ARM, LINUX, MAC, cells, snapshot

SAME = diff(OLD, OLD, DiffFacts())
WINDOWS = "windows-x86_64"


def test_text() -> None:
    golden("diff.txt", diff_text.render(the_diff()))


def test_markdown() -> None:
    golden("diff.md", diff_markdown.render(the_diff()))


def test_json() -> None:
    golden("diff.json", diff_json.render(the_diff()))


def test_the_same_bytes_each_time() -> None:
    for render in (diff_text.render, diff_markdown.render, diff_json.render):
        assert render(the_diff()) == render(the_diff())


def test_no_difference_in_each_form() -> None:
    assert diff_text.render(SAME).endswith("no difference\n")
    assert diff_markdown.render(SAME).startswith("### Locks: no difference\n")
    assert json.loads(diff_json.render(SAME))["empty"] is True


# -- text --------------------------------------------------------------------------------------------------


def test_text_fits_a_terminal_and_shows_no_escape_of_strangers() -> None:
    lines = diff_text.render(the_diff()).splitlines()
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines)


def test_colours_add_nothing_but_colours() -> None:
    painted = diff_text.render(the_diff(), colour=True)
    assert "\x1b[" in painted
    plain = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    assert plain.split() == diff_text.render(the_diff()).split()


def test_what_was_not_compared_is_said_in_each_form() -> None:
    result = the_diff(DiffFacts(licences_why="--no-licences", advisories_why="it is @offline"))
    assert "licences: not compared (--no-licences)" in diff_text.render(result)
    assert "advisories: not compared (it is @offline)" in diff_text.render(result)
    assert "licences: not compared (--no-licences)" in diff_markdown.render(result)
    said = json.loads(diff_json.render(result))
    assert (said["licences"]["compared"], said["licences"]["why-not"]) == (False, "--no-licences")
    assert (said["advisories"]["compared"], said["advisories"]["why-not"]) == (False, "it is @offline")


def test_what_was_compared_and_is_as_it_was_is_said_too() -> None:
    sides = [snapshot(cells("a", {"x": version})) for version in ("1", "2")]
    licences = {digest(f"x-{version}"): Licence(expression="MIT") for version in ("1", "2")}
    audited: dict[tuple[str, str], tuple[Vulnerability, ...]] = {("x", "1"): (), ("x", "2"): ()}
    facts = DiffFacts(licences=licences, licences_why="", advisories=audited, advisories_why="", service="osv")
    lines = diff_text.render(diff(sides[0], sides[1], facts)).splitlines()
    assert lines[-2:] == ["licences: none changed", "advisories: none fixed and none new among what moved, by osv"]


def test_nothing_is_said_of_comparing_where_nothing_moved() -> None:
    assert "not compared" not in diff_text.render(SAME)


# -- Markdown ----------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Which elements there are, whether all are closed, and the text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.prose = self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert all(name == "style" and value and value.startswith("text-align") for name, value in attrs)
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "code" not in self.open:
            self.prose += data


def rendered(text: str) -> Page:
    return Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


MEANT = {"b", "code", "details", "h3", "h4", "i", "li", "p", "span", "strong", "sub", "summary", "ul"}
MEANT |= {"table", "tbody", "td", "th", "thead", "tr"}
LIVE = re.compile(r"[@#]\w|GH-\w|://\w|www\.\w", re.IGNORECASE)


def test_strangers_write_no_markup_mention_nobody_and_link_nowhere() -> None:
    text = diff_markdown.render(the_diff())
    page = rendered(text)
    assert page.seen <= MEANT
    assert not LIVE.search(page.prose)
    assert "\x1b" not in text


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(["{}", "- {}", "| a | b |\n| - | - |\n| {} | x |"]))
def test_whatever_strangers_write_is_their_text_and_nothing_else(text: str, place: str) -> None:
    for word in (text, f"x{text}x", f"`{text}", f"|{text}|", f"- {text}", f"1. {text}", f"# {text}"):
        for made in (prose(word), code(word)):
            cell = table_cell(made) if "|" in place else made
            page = rendered(place.format(cell) + "\n")
            assert page.seen <= MEANT - {"h3", "h4", "strong", "b", "i"}
            assert not LIVE.search(page.prose)


def test_no_pipe_of_strangers_ends_a_cell() -> None:
    for backslashes in range(5):
        for made in (prose("\\" * backslashes + "|"), code("\\" * backslashes + "|")):
            before = table_cell(made).partition("|")[0]
            assert (len(before) - len(before.rstrip("\\"))) % 2 == 1


def test_text_of_strangers_is_shown_as_they_wrote_it() -> None:
    for word in (EVIL, "`", "a``b`", "a | b", "*x*", "<b>", "&amp;", "1. one", "- one", "1.0 MB", "a_b"):
        shown = "".join(c for c in word if c.isprintable())
        assert rendered(code(word)).text.strip() == shown
        assert rendered(prose(word)).text.replace("\u200b", "").strip() == shown


def test_every_row_of_a_table_has_the_columns_of_its_head() -> None:
    for rows in (10_000, 2):
        width = 0
        for line in diff_markdown._Body(the_diff(), rows, 200).lines():
            if line.startswith("|"):
                columns = len(re.findall(r"(?<!\\)\|", line))
                assert columns == (width := width or columns), line
            else:
                width = 0


def big(number: int) -> GridDiff:
    """Everything moves, for very long names and in many environments."""
    names = [f"package-{index}-{'x' * 40}" for index in range(number)]
    environments = " ".join(f"environment{index}" for index in range(6))
    via = {name: names[index - index % 7] for index, name in enumerate(names) if index % 7}
    sides = [snapshot(cells(environments, dict.fromkeys(names, v), [LINUX], "3.11"), via=via) for v in ("1", "2")]
    return diff(sides[0], sides[1], DiffFacts())


@pytest.mark.parametrize("number", [3, 60, 500])
def test_a_body_is_never_longer_than_github_takes_and_says_what_was_cut(number: int) -> None:
    text = diff_markdown.render(big(number))
    assert len(text.encode()) <= diff_markdown.LIMIT < 65_536
    assert ("Cut to fit" in text) == (number == 500)
    Page(text)


@pytest.mark.parametrize("limit", [2_000, 5_000, 20_000])
def test_any_bound_is_kept(limit: int) -> None:
    text = diff_markdown.render(big(400), limit)
    assert len(text.encode()) <= limit
    assert "Cut" in text
    assert len(diff_markdown.render(the_diff(), limit).encode()) <= limit


# -- JSON --------------------------------------------------------------------------------------------------


def test_json_has_the_keys_that_are_documented() -> None:
    said = json.loads(diff_json.render(the_diff()))
    assert list(said) == [
        "schema", "old", "new", "empty", "notes", "environments", "groups", "files", "findings", "licences",
        "advisories",
    ]  # fmt: skip
    assert said["schema"] == 1
    (tosa,) = (e for e in said["environments"] if e["name"] == "tosa")
    assert {m["name"] for m in tosa["moves"]} >= {"torch", "nvidia-cublas", "newcomer", "flaky"}
    assert said["licences"]["unknown"][:2] == ["flaky", "nvidia-cublas"]


# -- words -------------------------------------------------------------------------------------------------

ALL = [(p, v) for p in (LINUX, ARM, MAC, WINDOWS) for v in ("3.10", "3.11", "3.12")]


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (ALL, ""),
        ([t for t in ALL if t[0] == MAC], MAC),
        ([t for t in ALL if t[0] in (LINUX, ARM)], "linux"),
        ([t for t in ALL if t[0] in (LINUX, MAC)], f"{LINUX}, {MAC}"),
        ([t for t in ALL if t[1] == "3.10"], "Python 3.10"),
        ([t for t in ALL if t[1] != "3.12"], "Python 3.10 to 3.11"),
        ([t for t in ALL if t[1] != "3.11"], "Python 3.10, 3.12"),
        ([t for t in ALL if t[0] in (LINUX, ARM) and t[1] == "3.10"], "linux, Python 3.10"),
        ([(LINUX, "3.10"), (MAC, "3.11"), (MAC, "3.12"), (MAC, "3.10")], f"{MAC} and {LINUX} with Python 3.10"),
    ],
)
def test_targets_in_the_fewest_words(targets: list[tuple[str, str]], said: str) -> None:
    assert fold(targets, ALL) == said


@given(st.sets(st.sampled_from(ALL), min_size=1), st.sets(st.sampled_from(ALL), min_size=1))
def test_no_two_choices_of_targets_have_the_same_words(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> None:
    assert (fold(one, ALL) == fold(other, ALL)) == (one == other)


def test_environments_with_the_same_targets_are_named_together() -> None:
    targets = [(p, v) for p in (LINUX, MAC) for v in ("3.11", "3.12")]
    universe = {"a": targets, "b": targets, "c": targets, "gone": [], "build": [("any", "3.11")]}
    assert where(cells("a b c", {}), universe) == "all environments"
    everything = [*cells("a b c", {}), ("build", "any", "3.11")]
    assert where(everything, universe) == "all environments, locks/build.txt"
    assert where(cells("a b", {}), universe) == "a, b"
    assert where(cells("a", {}) | cells("b", {}, [MAC]), universe) == f"a; b ({MAC})"
    assert where(cells("a", {}), {"a": targets}) == "a"


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (Move(name="x", old="1.0", new="2.0", cells=()), "major"),
        (Move(name="x", old="2.1", new="2.0", cells=()), "minor downgrade"),
        (Move(name="x", old="2.0+a", new="2.0", cells=()), "downgrade"),
        (Move(name="x", old="2.0", new="2.0+a", cells=()), ""),
        (Move(name="x", old="", new="2.0", cells=()), "added"),
    ],
)
def test_how_far_in_words(move: Move, said: str) -> None:
    assert how(move) == said


def test_downloads_in_words() -> None:
    def sizes(*pairs: tuple[int, int]) -> list[SizeChange]:
        return [SizeChange(platform=LINUX, python="3.11", before=b, after=a) for b, a in pairs]

    assert download(sizes((1_500_000, 3_000_000), (10, 10))) == "1.5 MB -> 3.0 MB (+100.0%)"
    assert download(sizes((0, 2_000_000_000))) == "unknown -> 2.00 GB"
    assert download(sizes((5_000_000, 5_000_001))) == "5.0 MB"
    assert download([]) == ""


def test_plurals() -> None:
    assert [plural(n, w) for n, w in ((1, "cell"), (2, "cell"), (0, "advisory"))] == [
        "1 cell",
        "2 cells",
        "0 advisories",
    ]
