"""Verbs of the ``lockgrid`` command that lead from other tools and to them; ``cli`` registers them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--platform", "platforms", multiple=True, metavar="NAME[=FLOOR]", help="Such as linux-x86_64=2.31.")
@click.option("--python", "pythons", multiple=True, metavar="X.Y", help="Such as 3.12.")
@click.option("--force", is_flag=True, help="Overwrite files of envs/ that are there.")
@click.option("--dry-run", is_flag=True, help="Print the files, and write none.")
@click.pass_context
def init(
    context: click.Context,
    files: tuple[Path, ...],
    platforms: tuple[str, ...],
    pythons: tuple[str, ...],
    force: bool,
    dry_run: bool,
) -> None:
    """Write a first envs/ from what a project has: pyproject.toml and requirements files.

    FILE is a pyproject.toml or a requirements file, from the current folder. Without any, the usual ones of the project
    are taken. What envs/ cannot hold is said line by line, and stands in the files as comments.
    """
    from lockgrid.adapters.inputs import Inputs
    from lockgrid.adapters.store import Store
    from lockgrid.commands.context import Context
    from lockgrid.commands.init import Options
    from lockgrid.commands.init import init as run
    from lockgrid.core.init.report import render_init
    from lockgrid.terminal import open_progress

    project, quiet = context.obj
    progress = open_progress(quiet=quiet)
    options = Options(
        files=tuple(path.as_posix() for path in files),
        platforms=platforms,
        pythons=pythons,
        force=force,
        dry_run=dry_run,
    )
    try:
        ports = Context(store=Store(project), environ=os.environ, clock=time.time, progress=progress)
        result = run(ports, Inputs(Path() if files else project), options)
    finally:
        progress.close()
    if dry_run:
        for path, text in result.texts.items():
            click.echo(f"--- {path}\n{text}")
    text = render_init(result.origins, result.texts, result.notes, result.advice, written=not dry_run)
    click.echo(text, nl=False, err=dry_run)
    sys.stdout.flush()
