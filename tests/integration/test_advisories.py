"""`lockgrid advisories` with the real pip-audit, beside a stand-in of the services that it asks."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support import scenario
from support.sandbox import Project

CONTENT = scenario.parse(
    """
[[packages]]
name = "kit"
version = "1.0"
requires = ["gears"]
[[packages]]
name = "gears"
version = "3.0"
requires_python = ">=3.12"
[[packages]]
name = "gears"
version = "2.0"
[targets]
pythons = ["3.11", "3.13"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.car]
requires = ["kit"]
[envs.bike]
requires = ["gears"]
pythons = ["3.13"]
[envs.bike.accept]
"advisory:GHSA-aaaa" = "no chain"
""",
    name="advisories",
)
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "aliases": ["CVE-2026-1", "GHSA-aaaa"],
    "fixed_in": ["1.9", "3.2", "2.5"],
    "summary": "the chain\ncomes off",
}

# pip-audit has no option for where PyPI is. This one is the real one but for that.
REDIRECTED = """\
import re, sys
import requests
original = requests.Session.request
def request(self, method, url, *args, **kwargs):
    return original(self, method, re.sub(r"https://[^/]+/pypi/", "{url}/pypi/", url), *args, **kwargs)
requests.Session.request = request
from pip_audit._cli import audit
sys.exit(audit())
"""

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("pip_audit"), reason="pip-audit is not installed here"),
    pytest.mark.skipif(os.name == "nt", reason="a script stands in front of pip-audit"),
]


class Services:
    """PyPI's JSON API and OSV's query, on a loopback port. ``known`` has vulnerabilities by ``name/version``."""

    def __init__(self) -> None:
        self.known: dict[str, list[dict[str, Any]]] = {}
        self.status = 0
        self.asked: list[str] = []
        services = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, pypi, name, version, _ = self.path.split("/")
                assert pypi == "pypi"
                found = services.ask(f"{name}/{version}")
                self.answer(404 if found is None else 200, {"info": {}, "vulnerabilities": found})

            def do_POST(self) -> None:
                query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                name = query["package"]["name"]
                found = services.ask(f"{name}/{query['version']}")
                affected = {"package": {"name": name, "ecosystem": "PyPI"}, "ranges": []}
                vulnerabilities = [
                    {
                        "id": one["id"],
                        "aliases": one["aliases"],
                        "summary": one["summary"],
                        "affected": [
                            {
                                **affected,
                                "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": v} for v in one["fixed_in"]]}],
                            }
                        ],
                    }
                    for one in found or ()
                ]
                self.answer(200, {"vulns": vulnerabilities} if vulnerabilities else {})

            def answer(self, status: int, value: object) -> None:
                body = json.dumps(value).encode()
                self.send_response(services.status or status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def ask(self, pin: str) -> list[dict[str, Any]] | None:
        self.asked.append(pin)
        return self.known.get(pin)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def services() -> Iterator[Services]:
    running = Services()
    running.known = {"kit/1.0": [], "gears/3.0": [], "gears/2.0": []}
    yield running
    running.stop()


Run = Callable[..., Any]


@pytest.fixture
def run(locked: Project, services: Services, tmp_path: Path) -> Run:
    """Return a function that runs the verb on the locked project: the exit code, and stdout or its JSON."""
    main = tmp_path / "main.py"
    main.write_text(REDIRECTED.format(url=services.url), encoding="utf-8")
    binary = tmp_path / "pip-audit"
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{main}" "$@"\n', encoding="utf-8")
    binary.chmod(0o755)

    def begin(*words: str) -> Any:
        before = locked.snapshot(".")
        env = {"LOCKGRID_PIP_AUDIT": str(binary), "LOCKGRID_CACHE_DIR": str(tmp_path / "store")}
        result = locked.run("advisories", *words, env=env)
        assert locked.snapshot(".") == before
        return result

    return begin


def test_a_clean_grid_is_audited_with_one_question_a_pin(run: Run, services: Services) -> None:
    result = run().expect(0)
    assert result.out.splitlines()[-1] == "3 of 3 pins audited, in 6 cells, by pypi: 0 advisories"
    assert sorted(services.asked) == ["gears/2.0", "gears/3.0", "kit/1.0"]


def test_an_advisory_is_told_with_its_cells_and_the_first_fixed_version(run: Run, services: Services) -> None:
    services.known["gears/2.0"] = [VULNERABILITY]
    result = run().expect(1)
    assert result.out.splitlines() == [
        "PYSEC-2026-1 (CVE-2026-1, GHSA-aaaa)",
        "  the chain comes off",
        "  gears==2.0: first fixed in 2.5",
        "    car: linux-x86_64 windows-x86_64, Python 3.11",
        "envs/bike.toml accepts advisory:GHSA-aaaa, which none of its pins has: remove it",
        "3 of 3 pins audited, in 6 cells, by pypi: 1 advisories",
    ]


def test_it_is_accepted_by_environment_and_where_all_do_it_is_no_fault(
    run: Run, services: Services, locked: Project
) -> None:
    services.known["gears/3.0"] = [VULNERABILITY]
    (advisory,) = run("--json").expect(1).json()["advisories"]
    assert advisory["open"] == ["car"]
    assert advisory["accepted"] == [{"environment": "bike", "why": "no chain"}]
    assert advisory["pins"][0]["fixed"] == "3.2"
    path = locked.folder / "envs" / "car.toml"
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(f'{before}[accept]\n"advisory:cve-2026-1" = "no chain either"\n', encoding="utf-8")
        result = run().expect(0)
    finally:
        path.write_text(before, encoding="utf-8")
    assert result.out.startswith("accepted: PYSEC-2026-1")
    assert "accepted by car: no chain either" in result.out


def test_a_pin_that_the_service_does_not_know_is_not_audited_and_never_clean(run: Run, services: Services) -> None:
    del services.known["gears/2.0"]
    result = run().expect(4)
    assert "not audited: gears==2.0 (car 2): " in result.out
    assert "2 of 3 pins audited" in result.out
    services.known["gears/3.0"] = [VULNERABILITY]
    both = run("--json").expect(4).json()
    assert [entry["name"] for entry in both["not-audited"]] == ["gears"]
    assert len(both["advisories"]) == 1


@pytest.mark.parametrize("status", [500, 403])
def test_a_service_that_fails_is_a_failure_and_no_result(run: Run, services: Services, status: int) -> None:
    services.status = status
    result = run().expect(4)
    assert result.out == ""
    assert "pip-audit ended with exit code 1 and no report" in result.err


def test_a_service_that_is_away_is_a_failure(run: Run) -> None:
    """Nothing listens there; pip-audit ends with a traceback, and with 1 as it does where it found something."""
    result = run("--service", "osv", "--osv-url", "http://127.0.0.1:9/v1/query").expect(4)
    assert result.out == ""


def test_of_osv_the_silence_is_no_answer_unless_it_is_trusted(run: Run, services: Services) -> None:
    services.known["gears/3.0"] = [VULNERABILITY]
    osv = ("--service", "osv", "--osv-url", f"{services.url}/v1/query", "--json")
    found = run(*osv).expect(4).json()
    assert [(entry["name"], entry["version"]) for entry in found["not-audited"]] == [("gears", "2.0"), ("kit", "1.0")]
    trusted = run(*osv, "--trust-silence").expect(1).json()
    assert trusted["not-audited"] == []
    assert [pin["fixed"] for pin in trusted["advisories"][0]["pins"]] == ["3.2"]
    services.known["gears/3.0"] = []
    run(*osv, "--trust-silence").expect(0)


def test_options_of_osv_without_it_are_wrong_input(run: Run) -> None:
    run("--trust-silence").expect(2)
    run("--osv-url", "http://127.0.0.1:9").expect(2)


def test_a_lockfile_that_was_edited_is_not_audited(copy: Project) -> None:
    path = copy.folder / "locks" / "car" / "linux-x86_64.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("kit==1.0", "kit==1.1"), encoding="utf-8")
    result = copy.run("advisories", env={"LOCKGRID_PIP_AUDIT": "/nonexistent"}).expect(2)
    assert "locks/car/linux-x86_64.txt: was edited since the lock" in result.err


def test_without_pip_audit_the_way_out_is_told(locked: Project) -> None:
    result = locked.run("advisories", env={"LOCKGRID_PIP_AUDIT": "/nonexistent"}).expect(4)
    assert "LOCKGRID_PIP_AUDIT names /nonexistent" in result.err


def test_a_lock_says_nothing_of_an_accepted_advisory_and_does_not_age_by_it(copy: Project) -> None:
    copy.run("check").expect(0)
    path = copy.folder / "envs" / "bike.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("GHSA-aaaa", "GHSA-bbbb"), encoding="utf-8")
    copy.run("check").expect(0)
    assert "advisory" not in copy.run("show").expect(0).out
