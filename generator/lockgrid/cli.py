"""The ``lockgrid`` command: parse, call, print, exit code. Results on stdout, progress and errors on stderr.

Modules that cost time to import are imported by the verb that needs them, so that ``--help`` stays quick.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from datetime import datetime
from pathlib import Path

import click

from lockgrid import __version__, cli_diff, cli_exports, cli_git, cli_pins, cli_publish, cli_refresh
from lockgrid.cli_base import (
    FINDINGS,
    OUT_OF_DATE,
    as_of_option,
    json_option,
    moment,
    open_context,
    package_name,
    print_json,
)
from lockgrid.errors import InputError, LockgridError, ToolError

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; never returns normally."""
    # A lock makes a million small values and no cycles worth finding: a third of its time goes to looking.
    gc.set_threshold(200_000, 50, 100)
    signal.signal(signal.SIGTERM, _terminate)
    # Text written by strangers is printed as it is encoded, not with a traceback under LC_ALL=C.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        code = _stopped()
    except click.ClickException as error:
        error.show()
        code = InputError.exit_code
    except KeyboardInterrupt:
        code = _stopped()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: the result cannot be written: {error.strerror or error}", file=sys.stderr)
        code = ToolError.exit_code
    except LockgridError as error:
        print(_report(error), file=sys.stderr)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def _terminate(_number: int, _frame: object) -> None:
    """Unwind as Ctrl-C does, so that the uv that runs is ended too."""
    raise KeyboardInterrupt


def _stopped() -> int:
    print("interrupted: the files are as they were, or complete if they were just written", file=sys.stderr)
    return _INTERRUPTED


def _report(error: LockgridError) -> str:
    if isinstance(error, InputError) and len(error.problems) > 1:
        head = f"error: {len(error.problems)} problems in the input\n"
        body = "\n".join(f"  {problem}" for problem in error.problems)
        return head + body + (f"\n  next: {error.next_step}" if error.next_step else "")
    return f"error: {error}"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="lockgrid")
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder that holds envs/ and locks/. [default: this one]",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress; notes and errors only.")
@click.pass_context
def cli(context: click.Context, project: Path, quiet: bool) -> None:
    """Reproducible environment lockfiles for a grid of platforms and Pythons, each cell proven.

    Exit codes: 0 done or in date; 1 out of date, or findings; 2 the input is wrong; 3 unsatisfiable; 4 a tool, an index
    or the network failed.
    """
    context.obj = (project, quiet)


@cli.command()
@click.argument("environments", nargs=-1, metavar="[ENV]...")
@as_of_option("Ignore files uploaded after 00:00 UTC of this date, or this RFC 3339 time.")
@click.option(
    "--as-of-package",
    "packages_as_of",
    multiple=True,
    metavar="NAME=DATE",
    help="The same for one package; exclude-newer-package in grid.toml says which ones had their own.",
)
@click.option("-U", "--upgrade", is_flag=True, help="Keep no pin: take the newest of everything.")
@click.option("-P", "--upgrade-package", "packages", multiple=True, metavar="NAME", help="Keep all pins but this one.")
@click.option(
    "--built",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Wheels of git sources that `lockgrid build` made. [default: $LOCKGRID_BUILT]",
)
@click.option("--allow-loss", is_flag=True, help="Record proven cells as unsupported where they are lost.")
@json_option
@click.pass_context
def lock(
    context: click.Context,
    environments: tuple[str, ...],
    as_of: datetime | None,
    packages_as_of: tuple[str, ...],
    upgrade: bool,
    packages: tuple[str, ...],
    built: Path | None,
    allow_loss: bool,
    as_json: bool,
) -> None:
    """Resolve and prove every cell, then write locks/, the extras and the README's table; or nothing."""
    from lockgrid.commands.lock import Options
    from lockgrid.commands.lock import lock as run
    from lockgrid.commands.show import grid_as_json

    upgraded = frozenset(package_name("-P", name) for name in packages)
    pairs = [item.partition("=") for item in packages_as_of]
    options = Options(
        environments=environments,
        as_of=as_of,
        as_of_packages={
            package_name("--as-of-package", name): moment("--as-of-package", date) for name, _, date in pairs
        },
        upgrade_all=upgrade,
        upgrade=upgraded,
        allow_loss=allow_loss,
        built=built,
    )
    with open_context(context) as ports:
        result = run(ports, options)
    if as_json:
        print_json({**grid_as_json(result.grid), "written": result.written, "removed": result.removed})
    else:
        from lockgrid.core.render.summary import render_summary

        click.echo(render_summary(result.grid, result.written, result.removed, result.changes), nl=False)
        print(f"done in {result.seconds:.1f} s", file=sys.stderr)


