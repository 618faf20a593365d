"""`lockgrid pins`: what is printed, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgrid.core.render.requirements import render
from lockgrid.model.grid import Lockfile
from unit.builders import locked
from unit.test_cli import Run, process_settings

__all__ = ["process_settings"]  # a fixture

ROOT = Path(__file__).parents[2]
COMMIT = "dbf45dbfcc515421dd6099037d3e2637b90748c8"
LOCK = render(
    Lockfile(
        environment="tosa",
        platform="linux-x86_64 (glibc 2.28)",
        pythons=("3.11",),
        sdists=(),
        pins=(
            locked("flatbuffers", "25.2.10", ["3.11"], via=["tosa-tools==2026.5.0"]),
            locked("tosa-tools", "2026.5.0", ["3.11"]),
        ),
    )
)
PINS = f"""
[pins.tosa-tools]
truth = {{ package = "tosa-tools" }}
copies = [
    {{ file = "r.txt", match = "requirement" }},
    {{ file = "ci.sh", match = {{ shell = "TAG" }} }},
]
[pins.flatbuffers]
truth = {{ package = "flatbuffers", required-by = "tosa-tools" }}
copies = [
    {{ file = "r.txt", match = "requirement" }},
    {{ file = "old.txt", match = "requirement", differs = {{ why = "an old image", until = 2999-12-31 }} }},
]
[pins.nn]
truth = {{ literal = "{COMMIT}" }}
copies = [{{ file = "CMakeLists.txt", match = {{ cmake-git-tag = "nn" }} }}]
"""
FILES = {
    "r.txt": "tosa_tools == 2026.5.0\r\nflatbuffers == 24.3.25\r\n",
    "old.txt": "flatbuffers==1.12\n",
    "ci.sh": "TAG=v2026.05.0",
    "CMakeLists.txt": f"FetchContent_Declare(nn GIT_TAG {COMMIT[:10]})\n",
}


@pytest.fixture(autouse=True)
def no_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run in a workflow themselves."""
    for variable in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for path, text in {"pins.toml": PINS, "locks/tosa/linux-x86_64.txt": LOCK, **FILES}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, newline="")
    return root


class Pins:
    """Runs ``lockgrid --project ... pins``."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.project, self.capsys, self.patch = project, capsys, patch

    def __call__(self, *words: str) -> Run:
        return Run(self.capsys, self.patch, "--project", str(self.project), "pins", *words)


@pytest.fixture
def pins(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Pins:
    return Pins(project, capsys, monkeypatch)


TABLE = """\
pin          truth         copy              holds
tosa-tools   2026.5.0      r.txt:1           2026.5.0    in step
                           ci.sh:1           2026.05.0   in step
flatbuffers  25.2.10       r.txt:2           24.3.25     DRIFT
                           old.txt:1         1.12        may differ
nn           dbf45dbfcc51  CMakeLists.txt:1  dbf45dbfcc  in step

drift: flatbuffers: r.txt:2: holds 24.3.25, and 25.2.10 is true (locks/ of tosa, which tosa-tools==2026.5.0 asks for)
may differ: flatbuffers: old.txt:1: holds 1.12, and 25.2.10 is true \
(locks/ of tosa, which tosa-tools==2026.5.0 asks for); until 2999-12-31: an old image

