"""From a pylock.toml to the files of each target."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from lockgrid.core.select import Selection, parse_pylocks, select
from lockgrid.errors import ToolError
from lockgrid.model.grid import Pin
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Target
from unit.builders import HOST, LINUX, MAC, WINDOWS, digest, target

ANY = "py3-none-any"
L312 = "cp312-cp312-manylinux_2_28_x86_64"


def package(name: str, version: str, *tags: str, marker: str = "", sdist: bool = False) -> str:
    """One package of a pylock.toml."""
    lines = ["[[packages]]", f'name = "{name}"', f'version = "{version}"']
    if marker:
        lines.append(f"marker = {json.dumps(marker)}")
    if sdist:
        lines.append(f"sdist = {entry(f'{name}-{version}.tar.gz')}")
    if tags:
        wheels = ", ".join(entry(f"{name}-{version}-{tag}.whl") for tag in tags)
        lines.append(f"wheels = [{wheels}]")
    return "\n".join(lines) + "\n"


def entry(filename: str) -> str:
    when = "2026-05-01T00:00:00Z"
    return (
        f'{{ url = "{HOST}/files/{filename}", upload-time = {when}, size = 7, '
        f'hashes = {{ sha256 = "{digest(filename)}" }} }}'
    )


def lock(*packages: str) -> str:
    return 'lock-version = "1.0"\ncreated-by = "uv"\nrequires-python = ">=3.10"\n\n' + "\n".join(packages)


def selected(
    *packages: str, targets: Sequence[Target] = (target(),), sdists: Sequence[str] = ()
) -> dict[Target, Selection]:
    return select(parse_pylocks([lock(*packages)])[0], targets, frozenset(sdists))


def files(selection: Selection) -> list[str]:
    return [pin.file.filename for pin in selection.pins]


def test_each_target_gets_its_own_file_sorted_by_name() -> None:
    mac, windows = target(MAC), target(WINDOWS, "3.11")
    found = selected(
        package("b", "1.0", ANY),
        package("a", "1.0", L312, "cp311-cp311-win_amd64", "cp312-cp312-macosx_11_0_arm64", ANY),
        targets=[target(), mac, windows],
    )
    assert {where: files(selection) for where, selection in found.items()} == {
        target(): [f"a-1.0-{L312}.whl", f"b-1.0-{ANY}.whl"],
        mac: ["a-1.0-cp312-cp312-macosx_11_0_arm64.whl", f"b-1.0-{ANY}.whl"],
        windows: ["a-1.0-cp311-cp311-win_amd64.whl", f"b-1.0-{ANY}.whl"],
    }


def test_a_pin_has_all_that_the_lock_says_of_its_file() -> None:
    (selection,) = selected(package("a", "1.0", ANY)).values()
    filename = f"a-1.0-{ANY}.whl"
    file = IndexFile(
        filename=filename,
        url=f"{HOST}/files/{filename}",
        sha256=digest(filename),
        size=7,
        uploaded=datetime(2026, 5, 1, tzinfo=UTC),
    )
    assert selection == Selection(pins=(Pin(name="a", version="1.0", file=file),))


def test_markers_decide_what_a_target_gets() -> None:
    found = selected(
        package("a", "1.0", ANY, marker="python_version < '3.12'"),
        package("a", "2.0", ANY, marker="python_version >= '3.12'"),
        package("b", "1.0", ANY, marker="sys_platform == 'win32'"),
        targets=[target(LINUX, "3.11"), target(LINUX, "3.12"), target(WINDOWS, "3.12")],
    )
    assert [[f"{p.name}=={p.version}" for p in s.pins] for s in found.values()] == [
        ["a==1.0"],
        ["a==2.0"],
        ["a==2.0", "b==1.0"],
    ]


def test_the_cell_holds_what_either_end_of_a_python_needs() -> None:
    (selection,) = selected(
        package("early", "1.0", ANY, marker="python_full_version < '3.12.4'"),
        package("late", "1.0", ANY, marker="python_full_version >= '3.12.4'"),
        package("never", "1.0", ANY, marker="python_full_version < '3.12'"),
        package("also", "1.0", ANY, marker="implementation_version >= '3.12.1'"),
    ).values()
    assert [pin.name for pin in selection.pins] == ["also", "early", "late"]
    assert selection.conflicts == ()


def test_two_versions_by_the_patch_of_python_are_a_conflict() -> None:
    (selection,) = selected(
        package("a", "1.0", ANY, marker="python_full_version < '3.12.4'"),
        package("a", "2.0", ANY, marker="python_full_version >= '3.12.4'"),
    ).values()
    assert selection.conflicts == ("a is 1.0 or 2.0, by the patch version of Python",)


def test_two_versions_for_one_target_are_a_conflict() -> None:
    (selection,) = selected(package("a", "1.0", ANY), package("a", "2.0", ANY)).values()
    assert selection.pins == ()
    assert len(selection.conflicts) == 1
    assert "a" in selection.conflicts[0]


@pytest.mark.parametrize("variable", ["platform_release", "platform_version"])
def test_a_marker_on_a_kernel_is_a_conflict_for_every_target(variable: str) -> None:
    found = selected(
        package("a", "1.0", ANY),
        package("b", "1.0", ANY, marker=f"{variable} == 'x' and sys_platform == 'win32'"),
        targets=[target(), target(WINDOWS)],
    )
    for selection in found.values():
        assert selection.conflicts == (f"a marker uses {variable}, which no target fixes",)


def test_a_package_without_a_file_for_the_target_is_unservable_and_the_rest_is_selected() -> None:
    found = selected(
        package("a", "1.0", "cp312-cp312-win_amd64"),
        package("b", "1.0", ANY),
        package("c", "1.0", "cp312-cp312-manylinux_2_34_x86_64", sdist=True),
        package("d", "1.0", "cp312-cp312-win_amd64", marker="sys_platform == 'win32'"),
        targets=[target(), target(WINDOWS)],
    )
    linux, windows = found.values()
    assert linux.unservable == (("a", "1.0"), ("c", "1.0"))
    assert files(linux) == [f"b-1.0-{ANY}.whl"]
    assert windows.unservable == (("c", "1.0"),)
    assert [pin.name for pin in windows.pins] == ["a", "b", "d"]


def test_an_unservable_package_of_one_end_of_a_python_counts_once() -> None:
    (selection,) = selected(
        package("a", "1.0", "cp312-cp312-win_amd64"),
        package("b", "1.0", "cp312-cp312-win_amd64", marker="python_full_version >= '3.12.4'"),
    ).values()
    assert selection.unservable == (("a", "1.0"), ("b", "1.0"))


def test_a_sdist_is_selected_only_where_it_is_named_and_no_wheel_suits() -> None:
    packages = [package("a", "1.0", sdist=True), package("b", "1.0", ANY, sdist=True)]
    (refused,) = selected(*packages).values()
    assert (files(refused), refused.unservable) == ([f"b-1.0-{ANY}.whl"], (("a", "1.0"),))
    (named,) = selected(*packages, sdists=["a", "b"]).values()
    assert (files(named), named.unservable) == (["a-1.0.tar.gz", f"b-1.0-{ANY}.whl"], ())


def test_who_needs_a_sdist_on_one_python_has_it_on_all_of_that_platform() -> None:
    found = selected(
        package("a", "1.0", L312, "cp312-cp312-macosx_11_0_arm64", sdist=True),
        package("b", "1.0", L312, ANY, sdist=True),
        targets=[target(LINUX, "3.11"), target(LINUX, "3.12"), target(MAC, "3.12")],
        sdists=["a", "b"],
    )
    assert [files(selection)[0] for selection in found.values()] == [
        "a-1.0.tar.gz",
        "a-1.0.tar.gz",
        "a-1.0-cp312-cp312-macosx_11_0_arm64.whl",
    ]
    assert [files(selection)[1] for selection in found.values()] == [
        f"b-1.0-{ANY}.whl",
        f"b-1.0-{L312}.whl",
        f"b-1.0-{ANY}.whl",
    ]


def test_locks_that_share_packages_are_read_as_each_by_itself() -> None:
    shared, marked = package("a", "1.0", ANY, L312), package("b", "2.0", ANY, marker="python_version < '3.12'")
    texts = [lock(shared, marked), lock(shared), lock(package("a", "1.1", ANY), shared), lock(marked, shared)]
    assert parse_pylocks(texts) == [parse_pylocks([text])[0] for text in texts]
    # Another head, or something that only looks like the start of a package: each by itself then.
    odd = [lock(shared).replace('"uv"', '"another"'), lock(shared + 'x = """\n[[packages]]\n"""\n')]
    assert [len(found.packages) for found in parse_pylocks([*texts, *odd])] == [2, 1, 2, 2, 1, 1]


@pytest.mark.parametrize(
    "text",
    ["not = [toml", "", 'lock-version = "9.0"\ncreated-by = "uv"\npackages = []\n', lock("[[packages]]\nname = 1\n")],
)
def test_what_is_no_pylock_is_a_tool_error(text: str) -> None:
    with pytest.raises(ToolError, match=r"uv exported a pylock\.toml that packaging does not accept"):
        parse_pylocks([text])


def test_something_that_is_neither_wheel_nor_sdist_is_a_tool_error() -> None:
    archive = '[[packages]]\nname = "a"\narchive = { url = "x.zip", hashes = { sha256 = "00" } }\n'
    with pytest.raises(ToolError):
        selected(archive)
