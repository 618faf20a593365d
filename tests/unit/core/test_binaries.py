"""Proof 4: what is inside a wheel agrees with the floor that it has to work on."""

from __future__ import annotations

import pytest

from lockgrid.core.binaries import judge_binaries
from lockgrid.core.floor import Floor, floor_text, floors_of, may_meet, target_floor
from lockgrid.core.manylinux import is_offered, symbol_limits
from lockgrid.model.contents import Binary, Code, Contents, Format, Member, Need
from lockgrid.model.finding import FILES_SHOWN, Finding
from lockgrid.model.target import Platform
from unit.builders import LINUX, MAC, WINDOWS, target

OLD = "a-1-py3-none-manylinux2014_x86_64.whl"


def need(text: str, library: str = "libc.so.6") -> Need:
    return Need(version=text, library=library, symbol="f")


def binary(
    *needs: Need,
    path: str = "a/x.so",
    machine: str = "X86_64",
    libraries: tuple[str, ...] = (),
    minimum: tuple[int, ...] | None = None,
    form: Format = "ELF",
    linked: bool = True,
) -> Binary:
    codes = tuple(Code(machine=name, minimum=minimum) for name in machine.split())
    return Binary(path=path, format=form, codes=codes, needs=needs, libraries=libraries, linked=linked)


def judged(
    filename: str, *binaries: Binary, files: tuple[str, ...] = (), provided: tuple[str, ...] = ()
) -> list[Finding]:
    members = tuple(Member(path=path, sha256="", crc=0, size=0) for path in files)
    contents = Contents(filename=filename, members=members, binaries=binaries)
    return judge_binaries(contents, floors_of(filename), provided=provided)


def names(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.severity, finding.name) for finding in found]


@pytest.mark.parametrize(
    ("tags", "texts"),
    [
        ("py3-none-any", ["no platform"]),
        ("cp312-cp312-manylinux2014_x86_64.manylinux_2_28_x86_64", ["glibc 2.17, x86_64"]),
        ("cp312-cp312-manylinux1_i686", ["glibc 2.5, i686"]),
        ("cp312-cp312-linux_aarch64", ["glibc, aarch64"]),
        ("py3-none-musllinux_1_2_x86_64", ["nothing: musllinux is not judged, x86_64"]),
        ("py3-none-macosx_11_0_arm64", ["macOS 11.0, arm64"]),
        ("py3-none-macosx_10_9_universal2", ["macOS 10.9, x86_64", "macOS 11.0, arm64"]),
        ("py3-none-win_amd64", ["Windows, win_amd64"]),
        ("py3-none-freebsd_13_amd64", ["nothing: its tag freebsd_13_amd64 is not known"]),
    ],
)
def test_a_wheel_promises_the_lowest_floor_of_its_tags(tags: str, texts: list[str]) -> None:
    assert [floor_text(floor) for floor in floors_of(f"a-1-{tags}.whl")] == texts


@pytest.mark.parametrize(
    ("tag", "version", "name"),
    [
        ("manylinux2014_x86_64", "GLIBC_2.17", None),
        ("manylinux2014_x86_64", "GLIBC_2.2.5", None),
        ("manylinux2014_x86_64", "GLIBC_2.18", "glibc:a"),
        ("manylinux_2_28_x86_64", "GLIBC_2.28", None),
        ("manylinux_2_28_x86_64", "GLIBC_2.38", "glibc:a"),
        ("manylinux_2_35_x86_64", "GLIBC_ABI_DT_RELR", "glibc:a"),
        ("manylinux_2_36_x86_64", "GLIBC_ABI_DT_RELR", None),
        ("manylinux2014_x86_64", "GLIBCXX_3.4.19", None),
        ("manylinux2014_x86_64", "GLIBCXX_3.4.20", "glibcxx:a"),
        ("manylinux_2_28_x86_64", "GLIBCXX_3.4.32", "glibcxx:a"),
        ("manylinux_2_39_x86_64", "GLIBCXX_3.4.32", None),
        ("manylinux_2_28_x86_64", "CXXABI_1.3.11", None),
        ("manylinux_2_28_x86_64", "CXXABI_1.3.13", "cxxabi:a"),
        ("manylinux_2_28_x86_64", "CXXABI_TM_1", None),
        ("manylinux_2_28_x86_64", "GCC_12.0.0", "gcc:a"),
        ("manylinux_2_28_x86_64", "OMP_99", None),
        ("linux_x86_64", "GLIBC_2.99", None),
    ],
)
def test_versions_of_symbols_are_held_against_the_floor(tag: str, version: str, name: str | None) -> None:
    found = judged(f"a-1-py3-none-{tag}.whl", binary(need(version)))
    assert names(found) == ([] if name is None else [("error", name)])


