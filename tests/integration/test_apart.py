"""Environments that cannot share a resolution are locked apart by themselves, and it is said over what."""

from __future__ import annotations

from integration.conftest import Start
from integration.locked import Locks, assert_sound
from support import scenario
from support.index import LocalIndex

TARGETS = """
[targets]
pythons = ["3.11", "3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.macos-arm64]
macos = "15.0"
"""
TEXT = f"""
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "dep"
version = "2.0"
[[packages]]
name = "base"
version = "1.0"
[[packages]]
name = "base"
version = "2.0"
requires = ["dep"]
[envs.a]
requires = ["dep==1.0", "base"]
[envs.b]
requires = ["dep==2.0", "base"]
[envs.c]
requires = ["dep", "base<2"]
{TARGETS}
"""
CELL = ("linux-x86_64", "3.12")


def test_the_third_environment_shares_with_one_of_the_two(start: Start) -> None:
    project = start(TEXT)
    result = project.run("lock").expect(0)
    assert "dep (a: 1.0, b: 2.0)" in result.out
    assert_sound(project, scenario.parse(TEXT).builts)
    locks = Locks(project)
    assert locks.versions("a", *CELL)["dep"] == "1.0"
    assert locks.versions("b", *CELL)["dep"] == "2.0"
    assert locks.versions("c", *CELL)["base"] == "1.0"
    assert all(cell["status"] == "proven" for cell in locks.cells.values())
    shown = project.run("show").expect(0).out
    assert "dep (a: 1.0, b: 2.0)" in shown


def test_pins_are_kept_in_each_of_them(start_locked: Start, index: LocalIndex) -> None:
    project = start_locked(TEXT)
    before = project.snapshot(".")
    for built in scenario.parse(TEXT.replace('version = "2.0"', 'version = "2.5"')).builts:
        index.add(built, core_metadata=True)
    assert "nothing changed" in project.run("lock").expect(0).out
    assert project.snapshot(".") == before


def test_who_can_share_again_shares_again(start_locked: Start) -> None:
    project = start_locked(TEXT)
    (project.folder / "envs/b.toml").write_text('requires = ["dep", "base"]\n', encoding="utf-8")
    result = project.run("lock", "--upgrade").expect(0)
    assert "apart" not in result.out
    locks = Locks(project)
    assert {locks.versions(name, *CELL)["dep"] for name in "abc"} == {"1.0"}
    assert "apart" not in project.run("show").expect(0).out


def test_a_difference_on_one_platform_alone(start: Start) -> None:
    project = start(
        TEXT.replace('"dep==1.0"', "\"dep==1.0 ; sys_platform == 'linux'\"").replace('"dep", "base<2"', '"base<2"')
    )
    project.run("lock").expect(0)
    locks = Locks(project)
    assert locks.versions("a", *CELL)["dep"] == "1.0"
    assert locks.versions("b", *CELL)["dep"] == "2.0"
    assert locks.versions("b", "macos-arm64", "3.12")["dep"] == "2.0"


def test_a_partial_lock_of_one_of_them_leaves_the_other(start_locked: Start) -> None:
    project = start_locked(TEXT.replace('"dep", "base<2"', '"base<2"'))
    before = project.snapshot()
    (project.folder / "envs/b.toml").write_text('requires = ["dep==2.0"]\n', encoding="utf-8")
    result = project.run("lock", "b")
    assert result.code in (0, 2), result.err
    same = [path for path in before if path.startswith(("locks/a/", "locks/c/"))]
    after = project.snapshot()
    assert [after[path] for path in same] == [before[path] for path in same]
    if result.code == 0:
        assert Locks(project).versions("b", *CELL) == {"dep": "2.0"}
        project.run("check").expect(0)
