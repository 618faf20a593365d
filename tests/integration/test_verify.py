"""`lockgrid verify` tells each way in which the index has changed under the locks, by lockfile, pin and file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import fake_setuptools, wheel

TEXT = """
[[packages]]
name = "kit"
version = "1.0"
requires = ["plain", "compiled", "tree"]
[[packages]]
name = "plain"
version = "1.0"
[[packages]]
name = "compiled"
version = "1.0"
python_wheels = "3.12-3.13"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { backend = "setuptools" }
[targets]
pythons = ["3.12", "3.13"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.car]
requires = ["kit"]
[envs.car.sdists]
tree = "there is no wheel"
[envs.bike]
requires = ["plain"]
"""
CONTENT = scenario.parse(TEXT, name="verify")
PLAIN = "plain-1.0-py3-none-any.whl"
WINDOWS = "compiled-1.0-cp313-cp313-win_amd64.whl"
ALL = ["locks/bike/linux-x86_64.txt", "locks/bike/windows-x86_64.txt", "locks/car/linux-x86_64.txt"]
ALL += ["locks/car/windows-x86_64.txt"]


@pytest.fixture
def served() -> Iterator[LocalIndex]:
    """An index of each test's own, to break: what all of them share is the lock."""
    with LocalIndex() as index:
        CONTENT.populate(index)
        index.add(fake_setuptools())
        yield index


@pytest.fixture(scope="module")
def once(make_project: MakeProject) -> Project:
    with LocalIndex() as index:
        CONTENT.populate(index)
        index.add(fake_setuptools())
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
    return project


@pytest.fixture
def project(once: Project, served: LocalIndex) -> Project:
    """The locked project beside the test's own index, with nothing remembered."""
    return Project(once.folder, served, once.cache)


def faults(project: Project) -> list[tuple[str, str, str, list[str]]]:
    """Kind, pin, file and lockfiles of all that is wrong; what people are told names the same."""
    said: dict[str, Any] = project.run("verify", "--json").expect(1).json()
    text = project.run("verify").expect(1).out
    for fault in said["faults"]:
        for word in (fault["pin"], fault["file"], fault["sha256"], fault["what"], *fault["lockfiles"]):
            assert word in text
    return [(f["kind"], f["pin"], f["file"], f["lockfiles"]) for f in said["faults"]]


def test_what_is_as_it_was_locked(project: Project, served: LocalIndex) -> None:
    locks = Locks(project)
    hashes = [sha for lockfile in locks.files.values() for pin in lockfile.pins for sha in pin.hashes]
    before = project.snapshot(".")
    result = project.run("verify").expect(0)
    assert result.out.splitlines() == [
        f"{len(hashes)} hashes ({len(set(hashes))} files) of 5 lockfiles, against:",
        f"  {served.url}",
        "all as locked",
    ]
    said = project.run("verify", "--json").expect(0).json()
    assert (said["hashes"], said["files"], said["faults"]) == (len(hashes), len(set(hashes)), [])
    assert project.snapshot(".") == before


def test_the_index_is_asked_each_time(project: Project, served: LocalIndex) -> None:
    for _ in range(2):
        del served.requests[:]
        project.run("verify").expect(0)
        assert {r.path for r in served.requests} == {
            f"/simple/{name}/" for name in ("kit", "plain", "compiled", "tree", "setuptools")
        }
    served.remove(PLAIN)
    project.run("verify").expect(1)
    project.run("verify", env={"UV_OFFLINE": "1"}).expect(4)


def test_what_was_published_since_is_nothing_wrong(project: Project, served: LocalIndex) -> None:
    served.add(wheel("plain", "2.0"))
    served.add(wheel("plain", "1.0", tags=("cp312-cp312-manylinux_2_28_x86_64",)))
    project.run("verify").expect(0)


def test_a_yanked_file_is_named(project: Project, served: LocalIndex) -> None:
    built = next(b for b in CONTENT.builts if b.filename == WINDOWS)
    served.add(built, yanked="crashes")
    assert faults(project) == [("yanked", "compiled==1.0", WINDOWS, ["locks/car/windows-x86_64.txt"])]
    assert "was yanked: crashes" in project.run("verify").out
    other = project.run("export", "car", "--platform", "windows-x86_64").expect(2)
    assert f"compiled==1.0, Python 3.13: {WINDOWS} was yanked: crashes" in other.err
    project.run("export", "car", "--platform", "windows-x86_64", "--python", "3.12").expect(0)
    project.run("export", "car", "--platform", "linux-x86_64").expect(0)


def test_a_file_that_vanished_is_told(project: Project, served: LocalIndex) -> None:
    served.remove(WINDOWS)
    assert faults(project) == [("file", "compiled==1.0", "", ["locks/car/windows-x86_64.txt"])]


