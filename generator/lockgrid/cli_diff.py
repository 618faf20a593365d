"""The verbs that compare locks, and that hand cells to continuous integration; ``cli`` registers them."""

from __future__ import annotations

import os
import sys

import click

from lockgrid.cli_base import SERVICES, json_option, open_context

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
@click.option("--service", type=click.Choice(SERVICES), default=SERVICES[0], help="Whom to ask. [default: pypi]")
@click.option("--osv-url", default="", metavar="URL", help="Where OSV's API is, with --service osv.")
@json_option
@click.pass_context
def diff(
    context: click.Context,
    revision: str,
    format_: str | None,
    licences: bool | None,
    advisories: bool,
    service: str,
    osv_url: str,
    as_json: bool,
) -> None:
    """What changed in locks/ since REV, by default HEAD; between two revisions with REV1..REV2.

    REV may be a folder: another copy of the project, or its locks/. No network is needed: licences are compared as far
    as lockgrid's cache knows them, and what was not compared is said. Exit code 0 whatever changed.
    """
    from lockgrid.commands.diff import diff_grid
    from lockgrid.commands.difffacts import Options
    from lockgrid.core.render import diff_json, diff_markdown, diff_text

    if as_json and format_ not in (None, "json"):
        raise click.UsageError(f"--json and --format {format_} contradict each other")
    if service != "osv" and osv_url:
        raise click.UsageError("--osv-url goes with --service osv")
    if not revision:
        raise click.UsageError("REV is empty")
    options = Options(licences=licences, advisories=advisories, service=service, osv_url=osv_url)
    with open_context(context) as ports:
        found = diff_grid(ports, revision, options)
    kind = "json" if as_json else format_ or "text"
    if kind == "json":
        click.echo(diff_json.render(found), nl=False)
    elif kind == "markdown":
        click.echo(diff_markdown.render(found), nl=False)
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        click.echo(diff_text.render(found, colour=colour), nl=False)


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV]...")
@click.option("--changed-since", "since", metavar="REV", help="Only cells that install or test otherwise than in REV.")
@click.option(
    "--all-if",
    "all_if",
    multiple=True,
    metavar="PATH",
    help="With --changed-since: every cell where PATH differs, such as noxfile.py.",
)
@json_option
@click.pass_context
def matrix(
    context: click.Context, environments: tuple[str, ...], since: str | None, all_if: tuple[str, ...], as_json: bool
) -> None:
    """The proven cells of ENV, or of all, as jobs: with --json the matrix of a GitHub workflow.

    {"include": []} where there is no job, which GitHub refuses: guard the job that uses it (docs/diff.md).
    """
    from lockgrid.commands.matrix import matrix as run
    from lockgrid.core.render.matrix import matrix_as_json, render_matrix

    if all_if and since is None:
        raise click.UsageError("--all-if goes with --changed-since")
    if since == "":
        raise click.UsageError("--changed-since names no revision")
    with open_context(context) as ports:
        jobs = run(ports, environments, since or "", all_if)
    if as_json:
        import json

        click.echo(json.dumps(matrix_as_json(jobs)))  # one line, for $GITHUB_OUTPUT
    else:
        click.echo(render_matrix(jobs), nl=False)


COMMANDS = [diff, matrix]
