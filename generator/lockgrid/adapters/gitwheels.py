"""Wheels of git sources on the disk: read out of a folder, written as stubs for uv, and listed in pages of links."""

from __future__ import annotations

import html
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from lockgrid.adapters.disk import disk_error, hash_of
from lockgrid.adapters.folder import listing
from lockgrid.adapters.wheel import is_own, parse_metadata
from lockgrid.errors import ToolError
from lockgrid.model.git import PROVENANCE, BuiltWheel
from lockgrid.model.index import DistMetadata, IndexFile

# Of what a wheel says of itself; the longest METADATA that was ever seen is under 1 MB.
_LIMIT = 16 * 1024 * 1024


def read_built(folder: Path, names: Collection[str]) -> list[BuiltWheel]:
    """The wheels of these packages (normalised names) in a folder, sorted. Raises ``ToolError`` for a broken one."""
    found = listing(folder)
    paths = sorted(path for name in set(names) for path in found.get(name, ()) if _wheel_name(path.name))
    return [read_wheel(path) for path in paths]


def read_wheel(path: Path) -> BuiltWheel:
    """A wheel with its METADATA and what it was built from. Raises ``ToolError``."""
    sha256 = hash_of(path)
    file = IndexFile(filename=path.name, url="", sha256=sha256)
    try:
        with zipfile.ZipFile(path) as archive:
            named = {member.filename: member for member in archive.infolist()}
            tops = [name.removesuffix(".dist-info/METADATA") for name in named if name.endswith(".dist-info/METADATA")]
            own = next((top for top in tops if is_own(path.name, top)), "")
            found = []
            for name in ("METADATA", PROVENANCE):
                member = named.get(f"{own}.dist-info/{name}")
                if member is not None and member.file_size > _LIMIT:
                    raise zipfile.BadZipFile(f"{name} is too big")
                found.append(archive.read(member) if member else b"")
        size = path.stat().st_size
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise ToolError(f"it is no wheel: {error}", where=str(path), next_step="build it again") from error
    return BuiltWheel(
        filename=path.name,
        url=path.resolve().as_uri(),
        sha256=sha256,
        size=size,
        metadata=parse_metadata(file, found[0]),
        provenance=found[1],
    )


def _wheel_name(filename: str) -> str:
    try:
        return parse_wheel_filename(filename)[0] if filename.endswith(".whl") else ""
    except InvalidWheelFilename:
        return ""


def write_stubs(folder: Path, wheels: Mapping[str, DistMetadata]) -> None:
    """A folder that uv takes as a flat index: wheels by file name, with METADATA and nothing else.

    uv learns from it what a resolution needs; the real wheels need not be at hand.
    """
    folder.mkdir(parents=True)
    for filename, metadata in wheels.items():
        stem = "-".join(filename.split("-", 2)[:2])
        lines = ["Metadata-Version: 2.1", f"Name: {metadata.name}", f"Version: {metadata.version}"]
        lines += [f"Requires-Python: {metadata.requires_python}"] if metadata.requires_python else []
        lines += [f"Requires-Dist: {line}" for line in metadata.requires_dist]
        lines += [f"Provides-Extra: {extra}" for extra in metadata.provides_extra]
        with zipfile.ZipFile(folder / filename, "w") as archive:
            archive.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines) + "\n\n")


def write_pages(folder: Path) -> None:
    """Pages of links (PEP 503) over all wheels of a folder, so that any web server makes an index of it."""
    try:
        names: dict[str, list[Path]] = {}
        for path in sorted(folder.glob("*.whl")):
            if name := _wheel_name(path.name):
                names.setdefault(canonicalize_name(name), []).append(path)
        for name, paths in names.items():
            rows = [(f"../{path.name}#sha256={hash_of(path)}", path.name) for path in paths]
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "index.html").write_text(_page(rows), encoding="utf-8")
        (folder / "index.html").write_text(_page([(f"{name}/", name) for name in names]), encoding="utf-8")
    except OSError as error:
        raise disk_error(folder, error) from error


def _page(rows: list[tuple[str, str]]) -> str:
    links = "".join(f'<a href="{html.escape(link)}">{html.escape(text)}</a><br>\n' for link, text in rows)
    head = '<meta name="pypi:repository-version" content="1.0">'
    return f"<!DOCTYPE html>\n<html>\n<head>{head}</head>\n<body>\n{links}</body>\n</html>\n"
