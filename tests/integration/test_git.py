"""A package that is published nowhere: built from a commit, its wheel pinned like any other."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.locked import Locks
from integration.machine import HERE
from support import scenario
from support.gitrepo import PACKAGE, Repository, build_tools, compiler, extension, pythons, two_pythons
from support.index import LocalIndex
from support.metadata import sha256
from support.sandbox import Project
from support.wheels import wheel

pytestmark = [
    pytest.mark.skipif(bool(compiler()), reason=compiler()),
    pytest.mark.skipif(len(pythons()) < 2, reason="two Pythons with their headers are needed"),
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
]
OTHER = "linux-aarch64" if HERE != "linux-aarch64" else "linux-x86_64"


class Toolchain:
    """A project beside a repository and an index, and the folder where its wheels are built."""

    def __init__(self, project: Project, repository: Repository, index: LocalIndex, folder: Path) -> None:
        self.project = project
        self.repository = repository
        self.index = index
        self.wheels = folder

    @property
    def two(self) -> tuple[str, ...]:
        """The two Pythons that wheels are built for, of those in the targets."""
        return two_pythons()

    def write(self, rev: str, *, url: str = "", requires: str = f'"{PACKAGE}", "dep"', more: str = "") -> None:
        """The environment ``app``."""
        text = (
            f'requires = [{requires}]\n[git]\n{PACKAGE} = {{ url = "{url or self.repository.url}", rev = "{rev}" }}\n'
        )
        (self.project.folder / "envs/app.toml").write_text(text + more)

    def build(self, *words: str, folder: Path | None = None, code: int = 0, **env: str) -> str:
        """Run ``lockgrid build`` for two Pythons; what it said on both streams."""
        chosen = [word for python in self.two for word in ("--python", pythons()[python])]
        result = self.project.run("build", "app", "-o", str(folder or self.wheels), *chosen, *words, env=env)
        result.expect(code)
        return result.out + result.err

    def lock(self, *words: str, code: int = 0) -> str:
        """Run ``lockgrid lock`` with the wheels; what it said on both streams."""
        result = self.project.run("lock", "--built", str(self.wheels), *words).expect(code)
        return result.out + result.err

    def grid(self) -> dict[str, Any]:
        """The grid that was locked."""
        return tomllib.loads((self.project.folder / "locks/grid.toml").read_text())


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalIndex]:
    with LocalIndex() as index:
        for built in (*build_tools(), wheel("dep", "1.0"), wheel("lone", "1.0")):
            index.add(built, core_metadata=True)
        yield index


def make(make_project: MakeProject, index: LocalIndex, folder: Path) -> Toolchain:
    """A project that names nothing yet, and a repository with one commit."""
    rows = "".join(
        f'[targets.platforms.{name}]\nglibc = "2.40"\n' for name in (HERE, OTHER) if name.startswith("linux")
    )
    rows += "".join(f'[targets.platforms.{name}]\nmacos = "15.0"\n' for name in (HERE, OTHER) if name.startswith("mac"))
    known = [*two_pythons(), "3.20"]
    content = scenario.parse(f'[envs.app]\nrequires = ["dep"]\n[targets]\npythons = {known}\n{rows}')
    project = make_project(content, index)
    made = Toolchain(project, Repository(folder / "repository"), index, folder / "wheels")
    made.write(made.repository.commit(extension()))
    return made


@pytest.fixture(scope="module")
def built(make_project: MakeProject, tools: LocalIndex, tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    """Return a toolchain with built wheels and locks; not to be touched."""
    made = make(make_project, tools, tmp_path_factory.mktemp("git"))
    made.build()
    made.lock()
    return made


@pytest.fixture
def copy(built: Toolchain, tmp_path: Path) -> Toolchain:
    """Return a copy of it, to break: its own project, wheels and caches, and the same repository."""
    shutil.copytree(built.project.folder, tmp_path / "project")
    shutil.copytree(built.wheels, tmp_path / "wheels")
    project = Project(tmp_path / "project", built.index, built.project.cache)
    return Toolchain(project, built.repository, built.index, tmp_path / "wheels")


def wheels_of(folder: Path) -> dict[str, str]:
    """The sha256 of each wheel by its name."""
    return {path.name: sha256(path.read_bytes()) for path in sorted(folder.glob("*.whl"))}


# -- what a lock says ---------------------------------------------------------------------------------


def test_the_lockfile_pins_the_wheels_that_were_built(built: Toolchain) -> None:
    made = wheels_of(built.wheels)
    assert len(made) == 2
    lockfile = Locks(built.project)[f"app/{HERE}"]
    assert lockfile.hashes(PACKAGE) == set(made.values())
    assert built.repository.url not in lockfile.text
    assert "file:" not in lockfile.text
    built.project.run("check").expect(0)


def test_a_target_without_a_wheel_is_unsupported_and_says_why(built: Toolchain) -> None:
    cells = {(c["platform"], c["python"]): c for c in built.grid()["cells"]}
    assert {key for key, cell in cells.items() if cell["status"] == "proven"} == {(HERE, p) for p in built.two}
    for key in ((HERE, "3.20"), (OTHER, built.two[0])):
        assert cells[key]["failed"] == "tags"
        assert "is not built for this target" in cells[key]["because"]
    assert "lockgrid build" in built.project.run("explain", "app", OTHER, built.two[0]).expect(0).out


def test_the_grid_records_the_commit_its_content_and_the_wheels(built: Toolchain) -> None:
    (record,) = built.grid()["git"]
    assert record["rev"] == built.repository.git("rev-parse", "HEAD")
    assert (record["package"], record["url"], record["environments"]) == (PACKAGE, built.repository.url, ["app"])
    assert record["tree"].startswith("sha256:")
    assert {w["file"]: w["sha256"] for w in record["wheels"]} == wheels_of(built.wheels)
    assert [(w["platform"], w["python"], w["version"]) for w in record["wheels"]] == [
        (HERE, python, "7.0.0") for python in built.two
    ]
    assert [w["requires"] for w in record["wheels"]] == [["dep"], ["dep"]]


def test_build_txt_pins_what_built_it_also_what_the_backend_asked_for(built: Toolchain) -> None:
    pins = {pin.name: pin.version for pin in Locks(built.project)["build"].pins}
    assert pins == {"cc-backend": "1.0", "helper": "1.0"}
    (record,) = built.grid()["git"]
    assert record["build-requires"] == ["cc-backend", "helper>=1"]
    assert [w["build-pins"] for w in record["wheels"]] == [["cc-backend==1.0", "helper==1.0"]] * 2


def test_nothing_that_is_built_fails_before_a_lock_of_nothing_is_written(
    make_project: MakeProject, tools: LocalIndex, tmp_path: Path
) -> None:
    made = make(make_project, tools, tmp_path)
    said = made.project.run("lock").expect(3).err
    assert "is not built" in said
    assert "lockgrid build app -o DIR" in said
    assert made.project.snapshot() == {}


# -- the same bytes -----------------------------------------------------------------------------------


def test_another_folder_cache_time_and_language_give_the_same_bytes(copy: Toolchain, tmp_path: Path) -> None:
    before = wheels_of(copy.wheels)
    shutil.rmtree(copy.project.folder / "locks")
    mask = os.umask(0o077)
    try:
        said = copy.build(
            "--as-of",
            "2026-11-01",
            folder=tmp_path / "other",
            LOCKGRID_CACHE_DIR=str(tmp_path / "a longer path of another cache"),
            TZ="Asia/Tokyo",
            LC_ALL="C",
            CFLAGS="-O3 -DOTHER",
            SOURCE_DATE_EPOCH="1",
        )
    finally:
        os.umask(mask)
    assert "built, " in said
    assert wheels_of(tmp_path / "other") == before
    assert "as it was" in copy.build()


def test_no_path_of_this_machine_is_in_a_wheel(built: Toolchain) -> None:
    for path in built.wheels.glob("*.whl"):
        data = path.read_bytes()
        for place in (built.project.store, built.repository.folder, built.wheels, Path.home() / ".cache"):
            assert str(place).encode() not in data


def test_the_build_pins_of_the_lock_are_used_again(copy: Toolchain, tools: LocalIndex, tmp_path: Path) -> None:
    with LocalIndex() as index:
        for one in (*build_tools(), wheel("dep", "1.0"), wheel("helper", "2.0")):
            index.add(one, core_metadata=True)
        project = Project(copy.project.folder, index, tmp_path / "uv")
        again = Toolchain(project, copy.repository, index, tmp_path / "other")
        again.build()
        assert wheels_of(again.wheels) == wheels_of(copy.wheels)


# -- later locks --------------------------------------------------------------------------------------


def test_a_machine_without_the_wheels_keeps_their_pins(copy: Toolchain) -> None:
    before = copy.project.snapshot()
    assert "nothing changed" in copy.project.run("lock").expect(0).out
    assert copy.project.snapshot() == before


def test_the_rest_may_change_where_the_wheels_are_not_at_hand(copy: Toolchain) -> None:
    before = Locks(copy.project)[f"app/{HERE}"].hashes(PACKAGE)
    copy.write(copy.repository.git("rev-parse", "HEAD"), requires=f'"{PACKAGE}", "lone"')
    copy.project.run("lock").expect(0)
    lockfile = Locks(copy.project)[f"app/{HERE}"]
    assert lockfile.hashes(PACKAGE) == before
    assert {pin.name for pin in lockfile.pins} == {PACKAGE, "dep", "lone"}


def test_a_cell_that_was_never_judged_needs_its_wheel(copy: Toolchain) -> None:
    before = copy.project.snapshot()
    shutil.copy(copy.project.folder / "envs/app.toml", copy.project.folder / "envs/more.toml")
    said = copy.project.run("lock").expect(2).err
    assert "it is not at hand" in said
    assert "--built DIR" in said
    assert copy.project.snapshot() == before
    copy.lock()


def test_a_wheel_for_one_more_python_joins_the_others(
    make_project: MakeProject, tools: LocalIndex, tmp_path: Path
) -> None:
    made = make(make_project, tools, tmp_path)
    first, second = made.two
    for python in (first, second):
        folder = tmp_path / python
        made.project.run("build", "app", "-o", str(folder), "--python", pythons()[python]).expect(0)
        made.project.run("lock", "--built", str(folder)).expect(0)
    assert set(Locks(made.project)[f"app/{HERE}"].hashes(PACKAGE)) == {
        sha for python in (first, second) for sha in wheels_of(tmp_path / python).values()
    }


def test_other_bytes_under_a_locked_name_are_refused_until_they_are_meant(copy: Toolchain) -> None:
    before = copy.project.snapshot()
    path = next(copy.wheels.glob("*.whl"))
    path.write_bytes(path.read_bytes() + b"\0")
    said = copy.lock(code=4)
    assert "has other bytes than when it was locked" in said
    assert path.name in said
    assert copy.project.snapshot() == before
    copy.lock("-P", PACKAGE)
    assert sha256(path.read_bytes()) in Locks(copy.project)[f"app/{HERE}"].hashes(PACKAGE)


def test_a_wheel_of_another_commit_is_not_taken_for_this_one(copy: Toolchain) -> None:
    rev = copy.repository.git("rev-parse", "HEAD")
    newer = copy.repository.commit({"src/more.c": "int more;"})
    try:
        copy.write(newer)
        said = copy.lock(code=3)
        assert f"was built from commit {rev}, so it is not used" in said
        copy.build()
        copy.lock()
        (record,) = copy.grid()["git"]
        assert record["rev"] == newer
    finally:
        copy.repository.git("reset", "--quiet", "--hard", rev)


def test_a_wheel_from_elsewhere_is_not_taken(copy: Toolchain) -> None:
    python = copy.two[0].replace(".", "")
    for path in copy.wheels.glob("*.whl"):
        path.unlink()
    shutil.rmtree(copy.project.folder / "locks")
    foreign = wheel(PACKAGE, "7.0.0", tags=[f"cp{python}-cp{python}-linux_x86_64"])
    (copy.wheels / foreign.filename).write_bytes(foreign.data)
    assert "does not say what it was built from" in copy.lock(code=3)


def test_environments_with_two_commits_are_locked_apart(copy: Toolchain) -> None:
    rev = copy.repository.git("rev-parse", "HEAD")
    newer = copy.repository.commit(extension("7.1.0"))
    try:
        copy.write(newer)
        (copy.project.folder / "envs/app.toml").rename(copy.project.folder / "envs/new.toml")
        copy.write(rev)
        chosen = [word for python in copy.two for word in ("--python", pythons()[python])]
        copy.project.run("build", "new", "-o", str(copy.wheels), *chosen).expect(0)
        said = copy.lock()
        assert "locked apart" in said
        locks = Locks(copy.project)
        for name, version in (("app", "7.0.0"), ("new", "7.1.0")):
            assert locks.versions(name, HERE, copy.two[0])[PACKAGE] == version
        assert {record["rev"]: record["environments"] for record in copy.grid()["git"]} == {
            rev: ["app"],
            newer: ["new"],
        }
        copy.project.run("check").expect(0)
        assert "nothing changed" in copy.lock("new")
    finally:
        copy.repository.git("reset", "--quiet", "--hard", rev)


def test_a_source_that_nothing_requires_is_said(copy: Toolchain) -> None:
    copy.write(copy.repository.git("rev-parse", "HEAD"), requires='"dep"')
    said = copy.lock()
    assert f"git.{PACKAGE}: no cell pins {PACKAGE}, so its source does nothing" in said


def test_audit_export_and_bundle_take_the_wheels_from_the_folder(copy: Toolchain, tmp_path: Path) -> None:
    target = ("--platform", HERE, "--python", copy.two[0])
    for words in (("audit",), ("bundle", "app", *target, "-o", str(tmp_path / "bundle"))):
        said = copy.project.run(*words).expect(4).err
        assert "not at hand" in said
        assert "LOCKGRID_BUILT" in said
        copy.project.run(*words, env={"LOCKGRID_BUILT": str(copy.wheels)}).expect(0)
    assert wheels_of(tmp_path / "bundle/wheels").items() & wheels_of(copy.wheels).items()
    text = copy.project.run("export", "app", *target).expect(0).out
    assert f"{PACKAGE}==7.0.0" in text
    assert f"# {PACKAGE}: built from git" in text
    copy.project.run("export", "app", *target, "--format", "pylock").expect(4)
    there = {"LOCKGRID_BUILT": str(copy.wheels)}
    assert copy.wheels.as_uri() in copy.project.run("export", "app", *target, "--format", "pylock", env=there).out
    copy.project.run("verify").expect(0)
