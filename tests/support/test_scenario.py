"""Scenarios fill indexes and project folders with what their TOML says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from support import scenario
from support.catalogue import Catalogue
from support.simple_api import JSON_TYPE

SCENARIO = """
    quarantined = ["evil"]
    [[packages]]
    name = "app"
    version = "1.0"
    requires = ["dep"]
    extras = { fast = ["quick ; sys_platform == 'win32'"] }
    python_wheels = "3.10-3.11"
    sdist = { dynamic = true }
    uploaded = 2026-02-01
    [[packages]]
    name = "dep"
    version = "2"
    index = "cpu"
    uploaded = false
    [[packages]]
    name = "evil"
    version = "1"
    [envs.one]
    requires = ["app[fast]"]
    [envs.one.accept]
    "file-clash:x" = "why"
    [expected]
    anything = 1
"""


def files(catalogue: Catalogue, name: str) -> Any:
    """Return what the project page lists, or None where there is no page."""
    response = catalogue.respond(f"/simple/{name}/", {"Accept": JSON_TYPE}.get)
    return json.loads(response.body)["files"] if response.status == 200 else None


def test_a_scenario_fills_indexes_and_writes_a_project(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(dedent(SCENARIO), encoding="utf-8")
    loaded = scenario.load(tmp_path / "case.toml")
    assert (loaded.name, loaded.expected, len(loaded.builts)) == ("case", {"anything": 1}, 11)
    main, cpu = Catalogue(), Catalogue()
    loaded.populate(main)
    *wheels, source = files(main, "app")
    assert [file["filename"] for file in wheels] == [
        f"app-1.0-{python}-{python}-{platform}.whl"
        for python in ("cp310", "cp311")
        for platform in (
            *("manylinux_2_28_x86_64", "manylinux_2_28_aarch64"),
            *("macosx_14_0_arm64", "win_amd64"),
        )
    ]
    assert source["filename"] == "app-1.0.tar.gz"
    assert {file["upload-time"] for file in (*wheels, source)} == {"2026-02-01T00:00:00Z"}
    assert ["core-metadata" in file for file in (wheels[0], source)] == [True, False]
    assert b"quick ; (sys_platform == 'win32') and extra == \"fast\"" in loaded.builts[0].metadata
    assert (files(main, "dep"), files(main, "evil")) == (None, [])
    loaded.populate(cpu, "cpu")
    assert "upload-time" not in files(cpu, "dep")[0]
    assert files(cpu, "app") is None
    loaded.write_project(tmp_path / "p")
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "p/envs").iterdir()}
    assert tomllib.loads(written["one.toml"]) == loaded.envs["one"]
    assert tomllib.loads(written["targets.toml"]) == scenario.DEFAULT_TARGETS
    assert "# This comment must survive" in (tmp_path / "p/pyproject.toml").read_text("utf-8")


def test_a_scenario_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    text = '[[packages]]\nname = "a"\nversion = "1"\nrequire = []\n'
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.toml: package a 1: unknown require;"):
        scenario.load(tmp_path / "bad.toml")
