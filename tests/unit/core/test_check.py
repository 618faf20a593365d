"""Every way in which locks/ can be out of date, each with what mends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lockgrid.core.assemble import build_grid, lockfile_texts, records
from lockgrid.core.check import Difference, compare
from lockgrid.core.digest import digest_text
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import CellRecord, Grid
from lockgrid.model.spec import Environment, Spec
from unit.builders import CUTOFF, MAC, cell, environment, pin, spec_of, target

APP = environment("a", targets=[target(), target(MAC)])
PATH = "app/linux-x86_64.txt"


def locked(*environments: Environment) -> tuple[Spec, Grid, dict[str, str]]:
    """Input, grid and lockfiles that agree: ``app`` is proven on Linux and unsupported on macOS."""
    spec = spec_of(*environments)
    cells = {
        (e.name, where): cell(e.name, where, pin("a", "1.0"))
        for e in environments
        for where in e.targets
        if where.platform != MAC
    }
    texts = {**lockfile_texts(environments, cells), "build.txt": "build\n"}
    found = records(
        [replace(e, targets=tuple(t for t in e.targets if t.platform != MAC)) for e in environments], cells, {}
    )
    found += [
        CellRecord(
            environment=e.name, platform="macos-arm64", python=t.python, proven=False, failed="tags", because="x"
        )
        for e in environments
        for t in e.targets
        if t.platform == MAC
    ]
    return spec, build_grid(spec, found, (), texts, cutoff=Cutoff(moment=CUTOFF), uv="0.11.0", apart=()), texts


SPEC, GRID, TEXTS = locked(APP)


def lines(spec: Spec = SPEC, grid: Grid = GRID, texts: dict[str, str] = TEXTS) -> list[str]:
    found = compare(spec, grid, texts)
    assert all(difference.mend == "lockgrid lock" for difference in found)
    return [f"{d.where}: {d.what}" for d in found]


def changed(**changes: Any) -> Grid:
    return replace(GRID, **changes)


def test_what_agrees_has_no_difference() -> None:
    assert lines() == []


def test_an_environment_that_is_new() -> None:
    spec = spec_of(APP, environment("b", name="new"))
    assert lines(spec) == [
        "envs/new.toml: is not locked yet",
        "new on linux-x86_64, Python 3.12: is not in grid.toml",
    ]


def test_an_environment_that_changed() -> None:
    assert lines(spec_of(replace(APP, apart=True))) == [
        "envs/app.toml: it, a base or targets.toml changed since the lock"
    ]


def test_an_environment_that_is_gone() -> None:
    _, grid, texts = locked(APP, environment("a", name="gone"))
    assert lines(SPEC, grid, texts) == [
        "envs/gone.toml: is gone, and still locked",
        "gone on linux-x86_64, Python 3.12: is in grid.toml and not in envs/",
    ]


def test_a_digest_of_the_inputs_that_was_edited() -> None:
    assert lines(grid=changed(inputs="sha256:0")) == ["locks/grid.toml: its digest of the inputs is another"]


def test_a_cell_that_is_missing() -> None:
    assert lines(grid=changed(cells=GRID.cells[:1])) == ["app on macos-arm64, Python 3.12: is not in grid.toml"]


def test_a_cell_that_the_input_does_not_have() -> None:
    extra = replace(GRID.cells[1], python="3.13")
    assert lines(grid=changed(cells=(*GRID.cells, extra))) == [
        "app on macos-arm64, Python 3.13: is in grid.toml and not in envs/"
    ]


def test_a_cell_that_stands_there_twice() -> None:
    assert lines(grid=changed(cells=(*GRID.cells, GRID.cells[0]))) == [
        "app on linux-x86_64, Python 3.12: is in grid.toml twice"
    ]


def test_a_proven_cell_without_a_lockfile() -> None:
    kept = tuple(item for item in GRID.lockfiles if item[0] != PATH)
    assert lines(grid=changed(lockfiles=kept)) == [
        f"locks/{PATH}: has proven cells and no digest",
        f"locks/{PATH}: is no lockfile of the grid",
    ]


def test_an_unsupported_cell_without_a_reason() -> None:
    silent = replace(GRID.cells[1], because="")
    assert lines(grid=changed(cells=(GRID.cells[0], silent))) == [
        "app on macos-arm64, Python 3.12: is unsupported without a reason"
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"build.txt": "build\n"}, f"locks/{PATH}: is missing"),
        (TEXTS | {PATH: TEXTS[PATH] + "\n"}, f"locks/{PATH}: was edited since the lock"),
        (TEXTS | {PATH: TEXTS[PATH].replace("\n", "\r\n")}, f"locks/{PATH}: was edited since the lock"),
        (TEXTS | {"app/other.txt": ""}, "locks/app/other.txt: is no lockfile of the grid"),
    ],
)
def test_a_lockfile_that_is_missing_edited_or_left_over(texts: dict[str, str], said: str) -> None:
    assert lines(texts=texts) == [said]


def test_an_edited_digest_is_found_too() -> None:
    edited = tuple((path, digest_text("other") if path == PATH else d) for path, d in GRID.lockfiles)
    assert lines(grid=changed(lockfiles=edited)) == [f"locks/{PATH}: was edited since the lock"]


def test_a_difference_says_where_what_and_how_to_mend() -> None:
    difference = Difference(where="locks/a.txt", what="is missing", mend="lockgrid lock")
    assert str(difference) == "locks/a.txt: is missing; mend with `lockgrid lock`"
