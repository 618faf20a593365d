"""lockgrid and auditwheel on ten wheels of these locks: what they need of glibc and of GCC's libraries, side by side.

This reads the real index, through lockgrid and uv's configuration: ten pages and 20 MB of wheels. It is skipped,
and says so, where that cannot be reached, and on other systems than Linux, where auditwheel is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from lockgrid.adapters.archive import Limits
from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.source import LocalFile
from lockgrid.model.contents import Contents, Need, Version, version_text
from real.asked import Asked, locked_wheel

#: C, C++, Cython and Rust; by GNU ld, lld and mold; repaired by auditwheel and not.
TEN = [
    ("ai-ml-sdk-vgf-library", "linux-x86_64"),
    ("lief", "linux-x86_64"),
    ("ml-dtypes", "linux-x86_64"),
    ("nvidia-cuda-runtime", "linux-x86_64"),
    ("sentencepiece", "linux-x86_64"),
    ("aiohttp", "linux-aarch64"),
    ("ethos-u-vela", "linux-aarch64"),
    ("hypothesis", "linux-aarch64"),
    ("pyyaml", "linux-aarch64"),
    ("sentencepiece", "linux-aarch64"),
]
PREFIXES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
UNTESTED = "lockgrid was not compared with auditwheel on " + ", ".join(sorted({name for name, _ in TEN}))

Highest = dict[str, str]


def highest(needs: Iterable[Need]) -> Highest:
    """The highest version of each of the prefixes, ``-`` where none is needed."""
    numbers: dict[str, Version] = {}
    for need in needs:
        if need.number:
            numbers[need.prefix] = max(numbers.get(need.prefix, ()), need.number)
    return {prefix: version_text(numbers[prefix]) if prefix in numbers else "-" for prefix in PREFIXES}


def by_auditwheel(path: Path) -> Highest:
    abi = pytest.importorskip("auditwheel.wheel_abi", reason=f"auditwheel is not installed, so {UNTESTED}")
    found: Mapping[str, set[str]] = abi.analyze_wheel_abi(
        None, None, path, frozenset(), disable_isa_ext_check=True, allow_graft=False, args_ldpaths=""
    ).versioned_symbols
    return highest(Need(version=version, library=library) for library, several in found.items() for version in several)


def by_lockgrid(path: Path, *, sparing: bool) -> tuple[Highest, Contents]:
    with LocalFile(path) as source:
        contents = read_contents(path.name, source, Limits(exact=0), sparing=sparing)
    assert not [fault for fault in contents.faults if fault.kind in ("binary", "corrupt", "unread")]
    return highest(need for binary in contents.binaries for need in binary.needs), contents


@pytest.mark.skipif(sys.platform != "linux", reason=f"auditwheel runs on Linux alone, so {UNTESTED}")
def test_lockgrid_and_auditwheel_agree_on_what_ten_wheels_need(
    real_index: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = real_index.pages({name for name, _ in TEN}, UNTESTED)
    rows = [f"{'':34}{'':9}{'auditwheel':>12}{'lockgrid':>12}{'in part':>12}"]
    differing = []
    in_part = 0
    for name, platform in TEN:
        path = real_index.fetch(locked_wheel(name, platform, pages[name]), UNTESTED)
        theirs = by_auditwheel(path)
        ours, _ = by_lockgrid(path, sparing=False)
        sparing, contents = by_lockgrid(path, sparing=True)
        in_part += any(binary.partial for binary in contents.binaries)
        machine = platform.partition("-")[2]
        for prefix in PREFIXES:
            three = theirs[prefix], ours[prefix], sparing[prefix]
            label = f"{name} {machine}" if prefix == PREFIXES[0] else ""
            rows.append(f"{label:34}{prefix:9}" + "".join(f"{version:>12}" for version in three))
            if len(set(three)) > 1:
                differing.append((path.name, prefix, *three))
        assert theirs["GLIBC"] != "-", f"{path.name} needs no glibc: it compares nothing"
    with capsys.disabled():
        print("\n\nWhat ten wheels of these locks need, by auditwheel and by lockgrid:\n" + "\n".join(rows))
    assert differing == []
    assert in_part == len(TEN), "not every wheel was read in part as well, so the reader of heads was not compared"
