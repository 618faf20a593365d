"""Small random indexes: a cell is proven exactly where trying everything finds a set of versions, and is then whole."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from packaging.requirements import Requirement

from integration.conftest import MakeProject
from integration.locked import Cell, Locks, assert_sound, cells_of, installs
from support.index import LocalIndex
from support.metadata import Built
from support.scenario import Scenario
from support.wheels import wheel

PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {"linux-x86_64": ("linux", "manylinux_2_17_x86_64"), "windows-x86_64": ("win32", "win_amd64")}
SPECIFIERS = ("", ">=2", "<2", "==1.0", "==2.0", "!=2.0", "<3")
MARKERS = ("", "", "sys_platform == 'win32'", "python_version < '3.12'", "python_version >= '3.13'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """Releases by name and version, each the wheels it has and what it requires, and the environments."""

    wheels: Mapping[tuple[str, str], Sequence[Built]]
    requires: Mapping[tuple[str, str], Sequence[Requirement]]
    envs: Mapping[str, Mapping[str, list[str]]]

    @property
    def content(self) -> Scenario:
        """The project as a scenario without packages."""
        platforms = {"linux-x86_64": {"glibc": "2.28"}, "windows-x86_64": {}}
        targets = {"pythons": list(PYTHONS), "platforms": platforms}
        envs = {name: dict(env) for name, env in self.envs.items()}
        return Scenario(name="random", offers=(), quarantined=(), envs=envs, targets=targets, expected={})

    def wanted(self, cell: Cell) -> list[Requirement]:
        """What the environment of a cell requires there."""
        return [r for r in map(Requirement, self.envs[cell[0]]["requires"]) if applies(r, cell)]

    def needs(self, name: str, version: str, cell: Cell) -> list[Requirement]:
        """What a release requires in a cell."""
        return [r for r in self.requires[name, version] if applies(r, cell)]

    def satisfiable(self, cell: Cell) -> bool:
        """Whether any choice of versions serves the cell; tries them all."""
        return next(self._choices(cell, {}, self.wanted(cell)), None) is not None

    def _choices(self, cell: Cell, chosen: dict[str, str], open_: list[Requirement]) -> Iterator[dict[str, str]]:
        if not open_:
            yield chosen
            return
        first, *rest = open_
        if first.name in chosen:
            if first.specifier.contains(chosen[first.name]):
                yield from self._choices(cell, chosen, rest)
            return
        for (name, version), builts in self.wheels.items():
            fits = name == first.name and first.specifier.contains(version)
            if fits and any(installs(built, *cell[1:]) for built in builts):
                more = [*rest, *self.needs(name, version, cell)]
                yield from self._choices(cell, {**chosen, name: version}, more)

    def assert_whole(self, cell: Cell, pins: Mapping[str, str]) -> None:
        """Assert that the pins meet every requirement, and that something asks for each of them."""
        open_, seen = self.wanted(cell), set[str]()
        while open_:
            requirement = open_.pop()
            assert requirement.specifier.contains(pins[requirement.name]), (cell, str(requirement), pins)
            if requirement.name not in seen:
                seen.add(requirement.name)
                open_ += self.needs(requirement.name, pins[requirement.name], cell)
        assert seen == set(pins), cell


def applies(requirement: Requirement, cell: Cell) -> bool:
    environment = {"sys_platform": PLATFORMS[cell[1]][0], "python_version": cell[2]}
    return requirement.marker is None or requirement.marker.evaluate(environment)


def universe(seed: int) -> Universe:
    """Return the universe that a seed stands for; the same for ever."""
    rng = random.Random(seed)
    names = "abcd"[: rng.randint(2, 4)]
    wheels: dict[tuple[str, str], list[Built]] = {}
    requires: dict[tuple[str, str], list[Requirement]] = {}
    for name in names:
        for version in ("1.0", "2.0", "3.0")[: rng.randint(1, 3)]:
            asked = [_requirement(rng, other) for other in names if other > name and rng.random() < 0.55]
            texts = [str(requirement) for requirement in asked]
            wheels[name, version] = [wheel(name, version, tags=[tag], requires=texts) for tag in _tags(rng)]
            requires[name, version] = asked
    envs = {}
    for number in range(rng.randint(1, 3)):
        chosen = rng.sample(names, rng.randint(1, 2))
        envs[f"env{number}"] = {"requires": [name + rng.choice(("", "", ">=2", "<2", "!=3.0")) for name in chosen]}
        if rng.random() < 0.2:
            envs[f"env{number}"]["platforms"] = [rng.choice(list(PLATFORMS))]
    return Universe(wheels=wheels, requires=requires, envs=envs)


def _requirement(rng: random.Random, name: str) -> Requirement:
    marker = rng.choice(MARKERS)
    return Requirement(name + rng.choice(SPECIFIERS) + (f" ; {marker}" if marker else ""))


def _tags(rng: random.Random) -> list[str]:
    if rng.random() < 0.5:
        return ["py3-none-any"]
    low, high = sorted(rng.choices((11, 12, 13), k=2))
    platforms = rng.choice((["linux-x86_64"], ["windows-x86_64"], list(PLATFORMS), list(PLATFORMS)))
    return [f"cp3{n}-cp3{n}-{PLATFORMS[platform][1]}" for n in range(low, high + 1) for platform in platforms]


@pytest.mark.parametrize("seed", [14, 21, 54, 92], ids=lambda seed: f"seed{seed}")
def test_a_cell_is_proven_exactly_where_it_can_be(seed: int, index: LocalIndex, make_project: MakeProject) -> None:
    world = universe(seed)
    builts = [built for release in world.wheels.values() for built in release]
    for built in builts:
        index.add(built, core_metadata=True)
    content = world.content
    project = make_project(content, index)
    can = {cell: world.satisfiable(cell) for cell in cells_of(content.targets, world.envs)}
    result = project.run("lock")
    if any(not any(can[cell] for cell in can if cell[0] == name) for name in world.envs):
        assert result.code in (2, 3), result.err
        assert project.snapshot() == {}
        return
    result.expect(0)
    assert_sound(project, builts)
    locks = Locks(project)
    assert {cell: found["status"] == "proven" for cell, found in locks.cells.items()} == can
    for cell in filter(can.get, can):
        world.assert_whole(cell, locks.versions(*cell))
    before = project.snapshot(".")
    project.run("lock").expect(0)
    assert project.snapshot(".") == before
