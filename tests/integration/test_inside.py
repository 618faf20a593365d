"""What is inside the wheels decides about cells: proofs 4 and 5 in `lock`, and what is said of them."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import Start
from integration.locked import Locks
from lockgrid.core.gridfile import parse_grid, render_grid
from support.binaries import elf, macho
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import sdist, wheel

TEXT = """
[[packages]]
name = "app"
version = "1.0"
requires = ["converter", "tools"]
[[packages]]
name = "tools"
version = "1.0"
files = { "tools.py" = "", "tests/__init__.py" = "" }
scripts = { flatc = "tools:a" }
[envs.one]
requires = ["app"]
[envs.two]
requires = ["tools"]
[targets]
pythons = ["3.11", "3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.macos-arm64]
macos = "15.0"
"""
LINUX, MAC = "py3-none-manylinux2014_x86_64", "py3-none-macosx_11_0_arm64"
NEEDS = [("libc.so.6", "GLIBC_2.38", "__isoc23_strtol"), ("libstdc++.so.6", "GLIBCXX_3.4.32", "init")]


def offer(index: LocalIndex, version: str, *, glibc: bool, macos: str = "15.0") -> None:
    """A converter for Linux, which may need a newer glibc than its tag says, and for macOS."""
    new = elf(NEEDS if glibc else [], ["libc.so.6", "libstdc++.so.6"])
    major, _, minor = macos.partition(".")
    files = {LINUX: {"converter/run": new}, MAC: {"converter/run": macho((int(major), int(minor), 0))}}
    for tag, content in files.items():
        built = wheel("converter", version, tags=[tag], files=content, scripts={"flatc": "converter:b"})
        index.add(built, core_metadata=True)


@pytest.fixture
def project(start: Start, index: LocalIndex) -> Project:
    """Return a project whose environment `one` installs a converter that lies on Linux."""
    offer(index, "1.0", glibc=True)
    return start(TEXT)


def accept(project: Project, environment: str, **names: str) -> None:
    path = project.folder / f"envs/{environment}.toml"
    kept = path.read_text(encoding="utf-8").partition("[accept]")[0]
    lines = [f'"{name}" = "{why}"\n' for name, why in names.items()]
    path.write_text(f"{kept}\n[accept]\n{''.join(lines)}", encoding="utf-8")


def grid(project: Project) -> dict[str, Any]:
    return tomllib.loads((project.folder / "locks/grid.toml").read_text(encoding="utf-8"))


def status(project: Project, environment: str, platform: str) -> set[tuple[str, str]]:
    cells = [c for c in grid(project)["cells"] if (c["environment"], c["platform"]) == (environment, platform)]
    return {(cell["status"], cell.get("failed", "")) for cell in cells}


def found(project: Project) -> dict[tuple[str, str], list[str]]:
    return {(f["environment"], f["name"]): f.get("cells", []) for f in grid(project)["findings"]}


def test_a_wheel_that_lies_makes_its_cells_unsupported_and_no_others(project: Project) -> None:
    done = project.run("lock").expect(0)
    assert "looked into" in done.err
    assert status(project, "one", "linux-x86_64") == {("unsupported", "binaries")}
    assert status(project, "one", "macos-arm64") == status(project, "two", "linux-x86_64") == {("proven", "")}
    assert "locks/one/linux-x86_64.txt" not in project.snapshot()
    cell = next(c for c in grid(project)["cells"] if c["environment"] == "one" and c["platform"] == "linux-x86_64")
    where = "converter==1.0 (required by app==1.0)"
    file = "converter/run in converter-1.0-py3-none-manylinux2014_x86_64.whl"
    glibc, cxx = cell["because"].split("; ")
    assert glibc == (
        f"{where}: glibc:converter: it needs glibc 2.38, and linux-x86_64 (glibc 2.28) promises glibc 2.28 "
        f"({file} needs GLIBC_2.38 of libc.so.6 for __isoc23_strtol)"
    )
    assert cxx == (
        f"{where}: glibcxx:converter: it needs GLIBCXX_3.4.32, and linux-x86_64 (glibc 2.28) promises GLIBCXX_3.4.24 "
        f"({file} needs GLIBCXX_3.4.32 of libstdc++.so.6 for init)"
    )
    explained = project.run("explain", "one", "linux-x86_64").expect(0).out
    assert 'or raise the floor in envs/targets.toml; or accept "glibc:converter" under [accept]' in explained
    project.run("check").expect(0)


def test_warnings_stand_in_the_grid_and_in_show_and_explain(project: Project) -> None:
    project.run("lock").expect(0)
    assert found(project) == {
        ("one", "file-clash:flatc"): ["linux-x86_64 3.11 3.12", "macos-arm64 3.11 3.12"],
        ("one", "generic:tests"): ["linux-x86_64 3.11 3.12", "macos-arm64 3.11 3.12"],
        ("two", "generic:tests"): ["linux-x86_64 3.11 3.12", "macos-arm64 3.11 3.12"],
    }
    shown = project.run("show").expect(0).out
    assert "  warning: generic:tests (cells: one 2, two 4)\n" in shown
    data = json.loads(project.run("show", "--json").expect(0).out)
    assert [(f["environment"], f["name"]) for f in data["findings"]] == list(found(project))
    one = project.run("explain", "one", "macos-arm64", "3.12").expect(0).out
    assert "package      tools==1.0" in one
    assert "file         bin/flatc" in one
    (cell,) = json.loads(project.run("explain", "one", "macos-arm64", "3.12", "--json").expect(0).out)
    assert [f["name"] for f in cell["findings"]] == ["file-clash:flatc", "generic:tests"]


def test_an_accepted_error_is_none_and_an_acceptance_of_nothing_is_a_finding(project: Project) -> None:
    accept(project, "one", **{"glibc:converter": "never run there", "glibcxx:converter": "never run there"})
    project.run("lock").expect(0)
    assert status(project, "one", "linux-x86_64") == {("proven", "")}
    assert found(project)["one", "glibc:converter"] == ["linux-x86_64 3.11 3.12"]
    assert "accepted: never run there" in project.run("show").expect(0).out
    assert "accepted     never run there" in project.run("explain", "one", "linux-x86_64", "3.12").expect(0).out
    accept(project, "two", **{"file-clash:flatc": "neither is called"})
    assert "envs/two.toml" in project.run("check").expect(1).out
    project.run("lock").expect(0)
    assert found(project)["two", "accept:file-clash:flatc"] == []
    assert "envs/two.toml accepts file-clash:flatc, and no cell has that" in project.run("show").expect(0).out


def test_another_reason_changes_no_lock(project: Project) -> None:
    names = {"glibc:converter": "because", "glibcxx:converter": "because"}
    accept(project, "one", **names)
    project.run("lock").expect(0)
    before = project.snapshot()
    accept(project, "one", **dict.fromkeys(names, "another"))
    project.run("check").expect(0)
    assert "nothing changed" in project.run("lock").expect(0).out
    assert project.snapshot() == before
    assert "accepted: another" in project.run("show").expect(0).out


def test_an_acceptance_that_is_taken_back_loses_the_cells_and_says_so(project: Project) -> None:
    accept(project, "one", **{"glibc:converter": "x", "glibcxx:converter": "x"})
    project.run("lock").expect(0)
    accept(project, "one")
    project.run("lock").expect(0)
    assert status(project, "one", "linux-x86_64") == {("unsupported", "binaries")}


def test_an_environment_that_is_left_without_a_cell_is_an_error_and_nothing_is_written(
    project: Project, index: LocalIndex
) -> None:
    offer(index, "1.0", glibc=True, macos="15.4")
    done = project.run("lock").expect(3)
    assert "it needs macOS 15.4, and macos-arm64 (macos 15.0) promises 15.0" in " ".join(done.err.split())
    assert project.snapshot() == {}


def test_a_lock_that_holds_looks_into_no_wheel_again_not_even_where_nothing_is_remembered(
    project: Project, index: LocalIndex
) -> None:
    project.run("lock").expect(0)
    before = project.snapshot()
    shutil.rmtree(project.store)
    shutil.rmtree(project.folder / ".git", ignore_errors=True)
    del index.requests[:]
    assert "nothing changed" in project.run("lock").expect(0).out
    assert index.seen("converter-1.0-*.whl") == []
    assert project.snapshot() == before


def test_a_cell_that_fails_with_its_old_pins_is_tried_without_them(project: Project, index: LocalIndex) -> None:
    accept(project, "one", **{"glibc:converter": "x", "glibcxx:converter": "x"})
    project.run("lock").expect(0)
    offer(index, "2.0", glibc=False)
    project.store, project.cache = project.home / "store", project.home / "cache"  # nothing remembered of the pages
    project.run("lock", "-P", "tools").expect(0)
    assert Locks(project).versions("one", "linux-x86_64", "3.12")["converter"] == "1.0"
    accept(project, "one")
    done = project.run("lock").expect(0)
    assert "resolving without the old converter" in done.err
    assert Locks(project).versions("one", "linux-x86_64", "3.12")["converter"] == "2.0"
    assert status(project, "one", "linux-x86_64") == {("proven", "")}


def test_one_environment_is_locked_and_the_findings_on_the_others_stay(project: Project) -> None:
    accept(project, "two", **{"file-clash:flatc": "x"})
    path = project.folder / "envs/one.toml"
    path.write_text(f"{path.read_text(encoding='utf-8')}\napart = true\n", encoding="utf-8")
    project.run("lock").expect(0)
    before = found(project)
    accept(project, "one", **{"generic:tests": "nobody imports it"})
    project.run("lock", "one").expect(0)
    assert found(project) == before
    accepted = {(f["environment"], f["name"]) for f in grid(project)["findings"] if f.get("accepted")}
    assert accepted == {("one", "generic:tests")}
    whole = project.snapshot()
    shutil.rmtree(project.folder / "locks")
    project.run("lock", "--as-of", grid_cutoff(whole)).expect(0)
    assert project.snapshot() == whole


def grid_cutoff(files: dict[str, bytes]) -> str:
    cutoff = tomllib.loads(files["locks/grid.toml"].decode())["exclude-newer"].isoformat()
    assert isinstance(cutoff, str)
    return cutoff


def test_the_rules_of_another_lockgrid_are_out_of_date(project: Project) -> None:
    project.run("lock").expect(0)
    before = grid(project)
    path = project.folder / "locks/grid.toml"
    text = render_grid(replace(parse_grid(path.read_text(encoding="utf-8")), rules=0))
    path.write_text(text, encoding="utf-8", newline="")
    assert "judges what is inside wheels by rules 0" in project.run("check").expect(1).out
    project.run("lock").expect(0)
    assert {**grid(project), "exclude-newer": before["exclude-newer"]} == before


def test_what_a_sdist_will_hold_is_said_not_to_be_judged(start: Start, index: LocalIndex) -> None:
    project = start(TEXT.replace('requires = ["tools"]', 'requires = ["source"]\nsdists = { source = "no wheel" }'))
    offer(index, "1.0", glibc=False)
    index.add(sdist("source", "1.0"))
    project.run("lock").expect(0)
    assert ("two", "unread:source") in found(project)


def test_the_wheels_of_the_locks_are_audited_once_more(project: Project, tmp_path: Path) -> None:
    project.run("lock").expect(0)
    done = project.run("audit").expect(1)
    assert done.out.startswith("6 cells: looked into 3 wheels with 1 binary: ")
    assert "  warning: file-clash:flatc (cells: one 2)\n" in done.out
    data = json.loads(project.run("audit", "--json").expect(1).out)
    assert (data["cells"], len(data["wheels"])) == (6, 3)
    accept(project, "one", **{"file-clash:flatc": "x", "generic:tests": "x"})
    accept(project, "two", **{"generic:tests": "x"})
    assert "run `lockgrid lock`" in project.run("audit").expect(2).err
    project.run("lock").expect(0)
    project.run("audit").expect(0)
    shutil.rmtree(project.folder / "locks")
    assert "run `lockgrid lock`" in project.run("audit").expect(2).err
