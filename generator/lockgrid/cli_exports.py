"""The verbs that hand the locks on to other tools, and that hold them against the index; ``cli`` registers them."""

from __future__ import annotations

from pathlib import Path

import click

from lockgrid.cli_base import json_option, open_context, print_json


@click.command()
@click.argument("environment", metavar="ENV")
@click.option("--platform", required=True, metavar="P", help="A platform of the grid, such as windows-x86_64.")
@click.option("--python", required=True, metavar="V", help="A Python of the grid, such as 3.11.")
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder: a new one, an empty one, or one with a bundle of this cell that was begun.",
)
@json_option
@click.pass_context
def bundle(context: click.Context, environment: str, platform: str, python: str, folder: Path, as_json: bool) -> None:
    """Everything that installs one cell of ENV on a machine without a network, in one folder.

    The wheels, checked by hash, on whichever machine this runs; a requirements file; install scripts for POSIX and
    Windows; SHA256SUMS. Run again after an interruption, it continues.
    """
    from lockgrid.commands.bundle import bundle as run
    from lockgrid.commands.bundle import bundled_as_json
    from lockgrid.core.render.bundle import render_bundled

    with open_context(context) as ports:
        result = run(ports, environment, platform, python, folder)
    if as_json:
        print_json(bundled_as_json(result))
    else:
        click.echo(render_bundled(bundled_as_json(result)), nl=False)


COMMANDS = (bundle,)
