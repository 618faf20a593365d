"""Platforms, Pythons and their product, the targets of the grid."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformKind:
    """What a platform's name fixes, in the words of PEP 508 markers and of platform tags.

    ``floor_key`` is the key of ``targets.toml`` that sets the oldest system supported (``glibc``,
    ``macos``), empty where there is none. ``baseline`` is the lowest glibc for which manylinux defines
    tags on this machine (PEP 600 and its predecessors).
    """

    sys_platform: str
    platform_machine: str
    os_name: str
    platform_system: str
    tag_machine: str
    floor_key: str = ""
    baseline: tuple[int, int] | None = None


#: Every platform that targets.toml may name. A new kind of platform is one line here.
PLATFORM_KINDS: dict[str, PlatformKind] = {
    "linux-x86_64": PlatformKind(
        sys_platform="linux", platform_machine="x86_64", os_name="posix", platform_system="Linux",
        tag_machine="x86_64", floor_key="glibc", baseline=(2, 5),
    ),
    "linux-aarch64": PlatformKind(
        sys_platform="linux", platform_machine="aarch64", os_name="posix", platform_system="Linux",
        tag_machine="aarch64", floor_key="glibc", baseline=(2, 17),
    ),
    "macos-arm64": PlatformKind(
        sys_platform="darwin", platform_machine="arm64", os_name="posix", platform_system="Darwin",
        tag_machine="arm64", floor_key="macos",
    ),
    "macos-x86_64": PlatformKind(
        sys_platform="darwin", platform_machine="x86_64", os_name="posix", platform_system="Darwin",
        tag_machine="x86_64", floor_key="macos",
    ),
    "windows-x86_64": PlatformKind(
        sys_platform="win32", platform_machine="AMD64", os_name="nt", platform_system="Windows",
        tag_machine="win_amd64",
    ),
    "windows-arm64": PlatformKind(
        sys_platform="win32", platform_machine="ARM64", os_name="nt", platform_system="Windows",
        tag_machine="win_arm64",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """An operating system, a machine and the floor: the oldest glibc or macOS that must do."""

    name: str
    floor: tuple[int, int] | None = None

    def __hash__(self) -> int:  # a target is looked up a hundred thousand times in a lock
        return hash(self.name)

    @property
    def kind(self) -> PlatformKind:
        """The markers and tags that go with the name."""
        return PLATFORM_KINDS[self.name]

    @property
    def label(self) -> str:
        """The name with its floor, for people: ``linux-x86_64 (glibc 2.28)``."""
        if self.floor is None:
            return self.name
        return f"{self.name} ({self.kind.floor_key} {self.floor[0]}.{self.floor[1]})"


def python_key(python: str) -> tuple[int, int]:
    """Sort key of a Python minor version such as ``3.9`` or ``3.10``."""
    major, minor = python.split(".")
    return int(major), int(minor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A platform with a Python minor version. CPython is meant, with the GIL."""

    platform: Platform
    python: str

    def __hash__(self) -> int:
        return hash((self.platform.name, self.python))

    @property
    def label(self) -> str:
        """For people: ``linux-x86_64, Python 3.12``."""
        return f"{self.platform.name}, Python {self.python}"

    @property
    def sort_key(self) -> tuple[str, tuple[int, int]]:
        """Platform, then Python as a version."""
        return self.platform.name, python_key(self.python)
