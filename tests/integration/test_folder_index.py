"""A plain folder of files in the place of an index: every verb works with it, and nobody is asked over the network."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration import bundles
from integration.bundles import content, make
from integration.conftest import LIB_AND_DEP, MakeProject, few_targets
from integration.installers import BUILDERS, installed, new_venv, pip_install, serve_builders, uv_sync
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from integration.test_mirrors import TARGET, VERBS, without_bytes
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = bundles.CONTENT
BUILTS = (*CONTENT.builts, *BUILDERS)
#: Nothing listens there.
CLOSED = "http://127.0.0.1:9/simple"

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="the cell of this Python is unsupported"),
]


@dataclass(frozen=True, slots=True)
class Closed:
    """An index that nobody answers for."""

    url: str = CLOSED


class Alone(Project):
    """A project in whose environment some variables are set, or with None left out; no network is to be had."""

    def __init__(self, folder: Path, cache: Path, told: Mapping[str, str | None]) -> None:
        super().__init__(folder, Closed(), cache)
        self.told = told

    def environment(self, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
        return super().environment({"NO_PROXY": None, **self.told, **(extra or {})})


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    return serve_builders(served)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a plain folder of files, with a space and a plus in its path."""
    root = tmp_path / "all files+more"
    root.mkdir()
    for built in BUILTS:
        (root / built.filename).write_bytes(built.data)
    (root / "README.txt").write_text("no file of a package", encoding="utf-8")
    return root


#: By a name: uv.toml (in the project's folder) and variables; FOLDER is its path, BESIDE the same from the project.
WAYS: dict[str, tuple[str, dict[str, str | None]]] = {
    "flat": ('[[index]]\nurl = "BESIDE"\nformat = "flat"\ndefault = true\n', {"UV_DEFAULT_INDEX": None}),
    "find-links": ('no-index = true\nfind-links = ["BESIDE"]\n', {"UV_DEFAULT_INDEX": None}),
    "two folders": ('no-index = true\nfind-links = ["BESIDE", "FOLDER/../more"]\n', {"UV_DEFAULT_INDEX": None}),
    "UV_FIND_LINKS": ("", {"UV_NO_INDEX": "1", "UV_FIND_LINKS": "FOLDER"}),
    "path": ("", {"UV_DEFAULT_INDEX": "FOLDER"}),
    "file URL": ("", {"UV_DEFAULT_INDEX": "URL"}),
}
#: Those that uv itself knows: it takes the URL of an index for one of pages, and has no UV_NO_INDEX.
OF_UV = ("flat", "find-links", "two folders")


def told(project: Path, cache: Path, folder: Path, way: str) -> Alone:
    """The project, which uv was told of in this way that the folder is its index."""
    text, variables = WAYS[way]
    if way == "two folders":
        (folder.parent / "more").mkdir()
        for path in [*folder.glob("plain-*"), *folder.glob("old-*")]:
            path.rename(folder.parent / "more" / path.name)
    words = {"FOLDER": folder.as_posix(), "BESIDE": f"../{folder.name}", "URL": folder.as_uri()}

    def filled(value: str) -> str:
        return re.sub("FOLDER|BESIDE|URL", lambda match: words[match[0]], value)

    (project / "uv.toml").write_text(filled(text), encoding="utf-8")
    env = {key: filled(value) if value and key != "UV_NO_INDEX" else value for key, value in variables.items()}
    return Alone(project, cache, env)


@pytest.fixture(params=WAYS)
def alone(
    request: pytest.FixtureRequest, locked: Project, served: LocalIndex, folder: Path, tmp_path: Path
) -> Iterator[Alone]:
    """Return a copy of the locked project, whose index is the folder, told in each way."""
    shutil.copytree(locked.folder, tmp_path / "copy")
    del served.requests[:]
    yield told(tmp_path / "copy", tmp_path / "cache", folder, request.param)
    assert served.requests == []


def only(*ways: str) -> pytest.MarkDecorator:
    """Of all ways, these."""
    return pytest.mark.parametrize("alone", ways, indirect=True)


# -- verbs ---------------------------------------------------------------------------------------------------


