"""The texts of a bundle."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
from packaging.version import Version

from lockgrid.core.bundle import SCRIPTS
from lockgrid.core.render.install import build_text, requirements_text, script_text, texts
from unit.builders import golden
from unit.core.test_bundle import PLAN

HASHES = {pin.name: pin.file.sha256 for pin in PLAN.pins}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bundle-requirements.txt", requirements_text(PLAN, HASHES, built_there=["the-tree"])),
        ("bundle-build.txt", build_text(PLAN)),
        ("bundle-install.sh.txt", script_text("install.sh", PLAN)),
        ("bundle-install.bat.txt", script_text("install.bat", PLAN).replace("\r\n", "\n")),
    ],
)
def test_a_text_as_it_is_written(name: str, text: str) -> None:
    golden(name, text)


def test_what_was_built_here_is_pinned_by_the_hash_of_its_wheel() -> None:
    text = requirements_text(PLAN, HASHES | {"the-tree": "0" * 64}, built_there=[])
    assert "the-tree==2.0 \\\n    --hash=sha256:" + "0" * 64 in text
    assert "--no-binary" not in text


def test_build_requirements_are_there_only_where_something_is_left_to_build() -> None:
    assert "build.txt" not in texts(PLAN, HASHES, [])
    assert set(texts(PLAN, HASHES, ["the-tree"])) == {"requirements.txt", "build.txt", *SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_placeholder_is_left(name: str) -> None:
    assert not re.search(r"@[A-Z]+@", script_text(name, PLAN))


def test_line_ends_are_those_of_the_system() -> None:
    assert "\r" not in script_text("install.sh", PLAN) + script_text("install.py", PLAN)
    batch = script_text("install.bat", PLAN)
    assert batch.count("\r\n") == batch.count("\n") > 20


BUILT_IN = {"@echo", "rem", "setlocal", "set", "if", "goto", "echo", "exit"}


def test_the_batch_file_starts_no_other_batch_file() -> None:
    """One that is started without `call` never comes back, and the script would end there, nothing being installed."""
    lines = script_text("install.bat", PLAN).splitlines()
    started = [line.split()[0] for line in lines if line[0] != ":"]
    assert {word for word in started if word not in BUILT_IN} == {"py.exe", '"%PYTHON%"', "for"}  # for has its own cmd
    given = [line.partition("=")[2].rstrip('"') for line in lines if line.startswith('set "PYTHON=')]
    assert given == ["python.exe", "", '%PYTHON:"=%']
    named = lines[lines.index(":named") :]
    assert named[2] == 'if /i not "%PYTHON:~-4%"==".exe" set "PYTHON=%PYTHON%.exe"'


def test_no_exit_code_is_taken_for_success_but_zero() -> None:
    """`if errorlevel 1` is not true of a crash, whose code is negative."""
    text = script_text("install.bat", PLAN)
    assert "&&" not in text
    tests = [line for line in text.splitlines() if line.startswith("if ") and "goto" in line and "defined" not in line]
    assert len(tests) == 4
    assert {line.partition(" goto ")[0] for line in tests} == {'if "%ERRORLEVEL%"=="0"'}


def test_the_common_script_is_python_3_8_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse(script_text("install.py", PLAN), feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    standard = {"hashlib", "json", "os", "platform", "re", "shutil", "struct", "subprocess", "sys", "sysconfig"}
    assert names == standard | {"tempfile"}


def plain() -> Callable[[str], str]:
    scope: dict[str, object] = {"__name__": "script", "__file__": "install.py"}
    exec(script_text("install.py", PLAN), scope)
    function = scope["plain"]
    assert callable(function)
    return function


SPELLINGS = [
    *("1", "1.0", "1.00", "v1.0", "1.0.0"),
    *("1a1", "1.0-alpha.1", "1.0.a.1", "1.0_alpha1"),
    *("1.0b2", "1.0.beta-2", "1rc1", "1.0c1", "1.0-pre1", "1.0.preview.1"),
    *("1.0.post1", "1.0-1", "1.0-r1", "1.0.rev1", "1.0.dev3", "1.dev3", "1.0-dev", "1.0.dev0"),
    *("1.0+cpu", "1+CPU", "1.0+cpu.1", "1.0+cpu_1", "1.0rc1.dev3", "1.0.rc1-dev3", "1!1.0", "2026.10.19.post1"),
    *("1.0rc1.post2.dev3", "1.0.1", "10", "1.10", "25.2.10"),
]


def test_versions_are_alike_exactly_where_pep_440_has_them_equal() -> None:
    """What METADATA says may be spelled otherwise than the pin."""
    alike = plain()
    for one in SPELLINGS:
        for other in SPELLINGS:
            assert (alike(one) == alike(other)) == (Version(one) == Version(other)), (one, other)
