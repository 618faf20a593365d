"""The verb that renews the locks; ``cli`` registers it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from lockgrid.cli_base import as_of_option, json_option, open_context, print_json

if TYPE_CHECKING:
    from lockgrid.commands.tested import TrialOptions


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV]...")
@as_of_option("Count the cool-down back from 00:00 UTC of this date, or from this RFC 3339 time. [default: now]")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@click.option("--allow-loss", is_flag=True, help="Record proven cells as unsupported where they are lost.")
@click.option("--test", "command", metavar="CMD", help="Propose only what passes this, and hold back what does not.")
@click.option("--test-timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES", help="For each run.")
@click.option("--retest", is_flag=True, help="Run the test even where its verdict on the same bytes is known.")
@json_option
@click.pass_context
def refresh(
    context: click.Context,
    environments: tuple[str, ...],
    as_of: datetime | None,
    dry_run: bool,
    allow_loss: bool,
    command: str | None,
    test_timeout: float | None,
    retest: bool,
    as_json: bool,
) -> None:
    """Upgrade within what envs/ asks for to what is older than the cool-down in envs/targets.toml; or change nothing.

    A release with which a proven cell would be lost is not taken. What envs/ itself holds back is named.
    """
    from lockgrid.commands.refresh import RefreshOptions, refreshed_as_json, remarks, said
    from lockgrid.commands.refresh import refresh as run

    test = _test(command, test_timeout, retest=retest)
    options = RefreshOptions(environments=environments, as_of=as_of, dry_run=dry_run, allow_loss=allow_loss, test=test)
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


def _test(command: str | None, minutes: float | None, *, retest: bool) -> TrialOptions | None:
    """What the options of the test ask for; raises ``InputError``."""
    if command is None:
        if minutes is not None or retest:
            raise click.UsageError("--test-timeout and --retest are for --test")
        return None
    import os

    from lockgrid.adapters.trial import read_command
    from lockgrid.commands.tested import TrialOptions

    timeout = None if minutes is None else minutes * 60
    return TrialOptions(command=read_command(command, os.environ), timeout=timeout, anew=retest)


COMMANDS = [refresh]
