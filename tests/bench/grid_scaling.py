"""The cost of a cell as the grid grows, on a local index: environments doubled, then Pythons too."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from pathlib import Path

from bench import LOCKGRID, run
from support.index import LocalIndex
from support.wheels import wheel

_PACKAGES = 30
_TAGS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_14_0_arm64", "win_amd64")
_PLATFORMS = """
[platforms.linux-x86_64]
glibc = "2.28"
[platforms.linux-aarch64]
glibc = "2.28"
[platforms.macos-arm64]
macos = "15.0"
[platforms.windows-x86_64]
"""
# Doubling the grid may not make a cell dearer; a tenth is left for noise.
_TOLERANCE = 1.1


def cost_per_cell(folder: Path, env: dict[str, str], count: int) -> bool:
    """Print seconds per cell for each grid, warm and after a change; whether it does not grow."""
    sizes = [(4, 4), (8, 4), (8, 8), (16, 8)]
    with LocalIndex() as index:
        _publish(index, pythons=range(8, 16))
        local = {**env, "UV_DEFAULT_INDEX": index.url, "LOCKGRID_CACHE_DIR": str(folder / "cache-grid")}
        costs = []
        for environments, pythons in sizes:
            project = _project(folder / f"grid-{environments}-{pythons}", environments, pythons)
            run([*LOCKGRID, "-q", "lock"], project, local)
            seconds = statistics.median(_times(project, local, count))
            cells = environments * 4 * pythons
            costs.append(seconds / cells)
            print(f"grid of {environments} environments x 4 platforms x {pythons} Pythons = {cells} cells: "
                  f"{seconds:.2f} s, {1000 * seconds / cells:.1f} ms a cell", flush=True)  # fmt: skip
    grows = any(later > earlier * _TOLERANCE for earlier, later in pairwise(costs))
    print(f"cost per cell {'GROWS' if grows else 'does not grow'} with the grid", flush=True)
    return not grows


def _times(project: Path, env: dict[str, str], count: int) -> list[float]:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run([*LOCKGRID, "-q", "lock"], project, env)
        times.append(time.perf_counter() - begin)
    return times


def _publish(index: LocalIndex, pythons: range) -> None:
    """A chain of packages with a wheel for each target, and a pure one for each environment's root."""
    for number in range(_PACKAGES):
        requires = [f"chain{number + 1}>=1"] if number + 1 < _PACKAGES else []
        for minor in pythons:
            for tag in _TAGS:
                built = wheel(f"chain{number}", "1.0", tags=(f"cp3{minor}-cp3{minor}-{tag}",), requires=requires)
                index.add(built, uploaded="2026-01-01T00:00:00Z")
    for number in range(16):
        index.add(wheel(f"root{number}", "1.0", requires=["chain0==1.0"]), uploaded="2026-01-01T00:00:00Z")


def _project(folder: Path, environments: int, pythons: int) -> Path:
    (folder / "envs").mkdir(parents=True)
    names = ", ".join(f'"3.{minor}"' for minor in range(8, 8 + pythons))
    (folder / "envs" / "targets.toml").write_text(f"pythons = [{names}]\n{_PLATFORMS}", encoding="utf-8")
    for number in range(environments):
        text = f'requires = ["root{number}==1.0"]\n'
        (folder / "envs" / f"env{number}.toml").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nname = "grid"\nversion = "0"\n', encoding="utf-8")
    return folder
