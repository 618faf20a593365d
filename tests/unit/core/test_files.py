"""Proof 5: no two wheels install one path with different content, and none shadows another's module."""

from __future__ import annotations

import pytest

from lockgrid.core.archive import judge_archive
from lockgrid.core.files import FileJudge, install_path
from lockgrid.core.floor import may_meet
from lockgrid.model.contents import Contents, Fault, Member
from lockgrid.model.finding import Finding

Content = str | tuple[int, int]


def wheel(name: str, *files: str, scripts: dict[str, str] | None = None, **hashes: str) -> Contents:
    """``path`` has content by its own name; ``path=content`` has that."""
    members = [file.partition("=")[::2] for file in files]
    return Contents(
        filename=f"{name}-1-py3-none-any.whl",
        members=tuple(Member(path=p, sha256=f"{c or p}", crc=0, size=1) for p, c in members),
        binaries=(),
        scripts=tuple((scripts or {}).items()),
    )


def judged(*wheels: Contents) -> list[tuple[str, str]]:
    return [(finding.severity, finding.name) for finding in findings(*wheels)]


def findings(*wheels: Contents) -> list[Finding]:
    named = {wheel.filename: wheel for wheel in wheels}
    return FileJudge(named).findings(named, {"json", "typing"}, may_meet)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("a/b.py", "site-packages/a/b.py"),
        ("a-1.data/purelib/a/b.py", "site-packages/a/b.py"),
        ("a-1.data/platlib/a/b.so", "site-packages/a/b.so"),
        ("a-1.data/scripts/run", "bin/run"),
        ("a-1.data/data/bin/run", "bin/run"),
        ("a-1.data/data/share/x", "share/x"),
        ("a-1.data/headers/x.h", "include/pkg/x.h"),
        ("a.data", "site-packages/a.data"),
        ("a.data/x", "site-packages/a.data/x"),
    ],
)
def test_members_go_where_their_scheme_says(path: str, place: str) -> None:
    assert install_path(path, "pkg") == place


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("x/__init__.py=1", "x/__init__.py=2", [("error", "code-clash:x/")]),
        ("x/__init__.py=1", "x/__init__.py=1", []),
        ("x/__init__.py=1", "a-1.data/platlib/x/__init__.py=2", [("error", "code-clash:x/")]),
        ("./x.py=1", "x.py=2", [("error", "code-clash:x.py")]),
        ("x//a.py=1", "x/a.py=2", [("error", "code-clash:x/")]),
        ("x.pth=1", "x.pth=2", [("error", "code-clash:x.pth")]),
        ("x.py=1", "x.py=2", [("error", "code-clash:x.py")]),
        ("x.so=1", "x.so=2", [("error", "code-clash:x.so")]),
        ("LICENSE=1", "LICENSE=2", [("warning", "file-clash:LICENSE")]),
        ("a-1.data/data/share/x=1", "b-1.data/data/share/x=2", [("warning", "file-clash:share/x")]),
        ("a-1.data/scripts/run=1", "b-1.data/data/bin/run=2", [("warning", "file-clash:run")]),
        ("a-1.data/scripts/run.exe=1", "b-1.data/scripts/run=2", [("warning", "file-clash:run")]),
        ("a-1.dist-info/RECORD=1", "b-1.dist-info/RECORD=2", []),
        ("x/a.py", "x/b.py", []),
        ("x/__init__.py", "x/b.py", [("warning", "guest:x")]),
        ("x/__init__.py", "x.py", [("error", "shadow:x")]),
        ("x.py", "x.cpython-312-x86_64-linux-gnu.so", [("error", "shadow:x")]),
        ("x/__init__.py", "x/data.txt", []),
        ("x/__init__.py", "y/__init__.py", []),
    ],
)
def test_two_wheels_and_one_path(one: str, other: str, found: list[tuple[str, str]]) -> None:
    assert judged(wheel("a", one), wheel("b", other)) == found
    assert judged(wheel("b", other), wheel("a", one)) == found
    assert judged(wheel("a", one, other) if one != other else wheel("a", one)) == []


