"""Upstream's own tests: what is selected, and what a case is called that needs something which is not here.

Run without ExecuTorch: on a made-up wheel, by the pytest of these tests.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FLOWS = Path(__file__).parents[2] / "flows"
SETTINGS = """\
[environments.app]
modules = ["executorch.test.test_a"]
all = ["executorch.test"]
keyword = "app"
each = 2
[[environments.app.deselect]]
case = "executorch/test/test_a.py::test_app_left_out"
why = "takes an hour"

[environments.bare]
modules = ["executorch.test.test_b", "executorch.test.sub"]
all = ["executorch.test"]
keyword = ""

[[needs]]
what = "the simulator of \\\\1"
raises = "FileNotFoundError"
text = "no runner for (\\\\w+)"

[[needs]]
what = "the shader compiler"
raises = "Skipped"
text = "glslc not found"

[[needs]]
what = "a runtime"
raises = "XFailed"
text = "no runtime"

[[needs]]
what = "the package \\\\1"
raises = "ModuleNotFoundError"
text = "No module named '(torchvision)\\\\b"
"""
EXCUSES = """\
excuses = ["Did not find the FVP"]
"""


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module under test, which stands beside the flows and imports one of them."""
    monkeypatch.syspath_prepend(FLOWS)
    return importlib.import_module("upstream")


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "upstream.toml"
    file.write_text(EXCUSES + SETTINGS, encoding="utf-8")
    return file


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site folder with a wheel of three test modules."""
    folder = tmp_path / "site"
    for name in ("test_a", "test_b", "sub/test_c"):
        path = folder / "executorch" / "test" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def test_app() -> None: ...\ndef test_other() -> None: ...\n", encoding="utf-8")
    return folder


# -- the selection ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "paths", "keyword"),
    [
        ([], ["test_a.py"], "app"),
        (["--all"], [""], "app"),
        (["-k", "add"], ["test_a.py"], "add"),
        (["-k", ""], ["test_a.py"], None),
        (["-kadd", "--all"], [""], "add"),
        (["executorch.test.test_b"], ["test_b.py"], "app"),
        (["--pyargs", "executorch.test.test_b", "executorch.test.sub"], ["test_b.py", "sub"], "app"),
        (["executorch/test/test_b.py"], ["test_b.py"], "app"),
        (["executorch/test/test_b.py::test_other"], ["test_b.py::test_other"], None),
        (["executorch.test.test_b::test_x[a.b/c-1]"], ["test_b.py::test_x[a.b/c-1]"], None),
        (["executorch.test.test_b::test_x", "-k", "app"], ["test_b.py::test_x"], "app"),
        (["executorch.test.test_b::test_x", "executorch.test.test_a"], ["test_b.py::test_x", "test_a.py"], "app"),
    ],
)
def test_what_is_named_replaces_the_modules_and_k_replaces_the_keyword(
    upstream: Any, settings: Path, site: Path, given: list[str], paths: list[str], keyword: str | None
) -> None:
    chosen, each = upstream.select(upstream.read_settings(settings, "app"), given, site)
    expected = [str(site / "executorch" / "test" / path).rstrip("/") for path in paths]
    filtered = ["-k", keyword] if keyword is not None else []
    assert chosen == [*expected, *filtered, "--deselect=executorch/test/test_a.py::test_app_left_out"]
    assert each == (0 if given else 2)  # who chooses gets all of it


def test_other_arguments_are_pytest_s_own(upstream: Any, settings: Path, site: Path) -> None:
    rest = ["-x", "--maxfail", "2", "--durations=3", "-m", "not slow", "--report", "out.json"]
    assert upstream.select(upstream.read_settings(settings, "bare"), rest, site)[0][2:] == rest


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["executorch.test.test_bb"], "ships no executorch.test.test_bb; the nearest is test_b"),
        (["executorch/test/test_d.py::test_x"], "ships no executorch/test/test_d.py"),
        (["executorch.nowhere.test_a"], "ships no executorch.nowhere.test_a"),
        (["--all", "executorch.test.test_b"], "leave executorch.test.test_b out, or --all"),
    ],
)
def test_a_selection_that_cannot_be_is_refused(
    upstream: Any, settings: Path, site: Path, given: list[str], said: str
) -> None:
    with pytest.raises(upstream.UsageError, match=said.replace(".", r"\.")):
        upstream.select(upstream.read_settings(settings, "app"), given, site)


def test_an_environment_without_a_table_is_refused_with_those_that_have_one(upstream: Any, settings: Path) -> None:
    with pytest.raises(upstream.UsageError, match=r"no tests for nope, .* it has app, bare"):
        upstream.read_settings(settings, "nope")


# -- a run ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A finished run: ``cases`` are (outcome, message) by the last part of the case's name."""

    code: int
    printed: str
    cases: dict[str, tuple[str, str]]

    @property
    def section(self) -> list[str]:
        """The lines of the closing section."""
        tail = self.printed.partition("needs what is not here")[2]
        return [line.strip() for line in tail.splitlines()[1:]] if tail else []


