"""A file with other bytes than the locks know is refused on every way in that is bound by hash.

A bare `uv sync` is not. What becomes of a bundle whose own files were changed is in `test_bundle_install.py`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from integration.bundles import make
from integration.installers import (
    empty,
    installed,
    lockfile_of,
    new_venv,
    pip_install,
    pip_sync,
    uv_sync,
    venv_with_pip,
)
from integration.machine import HERE, PYTHON, python_of
from support import scenario
from support.index import LocalIndex
from support.metadata import Built, sha256
from support.sandbox import Project, Result
from support.wheels import wheel

CONTENT = scenario.parse(
    """
[[packages]]
name = "app"
version = "1.0"
requires = ["victim", "tree"]
[[packages]]
name = "victim"
version = "1.0"
files = { "victim.py" = "good = 1" }
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { build_requires = ["builder"], dynamic = true }
[[packages]]
name = "builder"
version = "1.0"
[envs.toy]
requires = ["app"]
[envs.toy.sdists]
tree = "there is no wheel"
""",
    name="tampered",
)
TARGET = ("--platform", HERE, "--python", PYTHON)

pytestmark = pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform")


def built(name: str) -> Built:
    return next(one for one in CONTENT.builts if one.name == name)


def with_one_byte_changed(one: Built) -> Built:
    """The same archive with another time in its first header, which no checksum of its own covers."""
    at = 10 if one.is_wheel else 4  # of a zip (APPNOTE 4.3.7), of gzip (RFC 1952)
    data = one.data[:at] + bytes([one.data[at] ^ 1]) + one.data[at + 1 :]
    return replace(one, data=data, sha256=sha256(data))


TAMPERED = {
    "a byte of a wheel": with_one_byte_changed(built("victim")),
    "a byte of a sdist": with_one_byte_changed(built("tree")),
    "a byte of a build requirement": with_one_byte_changed(built("builder")),
}


@dataclass(frozen=True, slots=True)
class Ground:
    """The locked project beside an index of the test's own, with nothing remembered; and where to install."""

    project: Project
    index: LocalIndex
    folder: Path
    with_pip: Path

    def forget(self) -> None:
        """Let no cache stand between an installer and the index."""
        shutil.rmtree(self.project.cache, ignore_errors=True)
        self.project.store = self.folder / "store"


@pytest.fixture(scope="module")
def with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return venv_with_pip(tmp_path_factory.mktemp("pip") / "venv")


@pytest.fixture
def ground(locked: Project, with_pip: Path, tmp_path: Path) -> Iterator[Ground]:
    with LocalIndex() as index:
        CONTENT.populate(index)
        shutil.copytree(locked.folder, tmp_path / "copy")
        empty(with_pip)
        yield Ground(Project(tmp_path / "copy", index, tmp_path / "cache"), index, tmp_path, with_pip)


# -- the ways: each returns what goes on after the index was tampered with, and where it would install ----------

Step = Callable[[], Result]


def by_uv_sync(ground: Ground, *words: str) -> tuple[Step, Path]:
    command = ("sync", *words, "--extra", "toy", "--python", f"{PYTHON}")
    return lambda: ground.project.uv(*command), python_of(ground.project.folder / ".venv")


def by_uv_sync_locked(ground: Ground) -> tuple[Step, Path]:
    ground.project.run("uv-lock").expect(0)
    return by_uv_sync(ground, "--locked")


def by_uv_pip_sync(ground: Ground) -> tuple[Step, Path]:
    python = new_venv(ground.project, ground.folder / "venv")
    return lambda: uv_sync(ground.project, python, lockfile_of("toy")), python


def by_pip(ground: Ground) -> tuple[Step, Path]:
    python = new_venv(ground.project, ground.folder / "venv")
    words = ("--require-hashes", "--build-constraint", "locks/build.txt", "-r", lockfile_of("toy"))
    return lambda: pip_install(ground.project, python, *words), python


def by_pip_sync(ground: Ground) -> tuple[Step, Path]:
    words = ("--pip-args", "--no-binary=tree", lockfile_of("toy"))
    return lambda: pip_sync(ground.project, ground.with_pip, *words), ground.with_pip


def pylock(ground: Ground) -> Path:
    path = ground.folder / "pylock.toml"
    ground.project.run("export", "toy", *TARGET, "--format", "pylock", "-o", str(path)).expect(0)
    return path


