"""The diff that the golden files show: each kind of change once, and strangers who mean harm."""

from __future__ import annotations

from dataclasses import replace

from lockgrid.core.diff import diff
from lockgrid.model.advisory import Vulnerability
from lockgrid.model.diff import DiffFacts, GridDiff, Side
from lockgrid.model.index import Licence
from unit.builders import digest
from unit.grids import MISBUILT, NO_WHEEL, NOT_THERE
from unit.snapshots import ARM, LINUX, MAC, Cells, cells, found, snapshot, unsupported

#: Text that would be markup, a mention, a reference, a link or a formula.
EVIL = "@all #1 GH-2 fixes o/r#3 https://evil.example/x <img src=x onerror=y> `code` *b* _i_ [l](u) | $x$ \\ \x1b[31m"

_NVIDIA = [f"nvidia-{name}" for name in ("cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "nvtx")]
_VIA = {
    "nvidia-cublas": "torch nvidia-cudnn nvidia-cusolver",
    **{name: "torch" for name in _NVIDIA if name != "nvidia-cublas"},
    "triton": "torch",
    "sympy": "torch still",
    "six": "dateutil",
    "dateutil": "envs/tosa.toml",
}
_TOP = {"torch": "2.12.0", "still": "1.0", "sympy": "1.13.3", "late": "1.0", "dateutil": "2.9", "six": "1.17"}


def _pins(torch: str, nvidia: str, linux: dict[str, str], **top: str) -> Cells:
    everywhere = {**_TOP, "torch": torch, **top}
    backend = cells("tosa", everywhere, [MAC]) | cells("tosa", {**everywhere, **linux}, [LINUX])
    for python in ("3.11", "3.12"):
        backend["tosa", LINUX, python] |= dict.fromkeys(_NVIDIA, nvidia) | {"triton": nvidia}
    return backend


_OLD = _pins("2.12.0", "13.0.1", {"flaky": "2.0"})
_NEW = _pins("2.13.0", "13.1.0", {"flaky": "1.9"}, sympy="1.14.0", newcomer="0.1")
del _NEW["tosa", LINUX, "3.12"]["dateutil"]

OLD = snapshot(
    _OLD | cells("dev", {"ruff": "0.8", "sympy": "1.13.3"}, [LINUX]) | cells("vgf", {"vgf": "1"}, [MAC, LINUX], "3.11"),
    via=_VIA,
    records=[unsupported("tosa", MAC, "3.13", NO_WHEEL, NOT_THERE)],
    findings=[found("any:gone", "tosa", (MAC, "3.11"))],
    build={"setuptools": "84.2.1"},
)
NEW = snapshot(
    _NEW
    | cells("tosa", {**_TOP, "torch": "2.13.0", "fresh": "3"}, [MAC], "3.13")
    | cells("dev", {"ruff": "0.9", "sympy": "1.14.0"}, [LINUX])
    | cells("vgf", {"vgf": "1"}, [LINUX], "3.11"),
    via=_VIA,
    more={"late": ["late-1.0-cp312-cp312-win_amd64.whl", "unknown"]},
    records=[unsupported("vgf", MAC, "3.11", MISBUILT, replace(NOT_THERE, package=EVIL))],
    findings=[
        found("glibc:torch", "tosa", (LINUX, "3.11"), severity="error", accepted=True),
        found(f"file-clash:{EVIL}", "tosa", (LINUX, "3.11"), (LINUX, "3.12"), (MAC, "3.11")),
        found(f"file-clash:{EVIL}", "dev", (LINUX, "3.11")),
    ],
    build={"setuptools": "85.0"},
    day=30,
    size=1_100_000,
)
FACTS = DiffFacts(
    licences={
        digest("torch-2.12.0"): Licence(expression="BSD-3-Clause"),
        digest("torch-2.13.0"): Licence(expression="BSD-3-Clause"),
        digest("ruff-0.8"): Licence(expression="MIT"),
        digest("ruff-0.9"): Licence(text=EVIL),
        digest("newcomer-0.1"): Licence(classifiers=("License :: OSI Approved :: MIT License",)),
    },
    licences_why="",
    licences_gap="lockgrid diff --licences asks the index",
    filenames={digest("late-1.0-cp312-cp312-win_amd64.whl"): "late-1.0-cp312-cp312-win_amd64.whl"},
    advisories={
        ("sympy", "1.13.3"): (Vulnerability(id="PYSEC-2026-7", aliases=("CVE-2026-7",), description="eval of input"),),
        ("sympy", "1.14.0"): (),
        ("torch", "2.12.0"): (),
        ("torch", "2.13.0"): (Vulnerability(id=EVIL, description=EVIL),),
    },
    unaudited={("flaky", "1.9"): "the service does not know it"},
    advisories_why="",
    service="pypi",
)


def the_diff(facts: DiffFacts = FACTS) -> GridDiff:
    """The difference of the two."""
    return diff(OLD, NEW, facts, (Side(name="v1", commit="0123456789abcdef" * 2), Side(name="the work tree")))


__all__ = ["ARM", "EVIL", "FACTS", "NEW", "OLD", "the_diff"]
