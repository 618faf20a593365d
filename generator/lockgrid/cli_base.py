"""What the modules of the command line share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from datetime import datetime

    from lockgrid.commands.context import Context

OUT_OF_DATE = 1
FINDINGS = 1


@contextmanager
def open_context(context: click.Context) -> Iterator[Context]:
    """What verbs need from outside, as the options of the group say."""
    from lockgrid.adapters.store import Store
    from lockgrid.commands.context import Context as Ports
    from lockgrid.terminal import open_progress

    project, quiet = context.obj
    progress = open_progress(quiet=quiet)
    try:
        yield Ports(store=Store(project), environ=os.environ, clock=time.time, progress=progress)
    finally:
        progress.close()


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--json`` of a verb that prints."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)


def print_json(value: object) -> None:
    """A result for machines on stdout."""
    import json

    click.echo(json.dumps(value, indent=2))


def moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
    """What ``--as-of`` says: a date (00:00 UTC of that day) or an RFC 3339 time; never later than now."""
    from datetime import UTC, datetime, timedelta

    from lockgrid.errors import InputError, Problem

    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError) as error:
        what = f"{value!r} is neither a date nor an RFC 3339 time"
        hint = "write 2026-11-23 or 2026-11-23T00:00:00Z"
        raise InputError([Problem(file="command line", key="--as-of", what=what, hint=hint)]) from error
    now = datetime.fromtimestamp(int(time.time()), UTC)
    if moment > now and moment - now > timedelta(days=1):
        what = f"{value!r} is in the future, so it can be the cut-off of nothing"
        raise InputError([Problem(file="command line", key="--as-of", what=what, hint="leave it out for now")])
    return min(moment, now)
