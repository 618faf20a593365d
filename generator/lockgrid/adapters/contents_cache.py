"""The contents of wheels in short form, for the cache: torch's 13,000 members take some 600 kB."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lockgrid.model.contents import Binary, Code, Contents, Fault, Member, Need

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Raised when reading finds more or other things than before, or when the short form changes: all is read anew.
_READER = 2


def contents_key(filename: str, sha256: str) -> str:
    """What the contents are kept under: they are true of a hash for ever, and are judged by the file's name too."""
    return f"{_READER} {sha256} {filename}"


def encode_contents(contents: Contents) -> bytes:
    """Field by field in the order of the classes, members column by column, which packs well."""
    members = [[getattr(member, name) for member in contents.members] for name in _names(Member)]
    value = [members if name == "members" else getattr(contents, name) for name in _names(Contents)]
    # ``json`` asks ``_row`` for what it does not know: the other classes.
    return zlib.compress(json.dumps(value, separators=(",", ":"), default=_row).encode(), level=1)


def _names(kind: type[DataclassInstance]) -> list[str]:
    return [field.name for field in fields(kind)]


def _row(value: DataclassInstance) -> list[object]:
    return [getattr(value, name) for name in _names(type(value))]


def decode_contents(data: bytes) -> Contents:
    """The inverse of ``encode_contents``."""
    value = _fields(Contents, json.loads(zlib.decompress(data)))
    path, sha256, crc, size = value["members"]
    value["members"] = tuple(
        Member(path=p, sha256=h, crc=c, size=s) for p, h, c, s in zip(path, sha256, crc, size, strict=True)
    )
    value["binaries"] = tuple(map(_binary, value["binaries"]))
    value["scripts"] = tuple((name, target) for name, target in value["scripts"])
    value["faults"] = tuple(Fault(**_fields(Fault, fault)) for fault in value["faults"])
    return Contents(**value)


def _fields(kind: type[DataclassInstance], row: list[Any]) -> dict[str, Any]:
    return dict(zip(_names(kind), row, strict=True))


def _binary(row: list[Any]) -> Binary:
    value = _fields(Binary, row)
    value["codes"] = tuple(Code(machine=m, minimum=None if v is None else tuple(v)) for m, v in value["codes"])
    value["needs"] = tuple(Need(**_fields(Need, need)) for need in value["needs"])
    value["libraries"] = tuple(value["libraries"])
    return Binary(**value)
