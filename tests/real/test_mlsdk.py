"""The ML SDK 0.10.0: wheels whose tags promise more than their binaries keep. This reads the real index, 50 MB."""

from __future__ import annotations

from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.source import LocalFile
from lockgrid.core.judge import judge_wheels
from lockgrid.model.finding import Finding
from real.asked import Asked

NAMES = ("ai-ml-emulation-layer-for-vulkan", "ai-ml-sdk-model-converter", "ai-ml-sdk-vgf-library")
UNTESTED = "the ML SDK 0.10.0 was not read"


def findings(real_index: Asked, platform: str) -> dict[str, Finding]:
    """The errors on the wheels of the platform, each judged alone, by name."""
    pages = real_index.pages(set(NAMES), UNTESTED)
    found: dict[str, Finding] = {}
    for name in NAMES:
        file = next(file for file in pages[name].releases["0.10.0"] if platform in file.filename)
        with LocalFile(real_index.fetch(file, UNTESTED)) as source:
            contents = read_contents(file.filename, source)
        found |= {finding.name: finding for finding in judge_wheels([contents], "3.12") if finding.severity == "error"}
    return found


def test_its_linux_wheels_need_a_newer_glibc_and_libstdcxx_than_manylinux2014(real_index: Asked) -> None:
    found = findings(real_index, "manylinux2014_x86_64")
    for name in NAMES:
        assert found[f"glibc:{name}"].needs.startswith("GLIBC_2.38 of libc.so.6")
        assert found[f"glibc:{name}"].has == "glibc 2.17"
        assert found[f"glibcxx:{name}"].needs.startswith("GLIBCXX_3.4.32 of libstdc++.so.6")
        assert found[f"glibcxx:{name}"].has == "GLIBCXX_3.4.19"


def test_its_macos_wheels_need_macos_15_and_promise_11(real_index: Asked) -> None:
    found = findings(real_index, "macosx_11_0_arm64")
    for name in NAMES:
        assert (found[f"macos:{name}"].needs, found[f"macos:{name}"].has) == ("macOS 15.0", "macOS 11.0")
