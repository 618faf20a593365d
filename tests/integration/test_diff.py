"""`lockgrid diff` after a real lock: what it knows by itself, what it asks of others, and when it cannot."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.test_advisories import REDIRECTED, VULNERABILITY, Services
from support import scenario
from support.index import LocalIndex
from support.repository import commit_all
from support.sandbox import Project

OLDER = """
[[packages]]
name = "kit"
version = "1.0"
requires = ["gears==1.0"]
headers = ["License-Expression: MIT"]
[[packages]]
name = "gears"
version = "1.0"
headers = ["Classifier: License :: OSI Approved :: MIT License"]
[[packages]]
name = "plain"
version = "1.0"
"""
NEWER = """
[[packages]]
name = "kit"
version = "1.1"
requires = ["gears==2.0"]
headers = ["License-Expression: MIT"]
uploaded = 2026-03-01T00:00:00Z
[[packages]]
name = "gears"
version = "2.0"
headers = ["License-Expression: GPL-3.0-only"]
uploaded = 2026-03-01T00:00:00Z
[[packages]]
name = "plain"
version = "1.0"
wheels = ["py312-none-any"]
uploaded = 2026-03-01T00:00:00Z
"""
PROJECT = """
[targets]
pythons = ["3.11", "3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.car]
requires = ["kit", "plain"]
"""
CONTENT = scenario.parse(OLDER + NEWER + PROJECT, name="diff")
LATER = scenario.parse(NEWER + PROJECT, name="later")
LATE = "plain-1.0-py312-none-any.whl"
Diff = Callable[..., Any]


@pytest.fixture(scope="module")
def project(make_project: MakeProject, served: LocalIndex) -> Project:
    """A project whose HEAD has the first lock, and whose work tree that of everything newer; not to be touched."""
    made = make_project(CONTENT, served)
    made.run("lock", "--as-of", "2026-02-01").expect(0)
    commit_all(made.folder)
    shutil.rmtree(made.store)
    shutil.rmtree(made.folder / "locks")  # a lock that stands keeps its files
    made.run("lock").expect(0)
    return made


@pytest.fixture
def differ(project: Project, tmp_path: Path) -> Diff:
    """Return a function that runs the verb with a cache that knows nothing; its JSON, or the result."""

    def run(*words: str, env: dict[str, str] | None = None, text: bool = False) -> Any:
        before = project.snapshot(".")
        result = project.run("diff", *words, env={"LOCKGRID_CACHE_DIR": str(tmp_path / "store"), **(env or {})}).expect(
            0
        )
        assert project.snapshot(".") == before
        return result if text else json.loads(result.out)

    return run


def test_what_moved_is_known_without_asking(differ: Diff, served: LocalIndex) -> None:
    del served.requests[:]
    said = differ("--json")
    assert served.requests == []
    (group,) = said["groups"]
    assert (group["name"], [m["name"] for m in group["along"]]) == ("kit", ["gears"])
    assert [(f["name"], len(f["added"]), len(f["removed"])) for f in said["files"]] == [("plain", 1, 0)]
    assert {f["filename"] for f in said["files"][0]["added"]} == {None}
    assert said["licences"]["unknown"] == ["gears", "kit"]


def test_the_cache_of_a_lock_knows_licences_and_names(project: Project, differ: Diff, served: LocalIndex) -> None:
    del served.requests[:]
    said = differ("--json", env={"LOCKGRID_CACHE_DIR": str(project.store)})
    assert served.requests == []
    assert said["licences"]["unknown"] == ["gears", "kit"]  # this cache never saw the old ones
    assert [f["filename"] for f in said["files"][0]["added"]] == [LATE]


def test_the_index_tells_the_rest(differ: Diff) -> None:
    said = differ("--json", "--licences")
    assert [(c["name"], c["before"], c["after"]) for c in said["licences"]["changes"]] == [
        ("gears", "MIT", "GPL-3.0-only")
    ]
    assert said["licences"]["unknown"] == []
    assert [f["filename"] for f in said["files"][0]["added"]] == [LATE]


def test_what_is_gone_from_the_index_is_said_to_be(make_project: MakeProject, project: Project, tmp_path: Path) -> None:
    with LocalIndex() as index:
        LATER.populate(index)
        other = make_project(CONTENT, index)
        shutil.copytree(project.folder, other.folder, dirs_exist_ok=True)
        said = other.run("diff", "--licences").expect(0).out
    assert "licences: not known of gears, kit: the index has none of their files any more" in said


def test_a_dead_index_is_told_and_breaks_nothing(differ: Diff) -> None:
    result = differ("--licences", env={"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple"}, text=True)
    assert "kit 1.0 -> 1.1 minor" in result.out
    assert "licences: not known of gears, kit: the index could not be asked: " in result.out
    assert "note: the index could not be asked" in result.err


@pytest.fixture
def services() -> Iterator[Services]:
    running = Services()
    running.known = {"kit/1.0": [], "kit/1.1": [], "gears/1.0": [VULNERABILITY], "gears/2.0": []}
    yield running
    running.stop()


@pytest.mark.skipif(not importlib.util.find_spec("pip_audit"), reason="pip-audit is not installed here")
@pytest.mark.skipif(os.name == "nt", reason="a script stands in front of pip-audit")
def test_advisories_of_what_moved_are_asked_for(differ: Diff, services: Services, tmp_path: Path) -> None:
    main, binary = tmp_path / "main.py", tmp_path / "pip-audit"
    main.write_text(REDIRECTED.format(url=services.url), encoding="utf-8")
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{main}" "$@"\n', encoding="utf-8")
    binary.chmod(0o755)
    env = {"LOCKGRID_PIP_AUDIT": str(binary)}
    said = differ("--json", "--advisories", env=env)["advisories"]
    assert [(a["id"], a["name"], a["versions"], a["environments"]) for a in said["fixed"]] == [
        ("PYSEC-2026-1", "gears", ["1.0"], ["car"])
    ]
    assert (said["new"], said["not-audited"], said["service"]) == ([], [], "pypi")
    assert sorted(services.asked) == ["gears/1.0", "gears/2.0", "kit/1.0", "kit/1.1"]
    services.status = 500
    said = differ(
        "--json", "--advisories", env={"LOCKGRID_PIP_AUDIT": str(binary), "LOCKGRID_CACHE_DIR": str(main) + "x"}
    )
    assert (said["advisories"]["compared"], said["advisories"]["why-not"][:9]) == (False, "pip-audit")


def test_only_the_cells_that_moved_are_jobs(project: Project) -> None:
    said = json.loads(project.run("matrix", "--json", "--changed-since", "HEAD").expect(0).out)
    assert len(said["include"]) == 4
    commit_all(project.folder)
    assert json.loads(project.run("matrix", "--json", "--changed-since", "HEAD").expect(0).out) == {"include": []}
