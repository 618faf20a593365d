"""A uv that is too old is told to be that, whatever it says of the files that it cannot read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from integration.conftest import LIB_AND_DEP, Start, few_targets

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for uv")

OLD = """#!/bin/sh
if [ "$1" = --version ]; then
    echo "uv 0.12.0 (abc 2026-01-01)"
else
    echo 'error: Failed to parse: `pyproject.toml`' >&2
    exit 2
fi
"""
CONTENT = (
    few_targets("3.11")
    + LIB_AND_DEP
    + """
[envs.app]
requires = ["lib"]
"""
)


@pytest.mark.parametrize("words", [["lock", "--upgrade"], ["verify"], ["export", "app"], ["uv-lock"]])
def test_every_verb_that_runs_uv_says_which_one_it_needs(start_locked: Start, tmp_path: Path, words: list[str]) -> None:
    project = start_locked(CONTENT)
    (project.folder / "uv.lock").write_text("old\n", encoding="utf-8")
    uv = tmp_path / "uv"
    uv.write_text(OLD, encoding="utf-8")
    uv.chmod(0o755)
    refused = project.run(*words, env={"LOCKGRID_UV": str(uv)}).expect(4)
    assert "uv 0.12.0 is too old: 0.13.0 or newer is needed" in refused.err
    assert "pip install -U uv" in refused.err
    assert (refused.out, "parse" in refused.err) == ("", False)
    assert (project.folder / "uv.lock").read_text(encoding="utf-8") == "old\n"
