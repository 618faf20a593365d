"""How long lockgrid takes beside uv, measured in one run: medians of pairs, A then B, B then A, and so on.

    python tests/bench/bench.py [--pairs 5] [--only warm,backends,cold,inside,uvlock,loop,start,grid,pins]

Reads this repository's envs/ and uses the index that uv is configured with; the grid measurement uses an
index that it serves itself. Writes nothing outside a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockgrid.adapters.cache import Cache
from lockgrid.core.spec import parse_spec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
UV = shutil.which("uv") or "uv"
LOCKGRID = [sys.executable, "-m", "lockgrid"]
UV_PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
FEWEST_PAIRS = 5


@dataclass(frozen=True)
class Timing:
    """Seconds of each run."""

    seconds: list[float]

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.seconds)


def run(command: list[str], folder: Path, env: dict[str, str], *, codes: tuple[int, ...] = (0,)) -> None:
    """Run a command; its output is shown when it fails."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def pairs(count: int, one: Callable[[], None], other: Callable[[], None]) -> tuple[Timing, Timing]:
    """Time both, ``count`` times, changing which goes first."""
    first: list[float] = []
    second: list[float] = []
    for number in range(count):
        order = [(one, first), (other, second)]
        for job, times in order if number % 2 == 0 else reversed(order):
            begin = time.perf_counter()
            job()
            times.append(time.perf_counter() - begin)
    return Timing(first), Timing(second)


def report(name: str, ours: Timing, theirs: Timing, limit: float) -> bool:
    """Print one comparison; whether it keeps within its limit."""
    ratio = ours.median / theirs.median
    verdict = "ok" if ratio <= limit else "TOO SLOW"
    spread = ", ".join(f"{min(t.seconds):.2f} to {max(t.seconds):.2f} s" for t in (ours, theirs))
    print(
        f"{name}: lockgrid {ours.median:.2f} s, uv {theirs.median:.2f} s (medians of {len(ours.seconds)}; {spread}): "
        f"ratio {ratio:.2f}, limit {limit:g}: {verdict}",
        flush=True,
    )
    return ratio <= limit


def copy_insides(source: Path, target: Path) -> None:
    """Copy of lockgrid's cache what is kept by a file's hash for ever about its inside, and nothing else."""
    Cache(target).close()
    (known,), (new,) = (list(folder.glob("cache-*.sqlite3")) for folder in (source, target))
    with closing(sqlite3.connect(new)) as connection, connection:
        connection.execute("attach ? as known", (str(known),))
        connection.execute("insert into entries select * from known.entries where kind in ('contents', 'judged')")


# Runs lockgrid and says on stderr how many seconds it took, and how many of these proofs 4 and 5.
INSIDE = """
import sys, time
from lockgrid.commands import solve
begin, spent, inspect = time.perf_counter(), 0.0, solve.inspect
def timed(*arguments, **more):
    global spent
    start = time.perf_counter()
    try:
        return inspect(*arguments, **more)
    finally:
        spent += time.perf_counter() - start
solve.inspect = timed
from lockgrid.cli import main
try:
    main()
finally:
    print(time.perf_counter() - begin, spent, file=sys.stderr)
"""


