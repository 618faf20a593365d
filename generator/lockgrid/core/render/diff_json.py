"""A diff for machines. Keys are added, never changed in meaning while ``schema`` is the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lockgrid.model.advisory import CellName
from lockgrid.model.diff import (
    AdvisoryChange,
    CellChange,
    EnvironmentDiff,
    FilesChange,
    FindingChange,
    GridDiff,
    LicenceChange,
    Move,
    Side,
)

SCHEMA = 1


def render(diff: GridDiff) -> str:
    """The text of the document (docs/diff.md explains every key)."""
    return json.dumps(values(diff), indent=2, ensure_ascii=False) + "\n"


def values(diff: GridDiff) -> dict[str, Any]:
    """The same as values of JSON."""
    return {
        "schema": SCHEMA,
        "old": _side(diff.old),
        "new": _side(diff.new),
        "empty": diff.empty,
        "notes": list(diff.notes),
        "environments": [_environment(environment) for environment in diff.environments],
        "groups": [
            {"name": group.name, "moves": _moves(group.moves), "along": _moves(group.along)} for group in diff.groups
        ],
        "files": [_files(change, diff) for change in diff.files],
        "findings": [_finding(change) for change in diff.findings],
        "licences": {
            "compared": not diff.licences_why,
            "why-not": diff.licences_why,
            "changes": [_licence(change) for change in diff.licences],
            "unknown": list(diff.licences_unknown),
        },
        "advisories": {
            "compared": not diff.advisories_why,
            "why-not": diff.advisories_why,
            "service": diff.service,
            "fixed": [_advisory(change) for change in diff.advisories if change.fixed],
            "new": [_advisory(change) for change in diff.advisories if not change.fixed],
            "not-audited": [{"name": n, "version": v, "why": why} for n, v, why in diff.unaudited],
        },
    }


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "commit": side.commit or None, "exclude-newer": side.exclude_newer or None}


def _cells(cells: Iterable[CellName]) -> list[dict[str, str]]:
    return [{"environment": e, "platform": platform, "python": python} for e, platform, python in cells]


def _moves(moves: Iterable[Move]) -> list[dict[str, Any]]:
    return [
        {
            "name": move.name,
            "old": move.old or None,
            "new": move.new or None,
            "kind": move.kind,
            "step": move.step or None,
            "asked-by": list(move.asked_by),
            "cells": _cells(move.cells),
        }
        for move in moves
    ]


def _environment(environment: EnvironmentDiff) -> dict[str, Any]:
    return {
        "name": environment.name,
        "changed": environment.changed,
        "cells": {"before": len(environment.cells_before), "after": len(environment.cells_after)},
        "gained": [_cell(change) for change in environment.gained],
        "lost": [_cell(change) for change in environment.lost],
        "brought": [{"name": name, "version": version} for name, version in environment.brought],
        "moves": _moves(environment.moves),
        "download": [
            {"platform": size.platform, "python": size.python, "before": size.before, "after": size.after}
            for size in environment.sizes
        ],
    }


def _cell(change: CellChange) -> dict[str, Any]:
    _, platform, python = change.cell
    return {
        "platform": platform,
        "python": python,
        "packages": change.packages,
        "because": change.because or None,
    }


def _files(change: FilesChange, diff: GridDiff) -> dict[str, Any]:
    def listed(hashes: Iterable[str]) -> list[dict[str, Any]]:
        return [{"sha256": sha, "filename": diff.filenames.get(sha)} for sha in hashes]

    return {
        "name": change.name,
        "version": change.version,
        "added": listed(change.added),
        "removed": listed(change.removed),
        "cells": _cells(change.cells),
    }


def _finding(change: FindingChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "environment": change.environment,
        "name": change.name,
        "severity": change.severity,
        "accepted": change.accepted,
        "what": change.what,
        "packages": list(change.packages),
        "cells": _cells(change.cells),
    }


def _licence(change: LicenceChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "old": change.old or None,
        "new": change.new,
        "before": change.before or None,
        "after": change.after,
        "cells": _cells(change.cells),
    }


def _advisory(change: AdvisoryChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "aliases": list(change.aliases),
        "description": change.description,
        "name": change.name,
        "versions": list(change.versions),
        "environments": list(change.environments),
    }
