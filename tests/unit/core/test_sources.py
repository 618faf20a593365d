"""``[sources]`` in a lock: what came from where, what is wrong with it, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lockgrid.core.sources import (
    check_bytes,
    found_by_one_only,
    replaced_files,
    source_lines,
    source_problems,
    source_records,
    stale_sources,
)
from lockgrid.errors import HashMismatchError, Problem
from lockgrid.model.grid import Lockfile, ProvenCell, SourceRecord
from lockgrid.model.spec import Cell
from unit.builders import (
    LINUX,
    MAC,
    cell,
    digest,
    environment,
    facts,
    index_file,
    locked,
    missing_page,
    page,
    pin,
    target,
)

L12, M12 = target(LINUX), target(MAC)
SOURCES = {"torch@linux-x86_64": "cpu", "torch@macos-arm64": "cpu"}
APP = environment("torch", targets=[L12, M12], sources=SOURCES)


def proven(*cells: ProvenCell) -> dict[Cell, ProvenCell]:
    return {(one.environment, one.target): one for one in cells}


def record(*files: str, index: str = "cpu", package: str = "torch", bytes_of: str = "") -> SourceRecord:
    """Of files by name; ``bytes_of`` makes their hashes others."""
    found = tuple((name, digest(name + bytes_of)) for name in files)
    return SourceRecord(environment="app", package=package, index=index, platforms=("linux-x86_64",), files=found)


def test_an_index_that_nobody_has_and_one_that_will_not_do() -> None:
    one = environment(
        "a", sources={"a@linux-x86_64": "gpu", "b@linux-x86_64": "cpu", "c@linux-x86_64": "house"}, name="x"
    )
    assert source_problems([one], {"cpu": "", "house": "is the default"}, ["gpus", "house"]) == [
        Problem(
            file="envs/x.toml",
            key="sources.a@linux-x86_64",
            what="neither uv's configuration nor [indexes] in envs/targets.toml has an index 'gpu'",
            hint="did you mean 'gpus'?; define it in uv.toml or in [indexes]",
        ),
        Problem(
            file="envs/x.toml",
            key="sources.c@linux-x86_64",
            what="'house' is the default",
            hint="see uv's index settings",
        ),
    ]


def test_what_came_from_an_index_is_recorded_by_its_name() -> None:
    cpu = index_file("torch-2.0+cpu-py3-none-any.whl")
    cells = proven(
        cell("app", L12, pin("torch", "2.0+cpu", cpu, "cpu"), pin("a", "1.0")),
        cell("app", M12, pin("torch", "2.0", index="cpu")),
        cell("other", L12, pin("torch", "2.0+cpu", cpu, "cpu")),
    )
    assert source_records([APP], cells) == [
        SourceRecord(
            environment="app",
            package="torch",
            index="cpu",
            platforms=("linux-x86_64", "macos-arm64"),
            files=(
                ("torch-2.0+cpu-py3-none-any.whl", cpu.sha256),
                ("torch-2.0-py3-none-any.whl", digest("torch-2.0-py3-none-any.whl")),
            ),
        )
    ]
    undated = environment("torch", targets=[L12], sources=SOURCES, dateless=True)
    assert [r.dateless for r in source_records([undated], cells)] == [True]


@pytest.mark.parametrize("cells", [[L12, M12], [L12]])
def test_a_source_that_no_cell_needs_is_told_unless_an_unsupported_one_might(cells: Sequence[object]) -> None:
    one = environment("torch", targets=[L12, M12], sources={**SOURCES, "troch@linux-x86_64": "cpu"})
    found = proven(*(cell("app", where, pin("torch", "1.0", index="cpu")) for where in (L12, M12) if where in cells))
    said = "envs/app.toml: sources.troch@linux-x86_64: no cell pins troch on linux-x86_64, so its source does nothing; "
    assert stale_sources([one], found) == [f"{said}did you mean 'torch'?"]
    assert stale_sources([one], {}) == []


def test_a_source_for_a_platform_that_the_environment_has_not_is_told() -> None:
    one = replace(environment("torch", targets=[L12], sources=SOURCES), sources=APP.sources[:1], idle=APP.sources[1:])
    found = proven(cell("app", L12, pin("torch", "1.0", index="cpu")))
    said = "envs/app.toml: sources.torch@macos-arm64: no cell pins torch on macos-arm64, so its source does nothing"
    assert stale_sources([one], found) == [said]


def test_a_source_of_a_base_is_used_by_whoever_was_not_locked_now() -> None:
    other = replace(environment("x", name="other", targets=[L12], sources={}), sources=APP.sources[:1])
    found = proven(cell("other", L12, pin("x", "1.0")))
    assert stale_sources([other, APP], found) == []
    assert len(stale_sources([other], found)) == 1


def test_what_uv_alone_does_not_find_was_refused_to_it() -> None:
    said = "Because torch was not found in the package registry and my-pkg was not found in the package registry"
    known = facts(page("torch@cpu", "torch-1.0-py3-none-any.whl"), page("my-pkg", "my_pkg-1.0-py3-none-any.whl"))
    assert found_by_one_only(said, [APP], known) == ["my-pkg", "torch"]
    assert found_by_one_only("Because only torch==1.0 is available", [APP], known) == []
    without = facts(missing_page("torch@cpu"), page("torch", "torch-1.0-py3-none-any.whl"))
    assert found_by_one_only(said, [APP], without) == []
    half = environment("torch", targets=[L12, M12], sources={"torch@linux-x86_64": "cpu"})
    assert found_by_one_only(said, [half], without) == []


OLD = record("torch-1.0-py3-none-any.whl")


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        record("torch-1.1-py3-none-any.whl"),
        record("torch-1.0-py3-none-any.whl", index="gpu", bytes_of="!"),
        record("torch-1.0-py3-none-any.whl", package="other", bytes_of="!"),
    ],
)
def test_other_files_and_other_indexes_are_no_change_of_bytes(new: SourceRecord) -> None:
    check_bytes([new], [OLD], frozenset())


def test_other_bytes_under_one_name_stop_the_run_unless_they_are_asked_for() -> None:
    new = record("torch-1.0-py3-none-any.whl", bytes_of="!")
    with pytest.raises(HashMismatchError) as caught:
        check_bytes([new], [OLD], frozenset({"other"}))
    assert caught.value.where == "torch-1.0-py3-none-any.whl"
    for text in ("the index cpu", OLD.files[0][1], new.files[0][1]):
        assert text in caught.value.what
    assert "`lockgrid lock -P torch`" in caught.value.next_step
    check_bytes([new], [OLD], frozenset({"torch"}))
    check_bytes([new], [OLD], None)


GONE, NEW = "a-1.0-py3-none-any.whl", index_file("a-1.0-py2.py3-none-any.whl")


@pytest.mark.parametrize(
    ("listed", "version", "index", "upgrade", "said"),
    [
        ([NEW], "1.0", "", "", True),
        ([NEW, index_file(GONE)], "1.0", "", "", False),  # the locked file is still there
        ([NEW], "1.1", "", "", False),
        ([NEW], "1.0", "", "a", False),
        ([NEW], "1.0", "cpu", "", False),  # it came from elsewhere when it was locked
    ],
)
def test_a_pin_whose_files_are_all_gone_is_told(
    listed: list[object], version: str, index: str, upgrade: str, said: bool
) -> None:
    old = {
        ("app", "linux-x86_64"): Lockfile(
            environment="app", platform="x", pythons=("3.12",), sdists=(), pins=(locked("a", version, ["3.12"], GONE),)
        )
    }
    known = facts(page("a", *listed), page("a@cpu", *listed))  # type: ignore[arg-type]
    cells = proven(cell("app", L12, pin("a", "1.0", NEW, index)))
    found = replaced_files(cells, old, [], known, frozenset({upgrade}))
    assert len(found) == said
    assert all(f"locks/app/linux-x86_64.txt, and {NEW.filename} takes its place" in line for line in found)


def test_what_an_installer_needs_is_said_by_name() -> None:
    assert source_lines([]) == []
    command = 'UV_INDEX="cpu=<its URL> house=<its URL>" UV_INDEX_STRATEGY=unsafe-best-match'
    assert source_lines([OLD, record("x-1.0-py3-none-any.whl", index="house")]) == [
        "app: torch comes from the index cpu on linux-x86_64",
        "app: torch comes from the index house on linux-x86_64",
        f"to install these locks, uv needs: {command}",
    ]
