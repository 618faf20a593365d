"""What the modules of the command line share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lockgrid.commands.context import Context

OUT_OF_DATE = 1
FINDINGS = 1
#: The vulnerability services that pip-audit can ask.
SERVICES = ("pypi", "osv")


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


def as_of_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option ``--as-of``, with this help."""
    return click.option("--as-of", callback=_as_of, metavar="DATE", help=text)


def _as_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else moment("--as-of", value)


def moment(option: str, value: str) -> datetime:
    """A date (00:00 UTC of that day) or an RFC 3339 time; never later than now. Raises ``InputError``."""
    from datetime import UTC, timedelta

    from lockgrid.errors import InputError, Problem

    try:
        found = datetime.fromisoformat(value)
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError) as error:
        what = f"{value!r} is neither a date nor an RFC 3339 time"
        hint = "write 2026-11-23 or 2026-11-23T00:00:00Z"
        raise InputError([Problem(file="command line", key=option, what=what, hint=hint)]) from error
    now = datetime.fromtimestamp(int(time.time()), UTC)
    if found > now and found - now > timedelta(days=1):
        what = f"{value!r} is in the future, so it can be the cut-off of nothing"
        raise InputError([Problem(file="command line", key=option, what=what, hint="leave it out for now")])
    return min(found, now)


def package_name(option: str, value: str) -> str:
    """The normalised name of a package on the command line. Raises ``InputError``."""
    from packaging.utils import InvalidName, canonicalize_name

    from lockgrid.errors import InputError, Problem

    try:
        return canonicalize_name(value, validate=True)
    except InvalidName as error:
        raise InputError([Problem(file="command line", key=option, what=str(error), hint="name a package")]) from error


def print_json(value: object) -> None:
    """A result for machines on stdout."""
    import json

    click.echo(json.dumps(value, indent=2))
