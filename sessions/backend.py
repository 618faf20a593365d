"""A backend's session: choose its cell, prepare its venv, run its flow, report."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sessions.arguments import Arguments
from sessions.cell import Cell, Grid
from sessions.failure import Failure
from sessions.machine import ROOT, RUNNING, below_floor, host_platform, probe, say
from sessions.spec import read_platform, read_spec
from sessions.venv import Venv

FLOWS = ROOT / "tests" / "flows"
# Raised when a key of the report changes its meaning.
_REPORT_SCHEMA = 1


def backends() -> dict[str, str]:
    """Every environment that has a flow, with its summary: ``tests/flows/test_<environment>.py``."""
    found = {}
    for file in sorted((ROOT / "envs").glob("*.toml")):
        if (FLOWS / f"test_{file.stem}.py").is_file():
            try:
                found[file.stem] = read_spec(ROOT, file.stem).summary
            except Failure as failure:  # told when the session runs, not whenever nox lists its sessions
                found[file.stem] = failure.message
    return found


def run_backend(environment: str, arguments: Arguments) -> None:
    """Run one backend's flow, or with ``--upstream`` the tests that upstream ships. Raises ``Failure``."""
    began = time.perf_counter()
    about: dict[str, Any] = {"schema": _REPORT_SCHEMA, "environment": environment, "status": "failed"}
    about["kind"] = "upstream" if arguments.upstream else "flow"
    about["target"] = {"platform": host_platform(), "python": arguments.python}
    about |= {"lock": None, "stage": None, "message": None, "cases": []}
    report = _writable(arguments.report or _default_report(environment))
    try:
        cell = _cell(environment, arguments)
        if "pytest" not in cell.pins:
            raise Failure("grid", f"no pin of {cell} provides pytest, which runs the flow: let it be required")
        about["target"]["python"] = cell.python
        about["lock"] = cell.digests[0]
        venv = Venv(cell)
        about["venv"] = "kept" if venv.prepare(read_spec(ROOT, environment)) else "built"
        say(f"{cell}: {len(cell.pins)} pins, venv {about['venv']}")
        about |= _run_tests(venv, arguments)
        about["status"] = "passed" if about["cases"] else "not run"  # as with pytest's --collect-only
    except Failure as failure:
        about |= {"stage": failure.stage, "message": failure.message, **failure.result}
        raise
    except KeyboardInterrupt:
        about["message"] = "interrupted"
        raise
    finally:
        about["seconds"] = round(time.perf_counter() - began, 3)
        about["not_run"] = sum(1 for case in about["cases"] if case["outcome"] == "skipped")
        if report:
            _write(report, about)


def run_backends(environments: Sequence[str], arguments: Arguments) -> None:
    """Run several, one after the other, whatever becomes of the first; ``--report`` is a folder then."""
    if arguments.report and Path(arguments.report).exists() and not Path(arguments.report).is_dir():
        raise Failure("arguments", f"--report {arguments.report} is a file: for several backends name a folder")
    failures = []
    for environment in environments:
        report = str(Path(arguments.report) / f"{environment}.json") if arguments.report else None
        try:
            run_backend(environment, replace(arguments, report=report))
            say(f"{environment}: passed")
        except Failure as failure:
            failures.append(environment)
            say(f"{environment}: FAILED: {failure.message}")
    if failures:
        passed = ", ".join(e for e in environments if e not in failures) or "none"
        raise Failure("flow", f"failed: {', '.join(failures)}; passed: {passed}")


def _cell(environment: str, arguments: Arguments) -> Cell:
    platform = host_platform()
    cell = Grid(ROOT, platform).choose(environment, arguments.python, RUNNING, probe)
    if too_old := below_floor(read_platform(ROOT, platform)):
        raise Failure("grid", f"{environment} cannot run here: {too_old}")
    return cell


def _run_tests(venv: Venv, arguments: Arguments) -> dict[str, Any]:
    """Run pytest in the venv; what its report says. Raises ``Failure`` when a test fails."""
    with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
        result = Path(folder) / "result.json"
        command = [venv.python, *_tests(venv.cell.environment, arguments), "--report", str(result)]
        if arguments.require_all:
            command.append("--require-all")
        code = subprocess.run([*command, *arguments.pytest], cwd=ROOT, env=venv.env, check=False).returncode
        told = json.loads(result.read_text(encoding="utf-8")) if result.is_file() else {}
    cases = told.get("cases", [])
    if code or (cases and not any(case["outcome"] == "passed" for case in cases)):
        raise Failure("flow", _why(code, told), told)
    return dict(told)


def _tests(environment: str, arguments: Arguments) -> list[str]:
    if arguments.upstream:
        return [str(FLOWS / "upstream.py"), environment]
    settings = ["-c", str(FLOWS / "pytest.ini"), "--rootdir", str(ROOT)]
    name = f"test_{environment}.py"
    chosen = any(argument.partition("::")[0].endswith(name) for argument in arguments.pytest)
    return ["-m", "pytest", *settings, *([] if chosen else [str(FLOWS / name)])]


def _why(code: int, told: dict[str, Any]) -> str:
    """What an exit code of pytest's means, with the cases at hand."""
    cases = told.get("cases", [])
    failed = [case["case"] for case in cases if case["outcome"] in ("failed", "error")]
    if failed:
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        return f"{len(failed)} of {len(cases)} cases failed: {', '.join(failed[:5])}{more}"
    if code == 4:
        return "pytest did not understand its arguments, see above"
    if code == 5:
        return "pytest found no test: nothing was run"
    if cases and not any(case["outcome"] == "passed" for case in cases):
        return f"nothing passed: {len(cases)} cases were skipped or are expected to fail"
    if told:
        return f"pytest ended with exit code {code}, see above"
    return f"the flow ended with exit code {code} before it could report: it crashed, see above"


def _default_report(environment: str) -> str | None:
    """Where ``lockgrid refresh --test`` looks for the result, where it is what runs the session."""
    folder = os.environ.get("LOCKGRID_RESULTS")
    return str(Path(folder) / f"{environment}.json") if folder else None


def _writable(report: str | None) -> Path | None:
    """The file of the report, found to be writable before anything is done."""
    if report is None:
        return None
    path = Path(report)
    if path.is_dir():
        raise Failure("arguments", f"--report {path} is a folder: for one backend name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise Failure("arguments", f"--report {path} cannot be written: {error}") from error


def _write(path: Path, about: dict[str, Any]) -> None:
    """The report, in whole or not at all; it is never the reason why a session fails."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        say(f"--report {path} could not be written: {error}")
