"""Text of strangers in Markdown for GitHub: it is shown as it is, and does nothing."""

from __future__ import annotations

import html
import re

from lockgrid.core.advisories import printable

# A mention, a reference and a link begin with these; a character of no width after them makes them plain text.
_LIVE = re.compile(r"@|#|://|\bGH-|\bwww\.", re.IGNORECASE)
_MARKS = re.compile(r"[\\`*_\[\]|~]|^[-+]|^[0-9]+(?=[.)](?: |$))")
_NO_WIDTH = "\u200b"
# What would end a cell of a table, be it in a code span: a pipe after an even number of backslashes.
_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")


def prose(text: str) -> str:
    """Text of strangers as plain text of one line: no markup, no mention, no reference, no link."""
    plain = _LIVE.sub(lambda match: match[0] + _NO_WIDTH, printable(text))
    plain = _MARKS.sub(lambda match: _escaped(match[0]), html.escape(plain, quote=False))
    return plain.replace("$", "<span>$</span>")


def _escaped(mark: str) -> str:
    return f"{mark}{_NO_WIDTH}" if mark.isdigit() else f"\\{mark}"


def code(text: str) -> str:
    """Text of strangers as a code span, where nothing in it means anything."""
    plain = printable(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}" if plain else ""


def raw_code(text: str) -> str:
    """The same in HTML."""
    return f"<code>{html.escape(printable(text), quote=False)}</code>"


def table_cell(markdown: str) -> str:
    """A piece of Markdown without what would end a cell of a table."""
    return _PIPE.sub(r"\1\\|", markdown)