@cli.command()
@json_option
@click.pass_context
def check(context: click.Context, as_json: bool) -> None:
    """Check offline that locks/ is what envs/ asks for, no file edited, every cell accounted for."""
    from lockgrid.commands.check import check as run

    with open_context(context) as ports:
        found = run(ports)
    if as_json:
        print_json([{"where": d.where, "what": d.what, "mend": d.mend} for d in found])
    elif found:
        for difference in found:
            click.echo(str(difference))
    else:
        click.echo("in date")
    if found:
        context.exit(OUT_OF_DATE)


@cli.command()
@json_option
@click.pass_context
def show(context: click.Context, as_json: bool) -> None:
    """The grid as a table: packages where a cell is proven, and why where it is not."""
    from lockgrid.commands.show import grid_as_json
    from lockgrid.commands.show import show as run

    with open_context(context) as ports:
        grid, summaries = run(ports)
        reasons = ports.reasons_accepted()
    if as_json:
        print_json(grid_as_json(grid))
    else:
        from lockgrid.core.render.summary import render_grid_table

        click.echo(render_grid_table(grid, summaries, reasons), nl=False)


@cli.command()
@click.argument("environment", metavar="ENV")
@click.argument("platform", required=False)
@click.argument("python", required=False)
@json_option
@click.pass_context
def explain(context: click.Context, environment: str, platform: str | None, python: str | None, as_json: bool) -> None:
    """Why cells of ENV are unsupported: which pin, which files exist, what is missing, what would serve.

    Also what was found inside their wheels; of a single cell with the evidence.
    """
    from lockgrid.commands.explain import explain as run
    from lockgrid.commands.explain import findings_as_json
    from lockgrid.core.gridfile import cell_values

    with open_context(context) as ports:
        grid, cells = run(ports, environment, platform, python)
        reasons = ports.reasons_accepted()
    if as_json:
        print_json([{**cell_values(cell), "findings": findings_as_json(grid, cell)} for cell in cells])
    else:
        from lockgrid.core.render.explain import render_explanation

        click.echo(render_explanation(grid, cells, reasons, fully=len(cells) == 1), nl=False)


@cli.command()
@click.argument("wheels", nargs=-1, metavar="[FILE.whl]...", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def audit(context: click.Context, wheels: tuple[Path, ...], as_json: bool) -> None:
    """What is inside wheels: binaries against the tags, files and modules against each other.

    Without files: inside every wheel of every cell in locks/, read from the index, against the cell's floor.
    Exit code 1 where there is a finding, be it an error or a warning; of those in locks/, one that is not accepted.
    """
    failed = _audit_files(context, wheels, as_json) if wheels else _audit_locks(context, as_json)
    if failed:
        context.exit(FINDINGS)


def _audit_files(context: click.Context, wheels: tuple[Path, ...], as_json: bool) -> bool:
    from lockgrid.commands.audit import audit as run
    from lockgrid.commands.audit import audit_as_json
    from lockgrid.core.render.audit import render_findings, render_wheel
    from lockgrid.terminal import open_progress

    progress = open_progress(quiet=context.obj[1])
    try:
        result = run(wheels, f"{sys.version_info.major}.{sys.version_info.minor}", progress)
    finally:
        progress.close()
    if as_json:
        print_json(audit_as_json(result))
    else:
        for one in result.wheels:
            line = render_wheel(one.filename, one.floors, binaries=one.binaries, read=one.read, size=one.size)
            click.echo(line, nl=False)
        click.echo(render_findings(result.findings), nl=False)
    return bool(result.findings)


def _audit_locks(context: click.Context, as_json: bool) -> bool:
    from lockgrid.commands.audit_locks import audit_locks, locks_audit_as_json
    from lockgrid.core.render.audit import read_text
    from lockgrid.core.render.found import found_lines

    with open_context(context) as ports:
        result = audit_locks(ports)
        reasons = ports.reasons_accepted()
    if as_json:
        print_json(locks_audit_as_json(result))
    else:
        word = "cell" if result.cells == 1 else "cells"
        click.echo(f"{result.cells} {word}: {read_text(result.contents.values())}")
        for line in found_lines(result.findings, reasons):
            click.echo(line)
        click.echo("no findings") if not result.findings else None
    return result.failed


for _module in (cli_diff, cli_exports, cli_git, cli_pins, cli_publish, cli_refresh):
    for _command in _module.COMMANDS:
        cli.add_command(_command)
