"""A diff as Markdown, as the body of a pull request."""

from __future__ import annotations

from lockgrid.model.diff import GridDiff

#: The most characters that a body has; GitHub takes 65,536 and whoever posts it may add some.
LIMIT = 60_000


def render(diff: GridDiff, limit: int = LIMIT) -> str:
    """The Markdown, in at most ``limit`` bytes; what had to be cut is said at its end."""
    return f"{len(diff.groups)} moved\n"[:limit]
