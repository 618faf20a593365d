"""What the modules of the command line share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def print_json(value: object) -> None:
    """A result for machines on stdout."""
    import json

    click.echo(json.dumps(value, indent=2))
