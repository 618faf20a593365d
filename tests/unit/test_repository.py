"""What this repository's own locks promise the backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgrid.core.gridfile import parse_grid
from sessions.cell import read_pins

ROOT = Path(__file__).parents[2]
VELA = {"ethos-u-vela"}
ML_SDK = {
    "ai-ml-emulation-layer-for-vulkan",
    "ai-ml-sdk-model-converter",
    "ai-ml-sdk-scenario-runner",
    "ai-ml-sdk-vgf-library",
}


@pytest.mark.parametrize(
    ("environment", "own", "others"),
    [
        ("tosa", {"tosa-tools"}, VELA | ML_SDK),
        ("ethos_u", VELA | {"tosa-tools"}, ML_SDK),
        ("vgf", ML_SDK | {"tosa-tools"}, VELA),
        ("cortex_m", {"tosa-tools"}, VELA | ML_SDK),
    ],
)
def test_no_backend_holds_what_only_another_needs(environment: str, own: set[str], others: set[str]) -> None:
    lockfiles = sorted((ROOT / "locks" / environment).glob("*.txt"))
    assert {"linux-x86_64", "linux-aarch64", "windows-x86_64"} <= {lockfile.stem for lockfile in lockfiles}
    for lockfile in lockfiles:
        for python in ("3.10", "3.11", "3.12", "3.13"):
            names = {name for name, _ in read_pins(lockfile.read_text(encoding="utf-8"), python)}
            assert (own - names, names & others) == (set(), set()), f"{lockfile.name}, Python {python}"
            assert {"executorch", "torch", "pytest"} <= names


def test_no_error_of_the_proofs_4_and_5_is_accepted() -> None:
    """A cell that has one is unsupported, however many cells are left."""
    grid = parse_grid((ROOT / "locks/grid.toml").read_text(encoding="utf-8"))
    assert grid.findings
    assert [one.finding.name for one in grid.findings if one.finding.severity == "error"] == []


def test_every_finding_on_a_backend_is_explained_by_its_acceptance() -> None:
    grid = parse_grid((ROOT / "locks/grid.toml").read_text(encoding="utf-8"))
    assert [one.finding.name for one in grid.findings if not one.accepted] == []
