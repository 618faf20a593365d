"""The floors that a wheel's own tags promise to work on."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Literal

from packaging.utils import parse_wheel_filename

from lockgrid.model.contents import Format, Version, parse_version, version_text
from lockgrid.model.target import Target

Kind = Literal["any", "linux", "macos", "musllinux", "windows", "other"]

_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_LINUX = re.compile(r"(manylinux|musllinux)_(\d{1,3}_\d{1,3})_(\w+)\Z")
_OLD_LINUX = re.compile(r"(manylinux1|manylinux2010|manylinux2014|linux)_(\w+)\Z")
_MACOS = re.compile(r"macosx_(\d{1,3}_\d{1,3})_(\w+)\Z")

# In the words of lief's enumerations.
_ELF = {
    "x86_64": "X86_64", "i686": "I386", "aarch64": "AARCH64", "armv7l": "ARM", "ppc64": "PPC64", "ppc64le": "PPC64",
    "s390x": "S390", "riscv64": "RISCV", "loongarch64": "LOONGARCH",
}  # fmt: skip
_PE = {"win_amd64": "AMD64", "win32": "I386", "win_arm64": "ARM64"}
_FAT = {"universal2": ("x86_64", "arm64"), "intel": ("i386", "x86_64"), "universal": ("i386", "ppc")}
_FORMATS: dict[Kind, Format] = {"linux": "ELF", "musllinux": "ELF", "macos": "Mach-O", "windows": "PE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The oldest system that must do: glibc or macOS ``version`` (None: none is promised) on one ``machine``.

    ``label`` says for people where this floor comes from.
    """

    kind: Kind
    machine: str = ""
    version: Version | None = None
    label: str = ""

    @property
    def format(self) -> Format | None:
        """Of the binaries that it runs."""
        return _FORMATS.get(self.kind)

    @property
    def code(self) -> str:
        """The machine in the words of the binaries."""
        if self.kind == "macos":
            return self.machine.upper()
        return (_PE if self.kind == "windows" else _ELF).get(self.machine, self.machine)


@cache
def floors_of(filename: str) -> tuple[Floor, ...]:
    """What the tags of a wheel promise: of each machine the lowest. Raises ``InvalidWheelFilename``."""
    lowest: dict[tuple[Kind, str], Floor] = {}
    for tag in sorted(parse_wheel_filename(filename)[3], key=str):
        for floor in _floors(tag.platform):
            key = floor.kind, floor.machine
            if key not in lowest or (floor.version or ()) < (lowest[key].version or ()):
                lowest[key] = floor
    return tuple(lowest.values())


def target_floor(target: Target) -> Floor:
    """What the platform of a target promises."""
    platform = target.platform
    kinds: dict[str, Kind] = {"linux": "linux", "darwin": "macos", "win32": "windows"}
    kind, machine = kinds[platform.kind.sys_platform], platform.kind.tag_machine
    return Floor(kind=kind, machine=machine, version=platform.floor, label=platform.label)


def floor_text(floor: Floor) -> str:
    """For people: ``glibc 2.28, x86_64``."""
    if floor.kind in ("any", "other"):
        return "no platform" if floor.kind == "any" else f"nothing: {floor.label} is not known"
    if floor.kind == "musllinux":
        return f"nothing: musllinux is not judged, {floor.machine}"
    word = {"linux": "glibc", "macos": "macOS", "windows": "Windows"}[floor.kind]
    version = f" {version_text(floor.version)}" if floor.version else ""
    return f"{word}{version}, {floor.machine}"


def _floors(platform: str) -> list[Floor]:
    label = f"its tag {platform}"
    if platform == "any":
        return [Floor(kind="any", label=label)]
    if platform in _PE:
        return [Floor(kind="windows", machine=platform, label=label)]
    if found := _LINUX.match(platform):
        kind: Kind = "linux" if found[1] == "manylinux" else "musllinux"
        return [Floor(kind=kind, machine=found[3], version=parse_version(found[2].replace("_", ".")), label=label)]
    if found := _OLD_LINUX.match(platform):
        return [Floor(kind="linux", machine=found[2], version=_LEGACY.get(found[1]), label=label)]
    if found := _MACOS.match(platform):
        version = parse_version(found[1].replace("_", "."))
        return [
            # There is no macOS for arm64 before 11.0, whatever a fat wheel promises.
            Floor(kind="macos", machine=m, version=max(version, (11, 0)) if m == "arm64" else version, label=label)
            for m in _FAT.get(found[2], (found[2],))
        ]
    return [Floor(kind="other", label=label)]


def may_meet(one: str, other: str) -> bool:
    """Whether two wheels, by their file names, can be installed into one venv."""
    left, right = parse_wheel_filename(one), parse_wheel_filename(other)
    if left[0] == right[0]:
        return False
    pythons = [{t.interpreter for t in parsed[3] if t.abi.startswith("cp")} for parsed in (left, right)]
    places = [{(floor.kind, floor.machine) for floor in floors_of(name)} for name in (one, other)]
    return _compatible(*pythons) and _compatible(*(set() if ("any", "") in p else p for p in places))


def _compatible(left: Collection[object], right: Collection[object]) -> bool:
    """Whether the two have something in common; nothing stands for anything."""
    return not left or not right or bool(set(left) & set(right))
