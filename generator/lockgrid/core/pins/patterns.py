"""Regular expressions of ``pins.toml``, run by RE2: no pattern and no file can make it take longer than linear time.

``re`` backtracks, so that a pattern such as ``(a*)*b`` stands still on a line of thirty letters. RE2's syntax is that
of ``re`` without what would need backtracking (lookaround, backreferences).
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

_LONGEST = 500
_MEMORY = 4 << 20  # bytes, of a compiled pattern
_ENOUGH = 20  # matches; two are one too many


@cache
def _compiled(pattern: str) -> Any:
    """The compiled pattern; raises ``re2.error``."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    # Lines are matched one by one: ^ and $ are those of a line, and no match runs on into the next.
    options.never_nl = True
    options.log_errors = False
    options.max_mem = _MEMORY
    return re2.compile(f"(?m){pattern}", options)


def pattern_fault(pattern: str) -> tuple[str, str] | None:
    """What is wrong with a pattern, and a hint; None when nothing is."""
    import re2

    if len(pattern) > _LONGEST:
        return f"the pattern has {len(pattern)} characters, and {_LONGEST} are allowed", "match less of the line"
    try:
        compiled = _compiled(pattern)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        return f"no pattern of RE2: {said}", "lookaround and backreferences do not exist in it"
    if len(compiled.groupindex) != 1:
        return "a pattern has one named group, which holds the version", "write (?P<version>[0-9][0-9a-z.]*)"
    return None


def pattern_spans(pattern: str, text: str) -> list[tuple[int, int]]:
    """Where the named group of a pattern stands, the first twenty times. Line ends of ``text`` are newlines."""
    compiled = _compiled(pattern)
    (group,) = compiled.groupindex.values()
    spans = [match.span(group) for match in islice(compiled.finditer(text), _ENOUGH)]
    return [(start, end) for start, end in spans if start >= 0 and end > start]
