"""Proofs 4 and 5 put together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.judge import CellJudge, decode_findings, encode_findings, judge_wheels, judgement_key, stdlib_names
from lockgrid.model.contents import Binary, Code, Contents, Fault, Member, Need
from lockgrid.model.finding import FILE_KINDS, KINDS, Finding
from lockgrid.model.grid import Pin
from lockgrid.model.target import Platform
from unit.builders import LINUX, MAC, digest, index_file, pin, target

NEW = Need(version="GLIBC_2.30", library="libc.so.6", symbol="f")


def elf(path: str, *needs: Need, libraries: tuple[str, ...] = ()) -> Binary:
    return Binary(path=path, format="ELF", codes=(Code(machine="X86_64"),), needs=needs, libraries=libraries)


def wheel(name: str, *binaries: Binary, files: tuple[str, ...] = (), faults: tuple[Fault, ...] = ()) -> Contents:
    members = tuple(Member(path=path, sha256=digest(name + path), crc=0, size=1) for path in files)
    filename = f"{name}-1-py3-none-manylinux2014_x86_64.whl"
    return Contents(filename=filename, members=members, binaries=binaries, faults=faults)


def pinned(contents: Contents) -> Pin:
    name = contents.filename.partition("-")[0]
    return pin(name, "1", index_file(contents.filename))


def judged(*wheels: Contents, platform: Platform = LINUX, python: str = "3.12") -> list[tuple[str, str]]:
    pins = [pinned(one) for one in wheels]
    judge = CellJudge({p.file.sha256: one for p, one in zip(pins, wheels, strict=True)})
    return [(found.severity, found.name) for found in judge.findings(target(platform, python), pins)]


def test_a_cell_is_judged_against_its_floor_and_a_wheel_by_itself_against_its_tag() -> None:
    new = wheel("a", elf("a.so", NEW))
    assert judged(new) == [("error", "glibc:a")]
    assert judged(new, platform=Platform(name="linux-x86_64", floor=(2, 30))) == []
    assert [f.what for f in judge_wheels([new], "3.12")] == [
        "it needs glibc 2.30, and its tag manylinux2014_x86_64 promises glibc 2.17"
    ]


def test_a_library_may_be_in_another_wheel_of_the_cell() -> None:
    user, owner = wheel("a", elf("a.so", libraries=("libb.so",))), wheel("b", elf("b/libb.so"))
    assert judged(user) == [("warning", "library:a:libb.so")]
    assert judged(user, owner) == []
    assert judge_wheels([user, owner], "3.12") == ()


def test_archives_files_and_binaries_are_judged_and_errors_come_first() -> None:
    fault = Fault(kind="symlink", path="x", what="it is one")
    one = wheel("a", elf("a.so", NEW), files=("x/__init__.py",), faults=(fault,))
    other = wheel("b", files=("x/__init__.py", "tests/__init__.py"))
    assert judged(one, other) == [
        ("error", "code-clash:x/"),
        ("error", "glibc:a"),
        ("warning", "generic:tests"),
        ("warning", "symlink:a"),
    ]


def test_wheels_that_are_not_in_the_cell_say_nothing_about_it() -> None:
    wheels = [wheel(name, files=("x/__init__.py",)) for name in ("a", "b")]
    pins = [pinned(one) for one in wheels]
    judge = CellJudge({p.file.sha256: one for p, one in zip(pins, wheels, strict=True)})
    assert judge.findings(target(), pins[:1]) == judge.findings(target(), pins[1:]) == ()
    assert len(judge.findings(target(), pins)) == 1


def test_what_a_sdist_will_hold_is_not_judged_and_that_is_said() -> None:
    sdist = pin("a", "1", index_file("a-1.tar.gz"))
    (finding,) = CellJudge({}).findings(target(), [sdist])
    assert (finding.severity, finding.name, finding.wheels) == ("warning", "unread:a", ("a-1.tar.gz",))


@pytest.mark.parametrize(("python", "said"), [("3.11", True), ("3.12", False), ("3.99", True)])
def test_the_standard_library_is_that_of_the_cells_python(python: str, said: bool) -> None:
    assert (
        judged(wheel("a", files=("distutils/__init__.py",)), python=python) == [("warning", "stdlib:distutils")] * said
    )


def test_the_standard_library_of_an_unknown_python_is_that_of_any() -> None:
    assert stdlib_names("3.14") < stdlib_names("3.99")


def test_a_judgement_is_of_files_floor_python_and_nothing_else() -> None:
    one, other = pin("a", "1", index_file("a-1-py3-none-any.whl")), pin("b", "1", index_file("b-1-py3-none-any.whl"))
    keys = [
        judgement_key(target(), [one]),
        judgement_key(target(), [other]),
        judgement_key(target(), [one, other]),
        judgement_key(target(python="3.11"), [one]),
        judgement_key(target(MAC), [one]),
        judgement_key(target(Platform(name="linux-x86_64", floor=(2, 99))), [one]),
    ]
    assert len(set(keys)) == len(keys)
    assert judgement_key(target(), [other, one]) == keys[2]


def test_findings_come_back_from_the_cache_as_they_were() -> None:
    finding = Finding(
        name="glibc:a", severity="error", wheels=("a.whl",), what="w", files=("f", "g"), count=9, needs="n", has="h"
    )
    found = (finding, replace(finding, wheels=(), files=()))
    assert decode_findings(encode_findings(found)) == found


def test_every_kind_of_proof_5_is_a_kind() -> None:
    assert set(KINDS) > FILE_KINDS
