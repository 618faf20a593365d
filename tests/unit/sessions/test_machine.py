"""The machine at hand: its interpreters, its age, and the environment that its tools get."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockgrid.adapters import uvconfig
from sessions import uvsettings
from sessions.failure import Failure
from sessions.machine import NETWORK, RUNNING, below_floor, clean_env, host_platform, probe
from sessions.spec import read_platform
from unit.sessions.conftest import ROOT

#: What ``told`` returns: the variables and the settings that uv gets.
Told = Callable[..., tuple[dict[str, str], dict[str, Any]]]

shell = pytest.mark.skipif(os.name == "nt", reason="the interpreters here are shell scripts")


def test_the_sessions_let_the_same_settings_of_uv_through_as_lockgrid() -> None:
    # Those that name indexes and files reach uv by another way than the environment there.
    indexes = {"UV_CONFIG_FILE", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_INDEX_URL", "UV_NO_CONFIG"}
    assert uvconfig._NETWORK_VARIABLES | indexes == NETWORK


def test_a_tool_gets_the_machine_s_environment_less_what_leads_into_a_venv(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"HTTPS_PROXY": "p", "UV_INDEX_URL": "u", "UV_INDEX_MINE_PASSWORD": "s", "UV_CACHE_DIR": "c"}
    kept |= {"EXECUTORCH_ROOT": "e"}
    dropped = ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PIP_INDEX_URL", "PIP_TARGET", "VIRTUAL_ENV", "UV_PYTHON"]
    dropped += ["UV_CONSTRAINT", "UV_OVERRIDE", "UV_INDEX_MINE_TOKEN", "UV_SYSTEM_PYTHON"]
    for name in [*kept, *dropped]:
        monkeypatch.setenv(name, kept.get(name, "x"))
    env = clean_env()
    assert {name: env[name] for name in kept} == kept
    assert [name for name in dropped if name in env] == []
    assert (env["PYTHONNOUSERSITE"], env["PIP_CONFIG_FILE"], env["UV_PYTHON_DOWNLOADS"]) == ("1", os.devnull, "never")


def test_a_setting_of_the_sessions_cannot_be_overridden_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONNOUSERSITE", "")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "automatic")
    assert clean_env()["PYTHONNOUSERSITE"] == "1"
    assert clean_env()["UV_PYTHON_DOWNLOADS"] == "never"


@pytest.mark.parametrize(
    ("system", "kind", "name"),
    [
        ("Linux", "x86_64", "linux-x86_64"),
        ("Linux", "aarch64", "linux-aarch64"),
        ("Darwin", "arm64", "macos-arm64"),
        ("Windows", "AMD64", "windows-x86_64"),
        ("Windows", "ARM64", "windows-arm64"),
        ("Plan9", "mips", "Plan9-mips"),  # no platform, which the grid then says
    ],
)
def test_a_machine_has_the_name_that_targets_toml_has_for_it(
    monkeypatch: pytest.MonkeyPatch, system: str, kind: str, name: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: kind)
    assert host_platform() == name
    if name.endswith(("x86_64", "aarch64", "macos-arm64")):
        assert name in (ROOT / "envs" / "targets.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("libc", "said"),
    [
        (("glibc", "2.28"), ""),
        (("glibc", "2.100"), ""),  # newer, though not as text
        (("glibc", "3.0"), ""),
        (("glibc", "2.27"), "its lock is for glibc 2.28 and newer, and this system has glibc 2.27"),
        (("glibc", "2.9"), "its lock is for glibc 2.28 and newer, and this system has glibc 2.9"),
        (("", ""), "its lock is for glibc 2.28 and newer, and this system has another C library"),
        (("musl", "1.2"), "its lock is for glibc 2.28 and newer, and this system has musl"),
    ],
)
def test_a_system_below_the_floor_is_told(monkeypatch: pytest.MonkeyPatch, libc: tuple[str, str], said: str) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)
    assert below_floor({"glibc": "2.28"}) == said


@pytest.mark.parametrize(
    ("version", "floor", "old"),
    [
        ("15.0", "15.0", False),
        ("15", "15.0", False),
        ("15.0", "15", False),
        ("26.1.2", "15.0", False),
        ("14.7", "15.0", True),
        ("14", "15.0", True),
        ("9.9", "15.0", True),
    ],
)
def test_a_macos_below_the_floor_is_told(monkeypatch: pytest.MonkeyPatch, version: str, floor: str, old: bool) -> None:
    monkeypatch.setattr(platform, "mac_ver", lambda: (version, ("", "", ""), "arm64"))
    said = f"its lock is for macOS {floor} and newer, and this is macOS {version}"
    assert below_floor({"macos": floor}) == (said if old else "")


def test_a_platform_without_a_floor_suits_every_system() -> None:
    assert below_floor({}) == ""


def test_the_machine_of_the_tests_is_none_too_old() -> None:
    assert below_floor(read_platform(ROOT, host_platform())) == ""


def interpreter(folder: Path, name: str, body: str) -> Path:
    """A command that answers as ``body`` does."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no interpreter but the running one; its only folder on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def test_the_running_python_is_found_without_a_search(bare: Path) -> None:
    assert probe(RUNNING) == sys.executable


