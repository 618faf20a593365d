"""`lockgrid audit` on wheels in a folder: findings, exit codes, and no project needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.binaries import elf, macho, pe
from support.wheels import Built, wheel

LINUX = ["py3-none-manylinux2014_x86_64"]
NEW = elf(
    [("libc.so.6", "GLIBC_2.38", "__isoc23_strtol"), ("libstdc++.so.6", "GLIBCXX_3.4.32", "init")],
    ["libc.so.6", "libstdc++.so.6", "libvulkan.so.1"],
    padding=100_000,
)
CONVERTER = wheel(
    "converter",
    "0.10.0",
    tags=LINUX,
    files={"converter/bin/run": NEW},
    scripts={"flatc": "converter:a"},
    compressed=True,
)
TOOLS = wheel("tools", "1", files={"tests/__init__.py": ""}, scripts={"flatc": "tools:b"})
GOOD = wheel(
    "good", "1", tags=["cp312-cp312-win_amd64"], files={"good.pyd": pe(), "text.py": "x = 1\n"}, compressed=True
)
MAC = wheel("mac", "1", tags=["py3-none-macosx_11_0_arm64"], files={"mac.so": macho((15, 0, 0))})


def audit(folder: Path, *wheels: Built | str, code: int) -> subprocess.CompletedProcess[str]:
    names = []
    for one in wheels:
        if not isinstance(one, str):
            (folder / one.filename).write_bytes(one.data)
        names.append(one if isinstance(one, str) else one.filename)
    command = [sys.executable, "-W", "error", "-m", "lockgrid", "-q", "audit", *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_wheels_without_a_finding(tmp_path: Path) -> None:
    done = audit(tmp_path, GOOD, code=0)
    assert done.stdout.splitlines()[-1] == "no findings"
    assert done.stdout.startswith(f"{GOOD.filename}: 1 binary against Windows, win_amd64; ")
    assert done.stderr == ""


def test_findings_name_the_file_the_need_and_the_symbol(tmp_path: Path) -> None:
    out = audit(tmp_path, CONVERTER, TOOLS, MAC, code=1).stdout
    assert [line for line in out.splitlines() if line.startswith(("error", "warning"))] == [
        "error: glibc:converter",
        "error: glibcxx:converter",
        "error: macos:mac",
        "warning: file-clash:flatc",
        "warning: generic:tests",
        "warning: library:converter:libvulkan.so.1",
    ]
    assert "  it needs glibc 2.38, and its tag manylinux2014_x86_64 promises glibc 2.17\n" in out
    assert "  needs  GLIBC_2.38 of libc.so.6 for __isoc23_strtol\n" in out
    assert "  file   converter/bin/run\n" in out
    assert "  has    converter: entry point converter:a; tools: entry point tools:b\n" in out
    assert out.endswith("3 errors, 3 warnings\n")


def test_json_says_what_was_read(tmp_path: Path) -> None:
    answer = json.loads(audit(tmp_path, MAC, "--json", code=1).stdout)
    (one,) = answer["wheels"]
    assert one["filename"] == MAC.filename
    assert (one["floors"], one["binaries"], one["size"]) == (["macOS 11.0, arm64"], 1, len(MAC.data))
    (finding,) = answer["findings"]
    assert (finding["name"], finding["severity"], finding["files"]) == ("macos:mac", "error", ["mac.so"])


def test_a_warning_alone_is_a_finding(tmp_path: Path) -> None:
    assert "0 errors, 1 warning\n" in audit(tmp_path, TOOLS, code=1).stdout


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("gone-1-py3-none-any.whl", None, "gone-1-py3-none-any.whl: it cannot be read: No such file or directory"),
        ("text.txt", b"text", "text.txt: this is no name of a wheel"),
        ("a-1-py3-none-any.whl", b"<html>", "a-1-py3-none-any.whl: it is no valid zip archive"),
        ("a-1-py3-none-any.whl", GOOD.data[:-30], "a-1-py3-none-any.whl: it is no valid zip archive"),
    ],
)
def test_wrong_input(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = audit(tmp_path, GOOD, name, code=2)
    assert said in done.stderr
    assert done.stdout == ""


def test_every_wrong_input_is_told_in_one_run(tmp_path: Path) -> None:
    done = audit(tmp_path, "x", "gone-1-py3-none-any.whl", code=2)
    assert "2 problems in the input" in done.stderr


def test_without_files_and_without_a_project_there_is_nothing_to_audit(tmp_path: Path) -> None:
    assert "run lockgrid where envs/ is" in audit(tmp_path, code=2).stderr
