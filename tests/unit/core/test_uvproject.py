"""What `uv sync` needs to install the pins of every extra and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from lockgrid.core.uvproject import Hashed, UvProject, read_locks, uv_project
from lockgrid.errors import InputError
from lockgrid.model.grid import CellRecord, Grid, LockedPin, Lockfile
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target
from unit.builders import LINUX, MAC, WINDOWS, digest, environment, locked, spec_of, target

Pins = Mapping[Target, Sequence[str]]
L10, L11, L12 = (target(LINUX, python) for python in ("3.10", "3.11", "3.12"))
M11, W11 = target(MAC, "3.11"), target(WINDOWS, "3.11")


def made(
    environments: Sequence[Environment],
    pins: Mapping[str, Pins],
    *,
    built: Sequence[str] = (),
    via: Mapping[str, Sequence[str]] | None = None,
    build: Sequence[LockedPin] = (),
    requires_python: str | None = None,
) -> UvProject:
    """The project of environments that pin `name==version` on each target; targets without pins are unsupported."""
    cells = [
        CellRecord(environment=e.name, platform=t.platform.name, python=t.python, proven=t in pins.get(e.name, {}))
        for e in environments
        for t in e.targets
    ]
    locks = {}
    for name, found in pins.items():
        for platform in dict.fromkeys(t.platform for t in found):
            here = {t.python: lines for t, lines in found.items() if t.platform == platform}
            pythons: dict[tuple[str, str], list[str]] = {}
            for python, lines in here.items():
                for line in lines:
                    package, _, version = line.partition("==")
                    pythons.setdefault((package, version), []).append(python)
            locks[name, platform.name] = Lockfile(
                environment=name,
                platform=platform.label,
                pythons=tuple(here),
                sdists=tuple(b for b in built if any(package == b for package, _ in pythons)),
                pins=tuple(
                    locked(package, version, where, via=(via or {}).get(package, ()))
                    for (package, version), where in sorted(pythons.items())
                ),
            )
    if build:
        locks["build", "build"] = Lockfile(
            environment="build", platform="any", pythons=("3.11", "3.12"), sdists=(), pins=tuple(build)
        )
    grid = Grid(
        exclude_newer=datetime(2026, 6, 1, tzinfo=UTC), inputs="", environments=(), lockfiles=(), cells=tuple(cells)
    )
    return uv_project(spec_of(*environments), grid, locks, requires_python)


def test_pins_of_which_there_is_one_version_are_bare_constraints() -> None:
    app = environment("a>=1", targets=[L11, L12])
    found = made([app], {"app": {L11: ["a==1", "b==2"], L12: ["a==1"]}})
    assert found.extras == {"app": ("a>=1",)}
    assert found.lists["constraint-dependencies"] == ("a==1", "b==2")
    where = "implementation_name == 'cpython' and sys_platform == 'linux' and platform_machine == 'x86_64'"
    assert found.lists["environments"] == (f"{where} and (python_version >= '3.11' and python_version < '3.13')",)
    assert not found.lists["conflicts"]
    assert not found.files


def test_versions_that_differ_by_target_are_told_apart_by_the_fewest_words() -> None:
    one = environment("a", name="one", targets=[L11, L12, W11])
    two = environment("a", name="two", targets=[L11, L12, W11])
    pins = {L11: ["a==1"], L12: ["a==2"], W11: ["a==1"]}
    found = made([one, two], {"one": pins, "two": pins})
    assert found.lists["constraint-dependencies"] == (
        "a==1 ; python_version < '3.12'",
        "a==2 ; python_version >= '3.12'",
    )
    pins = {L11: ["a==1"], L12: ["a==1"], W11: ["a==2+cpu"]}
    found = made([one, two], {"one": pins, "two": pins})
    assert found.lists["constraint-dependencies"] == (
        "a==1 ; sys_platform == 'linux'",
        "a==2+cpu ; sys_platform == 'win32'",
    )


def test_an_environment_that_is_apart_by_wish_is_no_extra_and_constrains_nothing() -> None:
    app, dev = environment("a", targets=[L11]), environment("a", name="dev", targets=[L12], apart=True)
    found = made([app, dev], {"app": {L11: ["a==1"]}, "dev": {L12: ["a==2", "b==1"]}})
    assert set(found.extras) == {"app"}
    assert found.lists["constraint-dependencies"] == ("a==1",)
    assert found.lists["no-build-package"] == ("a",)
    assert len(found.lists["environments"]) == 1
    assert "'3.12'" in str(found.lists["environments"])  # the upper bound


def test_nothing_is_kept_where_no_environment_is_an_extra() -> None:
    found = made([environment("a", apart=True)], {"app": {target(): ["a==1"]}})
    assert found.extras == {}
    assert not any(found.lists.values())
    assert (found.blocked, found.requires_python) == (False, "")


def test_extras_that_differ_conflict_and_ask_for_their_own_pins() -> None:
    """uv heeds a constraint with an extra only where the extra itself asks for the package."""
    names = ("one", "two", "three", "same")
    environments = [environment("a", name=name, targets=[L11, L12]) for name in names]
    found = made(
        environments,
        {
            "one": {L11: ["a==1", "dep==1"], L12: ["a==1", "dep==1"]},
            "two": {L11: ["a==1", "dep==2"], L12: ["a==1", "dep==1"]},
            "three": {L11: ["a==1", "dep==3"], L12: ["a==1", "dep==1"]},
            "same": {L11: ["a==1"], L12: ["a==1", "dep==1"]},
        },
    )
    assert found.lists["conflicts"] == (("one", "three", "two"),)
    assert found.lists["constraint-dependencies"] == ("a==1",)
    assert found.extras["two"] == ("a", "dep==1 ; python_version >= '3.12'", "dep==2 ; python_version < '3.12'")
    assert found.extras["same"] == ("a", "dep==1 ; python_version >= '3.12'")


def test_two_pairs_that_differ_are_two_conflicts() -> None:
    environments = [environment("a", name=name, targets=[L11]) for name in ("one", "two", "three")]
    found = made(
        environments,
        {"one": {L11: ["p==1", "q==1"]}, "two": {L11: ["p==2"]}, "three": {L11: ["q==2"]}},
    )
    assert found.lists["conflicts"] == (("one", "three"), ("one", "two"))


def test_versions_on_targets_that_the_other_lacks_are_no_conflict() -> None:
    one, two = environment("a", name="one", targets=[L11]), environment("a", name="two", targets=[W11])
    found = made([one, two], {"one": {L11: ["a==1"]}, "two": {W11: ["a==2"]}})
    assert not found.lists["conflicts"]
    assert found.lists["constraint-dependencies"] == (
        "a==1 ; sys_platform == 'linux'",
        "a==2 ; sys_platform == 'win32'",
    )


def test_where_an_extra_has_no_proven_cell_it_asks_for_the_package_that_cannot_be_installed() -> None:
    app = environment("a", "b[x]>=2 ; python_version < '4'", targets=[L11, M11])
    other = environment("a", name="other", targets=[L11, M11])
    found = made([app, other], {"app": {L11: ["a==1", "b==2"]}, "other": {L11: ["a==1"], M11: ["a==1"]}})
    assert found.extras["app"] == (
        "a ; sys_platform == 'linux'",
        "b[x]>=2 ; (python_version < \"4\") and (sys_platform == 'linux')",
        "lockgrid-unsupported ; sys_platform == 'darwin'",
    )
    assert found.extras["other"] == ("a",)
    assert set(found.files) == {"locks/unsupported/pyproject.toml", "locks/unsupported/unsupported.py"}


def test_a_gate_names_platforms_and_pythons_where_it_has_to() -> None:
    app = environment("a", targets=[L11, L12, M11])
    other = environment("a", name="other", targets=[L11, L12, M11])
    found = made([app, other], {"app": {L12: ["a==1"], M11: ["a==1"]}, "other": {t: ["a==1"] for t in (L11, L12, M11)}})
    linux = "sys_platform == 'linux' and "
    assert found.extras["app"] == (
        f"a ; ({linux}(python_version >= '3.12')) or (sys_platform == 'darwin')",
        f"lockgrid-unsupported ; {linux}python_version < '3.12'",
    )


def test_an_override_is_of_its_extra_alone() -> None:
    """With the extras that packages ask of it, which uv would forget; and where it is pinned, which uv would forget."""
    bold = environment("kit", name="bold", targets=[L11, L12], overrides={"dep": "==2"})
    plain = environment("kit", name="plain", targets=[L11, L12])
    found = made(
        [bold, plain],
        {
            "bold": {L11: ["kit==1", "dep==2", "more==1"], L12: ["kit==1"]},
            "plain": {L11: ["kit==1", "dep==1"], L12: ["kit==1"]},
        },
        via={"more": ["dep[x]==2"], "dep": ["kit==1"]},
    )
    assert found.lists["override-dependencies"] == (
        "dep[x]==2 ; extra == 'bold' and (python_version < '3.12')",
        "dep==1 ; extra == 'plain' and (python_version < '3.12')",
    )
    assert found.extras["bold"] == ("kit", "dep[x]==2 ; python_version < '3.12'")
    assert found.extras["plain"] == ("kit", "dep==1 ; python_version < '3.12'")
    assert found.lists["conflicts"] == (("bold", "plain"),)
    assert found.lists["constraint-dependencies"] == ("kit==1", "more==1")


def test_of_an_overridden_package_each_target_asks_for_its_own_extras() -> None:
    app = environment("kit", targets=[L11, W11], overrides={"dep": "==2"})
    pins = {"app": {L11: ["kit==1", "dep==2"], W11: ["kit==1", "dep==2", "more==1"]}}
    found = made([app], pins, via={"more": ["dep[x,y]==2"]})
    assert found.extras["app"] == ("kit", "dep==2 ; sys_platform == 'linux'", "dep[x,y]==2 ; sys_platform == 'win32'")


def test_uv_looks_at_pythons_by_themselves_where_their_pins_differ() -> None:
    """Else it may see a contradiction between Pythons that is none."""
    app = environment("a", targets=[L10, L11, L12])
    found = made([app], {"app": {L10: ["a==1"], L11: ["a==1", "b==1"], L12: ["a==2", "b==1"]}})
    assert [str(line).partition("(")[2] for line in found.lists["environments"]] == [
        "python_version >= '3.10' and python_version < '3.12')",
        "python_version >= '3.12' and python_version < '3.13')",
    ]


def test_sdists_may_be_built_with_pinned_build_requirements_and_nothing_else() -> None:
    app = environment("tree", targets=[L11, L12])
    found = made(
        [app],
        {"app": {L11: ["tree==1", "a==1"], L12: ["tree==1", "a==1"]}},
        built=["tree"],
        build=[locked("setuptools", "80", ["3.11", "3.12"]), locked("below", "1", ["3.11"])],
    )
    assert found.lists["no-build-package"] == ("a",)
    assert found.lists["no-binary-package"] == ("tree",)
    assert found.lists["build-constraint-dependencies"] == (
        Hashed("setuptools==80", (digest("setuptools-80-py3-none-any.whl"),)),
        Hashed("below==1 ; python_version < '3.12'", (digest("below-1-py3-none-any.whl"),)),
    )


def test_a_package_that_one_builds_and_another_does_not_may_be_either() -> None:
    one, two = environment("a", name="one", targets=[L11]), environment("a", name="two", targets=[W11])
    found = made([one, two], {"one": {L11: ["a==1"]}, "two": {W11: ["a==1"]}})
    assert found.lists["no-build-package"] == ("a",)
    both = {"one": {L11: ["a==1"]}, "two": {W11: ["a==1", "b==1"]}}
    found = made([one, two], both, built=["a", "b"])
    assert (found.lists["no-build-package"], found.lists["no-binary-package"]) == ((), ("a", "b"))


def test_the_grid_is_narrowed_to_what_the_project_says_of_pythons() -> None:
    """uv refuses environments that do not overlap with `requires-python`."""
    app = environment("a", targets=[L10, L11])
    pins = {"app": {L10: ["a==1"], L11: ["a==2"]}}
    assert made([app], pins).requires_python == ">=3.10"
    found = made([app], pins, requires_python=">=3.11")
    assert found.lists["constraint-dependencies"] == ("a==2",)
    assert "3.10" not in str(found.lists["environments"])
    assert made([app], pins, requires_python=">=3.10.4").lists == made([app], pins).lists  # 3.10.5 is admitted
    assert made([app], pins, requires_python="nonsense").lists == made([app], pins).lists


def test_an_extra_of_which_nothing_is_left_can_never_be_installed() -> None:
    old, new = environment("a", name="old", targets=[L10]), environment("a", name="new", targets=[L11])
    found = made([old, new], {"old": {L10: ["a==1"]}, "new": {L11: ["a==1"]}}, requires_python=">=3.11")
    assert found.extras == {"old": ("lockgrid-unsupported",), "new": ("a",)}


def test_lockfiles_are_read_by_environment_and_platform() -> None:
    text = "# environment: app\n# platform: linux-x86_64\n# pythons: 3.11\n"
    assert set(read_locks({"app/linux-x86_64.txt": text, "build.txt": text})) == {
        ("app", "linux-x86_64"),
        ("build", "build"),
    }
    with pytest.raises(InputError):
        read_locks({"app/linux-x86_64.txt": "nonsense"})
