"""The body of a request, its title and its commit's message: for a person, within what a forge takes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from lockgrid.core.diff import diff
from lockgrid.core.render import diff_markdown
from lockgrid.core.render.request import (
    BODY_LIMIT,
    MESSAGE_LIMIT,
    TITLE_LIMIT,
    Request,
    cut_markdown,
    render_message,
    render_request,
    render_title,
)
from lockgrid.model.diff import DiffFacts, Group, Move
from lockgrid.model.pins import Copy, Kind, Match, Row
from lockgrid.model.pins import State as State_
from lockgrid.model.tested import Culprit, HoldEntry, State, TrialReport
from lockgrid.model.trial import Case, Trial
from unit.builders import golden
from unit.diffs import EVIL, OLD, the_diff

NOTHING = diff(OLD, OLD, DiffFacts())
HOLD = HoldEntry(
    file="envs/tosa.toml",
    name=canonicalize_name("narwhals"),
    version="<2.30",
    why="tosa: case attn/INT failed",
    since=date(2026, 11, 30),
)
TRIAL = Trial(
    passed=False,
    why="tosa: case attn/INT failed",
    cases=(Case(name="attn/INT", message="3 steps off", environment="tosa"),),
    log="/home/somebody/.cache/lockgrid/1.log",
)
CULPRIT = Culprit(
    text="narwhals 2.29.0 -> 2.30.0",
    packages=("narwhals",),
    why="tosa: case attn/INT failed",
    holds=(HOLD,),
    trial=TRIAL,
)
TESTED = TrialReport(
    command="nox -s flows",
    state=State.HELD,
    proposed=("torch 2.12.0 -> 2.13.0",),
    culprits=(CULPRIT,),
    released=(replace(HOLD, name=canonicalize_name("numpy"), version="<2.2"),),
    runs=8,
    reruns=2,
)
REQUEST = Request(
    diff=the_diff(),
    moves=18,
    cutoff="2026-11-23T00:00:00Z",
    gained=("vgf on linux-x86_64, Python 3.14",),
    tested=TESTED,
    remarks=("envs/executorch.toml requires[1]: torch==2.13.0 holds back torch 2.14.0 (released 2026-11-12)",),
)


COPIES = tuple(
    Row(
        pin="torch",
        copy=Copy(file=file, match=Match(kind=Kind.REQUIREMENT, name="torch")),
        state=State_.DRIFT,
        found="2.12.0",
        wanted="2.13.0",
        line=line,
        column=8,
    )
    for line, file in enumerate(["requirements.txt", "ci/`setup`.sh"], 1)
)


def moving(*moves: tuple[str, str, str], along: int = 0) -> Request:
    """A request in which packages move, the first of them with others along."""
    groups = tuple(
        Group(
            name=name,
            moves=(Move(name=name, old=old, new=new, cells=()),),
            along=tuple(Move(name=f"{name}-{n}", old="1", new="2", cells=()) for n in range(along)),
        )
        for name, old, new in moves
    )
    return Request(diff=replace(NOTHING, groups=groups), moves=len(moves) * (along + 1), cutoff="2026-11-23")


def test_the_body() -> None:
    body = render_request(REQUEST)
    assert diff_markdown.render(the_diff()) in body
    golden("request.md", render_request(replace(REQUEST, diff=NOTHING)))


def test_copies_are_listed_in_both() -> None:
    request_ = replace(REQUEST, copies=COPIES)
    body, message = render_request(request_), render_message(request_, [])
    assert "- `requirements.txt:1`: `2.12.0` to `2.13.0` (torch)\n- `ci/'setup'.sh:2`: " in body
    assert "\n\nAlong with it, by pins.toml:\n  requirements.txt:1: torch 2.12.0 -> 2.13.0\n  ci/" in message
    assert "pins.toml" not in render_request(REQUEST) + render_message(REQUEST, [])


def test_the_message() -> None:
    golden("request.txt", render_message(REQUEST, ["torch 2.12.0 -> 2.13.0 (tosa, vgf)", "added triton 3.1 (tosa)"]))


@pytest.mark.parametrize(
    ("request_", "title"),
    [
        (moving(("torch", "2.13.0", "2.14.0")), "Refresh locks: torch 2.13.0 to 2.14.0"),
        (moving(("torch", "2.13.0", "2.14.0"), along=15), "Refresh locks: torch 2.13.0 to 2.14.0, and 15 more"),
        (moving(("a", "", "1"), ("b", "1", "")), "Refresh locks: add a, remove b"),
        (moving(("n" * 80, "1", "2")), "Refresh locks: 1 package"),
        (moving(*((f"package-{n}", "1.0.0", "2.0.0") for n in range(9))), None),
        (Request(diff=NOTHING, moves=0, cutoff="x", tested=TESTED), "Refresh locks: hold back narwhals"),
        (
            Request(diff=NOTHING, moves=0, cutoff="x", tested=replace(TESTED, culprits=())),
            "Refresh locks: hold back numpy no longer",
        ),
        (Request(diff=NOTHING, moves=0, cutoff="x"), "Refresh locks: what was proven anew"),
    ],
)
def test_the_title_says_what_matters_most_and_fits(request_: Request, title: str | None) -> None:
    found = render_title(request_)
    assert found == (title or "Refresh locks: package-0 1.0.0 to 2.0.0, and 8 more")
    assert len(found) <= TITLE_LIMIT


def test_no_path_of_the_machine_and_no_moment_is_in_the_text() -> None:
    text = render_request(REQUEST) + render_message(REQUEST, [])
    assert "/home/somebody" not in text
    assert render_request(REQUEST) == render_request(replace(REQUEST))


@pytest.mark.parametrize("limit", [8_000, 20_000, BODY_LIMIT])
@pytest.mark.parametrize("many", ["culprits", "cases", "output", "remarks", "copies"])
def test_whatever_is_long_the_body_fits(many: str, limit: int) -> None:
    long = "ü" * 300
    trial = replace(TRIAL, cases=(), tail=tuple(f"{n} {long}" for n in range(2_000)))
    tested = {
        "culprits": replace(TESTED, culprits=tuple(replace(CULPRIT, text=f"a{n} {long}") for n in range(500))),
        "cases": replace(TESTED, culprits=(replace(CULPRIT, trial=replace(TRIAL, cases=TRIAL.cases * 5_000)),)),
        "output": replace(TESTED, culprits=(replace(CULPRIT, trial=trial),) * 50),
        "remarks": TESTED,
        "copies": TESTED,
    }[many]
    copies = COPIES * 5_000 if many == "copies" else ()
    remarks = tuple(f"{n} {long}" for n in range(500)) if many == "remarks" else ()
    request_ = replace(REQUEST, tested=tested, remarks=remarks, copies=copies)
    text = render_request(request_, limit)
    assert len(text.encode()) <= limit
    assert text.startswith("# Refresh locks: ")
    assert "### Locks:" in text
    assert text.count("<details>") == text.count("</details>")
    assert len(render_message(request_, [long] * 5_000)) <= MESSAGE_LIMIT + 100


def test_text_of_strangers_is_text() -> None:
    """What a test prints is not from us: no mention, no reference, no markup, no control character."""
    evil = replace(
        CULPRIT,
        text=EVIL,
        why=EVIL,
        trial=replace(TRIAL, cases=(Case(name=EVIL, message="@everyone closes #1\x1b[31m"),), tail=(EVIL,)),
    )
    quiet = replace(evil, trial=replace(TRIAL, cases=(), tail=("`@everyone` <script>\x07",)))
    request = replace(REQUEST, tested=replace(TESTED, culprits=(evil, quiet)), remarks=(EVIL,))
    text = render_request(request)
    assert not re.search(r"(?m)^[^`\n]*@everyone", text)
    assert not re.search(r"(?m)^[^`\n]*<script", text)
    assert all(c.isprintable() or c in "\n\u200b" for c in text + render_message(request, [EVIL]))


FOLDS = """Intro

<details><summary>A</summary>

```
code </details>
```

<details><summary>B</summary>

x

</details>

</details>
"""


@given(size=st.integers(120, 400), lines=st.lists(st.sampled_from(FOLDS.splitlines()), max_size=30))
def test_what_is_cut_is_closed(size: int, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    cut = cut_markdown(text, size)
    if len(text.encode()) <= size:
        assert cut == text
        return
    assert len(cut.encode()) <= size
    assert "Cut here" in cut
    fences = [line for line in cut.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0


def test_open_folds_are_closed_where_it_is_cut() -> None:
    for size in range(130, len(FOLDS) + 100):
        cut = cut_markdown(FOLDS + "more\n" * 100, size)
        prose = re.sub(r"(?s)```.*?```", "", cut)
        assert prose.count("<details>") == prose.count("</details>"), cut
