"""What a diff tells that is not in the locks: licences, advisories, names of files; from the cache, or asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockgrid.commands.context import Context
from lockgrid.core.snapshot import Snapshot
from lockgrid.model.diff import DiffFacts

if TYPE_CHECKING:
    from lockgrid.commands.diff import Options


def look_up(context: Context, old: Snapshot, new: Snapshot, options: Options) -> DiffFacts:
    """The facts about what moved."""
    return DiffFacts()
