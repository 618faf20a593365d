"""What a venv's own Python tells of itself: asked of a Python whose site folder is made up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unit.sessions.conftest import ROOT

INSIDE = ROOT / "sessions" / "inside.py"


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site folder with two distributions: ``good`` and ``Half.Baked``, which lacks a module."""
    folder = tmp_path / "venv" / "lib" / "site-packages"
    write(folder / "good" / "__init__.py", "print('to stdout')\n")
    write(folder / "good" / "deep" / "__init__.py")
    write(folder / "good" / "bin" / "nested")
    write(folder / "solo.py")
    write(folder / "halfway" / "__init__.py", "import halfway.missing\n")
    write(folder / "broken.py", "raise OSError('no libGL')\n")
    write(folder / "leaver.py", "import sys; sys.exit(3)\n")
    good = "good/__init__.py,,\ngood/deep/__init__.py,,\ngood/bin/nested,,\nsolo.py,,\n../../bin/good-tool,,\n"
    distribution(folder, "good", "1.0", good + "../../Scripts/other.exe,,\n", ["numpy>=2 ; extra == 'fast'"])
    distribution(folder, "Half.Baked", "2.0", "halfway/__init__.py,,\nbroken.py,,\nleaver.py,,\n")
    write(folder / "Half.Baked-2.0.dist-info" / "entry_points.txt", "[console_scripts]\nbake = halfway:main\n")
    return folder


def distribution(folder: Path, name: str, version: str, record: str, requires: list[str] | None = None) -> None:
    info = folder / f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    write(info / "METADATA", "\n".join([*lines, *(f"Requires-Dist: {line}" for line in requires or ())]) + "\n")
    write(info / "RECORD", record)


def ask(site: Path, question: str, *names: str) -> Any:
    """The answer of a Python that sees the standard library and ``site`` alone."""
    out = site.parent / "answer.json"
    program = (
        "import runpy, sys\n"
        "script, site, *rest = sys.argv[1:]\n"
        "sys.path[:] = [p for p in sys.path if p and 'site-packages' not in p]\n"
        "sys.path += [site]\n"
        "sys.path.insert(0, script.rpartition('/')[0])\n"  # as when Python runs the script itself
        "sys.argv = [script, *rest]\n"
        "runpy.run_path(script, run_name='__main__')\n"
    )
    command = [sys.executable, "-I", "-c", program, INSIDE.as_posix(), str(site), question, str(out), *names]
    subprocess.run(command, check=True, capture_output=True, cwd=site.parent)
    return json.loads(out.read_text(encoding="utf-8"))


def test_it_sees_every_distribution_with_what_it_requires(site: Path) -> None:
    found = ask(site, "see")
    assert sorted((d["name"], d["version"], d["requires"]) for d in found["distributions"]) == [
        ("Half.Baked", "2.0", []),
        ("good", "1.0", ["numpy>=2 ; extra == 'fast'"]),
    ]
    assert {Path(d["folder"]) for d in found["distributions"]} == {site}


def test_it_tells_where_modules_are_looked_for_without_its_own_folder(site: Path) -> None:
    found = ask(site, "see")
    assert str(site) in found["path"]
    assert str(INSIDE.parent) not in found["path"]
    assert found["python"].split()[0] == sys.version.split()[0]
    assert found["user_site"] is False
    assert sys.base_prefix in found["base"]


def test_what_is_left_of_a_distribution_is_seen_too(site: Path) -> None:
    (site / "torn-1.0.dist-info").mkdir()
    names = {d["name"]: d["version"] for d in ask(site, "see")["distributions"]}
    assert names["torn-1.0.dist-info"] == "without METADATA"


def test_a_module_that_can_be_imported_is_no_problem_though_it_prints(site: Path) -> None:
    assert ask(site, "import", "good", "good.deep", "solo") == {"good": None, "good.deep": None, "solo": None}


def test_a_module_that_nothing_installs_has_no_provider(site: Path) -> None:
    failed = ask(site, "import", "nowhere.at.all")["nowhere.at.all"]
    assert failed["missing"] == "nowhere"
    assert failed["provider"] is None
    assert failed["error"] == "ModuleNotFoundError: No module named 'nowhere'"


def test_who_installs_the_most_of_the_way_should_have_installed_the_rest(site: Path) -> None:
    failed = ask(site, "import", "good.deep.deeper")["good.deep.deeper"]
    assert failed["missing"] == "good.deep.deeper"
    assert failed["provider"] == {"pin": "good==1.0", "provides": "good.deep"}


def test_what_an_imported_module_lacks_is_told_and_not_the_module_that_was_asked_for(site: Path) -> None:
    failed = ask(site, "import", "halfway")["halfway"]
    assert failed["missing"] == "halfway.missing"
    assert failed["provider"] == {"pin": "Half.Baked==2.0", "provides": "halfway"}
    assert "import halfway.missing" in failed["trace"]


@pytest.mark.parametrize(("module", "error"), [("broken", "OSError: no libGL"), ("leaver", "SystemExit: 3")])
def test_whatever_a_module_raises_is_told_and_the_next_is_tried(site: Path, module: str, error: str) -> None:
    found = ask(site, "import", module, "solo")
    assert found["solo"] is None
    assert found[module]["error"] == error
    assert found[module]["missing"] is None
    assert found[module]["provider"] == {"pin": "Half.Baked==2.0", "provides": module}


def test_a_module_of_the_sessions_does_not_stand_in_for_one_of_the_venv(site: Path) -> None:
    assert ask(site, "import", "isolation")["isolation"]["missing"] == "isolation"


def test_a_command_belongs_to_who_installs_it_by_entry_point_or_as_a_file(site: Path) -> None:
    assert ask(site, "command", "bake", "good-tool", "other", "nothing") == {
        "bake": "Half.Baked==2.0",
        "good-tool": "good==1.0",
        "other": "good==1.0",
        "nothing": None,
    }


def test_a_file_in_a_folder_bin_of_a_package_is_no_command(site: Path) -> None:
    assert ask(site, "command", "nested") == {"nested": None}
