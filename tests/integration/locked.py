"""Reads `locks/` as a user of the files would, without lockgrid, and says what every lock must be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from support.metadata import Built, expand_tags, normalize
from support.sandbox import Project

Cell = tuple[str, str, str]  # environment, platform, Python

_ARCHITECTURES: Final = {"linux-x86_64": "x86_64", "linux-aarch64": "aarch64"}
# A URL, a date, an absolute path; what no lockfile may hold.
_FOREIGN: Final = re.compile(r"https?://|file:|127\.0\.0\.1|localhost|\b20\d\d-\d\d|(?<![\w./-])/\w|[A-Z]:\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPin:
    """One pin of a lockfile with everything that stands below it."""

    requirement: Requirement
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.requirement.name

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        assert specifier.operator == "=="
        return specifier.version

    def applies(self, python: str) -> bool:
        """Whether a Python, "3.12", installs the pin."""
        marker = self.requirement.marker
        return marker is None or marker.evaluate({"python_version": python})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lockfile:
    """A requirements file: its options, in order, and its pins."""

    text: str
    options: tuple[str, ...]
    pins: tuple[LockedPin, ...]

    def versions(self, python: str) -> dict[str, str]:
        """Name to version of what a Python installs; no name may stand there twice."""
        pins = [pin for pin in self.pins if pin.applies(python)]
        versions = {pin.name: pin.version for pin in pins}
        assert len(versions) == len(pins), f"pinned twice for {python}: {pins}"
        return versions

    def hashes(self, name: str) -> set[str]:
        """All hashes of a package."""
        return {digest for pin in self.pins if pin.name == name for digest in pin.hashes}


class Locks:
    """The folder `locks/` of a project as it stands when this is made."""

    def __init__(self, project: Project) -> None:
        folder = project.folder / "locks"
        self.grid: dict[str, Any] = tomllib.loads((folder / "grid.toml").read_text(encoding="utf-8"))
        self.cells: dict[Cell, dict[str, Any]] = {
            (cell["environment"], cell["platform"], cell["python"]): cell for cell in self.grid["cells"]
        }
        assert len(self.cells) == len(self.grid["cells"])
        self.files = {p.relative_to(folder).as_posix(): read_lockfile(p) for p in sorted(folder.rglob("*.txt"))}

    def __getitem__(self, path: str) -> Lockfile:
        return self.files[f"{path}.txt"]

    @property
    def cutoff(self) -> str:
        """The recorded cut-off, fit for `--as-of`."""
        return str(self.grid["exclude-newer"].isoformat())

    def proven(self, environment: str, platform: str) -> list[str]:
        """The Pythons that are proven there, in order."""
        return [
            cell["python"]
            for cell in self.grid["cells"]
            if (cell["environment"], cell["platform"], cell["status"]) == (environment, platform, "proven")
        ]

    def versions(self, environment: str, platform: str, python: str) -> dict[str, str]:
        """Name to version of what a proven cell installs."""
        assert self.cells[environment, platform, python]["status"] == "proven"
        return self[f"{environment}/{platform}"].versions(python)


def read_lockfile(path: Path) -> Lockfile:
    """Read a requirements file of pins with hashes; AssertionError for any line of another kind."""
    text = path.read_bytes().decode()
    lines = text.replace("\\\n", " ").splitlines()
    options: list[str] = []
    pins: list[LockedPin] = []
    for line in lines:
        if line.startswith("--"):
            options.append(line)
        elif line.startswith("    # "):
            asked = line.strip().removeprefix("#").strip().removeprefix("via").strip()
            last = pins[-1]
            via = (*last.via, *([asked] if asked else []))
            pins[-1] = LockedPin(requirement=last.requirement, hashes=last.hashes, via=via)
        elif line and not line.startswith("#"):
            head, *hashes = re.split(r"\s+--hash=sha256:", line)
            assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes), line
            pins.append(LockedPin(requirement=Requirement(head), hashes=tuple(hashes), via=()))
    return Lockfile(text=text, options=tuple(options), pins=tuple(pins))


def assert_sound(project: Project, builts: Iterable[Built]) -> None:
    """Assert what must be true of any lock, whatever the input; `builts` is everything that an index had."""
    locks = Locks(project)
    assert locks.grid["schema"] == 1
    order = [(c["environment"], c["platform"], _minor(c["python"])) for c in locks.grid["cells"]]
    assert order == sorted(order)
    assert set(locks.grid["lockfiles"]) == set(locks.files)
    files = {built.sha256: built for built in builts}
    for path, lockfile in locks.files.items():
        _assert_portable(path, lockfile)
        environment, _, platform = path.removesuffix(".txt").rpartition("/")
        if environment:
            _assert_only_what_installs(lockfile, locks.proven(environment, platform), platform, files)
    for (environment, platform, python), cell in locks.cells.items():
        if cell["status"] == "proven":
            assert len(locks.versions(environment, platform, python)) == cell["packages"] > 0
            assert cell["bytes"] > 0
        else:
            assert cell["status"] == "unsupported"
            assert cell["failed"] in ("tags", "closure", "index", "binaries", "files", "resolution")
            assert cell["because"].strip()
            assert "Traceback" not in cell["because"]


def _assert_portable(path: str, lockfile: Lockfile) -> None:
    """No URL, host, date or absolute path; pins sorted; each with sorted hashes; markers on the Python alone."""
    assert lockfile.text.endswith("\n")
    assert "\r" not in lockfile.text
    assert not _FOREIGN.search(lockfile.text), _FOREIGN.search(lockfile.text)
    names = [pin.name for pin in lockfile.pins]
    assert names == sorted(names)
    assert names == [normalize(name) for name in names]
    for pin in lockfile.pins:
        assert pin.hashes, f"{path}: {pin.name} has no hash"
        assert list(pin.hashes) == sorted(set(pin.hashes))
        assert pin.via, f"{path}: nothing asks for {pin.name}"
        assert not pin.requirement.extras
        marker = str(pin.requirement.marker or "")
        assert set(re.findall(r"[a-z_]{3,}", marker)) <= {"python_version", "and", "or"}, marker


def _assert_only_what_installs(
    lockfile: Lockfile, pythons: list[str], platform: str, files: Mapping[str, Built]
) -> None:
    """Every hash is of a file that some proven Python installs, and every such Python finds a file."""
    assert pythons, "a lockfile without a proven cell"
    assert lockfile.options[0] == "--only-binary :all:"
    sdists = {option.removeprefix("--no-binary ") for option in lockfile.options[1:]}
    for pin in lockfile.pins:
        for digest in pin.hashes:
            built = files[digest]
            assert (built.name, built.version) == (pin.name, pin.version)
            assert built.is_wheel != (pin.name in sdists)
        for python in filter(pin.applies, pythons):
            fitting = [d for d in pin.hashes if not files[d].is_wheel or installs(files[d], platform, python)]
            assert fitting, f"{pin.name} has no file for {platform}, Python {python}"
        useful = [p for p in pythons if pin.applies(p)]
        for digest in pin.hashes:
            assert not files[digest].is_wheel or any(installs(files[digest], platform, p) for p in useful)


def installs(built: Built, platform: str, python: str) -> bool:
    """Whether a wheel suits a platform of `scenario.DEFAULT_TARGETS`; written from the PEPs, small and slow."""
    tags = "-".join(built.filename.removesuffix(".whl").split("-")[-3:])
    return any(_accepts(tag, platform, _minor(python)) for tag in expand_tags([tags]))


def _accepts(tag: str, platform: str, minor: int) -> bool:
    interpreter, abi, system = tag.split("-")
    implementation, version = interpreter[:2], interpreter[2:]
    if implementation == "cp":
        named = _minor(f"3.{version[1:]}")
        fits = (named == minor and abi in (interpreter, "none")) or (named <= minor and abi == "abi3")
    else:
        fits = implementation == "py" and abi == "none" and (version == "3" or 0 <= int(version[1:] or 0) <= minor)
    return fits and (system == "any" or _runs(system, platform))


def _runs(system: str, platform: str) -> bool:
    if platform.startswith("linux"):
        architecture = _ARCHITECTURES[platform]
        names = {f"manylinux_2_{n}_{architecture}" for n in range(5, 29)}
        return system in names | {f"linux_{architecture}", f"manylinux2014_{architecture}"}
    if platform == "macos-arm64":
        names = {f"macosx_{n}_0_{kind}" for n in range(11, 16) for kind in ("arm64", "universal2")}
        return system in names
    return system == "win_amd64"


def _minor(python: str) -> int:
    return int(python.partition(".")[2])


def cells_of(targets: Mapping[str, Any], envs: Mapping[str, Mapping[str, Any]]) -> Iterator[Cell]:
    """Every cell that the input asks for, bases left out (a base lends no platforms here)."""
    for environment, content in envs.items():
        if not content.get("abstract"):
            for platform in content.get("platforms", targets["platforms"]):
                for python in content.get("pythons", targets["pythons"]):
                    yield environment, platform, python
