"""``lockgrid advisories``: what a vulnerability service knows of the pins in ``locks/``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lockgrid.adapters.cache import cache_folder
from lockgrid.adapters.pipaudit import PipAudit, find_pip_audit
from lockgrid.commands.context import Context
from lockgrid.commands.locked import Locked, read_locked
from lockgrid.core.advisories import distrust_silence, judge, parse_report, pins_of, question_text, questions
from lockgrid.core.digest import digest_text
from lockgrid.errors import InputError, Problem
from lockgrid.model.advisory import Advisories, Advisory, CellName, PinName, Reported
from lockgrid.model.grid import Grid

#: The service that tells a package without advisories from one that it does not know.
KNOWING = "pypi"


def advisories(context: Context, service: str, osv_url: str = "", *, trust_silence: bool = False) -> Advisories:
    """Ask the service about every distinct pin of the grid, once.

    ``trust_silence``: take no answer for "no advisory", of a service that answers unknown packages so as well. Raises
    ``InputError`` where the locks are not there or were edited, ``ToolError`` where pip-audit or its service fails.
    """
    spec, grid = context.spec(), context.require_grid()
    locked = read_locked(context)
    _check(grid, locked)
    pins = pins_of(grid, locked.locks)
    reports = ask(context, pins, service, osv_url, trust_silence=trust_silence)
    return judge(spec.environments, pins, reports, service)


def ask(
    context: Context, pins: Iterable[PinName], service: str, osv_url: str = "", *, trust_silence: bool = False
) -> list[Reported]:
    """What the service says of each pin, asked once. Raises ``ToolError`` where pip-audit or its service fails."""
    tool = PipAudit(
        binary=find_pip_audit(context.environ),
        environ=context.environ,
        cache=cache_folder(context.environ) / "pip-audit",
        service=service,
        osv_url=osv_url,
    )
    asked = questions(pins)
    reports = []
    for number, some in enumerate(asked, 1):
        of = f" ({number} of {len(asked)})" if len(asked) > 1 else ""
        context.progress.step(f"pip-audit asks {service} about {len(some)} pins{of}")
        report = parse_report(tool.report(question_text(some)), some)
        reports.append(report if service == KNOWING or trust_silence else distrust_silence(report))
    return reports


def _check(grid: Grid, locked: Locked) -> None:
    """The lockfiles must be those that the grid was proven with: others might leave a pin out."""
    problems = []
    for path, digest in grid.lockfiles:
        text = locked.texts.get(path)
        if text is None or digest_text(text) != digest:
            what = "is missing" if text is None else "was edited since the lock"
            problems.append(Problem(file=f"locks/{path}", what=what))
    if problems:
        raise InputError(problems, next_step="restore it, or run `lockgrid lock`")


def advisories_as_json(found: Advisories) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "service": found.service,
        "pins": found.pins,
        "cells": found.cells,
        "advisories": [_advisory(advisory) for advisory in found.advisories],
        "not-audited": [
            {"name": pin.name, "version": pin.version, "why": pin.why, "cells": _cells(pin.cells)}
            for pin in found.not_audited
        ],
        "stale": [{"file": file, "accept": name} for file, name in found.stale],
    }


def _advisory(advisory: Advisory) -> dict[str, Any]:
    return {
        "id": advisory.id,
        "aliases": list(advisory.aliases),
        "description": advisory.description,
        "accepted": [{"environment": name, "why": why} for name, why in advisory.accepted],
        "open": list(advisory.open),
        "pins": [
            {"name": pin.name, "version": pin.version, "fixed": pin.fixed or None, "cells": _cells(pin.cells)}
            for pin in advisory.pins
        ],
    }


def _cells(cells: tuple[CellName, ...]) -> list[dict[str, str]]:
    return [{"environment": e, "platform": platform, "python": python} for e, platform, python in cells]
