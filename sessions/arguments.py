"""What stands after ``--`` on nox's command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sessions.failure import Failure

USAGE = "nox -s BACKEND -- [--python X.Y] [--report FILE] [--require-all] [--upstream] [PYTEST ARGS]"


@dataclass(frozen=True, slots=True)
class Arguments:
    """``python`` None: the session chooses; ``report``: a file for one backend, a folder for all of them."""

    python: str | None
    report: str | None
    require_all: bool
    upstream: bool
    pytest: tuple[str, ...]


class Parser(argparse.ArgumentParser):
    """Reads the options of a session; what is wrong with them is a ``Failure`` that tells the usage."""

    def __init__(self, usage: str) -> None:
        super().__init__(usage=usage, add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise Failure("arguments", f"{message}; usage: {self.usage}")


def parse(given: Sequence[str], folder: str = "") -> Arguments:
    """Read the arguments; those that are not the session's own go to pytest. Raises ``Failure``.

    ``folder`` is where nox was started: a relative report is meant from there.
    """
    if {"-h", "--help"} & set(given):
        raise Failure("arguments", f"usage: {USAGE}")
    parser = Parser(USAGE)
    parser.add_argument("--python")
    parser.add_argument("--report")
    parser.add_argument("--require-all", action="store_true")
    parser.add_argument("--upstream", action="store_true")
    own, rest = parser.parse_known_args(given)
    report = str(Path(folder) / own.report) if own.report else None
    return Arguments(own.python, report, own.require_all, own.upstream, tuple(rest))
