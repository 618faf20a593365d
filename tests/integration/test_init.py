"""``lockgrid init``: what a project has becomes an ``envs/`` that locks, and nothing that is there is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from integration.conftest import Start
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

CONTENT = """
[[packages]]
name = "lib"
version = "2.0"
requires = ["dep"]
[[packages]]
name = "lib"
version = "1.0"
requires = ["dep"]
[[packages]]
name = "dep"
version = "2.0"
[[packages]]
name = "dep"
version = "1.5"
[[packages]]
name = "tool"
version = "1.0"
requires = ["dep==1.5"]
[[packages]]
name = "torch"
version = "2.9.1"
[[packages]]
name = "torch"
version = "2.9.1+cpu"
index = "cpu"
[envs.none]
requires = []
"""
ONE = ("--platform", "linux-x86_64", "--python", "3.12")
Begin = Callable[..., Project]


@pytest.fixture
def begin(start: Start) -> Begin:
    """Return a function from the files of a project to that project, which has nothing else."""

    def make(**files: str) -> Project:
        project = start(CONTENT)
        for path in [*(project.folder / "envs").iterdir(), project.folder / "pyproject.toml"]:
            path.unlink()
        (project.folder / "envs").rmdir()
        for name, text in files.items():
            path = project.folder / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return project

    return make


def pins(project: Project, environment: str, platform: str = "linux-x86_64") -> dict[str, str]:
    """The versions in one lockfile, by package."""
    lockfile = project.folder / "locks" / environment / f"{platform}.txt"
    rows = [line.split()[0] for line in lockfile.read_text(encoding="utf-8").splitlines() if "==" in line.split(" ")[0]]
    return dict(row.split("==") for row in rows)


def test_requirements_files_become_environments_that_lock(begin: Begin) -> None:
    project = begin(
        requirements_txt="lib<2  # a remark\n-c bounds.txt\n",
        bounds_txt="dep<2\n",
        requirements__test_txt="-r ../requirements.txt\ntool --hash=sha256:" + "a" * 64 + "\n",
    )
    done = project.run("init").expect(0)
    assert "These were URLs" not in done.out
    assert "requirements/test.txt:2: `--hash`: hashes of line 2 left out" in done.out
    project.run("lock").expect(0)
    assert pins(project, "main") == {"lib": "1.0", "dep": "1.5"}
    assert pins(project, "test") == {"lib": "1.0", "dep": "1.5", "tool": "1.0"}
    project.run("check").expect(0)


def test_extras_and_groups_become_environments_that_lock(begin: Begin) -> None:
    text = """
