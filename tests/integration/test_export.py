"""What `lockgrid export` writes installs with uv and with pip: exactly the pins, from the index that was asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock

from integration.conftest import MakeProject
from integration.installers import installed, new_venv, pip_install, serve_builders, uv_sync
from integration.locked import Locks
from integration.machine import HERE, PYTHON
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

OTHER = "3.10" if PYTHON != "3.10" else "3.11"
TEXT = f"""
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain", "compiled", "tree", "new ; python_version >= '3.12'", "win ; sys_platform == 'win32'"]
[[packages]]
name = "plain"
version = "1.0+cpu"
wheels = ["py2.py3-none-any"]
[[packages]]
name = "compiled"
version = "2.0"
python_wheels = "3.10-3.13"
[[packages]]
name = "compiled"
version = "1.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "new"
version = "1.0"
[[packages]]
name = "win"
version = "1.0"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = {{ backend = "setuptools" }}
[[packages]]
name = "pure"
version = "1.0"
[envs.app]
requires = ["app-kit"]
[envs.app.sdists]
tree = "there is no wheel"
[envs.other]
requires = ["pure"]
pythons = ["{OTHER}"]
"""
CONTENT = scenario.parse(TEXT, name="export")
ONE = ("--platform", HERE, "--python", PYTHON)

pytestmark = pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform")


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    return serve_builders(served)


@pytest.fixture(scope="module")
def project(locked: Project) -> Project:
    return locked


def export(project: Project, path: Path, *words: str, env: dict[str, str | None] | None = None) -> Path:
    """Export `app`, or what the words say, to a file."""
    environment = () if words[:1] == ("other",) else ("app",)
    said = project.run("export", *environment, *words, "-o", str(path), env=env).expect(0)
    assert said.out.startswith(f"wrote {path}: ")
    return path


def pins(project: Project, environment: str = "app") -> dict[str, str]:
    return Locks(project).versions(environment, HERE, PYTHON)


@pytest.mark.parametrize("words", [ONE, ("--platform", HERE), ()])
@pytest.mark.parametrize("kind", ["requirements", "pylock"])
def test_uv_installs_exactly_the_pins(project: Project, tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    path = export(project, tmp_path / ("pylock.toml" if kind == "pylock" else "all.txt"), "--format", kind, *words)
    python = new_venv(project, tmp_path / "venv")
    uv_sync(project, python, path).expect(0)
    assert installed(python) == pins(project)


@pytest.mark.parametrize("words", [ONE, ()])
@pytest.mark.parametrize("kind", ["requirements", "pylock"])
def test_pip_installs_exactly_the_pins(project: Project, tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    """The requirements bring their own index along; sdists are built with what the index offers."""
    path = export(project, tmp_path / ("pylock.toml" if kind == "pylock" else "all.txt"), "--format", kind, *words)
    python = new_venv(project, tmp_path / "venv")
    constraints = ("--build-constraint", str(project.folder / "locks/build.txt"))
    pip_install(project, python, "--no-deps", *constraints, "-r", str(path), index=kind == "pylock").expect(0)
    assert installed(python) == pins(project)


@pytest.mark.parametrize("words", [ONE, ()])
def test_constraints_hold_what_is_installed_beside_them(
    project: Project, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = export(project, tmp_path / "constraints.txt", "--format", "constraints", *words)
    wanted = {name: version for name, version in pins(project).items() if name in ("plain", "compiled")}
    assert ("compiled", "1.0") in wanted.items()
    for number, uv in enumerate((True, False)):
        python = new_venv(project, tmp_path / f"venv-{number}")
        if uv:
            words = ("pip", "install", "--python", str(python), "-c", str(path), "plain", "compiled")
            project.uv(*words).expect(0)
        else:
            pip_install(project, python, "-c", str(path), "plain", "compiled").expect(0)
        assert installed(python) == wanted


@pytest.mark.parametrize("kind", ["requirements", "pylock"])
def test_a_target_that_is_not_in_it_gets_an_error_and_no_empty_success(
    project: Project, tmp_path: Path, kind: str
) -> None:
    """`other` is a single pure package for another Python: nothing else would keep it from being installed."""
    path = export(project, tmp_path / ("pylock.toml" if kind == "pylock" else "all.txt"), "other", "--format", kind)
    python = new_venv(project, tmp_path / "venv")
    assert uv_sync(project, python, path).code != 0
    done = pip_install(project, python, "--no-deps", "-r", str(path), index=kind == "pylock")
    assert done.code != 0
    if kind == "requirements":
        assert "this-target-is-not-in-the-export" in done.err
    assert installed(python) == {}


@pytest.mark.parametrize("kind", ["requirements", "pylock"])
def test_a_file_that_was_replaced_is_refused(make_project: MakeProject, tmp_path: Path, kind: str) -> None:
    with LocalIndex() as index:
        CONTENT.populate(index)
        serve_builders(index)
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
        path = export(project, tmp_path / ("pylock.toml" if kind == "pylock" else "all.txt"), "--format", kind, *ONE)
        index.add(wheel("plain", "1.0+cpu", tags=("py2.py3-none-any",), files={"plain.py": "evil"}))
        project.cache = tmp_path / "cache"
        python = new_venv(project, tmp_path / "venv")
        refused = uv_sync(project, python, path)
        done = pip_install(project, python, "--no-deps", "-r", str(path), index=kind == "pylock")
        assert installed(python) == {}
        again = project.run("export", "app", *ONE, env={"LOCKGRID_CACHE_DIR": str(tmp_path / "fresh")}).expect(2)
    assert refused.code != 0
    assert done.code != 0
    assert "plain" in refused.err
    assert "plain" in done.err
    assert "plain==1.0+cpu, Python" in again.err
    assert "in its place it has plain-1.0+cpu-py2.py3-none-any.whl" in again.err


@pytest.fixture(scope="module")
def mirror() -> Iterator[LocalIndex]:
    """The same files, elsewhere: behind a password, linked to as mirrors do, without upload times."""
    with LocalIndex(credentials=("me", "s3cr3t"), relative_urls=True, api_version="1.0") as index:
        CONTENT.populate(index)
        serve_builders(index)
        yield index


#: Some of the ways to ask.
FORMATS: list[tuple[str, ...]] = [ONE, ("--format", "pylock"), ("--format", "constraints"), ("--json",)]


@pytest.mark.parametrize("words", FORMATS)
def test_urls_are_those_of_the_index_that_is_configured_and_hold_no_credentials(
    project: Project, mirror: LocalIndex, tmp_path: Path, words: tuple[str, ...]
) -> None:
    env: dict[str, str | None] = {
        "UV_DEFAULT_INDEX": mirror.url_with_credentials,
        "LOCKGRID_CACHE_DIR": str(tmp_path / "cache"),
    }
    said = project.run("export", "app", *words, env=env).expect(0)
    assert "s3cr3t" not in said.out + said.err
    assert "me:" not in said.out
    assert project.index.url.removesuffix("/simple") not in said.out
    if "constraints" not in words:
        assert mirror.url in said.out
        more = project.run("export", "app", *words, "--no-urls", env=env)
        if "pylock" in words:
            assert more.code == 2
        else:
            assert "://" not in more.expect(0).out


def test_credentials_in_the_links_of_a_page_are_left_out(project: Project, served: LocalIndex, tmp_path: Path) -> None:
    """Some mirrors write them into every link."""
    host = served.base_url.removeprefix("http://")
    fault = served.fault("*/simple/*", edit=lambda r: type(r)(
        status=r.status, body=r.body.replace(f"//{host}/files".encode(), f"//me:s3cr3t@{host}/files".encode()),
        headers={k: v for k, v in r.headers.items() if k != "Content-Length"},
    ))  # fmt: skip
    env: dict[str, str | None] = {"LOCKGRID_CACHE_DIR": str(tmp_path / "cache")}
    try:
        said = [project.run("export", "app", *words, env=env).expect(0).out for words in FORMATS]
    finally:
        served.clear_faults()
    assert fault.hits
    assert "s3cr3t" not in "".join(said)
    assert f"//{host}/files" in said[1]


#: All that `export` can write: for one target, for those of a platform, and for all of them.
EVERYTHING: list[tuple[str, ...]] = [
    *(("--format", k, *t) for k in ("requirements", "pylock", "constraints") for t in (ONE, ("--platform", HERE), ())),
    ("--format", "requirements", "--no-urls"),
    ("--format", "cyclonedx", *ONE),
    ("--json",),
    ("--json", *ONE),
]


@pytest.mark.parametrize("words", EVERYTHING, ids=" ".join)
def test_the_same_locks_give_the_same_bytes(project: Project, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Again; from another folder; with another seed of hashes, order of variables, locale, time zone and cache."""
    first = project.run("export", "app", *words, env={"PYTHONHASHSEED": "0"}).expect(0).out
    assert first.endswith("\n")
    assert project.run("export", "app", *words, env={"PYTHONHASHSEED": "1"}).expect(0).out == first
    folder = tmp_path / "another place"
    shutil.copytree(project.folder, folder)
    other = Project(folder, project.index, tmp_path / "uv")
    odd: dict[str, str | None] = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "COLUMNS": "20"}
    shuffled = dict(reversed(other.environment({**odd, "LOCKGRID_CACHE_DIR": str(tmp_path / "cache")}).items()))
    command = [sys.executable, "-m", "lockgrid", "export", "app", *words]
    assert subprocess.run(command, cwd=folder, env=shuffled, capture_output=True, check=True).stdout.decode() == first
    if "--json" not in words:
        out = tmp_path / "pylock.toml"
        subprocess.run([*command, "-o", str(out)], cwd=folder, env=shuffled, capture_output=True, check=True)
        assert out.read_bytes().decode() == first


