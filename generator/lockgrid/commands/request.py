"""``lockgrid refresh --commit``: the refresh is made of a base, in a folder apart, and comes onto one branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.diff import read_files
from lockgrid.commands.difffacts import Options as DiffOptions
from lockgrid.commands.difffacts import look_up
from lockgrid.commands.publish import Place, open_draft
from lockgrid.commands.refresh import Refreshed, RefreshOptions, refresh, remarks
from lockgrid.core.diff import diff
from lockgrid.core.render.refresh import render_moves
from lockgrid.core.render.request import Request, render_message, render_request
from lockgrid.core.render.summary import cells_text
from lockgrid.core.resolution import timestamp
from lockgrid.core.snapshot import read_snapshot
from lockgrid.errors import InputError, Problem
from lockgrid.model.branch import Outcome
from lockgrid.model.diff import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """``place`` None: the work tree is refreshed, and only the body is wanted. ``facts``: what its diff looks up."""

    place: Place | None = None
    body: Path | None = None
    facts: DiffOptions = field(default_factory=DiffOptions)


def refresh_request(
    context: Context, options: RefreshOptions, wanted: RequestOptions
) -> tuple[Refreshed, Outcome | None]:
    """Refresh, then commit and push as ``wanted`` says, then write the body; where nothing changes there is none.

    With a place no file of the work tree is read or written. Raises what ``refresh`` and ``open_draft`` raise; the body
    is written last, so that whoever finds it finds what it speaks of.
    """
    _check_body(wanted.body)
    if wanted.place is None:
        before = read_files(context.store)
        result = refresh(context, options)
        _write_body(wanted, context, _request(context, result, before, "the locks as they stood", wanted))
        return result, None
    with open_draft(context, wanted.place) as draft:
        apart = replace(context, store=Store(draft.project))
        before = read_files(apart.store)
        result = refresh(apart, options)
        request = _request(apart, result, before, draft.base_name, wanted)
        if request is None:
            return result, draft.close()
        paths = [*result.candidate.texts, *result.candidate.removed]
        outcome = draft.propose(paths, render_message(request, list(render_moves(result.candidate.moves))))
        if outcome.commit:
            _write_body(wanted, context, request)
        return result, outcome


def _request(
    context: Context, result: Refreshed, before: Mapping[str, str], base: str, wanted: RequestOptions
) -> Request | None:
    """What to say of a refresh; None where it changes nothing."""
    candidate = result.candidate
    if candidate.changes_nothing:
        return None
    after = {path: text for path, text in {**before, **candidate.texts}.items() if path not in candidate.removed}
    old = read_snapshot(before)
    new = read_snapshot({path: text for path, text in after.items() if path.startswith("locks/")})
    facts = look_up(context, old, new, wanted.facts)
    return Request(
        diff=diff(old, new, facts, (Side(name=base), Side(name="this refresh"))),
        moves=len(candidate.moves),
        cutoff=timestamp(candidate.options.cutoff.moment),
        gained=(cells_text(candidate.gained),) if candidate.gained else (),
        tested=result.tested,
        copies=candidate.copies,
        remarks=tuple(remarks(result)),
    )


def _check_body(path: Path | None) -> None:
    """Raise ``InputError`` where a body could not be written at the end of a run that may take hours."""
    if path is not None and not path.absolute().parent.is_dir():
        what = f"there is no folder {path.parent}"
        raise InputError([Problem(file="command line", key="--body", what=what, hint="make it first")])


def _write_body(wanted: RequestOptions, context: Context, request: Request | None) -> None:
    if wanted.body is not None and request is not None:
        path = wanted.body.absolute()
        Store(path.parent).replace({path.name: render_request(request)})
        context.progress.note(f"wrote {wanted.body}")
