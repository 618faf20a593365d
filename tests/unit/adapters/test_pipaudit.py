"""Which pip-audit is run, what it is told, and what is made of how it ends."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from lockgrid.adapters.pipaudit import PipAudit, find_pip_audit
from lockgrid.errors import ToolError

posix = pytest.mark.skipif(os.name == "nt", reason="a script stands in for pip-audit")
NAME = "pip-audit.exe" if os.name == "nt" else "pip-audit"

SCRIPT = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
asked = open(words[words.index("--requirement") + 1]).read()
out = words[words.index("--output") + 1]
kept = sorted(k for k in os.environ if k.startswith(("PIP_", "PYTHON", "HTTPS_")))
{body}
"""


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def tool(folder: Path, body: str, service: str = "pypi", osv_url: str = "") -> PipAudit:
    binary = program(folder / NAME, SCRIPT.format(python=sys.executable, body=body))
    environ = {"PATH": os.environ["PATH"], "PIP_AUDIT_IGNORE_VULN": "x", "PYTHONPATH": "y", "HTTPS_PROXY": "z"}
    return PipAudit(binary=str(binary), environ=environ, cache=folder / "c", service=service, osv_url=osv_url)


def test_the_chosen_one_then_the_one_beside_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, elsewhere = tmp_path / "venv" / "python", program(tmp_path / "bin" / NAME)
    monkeypatch.setattr(sys, "executable", str(beside))
    path = {"PATH": str(elsewhere.parent)}
    assert find_pip_audit(path) == str(elsewhere)
    own = program(beside.parent / NAME)
    assert find_pip_audit(path) == str(own)
    assert find_pip_audit({**path, "LOCKGRID_PIP_AUDIT": str(elsewhere)}) == str(elsewhere)


def test_none_at_all_is_an_error_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ToolError, match="pip-audit was not found") as caught:
        find_pip_audit({"PATH": str(tmp_path)})
    assert "LOCKGRID_PIP_AUDIT" in caught.value.next_step
    with pytest.raises(ToolError, match="which cannot be run"):
        find_pip_audit({"LOCKGRID_PIP_AUDIT": str(tmp_path / "gone")})


@posix
def test_it_gets_the_pins_and_no_setting_from_outside(tmp_path: Path) -> None:
    body = "open(out, 'w').write(json.dumps([asked, words, kept])); print('noise'); sys.exit(1)"
    asked, words, kept = json.loads(tool(tmp_path, body, "osv", "http://127.0.0.1:9/q").report("a==1\n"))
    assert asked == "a==1\n"
    assert kept == ["HTTPS_PROXY", "PYTHONUTF8"]
    assert {"--no-deps", "--disable-pip", "--format", "--aliases"} <= set(words)
    assert words[words.index("--vulnerability-service") + 1] == "osv"
    assert words[words.index("--osv-url") + 1] == "http://127.0.0.1:9/q"
    told = json.loads(tool(tmp_path, body).report(""))[1]
    assert "--osv-url" not in told


@posix
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(0)", "exit code 0 and no report"),
        ("raise OSError('the service is away')", "\n    OSError: the service is away\n"),
        ("try: int('x')\nexcept ValueError: sys.exit(1 / 0)", "\n    ValueError: .*'x'\n    ZeroDivisionError: "),
        ("sys.exit('WARNING:x\\n  more')", "\n    WARNING:x\n      more\n"),
        ("open(out, 'w').write('{}'); sys.exit(2)", "exit code 2"),
        ("os.kill(os.getpid(), 9)", "exit code -9"),
    ],
)
def test_an_end_without_a_report_is_a_failed_tool(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(ToolError, match=said) as failed:
        tool(tmp_path, body).report("a==1\n")
    assert not re.search("Traceback|During handling|File", failed.value.what)


def test_one_that_does_not_start_is_a_failed_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run"):
        PipAudit(binary=str(tmp_path / "gone"), environ={}, cache=tmp_path).report("")