def without_indexes(text: str) -> str:
    """`verify` says whom it asked."""
    return re.sub(r"(?m)^  (file:\S+|URL)\n", "", without_bytes(text))


@only("flat", "two folders", "UV_FIND_LINKS")
@pytest.mark.parametrize("name", VERBS)
def test_a_verb_says_the_same(alone: Alone, locked: Project, served: LocalIndex, name: str) -> None:
    expected = locked.run(*VERBS[name])
    del served.requests[:]
    found = alone.run(*VERBS[name])
    assert (found.code, without_indexes(found.out)) == (expected.code, without_indexes(expected.out)), found.err


def test_a_lock_that_holds_is_kept(alone: Alone, locked: Project) -> None:
    before = alone.snapshot()
    alone.store = locked.store
    assert "nothing changed" in alone.run("lock").expect(0).out
    assert alone.snapshot() == before


def test_what_only_a_resolution_can_tell_is_resolved(alone: Alone) -> None:
    """A sdist with dynamic metadata, and nothing is remembered: uv builds it out of the folder."""
    before = alone.snapshot()
    assert "nothing changed" in alone.run("lock").expect(0).out
    assert alone.snapshot() == before


def test_a_bundle_is_the_same(alone: Alone, locked: Project, served: LocalIndex, tmp_path: Path) -> None:
    make(locked, tmp_path / "one", "source").expect(0)
    del served.requests[:]
    make(alone, tmp_path / "two", "source").expect(0)
    assert content(tmp_path / "one") == content(tmp_path / "two")


@only(*OF_UV)
def test_a_uv_lock_is_of_the_folder_and_installs_from_it(alone: Alone) -> None:
    alone.run("uv-lock").expect(0)
    alone.uv("sync", "--locked", "--extra", "source", "--python", sys.executable).expect(0)
    assert installed(python_of(alone.folder / ".venv")) == Locks(alone).versions("source", HERE, PYTHON)


def test_a_pylock_is_of_the_folder_and_installs_from_it(alone: Alone, tmp_path: Path) -> None:
    path, python = tmp_path / "pylock.toml", new_venv(alone, tmp_path / "venv")
    alone.run("export", "app", *TARGET, "--format", "pylock", "-o", str(path)).expect(0)
    assert 'url = "file:///' in path.read_text(encoding="utf-8")
    uv_sync(alone, python, path).expect(0)
    assert installed(python) == Locks(alone).versions("app", HERE, PYTHON)


@only("flat", "two folders")
def test_exported_requirements_name_the_folder_and_install_from_it(alone: Alone, tmp_path: Path) -> None:
    path, python = tmp_path / "requirements.txt", new_venv(alone, tmp_path / "venv")
    alone.run("export", "app", *TARGET, "-o", str(path)).expect(0)
    text = path.read_text(encoding="utf-8")
    assert "--no-index\n--find-links file:///" in text
    assert "index-url" not in text
    pip_install(alone, python, "--require-hashes", "-r", str(path), index=False).expect(0)
    assert installed(python) == Locks(alone).versions("app", HERE, PYTHON)


# -- a folder that is not the same ---------------------------------------------------------------------------

EVIL = wheel("plain", "1.0+cpu", files={"plain.py": "evil"})
READERS = [("audit",), ("bundle", "app", *TARGET, "-o", "b"), ("verify",), ("export", "app", *TARGET)]


@only("flat", "UV_FIND_LINKS", "path")
@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("worse", ["lacks a file", "has another"])
def test_a_file_that_the_folder_lacks_or_has_otherwise_is_named(
    alone: Alone, folder: Path, verb: tuple[str, ...], worse: str
) -> None:
    before = alone.snapshot()
    alone.run("verify").expect(0)  # the hash of what is there now is remembered
    if worse == "lacks a file":
        (folder / EVIL.filename).unlink()
    else:
        (folder / EVIL.filename).write_bytes(EVIL.data)
    told = alone.run(*verb)
    assert told.code != 0
    assert "plain" in told.out + told.err
    assert alone.snapshot() == before


