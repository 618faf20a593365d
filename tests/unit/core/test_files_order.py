"""Findings are of what wheels hold: not of the order in which they were read, nor of what RECORD or a name claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lockgrid.core.binaries import judge_binaries
from lockgrid.core.files import FileJudge
from lockgrid.core.floor import floors_of
from lockgrid.core.judge import judge_wheels
from lockgrid.model.contents import Binary, Code, Contents, Member, Need
from lockgrid.model.finding import Finding


def wheel(name: str, *members: Member, scripts: dict[str, str] | None = None) -> Contents:
    return Contents(
        filename=f"{name}-1-py3-none-any.whl",
        members=members,
        binaries=(),
        scripts=tuple((scripts or {}).items()),
    )


def member(path: str, sha256: str, crc: int = 0, size: int = 1) -> Member:
    return Member(path=path, sha256=sha256, crc=crc, size=size)


def findings(wheels: Sequence[Contents]) -> list[Finding]:
    named = {one.filename: one for one in wheels}
    return FileJudge(named).findings(sorted(named), set())


THREE = [
    wheel(name, member("flat.py", name, crc), member("more.py", name, crc), scripts={"run": f"{name}:main"})
    for crc, name in enumerate(("a", "b", "c"))
]


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
def test_findings_do_not_depend_on_the_order_in_which_wheels_were_read(order: tuple[int, int, int]) -> None:
    assert findings([THREE[at] for at in order]) == findings(THREE)


def test_what_and_has_speak_of_the_same_path() -> None:
    one, other = (
        wheel(name, member("run.py", name, crc), scripts={"run.py": f"{name}:main"})
        for crc, name in enumerate(("a", "b"))
    )
    for finding in findings([one, other]):
        assert ("bin/" in finding.what) == ("entry point" in finding.has)


def test_a_record_that_states_the_hash_of_another_file_hides_no_clash() -> None:
    """What an archive holds is told by its own CRC and size too."""
    one, other = wheel("a", member("m.py", "same", 1)), wheel("b", member("m.py", "same", 2))
    assert [finding.name for finding in findings([one, other])] == ["code-clash:m.py"]


def test_another_packages_dist_info_is_found() -> None:
    """Two pins that install one path with different content: METADATA of a pin is one of its files."""
    own = wheel("a", member("a-1.dist-info/METADATA", "1", 1))
    guest = wheel("b", member("b-1.dist-info/METADATA", "2", 2), member("a-1.dist-info/METADATA", "3", 3))
    assert findings([own, guest])


USER = Contents(
    filename="a-1-py3-none-manylinux2014_x86_64.whl",
    members=(member("a/x.so", ""),),
    binaries=(
        Binary(
            path="a/x.so",
            format="ELF",
            codes=(Code(machine="X86_64"),),
            needs=(Need(version="GLIBCXX_3.4.32", library="libstdc++.so.6"),),
            libraries=("libstdc++.so.6",),
        ),
    ),
)


@pytest.mark.parametrize("path", ["a/docs/libstdc++.so.6", "libstdc++.so.6.txt/libstdc++.so.6"])
def test_a_file_that_is_only_called_like_a_library_satisfies_nobody(path: str) -> None:
    with_text = replace(USER, members=(*USER.members, member(path, "")))
    found = judge_binaries(with_text, floors_of(USER.filename))
    assert [finding.name for finding in found] == ["glibcxx:a"]


def test_a_libstdcxx_of_another_wheel_does_not_silence_the_error() -> None:
    """docs/audit.md: unless the wheel brings the library along."""
    other = replace(USER, filename="b-1-py3-none-manylinux2014_x86_64.whl", binaries=())
    other = replace(other, members=(member("b/docs/libstdc++.so.6", ""),))
    assert [finding.name for finding in judge_wheels([USER, other], "3.12")] == ["glibcxx:a"]
