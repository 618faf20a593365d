"""What uv would install of a project's extras on every cell of the grid, by its `uv.lock`."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator

from packaging.requirements import Requirement

from integration.locked import Locks
from lockgrid.core.targets import marker_environments
from lockgrid.model.target import Platform, Target
from support.sandbox import Project

_EXPORT = ("export", "--frozen", "--no-emit-project", "--no-hashes", "--no-header", "--no-annotate")
_BLOCKER = "./locks/unsupported"


def extras_of(project: Project) -> list[str]:
    """The extras that lockgrid keeps."""
    manifest = tomllib.loads((project.folder / "pyproject.toml").read_text(encoding="utf-8"))
    return list(manifest["tool"]["lockgrid"]["extras"])


def assert_every_cell_is_exported(project: Project, loose: Collection[str] = ()) -> None:
    """Assert that uv installs exactly the pins of each proven cell, and that it fails on each that is unsupported.

    uv says what it would install where; packaging answers the markers for each target. ``loose`` are packages that uv
    may install or not where a cell pins them or does not.
    """
    locks = Locks(project)
    supported = tomllib.loads((project.folder / "uv.lock").read_text(encoding="utf-8")).get("supported-markers", [])
    for extra in extras_of(project):
        out = project.uv(*_EXPORT, "--extra", extra).expect(0).out
        asked = [Requirement(line.replace(_BLOCKER, "blocker", 1)) for line in lines(out)]
        for (environment, platform, python), cell in locks.cells.items():
            if environment != extra:
                continue
            where = Target(platform=Platform(name=platform), python=python)
            if cell["status"] == "proven":
                wanted = {f"{n}=={v}" for n, v in locks.versions(extra, platform, python).items()}
            else:  # refused as a whole, or by the package that cannot be built
                wanted = {"blocker"} if any(applies(f"x ; {marker}", where) for marker in supported) else set()
            got = {f"{r.name}{r.specifier}" for r in asked if applies(str(r), where)}
            wanted, got = ({pin for pin in pins if pin.partition("==")[0] not in loose} for pins in (wanted, got))
            assert (extra, platform, python, got) == (extra, platform, python, wanted)


def lines(out: str) -> Iterator[str]:
    """The lines of an export that stand for packages."""
    return (line for line in out.splitlines() if line and not line.startswith(("#", "-")))


def applies(line: str, target: Target) -> bool:
    """Whether a requirement is for a target; one of several Pythons X.Y.Z is as good as another here."""
    marker = Requirement(line).marker
    answers: dict[str, str | set[str] | frozenset[str]] = dict(marker_environments(target)[0])
    return marker is None or marker.evaluate(answers)
