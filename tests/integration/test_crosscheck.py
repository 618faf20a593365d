"""`nox -s crosscheck` on a grid of tiny packages: pip's resolver judges, and what it says is told by package."""

from __future__ import annotations

import importlib.util
from hashlib import sha256

import pytest

from integration.conftest import MakeProject
from integration.machine import HERE, PYTHON
from integration.noxing import add_sessions, crosscheck
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import fake_setuptools

CONTENT = scenario.parse(
    """
[[packages]]
name = "App.Kit"
version = "1.0"
requires = ["plain<3", "tree", "never ; sys_platform == 'nowhere'"]
extras = { fast = ["quick"] }
[[packages]]
name = "plain"
version = "2.0"
python_wheels = "3.10-3.14"
[[packages]]
name = "plain"
version = "3.0"
[[packages]]
name = "quick"
version = "1.0+cpu"
[[packages]]
name = "tree"
version = "1.0"
wheels = []
sdist = { backend = "setuptools" }
[[packages]]
name = "strict"
version = "1.0"
requires = ["inner==1.0"]
[[packages]]
name = "inner"
version = "1.0"
requires = ["deep"]
[[packages]]
name = "inner"
version = "2.0"
[[packages]]
name = "deep"
version = "1.0"
[envs.toy]
requires = ["app-kit[fast]"]
[envs.toy.sdists]
tree = "there is no wheel"
[envs.over]
apart = true
requires = ["strict"]
[envs.over.overrides]
inner = { version = "==2.0", why = "a test" }
""",
    name="crosscheck",
)
pytestmark = [
    pytest.mark.skipif(not HERE, reason="the targets of the tests do not have this platform"),
    pytest.mark.skipif(not importlib.util.find_spec("piptools"), reason="pip-tools is not installed here"),
]


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    served.add(fake_setuptools())
    return served


@pytest.fixture(scope="module")
def locked(make_project: MakeProject, served: LocalIndex) -> Project:
    project = make_project(CONTENT, served, name="project")
    project.run("lock").expect(0)
    add_sessions(project)
    return project


def change(project: Project, old: str, new: str) -> None:
    """Change the lockfile of `toy`, and the grid to fit."""
    path = project.folder / "locks" / "toy" / f"{HERE}.txt"
    before = path.read_bytes()
    assert old.encode() in before
    path.write_bytes(before.replace(old.encode(), new.encode()))
    grid = project.folder / "locks" / "grid.toml"
    text = grid.read_text(encoding="utf-8")
    grid.write_text(text.replace(sha256(before).hexdigest(), sha256(path.read_bytes()).hexdigest()), encoding="utf-8")


def test_pip_arrives_at_the_same_pins_and_an_override_is_explained(locked: Project) -> None:
    before = locked.snapshot("locks")
    said = crosscheck(locked).expect(0).err.splitlines()
    assert said[0].startswith(f"over on {HERE} with Python {PYTHON}: 2 differences in 2 pins, 0 of them unexplained")
    assert said[1] == "  deep: the lock has no pin, pip 1.0 (asked for by inner alone, which [overrides] replaces)"
    assert said[2] == (
        "  inner: the lock has 2.0, pip 1.0 ([overrides] replaces what packages ask of it, and pip cannot)"
    )
    assert said[3].startswith(
        f"toy on {HERE} with Python {PYTHON}: pip-compile arrives at the same 4 pins, and pip-sync takes the lockfile"
    )
    assert said[4] == f"pip agrees with the locks: 2 cells judged on {HERE}"
    assert locked.snapshot("locks") == before


def test_a_pin_that_the_lock_lacks_is_a_difference(copy: Project) -> None:
    text = (copy.folder / "locks" / "toy" / f"{HERE}.txt").read_text(encoding="utf-8")
    block = text[text.index("plain==") : text.index("\n\n", text.index("plain==")) + 2]
    change(copy, block, "")
    result = crosscheck(copy, "toy").expect(1)
    assert "  plain: the lock has no pin, pip 2.0" in result.err
    assert "crosscheck: pip does not agree with the locks of toy" in result.err


def test_a_pin_that_nothing_asks_for_is_a_difference(copy: Project) -> None:
    change(copy, "plain==", f"deep==1.0 \\\n    --hash=sha256:{'0' * 64}\n\nplain==")
    assert "  deep: the lock has 1.0, pip none" in crosscheck(copy, "toy").expect(1).err


def test_a_pin_that_pip_would_not_take_is_told_with_pips_own_words(copy: Project) -> None:
    change(copy, "plain==2.0", "plain==3.0")
    err = crosscheck(copy, "toy").expect(1).err
    assert "toy: pip-compile failed:" in err
    assert "ResolutionImpossible" in err


def test_a_hash_of_no_file_is_told(copy: Project) -> None:
    text = (copy.folder / "locks" / "toy" / f"{HERE}.txt").read_text(encoding="utf-8")
    digest = text[text.index("quick==") :].partition("--hash=sha256:")[2][:64]
    change(copy, digest, "0" * 64)
    assert "quick" in crosscheck(copy, "toy").expect(1).err


def test_what_is_not_judged_is_told_and_nothing_judged_is_no_success(locked: Project) -> None:
    result = crosscheck(locked, "toy", "--python", "3.9").expect(1)
    assert f"toy: Python 3.9 is not proven on {HERE}: not judged" in result.err
    assert "no cell was judged" in result.err
    assert "usage: nox -s crosscheck" in crosscheck(locked, "--nonsense").expect(1).err


#: Both indexes have torch 1.0, each its own file, and the second has a higher ``other`` than the lock may take from it.
SOURCES = scenario.parse(
    """
[[packages]]
name = "lib"
version = "1.0"
requires = ["torch", "local", "other"]
[[packages]]
name = "torch"
version = "1.0"
[[packages]]
name = "other"
version = "1.0"
[[packages]]
name = "torch"
version = "1.0"
files = { "torch.py" = "cpu = True" }
index = "cpu"
[[packages]]
name = "local"
version = "3.0+cpu"
index = "cpu"
[[packages]]
name = "other"
version = "9.0"
index = "cpu"
[envs.toy]
requires = ["lib"]
[envs.toy.sources]
torch = "cpu"
local = "cpu"
""",
    name="crosscheck-sources",
)


@pytest.mark.parametrize("login", [None, ("me", "s3cr3t")])
def test_what_comes_from_an_index_of_its_own_is_judged_with_it(
    make_project: MakeProject, index: LocalIndex, login: tuple[str, str] | None
) -> None:
    SOURCES.populate(index)
    with LocalIndex(credentials=login) as cpu:
        SOURCES.populate(cpu, "cpu")
        env: dict[str, str | None] = {"UV_INDEX": f"cpu={cpu.url}"}
        if login:
            env |= {"UV_INDEX_CPU_USERNAME": login[0], "UV_INDEX_CPU_PASSWORD": login[1]}
        project = make_project(SOURCES, index)
        project.run("lock", env=env).expect(0)
        add_sessions(project)
        result = crosscheck(project, "toy", env=env)
        assert "pip-compile arrives at the same 4 pins, and pip-sync takes the lockfile" in result.expect(0).err
        assert "s3cr3t" not in result.out + result.err
        text = (project.folder / "locks" / "toy" / f"{HERE}.txt").read_text(encoding="utf-8")
        change(project, text[text.index("torch==") :].partition("sha256:")[2][:64], "0" * 64)
        assert "torch: pip does not know the file with sha256 000" in crosscheck(project, "toy", env=env).expect(1).err
