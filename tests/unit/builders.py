"""Short ways to make lockgrid's values, each with what a test does not care about filled in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename
from packaging.version import Version

from lockgrid.core.candidates import Facts
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import LockedPin, Lockfile, Pin, ProvenCell
from lockgrid.model.index import DistMetadata, IndexFile, Page
from lockgrid.model.spec import Declared, Environment, Override, Source, Spec
from lockgrid.model.target import Platform, Target, python_key

HOST = "https://index.example"
CUTOFF = datetime(2026, 6, 1, tzinfo=UTC)
BEFORE = datetime(2026, 5, 1, tzinfo=UTC)
AFTER = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)

LINUX = Platform(name="linux-x86_64", floor=(2, 28))
ARM = Platform(name="linux-aarch64", floor=(2, 28))
MAC = Platform(name="macos-arm64", floor=(15, 0))
WINDOWS = Platform(name="windows-x86_64")
PLATFORMS = (ARM, LINUX, MAC, WINDOWS)

TARGETS = """\
pythons = ["3.10", "3.11", "3.12"]
[platforms.linux-x86_64]
glibc = "2.28"
[platforms.macos-arm64]
macos = "15.0"
"""

_GOLDEN = Path(__file__).parent / "golden"


def target(platform: Platform = LINUX, python: str = "3.12") -> Target:
    return Target(platform=platform, python=python)


def digest(text: str) -> str:
    """A sha256 that is the same for the same text: stands for a file's bytes."""
    return sha256(text.encode()).hexdigest()


def index_file(
    filename: str,
    *,
    uploaded: datetime | None = BEFORE,
    sha: str | None = None,
    requires_python: str | None = None,
    yanked: str | None = None,
    size: int | None = 1000,
) -> IndexFile:
    return IndexFile(
        filename=filename,
        url=f"{HOST}/files/{filename}",
        sha256=digest(filename) if sha is None else sha,
        size=size,
        uploaded=uploaded,
        requires_python=requires_python,
        yanked=yanked,
    )


def any_wheel(name: str, version: str) -> IndexFile:
    """A wheel that every target takes."""
    return index_file(f"{name.replace('-', '_')}-{version}-py3-none-any.whl")


def page(name: str, *files: IndexFile | str, quarantined: bool = False, newest: datetime | None = BEFORE) -> Page:
    """A project page; a file may be given by its name alone."""
    releases: dict[str, tuple[IndexFile, ...]] = {}
    for given in files:
        file = index_file(given) if isinstance(given, str) else given
        stated = file.filename.split("-")[1] if file.is_wheel else str(parse_sdist_filename(file.filename)[1])
        version = str(Version(stated))
        releases[version] = (*releases.get(version, ()), file)
    stems = sorted(repr(file) for found in releases.values() for file in found)
    return Page(
        name=name,
        releases=releases,
        quarantined=quarantined,
        digest=digest(f"{name} {quarantined} {stems}"),
        newest=newest,
    )


def missing_page(name: str) -> Page:
    return Page(name=name, missing=True)


def metadata(
    name: str,
    version: str,
    *requires: str,
    extras: Sequence[str] = (),
    requires_python: str | None = None,
) -> DistMetadata:
    return DistMetadata(
        name=name,
        version=version,
        requires_dist=requires,
        requires_python=requires_python,
        provides_extra=tuple(extras),
    )


def facts(*pages: Page, cutoff: datetime = CUTOFF, known: Sequence[str] = (), dateless: Sequence[str] = ()) -> Facts:
    """A page may be named by its key."""
    found = {p.name: p for p in pages}
    return Facts(cutoff=cutoff, pages=found, known_hashes=frozenset(known), dateless=frozenset(dateless))


def old_lock(name: str, platform: str, *pins: LockedPin) -> dict[tuple[str, str], Lockfile]:
    """The lockfile of one environment on one platform, as ``OldLocks``."""
    pythons = tuple(sorted({python for one in pins for python in one.pythons}, key=python_key))
    ordered = tuple(sorted(pins, key=lambda one: one.name))
    return {(name, platform): Lockfile(environment=name, platform=platform, pythons=pythons, sdists=(), pins=ordered)}


