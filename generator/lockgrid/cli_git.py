"""The verb that builds what ``[git]`` names; ``cli`` registers it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from lockgrid.cli_base import as_of_option, json_option, open_context, print_json


@click.command()
@click.argument("environment", metavar="ENV")
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the wheels go, and pages of links to them; others in it stay.",
)
@click.option("--python", "pythons", multiple=True, metavar="X.Y|PATH", help="[default: every one of ENV that is here]")
@as_of_option("Build with nothing newer. [default: as locks/, or now]")
@json_option
@click.pass_context
def build(
    context: click.Context,
    environment: str,
    folder: Path,
    pythons: tuple[str, ...],
    as_of: datetime | None,
    as_json: bool,
) -> None:
    """Build the wheels of the git sources of ENV for this machine: the same bytes each time.

    It runs code of these repositories, in a venv that holds nothing but pinned files.
    """
    from lockgrid.commands.gitbuild import Options, build_wheels, made_as_json, made_lines

    options = Options(environment=environment, folder=folder, pythons=pythons, as_of=as_of)
    with open_context(context) as ports:
        made = build_wheels(ports, options)
    if as_json:
        print_json(made_as_json(made))
    else:
        for line in made_lines(made, folder):
            click.echo(line)


COMMANDS = (build,)
