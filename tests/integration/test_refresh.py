"""``lockgrid refresh``: what is old enough is taken, what need not move stays, and what stands in the way is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from integration.conftest import LIB_AND_DEP, Start, few_targets, fresh_caches
from integration.locked import Locks
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

TARGETS = few_targets("3.12", "3.13").replace("[targets]", '[targets]\ncooldown = "7 days"')
LINUX = ("app", "linux-x86_64", "3.12")
BASE = f"""
{LIB_AND_DEP}
[envs.app]
requires = ["lib"]
{TARGETS}
"""
LOCKED = "2026-03-01"
NOW = "2026-04-10"  # so the cut-off is the third of April
COOL, YOUNG = "2026-04-02T12:00:00Z", "2026-04-05T12:00:00Z"


def refresh(project: Project, *args: str, now: str = NOW) -> Result:
    return project.run("refresh", "--as-of", now, *args, env=fresh_caches(project))


def lock(project: Project, *args: str) -> Result:
    return project.run("lock", *args, env=fresh_caches(project))


def report(project: Project, *args: str, now: str = NOW) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(refresh(project, "--json", *args, now=now).expect(0).out)
    return found


def versions(project: Project) -> dict[str, str]:
    return Locks(project).versions(*LINUX)


def state(project: Project) -> dict[str, tuple[bytes, int]]:
    """Every file of the project with its content and the time of its last change."""
    files = (path for path in project.folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def targets(project: Project, text: str) -> None:
    """Add to ``envs/targets.toml``."""
    path = project.folder / "envs/targets.toml"
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def relocked_from_nothing(project: Project) -> dict[str, bytes]:
    """``locks/`` after it was deleted and locked again as of the recorded cut-offs."""
    grid = Locks(project).grid
    own = [f"--as-of-package={name}={time.isoformat()}" for name, time in grid.get("exclude-newer-package", {}).items()]
    for path in sorted((project.folder / "locks").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    lock(project, "--as-of", grid["exclude-newer"].isoformat(), *own).expect(0)
    return project.snapshot(".")


@pytest.fixture
def locked(start: Start) -> Project:
    """Return a project that was locked as of March."""
    project = start(BASE)
    lock(project, "--as-of", LOCKED).expect(0)
    return project


def test_only_what_is_older_than_the_cooldown_is_taken(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    index.add(wheel("lib", "1.2", requires=["dep"]), core_metadata=True, uploaded=YOUNG)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    result = refresh(locked).expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.0"}
    assert "lib 1.0 -> 1.1 (app)" in result.out.splitlines()
    assert "wrote locks/grid.toml" in result.out.splitlines()
    assert Locks(locked).grid["exclude-newer"] == datetime(2026, 4, 3, tzinfo=UTC)
    locked.run("check").expect(0)
    after = locked.snapshot(".")
    assert relocked_from_nothing(locked) == after


def test_nothing_to_do_is_one_line_and_touches_no_file(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    before = state(locked)
    result = refresh(locked).expect(0)
    assert result.out == "nothing to refresh: no release up to 2026-04-03T00:00:00Z changes the locks\n"
    assert state(locked) == before
    assert report(locked)["changed"] is False
    assert state(locked) == before


def test_a_dry_run_says_it_and_writes_nothing(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    before = state(locked)
    result = refresh(locked, "--dry-run").expect(0)
    assert "lib 1.0 -> 1.1 (app)" in result.out.splitlines()
    assert "would write locks/grid.toml" in result.out.splitlines()
    assert "wrote" not in result.out
    assert state(locked) == before
    assert report(locked, "--dry-run")["written"] == []


def test_without_a_cooldown_everything_up_to_now_is_taken(start: Start, index: LocalIndex) -> None:
    project = start(BASE.replace('cooldown = "7 days"', ""))
    lock(project, "--as-of", LOCKED).expect(0)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    refresh(project).expect(0)
    assert versions(project) == {"lib": "1.0", "dep": "1.1"}


# -- exceptions from the cool-down ---------------------------------------------------------------------


def test_an_exception_lets_one_package_in_sooner(locked: Project, index: LocalIndex) -> None:
    entry = 'dep = { cooldown = "P1D", why = "it mends a leak", until = 2026-04-10 }'
    targets(locked, f"[cooldown-exceptions]\n{entry}\n")
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=YOUNG)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    index.add(wheel("dep", "1.2"), core_metadata=True, uploaded="2026-04-09T12:00:00Z")
    locked.run("check").expect(0)  # an exception ages no lock
    refresh(locked).expect(0)
    assert versions(locked) == {"lib": "1.0", "dep": "1.1"}
    grid = Locks(locked).grid
    assert grid["exclude-newer"] == datetime(2026, 4, 3, tzinfo=UTC)
    assert grid["exclude-newer-package"] == {"dep": datetime(2026, 4, 9, tzinfo=UTC)}
    locked.run("check").expect(0)
    locked.run("verify", env=fresh_caches(locked)).expect(0)
    locked.run("export", "app", "--format", "pylock", env=fresh_caches(locked)).expect(0)
    after = locked.snapshot(".")
    assert relocked_from_nothing(locked) == after


def test_an_exception_that_is_over_counts_no_more_and_that_is_said(locked: Project, index: LocalIndex) -> None:
    entry = 'dep = { cooldown = "0 days", why = "it mends a leak", until = 2026-04-09 }'
    targets(locked, f"[cooldown-exceptions]\n{entry}\n")
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    before = state(locked)
    result = refresh(locked).expect(0)
    assert state(locked) == before
    assert len(result.out.splitlines()) == 1
    assert "envs/targets.toml cooldown-exceptions.dep: ended on 2026-04-09 and counts no more" in result.err
    assert report(locked)["exceptions-over"] == [{"package": "dep", "why": "it mends a leak", "until": "2026-04-09"}]
    refresh(locked, now="2026-04-09").expect(0)
    assert versions(locked)["dep"] == "1.1"


# -- what is locked is never too young -----------------------------------------------------------------


@pytest.fixture
def young(start: Start, index: LocalIndex) -> Project:
    """Return a project that pins a dep which is younger than the cool-down."""
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=YOUNG)
    project = start(BASE)
    lock(project, "--as-of", "2026-04-06").expect(0)
    assert versions(project) == {"lib": "1.0", "dep": "1.1"}
    return project


def test_a_pin_that_is_younger_than_the_cooldown_stays(young: Project, index: LocalIndex) -> None:
    before = state(young)
    refresh(young).expect(0)
    assert state(young) == before
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    index.add(wheel("lib", "1.2", requires=["dep"]), core_metadata=True, uploaded="2026-04-04T00:00:00Z")
    refresh(young).expect(0)
    assert versions(young) == {"lib": "1.1", "dep": "1.1"}
    grid = Locks(young).grid
    assert grid["exclude-newer"] == datetime(2026, 4, 3, tzinfo=UTC)
    assert grid["exclude-newer-package"] == {"dep": datetime(2026, 4, 5, 12, 0, 1, tzinfo=UTC)}
    young.run("check").expect(0)
    after = young.snapshot(".")
    assert "nothing changed" in lock(young, "--as-of", "2026-04-03", "--upgrade").expect(0).out
    assert young.snapshot(".") == after
    assert relocked_from_nothing(young) == after
    assert "nothing to refresh" in refresh(young).expect(0).out
    assert young.snapshot(".") == after


def test_another_young_release_of_a_package_whose_pin_stays_is_not_taken(young: Project, index: LocalIndex) -> None:
    """Uploaded before what is locked, so the cut-off of this package alone would let it in."""
    index.add(wheel("dep", "2.0"), core_metadata=True, uploaded="2026-04-04T00:00:00Z")
    before = state(young)
    refresh(young).expect(0)
    assert state(young) == before
    refresh(young, now="2026-04-11T00:00:01Z").expect(0)
    assert versions(young) == {"lib": "1.0", "dep": "2.0"}


def test_a_file_without_an_upload_time_is_too_young(locked: Project, index: LocalIndex) -> None:
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=None)
    before = state(locked)
    refresh(locked).expect(0)
    assert state(locked) == before


@pytest.mark.parametrize("whole_index", [False, True], ids=["one file", "every file"])
def test_a_locked_file_without_an_upload_time_stays(locked: Project, index: LocalIndex, whole_index: bool) -> None:
    """As behind a mirror that does not tell times: its newer releases are too young, and nothing is lost."""
    index.add(wheel("dep", "1.0"), core_metadata=True, uploaded=None)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=None)
    index.add(wheel("dep", "1.2"), core_metadata=True, uploaded=YOUNG)
    if whole_index:
        index.api_version = "1.0"
        index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded=COOL)
    before = state(locked)
    refresh(locked).expect(0)
    assert state(locked) == before
    if not whole_index:
        index.add(wheel("dep", "1.3"), core_metadata=True, uploaded=COOL)
        refresh(locked).expect(0)
        assert versions(locked) == {"lib": "1.0", "dep": "1.3"}


# -- cells ---------------------------------------------------------------------------------------------


def test_a_cell_that_became_possible_is_told_and_what_still_blocks_the_others(start: Start, index: LocalIndex) -> None:
    project = start(
        f"""