def by_pylock_pip(ground: Ground) -> tuple[Step, Path]:
    path, python = pylock(ground), new_venv(ground.project, ground.folder / "venv")
    words = ("--no-deps", "--build-constraint", "locks/build.txt", "-r", str(path))
    return lambda: pip_install(ground.project, python, *words), python


def by_pylock_uv(ground: Ground) -> tuple[Step, Path]:
    path, python = pylock(ground), new_venv(ground.project, ground.folder / "venv")
    return lambda: uv_sync(ground.project, python, path), python


def by_export(ground: Ground) -> tuple[Step, Path]:
    """What `export` writes for one target has the hash of one file, and the index that it is from."""
    path, python = ground.folder / "toy.txt", new_venv(ground.project, ground.folder / "venv")
    ground.project.run("export", "toy", *TARGET, "-o", str(path)).expect(0)
    return lambda: uv_sync(ground.project, python, path), python


def by_bundle(ground: Ground) -> tuple[Step, Path]:
    python = new_venv(ground.project, ground.folder / "venv")
    return lambda: make(ground.project, ground.folder / "bundle", "toy"), python


WAYS = {
    "uv sync --locked": by_uv_sync_locked,
    "uv pip sync": by_uv_pip_sync,
    "pip": by_pip,
    "pip-sync": by_pip_sync,
    "pylock with pip": by_pylock_pip,
    "pylock with uv": by_pylock_uv,
    "export": by_export,
    "bundle": by_bundle,
}
#: The pip that a venv has from Python itself heeds no constraints for builds; pip does from 25.3 on.
UNBOUND = {("pip-sync", "a byte of a build requirement")}


def tamper(ground: Ground, what: str, *, listed: bool) -> Built:
    """Let the index serve other bytes, and list their hash or the old one."""
    evil = TAMPERED[what]
    ground.index.add(evil, sha256=evil.sha256 if listed else built(evil.name).sha256)
    ground.forget()
    return evil


@pytest.mark.parametrize("listed", [False, True], ids=["the old hash listed", "the new hash listed"])
@pytest.mark.parametrize(("way", "what"), [both for both in product(WAYS, TAMPERED) if both not in UNBOUND])
def test_other_bytes_are_refused(ground: Ground, way: str, what: str, listed: bool) -> None:
    go, python = WAYS[way](ground)
    evil = tamper(ground, what, listed=listed)
    refused = go()
    said = refused.out + refused.err
    assert refused.code != 0, said
    assert evil.name in said
    assert re.search("hash|sha256", said, re.IGNORECASE), said
    found = installed(python) if python.exists() else {}
    assert not {"victim", "tree"} <= set(found)
    assert evil.name not in found


@pytest.mark.parametrize("way", WAYS)
def test_what_was_not_tampered_with_is_taken(ground: Ground, way: str) -> None:
    """Or else the refusals above say nothing."""
    go, python = WAYS[way](ground)
    ground.forget()
    go().expect(0)
    if way != "bundle":
        assert installed(python) == {"app": "1.0", "victim": "1.0", "tree": "1.0"}


@pytest.mark.parametrize("what", TAMPERED)
def test_verify_and_uv_lock_tell_a_hash_that_is_another(ground: Ground, what: str) -> None:
    evil = tamper(ground, what, listed=True)
    told = ground.project.run("verify").expect(1).out
    assert evil.filename in told
    assert evil.sha256 in told
    assert ground.project.run("export", "toy", *TARGET).code == (0 if evil.name == "builder" else 2)
    if evil.name != "builder":  # the hashes of build requirements stand in pyproject.toml
        assert evil.filename in ground.project.run("uv-lock").expect(4).err


def test_a_bare_uv_sync_is_not_bound_by_hash(ground: Ground) -> None:
    """As the docs say: it takes what the index lists. What builds sdists is bound all the same."""
    go, python = by_uv_sync(ground)
    tamper(ground, "a byte of a sdist", listed=True)
    ground.index.add(wheel("victim", "1.0", files={"victim.py": "good = 0"}))
    go().expect(0)
    (module,) = python.parents[1].rglob("victim.py")
    assert module.read_text(encoding="utf-8") == "good = 0"