def run(settings: Path, site: Path, body: str, *arguments: str, environment: str = "app") -> Run:
    """Run a made-up module in place of ``test_a``."""
    (site / "executorch" / "test" / "test_a.py").write_text(
        f"import os, pathlib, sys, tempfile\nimport pytest\n{body}", encoding="utf-8"
    )
    report = settings.with_name("report.json")
    program = (
        "import os, pathlib, sys; sys.path.insert(0, sys.argv[1]); import upstream; before = os.getcwd();"
        "code = upstream.main(sys.argv[4:], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]));"
        "sys.exit(code if os.getcwd() == before else 'left in another folder')"
    )
    command = [sys.executable, "-c", program, str(FLOWS), str(settings), str(site), environment]
    work = settings.with_name("work")
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        [*command, "--report", "../report.json", *arguments], cwd=work, capture_output=True, text=True, check=False
    )
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"] if report.is_file() else []
    assert list(work.iterdir()) == []
    named = {case["case"].rpartition("::")[2]: (case["outcome"], case.get("message", "")) for case in cases}
    return Run(done.returncode, done.stdout + done.stderr, named)


PASSES = "def test_app_passes() -> None: ...\n"


def test_a_run_that_passes_has_no_closing_section(settings: Path, site: Path) -> None:
    done = run(settings, site, PASSES + "def test_other() -> None: assert False\n")
    assert (done.code, done.cases) == (0, {"test_app_passes": ("passed", "")})
    assert done.section == []
    assert "\nexecutorch/test/test_a.py ." in done.printed  # and not its path from here


def test_modules_of_one_name_in_two_folders_are_two(settings: Path, site: Path) -> None:
    (site / "executorch" / "test" / "sub" / "test_b.py").write_text("def test_sub() -> None: ...\n", encoding="utf-8")
    done = run(settings, site, PASSES, environment="bare")
    assert (done.code, sorted(done.cases)) == (0, ["test_app", "test_other", "test_sub"])


