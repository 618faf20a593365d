"""Exports as text: golden files, and what each format must hold."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Environment
from packaging.pylock import PackageSdist, PackageWheel, Pylock, PylockSelectError, PylockValidationError
from packaging.requirements import Requirement

from lockgrid.core.export import Export, IndexUrls, gather
from lockgrid.core.render.constraints import render_constraints
from lockgrid.core.render.exported import mixed_sdists, render_requirements
from lockgrid.core.render.pylock import as_pylock, render_pylock
from lockgrid.core.targets import marker_environments, target_tags
from lockgrid.model.target import Target
from unit.builders import LINUX, MAC, WINDOWS, cell, golden, index_file, pin, target
from unit.exports import CELLS, MANY, MANY_URLS, ONE, TARGETS, URLS

ASKED = (render_requirements, render_pylock)


@pytest.mark.parametrize(
    ("name", "export", "urls"),
    [
        ("export-one.txt", ONE, URLS),
        ("export-one-no-urls.txt", ONE, None),
        ("export-many.txt", MANY, MANY_URLS),
    ],
)
def test_requirements_as_they_are_written(name: str, export: Export, urls: IndexUrls | None) -> None:
    golden(name, render_requirements(export, urls))


@pytest.mark.parametrize(("name", "export"), [("constraints-one.txt", ONE), ("constraints-many.txt", MANY)])
def test_constraints_as_they_are_written(name: str, export: Export) -> None:
    golden(name, render_constraints(export))


@pytest.mark.parametrize(
    ("name", "export", "urls"), [("pylock.one.toml", ONE, URLS), ("pylock.many.toml", MANY, MANY_URLS)]
)
def test_a_pylock_as_it_is_written(name: str, export: Export, urls: IndexUrls) -> None:
    golden(name, render_pylock(export, urls))


# -- requirements and constraints -------------------------------------------------------------------------


def requirements(text: str) -> list[tuple[Requirement, list[str]]]:
    lines = text.replace("\\\n", " ").splitlines()
    split = [re.split(r"\s+--hash=sha256:", line) for line in lines if line and not line.startswith(("#", "-"))]
    return [(Requirement(head), [digest.strip() for digest in hashes]) for head, *hashes in split]


def chosen(text: str, where: Target) -> dict[str, tuple[str, list[str]]]:
    """Name to version and hashes of what a target installs out of a requirements file."""
    environment = {**marker_environments(where)[0]}
    found = [(r, h) for r, h in requirements(text) if r.marker is None or r.marker.evaluate(environment)]
    assert len({r.name for r, _ in found}) == len(found)
    return {r.name: (str(r.specifier), h) for r, h in found}


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_each_target_is_told_its_own_pins_with_a_hash_of_its_file(number: int) -> None:
    where, wanted = TARGETS[number], CELLS[number]
    for text in (render_requirements(MANY, URLS), render_requirements(gather([wanted]), URLS)):
        found = chosen(text, where)
        assert {name: version for name, (version, _) in found.items()} == {
            p.name: f"=={p.version}" for p in wanted.pins
        }
        for one in wanted.pins:
            assert one.file.sha256 in found[one.name][1]
    constraints = chosen(render_constraints(MANY), where)
    assert constraints == {p.name: (f"=={p.version}", []) for p in wanted.pins}


def test_one_target_has_exactly_one_hash_a_pin_and_no_marker() -> None:
    for requirement, hashes in requirements(render_requirements(ONE, None)):
        assert len(hashes) == 1
        assert requirement.marker is None


@pytest.mark.parametrize("where", [target(LINUX, "3.10"), target(LINUX, "3.13"), target(MAC, "3.11")])
def test_a_target_outside_is_told_what_cannot_be_installed(where: Target) -> None:
    found = chosen(render_requirements(MANY, URLS), where)
    assert found["this-target-is-not-in-the-export"] == ("==0", ["0" * 64])


def test_no_url_is_in_what_must_hold_none() -> None:
    for text in (render_requirements(ONE, None), render_requirements(MANY, None), render_constraints(MANY)):
        assert "://" not in text
        assert "--index-url" not in text
        assert "--extra-index-url" not in text


def test_the_default_index_comes_last_for_uv() -> None:
    lines = render_requirements(MANY, MANY_URLS).splitlines()
    assert [line for line in lines if "index-url" in line] == [
        "--index-url https://index.example/simple",
        "--extra-index-url https://cpu.example/simple",
        "--extra-index-url https://first.example/simple",
    ]


def test_an_index_that_no_pin_comes_from_is_not_named() -> None:
    export = gather([cell("app", target(), pin("plain", "1"))])
    text = render_requirements(export, URLS)
    assert "cpu.example" not in text
    assert "unsafe-best-match" not in text


def test_a_package_that_some_build_and_some_do_not_is_told() -> None:
    built = cell("app", target(MAC), pin("tree", "4.9", index_file("tree-4.9.tar.gz")))
    assert mixed_sdists(gather([built])) == ()
    assert mixed_sdists(gather([built, cell("app", target(LINUX), pin("tree", "4.9"))])) == ("tree",)


# -- pylock -----------------------------------------------------------------------------------------------


def read(text: str) -> Pylock:
    return Pylock.from_dict(tomllib.loads(text))


def select(lock: Pylock, where: Target) -> dict[str, tuple[str, str]]:
    """Name to version and sha256 of what an installer on a target takes."""
    first = marker_environments(where)[0]
    environment = cast("Environment", first)
    found = {}
    for package, file in lock.select(environment=environment, tags=target_tags(where)):
        found[str(package.name)] = (str(package.version), file.hashes["sha256"])  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_an_installer_selects_exactly_the_cell(number: int) -> None:
    wanted = {p.name: (p.version, p.file.sha256) for p in CELLS[number].pins}
    assert select(read(render_pylock(MANY, URLS)), TARGETS[number]) == wanted
    assert select(read(render_pylock(gather([CELLS[number]]), URLS)), TARGETS[number]) == wanted


@pytest.mark.parametrize("where", [target(LINUX, "3.10"), target(LINUX, "3.13"), target(MAC, "3.11")])
def test_an_installer_on_another_target_is_refused(where: Target) -> None:
    for export in (ONE, MANY):
        with pytest.raises(PylockSelectError):
            select(read(render_pylock(export, URLS)), where)


def test_a_target_in_a_gap_is_refused_though_every_wheel_would_do() -> None:
    """Between the Pythons of one platform, and with a Python that only another platform has."""
    export = gather([cell("app", where, pin("plain", "1")) for where in (target(LINUX, "3.10"), target(MAC, "3.12"))])
    lock = read(render_pylock(export, URLS))
    for where in (target(LINUX, "3.11"), target(LINUX, "3.12"), target(MAC, "3.10"), target(WINDOWS, "3.12")):
        with pytest.raises(PylockSelectError):
            select(lock, where)
    assert select(lock, target(LINUX, "3.10")) == {"plain": ("1", export.pins[0].files[0].sha256)}


def test_what_is_read_back_is_what_was_meant() -> None:
    for export, urls in ((ONE, URLS), (MANY, URLS), (MANY, MANY_URLS)):
        meant = as_pylock(export, urls)
        assert read(render_pylock(export, urls)).to_dict() == meant.to_dict()
        assert meant.created_by == "lockgrid"


def test_every_file_has_its_url_size_hash_and_time() -> None:
    lock = read(render_pylock(MANY, URLS))
    files = {file.sha256: file for one in CELLS for file in (p.file for p in one.pins)}
    seen = set()
    for package in lock.packages:
        listed: list[PackageWheel | PackageSdist] = [*(package.wheels or ())]
        listed += [package.sdist] if package.sdist else []
        for found in listed:
            file = files[found.hashes["sha256"]]
            assert (found.url, found.size, found.upload_time) == (file.url, file.size, file.uploaded)
            assert found.filename == file.filename
            seen.add(file.sha256)
    assert seen == files.keys()


def test_a_package_names_the_index_that_serves_it() -> None:
    found = [(str(p.name), p.index) for p in read(render_pylock(MANY, URLS)).packages if p.name == "torch"]
    assert found == [("torch", "https://index.example/simple"), ("torch", "https://cpu.example/simple")]
    assert {p.index for p in as_pylock(MANY, MANY_URLS).packages} == {None, "https://cpu.example/simple"}


def test_a_url_that_ends_in_another_name_is_told_the_name() -> None:
    file = replace(index_file("a-1-py3-none-any.whl"), url="https://index.example/blob/42")
    (package,) = read(render_pylock(gather([cell("app", target(), pin("a", "1", file))]), URLS)).packages
    assert package.wheels
    assert (package.wheels[0].name, package.wheels[0].filename) == (file.filename, file.filename)


def test_a_file_that_no_pylock_may_hold_is_refused() -> None:
    export = gather([cell("app", target(), pin("a", "1", index_file("b-1-py3-none-any.whl")))])
    with pytest.raises(PylockValidationError):
        render_pylock(export, URLS)


@given(st.permutations(CELLS))
def test_the_order_of_the_cells_does_not_change_a_byte(cells: list[object]) -> None:
    export = gather(cells)  # type: ignore[arg-type]
    assert render_pylock(export, URLS) == render_pylock(MANY, URLS)
    assert render_requirements(export, URLS) == render_requirements(MANY, URLS)
    assert render_constraints(export) == render_constraints(MANY)
