"""``lockgrid refresh``: what is old enough is taken, what need not move stays, and what stands in the way is named."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from typing import Any

import pytest

from integration.conftest import LIB_AND_DEP, Start, few_targets
from integration.locked import Locks
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

TARGETS = few_targets("3.12", "3.13").replace("[targets]", '[targets]\ncooldown = "7 days"')
LINUX = ("app", "linux-x86_64", "3.12")
BASE = f"""
{LIB_AND_DEP}
[envs.app]
requires = ["lib"]
{TARGETS}
"""
LOCKED = "2026-03-01"
NOW = "2026-04-10"  # so the cut-off is the third of April
COOL, YOUNG = "2026-04-02T12:00:00Z", "2026-04-05T12:00:00Z"


def fresh_caches(project: Project) -> dict[str, str | None]:
    """Empty caches of pages, as tomorrow's run would have."""
    empty = tempfile.mkdtemp(dir=project.home)
    return {"LOCKGRID_CACHE_DIR": f"{empty}/lockgrid", "UV_CACHE_DIR": f"{empty}/uv"}


def refresh(project: Project, *args: str, now: str = NOW) -> Result:
    return project.run("refresh", "--as-of", now, *args, env=fresh_caches(project))


def lock(project: Project, *args: str) -> Result:
    return project.run("lock", *args, env=fresh_caches(project))


def report(project: Project, *args: str, now: str = NOW) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(refresh(project, "--json", *args, now=now).expect(0).out)
    return found


def versions(project: Project) -> dict[str, str]:
    return Locks(project).versions(*LINUX)


def state(project: Project) -> dict[str, tuple[bytes, int]]:
    """Every file of the project with its content and the time of its last change."""
    files = (path for path in project.folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def targets(project: Project, text: str) -> None:
    """Add to ``envs/targets.toml``."""
    path = project.folder / "envs/targets.toml"
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def relocked_from_nothing(project: Project) -> dict[str, bytes]:
    """``locks/`` after it was deleted and locked again as of the recorded cut-offs."""
    grid = Locks(project).grid
    own = [f"--as-of-package={name}={time.isoformat()}" for name, time in grid.get("exclude-newer-package", {}).items()]
    for path in sorted((project.folder / "locks").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    lock(project, "--as-of", grid["exclude-newer"].isoformat(), *own).expect(0)
    return project.snapshot(".")


@pytest.fixture
def locked(start: Start) -> Project:
    """Return a project that was locked as of March."""
    project = start(BASE)
    lock(project, "--as-of", LOCKED).expect(0)
    return project


def test_only_what_is_older_than_the_cooldown_is_taken(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    index.add(wheel("lib", "1.2", requires=["dep"]), core_metadata=True, uploaded=YOUNG)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    result = refresh(locked).expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.0"}
    assert "lib 1.0 -> 1.1 (app)" in result.out.splitlines()
    assert "wrote locks/grid.toml" in result.out.splitlines()
    assert Locks(locked).grid["exclude-newer"] == datetime(2026, 4, 3, tzinfo=UTC)
    locked.run("check").expect(0)
    after = locked.snapshot(".")
    assert relocked_from_nothing(locked) == after


def test_nothing_to_do_is_one_line_and_touches_no_file(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    before = state(locked)
    result = refresh(locked).expect(0)
    assert result.out == "nothing to refresh: no release up to 2026-04-03T00:00:00Z changes the locks\n"
    assert state(locked) == before
    assert report(locked)["changed"] is False
    assert state(locked) == before
