"""``uv sync --extra`` on a fresh clone installs the pins of ``locks/`` or fails; ``uv-lock`` binds it to the hashes."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject, Start
from integration.exported import assert_every_cell_is_exported
from integration.locked import Locks
from integration.machine import HERE, PYTHON, python_of
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

MINOR = sys.version_info[1]
OTHER = f"3.{MINOR + 1}"
pytestmark = pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform")

TEXT = f"""
[[packages]]
name = "Kit.Core"
version = "1.0"
requires = ["dep", "win ; sys_platform == 'win32'", "fresh ; python_version >= '{OTHER}'"]
extras = {{ fast = ["quick[more]<2"] }}
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "dep"
version = "2.0"
[[packages]]
name = "native"
version = "1.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "quick"
version = "1.0"
[[packages]]
name = "quick"
version = "2.0"
extras = {{ more = ["extra-of-quick"] }}
[[packages]]
name = "extra-of-quick"
version = "1.0"
[[packages]]
name = "win"
version = "1.0"
[[packages]]
name = "fresh"
version = "1.0"
[[packages]]
name = "choosy"
version = "1.0"
requires = ["dep<2"]
[[packages]]
name = "elsewhere"
version = "1.0"
python_wheels = "{OTHER}"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = {{ build_requires = ["builder"], dynamic = true }}
requires = ["dep"]
[[packages]]
name = "builder"
version = "1.0"
[envs.plain]
requires = ["kit-core", "dep>=2", "native"]
[envs.more]
requires = ["kit-core", "dep>=2", "win"]
[envs.old_one]
requires = ["kit-core", "choosy"]
[envs.bold]
requires = ["kit-core[fast]", "dep>=2"]
[envs.bold.overrides]
quick = {{ version = "==2.0", why = "1.0 lacks the extra" }}
[envs.narrow]
requires = ["dep", "elsewhere"]
[envs.source]
requires = ["tree"]
[envs.source.sdists]
tree = "there is no wheel"
[envs.tools]
apart = true
requires = ["dep<2"]
"""
CONTENT = scenario.parse(TEXT, name="uv_sync")
EXTRAS = ("plain", "more", "old_one", "bold", "source")
NEWER = [wheel("dep", "9.0"), wheel("kit-core", "9.0"), wheel("builder", "9.0"), wheel("quick", "9.0")]


@pytest.fixture
def clone(copy: Project) -> Project:
    """The project as it would be cloned: without uv.lock."""
    assert not (copy.folder / "uv.lock").exists()
    return copy


def sync(project: Project, *words: str, **more: Any) -> Result:
    return project.uv("sync", "--python", sys.executable, *words, **more)


def lines(project: Project) -> list[str]:
    """What the project's venv holds: `name==version`, sorted."""
    python = python_of(project.folder / ".venv")
    listed = project.uv("pip", "list", "--format", "json", "--python", str(python)).expect(0).json()
    return sorted(f"{one['name'].replace('.', '-').lower()}=={one['version']}" for one in listed)


def pins(project: Project, environment: str) -> list[str]:
    return sorted(f"{n}=={v}" for n, v in Locks(project).versions(environment, HERE, PYTHON).items())


@pytest.mark.parametrize("extra", EXTRAS)
def test_uv_sync_installs_exactly_the_pins_whatever_came_out_since(
    clone: Project, served: LocalIndex, extra: str
) -> None:
    for built in NEWER:
        served.add(built)
    try:
        clone.uv("cache", "clean").expect(0)
        sync(clone, "--extra", extra).expect(0)
        assert lines(clone) == pins(clone, extra)
        assert not [built for built in NEWER if served.seen(built.filename)]
    finally:
        for built in NEWER:
            served.remove(built.filename)
            del served.requests[:]


