"""What is true: a pin of the grid, a place in a file, a git source, a literal; and what cannot be told."""

from __future__ import annotations

import pytest

from lockgrid.core.pins.text import Text
from lockgrid.core.pins.truths import TruthError, World, find_truth
from lockgrid.model.grid import LockedPin, Lockfile
from lockgrid.model.pins import FileTruth, GitTruth, Kind, LiteralTruth, Match, PackageTruth, Source, Truth
from unit.builders import locked

COMMIT = "dbf45dbfcc515421dd6099037d3e2637b90748c8"
OTHER = "c0ffee1789abcdef0123456789abcdef01234567"
BOTH = ["3.11", "3.12"]


def lockfile(environment: str, platform: str, *pins: LockedPin) -> Lockfile:
    return Lockfile(
        environment=environment,
        platform=platform,
        pythons=tuple(BOTH),
        sdists=(),
        pins=tuple(sorted(pins, key=lambda pin: pin.name)),
    )


LOCKS = {
    ("tosa", "linux"): lockfile(
        "tosa",
        "linux",
        locked("a", "1.0", BOTH, via=["envs/tosa.toml", "tools[x]==2"]),
        locked("b", "1.0", ["3.11"]),
        locked("b", "2.0", ["3.12"]),
        locked("ab", "9", BOTH),
    ),
    ("vgf", "linux"): lockfile("vgf", "linux", locked("a", "1.0", BOTH), locked("c", "1.0", BOTH, via=["tools==2"])),
    ("vgf", "macos"): lockfile("vgf", "macos", locked("a", "1.0", BOTH), locked("c", "1.1", BOTH, via=["other==2"])),
}


def tell(source: Source, **world: object) -> Truth:
    return find_truth(source, World(**{"locks": LOCKS, **world}))  # type: ignore[arg-type]


def why_not(source: Source, **world: object) -> str:
    with pytest.raises(TruthError) as caught:
        tell(source, **world)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "version", "origin"),
    [
        (PackageTruth(package="a"), "1.0", "locks/ of tosa, vgf"),
        (PackageTruth(package="a", environment="vgf"), "1.0", "locks/ of vgf"),
        (PackageTruth(package="b", python="3.12"), "2.0", "locks/ of tosa"),
        (PackageTruth(package="c", platform="macos"), "1.1", "locks/ of vgf"),
        (PackageTruth(package="c", required_by="tools"), "1.0", "locks/ of vgf, which tools==2 asks for"),
        (PackageTruth(package="a", required_by="tools"), "1.0", "locks/ of tosa, which tools==2 asks for"),
    ],
)
def test_a_pin_of_the_grid(source: PackageTruth, version: str, origin: str) -> None:
    assert tell(source) == Truth(version, origin)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            PackageTruth(package="b"),
            (
                "the grid pins b as 1.0 in tosa (linux); 2.0 in tosa (linux): "
                "name an environment, a platform or a python"
            ),
        ),
        (
            PackageTruth(package="c"),
            ("the grid pins c as 1.0 in vgf (linux); 1.1 in vgf (macos): name an environment, a platform or a python"),
        ),
        (PackageTruth(package="d"), "no lockfile pins d (known: a, ab, b, c)"),
        (PackageTruth(package="c", environment="tosa"), "no cell that is meant pins c"),
        (PackageTruth(package="a", required_by="nobody"), "no cell that is meant pins a because nobody asks for it"),
        (PackageTruth(package="a", environment="toza"), "locks/ has no environment 'toza' (did you mean 'tosa'?)"),
        (PackageTruth(package="a", platform="linus"), "locks/ has no platform 'linus' (did you mean 'linux'?)"),
        (PackageTruth(package="a", python="3.13"), "locks/ has no python '3.13' (did you mean '3.12'?)"),
    ],
)
def test_a_pin_that_cannot_be_told(source: PackageTruth, said: str) -> None:
    assert why_not(source) == said


def test_without_lockfiles_nothing_is_pinned() -> None:
    assert why_not(PackageTruth(package="a"), locks={}) == "there are no lockfiles: run `lockgrid lock`"


def test_a_place_in_a_file() -> None:
    source = FileTruth(file="v.toml", match=Match(kind=Kind.TOML, key=("v",)))
    assert tell(source, files={(False, "v.toml"): Text('\nv = "v1.2"')}) == Truth("1.2", "v.toml:2")
    assert tell(source, files={(False, "v.toml"): Text(f'v = "{COMMIT}"')}) == Truth(COMMIT, "v.toml:1", commit=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("there is no such file", "v.toml: there is no such file"),
        (Text("x = 1"), "v.toml: nothing is found by toml v"),
        (Text('\nv = "a b"'), "v.toml:2: 'a b' is no version and no commit"),
        (Text('\nv = "main"'), "v.toml:2: 'main' is neither a version (PEP 440) nor a commit"),
        (Text('v = "==1.2.*"'), "v.toml:1: '1.2' is neither a version (PEP 440) nor a commit"),
    ],
)
def test_a_place_that_cannot_be_told(text: Text | str, said: str) -> None:
    source = FileTruth(file="v.toml", match=Match(kind=Kind.TOML, key=("v",)))
    assert why_not(source, files={(False, "v.toml"): text}) == said


GIT = {
    "envs/targets.toml": "[git]\nnn = 1\n",
    "envs/base.toml": f'abstract = true\n[git]\nNN = {{ url = "u", rev = "{COMMIT}" }}\n',
    "envs/cortex_m.toml": 'extends = ["base"]\n',
    "envs/tosa.toml": f'extends = ["base"]\n[git]\nnn = {{ url = "u", rev = "{OTHER.upper()}" }}\n',
    "envs/bad.toml": 'extends = ["bad"]\n[git]\nx = { rev = "main" }\n',
}


def test_the_commit_of_a_git_source_of_the_nearest_file() -> None:
    assert tell(GitTruth(source="nn", environment="cortex_m"), environments=GIT) == Truth(
        COMMIT, "envs/base.toml", True
    )
    assert tell(GitTruth(source="nn", environment="tosa"), environments=GIT) == Truth(OTHER, "envs/tosa.toml", True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            GitTruth(source="nn"),
            (
                f"the git source nn is {COMMIT[:12]} in envs/base.toml; {OTHER[:12]} in envs/tosa.toml: "
                "name an environment"
            ),
        ),
        (GitTruth(source="mm", environment="tosa"), "there is no git source 'mm' of tosa (known: NN, nn)"),
        (GitTruth(source="x"), "envs/bad.toml: git.x.rev is no full commit"),
        (GitTruth(source="nn", environment="no"), "there is no git source 'nn' of no (there are none)"),
    ],
)
def test_a_git_source_that_cannot_be_told(source: GitTruth, said: str) -> None:
    assert why_not(source, environments=GIT) == said


def test_a_literal() -> None:
    assert tell(LiteralTruth(value="2026.05.0")) == Truth("2026.05.0", "pins.toml")
