"""How a commit of lockgrid's own is known, and what counts as the same content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.published import foreign_files, is_own, outcome_as_json, outcome_line, same_but_for_dates, sign
from lockgrid.model.branch import Commit, Outcome

TREE, PARENT = "a" * 40, "b" * 40
GRID = "locks/grid.toml"
OLD = b'exclude-newer = 2026-10-01T00:00:00Z\ninputs = "sha256:' + b"1" * 64 + b'"\n[[cells]]\npackages = 3\n'
NEW = b'exclude-newer = 2026-11-23T00:00:00Z\ninputs = "sha256:' + b"2" * 64 + b'"\n[[cells]]\npackages = 3\n'


def commit(message: str = "Refresh\n\nWhy.\n") -> Commit:
    return Commit(id="c" * 40, tree=TREE, parents=(PARENT,), author="A", message=sign(message, TREE, PARENT))


@pytest.mark.parametrize("message", ["Refresh", "Refresh\n\nWhy.\n", "Ünï\n\na\n\nb: c\n", "a\n\nLockgrid-Refresh: x"])
def test_a_commit_as_it_was_made_is_known(message: str) -> None:
    own = commit(message)
    assert is_own(own)
    assert own.message.startswith(message.strip())
    assert is_own(replace(own, message=own.message.rstrip("\n")))


@pytest.mark.parametrize(
    "changed",
    [
        replace(commit(), tree="d" * 40),
        replace(commit(), parents=("d" * 40,)),
        replace(commit(), parents=(PARENT, "d" * 40)),
        replace(commit(), parents=()),
        replace(commit(), message=commit().message.replace("Why", "Because")),
        replace(commit(), message=commit().message + "\nMore\n"),
        replace(commit(), message=commit().message + "Signed-off-by: A\n"),
        replace(commit(), message="Refresh\n\nWhy.\n"),
        replace(commit(), message="Refresh\n\nWhy.\n\nLockgrid-Refresh: sha256:" + "0" * 64 + "\n"),
    ],
)
def test_whatever_somebody_changed_of_it_makes_it_theirs(changed: Commit) -> None:
    assert not is_own(changed)


def test_a_later_run_with_the_same_outcome_pins_the_same() -> None:
    hold = b'[hold]\na = { version = "<2", why = "tosa: failed", since = %s }\n'
    old = {GRID: OLD, "envs/tosa.toml": hold % b"2026-10-01"}
    new = {GRID: NEW, "envs/tosa.toml": hold % b"2026-11-23"}
    assert same_but_for_dates(old, new)
    assert same_but_for_dates({}, {})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({GRID: OLD}, {GRID: NEW.replace(b"= 3", b"= 4")}),
        ({GRID: OLD}, {GRID: None}),
        ({"locks/tosa/linux-x86_64.txt": b"2026-10-01"}, {"locks/tosa/linux-x86_64.txt": b"2026-10-02"}),
        ({"envs/tosa.toml": None}, {"envs/tosa.toml": b""}),
        ({"pyproject.toml": b"1"}, {"pyproject.toml": b"2"}),
        ({"envs/tosa.toml": b'"a<2"'}, {"envs/tosa.toml": b'"a<3"'}),
    ],
)
def test_everything_else_makes_a_difference(old: dict[str, bytes | None], new: dict[str, bytes | None]) -> None:
    assert not same_but_for_dates(old, new)


def test_files_that_no_refresh_writes() -> None:
    written = ["locks/grid.toml", "locks/a/b.txt", "envs/a.toml", "pyproject.toml", "README.md"]
    others = [".github/workflows/ci.yml", "src/envs/a.toml", "noxfile.py", "docs/README.md", "locks"]
    assert foreign_files([*written, *others]) == others


@pytest.mark.parametrize("state", ["opened", "updated", "same", "closed", "none"])
def test_every_outcome_has_a_line(state: str) -> None:
    outcome = Outcome(state=state, branch="lockgrid/refresh", base="main", remote="origin", commit="c" * 40, title="T")
    assert "main" in outcome_line(outcome)
    assert "\n" not in outcome_line(outcome)
    assert outcome_as_json(outcome)["state"] == state
