"""The locks that were made from one index serve with another: verbs and installers ask that one and nobody else."""

from __future__ import annotations

import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from integration import bundles
from integration.bundles import content, make
from integration.installers import (
    BUILDERS,
    empty,
    installed,
    lockfile_of,
    new_venv,
    pip_install,
    pip_sync,
    serve_builders,
    uv_sync,
    venv_with_pip,
)
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from lockgrid.cli import cli
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = bundles.CONTENT
#: Everything that the index has.
BUILTS = (*CONTENT.builts, *BUILDERS)

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="the cell of this Python is unsupported"),
]


@dataclass(frozen=True, slots=True)
class Mirror:
    """An index as a sandbox sees it."""

    url: str


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    return serve_builders(served)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plain folder of files."""
    root = tmp_path_factory.mktemp("folder")
    for built in BUILTS:
        (root / built.filename).write_bytes(built.data)
    return root


@pytest.fixture(scope="module", params=["without sizes and dates", "pypiserver"])
def mirror(request: pytest.FixtureRequest, folder: Path) -> Iterator[Mirror]:
    """Return an index that does not tell what the first one told."""
    if request.param == "pypiserver":
        with pypiserver(folder) as url:
            yield Mirror(url)
        return
    with LocalIndex(html_only=True, relative_urls=True, ranges=False) as index:
        for built in BUILTS:
            index.add(built)
        yield Mirror(index.url)


class pypiserver:  # noqa: N801  # reads as a function
    """Run a real one on a folder, by itself: what it does not have it looks for nowhere else."""

    def __init__(self, folder: Path, *options: str) -> None:
        if not importlib.util.find_spec("pypiserver"):
            pytest.skip("pypiserver is not installed")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = options or ("--hash-algo", "sha256")
        words = ["-i", "127.0.0.1", "-p", str(port), "--disable-fallback", *options, str(folder)]
        command = [sys.executable, "-m", "pypiserver", "run", *words]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._url = f"http://127.0.0.1:{port}/simple"

    def __enter__(self) -> str:
        for _ in range(200):
            try:
                urlopen(f"{self._url}/", timeout=5).close()
                return self._url
            except (URLError, OSError):
                time.sleep(0.05)
        raise AssertionError("pypiserver does not answer")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)


@pytest.fixture
def moved(locked: Project, served: LocalIndex, mirror: Mirror, tmp_path: Path) -> Iterator[Project]:
    """Return a copy of the locked project whose index is the mirror; the first one is there, and is not to be asked."""
    shutil.copytree(locked.folder, tmp_path / "copy")
    del served.requests[:]
    yield Project(tmp_path / "copy", mirror, tmp_path / "cache")
    assert served.requests == []


# -- verbs ---------------------------------------------------------------------------------------------------

TARGET = ("--platform", HERE, "--python", PYTHON)
#: By a name of their own: what to run.
VERBS = {
    "check": ("check",),
    "show": ("show", "--json"),
    "explain": ("explain", "app", "--json"),
    "audit": ("audit",),
    "verify": ("verify",),
    "requirements": ("export", "app", *TARGET, "--no-urls"),
    "constraints": ("export", "app", "--format", "constraints"),
    "sbom": ("export", "app", *TARGET, "--format", "cyclonedx"),
}
#: What is tried by tests of its own below; what does nothing with an index that `lock` does not; and what asks none.
OTHERS = (
    {"lock", "bundle", "uv-lock"} | {"refresh", "diff", "build"} | {"init", "advisories", "matrix", "pins", "publish"}
)


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in VERBS.values()} | OTHERS == set(cli.commands)


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_says_the_same(moved: Project, locked: Project, served: LocalIndex, name: str) -> None:
    expected = locked.run(*VERBS[name])
    del served.requests[:]
    found = moved.run(*VERBS[name])
    assert (found.code, without_bytes(found.out)) == (expected.code, without_bytes(expected.out)), found.err


def test_a_uv_lock_is_of_the_mirror_and_installs_from_it(moved: Project) -> None:
    moved.run("uv-lock").expect(0)
    text = (moved.folder / "uv.lock").read_text(encoding="utf-8")
    assert moved.index.url in text
    moved.uv("sync", "--locked", "--extra", "source", "--python", sys.executable).expect(0)
    assert installed(python_of(moved.folder / ".venv")) == Locks(moved).versions("source", HERE, PYTHON)


def test_a_pylock_is_of_the_mirror_and_installs_from_it(moved: Project, tmp_path: Path) -> None:
    path, python = tmp_path / "pylock.toml", new_venv(moved, tmp_path / "venv")
    moved.run("export", "source", *TARGET, "--format", "pylock", "-o", str(path)).expect(0)
    uv_sync(moved, python, path, env={"UV_DEFAULT_INDEX": moved.index.url}).expect(0)
    assert installed(python) == Locks(moved).versions("source", HERE, PYTHON)


def without_bytes(text: str) -> str:
    """How much was read depends on what the server can do, and `verify` says whom it asked."""
    return re.sub(r"http://\S+", "URL", re.sub(r"[\d.,]+ [kM]?B\b", "# B", text))


def test_a_lock_that_holds_is_kept(moved: Project, locked: Project) -> None:
    """What was learnt of a sdist by building it is remembered by its hash, and not by its index."""
    before = moved.snapshot()
    moved.store = locked.store
    assert "nothing changed" in moved.run("lock").expect(0).out
    assert moved.snapshot() == before


def test_what_only_a_resolution_can_tell_is_resolved_without_dates(moved: Project) -> None:
    """What a sdist with dynamic metadata requires, where nothing is remembered: uv takes what `locks/` knows."""
    before = moved.snapshot()
    assert "nothing changed" in moved.run("lock").expect(0).out
    assert moved.snapshot() == before


def test_a_bundle_is_the_same(moved: Project, locked: Project, served: LocalIndex, tmp_path: Path) -> None:
    make(locked, tmp_path / "one", "source").expect(0)
    del served.requests[:]
    make(moved, tmp_path / "two", "source").expect(0)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_lock_from_nothing_says_that_the_index_has_no_dates(moved: Project) -> None:
    """It cannot be held to a cut-off; what is wrong is said, and nothing is written."""
    shutil.rmtree(moved.folder / "locks")
    refused = moved.run("lock").expect(3)
    assert "has no upload time on the index" in refused.err
    assert not (moved.folder / "locks").exists()


def test_an_index_without_sha256_is_told(locked: Project, folder: Path, tmp_path: Path) -> None:
    with pypiserver(folder, "--hash-algo", "md5") as url:
        shutil.copytree(locked.folder, tmp_path / "copy")
        project = Project(tmp_path / "copy", Mirror(url), tmp_path / "cache")
        refused = make(project, tmp_path / "b").expect(4)
        assert "app_kit-1.0-py3-none-any.whl with sha256 (none)" in refused.err
        shutil.rmtree(project.folder / "locks")
        assert "has no sha256 on the index, so it cannot be pinned" in project.run("lock").expect(3).err


# -- installers ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a venv with a pip of its own, which pip-sync wants."""
    return venv_with_pip(tmp_path_factory.mktemp("pip") / "venv")