def test_scripts_of_entry_points_clash_by_their_target() -> None:
    a, b = wheel("a", scripts={"run": "a:main"}), wheel("b", scripts={"run": "b:main"})
    (finding,) = findings(a, b)
    assert (finding.severity, finding.name, finding.files) == ("warning", "file-clash:run", ("bin/run",))
    assert finding.has == "a: entry point a:main; b: entry point b:main"
    assert finding.wheels == (a.filename, b.filename)
    assert judged(a, wheel("b", scripts={"run": "a:main"})) == []
    assert judged(a, wheel("b", "b-1.data/scripts/run")) == [("warning", "file-clash:run")]


def test_without_hashes_checksum_and_size_are_compared() -> None:
    def bare(name: str, crc: int) -> Contents:
        member = Member(path="x.py", sha256="", crc=crc, size=1)
        return Contents(filename=f"{name}-1-py3-none-any.whl", members=(member,), binaries=())

    assert judged(bare("a", 1), bare("b", 1)) == []
    assert judged(bare("a", 1), bare("b", 2)) == [("error", "code-clash:x.py")]


def test_wheels_that_never_meet_are_not_compared() -> None:
    a = wheel("a", "x.py=1")
    assert judged(a, Contents(filename="a-2-py3-none-any.whl", members=wheel("a", "x.py=2").members, binaries=())) == []


def test_clashes_of_one_package_are_one_finding() -> None:
    files = [f"x/{number}.py" for number in range(9)]
    one, other = (wheel(name, *(f"{file}={name}" for file in files)) for name in "ab")
    (finding,) = findings(one, other)
    assert (finding.name, finding.count, len(finding.files)) == ("code-clash:x/", 9, 5)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tests/__init__.py", [("warning", "generic:tests")]),
        ("Tests/a.py", [("warning", "generic:Tests")]),
        ("utils.py", [("warning", "generic:utils")]),
        ("json/__init__.py", [("warning", "stdlib:json")]),
        ("typing.py", [("warning", "stdlib:typing")]),
        ("tests/data.txt", [("warning", "generic:tests")]),
        ("a/tests/__init__.py", []),
        ("a-1.data/data/docs/conf.py", []),
        ("distutils-precedence.pth", []),
    ],
)
def test_names_of_the_standard_library_and_of_everybody_are_told(path: str, found: list[tuple[str, str]]) -> None:
    assert judged(wheel("a", path)) == found


def test_all_wheels_with_a_generic_name_are_in_one_finding() -> None:
    (finding,) = findings(wheel("a", "tests/a.py"), wheel("b", "tests/b.py"), wheel("c", "c.py"))
    assert finding.wheels == ("a-1-py3-none-any.whl", "b-1-py3-none-any.whl")


def test_faults_of_a_kind_are_one_finding() -> None:
    faults = [Fault(kind="corrupt", path=f"f{n}", what=f"broken {n}") for n in range(7)]
    contents = Contents(
        filename="A.b-1-py3-none-any.whl",
        members=(),
        binaries=(),
        faults=(*faults, Fault(kind="size", path="", what="too much"), Fault(kind="unread", path="z", what="why")),
    )
    found = judge_archive(contents)
    assert [(f.severity, f.name, f.count, len(f.files)) for f in found] == [
        ("error", "corrupt:a-b", 7, 5),
        ("error", "size:a-b", 0, 0),
        ("warning", "unread:a-b", 1, 1),
    ]
    assert found[0].what == "it cannot be unpacked: broken 0"


def test_a_project_may_have_the_generic_name_itself() -> None:
    assert judged(wheel("build", "build/__init__.py")) == []
    assert judged(wheel("a", "build/__init__.py")) == [("warning", "generic:build")]
