"""What a session reads of an environment's file and of its bases."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.failure import Failure
from sessions.spec import Spec, read_platform, read_spec
from unit.sessions.conftest import ROOT

BASE = """\
abstract = true
summary = "the base"
requires = ["torch==2"]
[overrides]
six = { version = "==1.0", why = "told" }
[smoke]
imports = ["torch"]
"""
APP = """\
summary = "an app"
extends = ["base"]
requires = ["app[fast]>=1; python_version < '3.12'"]
[overrides]
numpy = { version = "==2.0", why = "told" }
[smoke]
imports = ["app"]
commands = [["app", "--version"]]
"""


def envs(root: Path, **files: str) -> Path:
    (root / "envs").mkdir()
    for name, text in files.items():
        (root / "envs" / f"{name}.toml").write_text(text, encoding="utf-8")
    return root


def test_an_environment_has_what_its_base_has_and_the_base_comes_first(tmp_path: Path) -> None:
    assert read_spec(envs(tmp_path, base=BASE, app=APP), "app") == Spec(
        summary="an app",
        requires=[("torch==2", "envs/base.toml"), ("app[fast]>=1; python_version < '3.12'", "envs/app.toml")],
        overridden={"six", "numpy"},
        imports=["torch", "app"],
        commands=[["app", "--version"]],
    )


def test_bases_of_bases_count_and_the_nearest_summary_stands(tmp_path: Path) -> None:
    root = envs(tmp_path, base=BASE, middle='extends = ["base"]', app='extends = ["middle"]')
    spec = read_spec(root, "app")
    assert (spec.summary, spec.imports) == ("the base", ["torch"])


def test_reading_one_environment_leaves_nothing_in_the_next(tmp_path: Path) -> None:
    root = envs(tmp_path, base=BASE, app=APP, other='requires = ["x"]')
    read_spec(root, "app")
    assert read_spec(root, "other") == Spec(requires=[("x", "envs/other.toml")])


@pytest.mark.parametrize(
    ("files", "culprit"),
    [
        ({"app": 'extends = ["app"]'}, "envs/app.toml extends itself"),
        ({"app": 'extends = ["b"]', "b": 'extends = ["app"]'}, "envs/app.toml extends itself"),
        ({"app": 'extends = ["missing"]'}, "envs/missing.toml cannot be read"),
        ({"app": "summary = "}, "envs/app.toml cannot be read"),
        ({}, "envs/app.toml cannot be read"),
    ],
)
def test_a_file_that_does_not_do_is_named(tmp_path: Path, files: dict[str, str], culprit: str) -> None:
    with pytest.raises(Failure, match=culprit) as caught:
        read_spec(envs(tmp_path, **files), "app")
    assert caught.value.stage == "grid"


def test_a_platform_is_its_table_and_none_is_no_floor(tmp_path: Path) -> None:
    root = envs(tmp_path, targets='[platforms.linux-x86_64]\nglibc = "2.28"\n[platforms.windows-x86_64]\n')
    assert read_platform(root, "linux-x86_64") == {"glibc": "2.28"}
    assert read_platform(root, "windows-x86_64") == {}
    assert read_platform(root, "linux-riscv64") == {}


@pytest.mark.parametrize("file", sorted((ROOT / "envs").glob("*.toml")), ids=lambda file: str(file.stem))
def test_every_file_of_this_repository_can_be_read(file: Path) -> None:
    spec = read_spec(ROOT, file.stem)
    assert file.stem == "targets" or (spec.summary and spec.requires)