@only("flat")
def test_a_file_that_changed_behind_its_time_is_told_by_verify(alone: Alone, folder: Path) -> None:
    """Size and time are as before: only who reads it again sees it."""
    path = folder / EVIL.filename
    alone.run("verify").expect(0)
    stat, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "plain" in alone.run("verify").expect(1).out


@only("flat", "find-links", "path")
def test_a_lock_from_nothing_says_what_to_do_without_dates(alone: Alone) -> None:
    shutil.rmtree(alone.folder / "locks")
    refused = alone.run("lock").expect(3)
    assert "has no upload time on the index" in refused.err
    assert "[indexes]" in refused.err
    assert "dateless" in refused.err
    assert not (alone.folder / "locks").exists()


SOURCED = scenario.parse(
    LIB_AND_DEP
    + """
[envs.app]
requires = ["lib"]
[envs.app.sources]
lib = "wheels"
dep = "wheels"
"""
    + few_targets(PYTHON)
    + """
[targets.indexes]
wheels = { dateless = true }
""",
    name="sourced",
)


def test_a_first_lock_from_a_folder_that_is_declared_dateless(make_project: MakeProject, tmp_path: Path) -> None:
    """It is an index of `[sources]`: its files count though nobody tells their times, and the grid says so."""
    with LocalIndex() as index:
        made = make_project(SOURCED, index)
    (tmp_path / "wheels").mkdir()
    for built in SOURCED.builts:
        (tmp_path / "wheels" / built.filename).write_bytes(built.data)
    project = Alone(made.folder, tmp_path / "cache", {})
    text = '[[index]]\nname = "wheels"\nurl = "FOLDER"\nformat = "flat"\nexplicit = true\n'
    (project.folder / "uv.toml").write_text(text.replace("FOLDER", (tmp_path / "wheels").as_posix()), encoding="utf-8")
    project.run("lock").expect(0)
    assert Locks(project).versions("app", "linux-x86_64", PYTHON) == {"lib": "1.0", "dep": "1.0"}
    assert "dateless = true" in (project.folder / "locks" / "grid.toml").read_text(encoding="utf-8")
    project.run("verify").expect(0)
    (tmp_path / "wheels" / "dep-1.0-py3-none-any.whl").unlink()
    assert "dep" in project.run("verify").expect(1).out


# -- settings that are refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [("lock",), ("audit",), ("bundle", "app", *TARGET, "-o", "b")])
@pytest.mark.parametrize(
    ("settings", "env", "said"),
    [
        ('[[index]]\nname = "x"\nurl = "http://127.0.0.1:9/x"\nformat = "flat"\n', {}, "index x: format: is 'flat'"),
        ("no-index = true\n", {}, "no-index: no index may be asked"),
        ("", {"UV_NO_INDEX": "1"}, "UV_NO_INDEX: no index may be asked"),
        ('find-links = ["http://127.0.0.1:9/x"]\n', {"UV_NO_INDEX": "true"}, "reads no page of links"),
        ('find-links = ["nowhere"]\nno-index = true\n', {}, "find-links: there is no folder"),
        ('[[index]]\nurl = "FOLDER"\nformat = "flat"\n', {}, "is a folder, and another index is asked"),
        ('[[index]]\nurl = "FOLDER"\nformat = "flat"\n', {"UV_DEFAULT_INDEX": None}, "uv's default index is asked"),
        ("", {"UV_DEFAULT_INDEX": "nowhere"}, "there is no folder"),
        ("", {"UV_DEFAULT_INDEX": "envs"}, "no wheel and no sdist lies in"),
    ],
)
def test_what_is_no_folder_alone_is_refused_by_name(
    locked: Project,
    folder: Path,
    tmp_path: Path,
    verb: tuple[str, ...],
    settings: str,
    env: dict[str, str | None],
    said: str,
) -> None:
    shutil.copytree(locked.folder, tmp_path / "copy")
    project = Alone(tmp_path / "copy", tmp_path / "cache", env)
    (project.folder / "uv.toml").write_text(settings.replace("FOLDER", folder.as_posix()), encoding="utf-8")
    before = project.snapshot()
    refused = project.run(*verb).expect(2)
    assert said in refused.err
    assert "folder" in refused.err
    assert project.snapshot() == before