def test_a_pin_that_was_yanked_since_is_still_installed(index: LocalIndex, own: Callable[..., Project]) -> None:
    project = own(index)
    for offer in CONTENT.offers:
        if offer.built.name in ("dep", "choosy") and offer.built.version == "1.0":
            index.remove(offer.built.filename)
            index.add(offer.built, **{**offer.options, "yanked": "broken"})
    sync(project, "--extra", "old_one").expect(0)
    assert lines(project) == pins(project, "old_one")


def test_the_content_is_what_it_is_meant_to_show(locked: Project) -> None:
    assert "dep==1.0" in pins(locked, "old_one")
    assert "dep==2.0" in pins(locked, "plain")
    assert {"quick==2.0", "extra-of-quick==1.0"} <= set(pins(locked, "bold"))
    cells = Locks(locked).cells
    assert cells["narrow", HERE, PYTHON]["status"] == "unsupported"
    assert cells["narrow", HERE, OTHER]["status"] == "proven"
    uv = tomllib.loads((locked.folder / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    conflicts = [{entry["extra"] for entry in conflict} for conflict in uv["conflicts"]]
    assert {"old-one", "plain"} in conflicts


def test_extras_that_agree_are_combined(clone: Project) -> None:
    sync(clone, "--extra", "plain", "--extra", "more", "--extra", "bold").expect(0)
    together = {*pins(clone, "plain"), *pins(clone, "more"), *pins(clone, "bold")}
    assert lines(clone) == sorted(together)


def test_extras_that_differ_are_refused_by_uv(clone: Project) -> None:
    refused = sync(clone, "--extra", "plain", "--extra", "old_one")
    assert refused.code != 0
    assert "incompatible with the declared conflicts" in refused.err


def test_a_cell_that_is_unsupported_for_the_extra_alone_fails_and_installs_nothing(clone: Project) -> None:
    refused = sync(clone, "--extra", "narrow")
    assert refused.code != 0
    assert "this environment is unsupported" in refused.err
    assert lines(clone) == []
    sync(clone, "--extra", "plain").expect(0)


def test_a_python_that_is_unsupported_for_all_fails(start: Start) -> None:
    project = start(f"""
[[packages]]
name = "elsewhere"
version = "1.0"
python_wheels = "{OTHER}"
[envs.app]
requires = ["elsewhere"]
""")
    project.run("lock").expect(0)
    refused = sync(project, "--extra", "app")
    assert refused.code != 0
    assert "not compatible with the lockfile's supported environments" in refused.err


def test_every_cell_has_its_pins_whether_uv_or_lockgrid_wrote_uv_lock(clone: Project) -> None:
    clone.uv("lock", "--python", sys.executable).expect(0)
    assert_every_cell_is_exported(clone)
    clone.run("uv-lock").expect(0)
    assert_every_cell_is_exported(clone)


# -- uv.lock ----------------------------------------------------------------------------------------------


def files(project: Project) -> dict[str, str]:
    """The files of `uv.lock` by name, with their sha256."""
    data = tomllib.loads((project.folder / "uv.lock").read_text(encoding="utf-8"))
    listed = [f for p in data["package"] for f in [*p.get("wheels", []), *([p["sdist"]] if "sdist" in p else [])]]
    return {re.split(r"[/\\]", f.get("url") or f["path"])[-1]: f["hash"].removeprefix("sha256:") for f in listed}


def held(project: Project) -> set[str]:
    return {d for lockfile in Locks(project).files.values() for pin in lockfile.pins for d in pin.hashes}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_uv_lock_writes_installs_the_pins_under_locked(clone: Project, extra: str) -> None:
    clone.run("uv-lock").expect(0)
    clone.uv("lock", "--check", "--python", sys.executable).expect(0)
    before = (clone.folder / "uv.lock").read_bytes()
    sync(clone, "--locked", "--extra", extra).expect(0)
    assert lines(clone) == pins(clone, extra)
    assert (clone.folder / "uv.lock").read_bytes() == before


def test_only_files_of_the_lockfiles_are_in_it_and_all_of_them(clone: Project, served: LocalIndex) -> None:
    added = wheel("native", "1.0", tags=("py3-none-any",))
    served.add(added)
    clone.uv("cache", "clean").expect(0)
    try:
        clone.uv("lock", "--python", sys.executable).expect(0)
        assert added.sha256 in files(clone).values()  # uv alone would take it
        clone.run("uv-lock").expect(0)
    finally:
        served.remove(added.filename)
    extras = [path for path in Locks(clone).files if path.split("/")[0] in (*EXTRAS, "narrow")]
    wanted = {d for path in extras for pin in Locks(clone).files[path].pins for d in pin.hashes}
    assert wanted <= set(files(clone).values()) <= held(clone)


@pytest.fixture
def own(make_project: MakeProject) -> Callable[[LocalIndex], Project]:
    """Return a function that makes the locked project on an index of one's own, with a cache that knows nothing."""

    def make(index: LocalIndex) -> Project:
        CONTENT.populate(index)
        project = make_project(CONTENT, index)
        project.run("lock").expect(0)
        shutil.rmtree(project.cache)
        return project

    return make


def test_a_file_that_was_replaced_after_uv_lock_is_refused(index: LocalIndex, own: Callable[..., Project]) -> None:
    project = own(index)
    project.run("uv-lock").expect(0)
    index.add(wheel("quick", "2.0", provides_extra=["more"], files={"quick.py": "evil"}), core_metadata=True)
    shutil.rmtree(project.cache)
    refused = sync(project, "--locked", "--extra", "bold")
    assert refused.code != 0
    assert "quick" in refused.err
    assert not any(line.startswith("quick") for line in lines(project))


@pytest.mark.parametrize("locked_first", [True, False])
def test_a_build_requirement_that_was_replaced_is_refused(
    index: LocalIndex, own: Callable[..., Project], locked_first: bool
) -> None:
    project = own(index)
    if locked_first:
        project.run("uv-lock").expect(0)
    index.add(wheel("builder", "1.0", files={"builder.py": "evil"}), core_metadata=True)
    project.cache = project.cache.parent / "another"
    refused = sync(project, *(["--locked"] if locked_first else []), "--extra", "source")
    assert refused.code != 0
    assert "Hash mismatch for `builder==1.0`" in refused.err
    assert lines(project) == []


def test_a_file_with_other_bytes_is_named_and_nothing_is_written(
    index: LocalIndex, own: Callable[..., Project]
) -> None:
    project = own(index)
    evil = wheel("choosy", "1.0", requires=["dep<2"], files={"choosy.py": "evil"})
    index.remove(evil.filename)
    index.add(evil, core_metadata=True)
    refused = project.run("uv-lock").expect(4)
    assert "choosy==1.0" in refused.err
    assert f"{evil.filename} has {evil.sha256}" in refused.err
    assert "locks/old_one/" in refused.err
    assert not (project.folder / "uv.lock").exists()


def test_a_missing_file_is_named_and_the_old_uv_lock_stays(index: LocalIndex, own: Callable[..., Project]) -> None:
    project = own(index)
    project.run("uv-lock").expect(0)
    before = (project.folder / "uv.lock").read_bytes()
    (gone,) = [name for name in files(project) if name.startswith("native-1.0-cp310") and "win" in name]
    digest = files(project)[gone]
    index.remove(gone)
    refused = project.run("uv-lock").expect(4)
    assert "native==1.0" in refused.err
    assert digest in refused.err
    assert "windows-x86_64.txt" in refused.err
    assert (project.folder / "uv.lock").read_bytes() == before


def test_a_version_that_is_missing_is_named(index: LocalIndex, own: Callable[..., Project]) -> None:
    project = own(index)
    index.remove("choosy-1.0-py3-none-any.whl")
    index.add(wheel("choosy", "2.0"))
    refused = project.run("uv-lock").expect(4)
    assert "choosy==1.0" in refused.err
    assert not (project.folder / "uv.lock").exists()


def test_a_mirror_with_other_urls_serves_the_same_locks(clone: Project, served: LocalIndex, tmp_path: Path) -> None:
    with LocalIndex() as mirror:
        CONTENT.populate(mirror)
        project = Project(clone.folder, mirror, tmp_path / "cache")
        del served.requests[:]
        project.run("uv-lock").expect(0)
        sync(project, "--locked", "--extra", "bold").expect(0)
        assert lines(project) == pins(project, "bold")
        assert served.requests == []
        text = (project.folder / "uv.lock").read_text(encoding="utf-8")
        assert mirror.base_url in text
        assert served.base_url not in text
        # As the docs say: only an index that uv is configured with is compared with the one in uv.lock.
        del mirror.requests[:]
        project.cache = tmp_path / "none-configured"
        sync(project, "--locked", "--extra", "bold", "--reinstall", env={"UV_DEFAULT_INDEX": None}).expect(0)
        assert mirror.requests != []
    assert "needs to be updated" in sync(clone, "--locked", "--extra", "bold").err  # on the index that it is not for


def test_a_folder_of_wheels_is_read_and_bound_to_the_hashes(clone: Project, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for built in CONTENT.builts:
        (folder / built.filename).write_bytes(built.data)
    settings = clone.home / ".config" / "uv" / "uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"no-index = true\nfind-links = ['{folder}']\n", encoding="utf-8")
    flat = {"UV_DEFAULT_INDEX": None, "APPDATA": str(settings.parents[1])}
    clone.run("uv-lock", env=flat).expect(0)
    assert set(files(clone).values()) <= held(clone)
    sync(clone, "--locked", "--extra", "source", env=flat).expect(0)
    assert lines(clone) == pins(clone, "source")
    (folder / "choosy-1.0-py3-none-any.whl").write_bytes(wheel("choosy", "1.0", files={"c.py": "evil"}).data)
    assert "choosy-1.0-py3-none-any.whl has " in clone.run("uv-lock", env=flat).expect(4).err
    clone.uv("cache", "clean").expect(0)
    assert "choosy" in sync(clone, "--locked", "--extra", "old_one", env=flat).err


def test_an_index_without_hashes_cannot_be_held_to_the_locks(index: LocalIndex, own: Callable[..., Project]) -> None:
    project = own(index)
    for offer in CONTENT.offers:
        if offer.built.name == "choosy":
            index.remove(offer.built.filename)
            index.add(offer.built, **{**offer.options, "sha256": "", "core_metadata": False})
    refused = project.run("uv-lock").expect(4)
    assert "of choosy-1.0-py3-none-any.whl it tells no sha256" in refused.err


def test_a_manifest_out_of_step_is_wrong_input_and_uv_lock_stays(clone: Project) -> None:
    clone.run("uv-lock").expect(0)
    before = (clone.folder / "uv.lock").read_bytes()
    manifest = clone.folder / "pyproject.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"kit-core==1.0",', '"kit-core>=1.0",'), encoding="utf-8")
    refused = clone.run("uv-lock").expect(2)
    assert "constraint-dependencies" in refused.err
    assert "lockgrid lock" in refused.err
    assert (clone.folder / "uv.lock").read_bytes() == before


def test_what_a_person_asks_for_beside_the_environments_is_told_and_not_installable(
    clone: Project, served: LocalIndex
) -> None:
    served.add(wheel("mine", "1.0"))
    manifest = clone.folder / "pyproject.toml"
    text = manifest.read_text(encoding="utf-8") + '\n[dependency-groups]\nown = ["mine"]\n'
    manifest.write_text(text, encoding="utf-8")
    try:
        assert "mine==1.0 is in no lockfile" in clone.run("uv-lock").expect(0).err
    finally:
        served.remove("mine-1.0-py3-none-any.whl")
    sync(clone, "--locked", "--extra", "plain").expect(0)
    assert sync(clone, "--locked", "--group", "own").code != 0
    assert set(files(clone).values()) <= held(clone)
