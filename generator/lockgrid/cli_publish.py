"""What hands a refresh to people: the options of a branch, and the verb that pushes one made elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lockgrid.cli_base import json_option, open_context, print_json
from lockgrid.errors import InputError, Problem
from lockgrid.model.branch import DEFAULT_BRANCH


def branch_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--branch`` (None where it is not given), ``--push`` as ``remote``, and ``--base``."""
    for option in (
        click.option("--base", metavar="BRANCH", help="Start from it. [default: the remote's default branch, or HEAD]"),
        click.option("--push", "remote", metavar="REMOTE", help="Push the branch there, never over work of others."),
        click.option("--branch", metavar="NAME", help=f"The one branch. [default: {DEFAULT_BRANCH}]"),
    ):
        function = option(function)
    return function


@click.command()
@click.option("--from", "commit", metavar="COMMIT", help="A commit that `refresh --commit` made, maybe elsewhere.")
@click.option("--close", is_flag=True, help="There is nothing to propose: remove the branch.")
@branch_options
@json_option
@click.pass_context
def publish(
    context: click.Context,
    commit: str | None,
    close: bool,
    branch: str | None,
    remote: str | None,
    base: str | None,
    as_json: bool,
) -> None:
    """Push what `refresh --commit` made, or remove the branch, under the rules of `refresh --push`.

    For a workflow that makes and tests the commit where nothing may be written, and pushes it from where no updated
    package ever ran. What is not wholly of refresh's own making is refused.
    """
    from lockgrid.commands.publish import Place, publish_commit
    from lockgrid.core.published import outcome_as_json, outcome_line

    if bool(commit) == close:
        raise InputError([Problem(file="command line", key="--from", what="name a commit, or pass --close")])
    place = Place(branch=branch or DEFAULT_BRANCH, remote=remote or "", base=base or "")
    with open_context(context) as ports:
        outcome = publish_commit(ports, place, commit)
    if as_json:
        print_json(outcome_as_json(outcome))
    else:
        click.echo(outcome_line(outcome))


COMMANDS = [publish]
