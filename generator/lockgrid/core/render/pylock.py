"""An export as ``pylock.toml`` (PEP 751): what to install, from which URLs, with which hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tomlkit
from packaging.markers import Marker
from packaging.pylock import Package, PackageSdist, PackageWheel, Pylock
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from lockgrid.core.export import Export, ExportPin, IndexUrls
from lockgrid.core.render.exported import header_lines
from lockgrid.core.targets import platform_markers
from lockgrid.model.index import IndexFile
from lockgrid.model.target import python_key


def render_pylock(export: Export, urls: IndexUrls) -> str:
    """The text; raises ``packaging.pylock.PylockValidationError`` for a file that no pylock may hold."""
    lock = as_pylock(export, urls)
    lock.validate()
    document = tomlkit.document()
    document.add(tomlkit.comment("lockgrid export, format: pylock"))
    for line in header_lines(export):
        document.add(tomlkit.comment(line.removeprefix("# ")))
    if export.sdists:
        names = ", ".join(export.sdists)
        document.add(tomlkit.comment(f"Built from source, with what locks/build.txt pins: {names}."))
    values = dict(lock.to_dict())
    packages = tomlkit.aot()
    for package in values.pop("packages"):
        packages.append(_table(package))
    for key, value in values.items():
        document.add(key, tomlkit.item(value).multiline(True) if key == "environments" else tomlkit.item(value))
    document.add("packages", packages)
    return tomlkit.dumps(document)


def _table(package: Mapping[str, Any]) -> tomlkit.items.Table:
    """A package: plain values first, then one line a file."""
    table = tomlkit.table()
    for key, value in package.items():
        if key == "wheels":
            lines = tomlkit.array().multiline(True)
            for wheel in value:
                lines.append(_inline(wheel))
            table.add(key, lines)
        else:
            table.add(key, _inline(value) if key == "sdist" else value)
    return table


def _inline(values: Mapping[str, Any]) -> tomlkit.items.InlineTable:
    table = tomlkit.inline_table()
    for key, value in values.items():
        table.append(key, _inline(value) if isinstance(value, Mapping) else value)
    return table


def as_pylock(export: Export, urls: IndexUrls) -> Pylock:
    """The export in the words of PEP 751, not validated."""
    return Pylock(
        lock_version=Version("1.0"),
        environments=[Marker(marker) for marker in platform_markers(export.targets)],
        requires_python=_requires_python(export),
        created_by="lockgrid",
        packages=[_package(pin, urls.of(pin.index)) for pin in export.pins],
    )


def _requires_python(export: Export) -> SpecifierSet:
    """From the lowest Python to the highest; gaps between them are told by the environments."""
    pythons = sorted(python_key(target.python) for target in export.targets)
    (major, low), (_, high) = pythons[0], pythons[-1]
    return SpecifierSet(f"=={major}.{low}.*" if low == high else f">={major}.{low},<{major}.{high + 1}")


def _package(pin: ExportPin, index: str | None) -> Package:
    wheels = [_wheel(file) for file in pin.files if file.is_wheel]
    sdists = [_sdist(file) for file in pin.files if not file.is_wheel]
    return Package(
        name=canonicalize_name(pin.name),
        version=Version(pin.version),
        marker=Marker(pin.marker) if pin.marker else None,
        index=index,
        sdist=sdists[0] if sdists else None,
        wheels=wheels or None,
    )


def _wheel(file: IndexFile) -> PackageWheel:
    found = PackageWheel(upload_time=file.uploaded, url=file.url, size=file.size, hashes={"sha256": file.sha256})
    return found if found.filename == file.filename else replace(found, name=file.filename)


def _sdist(file: IndexFile) -> PackageSdist:
    found = PackageSdist(upload_time=file.uploaded, url=file.url, size=file.size, hashes={"sha256": file.sha256})
    return found if found.filename == file.filename else replace(found, name=file.filename)
