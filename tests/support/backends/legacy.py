"""`setuptools.build_meta` of the fake setuptools that `support.wheels.fake_setuptools` makes.

Enough to build a wheel from a `setup.py` that calls `setup(name, version, py_modules,
install_requires, extras_require, python_requires)`, offline and with nothing installed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import runpy
import time
import zipfile
from typing import Any

import setuptools  # type: ignore[import-not-found, import-untyped, unused-ignore]


class _Legacy:
    """The hooks of PEP 517, as `setuptools.build_meta:__legacy__` has them."""

    def get_requires_for_build_wheel(self, config_settings: object = None) -> list[str]:
        return []

    def prepare_metadata_for_build_wheel(self, metadata_directory: str, config_settings: object = None) -> str:
        stem, files = _files(_run_setup_py())
        for path, data in files.items():
            if path.startswith(f"{stem}.dist-info/"):
                target = pathlib.Path(metadata_directory, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        return f"{stem}.dist-info"

    def build_wheel(
        self,
        wheel_directory: str,
        config_settings: object = None,
        metadata_directory: object = None,
    ) -> str:
        stem, files = _files(_run_setup_py())
        filename = f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(pathlib.Path(wheel_directory, filename), "w") as archive:
            for path, data in files.items():
                archive.writestr(zipfile.ZipInfo(path, _moment()), data)
        return filename


def _moment() -> tuple[int, int, int, int, int, int]:
    """Now, or what SOURCE_DATE_EPOCH says, as the real one has it."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    year, month, day, hour, minute, second = time.gmtime(seconds)[:6]
    return year, month, day, hour, minute, second


def _run_setup_py() -> dict[str, Any]:
    """Run setup.py of the working directory; return the arguments of its call of `setup`."""
    setuptools.arguments.clear()
    runpy.run_path("setup.py", run_name="__main__")
    return dict(setuptools.arguments)


def _files(arguments: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """Return `<name>-<version>` and what the wheel holds, RECORD last."""
    stem = f"{arguments['name'].lower().replace('-', '_')}-{arguments['version']}"
    lines = ["Metadata-Version: 2.1"]
    lines += [f"Name: {arguments['name']}", f"Version: {arguments['version']}"]
    if arguments.get("python_requires"):
        lines.append(f"Requires-Python: {arguments['python_requires']}")
    lines += [f"Provides-Extra: {extra}" for extra in arguments.get("extras_require", {})]
    lines += [f"Requires-Dist: {entry}" for entry in arguments.get("install_requires", [])]
    files = {f"{m}.py": pathlib.Path(f"{m}.py").read_bytes() for m in arguments["py_modules"]}
    files[f"{stem}.dist-info/METADATA"] = ("\n".join(lines) + "\n").encode()
    files[f"{stem}.dist-info/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: fake-setuptools\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    record.append(f"{stem}.dist-info/RECORD,,")
    files[f"{stem}.dist-info/RECORD"] = ("\n".join(record) + "\n").encode()
    return stem, files


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


__legacy__ = _Legacy()