def test_replaced_bytes_are_told_with_the_name(project: Project, served: LocalIndex) -> None:
    served.add(wheel("plain", "1.0", files={"plain.py": "evil"}))
    assert faults(project) == [("replaced", "plain==1.0", PLAIN, ALL)]


def test_a_replaced_sdist_is_told_with_the_name(project: Project, served: LocalIndex) -> None:
    built = next(b for b in CONTENT.builts if b.name == "tree")
    served.add(built, sha256="0" * 64)
    assert faults(project) == [("replaced", "tree==1.0", built.filename, ALL[2:])]


def test_a_replaced_build_requirement_is_told(project: Project, served: LocalIndex) -> None:
    built = fake_setuptools()
    served.add(wheel("setuptools", built.version, files={"setuptools.py": "evil"}))
    assert faults(project) == [("replaced", f"setuptools=={built.version}", built.filename, ["locks/build.txt"])]


def test_a_release_that_vanished_is_told(project: Project, served: LocalIndex) -> None:
    served.add(wheel("plain", "2.0"))
    served.remove(PLAIN)
    assert faults(project) == [("release", "plain==1.0", "", ALL)]


def test_a_project_that_the_index_does_not_have_is_told(project: Project) -> None:
    with LocalIndex() as empty:
        other = Project(project.folder, empty, project.cache)
        found = faults(other)
    assert [(kind, pin) for kind, pin, _, _ in found] == [
        ("project", f"{name}==1.0") for name in ("compiled", "kit", "plain")
    ] + [("project", f"setuptools=={fake_setuptools().version}"), ("project", "tree==1.0")]


@pytest.mark.parametrize("offer_files", [False, True])
def test_a_quarantined_project_is_told(project: Project, served: LocalIndex, offer_files: bool) -> None:
    served.quarantine("plain", offer_files=offer_files)
    assert faults(project) == [("quarantined", "plain==1.0", "", ALL)]


def test_an_index_without_hashes_verifies_nothing(project: Project, served: LocalIndex) -> None:
    for built in CONTENT.builts:
        served.add(built, sha256="")
    assert {kind for kind, pin, _, _ in faults(project) if "setuptools" not in pin} == {"unhashed"}


def test_a_failing_index_is_no_answer(project: Project, served: LocalIndex) -> None:
    served.fault("plain", status=503)
    result = project.run("verify", timeout=120).expect(4)
    assert result.out == ""


def test_a_lockfile_that_is_gone_is_told_and_one_that_was_edited_is_judged(copy: Project) -> None:
    (copy.folder / "locks/bike/linux-x86_64.txt").unlink()
    path = copy.folder / "locks/bike/windows-x86_64.txt"
    pinned = next(pin for pin in Locks(copy)["bike/windows-x86_64"].pins if pin.name == "plain").hashes[0]
    path.write_text(path.read_text().replace(pinned, "0" * 64))
    result = copy.run("verify").expect(1)
    assert "locks/bike/linux-x86_64.txt: is missing" in result.out
    assert f"plain==1.0: {PLAIN}: " in result.out
    assert "note: locks/bike/windows-x86_64.txt is not as it was locked" in result.err


@pytest.fixture
def copy(project: Project, served: LocalIndex, tmp_path: Path) -> Project:
    shutil.copytree(project.folder, tmp_path / "copy")
    return Project(tmp_path / "copy", served, project.cache)


SOURCES = scenario.parse(
    """
[[packages]]
name = "torch"
version = "1.0"
[[packages]]
name = "torch"
version = "1.0"
files = { "torch.py" = "cpu = True" }
index = "cpu"
[targets]
pythons = ["3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.toy]
requires = ["torch"]
[envs.toy.sources]
"torch@linux-x86_64" = "cpu"
""",
    name="verify-sources",
)


def test_each_platform_is_held_against_the_index_of_its_source(make_project: MakeProject) -> None:
    with LocalIndex() as index, LocalIndex(credentials=("me", "s3cr3t")) as cpu:
        SOURCES.populate(index)
        SOURCES.populate(cpu, "cpu")
        project = make_project(SOURCES, index)
        env: dict[str, str | None] = {"UV_INDEX": f"cpu={cpu.url_with_credentials}"}
        project.run("lock", env=env).expect(0)
        good = project.run("verify", env=env).expect(0)
        assert f"  cpu ({cpu.url})\n" in good.out
        assert "s3cr3t" not in good.out + good.err
        cpu.add(wheel("torch", "1.0", files={"torch.py": "evil"}))
        (fault,) = project.run("verify", "--json", env=env).expect(1).json()["faults"]
    assert fault["lockfiles"] == ["locks/toy/linux-x86_64.txt"]
    assert fault["what"].endswith("(index cpu)")
