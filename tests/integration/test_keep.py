"""A lock that still holds is kept: pins, files and bytes, unless the input or the user says otherwise."""

from __future__ import annotations

import datetime

import pytest

from integration.conftest import LIB_AND_DEP, Start, few_targets, fresh_caches
from integration.locked import Locks
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

TARGETS = few_targets("3.12", "3.13")
LINUX = ("app", "linux-x86_64", "3.12")
BASE = f"""
{LIB_AND_DEP}
[envs.app]
requires = ["lib"]
{TARGETS}
"""


def relock(project: Project, *args: str) -> Result:
    """Lock with empty caches of pages, as tomorrow's run would."""
    return project.run("lock", *args, env=fresh_caches(project))


@pytest.fixture
def locked(start_locked: Start, index: LocalIndex) -> Project:
    """Return a locked project, whose index then gets newer releases of both packages."""
    project = start_locked(BASE)
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True)
    index.add(wheel("dep", "1.1"), core_metadata=True)
    return project


def versions(project: Project) -> dict[str, str]:
    return Locks(project).versions(*LINUX)


def test_newer_releases_change_no_byte(locked: Project) -> None:
    before = locked.snapshot(".")
    assert "nothing changed" in relock(locked).expect(0).out
    assert locked.snapshot(".") == before


def test_an_upgrade_takes_the_newest_of_everything(locked: Project) -> None:
    result = relock(locked, "--upgrade").expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.1"}
    assert "lib 1.0 -> 1.1" in result.out
    locked.run("check").expect(0)


def test_the_upgrade_of_one_package_keeps_the_others(locked: Project) -> None:
    relock(locked, "-P", "dep").expect(0)
    assert versions(locked) == {"lib": "1.0", "dep": "1.1"}
    relock(locked, "--upgrade-package", "LIB").expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.1"}


def test_the_upgrade_of_a_name_that_nothing_pins_upgrades_nothing_and_says_so(locked: Project) -> None:
    before = locked.snapshot()
    result = relock(locked, "-P", "lbi", "-P", "nothing-alike").expect(0)
    assert "no lockfile pins lbi, so there is nothing to upgrade; did you mean 'lib'?" in result.err
    assert "no lockfile pins nothing-alike, so there is nothing to upgrade\n" in result.err
    assert locked.snapshot() == before


def test_an_upgrade_as_of_a_date_takes_nothing_newer(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("lib", "1.2", requires=["dep"]), core_metadata=True, uploaded="2026-03-01T12:00:00Z")
    relock(locked, "--upgrade", "--as-of", "2026-03-01").expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.1"}
    relock(locked, "--upgrade", "--as-of", "2026-03-01T13:00:01+01:00").expect(0)
    assert versions(locked) == {"lib": "1.2", "dep": "1.1"}
    assert Locks(locked).grid["exclude-newer"] == datetime.datetime(2026, 3, 1, 12, 0, 1, tzinfo=datetime.UTC)


def test_a_new_requirement_moves_nothing_else(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("more", "3.0", requires=["dep"]), core_metadata=True)
    path = locked.folder / "envs/app.toml"
    path.write_text('requires = ["lib", "more"]\n', encoding="utf-8")
    locked.run("check").expect(1)
    result = relock(locked).expect(0)
    assert versions(locked) == {"lib": "1.0", "dep": "1.0", "more": "3.0"}
    assert "added more 3.0" in result.out
    assert '"more",' in (locked.folder / "pyproject.toml").read_text(encoding="utf-8")


def test_a_requirement_that_rules_a_pin_out_moves_it(locked: Project) -> None:
    (locked.folder / "envs/app.toml").write_text('requires = ["lib>1"]\n', encoding="utf-8")
    relock(locked).expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.0"}


def test_cells_without_a_blocker_are_remembered_as_such(start: Start) -> None:
    """Nothing to remember is not nothing remembered: what the cells may be is not found out a second time."""
    project = start(BASE)
    looked = ("reading the requirements", "looking for cells that cannot be")
    first = project.run("lock").expect(0).err
    assert [text in first for text in looked] == [True, True]
    again = project.run("lock", "-U").expect(0).err
    assert [text in again for text in looked] == [False, False]


def test_a_comment_in_the_input_ages_nothing(locked: Project) -> None:
    path = locked.folder / "envs/app.toml"
    path.write_text("# why\n" + path.read_text(encoding="utf-8").replace('"lib"', "'lib'"), encoding="utf-8")
    before = locked.snapshot()
    locked.run("check").expect(0)
    relock(locked).expect(0)
    assert locked.snapshot() == before


