"""The verbs that compare locks, and that hand cells to continuous integration; ``cli`` registers them."""

from __future__ import annotations

import os
import sys

import click

from lockgrid.cli_base import json_option, open_context

_FORMATS = ("text", "markdown", "json")


@click.command()
@click.argument("revision", metavar="[REV]", default="HEAD")
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="[default: text]")
@click.option(
    "--licences/--no-licences",
    default=None,
    help="Ask the index for licences that are not known yet, or compare none. [default: what is known]",
)
@click.option("--advisories", is_flag=True, help="Run pip-audit over what moved, before and after.")
@json_option
@click.pass_context
def diff(
    context: click.Context, revision: str, format_: str | None, licences: bool | None, advisories: bool, as_json: bool
) -> None:
    """What changed in locks/ since REV, by default HEAD."""
    from lockgrid.commands.diff import Options, diff_grid
    from lockgrid.core.render import diff_json, diff_markdown, diff_text

    with open_context(context) as ports:
        found = diff_grid(ports, revision, Options(licences=licences, advisories=advisories))
    kind = "json" if as_json else format_ or "text"
    if kind == "json":
        click.echo(diff_json.render(found), nl=False)
    elif kind == "markdown":
        click.echo(diff_markdown.render(found), nl=False)
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        click.echo(diff_text.render(found, colour=colour), nl=False)


COMMANDS = [diff]
