"""The verb that renews the locks; ``cli`` registers it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockgrid.cli_base import as_of_option, json_option, open_context, print_json
from lockgrid.cli_publish import branch_options
from lockgrid.model.branch import DEFAULT_BRANCH

if TYPE_CHECKING:
    from lockgrid.commands.request import RequestOptions
    from lockgrid.commands.tested import TrialOptions

_BODY = "Write what changed and why, for the body of a pull request: Markdown, the title on its first line."


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV]...")
@as_of_option("Count the cool-down back from 00:00 UTC of this date, or from this RFC 3339 time. [default: now]")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@click.option("--allow-loss", is_flag=True, help="Record proven cells as unsupported where they are lost.")
@click.option("--test", "command", metavar="CMD", help="Propose only what passes this, and hold back what does not.")
@click.option("--test-timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES", help="For each run.")
@click.option("--retest", is_flag=True, help="Run the test even where its verdict on the same bytes is known.")
@click.option("--commit", is_flag=True, help="Start from --base and commit to --branch; the work tree stays as it is.")
@branch_options
@click.option("--body", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=_BODY)
@click.option("--advisories", is_flag=True, help="With --body: run pip-audit over what moved, before and after.")
@json_option
@click.pass_context
def refresh(
    context: click.Context,
    /,
    environments: tuple[str, ...],
    as_of: datetime | None,
    dry_run: bool,
    allow_loss: bool,
    command: str | None,
    test_timeout: float | None,
    retest: bool,
    as_json: bool,
    **request: Any,
) -> None:
    """Upgrade within what envs/ asks for to what is older than the cool-down in envs/targets.toml; or change nothing.

    A release with which a proven cell would be lost is not taken. What envs/ itself holds back is named.

    With --commit the result comes onto a branch that is made anew each time, never over a commit of somebody else, and
    that goes where the base has caught up.
    """
    from lockgrid.commands.refresh import RefreshOptions, refreshed_as_json, remarks, said
    from lockgrid.commands.request import refresh_request
    from lockgrid.core.published import outcome_as_json, outcome_line

    wanted = _request(dry_run=dry_run, **request)
    test = _test(command, test_timeout, retest=retest)
    options = RefreshOptions(environments=environments, as_of=as_of, dry_run=dry_run, allow_loss=allow_loss, test=test)
    with open_context(context) as ports:
        result, outcome = refresh_request(ports, options, wanted)
    if as_json:
        branch = {"branch": outcome_as_json(outcome)} if outcome else {}
        print_json({**refreshed_as_json(result), **branch})
    else:
        for line in remarks(result):
            click.echo(line, err=result.candidate.changes_nothing)
        for line in said(result, apart=outcome is not None):
            click.echo(line)
        if outcome and outcome.state != "none":
            click.echo(outcome_line(outcome))
        click.echo(f"done in {result.seconds:.1f} s", err=True)


def _request(
    *,
    commit: bool,
    dry_run: bool,
    body: Path | None,
    advisories: bool,
    branch: str | None,
    remote: str | None,
    base: str | None,
) -> RequestOptions:
    """What the options of the branch and the body ask for; raises ``UsageError``."""
    from lockgrid.commands.difffacts import Options
    from lockgrid.commands.publish import Place
    from lockgrid.commands.request import RequestOptions

    if not commit and {branch, remote, base} != {None}:
        raise click.UsageError("--branch, --push and --base go with --commit")
    if commit and dry_run:
        raise click.UsageError("--commit and --dry-run contradict each other")
    if advisories and not body:
        raise click.UsageError("--advisories goes with --body")
    place = Place(branch=branch or DEFAULT_BRANCH, remote=remote or "", base=base or "") if commit else None
    facts = Options(licences=True if body else None, advisories=advisories)
    return RequestOptions(place=place, body=body, facts=facts)


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
