"""Sessions: lockgrid's own tools, and one for each backend. Needs only nox and uv.

``nox -s lock check`` locks and checks; ``nox -s tests`` tests lockgrid; ``nox -s vgf`` builds the venv of a
backend from its lockfile and runs its flow; ``nox -s flows`` does so for all of them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import nox

if sys.version_info < (3, 11):  # noqa: UP036  # what it runs may be older: nox -s tosa -- --python 3.10
    sys.exit("nox itself must run on Python 3.11 or newer here")
sys.path.insert(0, str(Path(__file__).parent))

from sessions.arguments import parse
from sessions.backend import backends, run_backend, run_backends
from sessions.cell import Grid
from sessions.crosscheck import crosscheck as judge_locks
from sessions.failure import Failure
from sessions.machine import ROOT, RUNNING, UV, clean_env, host_platform, sync_command
from sessions.uvsettings import uv_env
from sessions.ways import ways as go_every_way

LOCKS = ROOT / "locks"
SCHEMAS = ("vendor.github-workflows", "custom.github-workflows-require-timeout")
# Pedantic: also an action or a permission without a word on it. Offline: what it would ask the forge, it leaves.
ZIZMOR = ("--offline", "--persona=pedantic", "--strict-collection", "--no-progress", "--quiet")
T = TypeVar("T")

nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests"]


def _orderly(session: nox.Session, job: Callable[[], T]) -> T:
    """Run a job; a ``Failure`` ends the session with its message."""
    try:
        return job()
    except Failure as failure:
        return session.error(failure.message)


# -- lockgrid itself --------------------------------------------------------------------------------------


def install_tools(session: nox.Session, *, bootstrap: bool = False) -> None:
    """Install the ``dev`` environment from its lockfile, and lockgrid itself from this tree.

    ``bootstrap``: where ``dev`` is not locked yet, install lockgrid with what its pyproject.toml asks for.
    """
    with ExitStack() as stack:
        env = _orderly(session, lambda: stack.enter_context(uv_env()))
        _install_tools(session, env, bootstrap=bootstrap)


def _install_tools(session: nox.Session, env: dict[str, str], *, bootstrap: bool) -> None:
    cells = _orderly(session, lambda: Grid(ROOT, host_platform()).cells("dev"))
    cell = cells.get(RUNNING)
    python = str(session.virtualenv.location)
    options: dict[str, Any] = {"env": env, "include_outer_env": False, "external": True}
    install = [*UV, "pip", "install", "--quiet", "--python", python]
    lockfile = LOCKS / "dev" / f"{host_platform()}.txt"
    if bootstrap and not lockfile.is_file():
        session.warn("locks/dev is not there yet: installing lockgrid unpinned, from generator/pyproject.toml")
        session.run_install(*install, "--editable", "generator", **options)
        return
    if not LOCKS.is_dir():
        session.error("nothing is locked: run `nox -s lock`")
    if cell is None or cell["status"] != "proven":
        known = ", ".join(p for p, c in cells.items() if c["status"] == "proven") or "none on this machine"
        session.error(f"dev is not proven on {host_platform()} with Python {RUNNING}; run nox on one of: {known}")
    session.run_install(*sync_command(python, lockfile, LOCKS / "build.txt"), **options)
    install += ["--no-deps", "--no-build-isolation", "--offline", "--compile-bytecode", "--editable", "generator"]
    session.run_install(*install, **options)


def run(session: nox.Session, *command: str) -> None:
    """Run a tool of the session's venv in the clean environment."""
    env = clean_env() | {"PATH": os.pathsep.join([*(session.virtualenv.bin_paths or []), os.environ.get("PATH", "")])}
    session.run(*command, env=env, include_outer_env=False)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve and prove the grid, write locks/. Arguments go to ``lockgrid lock``."""
    install_tools(session, bootstrap=True)
    run(session, "lockgrid", "lock", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Check offline that locks/ is in date."""
    install_tools(session)
    run(session, "lockgrid", "check", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Test lockgrid: unit tests offline, integration tests against a local index, a few against the real one."""
    install_tools(session)
    run(session, "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, the direction of imports, and the workflows."""
    install_tools(session)
    run(session, "ruff", "format", "--check", ".")
    run(session, "ruff", "check", ".")
    run(session, "lint-imports")
    workflows = sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github/workflows").glob("*.yml"))
    for schema in SCHEMAS:
        run(session, "check-jsonschema", "--builtin-schema", schema, *workflows)
    run(session, "zizmor", *ZIZMOR, ".github")


@nox.session
def typing(session: nox.Session) -> None:
    """Check types, strictly."""
    install_tools(session)
    run(session, "mypy")


@nox.session
def bench(session: nox.Session) -> None:
    """Compare lockgrid with uv in one run: medians of pairs. Arguments go to tests/bench/bench.py."""
    install_tools(session)
    run(session, "python", "tests/bench/bench.py", *session.posargs)


@nox.session(venv_backend="none")
def crosscheck(session: nox.Session) -> None:
    """Have pip's own resolver judge the locks of this machine. Arguments: [ENV...] [--python X.Y | --every-python]."""
    _orderly(session, lambda: judge_locks(session.posargs))


@nox.session
def ways(session: nox.Session) -> None:
    """Install the cells of this machine in every way and compare. Arguments: [ENV...] [--python X.Y] [--way WAY]..."""
    install_tools(session)
    lockgrid = shutil.which("lockgrid", path=os.pathsep.join(session.virtualenv.bin_paths or []))
    _orderly(session, lambda: go_every_way(session.posargs, [lockgrid or "lockgrid"]))


# -- the backends -----------------------------------------------------------------------------------------


def _register(environment: str, summary: str) -> None:
    """Give a backend its session: any environment with a ``tests/flows/test_<environment>.py`` has one."""

    def run_one(session: nox.Session) -> None:
        _orderly(session, lambda: run_backend(environment, parse(session.posargs, session.invoked_from)))

    run_one.__doc__ = f"{summary}. Arguments: see docs/backends.md."
    nox.session(name=environment, venv_backend="none")(run_one)


BACKENDS = backends()
for _environment, _summary in BACKENDS.items():
    _register(_environment, _summary)


@nox.session(venv_backend="none")
def flows(session: nox.Session) -> None:
    """Run the flow of every backend; fail when one of them fails."""
    _orderly(session, lambda: run_backends(list(BACKENDS), parse(session.posargs, session.invoked_from)))
