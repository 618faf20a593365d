"""The lockfile: a requirements file that uv, pip and pip-sync take as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lockgrid.core.lockfile import SCHEMA
from lockgrid.core.targets import python_marker
from lockgrid.model.grid import LockedPin, Lockfile

BUILD = "build"


def lockfile_key(path: str) -> tuple[str, str]:
    """Environment and platform of a lockfile by its path below ``locks/``; ``build.txt`` is of ``BUILD``."""
    environment, _, platform = path.removesuffix(".txt").rpartition("/")
    return environment or BUILD, platform


def render(lockfile: Lockfile) -> str:
    """The text of a lockfile. No URL, host, date or path of a machine can enter it: it gets none."""
    return "".join(f"{line}\n" for line in _lines(lockfile))


def _lines(lockfile: Lockfile) -> Iterator[str]:
    yield f"# lockgrid lockfile, schema: {SCHEMA}"
    yield f"# environment: {lockfile.environment}"
    yield f"# platform: {lockfile.platform}"
    yield f"# pythons: {' '.join(lockfile.pythons)}".rstrip()
    if lockfile.environment == BUILD:
        yield "# The build requirements of every sdist that [sdists] in envs/ allows."
        yield "# Generated: do not edit. To regenerate, run `lockgrid lock`."
    else:
        yield f"# Generated: do not edit. To regenerate, edit envs/{lockfile.environment}.toml and run `lockgrid lock`."
    if lockfile.environment != BUILD:
        yield ""
        yield from option_lines(lockfile.sdists)
    for pin in lockfile.pins:
        yield ""
        yield from _pin(pin, lockfile.pythons)


def _pin(pin: LockedPin, pythons: tuple[str, ...]) -> Iterator[str]:
    yield from pin_lines(pin.name, pin.version, python_marker(pin.pythons, pythons), pin.hashes)
    if len(pin.via) == 1:
        yield f"    # via {pin.via[0]}"
    elif pin.via:
        yield "    # via"
        for name in pin.via:
            yield f"    #   {name}"


def option_lines(sdists: Iterable[str]) -> Iterator[str]:
    """Wheels only, but for the named packages, which are built."""
    yield "--only-binary :all:"
    for name in sdists:
        yield f"--no-binary {name}"


def pin_lines(name: str, version: str, marker: str, hashes: Sequence[str]) -> Iterator[str]:
    """One pin with its hashes (sha256, hexadecimal, at least one); no marker where it is empty."""
    yield f"{name}=={version}" + (f" ; {marker}" if marker else "") + " \\"
    for digest in hashes[:-1]:
        yield f"    --hash=sha256:{digest} \\"
    yield f"    --hash=sha256:{hashes[-1]}"
