"""`lockgrid show` and `lockgrid explain` read the grid, offline and without uv, for people and for machines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result

OFFLINE = {"PATH": "", "LOCKGRID_UV": "/nonexistent", "UV_DEFAULT_INDEX": None}
CONTENT = scenario.parse(
    """
[[packages]]
name = "kit"
version = "1.0"
requires = ["engine==1.0", "gears"]
[[packages]]
name = "engine"
version = "0.9"
[[packages]]
name = "engine"
version = "1.0"
python_wheels = "3.12-3.13"
[[packages]]
name = "gears"
version = "3.0"
wheels = ["py3-none-manylinux_2_28_x86_64", "cp313-cp313-win_amd64"]
[targets]
pythons = ["3.12", "3.13", "3.14"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.car]
requires = ["kit"]
[envs.bike]
summary = "two wheels"
requires = ["engine"]
""",
    name="reading",
)


@pytest.fixture(scope="module")
def locked(make_project: MakeProject) -> Iterator[Project]:
    with LocalIndex() as index:
        CONTENT.populate(index)
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
    before = project.snapshot(".")
    yield project
    assert project.snapshot(".") == before


def read(project: Project, *args: str) -> Result:
    return project.run(*args, env=OFFLINE)


def test_show_draws_every_cell_and_every_reason(locked: Project) -> None:
    out = read(locked, "show").expect(0).out
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in out.splitlines() if line.startswith(("car", "bike"))}
    assert rows["car", "linux-x86_64"] == ["3", "3", "-"]
    assert rows["car", "windows-x86_64"] == ["-", "3", "-"]
    assert rows["bike", "windows-x86_64"] == ["1", "1", "1"]
    assert "engine==1.0" in out
    assert "gears" in out
    assert "bike: two wheels" in out.splitlines()


def test_show_needs_the_grid_alone(locked: Project, tmp_path: Path) -> None:
    shutil.copytree(locked.folder / "locks", tmp_path / "locks")
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "bike.toml").write_text("[broken", encoding="utf-8")
    out = read(Project(tmp_path, locked.index, locked.cache), "show").expect(0).out
    assert "two wheels" not in out
    assert out == read(locked, "show").out.replace("bike: two wheels\n\n", "")


def test_show_for_machines_is_the_grid(locked: Project) -> None:
    result = read(locked, "show", "--json").expect(0)
    grid = Locks(locked).grid
    shown = result.json()
    assert shown["exclude-newer"] == grid["exclude-newer"].strftime("%Y-%m-%dT%H:%M:%SZ")
    for said, cell in zip(shown["cells"], grid["cells"], strict=True):
        assert {key: said[key] for key in cell if key != "blockers"} == {
            k: v for k, v in cell.items() if k != "blockers"
        }
    assert shown["lockfiles"] == grid["lockfiles"]


def test_explain_says_what_is_there_what_is_missing_and_what_would_serve(locked: Project) -> None:
    out = read(locked, "explain", "car", "windows-x86_64", "3.14").expect(0).out
    assert "engine==1.0" in out
    assert "kit==1.0" in out
    assert "CPython 3.12 to 3.13" in out
    assert "0.9" in out
    assert "gears" in out
    assert "windows-x86_64" in out
    assert "linux-x86_64" not in out
    assert "Python 3.12:" not in out


def test_explain_narrows_by_platform_and_python(locked: Project) -> None:
    def cells(*args: str) -> list[tuple[str, str, str]]:
        said = read(locked, "explain", *args, "--json").expect(0).json()
        return [(cell["platform"], cell["python"], cell["status"]) for cell in said]

    assert len(cells("car")) == 6
    assert cells("car", "linux-x86_64") == [
        ("linux-x86_64", "3.12", "proven"),
        ("linux-x86_64", "3.13", "proven"),
        ("linux-x86_64", "3.14", "unsupported"),
    ]
    assert cells("car", "windows-x86_64", "3.12") == [("windows-x86_64", "3.12", "unsupported")]


def test_explain_of_a_proven_cell_says_so(locked: Project) -> None:
    assert "proven" in read(locked, "explain", "bike", "linux-x86_64", "3.12").expect(0).out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("explain", "cars"), "car"),
        (("explain", "car", "linux-x86-64"), "linux-x86_64"),
        (("explain", "car", "linux-x86_64", "3.9"), "3.9"),
        (("explain",), "ENV"),
        (("shwo",), "shwo"),
        (("show", "--jsn"), "--json"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_that_helps(locked: Project, args: tuple[str, ...], says: str) -> None:
    result = read(locked, *args).expect(2)
    assert says in result.err
    assert result.out == ""
    assert "Traceback" not in result.err


@pytest.mark.parametrize("args", [("show",), ("explain", "car")])
def test_without_a_lock_they_say_what_to_run(make_project: MakeProject, args: tuple[str, ...]) -> None:
    with LocalIndex() as index:
        project = make_project(CONTENT, index)
    result = read(project, *args).expect(2)
    assert "lockgrid lock" in result.err


def test_lock_for_machines_prints_json_alone(make_project: MakeProject) -> None:
    with LocalIndex() as index:
        CONTENT.populate(index)
        project = make_project(CONTENT, index)
        said = project.run("lock", "--json").expect(0).json()
        assert len(said["cells"]) == 12
        again = project.run("--quiet", "lock", "--json").expect(0)
    assert said["cells"] == again.json()["cells"]
    assert "locks/car/linux-x86_64.txt" in said["written"]
    assert again.json()["written"] == []
