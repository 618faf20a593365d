"""A bill of materials of any cell, from the METADATA of the very files that it installs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from integration.conftest import MakeProject
from integration.locked import Locks
from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.sbom import sbom
from lockgrid.errors import InputError
from lockgrid.terminal import open_progress
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import fake_setuptools

CONTENT = scenario.parse(
    """
[[packages]]
name = "Kit.App"
version = "1.0+cpu"
requires = ["gears[oil]", "tree", "wind ; sys_platform == 'win32'", "old ; python_version < '3.12'"]
headers = ["License-Expression: MIT OR Apache-2.0"]
[[packages]]
name = "gears"
version = "3.0"
python_wheels = "3.11-3.12"
extras = { oil = ["oil"] }
headers = ["Classifier: License :: OSI Approved :: BSD License"]
[[packages]]
name = "oil"
version = "1.0"
requires = ["gears"]
[[packages]]
name = "wind"
version = "1.0"
[[packages]]
name = "old"
version = "1.0"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { backend = "setuptools" }
requires = ["oil"]
[targets]
pythons = ["3.11", "3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.car]
summary = "four wheels"
requires = ["kit-app"]
[envs.car.sdists]
tree = "there is no wheel"
""",
    name="sbom",
)


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    served.add(fake_setuptools())
    return served


def text_of(project: Project, platform: str, python: str, *, store: Path | None = None) -> str:
    """The bill, made in this process as the command line would have it made."""
    environ = {**project.environment(), **({"LOCKGRID_CACHE_DIR": str(store)} if store else {})}
    context = Context(store=Store(project.folder), environ=environ, clock=time.time, progress=open_progress(quiet=True))
    return sbom(context, "car", platform, python)


def read(text: str) -> dict[str, Any]:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert error is None, error
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.mark.parametrize(
    ("platform", "python", "more"), [("linux-x86_64", "3.11", {"old"}), ("windows-x86_64", "3.12", {"wind"})]
)
def test_the_bill_is_what_the_lock_pins_for_the_cell(
    locked: Project, platform: str, python: str, more: set[str]
) -> None:
    document = read(text_of(locked, platform, python))
    components = {c["name"]: c for c in document["components"]}
    locks = Locks(locked)
    assert {name: c["version"] for name, c in components.items()} == locks.versions("car", platform, python)
    for name, component in components.items():
        assert {entry["content"] for entry in component["hashes"]} <= locks[f"car/{platform}"].hashes(name)
    names = {c["bom-ref"]: c["name"] for c in components.values()}
    edges = {names.get(e["ref"], ""): {names[ref] for ref in e["dependsOn"]} for e in document["dependencies"]}
    assert edges == {
        "": {"kit-app"},
        "kit-app": {"gears", "tree", *more},
        "gears": {"oil"},
        "oil": {"gears"},
        "tree": {"oil"},
        **{name: set() for name in more},
    }
    assert components["kit-app"]["purl"] == ("pkg:pypi/kit-app@1.0%2Bcpu?file_name=kit_app-1.0%2Bcpu-py3-none-any.whl")
    assert components["kit-app"]["licenses"][0]["expression"] == "MIT OR Apache-2.0"
    assert components["gears"]["licenses"][0]["license"]["name"] == "BSD License"
    assert "licenses" not in components["oil"]
    assert f"cp{python.replace('.', '')}" in components["gears"]["purl"]


def test_it_is_the_same_bytes_wherever_it_is_made_and_names_no_index(
    locked: Project, make_project: MakeProject, tmp_path: Path
) -> None:
    """A cache that knows nothing has no metadata of the sdist, which only a build could tell."""
    text = text_of(locked, "linux-x86_64", "3.12")
    assert text_of(locked, "linux-x86_64", "3.12", store=tmp_path / "empty") == text
    assert "127.0.0.1" not in text
    with LocalIndex() as mirror:
        CONTENT.populate(mirror)
        mirror.add(fake_setuptools())
        other = make_project(CONTENT, mirror)
        for name, content in locked.snapshot("locks").items():
            path = other.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        assert text_of(other, "linux-x86_64", "3.12") == text


@pytest.mark.parametrize(
    ("platform", "python"), [("linux-x86_64", "3.13"), ("linux", "3.12"), ("linux-aarch64", "3.12")]
)
def test_a_cell_that_is_not_there_is_wrong_input(locked: Project, platform: str, python: str) -> None:
    with pytest.raises(InputError):
        text_of(locked, platform, python)


def test_a_lock_that_lacks_what_its_files_require_has_no_bill(copy: Project) -> None:
    """The graph would end in nothing: such a lock was merged badly."""
    path = copy.folder / "locks" / "car" / "linux-x86_64.txt"
    text = path.read_text(encoding="utf-8")
    start = text.index("\noil==")
    path.write_text(text[:start] + text[text.index("\n\n", start + 1) :], encoding="utf-8")
    with pytest.raises(InputError, match="is met by no pin"):
        text_of(copy, "linux-x86_64", "3.12")
