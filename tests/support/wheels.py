"""Tiny wheels and sdists as bytes: real enough for uv and pip, the same bytes each time."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from support.archives import Entry, flip_byte, tar_gz_bytes, zip_bytes
from support.metadata import (
    Built,
    compress_tags,
    core_metadata,
    escape,
    escape_version,
    expand_tags,
    normalize,
    sha256,
)

__all__ = ["Built", "Corruption", "Files", "fake_setuptools", "sdist", "wheel"]

Files = Mapping[str, str | bytes]

Corruption = Literal[
    "not-a-zip",  # a web page, as a captive portal would send
    "truncated",  # the last third is missing, and with it the central directory
    "crc",  # METADATA was changed after its checksum was taken
    "no-metadata",
    "no-record",
    "record-hash",  # RECORD is well-formed and gives one wrong hash
    "two-dist-info",  # a second .dist-info directory, of another package
    "wheel-tags",  # WHEEL says py3-none-any, the file name something else
]


class _Declared(TypedDict):
    """What `wheel`, `sdist` and `core_metadata` call by the same names."""

    requires: Sequence[str]
    provides_extra: Sequence[str]
    requires_python: str | None


_BACKENDS = Path(__file__).parent / "backends"


def wheel(
    name: str,
    version: str,
    *,
    tags: Sequence[str] = ("py3-none-any",),
    requires: Sequence[str] = (),
    provides_extra: Sequence[str] = (),
    requires_python: str | None = None,
    files: Files | None = None,
    scripts: Mapping[str, str] | None = None,
    metadata_name: str | None = None,
    metadata_version: str = "2.4",
    headers: Sequence[str] = (),
    build: str | None = None,
    compressed: bool = False,
    corrupt: Corruption | None = None,
) -> Built:
    """Return a wheel.

    tags: single or compressed; several must form one compressed set (see `compress_tags`).
    requires, provides_extra: as METADATA has them, markers included, unchecked.
    files: path in the wheel -> content; paths below `<name>-<version>.data/` work too. By default
        one module, `<name>.py`, which holds `__version__`; `{}` installs nothing importable.
    scripts: console script -> `module:function`.
    metadata_name: the Name of METADATA, where it shall differ from that of the file.
    headers: further lines of METADATA.
    build: a build tag such as "1".
    compressed: deflate the entries, as real wheels do; the hash then depends on zlib.
    corrupt: damage to do, see `Corruption`. The hash is that of the damaged bytes.
    """
    metadata = core_metadata(
        metadata_name or name,
        version,
        requires=requires,
        provides_extra=provides_extra,
        requires_python=requires_python,
        metadata_version=metadata_version,
        headers=headers,
    )
    if files is None:
        files = {f"{escape(name)}.py": _module(version)}
    info = {"METADATA": metadata}
    info["WHEEL"] = _wheel_file(() if corrupt == "wheel-tags" else expand_tags(tags), build)
    if scripts:
        info["entry_points.txt"] = _entry_points(scripts)
    stem = _stem(name, version)
    data = _damage(_entries(files, info, stem, corrupt), metadata, compressed, corrupt)
    filename = f"{stem}{f'-{build}' if build else ''}-{compress_tags(tags)}.whl"
    return _built(name, version, filename, data, metadata, requires_python)


def sdist(
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    provides_extra: Sequence[str] = (),
    requires_python: str | None = None,
    build_requires: Sequence[str] = (),
    hook_requires: Sequence[str] = (),
    backend: Literal["in-tree", "setuptools"] = "in-tree",
    dynamic: bool = False,
    marker_file: Path | str | None = None,
    tags: Sequence[str] = ("py3-none-any",),
) -> Built:
    """Return an sdist (.tar.gz) that builds into `wheel(name, version, ...)`.

    backend: "in-tree" has pyproject.toml and a backend that needs nothing. "setuptools" is the old
        kind, setup.py alone; to build it, an index must have `fake_setuptools()` (or the real one).
    dynamic: PKG-INFO is 1.2 and lists no requirements, so that only a build tells them; always so
        for "setuptools". Otherwise PKG-INFO is 2.4, complete, and nothing need run.
    build_requires: `[build-system] requires`. hook_requires: what get_requires_for_build_wheel
        adds. Neither exists for "setuptools".
    marker_file: absolute path to which code from the sdist appends a line with its name whenever
        it runs: "import" and the hooks' names, or "setup.py".
    tags: of the wheel that the in-tree backend builds.
    """
    dynamic = dynamic or backend == "setuptools"
    declared: _Declared = {
        "requires": requires,
        "provides_extra": provides_extra,
        "requires_python": requires_python,
    }
    told = declared | {"requires": (), "provides_extra": ()} if dynamic else declared
    pkg_info = core_metadata(name, version, **told, metadata_version="1.2" if dynamic else "2.4")
    marker = str(marker_file or "")
    if backend == "setuptools":
        content = _legacy(name, version, declared, marker)
    else:
        built = wheel(name, version, tags=tags, **declared)
        content = _in_tree(built, build_requires, hook_requires, marker)
    content["PKG-INFO"] = pkg_info
    stem = _stem(name, version)
    data = tar_gz_bytes((f"{stem}/{path}", content[path]) for path in sorted(content))
    return _built(name, version, f"{stem}.tar.gz", data, pkg_info, requires_python)


def fake_setuptools(version: str = "80.0.0") -> Built:
    """Return a wheel that stands in for setuptools, so that old sdists build without a network."""
    init = "arguments = {}\n\n\ndef setup(**given):\n    arguments.update(given)\n"
    build_meta = (_BACKENDS / "legacy.py").read_text(encoding="utf-8")
    files = {"setuptools/__init__.py": init, "setuptools/build_meta.py": build_meta}
    return wheel("setuptools", version, files=files)


def _in_tree(
    built: Built, build_requires: Sequence[str], hook_requires: Sequence[str], marker: str
) -> dict[str, bytes]:
    """Return the files of an sdist whose backend hands out `built`."""
    source = (_BACKENDS / "intree.py").read_text(encoding="utf-8")
    source = source.replace('"@MARKER@"', repr(marker))
    source = source.replace('["@HOOK_REQUIRES@"]', repr(list(hook_requires)))
    pyproject = (
        "[build-system]\n"
        f"requires = {json.dumps(list(build_requires))}\n"
        'build-backend = "intree"\n'
        'backend-path = ["_build"]\n'
    )
    return {
        "pyproject.toml": pyproject.encode(),
        "_build/intree.py": source.encode(),
        # Not as it is: pip takes any file for a zip that has a zip near its end, uncompressed.
        f"_build/{built.filename}.b64": base64.encodebytes(built.data),
    }


def _legacy(name: str, version: str, declared: _Declared, marker: str) -> dict[str, bytes]:
    """Return the files of an sdist with a setup.py that leaves its mark and calls `setup`."""
    arguments: dict[str, object] = {
        "name": name,
        "version": version,
        "py_modules": [escape(name)],
        "install_requires": list(declared["requires"]),
        "extras_require": {extra: [] for extra in declared["provides_extra"]},
        "python_requires": declared["requires_python"],
    }
    mark = f'open({marker!r}, "a").write("setup.py\\n")\n' if marker else ""
    setup = f"from setuptools import setup\n\n{mark}setup(**{arguments!r})\n"
    return {"setup.py": setup.encode(), f"{escape(name)}.py": _module(version).encode()}


def _entries(files: Files, info: Mapping[str, bytes], stem: str, corrupt: Corruption | None) -> list[Entry]:
    """Return the members of a wheel in their order, RECORD last, with the damage done to them.

    `info` is the content of its .dist-info directory, without RECORD.
    """
    content = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
    content |= {f"{stem}.dist-info/{name}": data for name, data in info.items()}
    if corrupt == "two-dist-info":
        content["other-1.0.dist-info/METADATA"] = core_metadata("other", "1.0")
    record_path = f"{stem}.dist-info/RECORD"
    record = _record(content, record_path, wrong=corrupt == "record-hash")
    if corrupt == "no-metadata":
        del content[f"{stem}.dist-info/METADATA"]
    if corrupt != "no-record":
        content[record_path] = record
    return list(content.items())


def _damage(entries: list[Entry], metadata: bytes, compressed: bool, corrupt: Corruption | None) -> bytes:
    """Return the bytes of the wheel, with the damage done that concerns the whole file."""
    if corrupt == "not-a-zip":
        return b"<!DOCTYPE html><title>Sign in</title>\n"
    data = zip_bytes(entries, compressed=compressed and corrupt != "crc")
    if corrupt == "truncated":
        return data[: len(data) * 2 // 3]
    return flip_byte(data, metadata) if corrupt == "crc" else data


def _wheel_file(tags: Sequence[str], build: str | None) -> bytes:
    """Return WHEEL, with every single tag on a line of its own; without tags, py3-none-any."""
    tags = tags or ("py3-none-any",)
    pure = all(tag.endswith("-none-any") for tag in tags)
    lines = ["Wheel-Version: 1.0", "Generator: lockgrid-tests"]
    lines.append(f"Root-Is-Purelib: {str(pure).lower()}")
    lines += [f"Build: {build}"] if build else []
    lines += [f"Tag: {tag}" for tag in tags]
    return ("\n".join(lines) + "\n").encode()


def _entry_points(scripts: Mapping[str, str]) -> bytes:
    lines = ["[console_scripts]", *(f"{name} = {target}" for name, target in scripts.items())]
    return ("\n".join(lines) + "\n").encode()


def _record(content: Mapping[str, bytes], record_path: str, *, wrong: bool) -> bytes:
    """Return RECORD; `wrong` spoils the hash of the first file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, (path, data) in enumerate(content.items()):
        hashed = hashlib.sha256(data + b"!" if wrong and number == 0 else data).digest()
        digest = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
        writer.writerow((path, f"sha256={digest}", len(data)))
    writer.writerow((record_path, "", ""))
    return out.getvalue().encode()


def _module(version: str) -> str:
    return f'__version__ = "{version}"\n'


def _stem(name: str, version: str) -> str:
    return f"{escape(name)}-{escape_version(version)}"


def _built(
    name: str,
    version: str,
    filename: str,
    data: bytes,
    metadata: bytes,
    requires_python: str | None,
) -> Built:
    return Built(
        name=normalize(name),
        version=version,
        filename=filename,
        data=data,
        sha256=sha256(data),
        metadata=metadata,
        requires_python=requires_python,
    )
