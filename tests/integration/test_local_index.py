"""The index of the test support does what it says, and the real uv can work with it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import Corruption, fake_setuptools, sdist, wheel

NO_RETRY = {"UV_HTTP_RETRIES": "0"}


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, index: LocalIndex) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder, index, tmp_path / "cache")


def uv_compile(project: Project, *requirements: str, options: tuple[str, ...] = ()) -> Result:
    """Run `uv pip compile` on requirements, without retries."""
    (project.folder / "in.txt").write_text("\n".join(requirements), encoding="utf-8")
    common = (
        "pip",
        "compile",
        "in.txt",
        "--python",
        sys.executable,
        "--no-header",
        "--no-annotate",
    )
    return project.uv(*common, *options, env=NO_RETRY)


@pytest.mark.parametrize("corrupt", get_args(Corruption))
def test_uv_refuses_or_reads_differently_a_corrupt_wheel(
    project: Project, index: LocalIndex, corrupt: Corruption
) -> None:
    tags = ("cp311-none-any",) if corrupt == "wheel-tags" else ("py3-none-any",)
    built = wheel("a", "1", tags=tags, corrupt=corrupt)
    assert built.data != wheel("a", "1", tags=tags).data
    index.add(built)
    lenient = {"wheel-tags", "record-hash", "no-record"}  # uv never looks while it resolves
    assert uv_compile(project, "a", options=("--python-version", "3.11")).code == int(corrupt not in lenient)


@pytest.mark.parametrize("html_only", [False, True])
@pytest.mark.parametrize("relative_urls", [False, True])
def test_uv_compiles_locks_and_installs(
    project: Project, index: LocalIndex, html_only: bool, relative_urls: bool
) -> None:
    index.html_only, index.relative_urls = html_only, relative_urls
    index.add(wheel("a", "1", requires=["b[x]"]))
    index.add(wheel("b", "1.0+cpu", requires=["c ; extra == 'x'"], provides_extra=["x"]))
    index.add(wheel("c", "3", scripts={"run-c": "c:main"}, files={"c.py": "def main(): print(7)"}))
    index.add(wheel("c", "4", requires_python=">=4"))
    index.add(wheel("c", "5"), yanked=True)
    compiled = uv_compile(project, "a", options=("--generate-hashes",)).expect(0).out
    assert [line.split()[0] for line in compiled.splitlines() if "==" in line] == [*("a==1", "b==1.0+cpu", "c==3")]
    text = scenario.PYPROJECT + 'dependencies = ["a"]\n'
    (project.folder / "pyproject.toml").write_text(text, encoding="utf-8")
    project.uv("lock", "--python", sys.executable).expect(0)
    locked = tomllib.loads((project.folder / "uv.lock").read_text(encoding="utf-8"))
    assert {p["name"] for p in locked["package"]} == {"a", "b", "c", "environments"}
    project.uv("venv", "-q", "--python", sys.executable).expect(0)
    (project.folder / "locked.txt").write_text(compiled, encoding="utf-8")
    project.uv("pip", "install", "--require-hashes", "-r", "locked.txt").expect(0)
    scripts = project.folder / ".venv" / ("Scripts" if sys.platform == "win32" else "bin")
    assert subprocess.run([scripts / "run-c"], capture_output=True, check=True).stdout == b"7\n"


@pytest.mark.parametrize(
    ("html_only", "html_upload_time", "version"),
    [(False, False, "1"), (True, True, "1"), (True, False, None)],
)
def test_uv_excludes_newer_files_by_upload_time(
    project: Project,
    index: LocalIndex,
    html_only: bool,
    html_upload_time: bool,
    version: str | None,
) -> None:
    index.html_only, index.html_upload_time = html_only, html_upload_time
    index.add(wheel("a", "1"), uploaded="2026-01-01T00:00:00Z")
    index.add(wheel("a", "2"), uploaded="2026-03-01T00:00:00Z")
    result = uv_compile(project, "a", options=("--exclude-newer", "2026-02-01T00:00:00Z"))
    assert result.out.strip() == (f"a=={version}" if version else "")
    assert result.code == (0 if version else 1)


def test_uv_reads_metadata_by_pep_658_by_range_or_from_the_whole_wheel(project: Project, index: LocalIndex) -> None:
    big = {"big.txt": b"x" * 200_000}
    index.add(wheel("a", "1", files=big), core_metadata=True)
    index.add(wheel("b", "1", files=big))
    uv_compile(project, "a", "b").expect(0)
    assert [r.path.endswith(".metadata") for r in index.seen("a-1-*")] == [True]
    assert {(r.method, r.status) for r in index.seen("b-1-*")} == {("HEAD", 200), ("GET", 206)}
    index.ranges = False
    index.add(wheel("c", "1", files=big))
    uv_compile(project, "c").expect(0)
    assert ("GET", 200) in {(r.method, r.status) for r in index.seen("c-1-*")}


def test_uv_stops_at_faults_and_wrong_hashes(project: Project, index: LocalIndex) -> None:
    index.add(wheel("a", "1"), sha256="0" * 64)
    index.fault("a", status=500, times=1)
    assert "500" in uv_compile(project, "a").expect(2).err
    lock = uv_compile(project, "a", options=("--generate-hashes",)).expect(0).out
    (project.folder / "locked.txt").write_text(lock, encoding="utf-8")
    project.uv("venv", "-q", "--python", sys.executable).expect(0)
    installed = project.uv("pip", "install", "--require-hashes", "-r", "locked.txt")
    assert "Hash mismatch" in installed.expect(1).err


def test_code_of_an_sdist_runs_only_where_its_metadata_is_dynamic(
    project: Project, index: LocalIndex, tmp_path: Path
) -> None:
    marks = {name: tmp_path / name for name in ("static", "dynamic", "old")}
    index.add(sdist("static", "1", requires=["x"], marker_file=marks["static"]))
    index.add(
        sdist(
            "dynamic",
            "1",
            requires=["x"],
            dynamic=True,
            build_requires=["build-a"],
            hook_requires=["build-b"],
            marker_file=marks["dynamic"],
        )
    )
    index.add(sdist("old", "1", requires=["x"], backend="setuptools", marker_file=marks["old"]))
    for built in (wheel("x", "1"), wheel("build-a", "1"), wheel("build-b", "1"), fake_setuptools()):
        index.add(built)
    for name in marks:
        assert uv_compile(project, name).expect(0).out.split() == [f"{name}==1", "x==1"]
    assert not marks["static"].exists()
    hooks = ["get_requires_for_build_wheel", "prepare_metadata_for_build_wheel"]
    assert [line for line in marks["dynamic"].read_text().split() if line != "import"] == hooks
    assert index.seen("build_a-1-*")
    assert index.seen("build_b-1-*")
    assert "setup.py" in marks["old"].read_text()
    project.uv("venv", "-q", "--python", sys.executable).expect(0)
    project.uv("pip", "install", *marks).expect(0)
    assert "build_wheel" in marks["static"].read_text()
    code = "import static, dynamic, old, x; print(old.__version__)"
    assert project.uv("run", "--no-project", "python", "-c", code).expect(0).out == "1\n"