@pytest.mark.parametrize("environment", ["app", "source"])
def test_uv_installs_from_the_mirror(moved: Project, tmp_path: Path, environment: str) -> None:
    python = new_venv(moved, tmp_path / "venv")
    uv_sync(moved, python, lockfile_of(environment)).expect(0)
    assert installed(python) == Locks(moved).versions(environment, HERE, PYTHON)


@pytest.mark.parametrize("told_by", ["option", "PIP_INDEX_URL", "pip.conf"])
def test_pip_installs_from_the_mirror(moved: Project, tmp_path: Path, told_by: str) -> None:
    python = new_venv(moved, tmp_path / "venv")
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nindex-url = {moved.index.url}\n", encoding="utf-8")
    env = {"PIP_INDEX_URL": moved.index.url} if told_by == "PIP_INDEX_URL" else {}
    env |= {"PIP_CONFIG_FILE": str(settings)} if told_by == "pip.conf" else {}
    environment = "app" if told_by == "option" else "source"
    words = ("--require-hashes", "-r", lockfile_of(environment))
    pip_install(moved, python, *words, env=env, index=told_by == "option").expect(0)
    assert installed(python) == Locks(moved).versions(environment, HERE, PYTHON)


@pytest.mark.parametrize("environment", ["app", "source"])
def test_pip_sync_installs_from_the_mirror(moved: Project, with_pip: Path, environment: str) -> None:
    """Where there are sdists, they have to be named again: pip-sync puts `--only-binary :all:` behind them."""
    empty(with_pip)
    bare = pip_sync(moved, with_pip, lockfile_of(environment))
    if environment == "source":
        assert bare.code != 0
        pip_sync(moved, with_pip, "--pip-args", "--no-binary=old,tree", lockfile_of(environment)).expect(0)
    assert installed(with_pip) == Locks(moved).versions(environment, HERE, PYTHON)


# -- a folder (of verbs: test_folder_index.py) ------------------------------------------------------------------


