"""Each way in which an index can have changed under a lockfile, told with the pin and the file."""

from __future__ import annotations

from dataclasses import replace

from lockgrid.core.export import IndexUrls
from lockgrid.core.render.verify import render_faults, render_verified
from lockgrid.core.verify import Fault, merge_faults, pin_faults
from lockgrid.model.index import IndexFile, Page
from unit.builders import LINUX, MAC, digest, facts, index_file, locked, missing_page, page, target

TARGETS = [target(LINUX, "3.11"), target(LINUX, "3.12")]
WHEELS = ("a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl")
PIN = locked("a", "1.0", ["3.11", "3.12"], *WHEELS)


def faults(found: Page, *, project: str = "a", sdist: bool = False) -> list[Fault]:
    known = facts()
    known.pages[project] = found
    return pin_faults(PIN, project, TARGETS, known, sdist=sdist)


def short(found: list[Fault]) -> list[tuple[str, str]]:
    return [(fault.kind, fault.file) for fault in found]


def test_an_index_as_it_was_has_no_fault() -> None:
    assert faults(page("a", *WHEELS)) == []


def test_what_was_published_since_is_no_fault() -> None:
    more = ("a-1.0-cp312-cp312-manylinux_2_17_x86_64.whl", "a-1.0.tar.gz", "a-2.0-py3-none-any.whl")
    assert faults(page("a", *WHEELS, *more)) == []


def test_a_project_that_vanished() -> None:
    (fault,) = faults(missing_page("a"))
    assert (fault.kind, fault.pin, fault.what) == ("project", "a==1.0", "the index has no such project")


def test_a_project_in_quarantine() -> None:
    assert short(faults(page("a", *WHEELS, quarantined=True))) == [("quarantined", "")]
    assert short(faults(page("a", quarantined=True))) == [("quarantined", "")]


def test_a_release_that_vanished() -> None:
    assert short(faults(page("a", "a-2.0-py3-none-any.whl"))) == [("release", "")]


def test_a_yanked_file_is_named_with_the_reason() -> None:
    found = faults(page("a", WHEELS[0], index_file(WHEELS[1], yanked="broken")))
    assert short(found) == [("yanked", WHEELS[1])]
    assert found[0].what == "was yanked: broken"
    assert short(faults(page("a", *(index_file(name, yanked="") for name in WHEELS)))) == [
        ("yanked", name) for name in sorted(WHEELS, key=digest)
    ]


def test_a_file_that_vanished_is_told_by_its_hash() -> None:
    (fault,) = faults(page("a", WHEELS[0]))
    assert (fault.kind, fault.file, fault.sha256) == ("file", "", digest(WHEELS[1]))


def test_replaced_bytes_are_told_by_the_name_that_the_targets_take_now() -> None:
    (fault,) = faults(page("a", WHEELS[0], index_file(WHEELS[1], sha=digest("evil"))))
    assert (fault.kind, fault.file, fault.sha256) == ("replaced", WHEELS[1], digest(WHEELS[1]))
    assert f"{WHEELS[1]} with sha256 {digest('evil')}" in fault.what


def test_a_locked_hash_under_another_name_is_the_locked_file() -> None:
    assert faults(page("a", WHEELS[0], index_file("a-1.0-py3-none-any.whl", sha=digest(WHEELS[1])))) == []


def test_a_file_of_another_release_is_not_the_locked_one() -> None:
    other = index_file("a-2.0-py3-none-any.whl", sha=digest(WHEELS[1]))
    assert short(faults(page("a", WHEELS[0], other))) == [("file", "")]


def test_an_index_that_gives_no_hash_verifies_nothing() -> None:
    found = faults(page("a", *(index_file(name, sha="") for name in WHEELS)))
    assert [fault.kind for fault in found] == ["unhashed", "unhashed"]
    assert {fault.sha256 for fault in found} == set(PIN.hashes)


def test_a_sdist_stands_in_for_a_sdist_alone() -> None:
    assert short(faults(page("a", WHEELS[0], "a-1.0.tar.gz"))) == [("file", "")]
    assert short(faults(page("a", WHEELS[0], "a-1.0.tar.gz"), sdist=True)) == [("replaced", "a-1.0.tar.gz")]


def test_a_wheel_for_another_platform_stands_in_for_nothing() -> None:
    other = index_file("a-1.0-cp312-cp312-macosx_14_0_arm64.whl")
    assert short(faults(page("a", WHEELS[0], other))) == [("file", "")]
    known = facts(page("a", WHEELS[0], other))
    (fault,) = [f for f in pin_faults(PIN, "a", [target(MAC, "3.12")], known, sdist=False) if f.kind == "replaced"]
    assert fault.file == other.filename


def test_the_index_of_a_source_is_named() -> None:
    (fault,) = faults(missing_page("a"), project="a@cpu")
    assert fault.what.endswith("(index cpu)")


def test_the_same_fault_in_many_lockfiles_is_told_once() -> None:
    (one,) = faults(page("a", WHEELS[0]))
    both = merge_faults([replace(one, lockfiles=("locks/b/x.txt",)), replace(one, lockfiles=("locks/a/x.txt",))])
    assert both == (replace(one, lockfiles=("locks/a/x.txt", "locks/b/x.txt")),)
    assert render_faults(both).splitlines() == [
        "a==1.0: the index lists no file with the locked sha256",
        f"  locked: sha256 {digest(WHEELS[1])}",
        "  in locks/a/x.txt, locks/b/x.txt",
    ]


def test_a_missing_lockfile_is_a_fault_without_a_pin() -> None:
    fault = Fault(kind="lockfile", what="is missing", lockfiles=("locks/a/x.txt",))
    assert render_faults([fault]) == "locks/a/x.txt: is missing\n"


def test_what_was_compared_is_said() -> None:
    urls = IndexUrls(plain=("https://index.example/simple",), named=(("cpu", "https://cpu.example"),))
    said = render_verified((1, 20, 7), urls, 0).splitlines()
    assert said[0].startswith("20 hashes (7 files) of 1 lockfile,")
    assert said[1:] == ["  https://index.example/simple", "  cpu (https://cpu.example)", "all as locked"]
    assert render_verified((2, 20, 7), urls, 1).endswith("1 is not as locked\n")
    assert render_verified((2, 20, 7), urls, 2).endswith("2 are not as locked\n")


def test_files_without_a_hash_do_not_hide_the_locked_ones() -> None:
    odd = IndexFile(filename="a-1.0-py3-none-any.whl", url="https://index.example/a")
    assert faults(page("a", *WHEELS, odd)) == []
