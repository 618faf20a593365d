"""`lockgrid export` and `verify`: what is refused before any index is asked. The fence proves that none is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lockgrid.core.digest import digest_environment, digest_inputs, digest_text
from lockgrid.core.gridfile import render_grid
from lockgrid.core.render.requirements import render
from lockgrid.core.spec import parse_spec
from lockgrid.model.grid import Lockfile
from unit.builders import TARGETS, locked
from unit.grids import GRID, NO_WHEEL, NOT_THERE, proven, unsupported
from unit.test_cli import Run, process_settings

__all__ = ["process_settings"]  # a fixture

INPUT = {
    "envs/targets.toml": TARGETS,
    "envs/tosa.toml": 'requires = ["a==1"]\n',
    "envs/vgf.toml": 'requires = ["b==1"]\n',
}
LOCKFILE = Lockfile(
    environment="tosa",
    platform="linux-x86_64 (glibc 2.28)",
    pythons=("3.10", "3.11"),
    sdists=(),
    pins=(locked("a", "1", ["3.10", "3.11"]),),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in date: tosa is proven on Linux but for 3.12, vgf nowhere."""
    spec = parse_spec(INPUT)
    cells = [
        proven("tosa", "linux-x86_64", "3.10", 1, 10),
        proven("tosa", "linux-x86_64", "3.11", 1, 10),
        unsupported("tosa", "linux-x86_64", "3.12", NO_WHEEL),
        *(unsupported("tosa", "macos-arm64", python, NOT_THERE) for python in spec.pythons),
        *(
            unsupported("vgf", platform.name, python, NO_WHEEL)
            for platform in spec.platforms
            for python in spec.pythons
        ),
    ]
    text = render(LOCKFILE)
    grid = replace(
        GRID,
        inputs=digest_inputs(spec),
        environments=tuple((e.name, digest_environment(e)) for e in spec.environments),
        lockfiles=(("tosa/linux-x86_64.txt", digest_text(text)),),
        cells=tuple(cells),
    )
    for path, content in {**INPUT, "locks/tosa/linux-x86_64.txt": text, "locks/grid.toml": render_grid(grid)}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, newline="")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path, *words: str) -> Run:
    monkeypatch.setenv("LOCKGRID_UV", str(project / "no-uv"))
    done = Run(capsys, monkeypatch, "--project", str(project), *words)
    assert done.out == ""
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tosaa"], "tosaa: there is no such environment (did you mean 'tosa'?)"),
        (["tosa", "--platform", "linux-x86-64"], "tosa has no cells for this platform (did you mean 'linux-x86_64'?)"),
        (["tosa", "--python", "3.9"], "tosa has no cells for this Python (known: 3.10, 3.11, 3.12)"),
        (["tosa", "--format", "pylok"], "pylock"),
        (["tosa", "--format", "pylock", "--no-urls"], "needs the URL of each file (PEP 751)"),
        (["tosa", "--json", "--format", "pylock"], "leave out --format and -o"),
        (["tosa", "--json", "-o", "x"], "leave out --format and -o"),
        (["tosa", "--format", "pylock", "-o", "lock.toml"], "pylock.<name>.toml"),
        (["tosa", "--format", "pylock", "-o", "pylock.3.11.toml"], "has no dot"),
        (["tosa", "-o", "."], "this is no file"),
        ([], "ENV"),
    ],
)
def test_wrong_words_are_wrong_input(
    words: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(capsys, monkeypatch, project, "export", *words)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    "place", ["locks/tosa/linux-x86_64.txt", "locks/new", "locks", "envs/tosa.toml", "pyproject.toml", "x/../locks/new"]
)
@pytest.mark.parametrize(
    "words", [["export", "tosa"], ["bundle", "tosa", "--platform", "linux-x86_64", "--python", "3.11"]]
)
def test_nothing_is_written_among_the_projects_own_files(
    place: str, words: list[str], project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands below `locks/` is a lockfile of the grid, or the grid is not in date."""
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    done = run(capsys, monkeypatch, project, *words, "-o", str(project / place))
    assert (done.code, "lockgrid's own, and holds nothing else" in done.err) == (2, True)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tosa", "--platform", "linux-x86_64", "--python", "3.12"], "tosa on linux-x86_64, Python 3.12: unsupported"),
        (["tosa", "--platform", "macos-arm64"], 'say-"hi" is not on the index'),
        (["tosa", "--python", "3.12"], "tosa-tools==2026.5.0"),
        (["vgf"], "tosa-tools==2026.5.0"),
    ],
)
def test_what_is_unsupported_is_unsatisfiable_with_the_reason_of_the_grid(
    words: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("requirements", "pylock", "constraints"):
        done = run(capsys, monkeypatch, project, "export", *words, "--format", kind)
        assert done.code == 3
        assert said in done.err
        assert f"lockgrid explain {words[0]}" in done.err


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("envs/tosa.toml", "changed since the lock"),
        ("locks/tosa/linux-x86_64.txt", "was edited since the lock"),
    ],
)
def test_what_is_not_in_date_is_not_exported(
    path: str, what: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / path).write_text((project / path).read_text().replace("a==1", "a==2"))
    done = run(capsys, monkeypatch, project, "export", "tosa")
    assert done.code == 2
    assert f"{path}: " in done.err
    assert what in done.err
    assert "next: run `lockgrid lock`" in done.err


def test_a_lockfile_that_is_gone_is_not_exported(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "locks/tosa/linux-x86_64.txt").unlink()
    done = run(capsys, monkeypatch, project, "export", "tosa")
    assert (done.code, "is missing" in done.err) == (2, True)


def test_what_changed_elsewhere_does_not_matter(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "envs/vgf.toml").write_text('requires = ["b==2"]\n')
    done = run(capsys, monkeypatch, project, "export", "tosa")
    assert (done.code, "LOCKGRID_UV" in done.err) == (4, True)  # it got as far as asking the index


def test_without_locks_there_is_nothing_to_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "envs").mkdir()
    for path, content in INPUT.items():
        (tmp_path / path).write_text(content)
    done = run(capsys, monkeypatch, tmp_path, "verify")
    assert (done.code, "run `lockgrid lock`" in done.err) == (2, True)


def test_a_lockfile_that_cannot_be_read_is_not_verified(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "locks/tosa/linux-x86_64.txt").write_text("a==1 --hash=sha256:0\n")
    done = run(capsys, monkeypatch, project, "verify")
    assert (done.code, "locks/tosa/linux-x86_64.txt" in done.err) == (2, True)
