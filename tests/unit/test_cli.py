"""The command line: exit codes, and what goes to stdout and to stderr. Results of the reading verbs only."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgrid import __version__
from lockgrid.cli import main
from lockgrid.core.gridfile import render_grid
from unit.builders import TARGETS, parse
from unit.grids import GRID


@pytest.fixture(autouse=True)
def process_settings() -> Iterator[None]:
    """``main`` sets what belongs to its own process: put it back."""
    threshold, handler = gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    yield
    gc.set_threshold(*threshold)
    signal.signal(signal.SIGTERM, handler)


class Run:
    """One run of the command: exit code, stdout, stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["lockgrid", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        self.code = caught.value.code
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with envs/ and, in locks/, the grid of the golden files."""
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "targets.toml").write_text(TARGETS)
    for name in ("tosa", "vgf"):
        (tmp_path / "envs" / f"{name}.toml").write_text('requires = ["a==1"]\n')
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "grid.toml").write_text(render_grid(GRID))
    return tmp_path


def test_help_answers_in_a_process_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-m", "lockgrid", "--help"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Exit codes: 0 done or in date" in done.stdout
    for verb in ("init", "lock", "check", "show", "explain", "audit", "export", "verify", "pins"):
        assert f"\n  {verb} " in done.stdout


def test_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(capsys, monkeypatch, "--version")
    assert (run.code, run.err) == (0, "")
    assert __version__ in run.out


@pytest.mark.parametrize("word", ["--help", "-h"])
@pytest.mark.parametrize("verb", ["lock", "check", "show", "explain", "export", "verify"])
def test_every_verb_has_help(
    verb: str, word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, verb, word)
    assert (run.code, run.err) == (0, "")
    assert "--json" in run.out


@pytest.mark.parametrize("words", [["nonsense"], ["lock", "--nonsense"], ["explain"], ["show", "extra"]])
def test_a_command_line_that_is_none_is_wrong_input(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, *words)
    assert (run.code, run.out) == (2, "")
    assert "Usage: " in run.err


@pytest.mark.parametrize("value", ["yesterday", "2026-13-01", "2026-11-23T99:00:00Z", ""])
def test_a_cut_off_that_is_no_time_is_wrong_input(
    value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "lock", "--as-of", value)
    assert (run.code, run.out) == (2, "")
    assert f"command line: --as-of: {value!r} is neither a date nor an RFC 3339 time" in run.err
    assert "Traceback" not in run.err


def test_a_cut_off_before_all_time_is_wrong_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Run(capsys, monkeypatch, "lock", "--as-of", "0001-01-01T00:00:00+14:00").code == 2


@pytest.mark.parametrize("verb", ["lock", "check", "show"])
def test_a_folder_without_input_is_wrong_input(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "--project", str(tmp_path), verb)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("error: ")
    assert "\n  next: " in run.err


def test_all_problems_of_the_input_are_listed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "envs" / "tosa.toml").write_text('requires = ["a =="]\nplatform = []\n')
    (project / "envs" / "vgf.toml").write_text("broken = [")
    run = Run(capsys, monkeypatch, "--project", str(project), "check")
    assert (run.code, run.out) == (2, "")
    lines = run.err.splitlines()
    assert lines[0] == "error: 3 problems in the input"
    assert [line.split(": ")[0].strip() for line in lines[1:4]] == ["envs/tosa.toml", "envs/tosa.toml", "envs/vgf.toml"]


def test_what_is_out_of_date_is_exit_code_1_and_a_line_each(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "--project", str(project), "check")
    assert (run.code, run.err) == (1, "")
    assert all("; mend with `lockgrid lock`" in line for line in run.out.splitlines())
    as_json = Run(capsys, monkeypatch, "--project", str(project), "check", "--json")
    assert as_json.code == 1
    assert len(json.loads(as_json.out)) == len(run.out.splitlines())


def test_show_prints_the_table_or_json(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "--project", str(project), "show")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("environment  platform")
    data = json.loads(Run(capsys, monkeypatch, "--project", str(project), "show", "--json").out)
    assert data["exclude-newer"] == "2026-11-23T00:00:00Z"
    assert [cell["status"] for cell in data["cells"]] == ["proven"] * 3 + ["unsupported"] * 4
    assert data["cells"][3]["blockers"][0]["serves"] == ["2026.8.0", "2026.7.1"]


@pytest.mark.parametrize("words", [["macos-arm64", "3.14"], ["3.14", "macos-arm64"], ["3.14"]])
def test_explain_takes_platform_and_python_in_either_order(
    words: list[str], project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "--project", str(project), "explain", "vgf", *words, "--json")
    assert run.code == 0
    found = [(c["platform"], c["python"]) for c in json.loads(run.out)]
    assert found[:1] == [("macos-arm64", "3.14")]
    assert {python for _, python in found} == {"3.14"}
    assert len(found) == 3 - len(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vgff"], "vgff: there is no such environment (did you mean 'vgf'?)"),
        (["vgf", "linux-x86-64"], "vgf has no cells for this platform (did you mean 'linux-x86_64'?)"),
        (["vgf", "macos-arm64", "3.9"], "vgf has no cells for this Python"),
    ],
)
def test_explain_names_the_nearest_right_word(
    words: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(capsys, monkeypatch, "--project", str(project), "explain", *words)
    assert (run.code, run.out) == (2, "")
    assert said in run.err


def test_the_project_of_these_tests_is_right_input(project: Path) -> None:
    texts = {path.stem: path.read_text() for path in (project / "envs").glob("*.toml")}
    assert len(parse(texts.pop("targets"), **texts).environments) == 2
