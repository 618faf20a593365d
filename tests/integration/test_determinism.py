"""The same inputs give the same bytes: in any folder, locale and time zone, after any history."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project

TEXT = """
[[packages]]
name = "app"
version = "1.0"
requires = ["dep", "Win.Only ; sys_platform == 'win32'", "old ; python_version < '3.12'", "tool[fast]"]
[[packages]]
name = "app"
version = "2.0"
requires = ["dep", "Win.Only ; sys_platform == 'win32'", "old ; python_version < '3.12'", "tool[fast]"]
uploaded = 2026-02-01
[[packages]]
name = "dep"
version = "1.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "dep"
version = "2.0"
python_wheels = "3.10-3.14"
uploaded = 2026-02-01
[[packages]]
name = "win-only"
version = "1.0"
[[packages]]
name = "old"
version = "1.0"
wheels = ["cp310-abi3-manylinux_2_17_x86_64", "cp310-abi3-manylinux_2_17_aarch64", "py3-none-any"]
[[packages]]
name = "tool"
version = "1.0"
extras = { fast = ["quick"] }
[[packages]]
name = "quick"
version = "1.0"
python_wheels = "3.10-3.13"
[[packages]]
name = "source"
version = "1.0"
wheels = []
sdist = { build_requires = ["builder"], dynamic = true }
[[packages]]
name = "builder"
version = "1.0"
[envs.base]
abstract = true
requires = ["app"]
[envs.one]
extends = ["base"]
requires = ["source"]
[envs.one.sdists]
source = "there is no wheel"
[envs.two]
requires = ["dep<2", "tool"]
[envs.three]
requires = ["dep>=2"]
"""
AS_OF = "2026-03-01T00:00:00Z"
CONTENT = scenario.parse(TEXT, name="determinism")


def start(make_project: MakeProject, served: LocalIndex, name: str = "project") -> Project:
    return make_project(CONTENT, served, name=name)


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    project = start(make_project, served)
    project.run("lock", "--as-of", AS_OF).expect(0)
    return project


@pytest.fixture(scope="module")
def expected(locked: Project) -> dict[str, bytes]:
    """Return locks/ and pyproject.toml as they were locked once."""
    return locked.snapshot(".")


def test_a_project_in_another_folder_as_of_the_recorded_cut_off(
    expected: dict[str, bytes], locked: Project, make_project: MakeProject, served: LocalIndex, tmp_path: Path
) -> None:
    project = start(make_project, served, "Ein Ordner, größer als 'üblich'")
    inside, project.folder = project.folder, tmp_path
    project.run("--project", str(inside), "lock", "--as-of", Locks(locked).cutoff).expect(0)
    project.folder = inside
    assert project.snapshot(".") == expected
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns", "PYTHONHASHSEED": "77", "COLUMNS": "20", "NO_COLOR": "1"},
    ],
    ids=["C", "de_DE"],
)
def test_another_locale_time_zone_and_hash_seed(
    expected: dict[str, bytes], make_project: MakeProject, served: LocalIndex, env: dict[str, str | None]
) -> None:
    project = start(make_project, served)
    project.run("lock", "--as-of", AS_OF, env=env).expect(0)
    assert project.snapshot(".") == expected


def test_deleting_locks_and_locking_as_of_the_cut_off(
    expected: dict[str, bytes], make_project: MakeProject, served: LocalIndex
) -> None:
    project = start(make_project, served)
    project.run("lock", "--as-of", AS_OF).expect(0)
    cutoff = Locks(project).cutoff
    for path in sorted((project.folder / "locks").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    project.run("lock", "--as-of", cutoff).expect(0)
    assert project.snapshot(".") == expected


def test_after_an_older_lock(expected: dict[str, bytes], make_project: MakeProject, served: LocalIndex) -> None:
    project = start(make_project, served)
    (project.folder / "envs/three.toml").write_text('requires = ["dep"]\n', encoding="utf-8")
    project.run("lock", "--as-of", "2026-01-15").expect(0)
    assert Locks(project).versions("one", "linux-x86_64", "3.12")["app"] == "1.0"
    CONTENT.write_project(project.folder)
    project.run("lock", "--as-of", AS_OF, "--upgrade").expect(0)
    assert project.snapshot(".") == expected


def test_neither_newer_files_nor_the_order_of_the_others_matter(
    expected: dict[str, bytes], make_project: MakeProject, served: LocalIndex
) -> None:
    later = scenario.parse(TEXT.replace('version = "2.0"', 'version = "3.0"').replace("2026-02-01", "2026-03-02"))
    with LocalIndex(relative_urls=True) as index:
        for offer in reversed([*CONTENT.offers, *later.offers]):
            index.add(offer.built, **offer.options)
        project = start(make_project, index)
        project.run("lock", "--as-of", AS_OF).expect(0)
    assert project.snapshot(".") == expected
