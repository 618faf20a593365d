"""The text of a request and of its commit: a title, what changes and why, cut where a forge takes no more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# GitHub takes 65,536 characters. Bytes are counted, so that no way of counting characters matters.
BODY_LIMIT = 65_000
TITLE_LIMIT = 72
MESSAGE_LIMIT = 20_000
_CUT = "\n*Cut here, since a request can hold no more; `lockgrid diff` shows all of it.*\n"
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the body in Markdown, under a heading of its own unless that is empty."""

    heading: str = ""
    text: str

    def render(self) -> str:
        """As it stands in the body."""
        head = f"## {self.heading}\n\n" if self.heading else ""
        return f"{head}{self.text.strip()}\n"


def render_title(moves: Sequence[str], otherwise: str) -> str:
    """``Refresh locks: torch 2.13.0 to 2.14.0, and 12 more``: as many of ``moves`` as 72 characters hold.

    ``otherwise`` is said where nothing moves.
    """
    start = "Refresh locks: "
    for count in range(len(moves), 0, -1):
        more = f", and {len(moves) - count} more" if count < len(moves) else ""
        title = start + ", ".join(moves[:count]) + more
        if len(title) <= TITLE_LIMIT:
            return title
    if moves:
        return f"{start}{len(moves)} updates" if len(moves) > 1 else f"{start}{moves[0]}"[:TITLE_LIMIT]
    return f"{start}{otherwise}"[:TITLE_LIMIT]


def render_body(title: str, sections: Sequence[Section], limit: int = BODY_LIMIT) -> str:
    """The body: ``# title`` on the first line, then the sections; the longest is cut where ``limit`` demands.

    ``limit`` is in bytes of UTF-8.
    """
    head = f"# {title}\n"
    parts = [section.render() for section in sections if section.text.strip()]
    while (excess := _size("\n".join([head, *parts])) - limit) > 0:
        longest = max(range(len(parts)), key=lambda at: _size(parts[at]))
        shorter = cut_markdown(parts[longest], _size(parts[longest]) - excess)
        if _size(shorter) >= _size(parts[longest]):
            break
        parts[longest] = shorter
    return "\n".join([head, *parts])


def render_message(title: str, paragraphs: Sequence[str]) -> str:
    """The message of the commit: the title, then what is said of it as plain text, some pages at most."""
    text = "\n\n".join([title, *(paragraph.strip() for paragraph in paragraphs if paragraph.strip())])
    if len(text) > MESSAGE_LIMIT:
        text = text[: text.rindex("\n", 0, MESSAGE_LIMIT)] + "\n... and more: see `git show --stat` and `lockgrid diff`"
    return f"{text}\n"


def cut_markdown(text: str, size: int) -> str:
    """At most ``size`` bytes of Markdown, whole lines, with every fence and fold closed and a word that it was cut."""
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
