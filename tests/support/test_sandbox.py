"""The sandbox starts processes with an environment of its own making, and ends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", LocalIndex(), tmp_path / "cache")


def test_the_sandbox_runs_lockgrid_with_an_environment_of_its_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UV_EXCLUDE_NEWER", "PIP_FIND_LINKS", "VIRTUAL_ENV", "PYTHONPATH", "SECRET"):
        monkeypatch.setenv(name, "leak")
    # A package in the working directory comes first with `-m`: it stands in for lockgrid here.
    fake = project.folder / "lockgrid"
    fake.mkdir()
    (fake / "__init__.py").touch()  # else an installed lockgrid would come first
    (fake / "__main__.py").write_text(
        "import json, os, sys, time\n"
        "print(json.dumps([sys.argv[1:], dict(os.environ)]), flush=True)\n"
        "time.sleep(float(os.environ.get('NAP', '0')))\n"
        "sys.exit(3)\n"
    )
    assert sorted(project.snapshot(".")) == ["lockgrid/__init__.py", "lockgrid/__main__.py"]
    assert project.snapshot() == {}
    result = project.run("check", "--json", env={"EXTRA": "1", "LC_ALL": None})
    args, env = result.expect(3).json()
    assert args == ["check", "--json"]
    assert env["UV_DEFAULT_INDEX"] == project.index.url
    assert (env["UV_CACHE_DIR"], env["HOME"]) == (str(project.cache), str(project.home))
    assert (env["LOCKGRID_CACHE_DIR"], env["EXTRA"]) == (str(project.store), "1")
    assert {name for name in env if name.startswith(("UV_", "PIP_"))} == {
        *("UV_DEFAULT_INDEX", "UV_CACHE_DIR", "UV_PYTHON_DOWNLOADS")
    }
    assert "leak" not in env.values()
    assert "LC_ALL" not in env
    with pytest.raises(AssertionError, match="exit code 3, expected 0"):
        result.expect(0)
    with pytest.raises(AssertionError, match="not done after"):
        project.run(env={"NAP": "60"}, timeout=1)


def test_what_is_not_on_the_loopback_interface_goes_to_a_dead_proxy(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "leak")
    (project.folder / "in.txt").write_text("a\n", encoding="utf-8")
    command = ("pip", "compile", "in.txt", "--no-header", "--no-annotate")
    # An address of RFC 5737, which belongs to nobody.
    elsewhere = {"UV_DEFAULT_INDEX": "http://192.0.2.1/simple", "UV_HTTP_RETRIES": "0"}
    assert project.uv(*command, env=elsewhere).code != 0
    with LocalIndex() as index:  # which works as a proxy too: that is how we see uv heeds the rule
        index.add(wheel("a", "1"))
        result = project.uv(*command, env={**elsewhere, "ALL_PROXY": index.base_url})
        assert result.expect(0).out == "a==1\n"