5 copies of 3 pins: 3 in step, 1 drift, 1 may differ
"""


def test_check_prints_a_table_and_exits_1_on_drift(pins: Pins) -> None:
    run = pins("check")
    assert (run.code, run.out, run.err) == (1, TABLE, "")


def test_check_exits_0_in_step(pins: Pins, project: Path) -> None:
    (project / "r.txt").write_text("tosa_tools == 2026.5.0\nflatbuffers == 25.2.10\n")
    run = pins("check")
    assert (run.code, run.err) == (0, "")
    assert run.out.endswith("\n5 copies of 3 pins: 4 in step, 1 may differ\n")


def test_what_cannot_be_judged_exits_2_and_hides_no_drift(pins: Pins, project: Path) -> None:
    (project / "ci.sh").unlink()
    (project / "CMakeLists.txt").write_text("nn\n")
    run = pins("check")
    assert run.code == 2
    assert "  r.txt:2         24.3.25   DRIFT\n" in run.out
    assert "error: tosa-tools: ci.sh: there is no such file\n" in run.out
    assert run.err == (
        "error: 2 problems in the input\n"
        "  CMakeLists.txt: pins.nn: nothing is found by cmake-git-tag nn\n"
        "  ci.sh: pins.tosa-tools: there is no such file\n"
    )


def test_a_truth_that_cannot_be_told_exits_2(pins: Pins, project: Path) -> None:
    (project / "pins.toml").write_text(PINS.replace('package = "flatbuffers"', 'package = "flatbufers"'))
    run = pins("check")
    assert run.code == 2
    assert "flatbuffers  ?             r.txt             -           ERROR\n" in run.out
    said = "pins.toml: pins.flatbuffers.truth: no lockfile pins flatbufers (did you mean 'flatbuffers'?)"
    assert run.err == f"error: {said}\n"


def test_json(pins: Pins) -> None:
    run = pins("check", "--json")
    assert run.code == 1
    found = json.loads(run.out)
    assert (found["schema"], found["in-step"], [pin["name"] for pin in found["pins"]]) == (
        1, False, ["tosa-tools", "flatbuffers", "nn"],
    )  # fmt: skip
    assert found["pins"][1]["truth"] == {
        "value": "25.2.10", "kind": "version", "origin": "locks/ of tosa, which tosa-tools==2026.5.0 asks for",
    }  # fmt: skip
    assert found["pins"][1]["copies"][0] == {
        "file": "r.txt", "line": 2, "column": 16, "match": "requirement flatbuffers", "state": "drift",
        "found": "24.3.25", "wanted": "25.2.10", "because": "",
    }  # fmt: skip
    assert found["pins"][2]["truth"]["value"] == COMMIT


DRIFTS = (
    "::error file={}r.txt,line=2,col=16,title=pin flatbuffers::holds 24.3.25, and 25.2.10 is true "
    "(locks/ of tosa, which tosa-tools==2026.5.0 asks for)\n"
)


def test_annotations_for_github_go_to_stderr(pins: Pins, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pins("check", "--annotate").err == DRIFTS.format("")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    run = pins("check", "--json")
    assert (run.code, run.err) == (1, DRIFTS.format(""))
    assert json.loads(run.out)
    assert pins("check", "--no-annotate").err == ""


def test_annotations_name_files_from_the_workspace(pins: Pins, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.parent))
    assert pins("check", "--annotate").err == DRIFTS.format("project/")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.parent / "elsewhere"))
    assert pins("check", "--annotate").err == DRIFTS.format("")


def test_annotations_of_a_truth_name_the_rules(pins: Pins, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pins.toml").write_text(PINS.replace(f'literal = "{COMMIT}"', 'git = "a,%:b"'))
    (project / "envs").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.parent))
    assert pins("check", "--annotate").err.splitlines()[1] == (
        "::error file=project/pins.toml,title=pin nn::there is no git source 'a,%25:b' in envs/ (there are none)"
    )


DIFF = """\
--- a/r.txt
+++ b/r.txt
@@ -1,2 +1,2 @@
 tosa_tools == 2026.5.0\r