@pytest.fixture
def alone(locked: Project, served: LocalIndex, tmp_path: Path) -> Iterator[Project]:
    """Return a copy of the locked project for which there is no index: only the folder."""
    shutil.copytree(locked.folder, tmp_path / "copy")
    del served.requests[:]
    yield Project(tmp_path / "copy", Mirror("http://127.0.0.1:9/simple"), tmp_path / "cache")
    assert served.requests == []


@pytest.mark.parametrize("environment", ["app", "source"])
def test_uv_installs_from_a_folder(alone: Project, folder: Path, tmp_path: Path, environment: str) -> None:
    python = new_venv(alone, tmp_path / "venv")
    uv_sync(alone, python, lockfile_of(environment), "--no-index", env={"UV_FIND_LINKS": str(folder)}).expect(0)
    assert installed(python) == Locks(alone).versions(environment, HERE, PYTHON)


def test_uv_installs_from_a_folder_as_a_flat_index(alone: Project, folder: Path, tmp_path: Path) -> None:
    text = f'[[index]]\nurl = "{folder.as_posix()}"\nformat = "flat"\ndefault = true\n'
    (alone.folder / "uv.toml").write_text(text, encoding="utf-8")
    python = new_venv(alone, tmp_path / "venv")
    uv_sync(alone, python, lockfile_of("app"), env={"UV_DEFAULT_INDEX": None}).expect(0)
    assert installed(python) == Locks(alone).versions("app", HERE, PYTHON)


def test_pip_and_pip_sync_install_from_a_folder(alone: Project, folder: Path, with_pip: Path, tmp_path: Path) -> None:
    pins = Locks(alone).versions("app", HERE, PYTHON)
    python = new_venv(alone, tmp_path / "venv")
    links = ("--no-index", "--find-links", str(folder))
    pip_install(alone, python, "--require-hashes", "-r", lockfile_of("app"), *links, index=False).expect(0)
    assert installed(python) == pins
    empty(with_pip)
    pip_sync(alone, with_pip, *links, lockfile_of("app"), index=False).expect(0)
    assert installed(with_pip) == pins


@pytest.mark.parametrize("verb", [("check",), ("show",), ("explain", "app")])
def test_verbs_that_are_offline_need_no_index(alone: Project, verb: tuple[str, ...]) -> None:
    alone.run(*verb, env={"UV_NO_INDEX": "1"}).expect(0)


def test_a_flat_index_that_is_not_asked_for_everything_is_let_be(
    locked: Project, served: LocalIndex, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(locked.folder, tmp_path / "copy")
    project = Project(tmp_path / "copy", served, tmp_path / "cache")
    text = f'[[index]]\nname = "x"\nurl = "{folder.as_posix()}"\nformat = "flat"\nexplicit = true\n'
    (project.folder / "uv.toml").write_text(text, encoding="utf-8")
    assert "nothing changed" in project.run("lock").expect(0).out


# -- a mirror that is not the same ---------------------------------------------------------------------------

EVIL = wheel("plain", "1.0+cpu", files={"plain.py": "evil"})


@pytest.fixture(params=["lacks a file", "serves another"])
def worse(request: pytest.FixtureRequest, locked: Project, tmp_path: Path) -> Iterator[Project]:
    """Return a copy of the locked project on a mirror without the file of `plain`, or with another under its name."""
    with LocalIndex() as index:
        for built in BUILTS:
            index.add(built)
        index.remove(EVIL.filename)
        if request.param == "serves another":
            index.add(EVIL)
        shutil.copytree(locked.folder, tmp_path / "copy")
        yield Project(tmp_path / "copy", index, tmp_path / "cache")


@pytest.mark.parametrize("verb", [("audit",), ("bundle", "app", *TARGET, "-o", "b"), ("verify",), ("lock",)])
def test_a_verb_names_what_a_mirror_lacks_or_replaced(worse: Project, verb: tuple[str, ...]) -> None:
    before = worse.snapshot()
    told = worse.run(*verb)
    assert "plain" in told.out + told.err
    if verb == ("lock",) and told.code == 0:  # it takes what the index has, and says so
        assert "took the place of" in told.err or "nobody changed it" in told.err
    else:
        assert told.code != 0
        assert worse.snapshot() == before


def test_an_installer_names_what_a_mirror_lacks_or_replaced(worse: Project, with_pip: Path, tmp_path: Path) -> None:
    empty(with_pip)
    python = new_venv(worse, tmp_path / "venv")
    path = lockfile_of("app")
    for refused in (
        uv_sync(worse, python, path),
        pip_install(worse, python, "--require-hashes", "-r", path),
        pip_sync(worse, with_pip, path),
    ):
        assert refused.code != 0
        assert "plain" in refused.out + refused.err
    assert installed(python) == {}
    assert "plain" not in installed(with_pip)
