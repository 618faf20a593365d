"""Who is at fault when uv finds no solution: found by asking it for less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lockgrid.adapters.uv import Resolved
from lockgrid.adapters.uvanswer import NoSolution
from lockgrid.commands.prove import Verdict
from lockgrid.core.failure import unsolvable
from lockgrid.core.resolution import Request
from lockgrid.model.grid import Blockers
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target

Outcome = Resolved | NoSolution
Ask = Callable[[Request], Outcome]
Judge = Callable[[Request, Resolved], Verdict]
Spared = dict[Target, frozenset[str]]


def narrow(environment: Environment, request: Request, ask: Ask, judge: Judge) -> tuple[Blockers, Spared]:
    """The cells of one environment that uv cannot solve by themselves: tried by Python, then by platform.

    Also the targets that can do without overridden packages (their names), which nothing asks for there.
    """
    targets = request.targets(environment.name)
    failed: Blockers = {}
    spared: Spared = {}
    if not request.split and _failure(environment, targets, request, ask) is None:
        return failed, spared
    for python in sorted({t.python for t in targets}):
        row = tuple(t for t in targets if t.python == python)
        if _failure(environment, row, request, ask) is None:
            continue
        for target in row:
            failure = _failure(environment, (target,), request, ask)
            if failure is None:
                continue
            if without := _unasked(environment, target, request, ask, judge):
                spared[target] = without
            else:
                failed[environment.name, target] = (unsolvable(failure.explanation, failure.sdists),)
    return failed, spared


def _failure(environment: Environment, targets: tuple[Target, ...], request: Request, ask: Ask) -> NoSolution | None:
    """The answer of uv when the environment alone has no solution on these targets."""
    outcome = ask(request.part([environment], targets))
    return outcome if isinstance(outcome, NoSolution) else None


def _unasked(environment: Environment, target: Target, request: Request, ask: Ask, judge: Judge) -> frozenset[str]:
    """The overridden packages without which uv finds a solution and that nothing in it asks for.

    uv puts an override in the place of a requirement and its marker, so it reaches targets that the
    requirement did not. Empty where that is not what keeps the cell from being.
    """
    part = request.part([environment], (target,))
    spared = {override.name for override in environment.overrides}
    while spared:
        trial = part.sparing(spared, [target])
        outcome = ask(trial)
        if isinstance(outcome, NoSolution):
            break
        unmet = judge(trial, outcome).unmet.get((environment.name, target))
        if unmet is None:
            break
        if not spared & unmet:
            return frozenset(spared)
        spared -= unmet
    return frozenset()


def sharing(request: Request, ask: Ask) -> list[list[Environment]]:
    """The environments in sets: each in the first set with which uv finds a common solution."""
    sets: list[list[Environment]] = []
    for environment in request.environments:
        for members in sets:
            trial = request.part([*members, environment])
            if any(not isinstance(ask(replace(trial, split=split)), NoSolution) for split in (False, True)):
                members.append(environment)
                break
        else:
            sets.append([environment])
    return sets