def test_the_worst_file_comes_first_and_says_what_needs_it() -> None:
    files = [binary(need("GLIBC_2.30"), path=f"a/{number}.so") for number in range(FILES_SHOWN + 3)]
    (finding,) = judged(OLD, *files, binary(need("GLIBC_2.38"), path="z.so"), binary(need("GLIBC_2.4"), path="ok.so"))
    assert finding.files[:2] == ("z.so", "a/0.so")
    assert (len(finding.files), finding.count) == (FILES_SHOWN, FILES_SHOWN + 4)
    assert finding.what == "it needs glibc 2.38, and its tag manylinux2014_x86_64 promises glibc 2.17"
    assert (finding.needs, finding.has) == ("GLIBC_2.38 of libc.so.6 for f", "glibc 2.17")
    assert finding.wheels == (OLD,)


def test_a_floor_of_a_target_is_judged_like_one_of_a_tag() -> None:
    contents = Contents(filename=OLD, members=(), binaries=(binary(need("GLIBC_2.28")),))
    target = Floor(kind="linux", machine="x86_64", version=(2, 28), label="linux-x86_64")
    assert judge_binaries(contents, [target]) == []
    assert names(judge_binaries(contents, floors_of(OLD))) == [("error", "glibc:a")]


def test_of_a_wheel_for_any_platform_its_binaries_for_the_target_are_judged_and_launchers_are_let_be() -> None:
    files = (binary(need("GLIBC_2.38")), binary(path="a/t64.exe", form="PE", machine="AMD64"), binary(form="Mach-O"))
    contents = Contents(filename="a-1-py3-none-any.whl", members=(), binaries=files)
    target = Floor(kind="linux", machine="x86_64", version=(2, 28), label="linux-x86_64")
    assert names(judge_binaries(contents, [target])) == [("warning", "any:a"), ("error", "glibc:a")]


@pytest.mark.parametrize(
    ("platform", "floor"),
    [
        (LINUX, Floor(kind="linux", machine="x86_64", version=(2, 28), label="linux-x86_64 (glibc 2.28)")),
        (MAC, Floor(kind="macos", machine="arm64", version=(15, 0), label="macos-arm64 (macos 15.0)")),
        (WINDOWS, Floor(kind="windows", machine="win_amd64", label="windows-x86_64")),
    ],
)
def test_a_target_promises_its_platforms_floor(platform: Platform, floor: Floor) -> None:
    assert target_floor(target(platform)) == floor


def test_a_library_that_the_wheel_brings_along_satisfies_its_users() -> None:
    user = binary(need("GLIBCXX_3.4.32", "libstdc++.so.6"), libraries=("libstdc++.so.6", "libfoo-1a2b.so"))
    brought = [binary(path=f"a.libs/{name}") for name in user.libraries]
    assert names(judged(OLD, user, *brought)) == []
    assert names(judged(OLD, user, provided=("libfoo-1a2b.so",))) == [("error", "glibcxx:a")]


@pytest.mark.parametrize(
    ("tag", "library", "said"),
    [
        ("manylinux2014_x86_64", "libc.so.6", False),
        ("manylinux2014_x86_64", "ld-linux-x86-64.so.2", False),
        ("manylinux2014_x86_64", "libmvec.so.1", True),
        ("manylinux_2_24_x86_64", "libmvec.so.1", False),
        ("linux_x86_64", "libz.so.1", False),
        ("linux_x86_64", "libcuda.so.1", True),
        ("manylinux2014_x86_64", "libtorch.so", True),
    ],
)
def test_libraries_are_the_platforms_or_in_the_wheels(tag: str, library: str, said: bool) -> None:
    found = judged(f"a-1-py3-none-{tag}.whl", binary(libraries=(library,)))
    assert names(found) == ([("warning", f"library:a:{library}")] if said else [])


def test_private_symbols_of_glibc_are_told() -> None:
    assert names(judged(OLD, binary(need("GLIBC_PRIVATE")))) == [("warning", "glibc-private:a")]