[[packages]]
name = "one"
version = "1.0"
wheels = ["cp312-none-any"]
[[packages]]
name = "lib"
version = "1.0"
wheels = ["cp312-none-any"]
[envs.app]
requires = ["lib"]
[envs.old]
requires = ["one==1.0"]
{TARGETS}
"""
    )
    lock(project, "--as-of", LOCKED).expect(0)
    assert Locks(project).proven("app", "linux-x86_64") == ["3.12"]
    for tag in ("cp312-none-any", "cp313-none-any"):
        index.add(wheel("lib", "1.1", tags=[tag]), core_metadata=True, uploaded=COOL)
    index.add(wheel("one", "1.1"), core_metadata=True, uploaded=COOL)
    found = report(project, "--dry-run")
    gained = [(c["environment"], c["platform"], c["python"]) for c in found["gained"]]
    assert gained == [("app", "linux-x86_64", "3.13"), ("app", "windows-x86_64", "3.13")]
    assert found["lost"] == []
    lines = refresh(project).expect(0).out.splitlines()
    assert "became possible: app on linux-x86_64, windows-x86_64, Python 3.13" in lines
    blocked = "still unsupported: old on linux-x86_64, windows-x86_64, Python 3.13, over one==1.0 (1.1 would serve)"
    assert blocked in lines
    assert Locks(project).proven("app", "linux-x86_64") == ["3.12", "3.13"]


@pytest.mark.parametrize("where", ["everywhere", "windows"])
def test_a_release_with_which_a_proven_cell_would_be_lost_is_not_taken(
    locked: Project, index: LocalIndex, where: str
) -> None:
    """It installs a module of another package: proof 5. The others move on."""
    clash = {"lib.py": "", "dep.py": "mine = 1"}
    tags = {"everywhere": ["py3-none-any"], "windows": ["py3-none-win_amd64", "py3-none-manylinux2014_x86_64"]}[where]
    for tag in tags:
        files = {"lib.py": ""} if "linux" in tag else clash
        built = wheel("lib", "1.2", requires=["dep"], files=files, tags=[tag])
        index.add(built, core_metadata=True, uploaded=COOL)
    index.add(wheel("lib", "1.1", requires=["dep"]), core_metadata=True, uploaded="2026-04-01T00:00:00Z")
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=COOL)
    result = refresh(locked).expect(0)
    assert versions(locked) == {"lib": "1.1", "dep": "1.1"}
    assert "held back lib 1.2, with which a proven cell would be lost" in result.out
    assert "code-clash" in result.out
    assert all(cell["status"] == "proven" for cell in Locks(locked).cells.values())
    after = locked.snapshot(".")
    assert relocked_from_nothing(locked) == after
    assert report(locked)["held-back"][0]["version"] == "1.2"
    assert locked.snapshot(".") == after
    index.add(wheel("lib", "1.3", requires=["dep"]), core_metadata=True, uploaded=COOL)
    refresh(locked).expect(0)
    assert versions(locked) == {"lib": "1.3", "dep": "1.1"}


def test_a_cell_that_no_older_pin_can_save_is_not_lost_in_silence(locked: Project, index: LocalIndex) -> None:
    for tag in ("cp312-none-any", "cp313-none-manylinux2014_x86_64"):
        index.add(wheel("lib", "1.0", requires=["dep"], tags=[tag]), core_metadata=True)
    index.remove("lib-1.0-py3-none-any.whl")
    before = state(locked)
    result = refresh(locked).expect(3)
    assert "app on windows-x86_64, Python 3.13" in result.err
    assert "--allow-loss" in result.err
    assert state(locked) == before
    assert "lost: app on windows-x86_64, Python 3.13" in refresh(locked, "--allow-loss").expect(0).out.splitlines()


# -- what envs/ holds back -----------------------------------------------------------------------------


def test_what_holds_back_a_release_is_named_with_its_file_and_key(start: Start, index: LocalIndex) -> None:
    project = start(
        f"""
