"""What the modules of click commands share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lockgrid.commands.context import Context


@contextmanager
def open_context(context: click.Context) -> Iterator[Context]:
    """What a verb needs from outside; progress ends with it."""
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
    """Add ``--json`` as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)


def print_json(value: object) -> None:
    """Print a value as JSON on stdout."""
    import json

    click.echo(json.dumps(value, indent=2))
