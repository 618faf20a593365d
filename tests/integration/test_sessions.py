"""Nox sessions on a grid of tiny packages: which cell runs, what enters its venv, how what breaks is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.machine import HERE, PYTHON
from integration.noxing import PYTEST, add_sessions, nox
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project

OTHER = next(p for p in ("3.12", "3.13") if p != PYTHON)

TEXT = f"""
[[packages]]
name = "app"
version = "1.0"
requires = ["plain>=2"]
extras = {{ fast = ["quick==1.0"] }}
scripts = {{ kit = "app_kit:main" }}
files = {{ "app_kit/__init__.py" = "def main(): print('kit')", "app_kit/more.py" = "import plain" }}
[[packages]]
name = "plain"
version = "1.0"
[[packages]]
name = "plain"
version = "2.0"
[[packages]]
name = "quick"
version = "1.0"
[[packages]]
name = "narrow"
version = "1.0"
python_wheels = "{PYTHON}"
[[packages]]
name = "pytest"
version = "9.0"
files = {{ "pytest/__init__.py" = "", "pytest/__main__.py" = '''{PYTEST}''' }}
[envs.base]
abstract = true
requires = ["pytest"]
[envs.toy]
summary = "A toy"
extends = ["base"]
requires = ["app[fast]"]
[envs.toy.smoke]
imports = ["app_kit.more", "quick"]
commands = [["kit"]]
[envs.other]
summary = "Another"
extends = ["base"]
requires = ["narrow"]
"""
CONTENT = scenario.parse(TEXT, name="sessions")

pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(os.name == "nt", reason="the stand-in for pytest aborts as POSIX programs do"),
]


@pytest.fixture(scope="module")
def served() -> Iterator[LocalIndex]:
    with LocalIndex() as index:
        CONTENT.populate(index)
        yield index


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    """The project, locked, with this repository's sessions. Not to be changed."""
    project = make_project(CONTENT, served, name="a project")
    project.run("lock").expect(0)
    add_sessions(project, "toy", "other")
    nox(project, "toy").expect(0)
    return project


@pytest.fixture
def project(locked: Project, tmp_path: Path) -> Project:
    """A copy of it, without its venvs."""
    folder = tmp_path / "a project"
    shutil.copytree(locked.folder, folder, ignore=shutil.ignore_patterns(".nox", "__pycache__"))
    return Project(folder, locked.index, locked.cache)


def lockfile(project: Project, environment: str = "toy") -> Path:
    return project.folder / "locks" / environment / f"{HERE}.txt"


