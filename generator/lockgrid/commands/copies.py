"""What a refresh does to the copies of ``pins.toml``: where it moves their truth, they move in the same commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lockgrid.adapters.tree import Tree
from lockgrid.commands.candidate import Candidate
from lockgrid.commands.context import Context
from lockgrid.commands.pins import Pins, before, check, locks_of, moved, read_pins
from lockgrid.core.gridfile import PATH as GRID
from lockgrid.core.pins.rules import PATH
from lockgrid.errors import InputError, LockgridError, Problem, ToolError
from lockgrid.model.pins import State


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies in the project as they stood when the run began; ``pins`` None: there is no ``pins.toml``."""

    pins: Pins | None

    def follow(self, candidate: Candidate, envs: Mapping[str, str] | None = None) -> Candidate:
        """The candidate with the copies of what it moves rewritten. ``envs``: the texts of ``envs/`` that it changes.

        Raises ``InputError`` where such a copy cannot be rewritten, or its truth cannot be told any more.
        """
        if self.pins is None or candidate.changes_nothing:
            return candidate
        proposal = candidate.proposal
        texts = {**(envs or {}), **proposal.texts}
        planned = moved(self.pins, locks=locks_of(proposal.lockfiles), texts=texts)
        if not planned.texts:
            return candidate
        problems = [
            Problem(
                file=row.where,
                key=f"pins.{row.pin}",
                what=f"holds {row.found}, and {row.wanted} would be true; but the locks are made of this file",
                hint=f"write {row.wanted} there, run `lockgrid lock`, then refresh",
            )
            for row in planned.changes
            if row.copy.file.startswith("envs/")
        ]
        if problems:
            raise InputError(problems)
        self.pins.tree.check_writable(planned.texts)
        # grid.toml stays last, see ``Proposal``.
        made = dict(sorted({**proposal.texts, **planned.texts}.items(), key=lambda item: item[0] == GRID))
        return replace(candidate, proposal=replace(proposal, texts=made), copies=planned.changes)

    def check_unchanged(self, candidate: Candidate) -> None:
        """Raise ``ToolError`` where somebody has changed a copy since it was read: a test may take hours."""
        if self.pins is None:
            return
        tree = Tree(self.pins.tree.root)
        for row in candidate.copies:
            found = tree.read(row.copy.file)
            if isinstance(found, str) or found.text != before(self.pins, found.path):
                raise ToolError(
                    "this copy was changed while the refresh ran, and nothing was written",
                    where=row.copy.file,
                    next_step="run it again",
                )


def read_copies(context: Context) -> Copies:
    """Read ``pins.toml`` and all that it names; raises ``InputError`` where it is wrong."""
    return Copies(read_pins(context) if context.store.read(PATH) is not None else None)


def rewritten(context: Context, texts: Mapping[str, str | None]) -> dict[str, str]:
    """The texts of the copies, by path, once a refresh writes ``texts`` (None: it removes the file).

    Raises ``InputError`` where they cannot be told.
    """
    pins = read_copies(context).pins
    if pins is None:
        return {}
    lockfiles = {f"locks/{path}": text for path, text in context.lockfile_texts().items()}
    wanted = {path: text for path, text in {**lockfiles, **texts}.items() if text is not None}
    below = {
        path.removeprefix("locks/"): text
        for path, text in wanted.items()
        if path.startswith("locks/") and path.endswith(".txt")
    }
    changed = {path: text for path, text in texts.items() if text is not None}
    return moved(pins, locks=locks_of(below), texts=changed).texts


def tell_drift(context: Context) -> None:
    """After a lock: say how many copies are out of step now. A ``pins.toml`` that is wrong is no fault of the lock."""
    try:
        pins = read_copies(context).pins
    except LockgridError as error:
        context.progress.note(f"{PATH} could not be read, `lockgrid pins check` tells more: {error.what}")
        return
    drifting = sum(row.state is State.DRIFT for report in check(pins) for row in report.rows) if pins else 0
    if drifting:
        said = "1 copy of a version is" if drifting == 1 else f"{drifting} copies of versions are"
        context.progress.note(f"{said} out of step: `lockgrid pins sync` rewrites them")
