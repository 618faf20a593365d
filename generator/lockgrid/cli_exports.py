"""The verbs that hand the locks on to other tools, and that hold them against the index; ``cli`` registers them."""

from __future__ import annotations

import click

from lockgrid.cli_base import FINDINGS, json_option, open_context, print_json
from lockgrid.errors import ToolError

_SERVICES = ("pypi", "osv")


@click.command()
@click.option("--service", type=click.Choice(_SERVICES), default=_SERVICES[0], help="Whom to ask. [default: pypi]")
@click.option("--osv-url", default="", metavar="URL", help="Where OSV's API is, with --service osv.")
@click.option("--trust-silence", is_flag=True, help="With osv: what it does not speak of is audited, known or not.")
@json_option
@click.pass_context
def advisories(context: click.Context, service: str, osv_url: str, trust_silence: bool, as_json: bool) -> None:
    """What is known of the pins: runs pip-audit over each distinct pin of locks/, once.

    Prints the cells that an advisory touches and the first fixed version. Exit code 0: nothing, or all accepted; 1:
    advisories; 4: a pin was not audited, whatever else was found, or pip-audit or its service failed.
    """
    from lockgrid.commands.advisories import advisories as run
    from lockgrid.commands.advisories import advisories_as_json
    from lockgrid.core.render.advisories import render_advisories

    if service != "osv" and (osv_url or trust_silence):
        raise click.UsageError("--osv-url and --trust-silence go with --service osv")
    with open_context(context) as ports:
        found = run(ports, service, osv_url, trust_silence=trust_silence)
    if as_json:
        print_json(advisories_as_json(found))
    else:
        click.echo(render_advisories(found), nl=False)
    if found.not_audited:
        context.exit(ToolError.exit_code)
    if any(advisory.open for advisory in found.advisories):
        context.exit(FINDINGS)


COMMANDS = (advisories,)
