"""An sdist comes in only where [sdists] names it, with the pinned build requirements of build.txt; no other runs."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from integration.conftest import Start, few_targets
from integration.locked import Locks
from support.index import LocalIndex
from support.metadata import Built, sha256
from support.wheels import fake_setuptools, sdist, wheel

TARGETS = few_targets("3.11", "3.12")
NAMED = f"""
[[packages]]
name = "dep"
version = "1.0"
[envs.app]
requires = ["source", "dep"]
[envs.app.sdists]
source = "there is no wheel"
{TARGETS}
"""


def test_the_lockfile_names_it_and_build_txt_pins_what_it_needs(start: Start, index: LocalIndex) -> None:
    project = start(NAMED)
    source = sdist("source", "1.0", requires=["dep"], build_requires=["Builder>=1", "win ; sys_platform == 'win32'"])
    index.add(source)
    builder = wheel("builder", "1.0", requires=["below ; python_version < '3.12'"])
    for built in (builder, wheel("below", "1.0"), wheel("win", "1.0")):
        index.add(built, core_metadata=True)
    project.run("lock").expect(0)
    locks = Locks(project)
    lockfile = locks["app/linux-x86_64"]
    assert lockfile.options == ("--only-binary :all:", "--no-binary source")
    assert lockfile.hashes("source") == {source.sha256}
    build = locks["build"]
    assert build.hashes("builder") == {builder.sha256}
    assert {pin.name: pin.version for pin in build.pins} == {"builder": "1.0", "below": "1.0", "win": "1.0"}
    assert "win" not in lockfile.text
    project.run("check").expect(0)


def test_an_sdist_without_build_system_is_built_with_setuptools(start: Start, index: LocalIndex) -> None:
    project = start(NAMED)
    index.add(sdist("source", "1.0", backend="setuptools"))
    index.add(fake_setuptools(), core_metadata=True)  # uv runs it, to learn what the setup.py requires
    project.run("lock").expect(0)
    assert [(pin.name, pin.version) for pin in Locks(project)["build"].pins] == [("setuptools", "80.0.0")]


def test_build_pins_are_kept_until_an_upgrade(start: Start, index: LocalIndex) -> None:
    project = start(NAMED)
    index.add(sdist("source", "1.0", build_requires=["builder"]))
    index.add(wheel("builder", "1.0"), core_metadata=True)
    project.run("lock").expect(0)
    before = project.snapshot()
    index.add(wheel("builder", "1.1"), core_metadata=True)
    project.store, project.cache = project.home / "s", project.home / "c"
    assert "nothing changed" in project.run("lock").expect(0).out
    assert project.snapshot() == before
    project.run("lock", "-P", "builder").expect(0)
    assert [pin.version for pin in Locks(project)["build"].pins] == ["1.1"]


def test_without_an_sdist_build_txt_pins_nothing(start: Start) -> None:
    project = start(NAMED.replace('"source", ', "").replace('source = "there is no wheel"', ""))
    project.run("lock").expect(0)
    assert Locks(project)["build"].pins == ()


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_code_of_an_sdist_that_is_not_named_never_runs(
    start: Start, index: LocalIndex, tmp_path: Path, dynamic: bool
) -> None:
    """Not even where the sdist is newer than the newest wheel, or stands beside one."""
    project = start(NAMED.replace('source = "there is no wheel"', ""))
    mark = tmp_path / "ran"
    index.add(wheel("source", "1.0"), core_metadata=True)
    for version in ("1.0", "2.0"):
        index.add(sdist("source", version, dynamic=dynamic, marker_file=mark))
    index.add(sdist("dep", "3.0", backend="setuptools", marker_file=mark))
    project.run("lock").expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.12") == {"source": "1.0", "dep": "1.0"}
    assert not mark.exists()


def test_code_runs_only_where_the_metadata_of_a_named_sdist_is_dynamic(
    start: Start, index: LocalIndex, tmp_path: Path
) -> None:
    project = start(NAMED)
    mark = tmp_path / "ran"
    index.add(sdist("source", "1.0", requires=["dep"], marker_file=mark, build_requires=["builder"]))
    index.add(wheel("builder", "1.0"), core_metadata=True)
    first = project.run("lock").expect(0)
    assert not mark.exists()
    assert "ran its build" not in first.err
    index.add(sdist("source", "1.1", requires=["dep"], marker_file=mark, dynamic=True, build_requires=["builder"]))
    project.store, project.cache = project.home / "s", project.home / "c"
    second = project.run("lock", "-P", "source").expect(0)
    assert mark.exists()
    assert second.err.count("source-1.1.tar.gz has no static metadata (PEP 643): uv ran its build") == 1
    assert Locks(project)["app/linux-x86_64"].versions("3.12") == {"source": "1.1", "dep": "1.0"}


def test_a_build_requirement_that_is_an_sdist_itself_is_refused(start: Start, index: LocalIndex) -> None:
    project = start(NAMED)
    index.add(sdist("source", "1.0", build_requires=["builder"]))
    index.add(sdist("builder", "1.0"))
    result = project.run("lock")
    assert result.code in (2, 3)
    assert "builder" in result.err
    assert "source" in result.err
    assert "Traceback" not in result.err
    assert project.snapshot() == {}


def test_a_build_requirement_that_does_not_exist_is_told(start: Start, index: LocalIndex) -> None:
    project = start(NAMED)
    index.add(sdist("source", "1.0", build_requires=["ghost>=3"]))
    result = project.run("lock")
    assert result.code in (2, 3)
    assert "ghost" in result.err
    assert "source" in result.err
    assert project.snapshot() == {}


def test_hashes_of_an_sdist_that_changed_are_not_taken_over(start: Start, index: LocalIndex) -> None:
    """The index serves other bytes under the name of a pinned file: the new hash does not slip in unsaid."""
    project = start(NAMED)
    source = sdist("source", "1.0", build_requires=["builder"])
    index.add(source)
    index.add(wheel("builder", "1.0"), core_metadata=True)
    project.run("lock").expect(0)
    before = project.snapshot()
    changed = sdist("source", "1.0", build_requires=["builder"], requires=["dep"])
    assert sha256(changed.data) != source.sha256
    index.add(changed)
    project.store, project.cache = project.home / "s", project.home / "c"
    result = project.run("lock")
    assert result.code == 4 or "source" in result.out + result.err, result
    if result.code:
        assert project.snapshot() == before


def with_extras(dynamic: bool, **extras: str) -> Built:
    """The sdist `source`, whose extras require one package each, with a marker, or nothing."""
    requires = [f"{wanted} and extra == '{extra}'" for extra, wanted in extras.items() if wanted]
    return sdist("source", "1.0", requires=requires, provides_extra=list(extras), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_extra_that_requires_nothing_is_no_missing_extra(start: Start, index: LocalIndex, dynamic: bool) -> None:
    project = start(NAMED.replace('"source"', '"source[empty]"'))
    index.add(with_extras(dynamic, empty=""))
    project.run("lock").expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.12") == {"source": "1.0", "dep": "1.0"}


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_extra_that_an_sdist_lacks_is_an_error(start: Start, index: LocalIndex, dynamic: bool) -> None:
    project = start(NAMED.replace('"source"', '"source[empty,gone]"'))
    index.add(with_extras(dynamic, empty=""))
    result = project.run("lock").expect(2)
    assert "source 1.0 provides no extra 'gone'" in result.err
    assert project.snapshot() == {}


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_extra_that_is_asked_for_later_is_found(start: Start, index: LocalIndex, dynamic: bool) -> None:
    """What one resolution told of an sdist holds for no other: it leaves out the extras that were not asked for."""
    project = start(NAMED.replace('"source", "dep"', '"source"'))
    index.add(with_extras(dynamic, more="dep ; python_version > '3'"))
    project.run("lock").expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.12") == {"source": "1.0"}
    file = project.folder / "envs" / "app.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"source"', '"source[more]"'), encoding="utf-8")
    project.run("lock").expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.12") == {"source": "1.0", "dep": "1.0"}


@pytest.mark.parametrize("dynamic", [False, True])
def test_environments_apart_may_ask_for_other_extras_of_one_sdist(
    start: Start, index: LocalIndex, dynamic: bool
) -> None:
    apart = 'apart = true\n[envs.{}.sdists]\nsource = "there is no wheel"\n'
    one = '[envs.one]\nrequires = ["source"]\nplatforms = ["linux-x86_64"]\n' + apart.format("one")
    two = '[envs.two]\nrequires = ["source[more]"]\n' + apart.format("two")
    project = start(f'[[packages]]\nname = "dep"\nversion = "1.0"\n{one}{two}{TARGETS}')
    index.add(with_extras(dynamic, more="dep ; sys_platform == 'win32'"))
    for store in ("store", "fresh"):
        project.store = project.home / store
        project.run("lock").expect(0)
        locks = Locks(project)
        assert locks.versions("one", "linux-x86_64", "3.12") == {"source": "1.0"}
        assert locks.versions("two", "linux-x86_64", "3.12") == {"source": "1.0"}
        assert locks.versions("two", "windows-x86_64", "3.12") == {"source": "1.0", "dep": "1.0"}


def test_a_lock_is_kept_without_another_build(start: Start, index: LocalIndex, tmp_path: Path) -> None:
    project = start(NAMED)
    mark = tmp_path / "ran"
    index.add(sdist("source", "1.0", requires=["dep"], dynamic=True, marker_file=mark))
    project.run("lock").expect(0)
    mark.unlink()
    index.add(wheel("dep", "2.0"), core_metadata=True)
    with contextlib.closing(sqlite3.connect(next(project.store.glob("*.sqlite3")))) as cache:
        cache.execute("delete from entries where kind in ('page', 'proof', 'scan')")
        cache.commit()
    project.cache = project.home / "c"
    assert "nothing changed" in project.run("lock").expect(0).out
    assert not mark.exists()