def test_a_pin_that_was_yanked_since_is_replaced(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.0"), core_metadata=True, yanked="leaks")
    relock(locked).expect(0)
    assert versions(locked) == {"lib": "1.0", "dep": "1.1"}


def test_a_file_that_was_added_to_a_pinned_release_changes_no_byte(start_locked: Start, index: LocalIndex) -> None:
    project = start_locked(BASE)
    before = project.snapshot()
    better = wheel("lib", "1.0", tags=["cp312-cp312-manylinux_2_17_x86_64"], requires=["dep"])
    index.add(better, core_metadata=True)
    relock(project).expect(0)
    assert project.snapshot() == before
    relock(project, "-P", "lib").expect(0)
    assert Locks(project)["app/linux-x86_64"].hashes("lib") >= {better.sha256}


def test_a_proven_cell_is_not_lost_in_silence(start_locked: Start, index: LocalIndex) -> None:
    project = start_locked(BASE.replace('requires = ["dep"]', "python_wheels = '3.12-3.13'"))
    before = project.snapshot(".")
    index.remove("lib-1.0-cp313-cp313-win_amd64.whl")
    result = relock(project).expect(3)
    assert project.snapshot(".") == before
    assert "--allow-loss" in result.err
    assert "app on windows-x86_64, Python 3.13" in result.err
    relock(project, "--allow-loss").expect(0)
    cells = Locks(project).cells
    assert [c for c, found in cells.items() if found["status"] != "proven"] == [("app", "windows-x86_64", "3.13")]
    project.run("check").expect(0)


def test_the_verdict_is_the_same_with_and_without_an_older_lock(start_locked: Start, index: LocalIndex) -> None:
    """Old pins alone could not be joined: the new requirement needs another dep, which has no wheel for 3.13."""
    project = start_locked(BASE)
    index.add(wheel("dep", "2.0", tags=["cp312-none-any"]), core_metadata=True)
    index.add(wheel("more", "1.0", requires=["dep>=2"]), core_metadata=True)
    (project.folder / "envs/app.toml").write_text('requires = ["lib", "more"]\n', encoding="utf-8")
    relock(project).expect(0)
    kept = Locks(project)
    for path in (project.folder / "locks").rglob("*.*"):
        path.unlink()
    relock(project).expect(0)
    fresh = Locks(project)
    assert kept.cells == fresh.cells
    assert fresh.cells["app", "linux-x86_64", "3.13"]["status"] == "unsupported"
    assert "dep" in fresh.cells["app", "linux-x86_64", "3.13"]["because"]


def test_a_pin_without_a_wheel_for_a_new_python_is_let_go(start: Start, index: LocalIndex) -> None:
    project = start(BASE.replace("[envs.app]", '[envs.app]\npythons = ["3.12"]'))
    index.add(wheel("dep", "1.0", tags=["cp312-none-any"]), core_metadata=True)
    index.remove("dep-1.0-py3-none-any.whl")
    project.run("lock").expect(0)
    index.add(wheel("dep", "1.1"), core_metadata=True)
    (project.folder / "envs/app.toml").write_text('requires = ["lib"]\n', encoding="utf-8")
    relock(project).expect(0)
    locks = Locks(project)
    assert locks.versions("app", "linux-x86_64", "3.13") == {"lib": "1.0", "dep": "1.1"}


def test_two_versions_on_one_platform_are_kept(start_locked: Start) -> None:
    """Windows with 3.12 could have either; whichever the first lock chose, the second keeps."""
    project = start_locked(
        f"""
[[packages]]
name = "lib"
version = "1.0"
wheels = ["cp312-cp312-manylinux_2_17_x86_64", "cp312-cp312-win_amd64"]
[[packages]]
name = "lib"
version = "2.0"
wheels = ["cp311-cp311-win_amd64", "cp312-cp312-win_amd64"]
[envs.app]
requires = ["lib<3"]
{few_targets("3.11", "3.12", "3.13")}
"""
    )
    before = project.snapshot(".")
    assert "nothing changed" in relock(project).expect(0).out
    assert project.snapshot(".") == before


def test_an_environment_that_is_gone_leaves_nothing(start_locked: Start) -> None:
    project = start_locked(BASE + '\n[envs.other]\nrequires = ["dep"]\n')
    (project.folder / "envs/other.toml").unlink()
    project.run("check").expect(1)
    relock(project).expect(0)
    assert not (project.folder / "locks/other").exists()
    assert "other" not in (project.folder / "pyproject.toml").read_text(encoding="utf-8")
    project.run("check").expect(0)
