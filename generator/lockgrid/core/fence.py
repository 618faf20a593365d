"""A list in TOML of which one part is lockgrid's, between two comments, and the rest a person's."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

BEGIN = "# lockgrid: written by `lockgrid lock`"
END = "# lockgrid: end"

_LINE = r"[ \t]*{}[ \t]*\r?\n"
_BEGIN, _END = (_LINE.format(re.escape(comment)) for comment in (BEGIN, END))
_FENCED = re.compile(rf"{_BEGIN}(.*?){_END}", re.DOTALL)
_ENTRIES = r"((?:[ \t]*[\"'\[{].*\n)*)"  # strings, lists or tables, one a line
_LEADING = re.compile(rf"^[ \t]*([a-z-]+)[ \t]*=[ \t]*\[\r?\n{_BEGIN}{_ENTRIES}{_END}", re.MULTILINE)


def is_torn(text: str) -> bool:
    """Whether the text of a list has one of the two comments without the other, or more than one pair."""
    count = len(_FENCED.findall(text))
    return count > 1 or text.count(BEGIN) != count or text.count(END) != count


def fenced(text: str) -> list[Any] | None:
    """What stands between the comments in the text of a list (``[...]``); None where they are not."""
    match = _FENCED.search(text)
    return None if match is None else list(tomllib.loads(f"own = [\n{match[1]}]")["own"])


def leading(document: str) -> dict[str, list[Any]]:
    """The same for every list in the text of a whole document, by key; quickly, with no parser.

    Only of lists that begin with the comments, one entry a line between them, as lockgrid writes them.
    """
    return {match[1]: list(tomllib.loads(f"own = [\n{match[2]}]")["own"]) for match in _LEADING.finditer(document)}


def replace_fenced(text: str, values: Sequence[str]) -> str:
    """The text of the list with these values (TOML each) between the comments; without any, without the comments.

    What is outside of the comments stays as it is.
    """
    rest = _FENCED.sub("", text, count=1)
    if not values:
        return rest
    body = "".join(f"    {value},\n" for value in values)
    after = rest.partition("[")[2]
    newline = "" if re.match(r"[ \t]*(#[^\n]*)?\r?\n", after) else "\n"
    if newline and not after.strip().startswith("]"):
        after = f"    {after.lstrip()}"
    head = f"[\n    {BEGIN}\n{body}    {END}\n"
    return head + (after if newline else re.sub(r"^[ \t]*\r?\n", "", after))
