"""The PEP 517 backend that `support.wheels.sdist` puts into an sdist.

It needs nothing: the wheel lies ready beside it, in base64. The placeholders below are replaced
when the sdist is made. Each thing that runs appends its name to the marker file, if there is one,
so that a test can tell whether code from an sdist ran, and which.
"""

from __future__ import annotations

import base64
import io
import pathlib
import tarfile
import zipfile

MARKER = "@MARKER@"
HOOK_REQUIRES: list[str] = ["@HOOK_REQUIRES@"]
HERE = pathlib.Path(__file__).resolve().parent


def _mark(what: str) -> None:
    if MARKER:
        with pathlib.Path(MARKER).open("a", encoding="utf-8") as file:
            file.write(what + "\n")


def _wheel() -> tuple[str, bytes]:
    """Return file name and content of the wheel."""
    path = next(HERE.glob("*.whl.b64"))
    return path.name.removesuffix(".b64"), base64.decodebytes(path.read_bytes())


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    _mark("get_requires_for_build_wheel")
    return HOOK_REQUIRES


def get_requires_for_build_sdist(config_settings: object = None) -> list[str]:
    _mark("get_requires_for_build_sdist")
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    _mark("prepare_metadata_for_build_wheel")
    with zipfile.ZipFile(io.BytesIO(_wheel()[1])) as archive:
        members = [name for name in archive.namelist() if ".dist-info/" in name]
        archive.extractall(metadata_directory, members)
    return members[0].split("/")[0]


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    _mark("build_wheel")
    name, data = _wheel()
    pathlib.Path(wheel_directory, name).write_bytes(data)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    _mark("build_sdist")
    root = "-".join(_wheel()[0].split("-")[:2])
    with tarfile.open(pathlib.Path(sdist_directory, root + ".tar.gz"), "w:gz") as archive:
        archive.add(HERE.parent, root)
    return root + ".tar.gz"


_mark("import")
