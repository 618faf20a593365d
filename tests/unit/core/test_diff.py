"""The difference of two snapshots: cells, sizes, files, findings, licences, advisories, and what is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockgrid.core.diff import diff, moved_hashes, questions
from lockgrid.core.snapshot import Snapshot
from lockgrid.model.advisory import Vulnerability
from lockgrid.model.diff import DiffFacts, EnvironmentDiff, GridDiff
from lockgrid.model.index import Licence
from unit.builders import digest
from unit.grids import NO_WHEEL, NOT_THERE
from unit.snapshots import ARM, LINUX, MAC, cells, found, snapshot, unsupported

NOTHING = DiffFacts()
ONE = cells("a", {"x": "1"})


def only(result: GridDiff, name: str = "a") -> EnvironmentDiff:
    (environment,) = (e for e in result.environments if e.name == name)
    return environment


def test_the_same_is_empty() -> None:
    result = diff(snapshot(ONE), snapshot(ONE), NOTHING)
    assert result.empty
    assert not only(result).changed
    assert only(result).cells_before == only(result).cells_after == tuple(sorted(ONE))
    assert result.universe == {"a": {(platform, python) for _, platform, python in ONE}}


def test_another_cut_off_alone_is_no_difference() -> None:
    result = diff(snapshot(ONE, day=1), snapshot(ONE, day=2), NOTHING)
    assert result.empty
    assert (result.old.exclude_newer, result.new.exclude_newer) == ("2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z")


def test_a_cell_that_is_no_longer_proven_is_lost_with_its_reason() -> None:
    new = snapshot(cells("a", {"x": "2"}, [LINUX]), records=[unsupported("a", MAC, "3.11", NO_WHEEL)])
    environment = only(diff(snapshot(ONE), new, NOTHING))
    lost = {c.cell[1:]: c.after and c.after.because for c in environment.lost}
    assert lost == {(MAC, "3.11"): NO_WHEEL.text, (MAC, "3.12"): None}  # 3.12 is in no grid any more
    assert [move.cells for move in environment.moves] == [(("a", LINUX, "3.11"), ("a", LINUX, "3.12"))]


def test_a_cell_that_came_to_be_proven_is_gained_and_what_it_brings_is_named() -> None:
    old = snapshot(cells("a", {"x": "1"}, [LINUX]), records=[unsupported("a", MAC, "3.11", NOT_THERE)])
    new = snapshot(cells("a", {"x": "1"}, [LINUX]) | cells("a", {"x": "1", "mac": "3"}, [MAC], "3.11"))
    environment = only(diff(old, new, NOTHING))
    ((change,),) = (environment.gained,)
    assert (change.because, change.packages) == (NOT_THERE.text, 2)
    assert environment.brought == (("mac", "3"),)
    assert environment.moves == ()


def test_environments_that_come_and_go_are_cells_gained_and_lost() -> None:
    result = diff(snapshot(cells("a", {"x": "1"})), snapshot(cells("b", {"x": "1"})), NOTHING)
    assert (len(only(result, "a").lost), len(only(result, "b").gained)) == (4, 4)
    assert result.groups == ()


@pytest.mark.parametrize(
    ("old", "new", "note"), [(False, True, "nothing was locked before"), (True, False, "any more")]
)
def test_where_nothing_is_locked_that_is_said(old: bool, new: bool, note: str) -> None:
    before, after = (snapshot(ONE) if there else Snapshot() for there in (old, new))
    result = diff(before, after, NOTHING)
    assert note in result.notes[0]
    assert not result.empty


def test_sizes_are_of_cells_that_both_have() -> None:
    new = snapshot(cells("a", {"x": "1"}, [LINUX, ARM]), size=3)
    environment = only(diff(snapshot(ONE, size=2), new, NOTHING))
    assert [(s.platform, s.before, s.after) for s in environment.sizes] == [(LINUX, 2, 3), (LINUX, 2, 3)]
    assert environment.changed


def test_files_that_came_to_an_unchanged_version_are_told_with_their_names() -> None:
    new = snapshot(ONE, more={"x": ["late.whl"]})
    facts = DiffFacts(filenames={digest("late.whl"): "late.whl", digest("other"): "no"})
    result = diff(snapshot(ONE), new, facts)
    (change,) = result.files
    assert (change.name, change.added, change.removed, set(change.cells)) == ("x", (digest("late.whl"),), (), set(ONE))
    assert result.filenames == {digest("late.whl"): "late.whl"}
    (back,) = diff(new, snapshot(ONE), facts).files
    assert (back.added, back.removed) == ((), (digest("late.whl"),))
    assert not result.empty


def test_findings_that_came_and_went() -> None:
    old = snapshot(ONE, findings=[found("glibc:b", "a", (LINUX, "3.11")), found("any:c", "a", (LINUX, "3.11"))])
    new = snapshot(
        ONE,
        findings=[
            found("glibc:b", "a", (LINUX, "3.11"), (LINUX, "3.12")),
            found("shadow:d", "a", (LINUX, "3.11"), severity="error", accepted=True),
        ],
    )
    assert [(f.kind, f.name, f.cells, f.accepted) for f in diff(old, new, NOTHING).findings] == [
        ("gone", "any:c", (("a", LINUX, "3.11"),), False),
        ("new", "glibc:b", (("a", LINUX, "3.12"),), False),
        ("new", "shadow:d", (("a", LINUX, "3.11"),), True),
    ]


def test_a_finding_that_comes_to_be_accepted_is_told() -> None:
    sides = [snapshot(ONE, findings=[found("any:c", "a", (LINUX, "3.11"), accepted=a)]) for a in (False, True)]
    assert [f.kind for f in diff(sides[0], sides[1], NOTHING).findings] == ["accepted"]
    assert [f.kind for f in diff(sides[1], sides[0], NOTHING).findings] == ["unaccepted"]


def test_an_acceptance_that_accepts_nothing_is_told_once_it_does() -> None:
    stale = snapshot(ONE, findings=[found("accept:any:gone", "a")])
    (change,) = diff(snapshot(ONE), stale, NOTHING).findings
    assert (change.kind, change.environment, change.cells) == ("new", "a", ())
    assert [f.kind for f in diff(stale, snapshot(ONE), NOTHING).findings] == ["gone"]


def test_findings_of_a_cell_that_is_unsupported_do_not_count() -> None:
    new = snapshot(
        cells("a", {"x": "1"}, [LINUX]),
        records=[unsupported("a", MAC, "3.11", NO_WHEEL)],
        findings=[found("macos:b", "a", (MAC, "3.11"), severity="error")],
    )
    assert diff(snapshot(ONE), new, NOTHING).findings == ()


TWO = cells("a", {"x": "2", "y": "1"})


def licences(**by_pin: Licence) -> DiffFacts:
    found = {digest(name.replace("_", "-")): licence for name, licence in by_pin.items()}
    return DiffFacts(licences=found, licences_why="")


def test_licences_of_moved_pins() -> None:
    facts = licences(x_1=Licence(expression="MIT"), x_2=Licence(expression="GPL-3.0-only"), y_1=Licence())
    result = diff(snapshot(ONE), snapshot(TWO), facts)
    assert [(c.name, c.old, c.new, c.before, c.after) for c in result.licences] == [
        ("x", "1", "2", "MIT", "GPL-3.0-only"),
        ("y", "", "1", "", "none stated"),
    ]
    assert result.licences_unknown == ()


def test_a_licence_that_is_only_written_elsewhere_is_the_same() -> None:
    old = Licence(classifiers=("License :: OSI Approved :: MIT License",))
    facts = licences(x_1=old, x_2=Licence(expression="MIT"), y_1=Licence(expression="MIT"))
    assert [c.name for c in diff(snapshot(ONE), snapshot(TWO), facts).licences] == ["y"]


def test_a_licence_that_is_not_known_is_not_unchanged() -> None:
    result = diff(snapshot(ONE), snapshot(TWO), licences(x_2=Licence(expression="MIT")))
    assert (result.licences, result.licences_unknown) == ((), ("x", "y"))


def vulnerability(name: str, *aliases: str) -> Vulnerability:
    return Vulnerability(id=name, aliases=aliases, description=f"what {name} is")


def audited(**by_pin: Vulnerability | None) -> DiffFacts:
    pins = {tuple(pin.split("_")): (found,) if found else () for pin, found in by_pin.items()}
    return DiffFacts(advisories={(p[0], p[1]): v for p, v in pins.items()}, advisories_why="", service="pypi")


def test_advisories_fixed_and_new() -> None:
    facts = audited(x_1=vulnerability("OLD"), x_2=None, y_1=vulnerability("NEW"))
    result = diff(snapshot(ONE), snapshot(TWO), facts)
    assert [(c.fixed, c.id, c.name, c.versions, c.environments) for c in result.advisories] == [
        (False, "NEW", "y", ("1",), ("a",)),
        (True, "OLD", "x", ("1",), ("a",)),
    ]


def test_an_advisory_that_stays_under_another_name_is_neither() -> None:
    facts = audited(x_1=vulnerability("PYSEC-1", "CVE-1"), x_2=vulnerability("GHSA-1", "cve-1"), y_1=None)
    assert diff(snapshot(ONE), snapshot(TWO), facts).advisories == ()


def test_nothing_is_fixed_by_what_was_not_audited() -> None:
    facts = audited(x_1=vulnerability("OLD"), y_1=None)
    facts = replace(facts, unaudited={("x", "2"): "no such package"})
    result = diff(snapshot(ONE), snapshot(TWO), facts)
    assert (result.advisories, result.unaudited) == ((), (("x", "2", "no such package"),))


def test_what_is_pinned_now_is_told_though_nobody_knows_whether_it_was_so_before() -> None:
    facts = audited(x_2=vulnerability("NEW"), y_1=None)
    assert [(c.fixed, c.id) for c in diff(snapshot(ONE), snapshot(TWO), facts).advisories] == [(False, "NEW")]


def test_a_version_that_only_spreads_to_other_targets_has_nothing_new() -> None:
    old = cells("a", {"x": "1"}, pythons="3.11") | cells("a", {"x": "2"}, pythons="3.12")
    facts = audited(x_1=vulnerability("OLD"), x_2=vulnerability("BOTH"))
    result = diff(snapshot(old), snapshot(cells("a", {"x": "2"})), facts)
    assert [(c.fixed, c.id) for c in result.advisories] == [(True, "OLD")]


def test_only_what_moved_is_asked_about() -> None:
    old, new = snapshot(cells("a", {"x": "1", "z": "1"})), snapshot(cells("a", {"x": "2", "z": "1"}))
    assert questions(old, new) == [("x", "1"), ("x", "2")]
    assert moved_hashes(old, new) == {("x", "1"): {digest("x-1")}, ("x", "2"): {digest("x-2")}}
    assert questions(old, old) == []
    late = snapshot(cells("a", {"x": "1", "z": "1"}), more={"z": ["late.whl"]})
    assert moved_hashes(old, late) == {("z", "1"): {digest("late.whl")}}


def test_a_package_of_a_gained_cell_is_asked_about_too() -> None:
    new = snapshot(ONE | cells("a", {"x": "1", "q": "1"}, [ARM]))
    assert questions(snapshot(ONE), new) == [("q", "1")]


def test_rules_and_what_is_locked_apart_are_told() -> None:
    old, new = snapshot(ONE), snapshot(ONE)
    assert old.grid is not None
    assert new.grid is not None
    old = replace(old, grid=replace(old.grid, rules=0, apart=("a and b differ",)))
    new = replace(new, grid=replace(new.grid, apart=("a and c differ",)))
    notes = diff(old, new, NOTHING).notes
    assert notes[0].startswith("the insides of wheels are judged by rules ")
    assert notes[1:] == ("no longer: a and b differ", "a and c differ")
