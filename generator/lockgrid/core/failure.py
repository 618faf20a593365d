"""What is said when requirements cannot be met."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from lockgrid.core.describe import NOT_BUILT
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.grid import Blocker, Proof
from lockgrid.model.spec import Cell, Environment
from lockgrid.model.target import Target, python_key

NEXT = "change the requirements that contradict each other in envs/"
_FILES = "require versions that have files for these targets, or list other pythons or platforms"
_FINDINGS = (
    "accept a finding by its name under [accept], with a reason; or require or override another version; "
    "or raise the floor in envs/targets.toml"
)
# uv leaves out what it cannot hold to the cut-off, and then finds nothing; or proof 3 says it.
_UNDATED = ("missing an upload date", "no upload time on the index")
_DATES = (
    "lock with an index that tells upload times (PEP 700), as this one does not (and no folder does): what is locked "
    "installs from both; or take the packages by [sources] from an index that [indexes] declares dateless"
)
_LINES = 28
_COLUMNS = 110


def unsolvable(explanation: str, sdists: Sequence[str]) -> Blocker:
    """The blocker of a cell for which uv finds no solution; ``sdists`` are packages that have no wheel for it."""
    missing = "a set of versions"
    if sdists:
        missing = f"wheels of {', '.join(sdists)}, or its name in [sdists] with a reason"
    return Blocker(proof=Proof.RESOLUTION, package="uv:", exists=" ".join(explanation.split()), missing=missing)


def indent(text: str) -> str:
    """The text wrapped and indented, its lines cut so that an error fits on a screen: each begins, and some end."""
    blocks = [textwrap.wrap(line, _COLUMNS) for line in text.splitlines()]
    if sum(map(len, blocks)) > _LINES:
        most = max(2, _LINES // len(blocks))
        blocks = [[*block[: most - 1], f"{block[most - 1]} ..."] if len(block) > most else block for block in blocks]
    lines = [line for block in blocks for line in block]
    cut = [*lines[: _LINES - 1], f"... ({len(lines) - _LINES + 1} more lines)"] if len(lines) > _LINES else lines
    return "\n".join(f"    {line}" for line in cut)


def nothing_left(environment: Environment, blockers: Mapping[Cell, Sequence[Blocker]]) -> UnsatisfiableError:
    """The error for an environment without one proven cell, with each reason once."""
    where: dict[str, list[Target]] = {}
    found: list[Blocker] = []
    for (name, target), reasons in blockers.items():
        for blocker in reasons if name == environment.name else ():
            where.setdefault(blocker.text, []).append(target)
            found.append(blocker)
    lines = [f"{text}{_only(targets, environment)}" for text, targets in where.items()]
    sdists = list(dict.fromkeys(b.missing for b in found if "[sdists]" in b.missing))
    next_step = _FILES
    if any(blocker.missing == NOT_BUILT for blocker in found):
        next_step = f"build a wheel: `lockgrid build {environment.name} -o DIR`, then `lockgrid lock --built DIR`"
    elif sdists:
        next_step = f"what is missing: {sdists[0]}"
    elif any(words in blocker.exists for blocker in found for words in _UNDATED):
        next_step = _DATES
    elif any(blocker.proof is Proof.RESOLUTION for blocker in found):
        next_step = NEXT
    elif any(blocker.finding for blocker in found):
        next_step = _FINDINGS
    return UnsatisfiableError(
        f"{environment.file}: no cell of {environment.name} can be installed:\n{indent(chr(10).join(lines))}",
        next_step=next_step,
        reasons=tuple(where),
    )


def _only(targets: Sequence[Target], environment: Environment) -> str:
    """Says where a reason holds, unless it holds everywhere."""
    if len(targets) == len(environment.targets):
        return ""
    pythons = sorted({target.python for target in targets}, key=python_key)
    platforms = sorted({target.platform.name for target in targets})
    return f" [{', '.join(platforms)}; Python {', '.join(pythons)}]"