[project]
name = "app"
version = "0"
requires-python = ">=3.12,<3.13"
dependencies = ["lib"]
[project.optional-dependencies]
tools = ["tool"]
[dependency-groups]
dev = ["app[tools]", { include-group = "more" }]
more = ["lib<2"]
"""
    project = begin(pyproject_toml=text)
    project.run("init").expect(0)
    project.run("lock").expect(0)
    assert {name: pins(project, name).keys() for name in ("main", "tools", "dev", "more")} == {
        "main": {"lib", "dep"},
        "tools": {"lib", "dep", "tool"},
        "dev": {"lib", "dep", "tool"},
        "more": {"lib", "dep"},
    }
    assert pins(project, "dev")["lib"] == "1.0"
    project.run("check").expect(0)


def test_requirements_that_contradict_each_other_are_named_by_lock(begin: Begin) -> None:
    project = begin(requirements_txt="dep==2.0\ntool @ git+https://index.example/tool.git@v1.0\n")
    done = project.run("init").expect(0)
    assert "These were URLs, and `lockgrid lock` asks the index for packages of that name: tool. Anyone" in done.out
    failed = project.run("lock").expect(3)
    assert "envs/main.toml: no cell of main can be installed" in failed.err
    assert "envs/main.toml wants ==2.0" in failed.err
    assert "tool==1.0 wants ==1.5" in " ".join(failed.err.split())


def test_a_local_version_is_locked_from_the_other_index(begin: Begin) -> None:
    with LocalIndex() as cpu:
        scenario.parse(CONTENT).populate(cpu, "cpu")
        text = f"--extra-index-url {cpu.url}\ntorch==2.9.1+cpu ; sys_platform == 'linux'\ntorch==2.9.1\n"
        project = begin(requirements_txt=text)
        project.run("init", *ONE, "--platform", "macos-arm64").expect(0)
        project.run("lock").expect(0)
    assert pins(project, "main") == {"torch": "2.9.1+cpu"}
    assert pins(project, "main", "macos-arm64") == {"torch": "2.9.1"}


def test_a_wheel_whose_name_is_spelt_in_an_old_way_is_locked(begin: Begin, index: LocalIndex) -> None:
    built = wheel("old-lib", "1.0")
    index.add(dataclasses.replace(built, filename=built.filename.replace("old_lib", "Old.Lib")))
    project = begin(requirements_txt="Old.Lib\n")
    project.run("init", *ONE).expect(0)
    project.run("lock").expect(0)
    assert pins(project, "main") == {"old-lib": "1.0"}


def test_what_is_there_is_not_overwritten_unless_forced(begin: Begin) -> None:
    project = begin(requirements_txt="lib\n")
    first = project.run("init", "--dry-run").expect(0)
    assert "--- envs/main.toml\n" in first.out
    assert "nothing was written" in first.err
    assert project.snapshot("envs") == {}
    project.run("init").expect(0)
    (project.folder / "envs" / "main.toml").write_text('requires = ["tool"]\n', encoding="utf-8")
    before = project.snapshot(".")
    refused = project.run("init").expect(2)
    assert [line.split(":")[0].strip() for line in refused.err.splitlines()[1:]] == [
        "envs/main.toml",
        "envs/targets.toml",
    ]
    assert project.snapshot(".") == before
    project.run("init", "--force", *ONE).expect(0)
    assert b'"lib"' in project.snapshot("envs")["envs/main.toml"]
    assert project.snapshot(".")["pyproject.toml"] == before["pyproject.toml"]


def test_with_force_files_that_stay_must_fit(begin: Begin) -> None:
    project = begin(requirements_txt="lib\n")
    project.run("init").expect(0)
    (project.folder / "envs" / "Main.toml").write_text('requires = ["lib"]\n', encoding="utf-8")
    before = project.snapshot(".")
    assert "are the same name once normalised" in project.run("init", "--force").expect(2).err
    assert project.snapshot(".") == before


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ({}, (), "there is neither a pyproject.toml nor a requirements file"),
        ({}, ("gone.txt",), "gone.txt: cannot be read: No such file or directory (name a file that exists)"),
        ({}, ("gone.toml",), "gone.toml: cannot be read: No such file or directory (name a file that exists)"),
        ({"pyproject_toml": "[project\n"}, (), "pyproject.toml: broken TOML"),
        ({"requirements_txt": "lib >\n"}, (), "requirements.txt: line 1: 'lib >' is no requirement"),
        ({"requirements_txt": "lib\n"}, ("--python", "3"), "command line: --python: '3' is no Python minor version"),
        ({"pyproject_toml": "[tool.x]\n"}, (), "nothing is found that an environment could require"),
        (
            {"pyproject_toml": "[tool.poetry.dependencies]\na = '1'\n"},
            (),
            "(let poetry export a requirements file, and",
        ),
        ({"pyproject_toml": "[tool.x]\n", "setup_py": ""}, (), "setup.py: is not read (export what it requires"),
    ],
)
def test_wrong_input_is_exit_code_2_and_writes_nothing(
    files: dict[str, str], words: tuple[str, ...], said: str, begin: Begin
) -> None:
    project = begin(**files)
    before = project.snapshot(".")
    failed: Result = project.run("init", *words).expect(2)
    assert said in failed.err
    assert "Traceback" not in failed.err
    assert project.snapshot(".") == before


def test_files_are_named_from_here_and_written_to_the_project(begin: Begin) -> None:
    project = begin(sub__pyproject_toml='[project]\nname = "a"\ndependencies = ["lib"]\n')
    project.run("--project", "grid", "init", "sub/pyproject.toml", *ONE).expect(0)
    assert set(project.snapshot("grid")) == {
        "grid/pyproject.toml",
        *(f"grid/envs/{name}.toml" for name in ("targets", "base", "main")),
    }
    project.run("--project", "grid", "lock").expect(0)
