"""The cells as a matrix of GitHub Actions, or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockgrid.core.matrix import Job

_HEAD = ("environment", "platform", "python", "runner", "session")


def matrix_as_json(jobs: Sequence[Job]) -> dict[str, Any]:
    """For ``fromJSON``; several labels of a runner are a list."""
    return {
        "include": [
            {
                "environment": job.environment,
                "platform": job.platform,
                "python": job.python,
                "runner": job.runner[0] if len(job.runner) == 1 else list(job.runner),
                "lockfile": job.lockfile,
                "session": job.session,
            }
            for job in jobs
        ]
    }


def render_matrix(jobs: Sequence[Job]) -> str:
    """One line for each platform of an environment, and how many jobs there are."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for job in jobs:
        rows.setdefault((job.environment, job.platform, ", ".join(job.runner), job.session), []).append(job.python)
    table = [_HEAD, *((e, p, " ".join(pythons), run, session) for (e, p, run, session), pythons in rows.items())]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
    lines = ["  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*(lines if rows else []), f"{len(jobs)} job{'' if len(jobs) == 1 else 's'}"]) + "\n"
