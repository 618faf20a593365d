"""What the grid and a folder know of the wheels of git sources, and what a lock makes of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.candidates import at_index
from lockgrid.core.failure import nothing_left
from lockgrid.core.forced import Scan
from lockgrid.core.git import encode_provenance
from lockgrid.core.gitrecord import git_record, git_values
from lockgrid.core.gitwheels import distinct, gather, git_lines, git_records, identity, pages
from lockgrid.core.gridfile import parse_grid, render_grid
from lockgrid.core.inputs import index_problems
from lockgrid.core.mend import merge_grids
from lockgrid.core.sources import source_problems, source_records
from lockgrid.errors import HashMismatchError
from lockgrid.model.git import BuiltWheel, Provenance
from lockgrid.model.grid import GitRecord, GitWheel, Proof
from lockgrid.model.index import DistMetadata, page_key
from unit.builders import cell, declared, digest, facts, pin, target
from unit.core.test_git import NEWER, REV, URL, app, entry
from unit.grids import GRID

APP = app(entry())
SOURCE = APP.git[0]
NAME = "cmsis_nn-7.0.0-cp312-cp312-linux_x86_64.whl"
WHEEL = GitWheel(
    filename=NAME,
    sha256=digest("wheel"),
    size=10,
    version="7.0.0",
    platform="linux-x86_64",
    python="3.12",
    build="sha256:0",
    pins=("setuptools==80.0",),
    requires=("dep",),
    requires_python=">=3.10",
    extras=("more",),
)
RECORD = GitRecord(
    package="cmsis-nn",
    url=URL,
    rev=REV,
    subdirectory="",
    environments=("app",),
    tree="sha256:tree",
    build_requires=("setuptools",),
    wheels=(WHEEL,),
)
ORIGIN = Provenance(
    rev=REV,
    subdirectory="",
    tree="sha256:tree",
    platform="linux-x86_64",
    python="3.12",
    requires=("setuptools",),
    pins=("setuptools==80.0",),
    build="sha256:0",
)


def built(origin: Provenance | None = ORIGIN, sha256: str = WHEEL.sha256, name: str = NAME) -> BuiltWheel:
    said = DistMetadata(name="cmsis-nn", version="7.0.0", requires_dist=("dep",), provides_extra=("more",))
    return BuiltWheel(
        filename=name,
        url=f"file:///wheels/{name}",
        sha256=sha256,
        size=10,
        metadata=replace(said, requires_python=">=3.10"),
        provenance=encode_provenance(origin) if origin else b"",
    )


def test_a_folder_tells_the_same_as_the_grid_that_was_made_of_it() -> None:
    from_folder, _ = gather([SOURCE], [], [built()], frozenset())
    from_grid, _ = gather([SOURCE], [RECORD], [], frozenset())
    assert from_folder[identity(SOURCE)].wheels == from_grid[identity(SOURCE)].wheels == (WHEEL,)
    assert git_records([APP], from_folder, [], []) == (RECORD,)


def test_wheels_of_the_grid_and_of_a_folder_are_known_together() -> None:
    other = built(name=NAME.replace("312", "311"), sha256=digest("other"))
    known, said = gather([SOURCE], [RECORD], [other], frozenset())
    assert [w.filename for w in known[identity(SOURCE)].wheels] == [NAME.replace("312", "311"), NAME]
    assert list(known[identity(SOURCE)].urls) == [NAME.replace("312", "311")]
    assert said == []


@pytest.mark.parametrize("origin", [None, replace(ORIGIN, rev=NEWER), replace(ORIGIN, subdirectory="python")])
def test_a_wheel_of_something_else_is_said_and_not_used(origin: Provenance | None) -> None:
    known, said = gather([SOURCE], [], [built(origin)], frozenset())
    assert known == {}
    assert len(said) == 1
    assert NAME in said[0]
    assert "not used" in said[0]


def test_other_bytes_under_a_locked_name_are_refused_unless_they_are_meant() -> None:
    other = built(sha256=digest("other"))
    with pytest.raises(HashMismatchError, match="has other bytes than when it was locked"):
        gather([SOURCE], [RECORD], [other], frozenset({"dep"}))
    for upgrade in (frozenset({"cmsis-nn"}), None):
        known, _ = gather([SOURCE], [RECORD], [other], upgrade)
        assert [w.sha256 for w in known[identity(SOURCE)].wheels] == [digest("other")]


def test_another_content_of_the_commit_is_refused_always() -> None:
    with pytest.raises(HashMismatchError, match="the content of commit"):
        gather([SOURCE], [RECORD], [built(replace(ORIGIN, tree="sha256:forged"))], None)


def test_a_page_has_a_place_for_what_is_at_hand_alone() -> None:
    for records, wheels, url in (([RECORD], [], ""), ([], [built()], f"file:///wheels/{NAME}")):
        found, said = pages([SOURCE], gather([SOURCE], records, wheels, frozenset())[0])
        (file,) = found[page_key("cmsis-nn", SOURCE.index)].releases["7.0.0"]
        assert (file.filename, file.sha256, file.url, file.uploaded) == (NAME, WHEEL.sha256, url, None)
        assert said[WHEEL.sha256].requires_dist == ("dep",)
        assert said[WHEEL.sha256].provides_extra == ("more",)


def test_a_page_that_says_something_else_has_another_digest() -> None:
    key = page_key("cmsis-nn", SOURCE.index)
    digests = set()
    for wheel in (WHEEL, replace(WHEEL, sha256=digest("other")), replace(WHEEL, requires=("more",))):
        known, _ = gather([SOURCE], [replace(RECORD, wheels=(wheel,))], [], frozenset())
        digests.add(pages([SOURCE], known)[0][key].digest)
    assert len(digests | {pages([SOURCE], {})[0][key].digest}) == 4


def test_targets_without_a_wheel_are_not_built_and_the_others_are_fine() -> None:
    known, _ = gather([SOURCE], [RECORD], [], frozenset())
    found, said = pages([SOURCE], known)
    learnt = facts(dateless=[SOURCE.index])
    learnt.pages |= found
    learnt.metadata |= {sha: replace(one, requires_dist=()) for sha, one in said.items()}
    scan = Scan(APP)
    scan.advance(learnt)
    blockers = scan.blockers(learnt)
    assert target() not in blockers
    assert len(blockers) == len(APP.targets) - 1
    (blocker,) = blockers[target(python="3.11")]
    assert blocker.proof is Proof.TAGS
    assert "is not built for this target: it has wheels for CPython 3.12 (built from git)" in blocker.text


def test_nothing_built_is_no_fault_of_the_input_and_says_what_to_run() -> None:
    learnt = facts(dateless=[SOURCE.index])
    learnt.pages |= pages([SOURCE], {})[0]
    assert index_problems([APP], learnt) == []
    scan = Scan(APP)
    scan.advance(learnt)
    blockers = {("app", where): found for where, found in scan.blockers(learnt).items()}
    assert len(blockers) == len(APP.targets)
    error = nothing_left(APP, blockers)
    assert "is not built" in error.what
    assert "lockgrid build app -o DIR" in error.next_step


def test_a_version_that_no_wheel_has_is_told_with_the_one_there_is() -> None:
    known, _ = gather([SOURCE], [RECORD], [], frozenset())
    learnt = facts(dateless=[SOURCE.index])
    learnt.pages |= pages([SOURCE], known)[0]
    bound = replace(APP, requires=(declared("cmsis-nn==8"),))
    (problem,) = index_problems([bound], learnt)
    assert problem.what == "no release of cmsis-nn matches cmsis-nn==8 (built from git)"
    assert problem.hint == "the newest is 7.0.0"


def test_git_is_no_index_that_somebody_has_to_define_or_that_the_grid_lists() -> None:
    assert source_problems([APP], {}, ()) == []
    pinned = cell("app", target(), pin("cmsis-nn", "7.0.0", index=SOURCE.index))
    assert source_records([APP], {("app", target()): pinned}) == []
    assert at_index(page_key("cmsis-nn", SOURCE.index)) == " (built from git)"


def test_the_grid_keeps_a_source_and_gives_it_back() -> None:
    text = render_grid(replace(GRID, git=(RECORD,)))
    assert parse_grid(text).git == (RECORD,)
    assert "[[git]]" in text
    bare = replace(RECORD, subdirectory="a", wheels=(replace(WHEEL, requires=(), requires_python="", extras=()),))
    assert git_record(git_values(bare)) == bare
    assert "requires" not in git_values(bare)["wheels"][0]


def test_records_of_environments_that_are_kept_stay_and_agreeing_ones_are_one() -> None:
    known, _ = gather([SOURCE], [RECORD], [], frozenset())
    before = replace(RECORD, environments=("app", "gone", "other"))
    (record,) = git_records([APP], known, [before], ["other"])
    assert record.environments == ("app", "other")
    assert git_records([], known, [before], ["other"])[0].environments == ("other",)
    assert git_records([], known, [before], []) == ()


def test_one_source_for_each_commit_and_folder() -> None:
    newer, below = app(entry(rev=NEWER)), app(entry(more=', subdirectory = "a"'))
    assert [s.rev for s in distinct([APP, newer, APP])] == [REV, NEWER]
    assert len({s.index for s in distinct([APP, newer, below])}) == 3


def test_people_are_told_what_is_built_and_what_an_installer_needs() -> None:
    lines = list(git_lines([RECORD]))
    assert lines[0] == "app: cmsis-nn is built from git commit 0123456789ab, for linux-x86_64"
    assert "--find-links" in lines[1]
    assert list(git_lines([])) == []


def test_two_sides_of_a_merge_keep_what_both_have_built() -> None:
    other = replace(WHEEL, filename=NAME.replace("312", "311"), sha256=digest("other"))
    theirs = replace(RECORD, environments=("other",), wheels=(other, replace(WHEEL, sha256=digest("theirs"))))
    merged = merge_grids(replace(GRID, git=(RECORD,)), replace(GRID, git=(theirs,)), [])
    (record,) = merged.git
    assert record.environments == ("app", "other")
    assert record.wheels == (other, WHEEL)
