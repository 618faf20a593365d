"""The proven cells as jobs, and which of them a change touches."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from lockgrid.core.matrix import Job, changed_cells, jobs
from lockgrid.core.render.matrix import matrix_as_json, render_matrix
from lockgrid.core.snapshot import Snapshot
from lockgrid.model.advisory import CellName
from lockgrid.model.spec import Spec
from unit.builders import parse
from unit.grids import NO_WHEEL
from unit.snapshots import LINUX, MAC, Cells, cells, snapshot, unsupported

TARGETS = """\
pythons = ["3.11", "3.12"]
[platforms.linux-x86_64]
glibc = "2.28"
[platforms.macos-arm64]
macos = "15.0"
"""
TOSA = 'requires = ["x"]\n'
PINS: Cells = cells("tosa vgf", {"x": "1", "built": "1"})


def spec(targets: str = TARGETS, tosa: str = TOSA, vgf: str = 'requires = ["y"]\n') -> Spec:
    return parse(targets, tosa=tosa, vgf=vgf)


def made(pins: Cells = PINS, **more: str) -> Snapshot:
    return snapshot(pins, build={"setuptools": more.get("build", "1")}, sdists=more.get("sdists", "").split())


def changed(
    old: tuple[Spec, Snapshot] | None = None, new: tuple[Spec, Snapshot] | None = None, flows: str = ""
) -> set[CellName]:
    before, after = old or (spec(), made()), new or (spec(), made())
    chosen = [j.cell for j in jobs(after[0], after[1].grid, ())] if after[1].grid else []
    return changed_cells(before, after, flows.split(), chosen)


def test_one_job_for_each_proven_cell_in_the_order_of_the_grid() -> None:
    grid = snapshot(
        cells("vgf tosa", {"x": "1"}, [LINUX], "3.9 3.10"), records=[unsupported("tosa", MAC, "3.9", NO_WHEEL)]
    ).grid
    assert grid is not None
    found = jobs(spec(), grid, {"tests/flows/test_tosa.py"})
    assert [j.cell for j in found] == [(e, LINUX, v) for e in ("tosa", "vgf") for v in ("3.9", "3.10")]
    assert found[0] == Job(
        environment="tosa",
        platform=LINUX,
        python="3.9",
        runner=("ubuntu-22.04",),
        lockfile="locks/tosa/linux-x86_64.txt",
        session="tosa",
    )
    assert found[-1].session == ""
    assert [j.environment for j in jobs(spec(), grid, (), ["vgf"])] == ["vgf", "vgf"]


def test_targets_toml_names_runners() -> None:
    named = TARGETS.replace("[platforms.macos", 'runner = ["self-hosted", "linux"]\n[platforms.macos')
    grid = made().grid
    assert grid is not None
    runners = {j.platform: j.runner for j in jobs(spec(named + 'runner = "my-mac"\n'), grid, ())}
    assert runners == {LINUX: ("self-hosted", "linux"), MAC: ("my-mac",)}
    said = matrix_as_json(jobs(spec(named), grid, (), ["tosa"]))["include"]
    assert [job["runner"] for job in said] == [["self-hosted", "linux"]] * 2 + ["macos-15"] * 2


def test_nothing_changed_is_no_job() -> None:
    assert changed() == set()
    assert json.dumps(matrix_as_json(())) == '{"include": []}'
    assert render_matrix(()) == "0 jobs\n"


def test_a_pin_that_moves_for_one_python_touches_that_cell_alone() -> None:
    new = {cell: dict(has) for cell, has in PINS.items()}
    new["tosa", LINUX, "3.12"]["x"] = "2"
    assert changed(new=(spec(), made(new))) == {("tosa", LINUX, "3.12")}


def test_a_python_that_is_gained_touches_no_other() -> None:
    old = {cell: has for cell, has in PINS.items() if cell != ("tosa", LINUX, "3.12")}
    assert changed((spec(), made(old))) == {("tosa", LINUX, "3.12")}


def test_a_file_that_came_to_an_unchanged_version_touches_its_cells() -> None:
    new = snapshot(PINS, build={"setuptools": "1"}, more={"x": ["late.whl"]})
    assert changed(new=(spec(), new)) == set(PINS)


def test_what_builds_a_sdist_touches_cells_that_build_one() -> None:
    assert changed(new=(spec(), made(build="2"))) == set()
    old, new = made(sdists="built"), made(sdists="built", build="2")
    assert changed((spec(), old), (spec(), new)) == {
        cell for cell in PINS if cell[2] == "3.11"
    }  # all that build.txt has


def platform_of(name: str) -> Callable[[CellName], bool]:
    return lambda cell: cell[1] == name


@pytest.mark.parametrize(
    ("new", "which"),
    [
        (spec(tosa=TOSA + "[smoke]\nimports = ['x']\n"), lambda cell: cell[0] == "tosa"),
        (spec(tosa='requires = ["x<2"]\n'), lambda cell: cell[0] == "tosa"),
        (spec(tosa=f'summary = "s"\n# why\n{TOSA}[accept]\n"any:x" = "y"\n'), lambda _: False),
        (spec(TARGETS.replace("2.28", "2.31")), platform_of(LINUX)),
        (spec(TARGETS + 'runner = "my-mac"\n'), platform_of(MAC)),
        (spec(TARGETS + 'runner = "macos-15"\n'), lambda _: False),
    ],
)
def test_what_envs_means_touches_cells_and_how_it_is_spelt_does_not(
    new: Spec, which: Callable[[CellName], bool]
) -> None:
    assert changed(new=(new, made())) == {cell for cell in PINS if which(cell)}


def test_an_environment_that_is_new_and_a_flow_that_changed() -> None:
    assert changed((parse(TARGETS, vgf='requires = ["y"]\n'), made())) == {cell for cell in PINS if cell[0] == "tosa"}
    assert changed(flows="vgf") == {cell for cell in PINS if cell[0] == "vgf"}
    assert changed((spec(), Snapshot())) == set(PINS)


def test_the_table_names_the_pythons_of_a_platform_in_one_line() -> None:
    grid = made().grid
    assert grid is not None
    lines = render_matrix(jobs(spec(), grid, {"tests/flows/test_tosa.py"})).splitlines()
    assert lines[0].split() == ["environment", "platform", "python", "runner", "session"]
    assert lines[1].split() == ["tosa", LINUX, "3.11", "3.12", "ubuntu-22.04", "tosa"]
    assert lines[-1] == "8 jobs"
    assert len(lines) == 6