def test_a_pylock_is_valid_and_says_what_the_index_says(project: Project, served: LocalIndex) -> None:
    for words in (ONE, ()):
        lock = Pylock.from_dict(tomllib.loads(project.run("export", "app", "--format", "pylock", *words).expect(0).out))
        assert {str(p.index) for p in lock.packages} == {served.url}
        for package in lock.packages:
            for file in package.wheels or ():
                assert file.url == served.file_url(file.filename)
                assert file.size
                assert file.upload_time
    assert Locks(project).versions("app", HERE, PYTHON).keys() <= {str(p.name) for p in lock.packages}


def test_a_bill_of_materials_is_of_one_cell(project: Project, tmp_path: Path) -> None:
    path = export(project, tmp_path / "bill.json", "--format", "cyclonedx", *ONE)
    bill = json.loads(path.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert {c["name"]: c["version"] for c in bill["components"]} == pins(project)
    refused = project.run("export", "app", "--format", "cyclonedx").expect(2)
    assert "give --platform and --python" in refused.err


def test_machines_get_each_pin_with_its_file(project: Project) -> None:
    said: dict[str, Any] = project.run("export", "app", "--json").expect(0).json()
    locks = Locks(project)
    cells = {(cell["platform"], cell["python"]): cell["pins"] for cell in said["cells"]}
    assert cells.keys() == {(p, v) for (e, p, v), cell in locks.cells.items() if e == "app"}
    for (platform, python), found in cells.items():
        assert {pin["name"]: pin["version"] for pin in found} == locks.versions("app", platform, python)
        for pin in found:
            assert pin["sha256"] in locks[f"app/{platform}"].hashes(pin["name"])
            assert pin["url"].endswith(pin["file"].replace("+", "%2B"))


def test_what_stands_at_the_file_is_replaced_or_kept(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "all.txt"
    export(project, path, *ONE)
    good = path.read_bytes()
    path.write_text("something else")
    export(project, path, *ONE)
    assert path.read_bytes() == good
    (tmp_path / "link").symlink_to(path)
    export(project, tmp_path / "link", "--platform", HERE)
    assert (tmp_path / "link").is_symlink()
    assert path.read_bytes() != good
    assert [p.name for p in path.parent.iterdir()] == ["all.txt"]
    served = project.run("export", "app", *ONE, "-o", str(path), env={"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple"})
    before = path.read_bytes()
    assert (served.code, path.read_bytes()) == (4, before)
    assert project.run("export", "app", *ONE, "-o", "-").expect(0).out.encode() == good


@pytest.mark.skipif(os.name == "nt", reason="there is no such file")
def test_a_device_is_not_replaced(project: Project) -> None:
    said = project.run("export", "app", *ONE, "-o", os.devnull).expect(2)
    assert "this is no file" in said.err
    assert not Path(os.devnull).is_file()


# -- [sources] --------------------------------------------------------------------------------------------

SOURCES = scenario.parse(
    """
[[packages]]
name = "lib"
version = "1.0"
requires = ["torch"]
[[packages]]
name = "torch"
version = "1.0"
[[packages]]
name = "torch"
version = "1.0"
files = { "torch.py" = "cpu = True" }
index = "cpu"
[[packages]]
name = "lib"
version = "9.0"
index = "cpu"
[envs.toy]
requires = ["lib"]
[envs.toy.sources]
torch = "cpu"
""",
    name="export-sources",
)


@pytest.mark.parametrize("kind", ["requirements", "pylock"])
def test_each_package_comes_from_the_index_of_its_source(make_project: MakeProject, tmp_path: Path, kind: str) -> None:
    with LocalIndex() as index, LocalIndex() as cpu:
        SOURCES.populate(index)
        SOURCES.populate(cpu, "cpu")
        project = make_project(SOURCES, index)
        env: dict[str, str | None] = {"UV_INDEX": f"cpu={cpu.url}"}
        project.run("lock", env=env).expect(0)
        path = tmp_path / ("pylock.toml" if kind == "pylock" else "all.txt")
        project.run("export", "toy", "--format", kind, "-o", str(path), env=env).expect(0)
        for number, uv in enumerate((True, False)):
            python = new_venv(project, tmp_path / f"venv-{number}")
            if uv:
                strategy = ("--index-strategy", "unsafe-best-match") if kind == "requirements" else ()
                uv_words = ("pip", "sync", "--require-hashes", str(path), "--python", str(python), *strategy)
                # A pylock is not asked of any index; requirements name theirs where uv is configured with none.
                elsewhere = "http://127.0.0.1:9/simple" if kind == "pylock" else None
                project.uv(*uv_words, env={"UV_DEFAULT_INDEX": elsewhere}).expect(0)
            else:
                pip_install(project, python, "--no-deps", "-r", str(path), index=False).expect(0)
            assert installed(python) == {"lib": "1.0", "torch": "1.0"}
            subprocess.run([python, "-c", "import torch; assert torch.cpu"], check=True)
        if kind == "pylock":
            packages = tomllib.loads(path.read_text())["packages"]
            assert {p["name"]: p["index"] for p in packages} == {"lib": index.url, "torch": cpu.url}
