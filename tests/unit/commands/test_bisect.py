"""The flow of a tested refresh, with an index and a test that are plain functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import cast

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lockgrid.commands.bisect import Bisection, Offer
from lockgrid.commands.trials import Trials
from lockgrid.core.holding import Holding
from lockgrid.core.holds import read_holds
from lockgrid.core.render.tested import failing, render_tested, report_as_json
from lockgrid.errors import UnsatisfiableError
from lockgrid.model.grid import Lockfile, OldLocks
from lockgrid.model.tested import State, TrialReport
from lockgrid.model.trial import Case, Trial
from unit.builders import locked

Pins = dict[str, str]
LINE = '[hold]\n{} = {{ version = "{}", why = "before", since = 2026-01-01 }}\n'


@dataclass
class World:
    """``released`` gives the versions of each package, the first being the locked one; ``envs`` the holds by file.

    ``breaks`` tells why the pins of each environment fail. ``refused`` are pins that no resolution can have.
    """

    released: dict[str, list[str]]
    breaks: Callable[[dict[str, Pins]], tuple[str, str] | None]
    envs: dict[str, str] = field(default_factory=lambda: {"envs/app.toml": 'requires = ["x"]\n'})
    refused: Callable[[dict[str, Pins]], bool] = lambda _pins: False
    current: dict[str, Pins] = field(default_factory=dict)
    flaky: list[Trial] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    runs: int = 0
    reruns: int = 0
    remembered: int = 0

    def __post_init__(self) -> None:
        for file in self.envs:
            environment = file.removeprefix("envs/").removesuffix(".toml")
            self.current.setdefault(environment, {name: found[0] for name, found in self.released.items()})

    def propose(self, envs: Mapping[str, str], keep: frozenset[str]) -> Offer:
        texts = {**self.envs, **envs}
        pins = {environment: self._resolve(texts[f"envs/{environment}.toml"], keep) for environment in self.current}
        if self.refused(pins):
            raise UnsatisfiableError("no")
        changed = {} if pins == self.current and not envs else {**envs, "locks/pins": json.dumps(pins)}
        return Offer(texts=changed, removed=(), locks=as_locks(pins), digest=json.dumps(pins))

    def _resolve(self, text: str, keep: frozenset[str]) -> Pins:
        held = {str(entry.name): SpecifierSet(entry.version) for entry in read_holds({"envs/x.toml": text})}
        pins = {}
        for name, versions in self.released.items():
            admitted = [version for version in versions if version in held.get(name, SpecifierSet())]
            pins[name] = versions[0] if name in keep else max(admitted, key=Version)
        return pins

    def judge(self, texts: Mapping[str, str], removed: tuple[str, ...], what: str, *, counted: bool = True) -> Trial:
        assert what
        pins = json.loads(texts["locks/pins"]) if "locks/pins" in texts else self.current
        known = json.dumps(pins) in self.seen
        self.runs += counted and not known
        self.seen.add(json.dumps(pins))
        found = self.breaks(pins)
        if found is None:
            return Trial(passed=True)
        return Trial(passed=False, why=found[1], cases=(Case(environment=found[0], name=found[1]),) if found[0] else ())

    def run(self) -> tuple[TrialReport, Offer | None]:
        return Bisection(
            command="check",
            tester=cast("Trials", self),
            propose=self.propose,
            holding=Holding(envs=self.envs, locks=as_locks(self.current), today=date(2026, 11, 30)),
            requires=lambda _locks: {},
        ).run()


def as_locks(pins: dict[str, Pins]) -> OldLocks:
    return {
        (environment, "linux-x86_64"): Lockfile(
            environment=environment,
            platform="linux-x86_64",
            pythons=("3.12",),
            sdists=(),
            pins=tuple(locked(name, version, ["3.12"]) for name, version in sorted(found.items())),
        )
        for environment, found in pins.items()
    }


def simple(bad: Mapping[str, str], environment: str = "app") -> Callable[[dict[str, Pins]], tuple[str, str] | None]:
    """Fails in the environment while it pins one of these."""

    def breaks(pins: dict[str, Pins]) -> tuple[str, str] | None:
        found = [name for name, version in bad.items() if pins[environment][name] == version]
        return (environment, f"{found[0]} is bad") if found else None

    return breaks


def two(count: int) -> dict[str, list[str]]:
    return {f"p{number}": ["1.0", "1.1"] for number in range(count)}


def test_nothing_to_do() -> None:
    tested, offer = World({"a": ["1.0"]}, simple({})).run()
    assert tested.state is State.NOTHING
    assert offer is not None
    assert offer.changes_nothing


def test_the_report_of_a_culprit() -> None:
    tested, offer = World(two(8), simple({"p3": "1.1"})).run()
    assert tested.state is State.HELD
    assert offer is not None
    assert offer.texts["envs/app.toml"].endswith(
        '[hold]\np3 = { version = "<1.1", why = "app: case p3 is bad failed", since = 2026-11-30 }\n'
    )
    assert list(render_tested(tested)) == [
        "tested with: check (5 runs, one of the locks as they stood)",
        "held back: p3 1.0 -> 1.1",
        "  app: p3 is bad",
        "  all of its output: ",
        "  hold: p3 <1.1 in envs/app.toml, since 2026-11-30",
    ]
    values = report_as_json(tested)
    assert json.loads(json.dumps(values)) == values
    assert values["culprits"][0]["holds"][0]["package"] == "p3"


def test_each_culprit_is_given_the_failure_that_is_its_own() -> None:
    tested, _ = World(two(8), simple({"p3": "1.1", "p6": "1.1"})).run()
    assert [culprit.why for culprit in tested.culprits] == [
        "app: case p3 is bad failed",
        "app: case p6 is bad failed",
    ]


def test_what_cannot_be_resolved_without_another_says_so() -> None:
    world = World(two(4), simple({"p1": "1.1"}), refused=lambda pins: pins["app"]["p1"] < pins["app"]["p2"])
    tested, _ = world.run()
    assert [(c.packages, c.why) for c in tested.culprits] == [
        (("p1",), "app: case p1 is bad failed"),
        (("p2",), "cannot be resolved while the other updates are held"),
    ]


def test_where_holding_does_not_help_no_update_is_blamed() -> None:
    """What changes besides the pins is at fault."""
    world = World(two(3), lambda pins: None if pins == world.current and not world.runs else ("app", "changed"))
    world.current["app"] |= {"built": "1.0"}

    def judge(texts: Mapping[str, str], removed: tuple[str, ...], what: str, *, counted: bool = True) -> Trial:
        return Trial(passed=not texts, why="changed", log="log.txt", tail=("a", "b"))

    world.judge = judge  # type: ignore[method-assign]
    tested, offer = world.run()
    assert (tested.state, offer) == (State.UNBLAMED, None)
    assert "fails whatever update is held back: changed\n    a\n    b" in str(failing(tested))


def test_a_hold_for_the_failing_environment_alone_is_tried_and_dropped_where_it_does_not_do() -> None:
    """``app`` is named, and ``other`` fails as soon as it is let go."""
    envs = {"envs/app.toml": 'requires = ["x"]\n', "envs/other.toml": 'requires = ["x"]\n'}

    def breaks(pins: dict[str, Pins]) -> tuple[str, str] | None:
        bad = [environment for environment in ("app", "other") if pins[environment]["p0"] == "1.1"]
        return (bad[0], "p0 is bad") if bad else None

    tested, offer = World(two(3), breaks, envs).run()
    assert offer is not None
    assert {entry.file for culprit in tested.culprits for entry in culprit.holds} == set(envs)
    tested, offer = World(two(3), simple({"p0": "1.1"}), envs).run()
    assert offer is not None
    assert [entry.file for culprit in tested.culprits for entry in culprit.holds] == ["envs/app.toml"]


def test_holds_are_told_apart() -> None:
    """One that is still needed, one that is not, one with nothing behind it."""
    holds = "".join(LINE.format(name, "<2").replace("[hold]\n", "") for name in ("p0", "p1", "p2"))
    envs = {"envs/app.toml": f'requires = ["x"]\n[hold]\n{holds}'}
    released = {"p0": ["1.0", "2.0"], "p1": ["1.0", "2.0"], "p2": ["1.0", "1.1"]}
    tested, offer = World(released, simple({"p0": "2.0"}), envs).run()
    assert offer is not None
    assert [culprit.again for culprit in tested.culprits] == [True]
    assert [entry.name for entry in tested.released] == ["p1"]
    assert [entry.name for entry in tested.untried] == ["p2"]
    line = LINE.format("p1", "<2").removeprefix("[hold]\n")
    assert offer.texts["envs/app.toml"] == envs["envs/app.toml"].replace(line, "")


def test_a_hold_that_stands_and_lets_the_bad_release_in_is_tightened() -> None:
    envs = {"envs/app.toml": LINE.format("p0", "<3")}
    tested, offer = World({"p0": ["1.0", "1.5"], "p1": ["1.0", "2.0"]}, simple({"p0": "1.5"}), envs).run()
    assert offer is not None
    (entry,) = read_holds({"envs/app.toml": offer.texts["envs/app.toml"]})
    assert (entry.version, entry.why) == ("<1.5", "app: case p0 is bad failed; before: before")
    assert entry.since == date(2026, 1, 1)
    assert [culprit.again for culprit in tested.culprits] == [False]


def test_holds_without_which_nothing_resolves_stay() -> None:
    envs = {"envs/app.toml": LINE.format("p0", "<2")}
    world = World(
        {"p0": ["1.0", "2.0"], "p1": ["1.0", "2.0"]},
        simple({}),
        envs,
        refused=lambda pins: pins["app"]["p0"] == "2.0",
    )
    tested, offer = world.run()
    assert offer is not None
    assert tested.state is State.PASSED
    assert [entry.name for entry in tested.untried] == ["p0"]
    assert "envs/app.toml" not in offer.texts