@pytest.mark.parametrize(
    ("tag", "machine", "minimum", "name"),
    [
        ("macosx_11_0_arm64", "ARM64", (11, 0), None),
        ("macosx_11_0_arm64", "ARM64", (15, 0), "macos:a"),
        ("macosx_11_0_arm64", "ARM64", None, None),
        ("macosx_10_9_x86_64", "X86_64", (10, 9), None),
        ("macosx_10_9_x86_64", "X86_64", (10, 13), "macos:a"),
        ("macosx_10_9_universal2", "X86_64 ARM64", (10, 9), None),
        ("macosx_10_9_universal2", "ARM64", (11, 0), "architecture:a"),
        ("macosx_11_0_arm64", "X86_64", (11, 0), "machine:a"),
    ],
)
def test_macho_files_are_held_against_macos_and_architectures(
    tag: str, machine: str, minimum: tuple[int, ...] | None, name: str | None
) -> None:
    found = judged(f"a-1-py3-none-{tag}.whl", binary(form="Mach-O", machine=machine, minimum=minimum))
    assert names(found) == ([] if name is None else [("error", name)])


def test_the_arm_half_of_a_fat_wheel_is_not_asked_for_a_macos_that_never_was() -> None:
    codes = (Code(machine="X86_64", minimum=(10, 9)), Code(machine="ARM64", minimum=(11, 0)))
    fat = Binary(path="a/x.so", format="Mach-O", codes=codes)
    assert judged("a-1-py3-none-macosx_10_9_universal2.whl", fat) == []


@pytest.mark.parametrize(
    ("tag", "machine", "wrong"),
    [
        ("win_amd64", "AMD64", False),
        ("win_amd64", "ARM64", True),
        ("win_arm64", "ARM64", False),
        ("win32", "AMD64", True),
    ],
)
def test_pe_files_are_held_against_the_machine(tag: str, machine: str, wrong: bool) -> None:
    found = judged(f"a-1-py3-none-{tag}.whl", binary(form="PE", machine=machine))
    assert names(found) == ([("error", "machine:a")] if wrong else [])


def test_foreign_binaries_beside_native_ones_are_a_warning() -> None:
    foreign = binary(path="a/x.dll", form="PE", machine="AMD64")
    assert names(judged(OLD, foreign)) == [("error", "machine:a")]
    assert names(judged(OLD, foreign, binary())) == [("warning", "foreign:a")]
    assert judged(OLD, binary(machine="ARM", linked=False)) == []


def test_a_wheel_for_any_platform_should_hold_no_libraries() -> None:
    assert names(judged("a-1-py3-none-any.whl", binary(need("GLIBC_2.99")))) == [("warning", "any:a")]
    assert judged("a-1-py3-none-any.whl", binary(path="a/gui.exe", form="PE", machine="AMD64")) == []


def test_musllinux_is_not_judged() -> None:
    assert names(judged("a-1-py3-none-musllinux_1_2_x86_64.whl", binary(libraries=("libc.musl-x86_64.so.1",)))) == []


def test_limits_grow_with_glibc_and_are_never_looser_for_an_older_one() -> None:
    for machine in ("x86_64", "aarch64"):
        lines = [symbol_limits((2, minor), machine) for minor in range(17, 45)]
        assert lines == sorted(
            lines, key=lambda line: tuple(line[key] for key in ("GLIBC", "GLIBCXX", "CXXABI", "GCC"))
        )
    assert symbol_limits((2, 3), "x86_64") == {"GLIBC": (2, 3)}
    assert is_offered("libc.so.6", None)


@pytest.mark.parametrize(
    ("other", "meet"),
    [
        ("b-1-py3-none-any.whl", True),
        ("b-1-cp312-cp312-manylinux_2_28_x86_64.whl", True),
        ("b-1-cp311-cp311-manylinux_2_28_x86_64.whl", False),
        ("b-1-cp310-abi3-manylinux_2_28_x86_64.whl", True),
        ("b-1-cp312-cp312-manylinux_2_28_aarch64.whl", False),
        ("b-1-cp312-cp312-macosx_11_0_arm64.whl", False),
        ("a-2-cp312-cp312-manylinux_2_28_x86_64.whl", False),
    ],
)
def test_wheels_of_one_platform_and_python_meet(other: str, meet: bool) -> None:
    assert may_meet("a-1-cp312-cp312-manylinux2014_x86_64.whl", other) is meet
    assert may_meet(other, "a-1-cp312-cp312-manylinux2014_x86_64.whl") is meet
