"""`lockgrid lock ENV` leaves the files of the other environments byte for byte, or says why it cannot."""

from __future__ import annotations

import pytest

from integration.conftest import Start, few_targets
from integration.locked import Locks
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

TEXT = f"""
[[packages]]
name = "shared"
version = "1.0"
[[packages]]
name = "mine"
version = "1.0"
requires = ["shared"]
[[packages]]
name = "yours"
version = "1.0"
requires = ["shared"]
{few_targets("3.12", "3.13")}
[envs.one]
requires = ["mine"]
[envs.two]
requires = ["yours"]
[envs.three]
requires = ["yours"]
apart = true
"""


@pytest.fixture
def locked(start_locked: Start, index: LocalIndex) -> Project:
    """Return a locked project, whose index then gets newer releases of everything."""
    project = start_locked(TEXT)
    for name, requires in (("shared", []), ("mine", ["shared"]), ("yours", ["shared"])):
        index.add(wheel(name, "2.0", requires=requires), core_metadata=True)
    return project


def edit(project: Project, environment: str, requires: str, more: str = "") -> None:
    (project.folder / f"envs/{environment}.toml").write_text(f"requires = {requires}\n{more}", encoding="utf-8")


def others(project: Project, environment: str) -> dict[str, bytes]:
    """Return every lockfile but those of one environment."""
    return {p: c for p, c in project.snapshot().items() if not p.startswith((f"locks/{environment}/", "locks/grid"))}


def assert_partial(project: Project, before: dict[str, bytes], result: Result, environment: str) -> bool:
    """Assert that the others stayed; and either it was done, whole and in date, or nothing was and it was said why."""
    if result.code == 0:
        assert others(project, environment) == {p: c for p, c in before.items() if p in others(project, environment)}
        project.run("check").expect(0)
        return True
    result.expect(2)
    assert project.snapshot() == before
    assert "next:" in result.err
    assert "two" in result.err
    return False


def test_a_change_that_concerns_one_environment_moves_that_one(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("more", "1.0"), core_metadata=True)
    edit(locked, "one", '["mine", "more"]')
    before = locked.snapshot()
    result = locked.run("lock", "one").expect(0)
    assert assert_partial(locked, before, result, "one")
    locks = Locks(locked)
    assert locks.versions("one", "linux-x86_64", "3.12") == {"mine": "1.0", "more": "1.0", "shared": "1.0"}
    assert {cell[0] for cell in locks.cells} == {"one", "two", "three"}


def test_an_upgrade_of_one_environment_holds_the_others(locked: Project) -> None:
    before = locked.snapshot()
    assert_partial(locked, before, locked.run("lock", "one", "--upgrade"), "one")


def test_an_upgrade_of_one_package_that_another_environment_shares(locked: Project) -> None:
    before = locked.snapshot()
    if not assert_partial(locked, before, locked.run("lock", "one", "-P", "shared"), "one"):
        locked.run("lock", "one", "two", "-P", "shared").expect(0)
        assert Locks(locked).versions("two", "linux-x86_64", "3.12") == {"yours": "1.0", "shared": "2.0"}
        assert Locks(locked).versions("three", "linux-x86_64", "3.12") == {"yours": "1.0", "shared": "1.0"}


def test_a_requirement_that_would_move_another_environment(locked: Project) -> None:
    edit(locked, "one", '["mine", "shared>=2"]')
    before = locked.snapshot()
    if assert_partial(locked, before, locked.run("lock", "one"), "one"):
        assert Locks(locked).versions("two", "linux-x86_64", "3.12") == {"yours": "1.0", "shared": "1.0"}


def test_an_environment_apart_is_locked_by_itself(locked: Project) -> None:
    before = locked.snapshot()
    locked.run("lock", "three", "--upgrade").expect(0)
    assert others(locked, "three") == {p: c for p, c in before.items() if p in others(locked, "three")}
    assert Locks(locked).versions("three", "windows-x86_64", "3.13") == {"yours": "2.0", "shared": "2.0"}
    locked.run("check").expect(0)


def test_another_environment_that_changed_stops_a_partial_lock(locked: Project) -> None:
    edit(locked, "one", '["mine>=1"]')
    edit(locked, "two", '["yours>=1"]')
    before = locked.snapshot(".")
    result = locked.run("lock", "one").expect(2)
    assert "envs/two.toml" in result.err
    assert "lockgrid lock one two" in result.err
    assert locked.snapshot(".") == before
    locked.run("lock", "one", "two").expect(0)
    locked.run("check").expect(0)


def test_a_partial_lock_without_a_lock_says_what_to_run(start: Start) -> None:
    project = start(TEXT)
    result = project.run("lock", "one").expect(2)
    assert "lockgrid lock" in result.err
    assert project.snapshot() == {}


def test_nothing_changes_where_nothing_changed(locked: Project) -> None:
    before = locked.snapshot(".")
    assert "nothing changed" in locked.run("lock", "two").expect(0).out
    assert locked.snapshot(".") == before


def test_an_unknown_environment_is_an_error_with_the_nearest_name(locked: Project) -> None:
    before = locked.snapshot(".")
    result = locked.run("lock", "thre").expect(2)
    assert "'three'" in result.err or "three" in result.err
    assert locked.snapshot(".") == before
