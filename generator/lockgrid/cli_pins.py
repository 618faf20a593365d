"""``lockgrid pins``: the copies of versions and commits in files that lockgrid does not own; ``cli`` registers it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockgrid.cli_base import OUT_OF_DATE, json_option, open_context, print_json
from lockgrid.errors import InputError

if TYPE_CHECKING:
    from lockgrid.commands.pins import Pins
    from lockgrid.model.pins import PinReport

_tree_option = click.option(
    "--tree",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder that holds the copies. [default: the project]",
)
_pins_option = click.option("--pins", "file", default="", metavar="FILE", help="Instead of the pins.toml beside envs/.")


@click.group()
def pins() -> None:
    """Keep the copies of versions and commits in step with their truth (pins.toml, docs/pins.md)."""


@pins.command()
@_tree_option
@_pins_option
@click.option(
    "--annotate/--no-annotate",
    default=None,
    help="GitHub annotations on stderr. [default: where GITHUB_ACTIONS is true]",
)
@json_option
@click.pass_context
def check(context: click.Context, tree: Path | None, file: str, annotate: bool | None, as_json: bool) -> None:
    """Hold every copy against its truth, and change nothing.

    Exit code 1: a copy drifts; 2: a truth cannot be told, or a copy is found nowhere or in more than one place.
    """
    from lockgrid.commands.pins import check as run
    from lockgrid.commands.pins import read_pins, report_problems
    from lockgrid.core.render.pins import render_table, report_values
    from lockgrid.model.pins import State

    with open_context(context) as ports:
        read = read_pins(ports, tree=tree, file=file)
        reports = run(read)
    if as_json:
        print_json(report_values(reports))
    else:
        click.echo(render_table(reports), nl=False)
    if annotate or (annotate is None and os.environ.get("GITHUB_ACTIONS") == "true"):
        _annotate(read, reports)
    problems = report_problems(read, reports)
    if problems:
        raise InputError(problems)
    if any(row.state is State.DRIFT for report in reports for row in report.rows):
        context.exit(OUT_OF_DATE)


def _annotate(read: Pins, reports: Sequence[PinReport]) -> None:
    """Annotations name files from the workspace of the workflow, or from the tree where that is elsewhere."""
    from lockgrid.core.render.pins import render_annotations

    workspace = Path(os.environ.get("GITHUB_WORKSPACE") or read.tree.root).resolve()
    prefix = ""
    if read.tree.root.is_relative_to(workspace) and read.tree.root != workspace:
        prefix = f"{read.tree.root.relative_to(workspace).as_posix()}/"
    click.echo(render_annotations(reports, read.file, prefix), nl=False, err=True)


@pins.command()
@_tree_option
@_pins_option
@click.option("--dry-run", is_flag=True, help="Print a unified diff, and write nothing.")
@click.pass_context
def sync(context: click.Context, tree: Path | None, file: str, dry_run: bool) -> None:
    """Rewrite the copies that drift: the characters of the version and no other, in all files or in none.

    Exit code 2 where `lockgrid pins check` has it; then nothing is written.
    """
    from lockgrid.commands.pins import before, read_pins
    from lockgrid.commands.pins import sync as run
    from lockgrid.core.render.pins import render_changes, render_diff

    with open_context(context) as ports:
        read = read_pins(ports, tree=tree, file=file)
        done = run(read, dry_run=dry_run)
    if dry_run:
        for path, text in sorted(done.texts.items()):
            click.echo(render_diff(path, before(read, path), text), nl=False)
    click.echo(render_changes(done.changes, len(done.texts), written=not dry_run), nl=False, err=dry_run)


COMMANDS = (pins,)
