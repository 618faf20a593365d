"""The verb that renews the locks; ``cli`` registers it."""

from __future__ import annotations

from datetime import datetime

import click

from lockgrid.cli_base import as_of_option, json_option, open_context, print_json


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV]...")
@as_of_option("Count the cool-down back from 00:00 UTC of this date, or from this RFC 3339 time. [default: now]")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@click.option("--allow-loss", is_flag=True, help="Record proven cells as unsupported where they are lost.")
@json_option
@click.pass_context
def refresh(
    context: click.Context,
    environments: tuple[str, ...],
    as_of: datetime | None,
    dry_run: bool,
    allow_loss: bool,
    as_json: bool,
) -> None:
    """Upgrade within what envs/ asks for to what is older than the cool-down in envs/targets.toml; or change nothing.

    A release with which a proven cell would be lost is not taken. What envs/ itself holds back is named.
    """
    from lockgrid.commands.refresh import RefreshOptions, refreshed_as_json, remarks, said
    from lockgrid.commands.refresh import refresh as run

    options = RefreshOptions(environments=environments, as_of=as_of, dry_run=dry_run, allow_loss=allow_loss)
    with open_context(context) as ports:
        result = run(ports, options)
    if as_json:
        print_json(refreshed_as_json(result))
    else:
        for line in remarks(result):
            click.echo(line, err=result.candidate.changes_nothing)
        for line in said(result):
            click.echo(line)
        click.echo(f"done in {result.seconds:.1f} s", err=True)


COMMANDS = [refresh]
