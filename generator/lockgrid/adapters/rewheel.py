"""A wheel written anew, so that the same content is the same bytes, whoever built it when and where.

Members are stored and not compressed, since what a compressor makes differs between versions of zlib. They stand in the
order of their paths with the .dist-info folder behind them and RECORD last, all with one time and with the permissions
0644, or 0755 where the owner may run them. RECORD lists them in that order.
"""

from __future__ import annotations

import base64
import csv
import io
import os
import time
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from lockgrid.adapters.wheel import is_own
from lockgrid.errors import ToolError

# The earliest and the latest time that a zip archive can hold, in seconds since the epoch.
EARLIEST, _LATEST = 315532800, 4354819198
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


def rewrite_wheel(made: Path, final: Path, added: Mapping[str, bytes], seconds: int) -> str:
    """Write the wheel ``made`` to ``final`` in one order, with ``added`` to its .dist-info folder; its sha256.

    ``seconds`` since the epoch is the time of every member. Raises ``ToolError`` for what is no wheel.
    """
    try:
        with zipfile.ZipFile(made) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            members = {info.filename: (archive.read(info), bool(info.external_attr >> 16 & 0o100)) for info in infos}
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise _no_wheel(made, f"{error}") from error
    if len(members) != len(infos):
        raise _no_wheel(made, "it holds a file twice")
    folder = _dist_info(made, members)
    for name in ("RECORD", *_SIGNATURES):
        members.pop(folder + name, None)
    members |= {folder + name: (data, False) for name, data in added.items()}
    order = sorted(members, key=lambda path: (path.startswith(folder), path))
    members[folder + "RECORD"] = _record([(path, members[path][0]) for path in order], folder), False
    _write(final, [(path, *members[path]) for path in [*order, folder + "RECORD"]], seconds)
    return sha256(final.read_bytes()).hexdigest()


def _dist_info(made: Path, members: Mapping[str, object]) -> str:
    """The .dist-info folder, with ``/``."""
    tops = {path.partition("/")[0] for path in members}
    own = [top for top in tops if top.endswith(".dist-info") and is_own(made.name, top.removesuffix(".dist-info"))]
    if len(own) != 1 or f"{own[0]}/METADATA" not in members:
        raise _no_wheel(made, "it holds no METADATA of its own")
    return f"{own[0]}/"


def _record(rows: list[tuple[str, bytes]], folder: str) -> bytes:
    """RECORD (binary distribution format): path, sha256 in URL-safe base64 without padding, size."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for path, data in rows:
        digest = base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
        writer.writerow([path, f"sha256={digest}", len(data)])
    writer.writerow([f"{folder}RECORD", "", ""])
    return out.getvalue().encode()


def _write(final: Path, rows: list[tuple[str, bytes, bool]], seconds: int) -> None:
    """Beside its place first, then renamed: nobody finds half a wheel."""
    moment = time.gmtime(min(max(seconds, EARLIEST), _LATEST))[:6]
    beside = final.with_name(f".{final.name}.{os.getpid()}.new")
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_STORED) as archive:
            for path, data, executable in rows:
                info = zipfile.ZipInfo(path, moment)
                info.create_system = 3  # Unix, on every system
                info.external_attr = (0o100755 if executable else 0o100644) << 16
                archive.writestr(info, data)
        beside.replace(final)
    except OSError as error:
        raise ToolError(f"it cannot be written: {error.strerror or error}", where=str(final)) from error
    finally:
        beside.unlink(missing_ok=True)


def _no_wheel(made: Path, why: str) -> ToolError:
    return ToolError(f"the build made something that is no wheel: {why}", where=made.name)