def test_a_plugin_that_is_installed_is_not_loaded(
    settings: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "elsewhere" / "stray-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stray\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[pytest11]\nstray = nowhere\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(info.parent))
    assert run(settings, site, PASSES).code == 0


def test_what_a_case_needs_is_told_and_no_pass_and_no_failure(settings: Path, site: Path) -> None:
    body = """
def test_app_runner() -> None: raise FileNotFoundError("no runner for u55: built nowhere\\nand more")
def test_app_runner_85() -> None: raise FileNotFoundError("no runner for u85: built nowhere")
def test_app_runner_again() -> None: raise FileNotFoundError("no runner for u85: built nowhere")
def test_app_glslc() -> None: pytest.skip("glslc not found")
@pytest.mark.skip(reason="glslc not found")
def test_app_marked() -> None: ...
def test_app_runtime() -> None: pytest.xfail("no runtime here")
"""
    done = run(settings, site, PASSES + body)
    assert done.code == 0
    assert done.cases["test_app_runner"] == ("skipped", "needs the simulator of u55: no runner for u55: built nowhere")
    assert done.cases["test_app_runtime"] == ("skipped", "needs a runtime: no runtime here")
    assert [outcome for outcome, _ in done.cases.values()].count("passed") == 1
    assert done.section[:4] == [
        "2 needs the shader compiler",
        "2 needs the simulator of u85",
        "1 needs a runtime",
        "1 needs the simulator of u55",
    ]


@pytest.mark.parametrize(
    "error",
    [
        'FileNotFoundError("no such weights")',  # the class alone is not enough
        'FileNotFoundError("truly: no runner for u55")',  # nor is the text somewhere in it
        'RuntimeError("no runner for u55")',  # nor the text alone
        "ModuleNotFoundError(\"No module named 'torchvision_extra'\")",
        "ModuleNotFoundError(\"No module named 'executorch.runtime'\")",
        'AssertionError("glslc not found")',
    ],
)
def test_any_other_exception_is_a_failure(settings: Path, site: Path, error: str) -> None:
    done = run(settings, site, PASSES + f"def test_app() -> None: raise {error}\n")
    assert done.code == 1
    assert done.cases["test_app"][0] == "failed"
    assert done.section == []


def test_what_upstream_marks_is_told_as_such(settings: Path, site: Path) -> None:
    body = """
@pytest.mark.xfail(reason="MLETORCH-1: not supported")
def test_app_known() -> None: assert False
@pytest.mark.skip(reason="flaky on Tuesdays")
def test_app_flaky() -> None: ...
@pytest.mark.xfail(reason="was broken once")
def test_app_healed() -> None: ...
def test_app_left_out() -> None: assert False
"""
    done = run(settings, site, PASSES + body)
    assert done.code == 0
    assert done.cases["test_app_known"] == ("xfailed", "MLETORCH-1: not supported")
    assert done.cases["test_app_healed"][0] == "xpassed"
    assert "test_app_left_out" not in done.cases
    assert done.section[:3] == [
        "1 left out by upstream.toml: takes an hour",
        "1 upstream expects it to fail: MLETORCH-1: not supported",
        "1 upstream skips it: flaky on Tuesdays",
    ]


def test_a_mark_for_a_missing_simulator_excuses_nothing_else(settings: Path, site: Path) -> None:
    body = """
fvp = pytest.mark.xfail(reason="Did not find the FVP", raises=FileNotFoundError)
@fvp
def test_app_runner() -> None: raise FileNotFoundError("no runner for u55")
@fvp
def test_app_compiler() -> None: raise FileNotFoundError("no such compiler")
@pytest.mark.xfail(reason="numbers differ", strict=True)
def test_app_numbers() -> None: raise FileNotFoundError("no runner for u55")
"""
    done = run(settings, site, PASSES + body)
    assert done.code == 1
    assert done.cases["test_app_compiler"][0] == "failed"
    said = "needs the simulator of u55 (upstream: {}): no runner for u55"
    assert done.cases["test_app_runner"] == ("skipped", said.format("Did not find the FVP"))
    assert done.cases["test_app_numbers"] == ("skipped", said.format("numbers differ"))
    assert done.section[0] == "1 needs the simulator of u55 (upstream: Did not find the FVP)"


def test_a_module_that_needs_a_package_is_told_and_the_others_run(settings: Path, site: Path) -> None:
    sub = site / "executorch" / "test" / "sub" / "test_c.py"
    sub.write_text("from torchvision import models\n", encoding="utf-8")
    done = run(settings, site, PASSES, environment="bare")
    assert done.code == 0
    assert done.cases["executorch/test/sub/test_c.py"] == (
        "skipped",
        "needs the package torchvision: No module named 'torchvision'",
    )
    assert done.section[0] == "1 needs the package torchvision"


def test_a_module_that_is_broken_is_an_error(settings: Path, site: Path) -> None:
    sub = site / "executorch" / "test" / "sub" / "test_c.py"
    sub.write_text("import executorch_of_another_version\n", encoding="utf-8")
    done = run(settings, site, PASSES, environment="bare")
    assert done.code == 2
    outcome, message = done.cases["executorch/test/sub/test_c.py"]
    assert outcome == "error"
    assert "No module named 'executorch_of_another_version'" in message


def test_who_requires_all_refuses_what_is_missing(settings: Path, site: Path) -> None:
    body = 'def test_app_glslc() -> None: pytest.skip("glslc not found")\n'
    body += '@pytest.mark.skip(reason="flaky")\ndef test_app_flaky() -> None: ...\n'
    done = run(settings, site, PASSES + body, "--require-all")
    assert done.code == 1
    outcome, message = done.cases["test_app_glslc"]
    assert outcome == "failed"
    assert message.startswith("needs the shader compiler: glslc not found")
    assert done.cases["test_app_flaky"][0] == "skipped"


def test_a_run_in_which_nothing_passes_fails_and_says_so(settings: Path, site: Path) -> None:
    done = run(settings, site, 'def test_app() -> None: raise FileNotFoundError("no runner for u55")\n')
    assert done.code == 1
    assert "nothing passed" in done.printed
    assert done.cases["test_app"][0] == "skipped"
    report = json.loads(settings.with_name("report.json").read_text(encoding="utf-8"))
    assert report["exit_status"] == 1


def test_a_run_that_collects_nothing_has_pytest_s_exit_code(settings: Path, site: Path) -> None:
    assert run(settings, site, PASSES, "-k", "no_such_case").code == 5


def test_a_wrong_argument_has_pytest_s_exit_code(settings: Path, site: Path) -> None:
    done = run(settings, site, PASSES, "executorch.test.test_z")
    assert done.code == 4
    assert "ships no executorch.test.test_z" in done.printed


def test_cases_can_be_listed_without_running_them(settings: Path, site: Path) -> None:
    done = run(settings, site, PASSES, "--co", "-q")
    assert done.code == 0
    assert "executorch/test/test_a.py::test_app_passes" in done.printed
    assert "nothing passed" not in done.printed


def test_nothing_is_left_behind_and_nothing_of_the_flows_is_found(settings: Path, site: Path) -> None:
    body = """
def test_app() -> None:
    pathlib.Path("litter").touch()
    tempfile.mkdtemp()
    assert pathlib.Path(tempfile.gettempdir()).parent == pathlib.Path.cwd().parent
    assert not [entry for entry in sys.path if (pathlib.Path(entry or ".") / "flow_report.py").exists()]
    with pytest.raises(ModuleNotFoundError):
        import compare
    print("folder", pathlib.Path.cwd())
"""
    before = sorted(site.rglob("*"))
    done = run(settings, site, body, "-s")
    assert done.code == 0, done.printed
    assert sorted(site.rglob("*")) == before
    folder = done.printed.partition("folder ")[2].splitlines()[0]
    assert not Path(folder).parent.exists()


def test_options_of_upstream_s_conftest_are_known(settings: Path, site: Path) -> None:
    (site / "executorch" / "test" / "conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--core', default='m55')\n", encoding="utf-8"
    )
    body = "def test_app(request) -> None: assert request.config.getoption('--core') == 'm4'\n"
    assert run(settings, site, body, "--core", "m4").code == 0
    assert run(settings, site, body).code == 1


def test_the_default_selection_takes_some_cases_of_each_test_and_says_so(settings: Path, site: Path) -> None:
    body = """
@pytest.mark.parametrize("n", range(5))
def test_app_many(n) -> None: ...
@pytest.mark.parametrize("n", range(2))
def test_app_few(n) -> None: ...
"""
    done = run(settings, site, body)
    assert sorted(done.cases) == ["test_app_few[0]", "test_app_few[1]", "test_app_many[0]", "test_app_many[2]"]
    assert "at most 2 cases of each test" in done.printed
    assert "3 deselected" in done.printed
    assert len(run(settings, site, body, "-k", "app").cases) == 7
    assert len(run(settings, site, body, "executorch.test.test_a").cases) == 7


def test_the_path_of_a_report_of_pytest_s_own_is_the_user_s(settings: Path, site: Path) -> None:
    assert run(settings, site, PASSES, "--junitxml", "../junit.xml").code == 0
    assert settings.with_name("junit.xml").is_file()


def test_a_folder_of_paths_is_looked_in_last(settings: Path, site: Path) -> None:
    for name in ("conftest_of_old", "colorsys"):
        (site / "executorch" / f"{name}.py").write_text("", encoding="utf-8")
    text = settings.read_text(encoding="utf-8").replace('keyword = "app"', 'keyword = "app"\npaths = ["executorch"]')
    settings.write_text(text, encoding="utf-8")
    body = "import colorsys, conftest_of_old\ndef test_app() -> None: assert colorsys.rgb_to_hsv\n"
    assert run(settings, site, body).code == 0


# -- the table of this repository -------------------------------------------------------------------------

RUNNER = "Did not find build arm_executor_runner or executor_runner. Tried: "


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (FileNotFoundError(f"{RUNNER}. Run setup_testing.sh or setup_testing_vkml.sh?"), "a built executor runner"),
        (
            FileNotFoundError(f"{RUNNER}/x/arm_test/arm_executor_runner_vkml/executor_runner."),
            "a built executor runner",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "FVP_Corstone_SSE-320"),
            "the simulator FVP_Corstone_SSE-320",
        ),
        (ModuleNotFoundError("No module named 'torchvision'"), "the package torchvision"),
        (ModuleNotFoundError("No module named 'transformers.models.phi3'"), "the package transformers"),
        (ModuleNotFoundError("No module named 'examples.arm'"), "upstream's source tree"),
        (pytest.skip.Exception("glslc not found"), "the shader compiler"),
        (pytest.skip.Exception("could not import 'transformers.models.phi3': No module"), "the package transformers"),
        (pytest.xfail.Exception("VGF runtime is not available on this system"), "an executor runner with VGF"),
        # What must stay a failure, or upstream's own word.
        (FileNotFoundError(2, "No such file or directory", "model-converter"), None),
        (FileNotFoundError(2, "No such file or directory", "vela"), None),
        (RuntimeError(f"{RUNNER}."), None),
        (ModuleNotFoundError("No module named 'tosa_serializer'"), None),
        (ModuleNotFoundError("No module named 'executorch.examples'"), None),
        (pytest.skip.Exception("Did not find model-converter on path"), None),
        (AssertionError("Output 0 does not match reference output."), None),
    ],
)
def test_what_upstream_raises_for_want_of_something_is_known(
    upstream: Any, error: BaseException, what: str | None
) -> None:
    needs: Sequence[Any] = upstream.read_settings(FLOWS / "upstream.toml", "tosa").rules.needs
    told = [said for said in (need.told_by(error) for need in needs) if said]
    assert [said.startswith(what or "") for said in told] == ([True] if what else [])


@pytest.mark.parametrize("flow", sorted(FLOWS.glob("test_*.py")), ids=lambda file: str(file.stem))
def test_every_backend_with_a_flow_has_a_selection(upstream: Any, flow: Path) -> None:
    settings = upstream.read_settings(FLOWS / "upstream.toml", flow.stem.removeprefix("test_"))
    assert settings.modules
    assert settings.everything
    assert all(name.startswith("executorch.") for name in (*settings.modules, *settings.everything))
