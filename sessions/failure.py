"""Why a session cannot go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Failure(Exception):
    """What is wrong and what to do next.

    ``stage``: arguments, grid, install, isolation, closure, smoke, flow, tools, crosscheck or ways. ``result``: what
    the tests reported, for the stage flow.
    """

    def __init__(self, stage: str, message: str, result: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.stage = stage
        self.message = message
        self.result = dict(result or {})
