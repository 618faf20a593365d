"""The grid that the golden files show."""

from __future__ import annotations

from datetime import UTC, datetime

from lockgrid.model.finding import RULES, Finding
from lockgrid.model.grid import Blocker, CellRecord, FoundRecord, Grid, LockedPin, Lockfile, Proof
from unit.builders import digest

NO_WHEEL = Blocker(
    proof=Proof.TAGS,
    package="tosa-tools==2026.5.0",
    required_by=("envs/executorch.toml", "executorch[vgf]==1.5.1"),
    exists="has wheels for CPython 3.10 to 3.13 and no sdist",
    missing="a wheel for CPython 3.14 on linux-x86_64 (glibc 2.28)",
    serves=("2026.8.0", "2026.7.1"),
)
NOT_THERE = Blocker(
    proof=Proof.RESOLUTION,
    package='say-"hi"',
    exists="is not on the index",
    missing="a project of that name",
)
MISBUILT = Blocker(
    proof=Proof.BINARIES,
    package="converter==0.10.0",
    required_by=("executorch[vgf]==1.5.1",),
    exists="it needs glibc 2.38 (x/run in converter-0.10.0-py3-none-manylinux2014_x86_64.whl needs GLIBC_2.38)",
    missing="glibc 2.28",
    finding="glibc:converter",
)


def proven(environment: str, platform: str, python: str, packages: int, size: int) -> CellRecord:
    return CellRecord(
        environment=environment, platform=platform, python=python, proven=True, packages=packages, bytes=size
    )


def unsupported(environment: str, platform: str, python: str, *blockers: Blocker) -> CellRecord:
    return CellRecord(
        environment=environment,
        platform=platform,
        python=python,
        proven=False,
        failed=str(blockers[0].proof),
        because="; ".join(blocker.text for blocker in blockers),
        blockers=blockers,
    )


GRID = Grid(
    exclude_newer=datetime(2026, 11, 23, tzinfo=UTC),
    inputs=f"sha256:{digest('inputs')}",
    environments=(("tosa", f"sha256:{digest('tosa')}"), ("vgf", f"sha256:{digest('vgf')}")),
    lockfiles=(
        ("build.txt", f"sha256:{digest('build')}"),
        ("tosa/linux-x86_64.txt", f"sha256:{digest('linux')}"),
        ("tosa/macos-arm64.txt", f"sha256:{digest('macos')}"),
    ),
    cells=(
        proven("tosa", "linux-x86_64", "3.9", 7, 999_999),
        proven("tosa", "linux-x86_64", "3.10", 91, 2_980_113_344),
        proven("tosa", "macos-arm64", "3.10", 90, 0),
        unsupported("vgf", "linux-x86_64", "3.10", NO_WHEEL, NOT_THERE),
        unsupported("vgf", "macos-arm64", "3.10", NO_WHEEL, NOT_THERE),
        unsupported("vgf", "macos-arm64", "3.14", NOT_THERE),
        unsupported("vgf", "windows-x86_64", "3.14", MISBUILT),
    ),
    uv="0.11.2",
    apart=("tosa and vgf are locked apart: they differ over torch (tosa: 2.12, vgf: 2.13)",),
    rules=RULES,
    findings=(
        FoundRecord(
            environment="tosa",
            finding=Finding(
                name="glibc:b",
                severity="error",
                wheels=(),
                what="it needs glibc 2.34, and linux-x86_64 (glibc 2.28) promises glibc 2.28",
                files=("b/one.so", "b/two.so"),
                count=7,
                needs="GLIBC_2.34 of libc.so.6 for dlsym",
                has="glibc 2.28",
            ),
            packages=("b==1",),
            cells=(("linux-x86_64", "3.9"), ("linux-x86_64", "3.10")),
            accepted=True,
        ),
        FoundRecord(
            environment="tosa",
            finding=Finding(
                name="file-clash:flatc",
                severity="warning",
                wheels=(),
                what="each installs the command bin/flatc with its own content, and whichever comes last wins",
                files=("bin/flatc",),
                count=1,
            ),
            packages=("executorch==1", "tosa-tools==1"),
            cells=(("linux-x86_64", "3.9"), ("linux-x86_64", "3.10"), ("macos-arm64", "3.10")),
        ),
        FoundRecord(
            environment="vgf",
            finding=Finding(
                name="accept:any:gone",
                severity="warning",
                wheels=(),
                what="envs/vgf.toml accepts any:gone, which no cell has any more: remove it",
            ),
            packages=(),
            cells=(),
        ),
    ),
)
#: Why the environments accept what they accept.
REASONS = {("tosa", "glibc:b"): "the flows never load it"}


def _pin(name: str, version: str, pythons: str, hashes: int, *via: str) -> LockedPin:
    digests = sorted(digest(f"{name} {number}") for number in range(hashes))
    return LockedPin(name=name, version=version, pythons=tuple(pythons.split()), hashes=tuple(digests), via=via)


LOCKFILE = Lockfile(
    environment="ethos_u",
    platform="linux-x86_64 (glibc 2.28)",
    pythons=("3.9", "3.10", "3.11", "3.12"),
    sdists=("antlr4-python3-runtime", "other"),
    pins=(
        _pin("antlr4-python3-runtime", "4.9.3", "3.9 3.10 3.11 3.12", 1, "hydra-core==1.3.8", "omegaconf==2.3.1"),
        _pin("numpy", "2.0.2", "3.9", 1, "torch==2.13.0"),
        _pin("numpy", "2.2.6", "3.10", 1, "torch==2.13.0"),
        _pin("numpy", "2.3.0", "3.11 3.12", 2, "torch==2.13.0"),
        _pin("other", "1!2.0+cpu.1", "3.9 3.11", 1),
        _pin("torch", "2.13.0", "3.9 3.10 3.11 3.12", 3, "envs/executorch.toml"),
    ),
)
BUILD = Lockfile(
    environment="build",
    platform="any",
    pythons=("3.10", "3.11"),
    sdists=(),
    pins=(_pin("setuptools", "84.2.1", "3.10 3.11", 1, "antlr4-python3-runtime==4.9.3"),),
)
EMPTY_BUILD = Lockfile(environment="build", platform="any", pythons=(), sdists=(), pins=())
