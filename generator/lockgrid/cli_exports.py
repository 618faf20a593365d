"""The verbs that give the grid to other tools. ``cli`` lists them; each imports what it needs when it runs."""

from __future__ import annotations

import os

import click

from lockgrid.cli_common import open_context


@click.command("uv-lock")
@click.pass_context
def uv_lock(context: click.Context) -> None:
    """Write uv.lock for the index that uv is configured with, holding exactly the files of locks/.

    `uv sync --locked` is then bound to the hashes in locks/. Exit code 4 where the index lacks a locked file, or has
    other bytes for it; the uv.lock that was there stays.
    """
    from lockgrid.adapters.uvrun import locking

    # uv begins before the rest of lockgrid is loaded, which takes as long as uv does.
    with locking(context.obj[0], os.environ) as process, open_context(context) as ports:
        from lockgrid.commands.uv_lock import uv_lock as run

        result = run(ports, process)
        for stranger in result.strangers:
            ports.progress.note(f"{stranger} is in no lockfile: uv.lock has none of its files, so uv cannot install it")
    click.echo(f"wrote uv.lock: {result.packages} packages, {result.files} files, each with a sha256 of locks/")


#: Every command of this module, for ``cli`` to list.
COMMANDS = (uv_lock,)
