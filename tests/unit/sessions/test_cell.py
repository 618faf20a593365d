"""The cell that a session runs in, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from lockgrid.core.lockfile import parse_lockfile, pins_by_python
from sessions.cell import Grid, only_pins, read_pins
from sessions.failure import Failure
from unit.sessions.conftest import ROOT

LOCK = """\
# environment: app
--only-binary :all:
--no-binary sdist-only

a==1.0 ; python_version < "3.12" \\
    --hash=sha256:aa
    # via envs/app.toml
a==2.0 ; python_version >= "3.12" \\
    --hash=sha256:bb \\
    --hash=sha256:cc
The_B.c==0.5+local \\
    --hash=sha256:dd
"""
PLATFORM = "linux-x86_64"


def digest(text: str) -> str:
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def cell(python: str, platform: str = PLATFORM, environment: str = "app", because: str = "") -> str:
    status = f'status = "unsupported"\nbecause = "{because}"' if because else 'status = "proven"'
    return f'[[cells]]\nenvironment = "{environment}"\nplatform = "{platform}"\npython = "{python}"\n{status}\n'


def locks(root: Path, *cells: str, lock: str = LOCK, build: str = "# nothing\n") -> Path:
    """``locks/`` with one lockfile, proven as it stands."""
    (root / "locks" / "app").mkdir(parents=True)
    (root / "locks" / "app" / f"{PLATFORM}.txt").write_bytes(lock.encode())
    (root / "locks" / "build.txt").write_bytes(build.encode())
    table = f'[lockfiles]\n"app/{PLATFORM}.txt" = "{digest(lock)}"\n"build.txt" = "{digest(build)}"\n'
    (root / "locks" / "grid.toml").write_text("\n".join([table, *cells]), encoding="utf-8")
    return root


def only(*pythons: str) -> Callable[[str], str | None]:
    """A machine with these interpreters."""
    return lambda python: f"/bin/python{python}" if python in pythons else None


def refusal(root: Path, asked: str | None, machine: Callable[[str], str | None], running: str = "3.11") -> str:
    with pytest.raises(Failure) as caught:
        Grid(root, PLATFORM).choose("app", asked, running, machine)
    assert caught.value.stage == "grid"
    return caught.value.message


def test_a_chosen_cell_has_the_pins_of_its_python_and_the_digests_of_its_files(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11"), cell("3.12"))
    found = Grid(root, PLATFORM).choose("app", "3.11", "3.12", only("3.11", "3.12"))
    assert str(found) == "app on linux-x86_64 with Python 3.11"
    assert found.interpreter == "/bin/python3.11"
    assert found.pins == {"a": "1.0", "the-b-c": "0.5+local"}
    assert found.digests == (digest(LOCK), digest("# nothing\n"))
    assert found.lockfile.is_file()
    assert found.build.is_file()


@pytest.mark.parametrize(
    ("running", "here", "chosen"),
    [
        ("3.10", ["3.10", "3.11", "3.12"], "3.10"),  # the running one, though there are newer ones
        ("3.10", ["3.11", "3.12"], "3.12"),
        ("3.14", ["3.10", "3.11"], "3.11"),  # what runs is not proven
        ("3.12", ["3.9", "3.10"], "3.10"),  # 3.9 is older than 3.10, though not as text
    ],
)
def test_who_asks_for_nothing_gets_the_running_python_or_else_the_newest(
    tmp_path: Path, running: str, here: list[str], chosen: str
) -> None:
    root = locks(tmp_path, *(cell(python) for python in ("3.9", "3.10", "3.11", "3.12")))
    assert Grid(root, PLATFORM).choose("app", None, running, only(*here)).python == chosen


def test_an_unsupported_python_is_refused_with_the_reason_of_the_grid(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11"), cell("3.14", because="b has no wheel"))
    said = refusal(root, "3.14", only("3.11", "3.14"))
    assert said == "app on linux-x86_64 with Python 3.14 is unsupported: b has no wheel (proven are 3.11)"


def test_an_unsupported_python_is_not_taken_though_it_is_the_running_one(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11"), cell("3.14", because="b has no wheel"))
    assert Grid(root, PLATFORM).choose("app", None, "3.14", only("3.11", "3.14")).python == "3.11"
    said = refusal(root, None, only("3.14"), running="3.14")
    assert "needs Python 3.11" in said
    assert "other Pythons are unsupported: b has no wheel" in said


def test_where_nothing_is_proven_every_reason_is_told(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11", because="one"), cell("3.12", because="other"))
    assert "no Python is proven" in refusal(root, "3.11", only("3.11"))
    said = refusal(root, None, only("3.11", "3.12"))
    assert "(none is proven)" in said
    assert "one / other" in said


def test_a_python_that_the_grid_does_not_have_is_told_apart_from_an_unsupported_one(tmp_path: Path) -> None:
    said = refusal(locks(tmp_path, cell("3.11")), "3.9", only("3.9"))
    assert said == "the grid has no Python 3.9 for app on linux-x86_64: proven are 3.11"


def test_an_interpreter_that_is_not_here_is_told(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11"), cell("3.12"))
    assert refusal(root, "3.12", only("3.11")) == (
        "app on linux-x86_64 needs Python 3.12, and no such interpreter is here"
    )
    assert "needs Python 3.11 or 3.12" in refusal(root, None, only())


def test_another_platform_an_unknown_environment_and_no_lock_at_all_are_three_messages(tmp_path: Path) -> None:
    assert refusal(tmp_path, None, only("3.11")) == "nothing is locked: run `nox -s lock`"
    elsewhere = locks(tmp_path, cell("3.11", platform="macos-arm64"))
    said = refusal(elsewhere, None, only("3.11"))
    assert "no cell on linux-x86_64" in said
    assert "locked for macos-arm64" in said
    with pytest.raises(Failure, match="not in locks/grid"):
        Grid(elsewhere, PLATFORM).choose("other", None, "3.11", only("3.11"))


@pytest.mark.parametrize("name", [f"app/{PLATFORM}.txt", "build.txt"])
@pytest.mark.parametrize("edit", [b"# a comment\n", b"\xff", b"\r"], ids=["comment", "no text", "newline"])
def test_a_file_that_is_not_the_proven_one_is_refused(tmp_path: Path, name: str, edit: bytes) -> None:
    root = locks(tmp_path, cell("3.11"))
    with (root / "locks" / name).open("ab") as file:
        file.write(edit)
    said = refusal(root, None, only("3.11"))
    assert f"locks/{name} is not the file that locks/grid.toml was proven with" in said


@pytest.mark.parametrize("name", [f"app/{PLATFORM}.txt", "build.txt"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    root = locks(tmp_path, cell("3.11"))
    (root / "locks" / name).unlink()
    assert refusal(root, None, only("3.11")) == f"locks/{name} is missing: run `nox -s lock`"


@pytest.mark.parametrize("text", [b"<<<<<<< ours\n", b"\xff"])
def test_a_grid_that_cannot_be_read_is_told(tmp_path: Path, text: bytes) -> None:
    locks(tmp_path)
    (tmp_path / "locks" / "grid.toml").write_bytes(text)
    with pytest.raises(Failure, match=r"locks/grid\.toml: .*restore it, or run `nox -s lock`"):
        Grid(tmp_path, PLATFORM)


def test_nothing_but_pins_is_read_as_a_pin() -> None:
    text = "# x==1\n--only-binary :all:\n    --hash=sha256:aa==\n    # via b==2\n-e .\nc==3\n"
    assert dict(read_pins(text, "3.11")) == {"c": "3"}


@pytest.mark.parametrize("file", sorted((ROOT / "locks").glob("*/*.txt")), ids=lambda file: "/".join(file.parts[-2:]))
def test_the_sessions_read_a_lockfile_as_lockgrid_does(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    expected = pins_by_python(parse_lockfile(str(file), text))
    assert expected
    for python, pins in expected.items():
        assert dict(read_pins(text, python)) == pins


def test_the_grid_says_which_packages_come_from_an_index_of_their_own(tmp_path: Path) -> None:
    root = locks(tmp_path, cell("3.11"))
    grid = root / "locks" / "grid.toml"
    entry = '{{ environment = "{}", package = "{}", index = "cpu", platforms = ["{}"], files = {{}} }}'
    entries = [("app", "a", PLATFORM), ("app", "b", "macos-arm64"), ("other", "c", PLATFORM)]
    grid.write_text(f"sources = [{', '.join(entry.format(*e) for e in entries)}]\n{grid.read_text()}", encoding="utf-8")
    assert Grid(root, PLATFORM).choose("app", None, "3.11", only("3.11")).sources == {"a": "cpu"}


def test_a_lockfile_can_be_cut_down_to_some_pins() -> None:
    text = only_pins(LOCK, {"a"})
    assert text == LOCK.partition("The_B.c")[0]
    assert dict(read_pins(only_pins(LOCK, {"the-b-c"}), "3.12")) == {"the-b-c": "0.5+local"}
    assert only_pins(LOCK, set()).split("\n\n")[0] == LOCK.split("\n\n")[0]