def test_no_interpreter_is_none(bare: Path) -> None:
    assert probe("3.8") is None


@shell
@pytest.mark.parametrize(
    "shim",
    [
        "echo 'pyenv: python3.8: command not found' >&2; exit 127",
        "exit 0",
        "echo 3.9 cpython",  # not what its name says
        "echo 3.8 pypy",
        "echo 3.8 cpython; exit 1",
        "echo 3.8 cpython and more",
    ],
)
def test_a_shim_that_does_not_start_the_python_is_passed_over(bare: Path, shim: str) -> None:
    interpreter(bare / "bin", "python3.8", shim)
    assert probe("3.8") is None
    real = interpreter(bare / "pyenv" / "versions" / "3.8.19" / "bin", "python3.8", "echo 3.8 cpython")
    assert probe("3.8") == str(real)


@shell
def test_python3_is_asked_which_python_it_is(bare: Path) -> None:
    real = interpreter(bare / "bin", "python3", "echo 3.8 cpython")
    assert probe("3.8") == str(real)
    assert probe("3.9") is None


@shell
def test_a_file_that_cannot_be_started_is_passed_over(bare: Path) -> None:
    interpreter(bare / "bin", "python3.8", "echo 3.8 cpython").chmod(0o644)
    assert probe("3.8") is None


@shell
def test_an_interpreter_that_hangs_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out_of_time(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 30)

    interpreter(bare / "bin", "python3.8", "echo 3.8 cpython")
    monkeypatch.setattr(subprocess, "run", run_out_of_time)
    assert probe("3.8") is None


def test_sessions_take_the_same_keys_of_uv_toml_as_lockgrid() -> None:
    assert set(uvsettings.NETWORK_KEYS) == set(uvconfig._NETWORK_KEYS)


def test_the_settings_for_uv_are_indexes_and_the_network_alone() -> None:
    strong = {"index": [{"name": "a", "url": 'https://a.example/"x"', "default": True}], "native-tls": False}
    weak = {"index": [{"url": "https://b.example"}], "native-tls": True, "exclude-newer": "7 days", "pip": {"x": 1}}
    found = tomllib.loads(uvsettings.settings_text([strong, weak]))
    assert found == {"index": [*strong["index"], *weak["index"]], "native-tls": False}  # type: ignore[misc]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Told:
    """Return a function: what uv is told in a project of this ``uv.toml`` and ``targets.toml``."""

    def ask(index: str, *reserved: str, toml: str = "", targets: str = "", **environ: str) -> tuple[Any, Any]:
        for key in [key for key in os.environ if key.startswith("UV_")]:
            monkeypatch.delenv(key)
        for key, value in {**environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}.items():
            monkeypatch.setenv(key, value)
        (tmp_path / "uv.toml").write_text(toml, encoding="utf-8")
        (tmp_path / "envs").mkdir(exist_ok=True)
        (tmp_path / "envs" / "targets.toml").write_text(targets, encoding="utf-8")
        monkeypatch.setattr(uvsettings, "ROOT", tmp_path)
        with uvsettings.uv_env(index, reserved, building="building" in environ) as env:
            settings = tomllib.loads(Path(env["UV_CONFIG_FILE"]).read_text(encoding="utf-8"))
            said = {key: value for key, value in env.items() if key.startswith(("UV_INDEX", "UV_EXTRA", "UV_DEFAULT"))}
            return said, settings

    return ask


CPU = '[[index]]\nname = "cpu"\nurl = "https://cpu.example"\nexplicit = true\nauthenticate = "always"\n'
HOUSE = '[[index]]\nurl = "https://house.example"\ndefault = true\n'


def test_uv_is_told_of_an_index_of_its_own_alone(told: Told) -> None:
    alone = {"name": "cpu", "url": "https://cpu.example", "authenticate": "always", "default": True}
    more = {"UV_DEFAULT_INDEX": "https://d.example", "UV_EXTRA_INDEX_URL": "https://e.example"}
    assert told("cpu", "cpu", toml=CPU + HOUSE, **more) == ({}, {"index": [alone]})
    assert told("cpu", "cpu", toml=CPU, UV_INDEX="x=https://x.example cpu=https://mirror.example") == (
        {},
        {"index": [{"name": "cpu", "url": "https://mirror.example", "default": True}]},
    )


