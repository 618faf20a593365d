"""Fixtures: a loopback index, projects beside it, and uv caches that know this Python already."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.scenario import Scenario

MakeProject = Callable[..., Project]
Start = Callable[[str], Project]

#: The index of tests to which the packages do not matter: one that asks for another.
LIB_AND_DEP = """
[[packages]]
name = "lib"
version = "1.0"
requires = ["dep"]
[[packages]]
name = "dep"
version = "1.0"
"""


def few_targets(*pythons: str) -> str:
    """The ``[targets]`` of a scenario that needs no more than these Pythons, on Linux and Windows."""
    return f"""
[targets]
pythons = {list(pythons)}
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
"""


def fresh_caches(project: Project) -> dict[str, str | None]:
    """Empty caches of pages, as variables: what tomorrow's run would have."""
    empty = tempfile.mkdtemp(dir=project.home)
    return {"LOCKGRID_CACHE_DIR": f"{empty}/lockgrid", "UV_CACHE_DIR": f"{empty}/uv"}


@pytest.fixture(scope="session")
def interpreters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What uv caches about interpreters: a fifth of a second, and the same for every test."""
    folder = tmp_path_factory.mktemp("warm")
    with LocalIndex() as index:
        project = Project(folder, index, folder / "cache")
        project.uv("python", "find").expect(0)
    return list((folder / "cache").glob("interpreter-*"))


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory, interpreters: list[Path]) -> MakeProject:
    """Return a function that makes a project of a scenario beside an index.

    Each has a uv cache of its own: two indexes may get the same port one after the other, and uv
    would then take the pages of the one for those of the other.
    """

    def make(content: Scenario, index: LocalIndex, *, name: str = "project") -> Project:
        folder = tmp_path_factory.mktemp(content.name)
        content.write_project(folder / name)
        cache = folder / "cache"
        for known in interpreters:
            shutil.copytree(known, cache / known.name)
        return Project(folder / name, index, cache)

    return make


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as running:
        yield running


@pytest.fixture
def start(index: LocalIndex, make_project: MakeProject) -> Start:
    """Return a function from the text of a scenario to a project; the index then holds its packages."""

    def begin(text: str) -> Project:
        content = scenario.parse(text)
        content.populate(index)
        return make_project(content, index)

    return begin


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest) -> Iterator[LocalIndex]:
    """Serve the module's ``CONTENT``, a scenario, to all of its tests."""
    with LocalIndex() as running:
        request.module.CONTENT.populate(running)
        yield running


@pytest.fixture(scope="module")
def locked(request: pytest.FixtureRequest, make_project: MakeProject, served: LocalIndex) -> Project:
    """Return a project of the module's ``CONTENT``, locked; not to be touched."""
    project = make_project(request.module.CONTENT, served)
    project.run("lock").expect(0)
    return project


@pytest.fixture
def copy(locked: Project, served: LocalIndex, tmp_path: Path) -> Project:
    """Return a copy of the locked project, to break; it remembers nothing but what uv does."""
    shutil.copytree(locked.folder, tmp_path / "copy")
    return Project(tmp_path / "copy", served, locked.cache)


@pytest.fixture(scope="session")
def locked_once(make_project: MakeProject) -> Callable[[str], Path]:
    """Return a function from the text of a scenario to its project folder, locked; not to be touched."""
    known: dict[str, Project] = {}

    def lock(text: str) -> Path:
        if text not in known:
            content = scenario.parse(text)
            with LocalIndex() as index:
                content.populate(index)
                known[text] = make_project(content, index)
                known[text].run("lock").expect(0)
        return known[text].folder

    return lock


@pytest.fixture
def start_locked(start: Start, locked_once: Callable[[str], Path]) -> Start:
    """Return what `start` returns, but locked: the same lock in each test, and nothing remembered of making it."""

    def begin(text: str) -> Project:
        project = start(text)
        shutil.copytree(locked_once(text), project.folder, dirs_exist_ok=True)
        return project

    return begin
