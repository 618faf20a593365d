"""This repository's sessions in a project of the tests."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from support.sandbox import Project, Result

ROOT = Path(__file__).parents[2]

# Stands in for pytest: does what the flow test of the project tells it to.
PYTEST = """
import json, os, sys
from pathlib import Path
arguments = sys.argv[1:]
flow = next(a for a in arguments if Path(a).name.startswith("test_"))
code, _, outcome = Path(flow).read_text().partition(" ")
outcome = outcome or ("failed" if code == "1" else "passed")
code = int(code)
if code < 0:
    os.abort()
cases = [{"case": "a", "outcome": "passed", "seconds": 0.1, "figures": {"n": 1}},
         {"case": "b", "outcome": outcome, "seconds": 0.1, "figures": {}}]
if outcome == "skipped":
    cases[0]["outcome"] = outcome
report = Path(arguments[arguments.index("--report") + 1])
report.write_text(json.dumps({"exit_status": code, "cases": cases, "given": arguments,
    "environ": [k for k in os.environ if k.startswith(("PYTEST_", "MODEL_"))]}))
print("ran", flow)
sys.exit(code)
"""

# What a session does that has its tools from `locks/dev`: here it has those of these tests, and what pip-sync finds in
# a venv is the pip that Python brings along.
_SCRIPT = """
import subprocess, sys
sys.path.insert(0, ".")
from sessions.crosscheck import crosscheck
from sessions.failure import Failure
from sessions.wayin import Tools
from sessions.ways import ways
def give_pip(python):
    subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True)
    subprocess.run([python, "-m", "pip", "uninstall", "--yes", "setuptools"], capture_output=True)
session, *words = sys.argv[1:]
lockgrid = [sys.executable, "-m", "lockgrid"]
try:
    if session == "crosscheck":
        crosscheck(words, tools=lambda python: sys.executable)
    else:
        ways(words, lockgrid, Tools(python=sys.executable, lockgrid=lockgrid, give_pip=give_pip))
except Failure as failure:
    sys.exit(f"{failure.stage}: {failure.message}")
"""
# pip's own settings name an index where nothing answers: they are not to be heeded.
_PIP = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/nonexistent"}


def add_sessions(project: Project, *flows: str) -> None:
    """Copy the noxfile and the sessions into a project, and give these environments a flow that passes."""
    shutil.copy(ROOT / "noxfile.py", project.folder)
    shutil.copytree(ROOT / "sessions", project.folder / "sessions", ignore=shutil.ignore_patterns("__pycache__"))
    folder = project.folder / "tests" / "flows"
    folder.mkdir(parents=True)
    for environment in flows:
        (folder / f"test_{environment}.py").write_text("0", encoding="utf-8")


def nox(project: Project, session: str, *args: str, env: Mapping[str, str | None] | None = None) -> Result:
    """Run a session."""
    return project._start([sys.executable, "-m", "nox", "-s", session, "--", *args], env, 120)


def crosscheck(project: Project, *words: str, env: Mapping[str, str | None] | None = None) -> Result:
    """Run what `nox -s crosscheck` does."""
    return project._start([sys.executable, "-c", _SCRIPT, "crosscheck", *words], {**_PIP, **(env or {})}, 120)


def ways(project: Project, *words: str, env: Mapping[str, str | None] | None = None) -> Result:
    """Run what `nox -s ways` does."""
    return project._start([sys.executable, "-c", _SCRIPT, "ways", *words], {**_PIP, **(env or {})}, 300)
