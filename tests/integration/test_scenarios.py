"""Every scenario in `scenarios/` is locked as its `[expected]` table says, every lock is sound, and `uv sync` has it.

```toml
[expected]
code = 0                            # the exit code of `lockgrid lock`; the default
args = ["--as-of", "2026-03-01"]    # more arguments
says = ["..."]                      # text that stdout or stderr holds
loose = ["patch"]                   # packages of which `uv sync` thinks otherwise than a cell, and may
bug = "..."                         # what of this does not hold yet: the test must fail

[[expected.cells]]                  # of the rules whose `where` fits a cell, the first counts
where = "app/linux-*/3.1[0-3]"      # a glob for environment/platform/Python
pins = { a = "1.0", b = "*" }       # the cell is proven and holds these and no others; * is any version, ? any or none

[[expected.cells]]
where = "*"
failed = "tags"                     # the cell is unsupported, and this proof failed first
because = ["a==1.0"]                # text that its reason holds
```
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.exported import assert_every_cell_is_exported
from integration.locked import Locks, assert_sound, cells_of
from support import scenario
from support.index import LocalIndex
from support.scenario import Scenario

FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = [scenario.load(path) for path in sorted(FOLDER.glob("*.toml"))]


def parameter(content: Scenario) -> Any:
    """Return the scenario for pytest, with its name and the mark of a known bug."""
    bug = content.expected.get("bug")
    marks = [pytest.mark.xfail(reason=bug, strict=True)] if bug else []
    return pytest.param(content, id=content.name, marks=marks)


@pytest.mark.parametrize("content", [parameter(content) for content in SCENARIOS])
def test_scenario(content: Scenario, index: LocalIndex, make_project: MakeProject) -> None:
    content.populate(index)
    project = make_project(content, index)
    code: int = content.expected.get("code", 0)
    arguments: list[str] = content.expected.get("args", [])
    result = project.run("lock", *arguments, env={"UV_HTTP_RETRIES": "0"}).expect(code)
    for text in content.expected.get("says", []):
        assert text in result.out + result.err
    assert "Traceback" not in result.err
    if code:
        assert project.snapshot() == {}
        return
    first = project.snapshot(".")
    assert_sound(project, content.builts)
    assert_cells(content, Locks(project))
    project.run("uv-lock").expect(0)
    assert_every_cell_is_exported(project, content.expected.get("loose", ()))
    (project.folder / "uv.lock").unlink()
    again = project.run("lock", *arguments).expect(0)
    assert "nothing changed" in again.out
    assert project.snapshot(".") == first


def assert_cells(content: Scenario, locks: Locks) -> None:
    """Assert that each cell of the input is there and as the first fitting rule has it."""
    rules: list[Mapping[str, Any]] = content.expected["cells"]
    assert set(locks.cells) == set(cells_of(content.targets, content.envs))
    for cell, found in locks.cells.items():
        rule = next(rule for rule in rules if fnmatchcase("/".join(cell), rule["where"]))
        if "failed" in rule:
            assert (cell, found["status"], found.get("failed")) == (cell, "unsupported", rule["failed"])
            for text in rule.get("because", []):
                assert text in found["because"]
        else:
            assert (cell, found["status"], found.get("because")) == (cell, "proven", None)
            versions = locks.versions(*cell)
            assert (cell, versions) == (cell, wanted_pins(rule["pins"], versions))


def wanted_pins(pins: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the pins that a rule wants, given what was found where it leaves a choice."""
    asked = {name: version for name, version in pins.items() if version != "?" or name in found}
    return {name: found.get(name, "missing") if version in "*?" else version for name, version in asked.items()}
