"""The text of a request and of its commit: a title, what changes and why, within what a forge takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lockgrid.core.render import diff_markdown
from lockgrid.core.render.markdown import prose
from lockgrid.core.render.tested import runs_text
from lockgrid.model.diff import GridDiff, Move
from lockgrid.model.pins import Row
from lockgrid.model.tested import TrialReport

# GitHub takes 65,536 characters. Bytes are counted, so that no way of counting characters matters.
BODY_LIMIT = 65_000
TITLE_LIMIT = 72
MESSAGE_LIMIT = 20_000
_DIFF_LEAST = 4_000
_CASES = 10
_TAIL = 15
_START = "Refresh locks: "
_CUT = "\n*Cut here, since a request can hold no more.*\n"
_FOOTER = (
    "<sub>This branch has one commit, which each refresh makes anew. A refresh stops, and touches nothing, where "
    "somebody else has a commit on it.</sub>\n"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a refresh came to, as far as a request tells it.

    ``moves`` counts the packages that moved. ``cutoff`` is the moment up to which releases count, ``remarks`` are
    sentences on what was not taken, and why. ``copies`` are the copies of ``pins.toml`` that were rewritten.
    """

    diff: GridDiff
    moves: int
    cutoff: str
    gained: tuple[str, ...] = ()
    tested: TrialReport | None = None
    remarks: tuple[str, ...] = ()
    copies: tuple[Row, ...] = ()


def render_title(request: Request) -> str:
    """``Refresh locks: torch 2.13.0 to 2.14.0, and 12 more``, in at most 72 characters; what moves most along first."""
    groups = [group for group in request.diff.groups if group.moves]
    groups.sort(key=lambda group: (not group.moves[0].step, -len(group.along)))
    named = [_move_text(group.moves[0]) for group in groups]
    for count in range(len(named), 0, -1):
        left = request.moves - count
        title = _START + ", ".join(named[:count]) + (f", and {left} more" if left > 0 else "")
        if len(title) <= TITLE_LIMIT:
            return title
    if request.moves:
        return f"{_START}{request.moves} package{'' if request.moves == 1 else 's'}"
    if culprits := request.tested.culprits if request.tested else ():
        names = ", ".join(dict.fromkeys(name for culprit in culprits for name in culprit.packages))
        return _shortened(f"{_START}hold back {names}")
    if request.tested and request.tested.released:
        return _shortened(f"{_START}hold back {', '.join(e.name for e in request.tested.released)} no longer")
    return f"{_START}{len(request.gained)} cells more" if request.gained else f"{_START}what was proven anew"


def _move_text(move: Move) -> str:
    if not move.old or not move.new:
        return f"{'add' if move.new else 'remove'} {move.name}"
    return f"{move.name} {move.old} to {move.new}"


def _shortened(title: str) -> str:
    return title if len(title) <= TITLE_LIMIT else f"{title[: TITLE_LIMIT - 4].rpartition(' ')[0].rstrip(',')} ..."


def render_request(request: Request, limit: int = BODY_LIMIT) -> str:
    """The body in Markdown: ``# title`` on the first line, then what was done, held back and changed, and what to know.

    At most ``limit`` bytes of UTF-8 (8,000 or more): the diff says less, in its own way, where there is no room.
    """
    before = [f"# {render_title(request)}\n", _summary(request)]
    before += [_culprits(request.tested)] if request.tested and request.tested.culprits else []
    after = [*_copies(request.copies), *_others(request), _FOOTER]
    most = (limit - _DIFF_LEAST) // 2
    before, after = ([cut_markdown(text, most) for text in _joined(part, most)] for part in (before, after))
    used = sum(_size(part) + 1 for part in [*before, *after])
    return "\n".join([*before, diff_markdown.render(request.diff, limit - used), *after])


def _joined(parts: Sequence[str], most: int) -> list[str]:
    """The parts, or all of them as one where together they would take more than ``most`` bytes."""
    return list(parts) if sum(_size(part) + 1 for part in parts) <= most else ["\n".join(parts)]


def _summary(request: Request) -> str:
    text = f"`lockgrid refresh` renewed the locks with what was released up to {request.cutoff}, within what `envs/` "
    text += "asks for. Every cell was resolved and proven again."
    if request.tested:
        text += f" Tested with {_code(request.tested.command)} before it was proposed ({runs_text(request.tested)})."
    possible = f"\n\n**Became possible:** {prose('; '.join(request.gained))}" if request.gained else ""
    return f"{text}{possible}\n"