def simple_facts(*distributions: DistMetadata) -> Facts:
    """Facts of an index where each distribution is one wheel for every target."""
    files: dict[str, list[IndexFile]] = {}
    known = {}
    for one in distributions:
        file = any_wheel(one.name, one.version)
        files.setdefault(one.name, []).append(file)
        known[file.sha256] = one
    found = facts(*(page(name, *found) for name, found in files.items()))
    found.metadata |= known
    return found


def pin(name: str, version: str, file: IndexFile | None = None, index: str = "") -> Pin:
    return Pin(name=name, version=version, file=file or any_wheel(name, version), index=index)


def locked(name: str, version: str, pythons: Sequence[str], *files: str, via: Sequence[str] = ()) -> LockedPin:
    hashes = sorted(digest(filename) for filename in files or (f"{name}-{version}-py3-none-any.whl",))
    return LockedPin(name=name, version=version, pythons=tuple(pythons), hashes=tuple(hashes), via=tuple(via))


def declared(text: str, file: str = "envs/app.toml", key: str = "requires[0]") -> Declared:
    return Declared(requirement=Requirement(text), file=file, key=key)


def environment(
    *requires: str,
    name: str = "app",
    targets: Sequence[Target] | None = None,
    sdists: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    apart: bool = False,
    sources: Mapping[str, str] | None = None,
    dateless: bool = False,
) -> Environment:
    """``sources`` gives indexes by ``package@platform``."""
    file = f"envs/{name}.toml"
    return Environment(
        name=name,
        extra=canonicalize_name(name),
        file=file,
        requires=tuple(declared(text, file, f"requires[{index}]") for index, text in enumerate(requires)),
        targets=tuple(targets) if targets is not None else (target(),),
        apart=apart,
        sdists=tuple(canonicalize_name(package) for package in sdists),
        overrides=tuple(
            Override(name=canonicalize_name(package), specifier=specifier)
            for package, specifier in (overrides or {}).items()
        ),
        sources=tuple(
            Source(
                name=canonicalize_name(key.partition("@")[0]),
                platform=key.partition("@")[2],
                index=index,
                file=file,
                key=f"sources.{key}",
                dateless=dateless,
            )
            for key, index in sorted((sources or {}).items())
        ),
    )


def cell(name: str, where: Target, *pins: Pin, via: Mapping[str, Sequence[str]] | None = None) -> ProvenCell:
    return ProvenCell(
        environment=name,
        target=where,
        pins=tuple(sorted(pins, key=lambda p: p.name)),
        via=tuple((package, tuple(by)) for package, by in (via or {}).items()),
    )


def spec_of(*environments: Environment) -> Spec:
    """A Spec of ready-made environments."""
    platforms = tuple(dict.fromkeys(t.platform for e in environments for t in e.targets))
    pythons = tuple(dict.fromkeys(t.python for e in environments for t in e.targets))
    return Spec(platforms=platforms, pythons=pythons, environments=environments)


def parse(targets: str | None = TARGETS, **environments: str) -> Spec:
    """``parse_spec`` of environment texts by name; ``targets`` None leaves targets.toml away."""
    files = {f"envs/{name}.toml": text for name, text in environments.items()}
    if targets is not None:
        files["envs/targets.toml"] = targets
    return parse_spec(files)


def named(spec: Spec, name: str) -> Environment:
    """The one environment of that name."""
    (found,) = (environment for environment in spec.environments if environment.name == name)
    return found


def problems(targets: str | None = TARGETS, **environments: str) -> tuple[Problem, ...]:
    """Every problem of the input; the test fails when there is none."""
    with pytest.raises(InputError) as caught:
        parse(targets, **environments)
    return caught.value.problems


def golden(name: str, text: str) -> None:
    """Compare with ``golden/<name>``. With LOCKGRID_WRITE_GOLDEN=1 the file is written instead."""
    path = _GOLDEN / name
    if _WRITE:
        path.write_text(text, encoding="utf-8", newline="")
        pytest.skip(f"wrote golden/{name}")
    with path.open(encoding="utf-8", newline="") as file:
        assert text == file.read()


_WRITE = os.environ.get("LOCKGRID_WRITE_GOLDEN") == "1"
