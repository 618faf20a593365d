"""What a refresh says: one line where there is nothing to do, else what moves, what became possible, what is held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lockgrid.core.holdback import Bound, HeldBack
from lockgrid.core.moves import Move
from lockgrid.core.render.summary import cells_text
from lockgrid.model.grid import Blocker, CellRecord
from lockgrid.model.pins import Row
from lockgrid.model.spec import CooldownException


def render_moves(moves: Iterable[Move]) -> Iterator[str]:
    """A line for each package."""
    for move in moves:
        yield f"{move.text} ({', '.join(move.environments)})"


def render_copies(copies: Iterable[Row]) -> Iterator[str]:
    """A line for each copy of ``pins.toml`` that moves along."""
    for row in copies:
        yield f"copy {row.where}: {row.pin} {row.found} -> {row.wanted}"


def render_cells(
    gained: Sequence[CellRecord], lost: Sequence[CellRecord], cells: Iterable[CellRecord]
) -> Iterator[str]:
    """What became possible, what would be lost, and what is still blocked by what."""
    if gained:
        yield f"became possible: {cells_text(gained)}"
    if lost:
        yield f"lost: {cells_text(lost)}"
    blocked: dict[str, list[CellRecord]] = {}
    for cell in cells:
        if not cell.proven:
            packages = dict.fromkeys(_blocker(b) for b in cell.blockers if b.package != "uv:")
            blocked.setdefault(", ".join(packages) or cell.because, []).append(cell)
    for packages_text, found in blocked.items():
        yield f"still unsupported: {cells_text(found)}, over {packages_text}"


def _blocker(blocker: Blocker) -> str:
    serves = f" ({', '.join(blocker.serves)} would serve)" if blocker.serves else ""
    return f"{blocker.package}{serves}"


def render_back(back: Iterable[HeldBack], bounds: Iterable[Bound]) -> Iterator[str]:
    """What was not taken for the cells' sake, and what ``envs/`` holds back."""
    for one in back:
        yield f"held back {one.name} {one.version}, with which a proven cell would be lost: {one.because}"
    for bound in bounds:
        yield bound.sentence


def render_exceptions(over: Iterable[CooldownException]) -> Iterator[str]:
    """Exceptions that count no more."""
    for one in over:
        yield (
            f"envs/targets.toml cooldown-exceptions.{one.name}: ended on {one.until} and counts no more; "
            "remove it, or give it a later date"
        )
