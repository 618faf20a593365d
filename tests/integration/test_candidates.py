"""Candidates: several in one process, none of them written, each what a refresh under its options would write."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from integration.conftest import LIB_AND_DEP, Start, few_targets
from integration.locked import Locks
from lockgrid.adapters.cache import cache_folder
from lockgrid.adapters.store import Store
from lockgrid.commands.candidate import CandidateOptions, make_candidate, open_workshop
from lockgrid.commands.context import Context
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.cutoff import Cutoff
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

BASE = f"""
{LIB_AND_DEP}
[[packages]]
name = "tool"
version = "1.0"
[envs.app]
requires = ["lib"]
[envs.apart]
apart = true
requires = ["dep", "tool"]
{few_targets("3.12")}
"""
WINDOWS = "windows-x86_64"
NOW = datetime(2026, 4, 10, tzinfo=UTC)
CUTOFF = Cutoff(moment=datetime(2026, 4, 3, tzinfo=UTC))


@pytest.fixture
def project(start: Start, index: LocalIndex) -> Project:
    """Return a locked project of which every package then has a newer release."""
    project = start(BASE)
    project.run("lock", "--as-of", "2026-03-01").expect(0)
    project.store, project.cache = project.home / "tomorrow", project.home / "uv"
    index.add(wheel("lib", "1.1", requires=["dep>=1.1"]), core_metadata=True, uploaded="2026-04-01T00:00:00Z")
    index.add(wheel("dep", "1.1"), core_metadata=True, uploaded="2026-04-01T00:00:00Z")
    index.add(wheel("tool", "1.1"), core_metadata=True, uploaded="2026-04-01T00:00:00Z")
    return project


class Steps:
    """Progress that remembers its steps."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, text: str) -> None:
        self.steps.append(text)

    def advance(self, done: int, total: int) -> None:
        """Not remembered."""

    def transfer(self, done: int, total: int) -> None:
        """Not remembered."""

    def note(self, text: str) -> None:
        """Not remembered."""


@pytest.fixture
def context(project: Project) -> Iterator[Context]:
    context = Context(Store(project.folder), project.environment(), lambda: NOW.timestamp(), Steps())
    with context.store.exclusive(cache_folder(context.environ), context.progress.note):
        yield context


def test_a_candidate_is_what_would_be_written_and_is_not(project: Project, context: Context) -> None:
    before = project.snapshot(".")
    candidate = make_candidate(context, context.spec(), CandidateOptions(cutoff=CUTOFF))
    assert project.snapshot(".") == before
    assert {move.text: move.environments for move in candidate.moves} == {
        "dep 1.0 -> 1.1": ("apart", "app"),
        "lib 1.0 -> 1.1": ("app",),
        "tool 1.0 -> 1.1": ("apart",),
    }
    assert list(candidate.texts)[-1] == "locks/grid.toml"
    assert not candidate.changes_nothing
    assert candidate.digest != candidate.before
    candidate.write(context)
    after = project.snapshot(".")
    assert {path: after[path].decode() for path in candidate.texts} == candidate.texts
    assert {path for path in after if after[path] != before.get(path)} == set(candidate.texts)
    assert Locks(project).versions("app", "linux-x86_64", "3.12") == {"lib": "1.1", "dep": "1.1"}
    again = make_candidate(context, context.spec(), CandidateOptions(cutoff=CUTOFF))
    assert again.changes_nothing
    assert (again.moves, again.digest, again.before) == ((), candidate.digest, candidate.digest)


def test_several_candidates_share_what_is_learnt_and_nothing_else(project: Project, context: Context) -> None:
    before, spec = project.snapshot("."), context.spec()
    found = []
    assert isinstance(context.progress, Steps)
    with open_workshop(context, spec, CUTOFF) as workshop:
        first = make_candidate(context, spec, CandidateOptions(cutoff=CUTOFF), workshop)
        context.progress.steps.clear()
        for held in ({"tool": "<=1.0"}, {"dep": "<=1.0"}, {"dep": "<=1.0", "tool": "==1.0"}, {}):
            options = CandidateOptions(cutoff=CUTOFF, held=held)
            found.append(make_candidate(context, spec, options, workshop))
        asked = [step for step in context.progress.steps if "pages" in step or "cannot be" in step]
        assert asked == []
        earlier = Cutoff(moment=datetime(2026, 3, 1, tzinfo=UTC))
        found.append(make_candidate(context, spec, CandidateOptions(cutoff=earlier), workshop))
    assert [[move.text for move in candidate.moves] for candidate in found] == [
        ["dep 1.0 -> 1.1", "lib 1.0 -> 1.1"],
        ["tool 1.0 -> 1.1"],
        [],
        [move.text for move in first.moves],
        [],
    ]
    assert found[3].digest == first.digest
    assert found[2].digest == found[4].digest == first.before
    assert not found[2].changes_nothing  # what is held is input, and the grid says of which input it is
    assert found[4].changes_nothing
    assert found[0].holding == {"tool": ("apart",)}
    assert found[1].holding == {"dep": ("apart", "app")}
    assert len({candidate.digest for candidate in found}) == 4
    assert project.snapshot(".") == before


def test_a_cell_that_a_trial_would_lose_is_told(project: Project, context: Context, index: LocalIndex) -> None:
    """The hold is no change of input that would excuse it."""
    index.add(wheel("dep", "1.0", tags=["py3-none-manylinux2014_x86_64"]), core_metadata=True)
    index.remove("dep-1.0-py3-none-any.whl")
    options = CandidateOptions(cutoff=CUTOFF, held={"dep": "<=1.0"})
    candidate = make_candidate(context, context.spec(), options)
    assert [(c.environment, c.platform) for c in candidate.lost] == [("apart", WINDOWS), ("app", WINDOWS)]
    assert "dep" in candidate.lost[0].because
    assert make_candidate(context, context.spec(), CandidateOptions(cutoff=CUTOFF)).lost == ()


def test_a_trial_that_leaves_nothing_says_what_is_to_blame(context: Context) -> None:
    with pytest.raises(UnsatisfiableError, match="dep") as caught:
        make_candidate(context, context.spec(), CandidateOptions(cutoff=CUTOFF, held={"dep": "<1.0"}))
    assert caught.value.exit_code == 3
