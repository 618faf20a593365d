"""The project that uv is asked to lock, read back as uv would read it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from lockgrid.core.anchor import name_indexes
from lockgrid.core.resolution import (
    Exclusion,
    Preference,
    Request,
    exclude_all,
    preferences_lock,
    project_toml,
    resolver_settings,
    timestamp,
)
from lockgrid.core.targets import marker_environments
from lockgrid.model.spec import Environment, Hold
from lockgrid.model.target import Target
from unit.builders import CUTOFF, HOST, LINUX, MAC, WINDOWS, environment, target

L10, L11, M11, W12 = target(LINUX, "3.10"), target(LINUX, "3.11"), target(MAC, "3.11"), target(WINDOWS, "3.12")
EVERYTHING = (L10, L11, M11, W12)


def request(*environments: Environment, **more: Any) -> Request:
    domain = tuple((e.name, e.targets) for e in environments)
    return Request(environments=environments, domain=domain, cutoff=CUTOFF, **more)


def document(asked: Request) -> dict[str, Any]:
    return tomllib.loads(project_toml(asked))


def true_on(marker: Marker | str | None, among: Sequence[Target] = EVERYTHING) -> list[Target]:
    if marker is None:
        return list(among)
    parsed = Marker(str(marker))
    return [where for where in among if parsed.evaluate(dict(marker_environments(where)[0]))]


def requirements(lines: Sequence[str]) -> list[Requirement]:
    return [Requirement(line) for line in lines]


def test_each_environment_is_one_extra_under_its_normalised_name() -> None:
    asked = request(environment("a[x]>=1", "b", name="ethos_u"), environment("c==2", name="app"))
    assert document(asked)["project"] == {
        "name": "lockgrid-resolution",
        "version": "0",
        "requires-python": ">=3.11",
        "optional-dependencies": {"ethos-u": ["a[x]>=1", "b"], "app": ["c==2"]},
    }


def test_an_environment_of_fewer_cells_requires_nothing_on_the_others() -> None:
    asked = request(
        environment("a[y,x]>=1", "b; sys_platform == 'win32' or python_version < '3.11'", targets=[L10, W12]),
        environment("c", name="all", targets=EVERYTHING),
    )
    extras = document(asked)["project"]["optional-dependencies"]
    a, b = requirements(extras["app"])
    assert (a.name, sorted(a.extras), str(a.specifier)) == ("a", ["x", "y"], ">=1")
    assert true_on(a.marker) == [L10, W12]
    assert true_on(b.marker) == [L10, W12]
    (c,) = requirements(extras["all"])
    assert c.marker is None


def test_a_requirements_own_marker_and_the_cells_both_decide() -> None:
    asked = request(
        environment("a; sys_platform == 'linux' or sys_platform == 'win32'", targets=[L11, M11]),
        environment("c", name="all", targets=EVERYTHING),
    )
    (a,) = requirements(document(asked)["project"]["optional-dependencies"]["app"])
    assert true_on(a.marker) == [L11]


def test_uv_resolves_for_exactly_the_targets() -> None:
    markers = document(request(environment("a", targets=EVERYTHING)))["tool"]["uv"]["environments"]
    assert [true_on(marker) for marker in markers] == [[L10, L11], [M11], [W12]]
    elsewhere = [target(LINUX, "3.9"), target(LINUX, "3.12"), target(MAC, "3.10"), target(WINDOWS, "3.11")]
    assert [true_on(marker, elsewhere) for marker in markers] == [[], [], []]


@pytest.mark.parametrize(
    ("pythons", "bound"), [(["3.10", "3.12"], ">=3.10"), (["3.9", "3.10"], ">=3.9"), (["3.13"], ">=3.11")]
)
def test_the_lower_bound_admits_the_targets_and_the_python_that_runs_uv(pythons: list[str], bound: str) -> None:
    asked = request(environment("a", targets=[target(LINUX, python) for python in pythons]))
    assert document(asked)["project"]["requires-python"] == bound
    assert tomllib.loads(preferences_lock(asked, {"": HOST}))["requires-python"] == bound


def test_overrides_and_holds_reach_uv_sorted() -> None:
    one = environment("a", overrides={"z": "==1", "b": ">=2,<3"})
    other = environment("a", name="other", overrides={"m": "==4"})
    held = replace(one, holds=(Hold(name="h", specifier="<5", why="w"),))  # type: ignore[arg-type]
    uv = document(request(held, other))["tool"]["uv"]
    assert uv["override-dependencies"] == ["b>=2,<3", "m==4", "z==1"]
    assert uv["constraint-dependencies"] == ["h<5"]
    assert uv["package"] is False


def test_an_override_carries_the_extras_that_anyone_asks_for() -> None:
    asked = request(environment("A[One]", "b", overrides={"a": "==1", "b": "==2"})).with_extras({"a": {"two"}})
    asked = asked.with_extras({"a": ["two", "three"], "b": ["x"]})
    assert document(asked)["tool"]["uv"]["override-dependencies"] == ["a[one,three,two]==1", "b[x]==2"]
    assert asked.with_extras({"b": {"x"}}) == asked


def test_an_override_spares_the_targets_on_which_nothing_asks_for_it() -> None:
    asked = request(environment("a", targets=EVERYTHING, overrides={"b": "==2", "c": "==3"}))
    asked = asked.sparing(["b"], [L10]).sparing(["b"], [M11])
    b, c = requirements(document(asked)["tool"]["uv"]["override-dependencies"])
    assert true_on(b.marker) == [L11, W12]
    assert c.marker is None
    nowhere = asked.sparing(["b", "c"], EVERYTHING)
    overrides = requirements(document(nowhere)["tool"]["uv"]["override-dependencies"])
    assert [true_on(override.marker) for override in overrides] == [[], []]


def test_a_part_of_a_request_keeps_what_is_known_of_the_index() -> None:
    exclusion = Exclusion(name="b", version="2.0", targets=(L10,))
    one, other = environment("a", targets=EVERYTHING), environment("c", name="other", targets=EVERYTHING)
    whole = replace(request(one, other, exclusions=(exclusion,)).sparing(["z"], [L10]), split=True)
    part = whole.part([other], (L10, W12))
    assert (part.environments, part.domain) == ((other,), (("other", (L10, W12)),))
    assert (part.exclusions, part.spared, part.cutoff) == (whole.exclusions, whole.spared, whole.cutoff)
    assert not part.split
    assert list(part.cells()) == [(other, L10), (other, W12)]
    assert whole.part([one]).domain == (("app", whole.targets("app")),)


def test_an_exclusion_holds_on_its_targets_alone() -> None:
    exclusions = (
        Exclusion(name="b", version="2.0", targets=EVERYTHING),
        Exclusion(name="a", version="1.0", targets=(M11, W12)),
    )
    asked = request(environment("a", targets=EVERYTHING), exclusions=exclusions)
    a, b = requirements(document(asked)["tool"]["uv"]["constraint-dependencies"])
    assert (a.name, str(a.specifier), true_on(a.marker)) == ("a", "!=1.0", [M11, W12])
    assert (b.name, str(b.specifier), b.marker) == ("b", "!=2.0", None)


def test_exclusions_of_several_versions_share_their_targets_in_order() -> None:
    assert exclude_all("a", ["1.0", "2.0"], [W12, L10, W12]) == [
        Exclusion(name="a", version="1.0", targets=(L10, W12)),
        Exclusion(name="a", version="2.0", targets=(L10, W12)),
    ]


def test_the_policy_of_a_lock() -> None:
    asked = request(environment("a", sdists=["z", "b"]))
    assert resolver_settings(asked, ["b", "z"]) == {
        "no-build": True,
        "no-binary-package": ["b", "z"],
        "prerelease": "explicit",
        "exclude-newer": "2026-06-01T00:00:00Z",
    }


def test_preferences_are_a_lock_that_holds_nothing_else() -> None:
    asked = request(
        environment("a", targets=EVERYTHING),
        preferences=(
            Preference(name="b", version="2.0", targets=(M11,)),
            Preference(name="b", version="1.0", targets=(L10, L11)),
            Preference(name="a", version="1.0", targets=(L10,)),
        ),
    )
    lock = tomllib.loads(preferences_lock(asked, {"": HOST}))
    markers = [package.pop("resolution-markers", None) for package in lock["package"]]
    assert lock == {
        "version": 1,
        "revision": 3,
        "requires-python": ">=3.10",
        "options": {"prerelease-mode": "explicit", "exclude-newer": "2026-06-01T00:00:00Z"},
        "package": [
            {"name": "a", "version": "1.0", "source": {"registry": HOST}},
            {"name": "b", "version": "1.0", "source": {"registry": HOST}},
            {"name": "b", "version": "2.0", "source": {"registry": HOST}},
        ],
    }
    assert markers[0] is None
    assert [[true_on(text) for text in found] for found in markers[1:]] == [[[L10, L11]], [[M11]]]


def test_the_options_of_the_preferences_agree_with_the_settings() -> None:
    asked = request(environment("a"))
    options = tomllib.loads(preferences_lock(asked, {"": HOST}))["options"]
    settings = resolver_settings(asked, [])
    assert options == {"prerelease-mode": settings["prerelease"], "exclude-newer": settings["exclude-newer"]}


def test_packages_may_have_cut_offs_of_their_own() -> None:
    moments = (("b", datetime(2026, 6, 2, 1, 2, 3, tzinfo=UTC)), ("c", None))
    asked = request(environment("a", sources={"d@linux-x86_64": "x"}, dateless=True), cutoffs=moments)
    settings = resolver_settings(asked, [])
    assert settings["exclude-newer-package"] == {"b": "2026-06-02T01:02:03Z", "c": False, "d": False}
    options = tomllib.loads(preferences_lock(asked, {"": HOST}))["options"]
    assert options["exclude-newer-package"] == settings["exclude-newer-package"]


def test_the_same_request_gives_the_same_text() -> None:
    one = request(environment("a", "b", targets=EVERYTHING))
    other = request(environment("a", "b", targets=EVERYTHING))
    assert one == other
    assert hash(one) == hash(other)
    assert project_toml(one) == project_toml(other)


def test_targets_of_a_request() -> None:
    asked = request(environment("a", targets=[W12, L10]), environment("a", name="other", targets=[L10, M11]))
    assert asked.targets("other") == (L10, M11)
    assert asked.all_targets == (L10, M11, W12)


def test_a_timestamp_is_rfc_3339_to_the_second() -> None:
    assert timestamp(datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC)) == "2026-01-02T03:04:05Z"


def test_a_timestamp_of_another_zone_is_the_same_moment_in_utc() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-01-02T01:04:05Z"


CPU = {"a@linux-x86_64": "cpu", "a@macos-arm64": "mac"}
INDEXES = [{"name": "cpu", "url": HOST, "explicit": True}]


def test_without_sources_nothing_of_them_is_said() -> None:
    asked = request(environment("a"))
    assert project_toml(asked, INDEXES) == project_toml(asked)
    assert "exclude-newer-package" not in resolver_settings(asked, ())


def test_a_source_is_told_with_a_constraint_that_asks_for_nothing() -> None:
    """For uv a source holds for what the project itself speaks of."""
    asked = request(environment("b", targets=EVERYTHING, sources=CPU), environment("c", name="c", targets=[W12]))
    found = tomllib.loads(project_toml(asked, INDEXES))
    settings = found["tool"]["uv"]
    (bound,) = requirements(settings["constraint-dependencies"])
    assert (f"{bound.name}{bound.specifier}", true_on(bound.marker)) == ("a>=0", [L10, L11, M11])
    assert set(found["project"]["optional-dependencies"]) == {"app", "c"}
    assert found["project"]["optional-dependencies"]["app"] == ["b"]
    where = {source["index"]: true_on(source["marker"]) for source in settings["sources"]["a"]}
    assert where == {"cpu": [L10, L11], "mac": [M11]}
    assert settings["index"] == INDEXES


def test_what_an_index_has_no_file_of_comes_from_nowhere_else() -> None:
    asked = request(environment("b", targets=EVERYTHING, sources=CPU), absent=(("a", (L10, M11, W12)),))
    found = tomllib.loads(project_toml(asked))
    bounds = requirements(found["tool"]["uv"]["constraint-dependencies"])
    assert {f"{bound.name}{bound.specifier}": true_on(bound.marker) for bound in bounds} == {
        "a<0.dev0": [L10, M11],
        "a>=0": [L11],
    }


def test_what_uv_says_of_such_a_package_names_the_index() -> None:
    asked = request(environment("b", targets=[L10], sources=CPU), absent=(("a", (L10,)),))
    said = "all versions of b depend on a<0.dev0, which does not allow any versions and aa<0.dev0 is needed"
    wanted = (
        "all versions of b depend on a from the index cpu, which has no file of it that fits and aa<0.dev0 is needed"
    )
    assert name_indexes(said, asked) == wanted


def test_the_preference_for_a_pin_says_from_which_index_it_came() -> None:
    kept = [
        Preference(name="a", version="1.0", targets=(L10,), index="cpu"),
        Preference(name="a", version="1.0", targets=(M11,)),
    ]
    asked = request(environment("a", targets=EVERYTHING), preferences=tuple(kept))
    packages = tomllib.loads(preferences_lock(asked, {"": HOST, "cpu": f"{HOST}/cpu"}))["package"]
    assert [package["source"]["registry"] for package in packages] == [HOST, f"{HOST}/cpu"]


def test_the_cut_off_does_not_hold_for_an_index_without_dates() -> None:
    asked = request(environment("a", targets=[L10], sources={"a@linux-x86_64": "cpu"}, dateless=True))
    assert resolver_settings(asked, ())["exclude-newer-package"] == {"a": False}
