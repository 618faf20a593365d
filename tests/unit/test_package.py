"""The package as a whole: its modules import alone, its layers hold, its dependencies are the sessions' own."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lockgrid

PACKAGE = Path(lockgrid.__file__).parent
ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    """The dotted names of all modules but ``__main__``."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__main__":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def imported(name: str, *, loaded: bool = False) -> Iterator[str]:
    """The modules that a module imports, anywhere in it; with ``loaded`` only those that loading it loads."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in tree.body if loaded else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


EACH = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("lockgrid" in sys.modules, len(sys.argv) - 1)
"""


def test_each_module_imports_in_a_fresh_interpreter() -> None:
    names = modules()
    assert len(names) > 30
    command = [sys.executable, "-W", "error", "-c", EACH, *reversed(names)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (f"True {len(names)}\n", "")


def test_each_module_imports_alone_because_none_imports_another_in_a_circle() -> None:
    """What is imported as a module is loaded, function bodies and type checking left out."""
    known = set(modules())
    below = {name: {other for other in imported(name, loaded=True) if other in known} - {name} for name in known}
    while below:
        leaves = {name for name, others in below.items() if not others & below.keys()}
        assert leaves, f"a circle among {sorted(below)}"
        below = {name: others for name, others in below.items() if name not in leaves}


@pytest.mark.parametrize(
    ("layer", "forbidden"),
    [
        ("core", ("adapters", "commands", "cli", "terminal", "progress")),
        ("adapters", ("core", "commands", "cli", "terminal")),
        ("model", ("adapters", "core", "commands", "cli", "terminal", "progress")),
        ("commands", ("cli", "terminal")),
        ("errors", ("adapters", "core", "commands", "cli", "terminal", "progress", "model")),
    ],
)
def test_imports_point_down_only(layer: str, forbidden: tuple[str, ...]) -> None:
    found = [
        (name, other)
        for name in modules()
        if name.split(".")[1:2] == [layer]
        for other in imported(name)
        if other.split(".")[:1] == ["lockgrid"] and other.split(".")[1:2] and other.split(".")[1] in forbidden
    ]
    assert found == []


def test_core_touches_no_file_process_network_or_clock() -> None:
    world = {"os", "pathlib", "subprocess", "socket", "aiohttp", "sqlite3", "shutil", "time", "tempfile", "threading"}
    found = {
        (name, other)
        for name in modules()
        if name.startswith("lockgrid.core.")
        for other in imported(name)
        if other.partition(".")[0] in world
        if other not in ("pathlib", "pathlib.PurePosixPath", "pathlib.PureWindowsPath")
    }
    assert found == set()


def dependencies(path: str, *keys: str) -> dict[str, Requirement]:
    data = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))
    for key in keys:
        data = data[key]
    found = [Requirement(str(line)) for line in data]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def test_the_dev_environment_repeats_the_dependencies_of_the_package() -> None:
    wanted = dependencies("generator/pyproject.toml", "project", "dependencies")
    repeated = dependencies("envs/dev.toml", "requires")
    assert wanted
    for name, requirement in wanted.items():
        assert repeated.get(name) == requirement


def test_what_builds_the_package_is_in_the_dev_environment_too() -> None:
    wanted = dependencies("generator/pyproject.toml", "build-system", "requires")
    repeated = dependencies("envs/dev.toml", "requires")
    assert {name: repeated.get(name) for name in wanted} == wanted
