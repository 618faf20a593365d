"""`lockgrid check` tells offline and without uv whether locks/ is what envs/ asks for, and how to mend it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result

OFFLINE = {"PATH": "", "LOCKGRID_UV": "/nonexistent", "UV_DEFAULT_INDEX": None}
CONTENT = scenario.parse(
    """
[[packages]]
name = "lib"
version = "1.0"
python_wheels = "3.12-3.13"
[[packages]]
name = "source"
version = "1.0"
wheels = []
sdist = true
[[packages]]
name = "setuptools"
version = "80.0.0"
[[packages]]
name = "pure"
version = "1.0"
[targets]
pythons = ["3.12", "3.13", "3.14"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.ground]
abstract = true
requires = ["lib"]
[envs.app]
extends = ["ground"]
[envs.other]
extends = ["ground"]
requires = ["source"]
[envs.other.sdists]
source = "there is no wheel"
[envs.wide]
requires = ["pure"]
""",
    name="check",
)


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    project = make_project(CONTENT, served)
    (project.folder / "README.md").write_text(
        "# Environments\n\n<!-- lockgrid: the grid, written by `lockgrid lock` -->\n<!-- lockgrid: end -->\n\nEnd.\n"
    )
    project.run("lock").expect(0)
    return project


def check(project: Project, *args: str) -> Result:
    return project.run("check", *args, env=OFFLINE)


def replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        text = (folder / path).read_bytes().decode()
        assert old in text
        (folder / path).write_bytes(text.replace(old, new, 1).encode())

    return apply


def append(path: str, text: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        with (folder / path).open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    return apply


def delete(path: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).unlink()


def lose_a_cell(folder: Path) -> None:
    text = (folder / "locks/grid.toml").read_text(encoding="utf-8")
    head, *cells = text.split("[[cells]]")
    (folder / "locks/grid.toml").write_text("[[cells]]".join([head, *cells[:2], *cells[3:]]), encoding="utf-8")


DIFFERENCES = {
    "a requirement": (replace("envs/app.toml", "extends", 'requires = ["lib>=1"]\nextends'), "envs/app.toml"),
    "a requirement of the base": (replace("envs/ground.toml", '"lib"', '"lib>=1"'), "envs/app.toml"),
    "a Python": (replace("envs/targets.toml", '["3.12", ', "["), "3.12"),
    "a new Python": (replace("envs/targets.toml", '"3.14"', '"3.14", "3.15"'), "3.15"),
    "a floor": (replace("envs/targets.toml", "2.28", "2.31"), "envs/app.toml"),
    "a platform": (append("envs/targets.toml", '\n[platforms.macos-arm64]\nmacos = "15.0"\n'), "macos-arm64"),
    "a new environment": (append("envs/new.toml", 'requires = ["lib"]\n'), "envs/new.toml"),
    "an environment gone": (delete("envs/app.toml"), "envs/app.toml"),
    "an sdist gone": (
        lambda f: (f / "envs/other.toml").write_text('extends = ["ground"]\nrequires = ["source"]\n'),
        "envs/other.toml",
    ),
    "a lockfile edited": (append("locks/app/linux-x86_64.txt", "# mine\n"), "locks/app/linux-x86_64.txt"),
    "a pin edited": (replace("locks/app/windows-x86_64.txt", "lib==1.0", "lib==1.1"), "locks/app/windows-x86_64.txt"),
    "a lockfile gone": (delete("locks/app/windows-x86_64.txt"), "locks/app/windows-x86_64.txt"),
    "a lockfile too many": (append("locks/app/macos-arm64.txt", "lib==1.0\n"), "locks/app/macos-arm64.txt"),
    "build.txt edited": (append("locks/build.txt", "\n"), "locks/build.txt"),
    "build.txt gone": (delete("locks/build.txt"), "locks/build.txt"),
    "a cell gone": (lose_a_cell, "app on linux-x86_64, Python 3.14"),
    "the grid gone": (delete("locks/grid.toml"), "locks/grid.toml"),
    "everything gone": (lambda folder: shutil.rmtree(folder / "locks"), "locks/grid.toml"),
    "an extra edited": (replace("pyproject.toml", '"source"', '"sauce"'), "pyproject.toml"),
    "a constraint edited": (replace("pyproject.toml", '"lib==1.0"', '"lib==1.1"'), "constraint-dependencies"),
    "the package that cannot be built gone": (delete("locks/unsupported/unsupported.py"), "locks/unsupported"),
    "the package that cannot be built edited": (append("locks/unsupported/pyproject.toml", "\n"), "locks/unsupported"),
    "pyproject.toml gone": (delete("pyproject.toml"), "pyproject.toml"),
    "README.md edited": (replace("README.md", "| app |", "| appp |"), "README.md"),
}


def test_a_fresh_lock_is_in_date(copy: Project) -> None:
    before = copy.snapshot(".")
    result = check(copy).expect(0)
    assert result.out == "in date\n"
    assert check(copy, "--json").expect(0).json() == []
    assert copy.snapshot(".") == before


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_one_line_that_names_it_and_the_command_that_mends_it(copy: Project, name: str) -> None:
    change, where = DIFFERENCES[name]
    change(copy.folder)
    before = copy.snapshot(".")
    result = check(copy).expect(1)
    lines = result.out.splitlines()
    assert any(where in line for line in lines), result.out
    assert all(re.search(r"`lockgrid lock[^`]*`", line) for line in lines), result.out
    assert copy.snapshot(".") == before


def test_every_difference_is_told_at_once(copy: Project) -> None:
    for name in ("a requirement", "a pin edited", "a lockfile too many", "build.txt gone", "an extra edited"):
        DIFFERENCES[name][0](copy.folder)
    lines = check(copy).expect(1).out.splitlines()
    for where in ("envs/app.toml", "windows-x86_64.txt", "macos-arm64.txt", "build.txt", "pyproject.toml"):
        assert sum(where in line for line in lines) >= 1, where
    said = check(copy, "--json").expect(1).json()
    assert [f"{each['where']}: {each['what']}; mend with `{each['mend']}`" for each in said] == lines


@pytest.mark.parametrize(
    "names",
    [
        ("a requirement", "a pin edited", "a lockfile too many", "an extra edited", "README.md edited"),
        ("an environment gone", "build.txt gone", "a cell gone", "a constraint edited"),
        ("the package that cannot be built gone", "the package that cannot be built edited"),
        ("the grid gone",),
    ],
    ids=lambda names: names[0],
)
def test_the_command_mends_it(copy: Project, names: tuple[str, ...]) -> None:
    for name in names:
        DIFFERENCES[name][0](copy.folder)
    copy.run("lock").expect(0)
    check(copy).expect(0)


def test_spelling_does_not_age_a_lock(copy: Project) -> None:
    path = copy.folder / "envs/other.toml"
    text = "# A comment.\nsdists.source = 'there is no wheel'\nrequires = [\n 'source',\n]\nextends=['ground']\n"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    check(copy).expect(0)


def test_bad_input_is_no_difference(copy: Project) -> None:
    append("envs/app.toml", "requirs = []\n")(copy.folder)
    result = check(copy).expect(2)
    assert "envs/app.toml" in result.err
    assert "requires" in result.err


@pytest.mark.parametrize("damage", ["<<<<<<< ours\n", "schema = 99\n", ""])
def test_a_broken_grid_is_told_without_a_traceback(copy: Project, damage: str) -> None:
    (copy.folder / "locks/grid.toml").write_text(damage, encoding="utf-8")
    result = check(copy)
    assert result.code in (1, 2)
    assert "locks/grid.toml" in result.out + result.err
    assert "lock" in (result.out + result.err).replace("locks/grid.toml", "")
    assert "Traceback" not in result.err
