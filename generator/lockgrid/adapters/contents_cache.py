"""The contents of wheels in short form, for the cache: torch's 13,000 members take some 600 kB."""

from __future__ import annotations

import json
import zlib
from typing import Any

from lockgrid.model.contents import Binary, Code, Contents, Fault, Member, Need

# Raised when reading finds more or other things than before, or when the short form changes: all is read anew.
_READER = 1


def contents_key(filename: str, sha256: str) -> str:
    """What the contents are kept under: they are true of a hash for ever, and are judged by the file's name too."""
    return f"{_READER} {sha256} {filename}"


def encode_contents(contents: Contents) -> bytes:
    """Column by column, which packs well."""
    members = [[getattr(m, name) for m in contents.members] for name in ("path", "sha256", "crc", "size")]
    binaries = [
        [
            b.path,
            b.format,
            [[c.machine, c.minimum] for c in b.codes],
            [[n.version, n.library, n.symbol] for n in b.needs],
            b.libraries,
            b.linked,
        ]
        for b in contents.binaries
    ]
    faults = [[f.kind, f.path, f.what] for f in contents.faults]
    figures = [contents.read, contents.size, contents.inflated]
    value = [contents.filename, members, binaries, contents.scripts, faults, figures]
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), level=1)


def decode_contents(value: bytes) -> Contents:
    """The inverse of ``encode_contents``."""
    filename, members, binaries, scripts, faults, figures = json.loads(zlib.decompress(value))
    read, size, inflated = figures
    return Contents(
        filename=filename,
        members=tuple(Member(path=p, sha256=h, crc=c, size=s) for p, h, c, s in zip(*members, strict=True)),
        binaries=tuple(map(_binary, binaries)),
        scripts=tuple((name, target) for name, target in scripts),
        faults=tuple(Fault(kind=kind, path=path, what=what) for kind, path, what in faults),
        read=read,
        size=size,
        inflated=inflated,
    )


def _binary(value: list[Any]) -> Binary:
    path, form, codes, needs, libraries, linked = value
    return Binary(
        path=path,
        format=form,
        codes=tuple(Code(machine=m, minimum=None if least is None else tuple(least)) for m, least in codes),
        needs=tuple(Need(version=version, library=library, symbol=symbol) for version, library, symbol in needs),
        libraries=tuple(libraries),
        linked=linked,
    )