@pytest.mark.parametrize("said", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "index-url", "index"])
def test_a_folder_of_files_is_told_as_a_flat_index(told: Told, tmp_path: Path, said: str) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "a-1.0-py3-none-any.whl").write_bytes(b"")
    toml = {"index-url": 'index-url = "wheels"\n', "index": '[[index]]\nurl = "wheels"\ndefault = true\n'}.get(said, "")
    environ = {said: str(folder)} if said.startswith("UV_") else {}
    flat = {"url": str(folder), "default": True, "format": "flat"}
    assert told("", toml=toml, **environ) == ({}, {"index": [flat]})


def test_a_tree_of_pages_stays_the_index_that_it_is(told: Told, tmp_path: Path) -> None:
    (tmp_path / "pages" / "a").mkdir(parents=True)
    url = (tmp_path / "pages").as_uri()
    assert told("", UV_DEFAULT_INDEX=url) == ({"UV_DEFAULT_INDEX": url}, {})


@pytest.mark.parametrize("said", ["UV_NO_INDEX", "no-index"])
def test_where_no_index_may_be_asked_folders_are_all_that_uv_is_told_of(told: Told, tmp_path: Path, said: str) -> None:
    toml = 'find-links = ["wheels"]\n' + HOUSE
    environ = {"UV_NO_INDEX": "1"} if said == "UV_NO_INDEX" else {}
    toml = toml if environ else f"no-index = true\n{toml}"
    words = {"UV_DEFAULT_INDEX": "https://d.example", "UV_FIND_LINKS": "more"}
    links = [str(tmp_path / "more"), str(tmp_path / "wheels")]
    assert told("", toml=toml, **environ, **words) == ({}, {"no-index": True, "find-links": links, "index": []})


def test_links_beside_an_index_are_kept_out(told: Told) -> None:
    house = {"url": "https://house.example", "default": True}
    assert told("", toml=f'find-links = ["wheels"]\n{HOUSE}') == ({}, {"index": [house]})


def test_uv_is_told_of_every_other_index_for_the_rest(
    told: Told,
) -> None:
    house = {"url": "https://house.example", "default": True}
    words = "x=https://x.example cpu=https://cpu.example https://cpu.example/"
    found = told("", "cpu", toml='extra-index-url = ["https://cpu.example"]\n' + CPU + HOUSE, UV_INDEX=words)
    assert found == ({"UV_INDEX": "x=https://x.example"}, {"index": [house], "extra-index-url": []})


def test_what_builds_a_sdist_of_an_index_may_come_from_every_other(told: Told) -> None:
    house = {"url": "https://house.example", "default": True}
    found = told("cpu", "cpu", "gpu", toml=CPU + HOUSE, UV_INDEX="gpu=https://gpu.example", building="1")
    cpu = {"name": "cpu", "url": "https://cpu.example", "authenticate": "always"}
    assert found == ({"UV_INDEX_STRATEGY": "unsafe-best-match"}, {"index": [cpu, house]})


def test_credentials_of_an_index_of_its_own_are_in_no_file(told: Told) -> None:
    words = "cpu=https://me:s%2Fe@cpu.example"
    alone = {"name": "cpu", "url": "https://cpu.example", "default": True}
    login = {"UV_INDEX_CPU_USERNAME": "me", "UV_INDEX_CPU_PASSWORD": "s/e"}
    for key in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        assert told("cpu", "cpu", **{key: words}) == (login, {"index": [alone]})
    assert told("cpu", "cpu", UV_INDEX=words, UV_INDEX_CPU_USERNAME="you")[0] == {"UV_INDEX_CPU_USERNAME": "you"}


def test_an_index_of_its_own_is_known_with_credentials_in_its_url_too(told: Told) -> None:
    toml = CPU + '[[index]]\nurl = "https://me:pw@CPU.example/"\n' + HOUSE
    words = "x=https://x.example https://you:pw@cpu.example"
    house = {"url": "https://house.example", "default": True}
    assert told("", "cpu", toml=toml, UV_INDEX=words) == ({"UV_INDEX": "x=https://x.example"}, {"index": [house]})


@pytest.mark.parametrize("entry", ['"https://ours.example"', '{ url = "https://ours.example", dateless = true }'])
def test_an_index_may_stand_in_targets_toml(told: Told, entry: str) -> None:
    found = told("cpu", "cpu", targets=f"[indexes]\ncpu = {entry}\n")
    assert found == ({}, {"index": [{"name": "cpu", "url": "https://ours.example", "default": True}]})


def test_an_index_that_nothing_says_where_it_is(told: Told) -> None:
    with pytest.raises(Failure, match="the lock needs the index cpu, and nothing says where that is"):
        told("cpu", "cpu", targets="[indexes]\ncpu = { dateless = true }\n")
