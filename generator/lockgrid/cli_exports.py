"""The verbs that hand the locks on to other tools, and that hold them against the index; ``cli`` registers them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from lockgrid.cli_base import FINDINGS, OUT_OF_DATE, SERVICES, json_option, open_context, print_json
from lockgrid.errors import InputError, Problem, ToolError

_FORMATS = ("requirements", "pylock", "constraints", "cyclonedx")


@click.command()
@click.argument("environment", metavar="ENV")
@click.option("--platform", metavar="NAME", help="Of this platform alone, as envs/targets.toml names it.")
@click.option("--python", metavar="X.Y", help="Of this Python alone.")
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="[default: requirements]")
@click.option("-o", "--output", metavar="FILE", help="Write FILE instead of stdout.")
@click.option("--no-urls", is_flag=True, help="No URL of an index or a file (pylock needs them).")
@json_option
@click.pass_context
def export(
    context: click.Context,
    environment: str,
    platform: str | None,
    python: str | None,
    format_: str | None,
    output: str | None,
    no_urls: bool,
    as_json: bool,
) -> None:
    """The pins of ENV for another tool: of one target (--platform and --python), or of all in one file with markers.

    URLs are those of the index that uv is configured with, without credentials. Exit code 3 where nothing that is
    asked for is proven.
    """
    from lockgrid.adapters.store import Store
    from lockgrid.commands.export import Options, bill, check_output, exported_as_json, write
    from lockgrid.commands.export import export as run

    if as_json and (format_ or output):
        what = "--json prints every pin with its file, and no file of a format"
        raise InputError([Problem(file="command line", key="--json", what=what, hint="leave out --format and -o")])
    path = Path(output) if output and output != "-" else None
    options = Options(
        environment=environment, platform=platform, python=python, format=format_ or _FORMATS[0], urls=not no_urls
    )
    if path:
        check_output(Store(context.obj[0]), path, options.format)
    with open_context(context) as ports:
        if options.format == "cyclonedx":
            text, said = bill(ports, options), "the bill of materials of one cell"
        else:
            exported = run(ports, options)
            text = "" if as_json else exported.text
            said = f"{len(exported.export.pins)} pins for {exported.export.counted}"
    if as_json:
        print_json(exported_as_json(exported))
    elif path:
        write(path, text)
        click.echo(f"wrote {output}: {said}")
    else:
        click.echo(text, nl=False)


@click.command()
@json_option
@click.pass_context
def verify(context: click.Context, as_json: bool) -> None:
    """Ask the index whether every hash of every lockfile is still that of a listed file, not yanked.

    Exit code 1 where one is not: the file or its release vanished, was replaced, yanked or quarantined.
    """
    from lockgrid.commands.verify import verified_as_json
    from lockgrid.commands.verify import verify as run
    from lockgrid.core.render.verify import render_faults, render_verified

    with open_context(context) as ports:
        result = run(ports)
    if as_json:
        print_json(verified_as_json(result))
    else:
        click.echo(render_faults(result.faults), nl=False)
        click.echo(render_verified(result.counts, result.indexes, len(result.faults)), nl=False)
    if result.faults:
        context.exit(OUT_OF_DATE)


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--platform", "platforms", multiple=True, metavar="NAME[=FLOOR]", help="Such as linux-x86_64=2.31.")
@click.option("--python", "pythons", multiple=True, metavar="X.Y", help="Such as 3.12.")
@click.option("--force", is_flag=True, help="Overwrite files of envs/ that are there.")
@click.option("--dry-run", is_flag=True, help="Print the files, and write none.")
@click.pass_context
def init(
    context: click.Context,
    files: tuple[Path, ...],
    platforms: tuple[str, ...],
    pythons: tuple[str, ...],
    force: bool,
    dry_run: bool,
) -> None:
    """Write a first envs/ from what a project has: pyproject.toml and requirements files.

    FILE is a pyproject.toml or a requirements file, from the current folder. Without any, the usual ones of the project
    are taken. What envs/ cannot hold is said line by line, and stands in the files as comments.
    """
    from lockgrid.adapters.inputs import Inputs
    from lockgrid.adapters.store import Store
    from lockgrid.commands.context import Context
    from lockgrid.commands.init import Options
    from lockgrid.commands.init import init as run
    from lockgrid.core.init.report import render_init
    from lockgrid.terminal import open_progress

    project, quiet = context.obj
    progress = open_progress(quiet=quiet)
    options = Options(
        files=tuple(path.as_posix() for path in files),
        platforms=platforms,
        pythons=pythons,
        force=force,
        dry_run=dry_run,
    )
    try:
        ports = Context(store=Store(project), environ=os.environ, clock=time.time, progress=progress)
        result = run(ports, Inputs(Path() if files else project), options)
    finally:
        progress.close()
    if dry_run:
        for path, text in result.texts.items():
            click.echo(f"--- {path}\n{text}")
    text = render_init(result.origins, result.texts, result.notes, result.advice, written=not dry_run)
    click.echo(text, nl=False, err=dry_run)
    sys.stdout.flush()


@click.command()
@click.option("--service", type=click.Choice(SERVICES), default=SERVICES[0], help="Whom to ask. [default: pypi]")
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


@click.command("uv-lock")
@click.pass_context
def uv_lock(context: click.Context) -> None:
    """Write uv.lock for the index that uv is configured with, holding exactly the files of locks/.

    `uv sync --locked` is then bound to the hashes in locks/. Exit code 4 where the index lacks a locked file, or has
    other bytes for it; the uv.lock that was there stays.
    """
    from lockgrid.adapters.uvrun import locking

    # uv begins before the rest of lockgrid is loaded, which takes as long as uv does.
    with locking(context.obj[0], os.environ) as process, open_context(context) as ports:
        from lockgrid.commands.uv_lock import uv_lock as run

        result = run(ports, process)
        for stranger in result.strangers:
            ports.progress.note(f"{stranger} is in no lockfile: uv.lock has none of its files, so uv cannot install it")
    click.echo(f"wrote uv.lock: {result.packages} packages, {result.files} files, each with a sha256 of locks/")


COMMANDS = (
    export,
    verify,
    init,
    advisories,
    bundle,
    uv_lock,
)