def _culprits(tested: TrialReport) -> str:
    lines = ["### Held back: the test fails with it", ""]
    for culprit in tested.culprits:
        again = ", as before" if culprit.again else ""
        lines += [f"- **{prose(culprit.text)}**{again}: {prose(culprit.why)}"]
        trial = culprit.trial
        lines += [f"  - {prose(case.text)}" for case in (trial.cases[:_CASES] if trial else ())]
        if trial and len(trial.cases) > _CASES:
            lines += [f"  - and {len(trial.cases) - _CASES} cases more"]
        lines += [f"  - hold: {_code(entry.text)}" for entry in culprit.holds]
        if trial and trial.tail and not trial.cases:
            tail = [f"  > {_code(line)}<br>" for line in trial.tail[-_TAIL:] if line.strip()]
            lines += ["", "  <details><summary>The end of its output</summary>", "", *tail, "", "  </details>", ""]
    lines += ["", "A hold is tried again by every refresh, and goes when it is no longer needed.", ""]
    return "\n".join(lines)


def _copies(rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        said = "moves along" if len(rows) == 1 else "move along"
        lines = [f"- {_code(row.where)}: {_code(row.found)} to {_code(row.wanted)} ({prose(row.pin)})" for row in rows]
        yield f"### What {said} in other files, by `pins.toml`\n\n" + "\n".join(lines) + "\n"


def _others(request: Request) -> Iterator[str]:
    lines: list[str] = []
    if tested := request.tested:
        lines += [f"- no longer held: {_code(entry.text)} ({prose(entry.why)})" for entry in tested.released]
        lines += [f"- still held, with nothing newer to try: {_code(entry.text)}" for entry in tested.untried]
        lines += [f"- flaky: it failed, and passed when it was run again: {prose(t.why)}" for t in tested.flaky]
    lines += [f"- {prose(remark)}" for remark in request.remarks]
    if lines:
        yield "### What else to know\n\n" + "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Text of strangers as code of one line."""
    plain = "".join(c if c.isprintable() else " " for c in text).strip().replace("`", "'")
    return f"`{plain}`" if plain else ""


def render_message(request: Request, moves: Sequence[str]) -> str:
    """The commit's message: what moved and why, the same for the same result. ``moves`` are lines, one a package."""
    parts = [render_title(request)]
    parts += [f"Within what envs/ asks for, of what was released up to {request.cutoff}."]
    parts += ["\n".join(moves)] if moves else []
    copies = [f"  {row.where}: {row.pin} {row.found} -> {row.wanted}" for row in request.copies]
    parts += ["\n".join(["Along with it, by pins.toml:", *copies])] if copies else []
    parts += [f"Became possible: {'; '.join(request.gained)}"] if request.gained else []
    if request.tested:
        parts += [f"Tested with: {request.tested.command}"]
        held = [
            f"Held back {culprit.text}: {culprit.why}\n" + "\n".join(f"  {entry.text}" for entry in culprit.holds)
            for culprit in request.tested.culprits
        ]
        parts += [text.rstrip() for text in held]
        parts += [f"No longer held: {entry.text}" for entry in request.tested.released]
    text = "\n\n".join("".join(c if c.isprintable() or c == "\n" else " " for c in part) for part in parts)
    if len(text) > MESSAGE_LIMIT:
        text = text[: text.rindex("\n", 0, MESSAGE_LIMIT)] + "\n... and more, see the diff"
    return f"{text}\n"


def cut_markdown(text: str, size: int) -> str:
    """At most ``size`` bytes of Markdown: whole lines, every fence and fold closed, and a word that it was cut."""
    if _size(text) <= size:
        return text
    kept: list[str] = []
    open_fence, folds, used = "", 0, 0
    best = ""
    for line in text.splitlines():
        used += _size(line) + 1
        kept.append(line)
        open_fence, folds = _follow(line, open_fence, folds)
        closing = ([open_fence] if open_fence else []) + ["", *["</details>"] * folds] * bool(folds)
        tail = "\n".join(closing) + "\n" + _CUT
        if used + _size(tail) > size:
            break
        best = "\n".join(kept) + "\n" + tail
    return best or _CUT.lstrip()


def _follow(line: str, fence: str, folds: int) -> tuple[str, int]:
    """The fence that is open after this line (empty: none), and how many ``<details>`` are."""
    match = _FENCE.match(line)
    if fence:
        closes = match and match[1].startswith(fence) and not line.strip().strip(fence[0])
        return ("" if closes else fence), folds
    if match:
        return match[1], folds
    return "", max(0, folds + line.count("<details") - line.count("</details>"))


def _size(text: str) -> int:
    return len(text.encode())
