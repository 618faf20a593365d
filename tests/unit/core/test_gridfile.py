"""grid.toml between its text and its value."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.gridfile import is_edited, parse_grid, render_grid
from lockgrid.errors import InputError
from lockgrid.model.finding import Finding
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid, Proof, SourceRecord
from unit.builders import golden
from unit.grids import GRID


def test_the_grid_as_it_is_written() -> None:
    golden("grid.toml", render_grid(GRID))


def test_the_keys_that_are_relied_on_from_outside() -> None:
    data = tomllib.loads(render_grid(GRID))
    assert (data["schema"], data["exclude-newer"]) == (1, datetime(2026, 11, 23, tzinfo=UTC))
    assert data["inputs"] == GRID.inputs
    assert data["lockfiles"] == dict(GRID.lockfiles)
    assert data["cells"][1] == {
        "environment": "tosa",
        "platform": "linux-x86_64",
        "python": "3.10",
        "status": "proven",
        "packages": 91,
        "bytes": 2_980_113_344,
    }
    unsupported = data["cells"][3]
    assert (unsupported["status"], unsupported["failed"]) == ("unsupported", "tags")
    assert unsupported["because"] == GRID.cells[3].because
    assert "packages" not in unsupported


def test_cells_are_sorted_by_environment_platform_and_python_as_a_version() -> None:
    shuffled = replace(GRID, cells=GRID.cells[::-1])
    assert render_grid(shuffled) == render_grid(GRID)
    assert parse_grid(render_grid(shuffled)) == GRID


def test_what_came_from_an_index_of_its_own_is_kept_and_nothing_is_said_where_nothing_did() -> None:
    assert "sources" not in tomllib.loads(render_grid(GRID))
    record = SourceRecord(
        environment="vgf", package="torch", index="cpu", platforms=("linux-x86_64",), files=(("torch-1+cpu.whl", "0"),)
    )
    grid = replace(GRID, sources=(record, replace(record, package="x", files=(), dateless=True)))
    text = render_grid(grid)
    assert parse_grid(text) == grid
    assert not is_edited(text)
    head = {"environment": "vgf", "index": "cpu", "platforms": ["linux-x86_64"]}
    assert tomllib.loads(text)["sources"] == [
        {**head, "package": "torch", "files": {"torch-1+cpu.whl": "0"}},
        {**head, "package": "x", "files": {}, "dateless": True},
    ]


WORD = st.text(st.characters(codec="utf-8"), max_size=10)
PAIRS = st.dictionaries(WORD, WORD, max_size=3).map(lambda found: tuple(sorted(found.items())))
WORDS = st.lists(WORD, max_size=2).map(tuple)
BLOCKER = st.builds(
    Blocker,
    proof=st.sampled_from(Proof),
    package=WORD,
    required_by=WORDS,
    exists=WORD,
    missing=WORD,
    serves=WORDS,
    finding=WORD,
)
CELL_ID = st.tuples(
    st.sampled_from(["tosa", "ethos_u"]), st.sampled_from(["linux-x86_64", "macos-arm64"]), st.integers(8, 12)
)
FINDING = st.builds(
    Finding,
    name=WORD,
    severity=st.sampled_from(["error", "warning"]),
    wheels=st.just(()),
    what=WORD,
    files=WORDS,
    count=st.integers(0, 9),
    needs=WORD,
    has=WORD,
)
FOUND = st.builds(
    FoundRecord,
    environment=WORD,
    finding=FINDING,
    cells=st.lists(
        st.sampled_from(["a", "b"]).flatmap(lambda p: st.tuples(st.just(p), st.just("3.9"))), unique=True
    ).map(lambda cells: tuple(sorted(cells))),
    accepted=st.booleans(),
)


MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    cells = []
    for environment, platform, minor in draw(st.lists(CELL_ID, max_size=4, unique=True)):
        head = CellRecord(environment=environment, platform=platform, python=f"3.{minor}", proven=True)
        if draw(st.booleans()):
            size = draw(st.integers(0, 2**50))
            cells.append(replace(head, packages=draw(st.integers(0, 999)), bytes=size))
        else:
            blockers = tuple(draw(st.lists(BLOCKER, max_size=2)))
            cells.append(replace(head, proven=False, failed=draw(WORD), because=draw(WORD), blockers=blockers))
    return Grid(
        exclude_newer=draw(MOMENT),
        inputs=draw(WORD),
        environments=draw(PAIRS),
        lockfiles=draw(PAIRS),
        cells=tuple(sorted(cells, key=lambda cell: cell.sort_key)),
        uv=draw(WORD),
        apart=draw(WORDS),
        rules=draw(st.integers(0, 9)),
        findings=tuple(draw(st.lists(FOUND, max_size=3))),
        exclude_newer_package=tuple(sorted(draw(st.dictionaries(WORD, MOMENT, max_size=3)).items())),
    )


@given(grids())
def test_a_rendered_grid_is_read_back_as_it_was(grid: Grid) -> None:
    text = render_grid(grid)
    assert parse_grid(text) == grid
    assert render_grid(parse_grid(text)) == text


def test_a_moment_of_another_zone_is_the_same_moment() -> None:
    text = render_grid(GRID).replace("2026-11-23T00:00:00Z", "2026-11-23T02:00:00+02:00")
    assert parse_grid(text).exclude_newer == GRID.exclude_newer


def test_a_grid_of_an_older_lockgrid_may_lack_what_is_lockgrids_own() -> None:
    text = "schema = 1\nexclude-newer = 2026-11-23T00:00:00Z\ninputs = 'x'\n[environments]\n[lockfiles]\n"
    cell = '[[cells]]\nenvironment = "a"\nplatform = "b"\npython = "3.12"\nstatus = "unsupported"\nbecause = "c"\n'
    grid = parse_grid(text + cell)
    assert (grid.uv, grid.apart, grid.cells[0].blockers, grid.cells[0].because) == ("", (), (), "c")
    assert (grid.rules, grid.findings, grid.exclude_newer_package) == (0, (), ())


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("schema = 1", "schema = 2", "schema 2, and this version of lockgrid reads 1"),
        ("schema = 1\n", "", "schema None, and this version of lockgrid reads 1"),
        ("schema = 1", "schema = ", "broken TOML"),
        ("inputs =", "input =", "not a grid: KeyError('inputs')"),
        ("exclude-newer = 2026-11-23T00:00:00Z", "exclude-newer = 1", "not a grid"),
        ("exclude-newer = 2026-11-23T00:00:00Z", "exclude-newer = 2026-11-23", "not a grid"),
        ('status = "proven"\n', "", "not a grid: KeyError('status')"),
        ('proof = "tags"', 'proof = "guess"', "not a grid"),
        ("[environments]", "[[environments]]", "not a grid"),
        ('severity = "warning"', 'severity = "bad"', "not a grid"),
    ],
)
def test_what_is_no_grid_is_wrong_input_with_a_way_out(old: str, new: str, what: str) -> None:
    text = render_grid(GRID)
    assert old in text
    with pytest.raises(InputError) as caught:
        parse_grid(text.replace(old, new))
    (problem,) = caught.value.problems
    assert problem.file == "locks/grid.toml"
    assert what in problem.what
    assert "restore it from version control" in caught.value.next_step


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(InputError):
        parse_grid(render_grid(GRID).replace('status = "proven"', 'status = "prooven"'))


@pytest.mark.parametrize(
    "edit", [("packages = 91", "packages = 11"), ("because = ", "because =  "), ("schema", "# x\nschema")]
)
def test_an_edit_of_the_grid_is_found_out(edit: tuple[str, str]) -> None:
    text = render_grid(GRID)
    assert not is_edited(text)
    assert edit[0] in text
    assert is_edited(text.replace(*edit, 1))


def test_a_grid_without_its_digest_counts_as_edited() -> None:
    lines = render_grid(GRID).splitlines(keepends=True)
    assert is_edited("".join(line for line in lines if "digest of the rest" not in line))