[[packages]]
name = "lib"
version = "1.0"
requires = ["dep", "over==1", "held"]
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "over"
version = "1.0"
[[packages]]
name = "held"
version = "1.0"
[[packages]]
name = "apart"
version = "1.0"
[envs.base]
abstract = true
requires = ["Lib==1.0", "dep<2 ; sys_platform == 'linux'"]
[envs.base.overrides]
over = {{ version = "<2", why = "x" }}
[envs.app]
extends = ["base"]
[envs.app.hold]
held = {{ version = "<1.1", why = "tosa: case attn/INT failed", since = 2026-03-01 }}
[envs.other]
requires = ["apart!=2.0"]
apart = true
{TARGETS}
"""
    )
    lock(project, "--as-of", LOCKED).expect(0)
    for name, version, uploaded in [
        ("lib", "1.1", "2026-04-01T23:00:00Z"),
        ("lib", "1.2", YOUNG),
        ("lib", "2.0rc1", COOL),
        ("dep", "2.0", COOL),
        ("over", "2.0", COOL),
        ("held", "1.1", COOL),
        ("held", "1.0.1", COOL),
        ("apart", "2.0", COOL),
    ]:
        index.add(wheel(name, version), core_metadata=True, uploaded=uploaded)
    index.add(wheel("apart", "3.0", tags=["cp310-none-any"]), core_metadata=True, uploaded=COOL)
    index.add(wheel("dep", "3.0"), core_metadata=True, uploaded=COOL, yanked="broken")
    texts = [path.read_bytes() for path in sorted((project.folder / "envs").iterdir())]
    out = refresh(project).expect(0).out.splitlines()
    assert [line for line in out if "holds back" in line] == [
        "envs/app.toml hold.held: held<1.1 holds back held 1.1 (released 2026-04-02)",
        "envs/base.toml overrides.over: over<2 holds back over 2.0 (released 2026-04-02)",
        "envs/base.toml requires[0]: Lib==1.0 holds back lib 1.1 (released 2026-04-01)",
        "envs/base.toml requires[1]: dep<2 holds back dep 2.0 (released 2026-04-02)",
        "envs/other.toml requires[0]: apart!=2.0 holds back apart 2.0 (released 2026-04-02)",
    ]
    assert versions(project)["held"] == "1.0.1"
    assert [path.read_bytes() for path in sorted((project.folder / "envs").iterdir())] == texts
    again = refresh(project).expect(0)
    assert len(again.out.splitlines()) == 1
    assert again.err.count("holds back") == 5
    bounds = report(project)["bounds"]
    assert [b["version"] for b in bounds] == ["1.1", "2.0", "1.1", "2.0", "2.0"]
    assert bounds[2]["released"] == "2026-04-01T23:00:00Z"


def test_a_prerelease_is_held_back_only_where_the_requirement_names_one(start: Start, index: LocalIndex) -> None:
    project = start(BASE.replace('requires = ["lib"]', 'requires = ["lib", "dep<1.1.dev0"]'))
    lock(project, "--as-of", LOCKED).expect(0)
    index.add(wheel("dep", "1.1rc1"), core_metadata=True, uploaded=COOL)
    (bound,) = report(project)["bounds"]
    assert (bound["says"], bound["version"]) == ("dep<1.1.dev0", "1.1rc1")


# -- the rest ------------------------------------------------------------------------------------------


def test_one_environment_apart_is_refreshed_without_the_others(start: Start, index: LocalIndex) -> None:
    project = start(BASE + '\n[envs.tools]\napart = true\nrequires = ["dep"]\n[envs.more]\nrequires = ["dep"]\n')
    lock(project, "--as-of", LOCKED).expect(0)
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded=COOL)
    before = state(project)
    assert "shares a resolution, and would move too: dep" in refresh(project, "app").expect(2).err
    assert "there is no such environment" in refresh(project, "ap").expect(2).err
    assert state(project) == before
    assert "dep 1.0 -> 1.1 (tools)" in refresh(project, "tools").expect(0).out
    locks = Locks(project)
    assert locks.versions("tools", "linux-x86_64", "3.12") == {"dep": "1.1"}
    assert locks.versions(*LINUX) == {"lib": "1.0", "dep": "1.0"}
    project.run("check").expect(0)


def test_a_dead_network_changes_nothing(locked: Project, index: LocalIndex) -> None:
    before = state(locked)
    index.stop()
    result = refresh(locked).expect(4)
    assert "Traceback" not in result.err
    assert state(locked) == before


def test_what_builds_a_sdist_cools_down_too(start: Start, index: LocalIndex) -> None:
    project = start(
        f"""
[[packages]]
name = "source"
version = "1.0"
wheels = []
sdist = {{ build_requires = ["builder"] }}
[[packages]]
name = "builder"
version = "1.0"
[envs.app]
requires = ["source"]
[envs.app.sdists]
source = "there is no wheel"
{TARGETS}
"""
    )
    lock(project, "--as-of", LOCKED).expect(0)
    index.add(wheel("builder", "1.1"), core_metadata=True, uploaded=YOUNG)
    assert "nothing to refresh" in refresh(project).expect(0).out
    index.add(wheel("builder", "1.0.1"), core_metadata=True, uploaded=COOL)
    assert "builder 1.0 -> 1.0.1 (build)" in refresh(project).expect(0).out.splitlines()
    after = project.snapshot(".")
    assert relocked_from_nothing(project) == after


def test_an_as_of_package_without_a_date_is_refused(locked: Project) -> None:
    before = state(locked)
    for given, said in [
        ("dep", "'' is neither a date"),
        ("d p=2026-01-01", "name a package"),
        ("dep=2126-01-01", "future"),
    ]:
        assert said in locked.run("lock", "--as-of-package", given).expect(2).err
    assert state(locked) == before