def change(project: Project, old: str, new: str, *, seal: bool = True) -> None:
    """Change the lockfile of `toy`; with ``seal`` the grid is made to fit, as a bad merge would."""
    path = lockfile(project)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    if seal:
        grid = project.folder / "locks" / "grid.toml"
        before, after = (sha256(t.encode()).hexdigest() for t in (text, text.replace(old, new)))
        assert before in grid.read_text(encoding="utf-8")
        grid.write_text(grid.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


def pin(project: Project, name: str) -> str:
    """The whole entry of a pin in the lockfile of `toy`."""
    entries = lockfile(project).read_text(encoding="utf-8").split("\n\n")
    return next(entry for entry in entries if entry.startswith(f"{name}==")).rstrip("\n") + "\n"


def venv_python(project: Project, environment: str = "toy") -> str:
    return str(project.folder / ".nox" / f"{environment}-{PYTHON}" / "bin" / "python")


def report(project: Project, name: str = "report.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.folder / name).read_text(encoding="utf-8"))
    return found


def test_every_environment_with_a_flow_has_a_session_and_no_other(project: Project) -> None:
    listed = project._start([sys.executable, "-m", "nox", "-l"], None, 60).expect(0).out
    assert "- toy -> A toy." in listed
    assert "- other -> Another." in listed
    assert "base" not in listed
    (project.folder / "tests" / "flows" / "test_other.py").unlink()
    listed = project._start([sys.executable, "-m", "nox", "-l"], None, 60).expect(0).out
    assert "other ->" not in listed


def test_a_venv_is_built_once_and_kept_while_the_lock_stays(project: Project) -> None:
    first = nox(project, "toy").expect(0)
    assert f"toy on {HERE} with Python {PYTHON}: 4 pins, venv built" in first.err
    second = nox(project, "toy").expect(0)
    assert "venv kept" in second.err
    change(project, "# via", "#  via")
    assert "venv built" in nox(project, "toy").expect(0).err


def test_a_build_that_was_cut_off_is_begun_anew(project: Project) -> None:
    nox(project, "toy").expect(0)
    folder = Path(venv_python(project)).parents[1]
    shutil.rmtree(folder / "lib" / f"python{PYTHON}" / "site-packages" / "app_kit")
    (folder / "lockgrid-checked.json").unlink()
    assert f"building .nox/toy-{PYTHON}: 4 pins" in nox(project, "toy").expect(0).err


def test_two_sessions_of_one_cell_build_its_venv_once(project: Project) -> None:
    command = [sys.executable, "-m", "nox", "-s", "toy"]
    both = [
        subprocess.Popen(command, cwd=project.folder, env=project.environment(), stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted("venv built" in text for text in said) == [False, True]


def test_a_venv_that_somebody_changed_is_mended(project: Project) -> None:
    nox(project, "toy").expect(0)
    project.uv("pip", "install", "--python", venv_python(project), "narrow").expect(0)
    project.uv("pip", "uninstall", "--python", venv_python(project), "quick").expect(0)
    assert "venv built" in nox(project, "toy").expect(0).err
    names = project.uv("pip", "freeze", "--python", venv_python(project)).expect(0).out
    assert sorted(line.partition("==")[0] for line in names.split()) == ["app", "plain", "pytest", "quick"]


def test_nothing_of_the_machine_leaks_in(project: Project, tmp_path: Path) -> None:
    for folder in ("path", "home"):
        place = tmp_path / folder / ("" if folder == "path" else f"lib/python{PYTHON}/site-packages")
        place.mkdir(parents=True)
        (place / "plain.py").write_text("raise SystemExit('leaked')", encoding="utf-8")
        (place / "sitecustomize.py").write_text("raise SystemExit('leaked')", encoding="utf-8")
    leaks = {"PYTHONUSERBASE": str(tmp_path / "home"), "UV_CONSTRAINT": "nowhere.txt", "PIP_REQUIRE_VIRTUALENV": "1"}
    leaks["UV_OVERRIDE"] = "nowhere.txt"
    assert "venv built" in nox(project, "toy", env=leaks).expect(0).err
    # As sitecustomize it would stop nox itself, so PYTHONPATH is only tried with a module.
    (tmp_path / "path" / "sitecustomize.py").unlink()
    assert "venv kept" in nox(project, "toy", env={"PYTHONPATH": str(tmp_path / "path")}).expect(0).err


def test_a_folder_that_the_venv_was_made_to_see_is_found(project: Project, tmp_path: Path) -> None:
    nox(project, "toy").expect(0)
    (tmp_path / "outside" / "site-packages").mkdir(parents=True)
    site = Path(venv_python(project)).parents[1] / "lib" / f"python{PYTHON}" / "site-packages"
    (site / "leak.pth").write_text(f"{tmp_path}/outside/site-packages\n", encoding="utf-8")
    assert "venv built" in nox(project, "toy").expect(0).err
    assert not (site / "leak.pth").exists()


@pytest.mark.parametrize(
    "setting",
    [
        'exclude-newer = "2020-01-01T00:00:00Z"',
        "no-binary = true",
        '[pip]\ntarget = "elsewhere"',
        '[pip]\nno-deps = false\nprefix = "elsewhere"',
    ],
)
@pytest.mark.parametrize("place", ["user", "project", "manifest", "named"])
def test_of_uvs_configuration_only_the_way_to_an_index_is_obeyed(project: Project, setting: str, place: str) -> None:
    env = configured(project, setting, place)
    assert "venv built" in nox(project, "toy", env=env).expect(0).err


@pytest.mark.parametrize("place", ["user", "project", "manifest", "named"])
def test_where_no_index_may_be_asked_none_is(project: Project, place: str) -> None:
    env = configured(project, "no-index = true", place)
    assert "index lookups were disabled" in nox(project, "toy", env=env).expect(1).err


def configured(project: Project, setting: str, place: str) -> dict[str, str | None]:
    """Write a setting of uv's, beside the index, to one of its files; return the variables that go with it."""
    index = f'index-url = "{project.index.url}"\n'
    env: dict[str, str | None] = {"UV_DEFAULT_INDEX": None, "XDG_CONFIG_HOME": str(project.home / "own")}
    files = {
        "user": project.home / "own" / "uv" / "uv.toml",
        "project": project.folder / "uv.toml",
        "named": project.home / "named.toml",
        "manifest": project.folder / "pyproject.toml",
    }
    file = files[place]
    file.parent.mkdir(parents=True, exist_ok=True)
    if place == "manifest":
        keys, below, more = setting.partition("[pip]")
        text = file.read_text(encoding="utf-8").replace("[tool.uv]\n", f"[tool.uv]\n{index}{keys}\n")
        assert index in text
        file.write_text(text + (f"\n[tool.uv.pip]{more}\n" if below else ""), encoding="utf-8")
    else:
        file.write_text(index + setting, encoding="utf-8")
    if place == "named":
        env["UV_CONFIG_FILE"] = str(file)
    return env


# -- what breaks --------------------------------------------------------------------------------------------


def test_a_cell_that_is_unsupported_says_why_before_anything_is_installed(project: Project) -> None:
    failed = nox(project, "other", "--python", OTHER).expect(1)
    assert f"other on {HERE} with Python {OTHER} is unsupported: narrow (required by envs/other.toml)" in failed.err
    assert f"(proven are {PYTHON})" in failed.err
    assert not (project.folder / ".nox").exists() or not list((project.folder / ".nox").glob("other-*"))


def test_a_python_that_is_not_in_the_grid_is_told(project: Project) -> None:
    assert "the grid has no Python 3.9 for toy" in nox(project, "toy", "--python", "3.9").expect(1).err


def test_a_lockfile_that_was_edited_is_not_installed(project: Project) -> None:
    change(project, "plain==2.0", "plain==1.0", seal=False)
    failed = nox(project, "toy").expect(1)
    assert f"locks/toy/{HERE}.txt is not the file that locks/grid.toml was proven with" in failed.err


def wrong_hash(project: Project) -> None:
    head, _, rest = pin(project, "quick").partition("sha256:")
    change(project, head + "sha256:" + rest, head + "sha256:0000" + rest[4:])


def removed_pin(project: Project) -> None:
    change(project, "\n" + pin(project, "quick"), "")


def other_version(project: Project) -> None:
    """A pin of another version, with the right hash of it."""
    other = next(built for built in CONTENT.builts if (built.name, built.version) == ("plain", "1.0"))
    change(project, pin(project, "plain"), f"plain==1.0 \\\n    --hash=sha256:{other.sha256}\n")


def unknown_version(project: Project) -> None:
    change(project, "quick==1.0", "quick==1.1")


@pytest.mark.parametrize("built", [False, True], ids=["no-venv", "venv"])
@pytest.mark.parametrize(
    ("damage", "stage", "said"),
    [
        (wrong_hash, "install", ["Hash mismatch for `quick==1.0`", "a hash in the lock is not that of the file"]),
        (removed_pin, "closure", ["app==1.0 requires quick==1.0, and no pin provides quick"]),
        (other_version, "closure", ["app==1.0 requires plain>=2, and the lock pins plain==1.0"]),
        (unknown_version, "install", ["quick==1.1"]),
    ],
)
def test_a_lock_that_is_wrong_is_told_with_its_cause(
    project: Project, damage: Callable[[Project], None], stage: str, said: list[str], built: bool
) -> None:
    if built:
        nox(project, "toy").expect(0)
    damage(project)
    failed = nox(project, "toy", "--report", "report.json").expect(1)
    for words in said:
        assert words in failed.err
    assert "Traceback" not in failed.err
    told = report(project)
    assert (told["status"], told["stage"]) == ("failed", stage)
    assert said[0] in told["message"]


def test_an_environment_that_asks_for_another_version_than_the_lock_is_told(project: Project) -> None:
    path = project.folder / "envs" / "toy.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"app[fast]"', '"app[fast]", "plain<2"'), encoding="utf-8")
    failed = nox(project, "toy").expect(1)
    assert "envs/toy.toml requires plain<2, and the lock pins plain==2.0" in failed.err


@pytest.mark.parametrize(
    ("smoke", "said"),
    [
        ('imports = ["app_kit.gone"]', "(app==1.0 should have it: it installs app_kit, and no app_kit.gone)"),
        ('imports = ["nowhere.at_all"]', f"(no pin of locks/toy/{HERE}.txt installs a module nowhere)"),
        ('commands = [["vela", "--version"]]', f"(no pin of locks/toy/{HERE}.txt installs a command vela)"),
        ('commands = [["python", "-c", "raise SystemExit(3)"]]', "exit code 3"),
    ],
)
def test_a_smoke_check_that_fails_names_who_should_have_provided_it(project: Project, smoke: str, said: str) -> None:
    path = project.folder / "envs" / "toy.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.partition("[smoke]")[0] + f"[smoke]\n{smoke}\n", encoding="utf-8")
    failed = nox(project, "toy", "--report", "report.json").expect(1)
    assert f"[smoke] of toy on {HERE} with Python {PYTHON}: `" in failed.err
    assert said in failed.err
    assert report(project)["stage"] == "smoke"
    # It is not kept as passed.
    assert said in nox(project, "toy").expect(1).err


def test_a_flow_that_fails_fails_the_session_and_is_reported(project: Project) -> None:
    (project.folder / "tests" / "flows" / "test_toy.py").write_text("1", encoding="utf-8")
    failed = nox(project, "toy", "--report", "out/report.json", "-k", "mlp").expect(1)
    assert "1 of 2 cases failed: b" in failed.err
    told = report(project, "out/report.json")
    assert (told["status"], told["stage"], told["venv"]) == ("failed", "flow", "built")
    assert [case["outcome"] for case in told["cases"]] == ["passed", "failed"]
    assert told["given"][-2:] == ["-k", "mlp"]


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ("0 skipped", "nothing passed: 2 cases were skipped or are expected to fail"),
        ("1 skipped", "nothing passed: 2 cases were skipped or are expected to fail"),
        ("4", "pytest did not understand its arguments"),
        ("5", "pytest found no test: nothing was run"),
        ("3", "pytest ended with exit code 3"),
    ],
)
def test_a_flow_that_ends_in_another_way_is_told(project: Project, flow: str, said: str) -> None:
    (project.folder / "tests" / "flows" / "test_toy.py").write_text(flow, encoding="utf-8")
    assert said in nox(project, "toy").expect(1).err


def test_a_flow_that_crashes_is_told_as_a_crash(project: Project) -> None:
    (project.folder / "tests" / "flows" / "test_toy.py").write_text("-1", encoding="utf-8")
    failed = nox(project, "toy", "--report", "report.json").expect(1)
    assert "before it could report: it crashed" in failed.err
    assert (report(project)["status"], report(project)["cases"]) == ("failed", [])


def test_a_report_says_what_ran_in_which_lock(project: Project) -> None:
    nox(project, "toy", "--report", "report.json", "--require-all").expect(0)
    told = report(project)
    digest = f"sha256:{sha256(lockfile(project).read_bytes()).hexdigest()}"
    assert (told["schema"], told["environment"], told["kind"], told["status"]) == (1, "toy", "flow", "passed")
    assert (told["lock"], told["target"]) == (digest, {"platform": HERE, "python": PYTHON})
    assert told["cases"][0] == {"case": "a", "outcome": "passed", "seconds": 0.1, "figures": {"n": 1}}
    assert told["seconds"] > 0
    assert "--require-all" in told["given"]


def test_a_refresh_that_tests_with_a_session_finds_its_report(project: Project, tmp_path: Path) -> None:
    env = {"LOCKGRID_RESULTS": str(tmp_path / "results")}
    nox(project, "toy", env=env).expect(0)
    assert json.loads((tmp_path / "results/toy.json").read_text(encoding="utf-8"))["status"] == "passed"
    nox(project, "toy", "--report", "report.json", env=env).expect(0)
    assert report(project)["environment"] == "toy"


@pytest.mark.parametrize("report", [".", "/", "tests/flows/test_toy.py/x.json"])
def test_a_report_that_cannot_be_written_is_told_first(project: Project, report: str) -> None:
    failed = nox(project, "toy", "--report", report).expect(1)
    assert "--report " in failed.err
    assert "Traceback" not in failed.err
    assert not (project.folder / ".nox" / f"toy-{PYTHON}").exists()


def test_a_report_is_meant_from_where_nox_was_started(project: Project, tmp_path: Path) -> None:
    noxfile = str(project.folder / "noxfile.py")
    command = [sys.executable, "-m", "nox", "-f", noxfile, "-s", "toy", "--", "--report", "here.json"]
    subprocess.run(command, cwd=tmp_path, env=project.environment(), check=True, capture_output=True)
    assert (tmp_path / "here.json").is_file()


@pytest.mark.parametrize(
    "text",
    [
        "requires = 3",
        "smoke = 3",
        "overrides = 3",
        'extends = "base"',
        "[smoke]\nimports = 3",
        "[smoke]\ncommands = [[]]",
    ],
)
def test_a_mistake_in_an_environment_stops_its_session_alone(project: Project, text: str) -> None:
    (project.folder / "envs" / "toy.toml").write_text(f"{text}\n", encoding="utf-8")
    failed = nox(project, "toy").expect(1)
    assert "envs/toy.toml: " in failed.err
    assert "`nox -s check` says more" in failed.err
    assert "Traceback" not in failed.err
    assert "toy" in project._start([sys.executable, "-m", "nox", "-l"], None, 60).expect(0).out
    nox(project, "other").expect(0)


def test_settings_of_pytest_stay_out(project: Project) -> None:
    (project.folder / "tests" / "flows" / "test_toy.py").write_text("0", encoding="utf-8")
    nox(project, "toy", "--report", "r.json", env={"PYTEST_ADDOPTS": "--co", "MODEL_CONVERTER_PATH": "x"}).expect(0)
    assert report(project, "r.json")["environ"] == []


def test_a_flow_named_by_its_path_is_not_run_twice(project: Project) -> None:
    nox(project, "toy", "--report", "r.json", "tests/flows/test_toy.py").expect(0)
    assert [a for a in report(project, "r.json")["given"] if a.endswith("test_toy.py")] == ["tests/flows/test_toy.py"]


def test_flows_runs_them_all_whatever_becomes_of_the_first(project: Project) -> None:
    (project.folder / "tests" / "flows" / "test_other.py").write_text("1", encoding="utf-8")
    failed = nox(project, "flows", "--report", "reports").expect(1)
    assert "failed: other; passed: toy" in failed.err
    told = {path.stem: json.loads(path.read_text())["status"] for path in (project.folder / "reports").iterdir()}
    assert told == {"other": "failed", "toy": "passed"}


@pytest.mark.parametrize("gone", ["grid.toml", "build.txt", f"toy/{HERE}.txt"])
def test_locks_that_are_not_there_are_told(project: Project, gone: str) -> None:
    (project.folder / "locks" / gone).unlink()
    failed = nox(project, "toy").expect(1)
    assert "run `nox -s lock`" in failed.err
    assert "Traceback" not in failed.err


def test_an_index_that_is_gone_is_told_without_a_traceback(project: Project) -> None:
    env = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_CACHE_DIR": str(project.folder / "cache")}
    failed = nox(project, "toy", env={**env, "UV_HTTP_RETRIES": "0"}).expect(1)
    assert f"locks/toy/{HERE}.txt cannot be installed for toy on {HERE}" in failed.err
    assert "Traceback" not in failed.err


def test_the_stand_in_is_what_runs(locked: Project) -> None:
    """Or else the tests above say nothing."""
    code = "import pytest; print(pytest.__file__)"
    done = subprocess.run([venv_python(locked), "-c", code], capture_output=True, text=True, check=True)
    assert str(locked.folder) in done.stdout
