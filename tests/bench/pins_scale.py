"""``lockgrid pins check`` of 1,000 copies in a tree of 20,000 files, in seconds."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

FILES = 20_000
COPIES = 1_000
LIMIT = 2.0  # seconds, on two cores
_NOISE = 150  # lines around each copy

#: For each kind of match: the file's name, a line of noise, the copy, and how it is matched; ``N`` is a number.
KINDS: tuple[tuple[str, str, str, str], ...] = (
    ("r.txt", "package-{}==9.{}\n", "vela-N==1.2.0  # a pin\n", '{ requirement = "vela-N" }'),
    ("p.toml", 'key{} = ["x", {}]\n', '[project]\ndependencies = ["vela-N==1.2"]\n', '{ dependency = "vela-N" }'),
    ("CMakeLists.txt", "set(OTHER{} {})  # x\n", 'set(VELA_N "1.2.0")\n', '{ cmake-set = "VELA_N" }'),
    ("dep.cmake", "message(STATUS a{} {})\n", "FetchContent_Declare(nnN GIT_TAG v1.2)\n", '{ cmake-git-tag = "nnN" }'),
    ("s.sh", "OTHER{}={} true\n", "VELA_N=1.2.0\n", '{ shell = "VELA_N" }'),
    ("s.py", "other_{} = f(x, {})\n", 'VELA_N = "1.2.0"\n', '{ python = "VELA_N" }'),
    ("t.toml", 'key{} = "{}"\n', '[vela]\nvN = "1.2.0"\n', '{ toml = "vela.vN" }'),
    ("j.json", '"key{}": "{}",\n', '"vN": "1.2.0"\n', '{ json = "vN" }'),
    ("y.yaml", "key{}: [{}]\n", "vN: 1.2.0\n", '{ yaml = "vN" }'),
    ("x.txt", "some text {} with {}\n", "get vela-N-1.2.0.tar.gz\n", "{ regex = 'vela-N-(?P<v>[0-9.]+)[.]tar' }"),
)


def make_tree(root: Path) -> None:
    """A project with one pin and its copies, each in a file of its own, and files that nobody names."""
    copies = []
    for number in range(COPIES):
        name, noise, copy, match = KINDS[number % len(KINDS)]
        body = "".join(noise.format(line, line) for line in range(_NOISE)) + copy.replace("N", str(number))
        file = f"d{number % 97}/e{number}/{name}"
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(f"{{{body}}}" if name.endswith(".json") else body, encoding="utf-8")
        copies.append(f'{{ file = "{file}", match = {match.replace("N", str(number))} }}')
    for number in range(FILES - COPIES):
        folder = root / f"d{number % 97}/f{number % 1009}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text("vela==1.2.0\n" * 20, encoding="utf-8")
    listed = ",\n".join(copies)
    pin = f'[pins.vela]\ntruth = {{ literal = "1.2.0" }}\ncopies = [\n{listed},\n]\n'
    (root / "pins.toml").write_text(pin, encoding="utf-8")


def pins_in_time(folder: Path, run: Callable[[list[str], Path], None], count: int) -> bool:
    """Time whole runs of the command; prints the median, and whether it keeps within its limit."""
    root = folder / "pins"
    make_tree(root)
    times = []
    spent = os.times()
    for _ in range(count):
        begin = time.perf_counter()
        run(["pins", "check"], root)
        times.append(time.perf_counter() - begin)
    after = os.times()
    cpu = (after.children_user + after.children_system - spent.children_user - spent.children_system) / count
    median = statistics.median(times)
    verdict = "ok" if median < LIMIT else "TOO SLOW"
    print(
        f"lockgrid pins check, {COPIES:,} copies in a tree of {FILES:,} files: {median:.2f} s (median of {count}; "
        f"{min(times):.2f} to {max(times):.2f} s, of the processor {cpu:.2f} s), limit {LIMIT} s: {verdict}",
        flush=True,
    )
    return median < LIMIT
