"""What stands after ``--`` on nox's command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure("arguments", f"{message}; usage: {USAGE}")


def parse(given: Sequence[str]) -> Arguments:
    """Read the arguments; those that are not the session's own go to pytest. Raises ``Failure``."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--python")
    parser.add_argument("--report")
    parser.add_argument("--require-all", action="store_true")
    parser.add_argument("--upstream", action="store_true")
    own, rest = parser.parse_known_args(given)
    return Arguments(own.python, own.report, own.require_all, own.upstream, tuple(rest))