-flatbuffers == 24.3.25\r
+flatbuffers == 25.2.10\r
"""


def test_sync_dry_run_prints_a_diff_and_writes_nothing(pins: Pins, project: Path) -> None:
    run = pins("sync", "--dry-run")
    assert (run.code, run.out) == (0, DIFF)
    assert run.err == "r.txt:2: flatbuffers 24.3.25 -> 25.2.10\nwould write 1 copy in 1 file\n"
    assert (project / "r.txt").read_bytes().decode() == FILES["r.txt"]


def test_sync_writes_and_then_all_is_in_step(pins: Pins, project: Path) -> None:
    run = pins("sync")
    assert (run.code, run.err) == (0, "")
    assert run.out == "r.txt:2: flatbuffers 24.3.25 -> 25.2.10\nwrote 1 copy in 1 file\n"
    assert (project / "r.txt").read_bytes() == b"tosa_tools == 2026.5.0\r\nflatbuffers == 25.2.10\r\n"
    assert pins("check").code == 0
    assert pins("sync").out == "every copy is in step, or may differ: nothing to write\n"


def test_sync_writes_nothing_where_a_copy_cannot_be_judged(pins: Pins, project: Path) -> None:
    (project / "ci.sh").write_text("TAG=1\nTAG=2\n")
    run = pins("sync")
    assert (run.code, run.out) == (2, "")
    assert run.err == (
        "error: ci.sh:1: pins.tosa-tools: shell TAG finds more than one place, on the lines 1, 2: it has to be one\n"
        "  next: nothing was changed; `lockgrid pins check` shows every copy\n"
    )
    assert (project / "r.txt").read_bytes().decode() == FILES["r.txt"]


def test_without_a_pins_toml(pins: Pins, project: Path) -> None:
    (project / "pins.toml").unlink()
    run = pins("check")
    assert run.code == 2
    assert run.err.startswith("error: pins.toml: there is no such file beside envs/\n  next: write it")


def test_a_tree_that_is_not_there(pins: Pins, tmp_path: Path) -> None:
    run = pins("check", "--tree", str(tmp_path / "no"))
    assert (run.code, run.err) == (2, f"error: {tmp_path / 'no'}: there is no such folder\n")


# -- the example -----------------------------------------------------------------------------------------

#: An executorch source tree in small, every version of it out of step.
EXECUTORCH = {
    "backends/arm/requirements-arm-ethos-u.txt": "# as in pyproject.toml\nethos-u-vela == 1.0\n",
    "backends/arm/requirements-arm-tosa.txt": (
        "ml_dtypes == 1.0\nflatbuffers == 24.3.25\ntosa-adapter == 0.1.0\ntosa-tools == 1.0.0\n"
    ),
    "backends/arm/requirements-arm-vgf.txt": (
        "ai_ml_emulation_layer_for_vulkan == 1.0\nai_ml_sdk_model_converter == 1.0\n"
    ),
    "backends/arm/requirements-arm-vgf-runtime.txt": "ai_ml_sdk_vgf_library == 1.0\n",
    "backends/arm/vgf/model_converter.py": 'MIN_MODEL_CONVERTER_VERSION_FOR_VGF_TESTS = Version("1.0")\n',
    "backends/cortex_m/CMakeLists.txt": f'set(CMSIS_NN_VERSION\n    "{"0" * 40}"\n    CACHE STRING "of CMSIS-NN"\n)\n',
    "examples/arm/mobilesam_prompt_segmentation_example_ethos_u/model_export/export_mobilesam.py": (
        'MINIMUM_VELA_VERSION = Version("1.0")\n'
    ),
    "examples/arm/super_resolution_example_vgf/requirements.txt": "numpy == 1.0\n",
    "examples/models/moshi/mimi/install_requirements.sh": "pip install torchcodec==1.0 --extra-index-url x\n",
    "pyproject.toml": (
        "[project.optional-dependencies]\nvgf = [\n"
        '  "ai_ml_emulation_layer_for_vulkan==1.0",\n  "ai_ml_sdk_model_converter==1.0",\n'
        '  "ml_dtypes==1.0",\n  "tosa-tools==1.0",\n]\n'
        'ethos_u = ["ethos-u-vela==1.0", "ml_dtypes==1.0", "tosa-tools==1.0"]\n'
    ),
    "torch_pin.py": 'TORCH_VERSION = "1.0.0"\n# NIGHTLY_VERSION = "dev20260318"\n',
    "install_requirements.py": (
        'TORCHAO_NIGHTLY_VERSION = "0.1.0.dev20260729"\nPACKAGES = [\n'
        '    ("torch==1.0.0" if nightly else "torch"),\n    ("torchvision==0.28.0" if nightly else "torchvision"),\n]\n'
    ),
    ".github/workflows/windows-msvc.yml": "      run: pip install pyyaml torch==1.0.0 --extra-index-url x\n",
    ".ci/docker/ci_commit_pins/pytorch.txt": "release/1.0\n",
    ".ci/docker/common/install_pytorch.sh": "  TORCHVISION_VERSION=release/0.1\n",
    ".ci/scripts/utils.sh": "  TORCHVISION_VERSION=release/0.1\n",
    ".ci/scripts/unittest-linux-cmake.sh": "    git clone --depth 1 --branch v2000.05.0 \\\n      tosa-tools.git\n",
    ".ci/scripts/test_model_e2e.sh": "  pip install torchcodec==0.11.0 --extra-index-url x\n",
    ".ci/scripts/test-rocm-voxtral.sh": "python -m pip install torchcodec==0.9.0 \\\n",
}


def test_the_pins_of_an_executorch_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example, with the locks of this repository and a tree of the same shape."""
    for path, text in EXECUTORCH.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    words = ["--pins", str(ROOT / "examples/executorch/pins.toml"), "--tree", str(tmp_path)]
    example = Pins(ROOT, capsys, monkeypatch)
    before = example("check", *words)
    assert (before.code, before.err) == (1, "")
    assert "drift: flatbuffers: backends/arm/requirements-arm-tosa.txt:2: holds 24.3.25, and " in before.out
    assert ", which tosa-tools==" in before.out
    assert before.out.endswith("28 copies of 13 pins: 27 drift, 1 may differ\n")
    assert example("sync", *words).code == 0
    after = example("check", *words)
    assert (after.code, after.out.splitlines()[-1]) == (0, "28 copies of 13 pins: 27 in step, 1 may differ")
    pytorch = (tmp_path / ".ci/docker/ci_commit_pins/pytorch.txt").read_text()
    assert pytorch.count(".") == 1
    assert (tmp_path / ".ci/scripts/utils.sh").read_text() == "  TORCHVISION_VERSION=release/0.28\n"
