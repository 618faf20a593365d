"""Wheels that somebody made to do harm, or that broke: whole archives as bytes."""

from __future__ import annotations

import io
import random
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from support.binaries import elf
from support.metadata import Built, sha256
from support.wheels import wheel

#: The wheel below which all of them are, and its own files: they do not pack, so it is read in parts.
NAME, PADDING = "bad", random.Random(0).randbytes(400_000)
_LIBRARY = elf([("libc.so.6", "GLIBC_2.17", "f")], ["libc.so.6"])


def plain(name: str = NAME, *, padding: bytes = PADDING) -> Built:
    """A wheel without a fault, with one library; too big to be fetched whole unless ``padding`` is short."""
    return wheel(name, "1.0", files={f"{name}/a.so": _LIBRARY, f"{name}/data.bin": padding}, compressed=True)


def with_data(built: Built, data: bytes) -> Built:
    """The same wheel with other bytes, and their hash."""
    return replace(built, data=data, sha256=sha256(data))


def _with_member(path: str, content: bytes, **fields: int) -> Built:
    built = plain()
    buffer = io.BytesIO(built.data)
    with zipfile.ZipFile(buffer, "a") as archive:
        info = zipfile.ZipInfo("x")
        info.filename = path
        info.compress_type = zipfile.ZIP_DEFLATED
        for name, value in fields.items():
            setattr(info, name, value)
        archive.writestr(info, content)
    return with_data(built, buffer.getvalue())


def _truncated() -> Built:
    built = plain()
    return with_data(built, built.data[:-1000])


@cache
def _bomb() -> Built:
    """200 MB of zeros with the tables of an ELF file behind them, in 200 kB."""
    return _with_member("bad/bomb.so", elf([("libc.so.6", "GLIBC_2.17", "f")], padding=200_000_000))


@cache
def _huge_record() -> Built:
    """A RECORD that claims 1 GB in both of its headers."""
    built = plain()
    data = bytearray(built.data)
    path = b"bad-1.0.dist-info/RECORD"
    # APPNOTE 4.3.7 and 4.3.12: where the size stands before the name, in the member's header and in the directory.
    for at, back in ((data.index(path), 30 - 22), (data.rindex(path), 46 - 24)):
        struct.pack_into("<L", data, at - back, 10**9)
    return with_data(built, bytes(data))


#: The wheel and the kinds of faults that reading it has to find.
HOSTILE: Mapping[str, tuple[Callable[[], Built], set[str]]] = {
    "no zip": (lambda: with_data(plain(), b"<html>" + PADDING), {"corrupt"}),
    "truncated": (_truncated, {"corrupt"}),
    "bomb": (_bomb, {"unlisted"}),
    "absolute": (lambda: _with_member("/etc/cron.d/x", b"x"), {"member-path"}),
    "dots": (lambda: _with_member("../../x.py", b"x"), {"member-path"}),
    "record": (_huge_record, {"record"}),
    "symlink": (
        lambda: _with_member("bad/l.so", b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16),
        {"symlink", "unlisted"},
    ),
    "elf": (lambda: _with_member("bad/b.so", _LIBRARY[:40] + b"\xff" * 400), {"binary", "unlisted"}),
    "header": (lambda: _with_member("bad/b.so", b"\x7fELF" + bytes(400)), {"binary", "unlisted"}),
}