class Bench:
    """The measurements, on a copy of the repository's input."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.count = count
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHONPATH")}
        self.env |= {"UV_PYTHON_DOWNLOADS": "never", "LOCKGRID_CACHE_DIR": str(folder / "cache-lockgrid")}
        self.env["UV_CACHE_DIR"] = str(folder / "cache-uv")
        self.everything = self._project("everything", with_dev=True)
        self.backends = self._project("backends", with_dev=False)
        texts = {f"envs/{file.name}": file.read_text(encoding="utf-8") for file in (ROOT / "envs").glob("*.toml")}
        self.extras = {e.name: [d.text for d in e.requires] for e in parse_spec(texts).environments if not e.apart}
        self.plain = self._uv_project("plain", cached=False)
        self.cached = self._uv_project("cached", cached=True)

    def _project(self, name: str, *, with_dev: bool) -> Path:
        """A lockgrid project with this repository's input and no locks."""
        project = self.folder / name
        shutil.copytree(ROOT / "envs", project / "envs")
        if not with_dev:
            (project / "envs" / "dev.toml").unlink()
        (project / "pyproject.toml").write_text('[project]\nname = "bench"\nversion = "0"\n', encoding="utf-8")
        return project

    def _uv_project(self, name: str, *, cached: bool) -> Path:
        """The same extras as a person would type them for uv: no platforms, Python 3.10 or newer.

        ``cached`` adds what lockgrid tells uv of an index: pages are good for ten minutes, files for ever.
        """
        project = self.folder / name
        project.mkdir()
        overrides = []
        for file in sorted((ROOT / "envs").glob("*.toml")):
            table = tomllib.loads(file.read_text(encoding="utf-8"))
            overrides += [f"{package}{entry['version']}" for package, entry in table.get("overrides", {}).items()]
        lines = ["[project]", 'name = "plain"', 'version = "0"', 'requires-python = ">=3.10"', ""]
        extras = [f"{extra} = {_toml(value)}" for extra, value in self.extras.items()]
        lines += ["[project.optional-dependencies]", *extras]
        lines += ["", "[tool.uv]", "package = false", f"override-dependencies = {_toml(overrides)}", ""]
        if cached:
            lines += ["[[tool.uv.index]]", f'url = "{self._index_url()}"', "default = true"]
            lines += ['cache-control = { api = "max-age=600", files = "max-age=365000000, immutable" }', ""]
        (project / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
        return project

    def _index_url(self) -> str:
        """The index that uv uses by itself: asked of uv, since no file names one."""
        empty = self.folder / "empty.in"
        empty.touch()
        command = [UV, "pip", "compile", str(empty), "--emit-index-url", "--offline", "--no-header"]
        out = subprocess.run(command, capture_output=True, text=True, check=True, env=self.env).stdout
        return next(line.split()[1] for line in out.splitlines() if line.startswith("--index-url"))

    def lockgrid(self, project: Path, env: dict[str, str] | None = None) -> Callable[[], None]:
        """A job: lock the project, keeping what is locked."""
        return lambda: run([*LOCKGRID, "-q", "lock"], project, env or self.env)

    def uv_lock(self, project: Path, env: dict[str, str] | None = None) -> Callable[[], None]:
        """A job: lock the project with uv, from nothing."""

        def job() -> None:
            (project / "uv.lock").unlink(missing_ok=True)
            run([UV, "lock", "--python", sys.executable], project, env or self.env)

        return job

    # -- what the README promises ------------------------------------------------------------------------

    def warm(self) -> bool:
        """(a) The whole lock, proofs included, beside `uv lock` of the same extras as a person would type it."""
        self.lockgrid(self.everything)()
        self.uv_lock(self.plain)()
        ours, theirs = pairs(self.count, self.lockgrid(self.everything), self.uv_lock(self.plain))
        return report("(a) warm, everything, against uv lock as typed", ours, theirs, 1.0)

    def warm_backends(self) -> bool:
        """(b) The backends alone, both served wholly from warm caches."""
        self.lockgrid(self.backends)()
        self.uv_lock(self.cached)()
        ours, theirs = pairs(self.count, self.lockgrid(self.backends), self.uv_lock(self.cached))
        self.warm_ours = ours.median
        self.warm_theirs = theirs.median
        return report("(b) warm, backends, against uv lock with cache-control", ours, theirs, 5.0)

    def cold(self) -> bool:
        """(c) The backends with empty caches and nothing locked; what is inside the wheels is measured by (d)."""
        self.lockgrid(self.backends)()

        def ours() -> None:
            project = Path(tempfile.mkdtemp(dir=self.folder))
            shutil.copytree(self.backends / "envs", project / "envs")
            shutil.copy(self.backends / "pyproject.toml", project)
            copy_insides(self.folder / "cache-lockgrid", project / "own-cache")
            run([*LOCKGRID, "-q", "lock"], project, self._cold_env(project))

        def theirs() -> None:
            project = Path(tempfile.mkdtemp(dir=self.folder))
            shutil.copy(self.plain / "pyproject.toml", project)
            run([UV, "lock", "--python", sys.executable], project, self._cold_env(project))

        return report("(c) cold, backends, against uv lock as typed", *pairs(self.count, ours, theirs), 2.0)

    def inside(self) -> bool:
        """(d) What proofs 4 and 5 add to a warm lock that resolves anew; and what the first look costs, once."""
        self.lockgrid(self.everything)()
        times = []
        for _ in range(self.count):
            command = [sys.executable, "-c", INSIDE, "-q", "lock", "-P", "setuptools"]
            done = subprocess.run(
                command, cwd=self.everything, env=self.env, capture_output=True, text=True, check=True
            )
            whole, inside = map(float, done.stderr.split()[-2:])
            times.append(inside / (whole - inside))
        added = statistics.median(times)
        verdict = "ok" if added <= 0.2 else "TOO SLOW"
        print(
            f"(d) warm, proofs 4 and 5 add {added:.1%} to a lock that resolves anew, limit 20%: {verdict}", flush=True
        )
        env = self._cold_env(Path(tempfile.mkdtemp(dir=self.folder)))
        begin = time.perf_counter()
        done = subprocess.run(
            [*LOCKGRID, "-q", "audit", "--json"],
            cwd=self.everything,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = json.loads(done.stdout)["wheels"]
        read, size = (sum(wheel[key] for wheel in wheels) / 1e6 for key in ("read", "size"))
        seconds = time.perf_counter() - begin
        print(
            f"    first look into {len(wheels)} wheels: {read:,.0f} MB of {size:,.0f} MB, {seconds:.0f} s", flush=True
        )
        return added <= 0.2

    def _cold_env(self, project: Path) -> dict[str, str]:
        caches = {"UV_CACHE_DIR": str(project / "uv-cache"), "LOCKGRID_CACHE_DIR": str(project / "own-cache")}
        return {**self.env, **caches}

    def loop(self) -> bool:
        """One `uv pip compile` for each cell, under the same settings: what the one resolution replaces."""
        if not hasattr(self, "warm_ours"):
            self.warm_backends()
        config = self.folder / "loop.toml"
        index = f'[[index]]\nurl = "{self._index_url()}"\ndefault = true\n'
        config.write_text(
            index + 'cache-control = { api = "max-age=600", files = "max-age=365000000, immutable" }\n',
            encoding="utf-8",
        )
        project = tomllib.loads((self.cached / "pyproject.toml").read_text(encoding="utf-8"))
        (self.folder / "overrides.in").write_text(
            "\n".join(project["tool"]["uv"]["override-dependencies"]), encoding="utf-8"
        )
        begin = time.perf_counter()
        count = 0
        for extra, requirements in project["project"]["optional-dependencies"].items():
            (self.folder / f"{extra}.in").write_text("\n".join(requirements), encoding="utf-8")
            for platform in UV_PLATFORMS:
                for minor in range(10, 15):
                    command = [
                        UV,
                        "pip",
                        "compile",
                        "--quiet",
                        f"{extra}.in",
                        "--config-file",
                        str(config),
                        "--generate-hashes",
                    ]
                    command += [
                        "--python-platform",
                        platform,
                        "--python-version",
                        f"3.{minor}",
                        "--override",
                        "overrides.in",
                    ]
                    command += [
                        "--only-binary",
                        ":all:",
                        "--no-binary",
                        "antlr4-python3-runtime",
                        "--prerelease",
                        "explicit",
                    ]
                    # Python 3.14 has no solution: that is an answer too.
                    run([*command, "-o", os.devnull], self.folder, self.env, codes=(0, 1))
                    count += 1
        seconds = time.perf_counter() - begin
        ratio = seconds / self.warm_theirs
        verdict = "ok" if ratio >= 20 else "NOT SO"
        print(
            f"loop of {count} uv pip compile: {seconds:.1f} s, {ratio:.0f} times the uv lock of (b), "
            f"{seconds / self.warm_ours:.0f} times the lockgrid lock of (b); at least 20 times uv's: {verdict}",
            flush=True,
        )
        return ratio >= 20

    def uvlock(self) -> bool:
        """(e) `lockgrid uv-lock` beside a bare `uv lock` of the same project, both from nothing with warm caches."""
        self.lockgrid(self.everything)()
        env = {**self.env, "LOCKGRID_UV": UV}

        def job(*command: str) -> Callable[[], None]:
            def go() -> None:
                (self.everything / "uv.lock").unlink(missing_ok=True)
                run([*command], self.everything, env)

            return go

        ours, theirs = job(*LOCKGRID, "-q", "uv-lock"), job(UV, "lock")
        ours()
        theirs()
        return report("(e) lockgrid uv-lock, against uv lock", *pairs(max(self.count, 9), ours, theirs), 1.5)

    def start(self) -> bool:
        """`lockgrid check` and `lockgrid --help`, in seconds."""
        self.lockgrid(self.everything)()
        passed = True
        for words, limit in ((["check"], 0.5), (["--help"], 0.25)):
            times = []
            for _ in range(max(self.count, FEWEST_PAIRS)):
                begin = time.perf_counter()
                run([*LOCKGRID, *words], self.everything, self.env)
                times.append(time.perf_counter() - begin)
            median = statistics.median(times)
            passed &= median < limit
            verdict = "ok" if median < limit else "TOO SLOW"
            print(f"lockgrid {words[0]}: {median:.2f} s, limit {limit} s: {verdict}", flush=True)
        return passed

    def grid(self) -> bool:
        """Cost per cell as the grid doubles: more environments, then more Pythons, on an index served here."""
        from grid_scaling import cost_per_cell

        return cost_per_cell(self.folder, self.env, self.count)

    def pins(self) -> bool:
        """`lockgrid pins check` in seconds, over a large tree."""
        from pins_scale import pins_in_time

        def one(words: list[str], folder: Path) -> None:
            run([*LOCKGRID, *words], folder, self.env)

        return pins_in_time(self.folder, one, max(self.count, FEWEST_PAIRS))


def _toml(value: Any) -> str:
    return "[" + ", ".join(f'"{item}"' for item in value) + "]"


def main() -> None:
    """Run the measurements that were asked for; exit 1 when one is over its limit."""
    names = ("warm", "backends", "cold", "inside", "uvlock", "loop", "start", "grid", "pins")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS, help="how many pairs to take medians of")
    parser.add_argument("--only", default=",".join(names), help=f"some of {','.join(names)}")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",")
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"unknown measurement: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="lockgrid-bench-") as folder:
        bench = Bench(Path(folder), arguments.pairs)
        jobs = {
            "warm": bench.warm,
            "backends": bench.warm_backends,
            "cold": bench.cold,
            "inside": bench.inside,
            "uvlock": bench.uvlock,
            "loop": bench.loop,
            "start": bench.start,
            "grid": bench.grid,
            "pins": bench.pins,
        }
        passed = [jobs[name]() for name in names if name in chosen]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
