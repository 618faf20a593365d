"""Names, tags and METADATA of the distributions that tests make.

Written from the specifications with the standard library alone, so that a mistake in the library
under test cannot hide behind the same mistake here. Nothing is validated: a test may want nonsense.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """One distribution file: what an index needs to serve it and a test to compare it.

    `metadata` is the METADATA of a wheel or the PKG-INFO of an sdist, and `name` the normalised
    project name (the one of the file, even where METADATA names another). `dataclasses.replace`
    makes variants, such as one with a file name that is not valid.
    """

    name: str
    version: str
    filename: str
    data: bytes
    sha256: str
    metadata: bytes
    requires_python: str | None

    @property
    def is_wheel(self) -> bool:
        """True for a wheel, False for an sdist."""
        return self.filename.endswith(".whl")


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in lower case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def normalize(name: str) -> str:
    """Return a project name normalised as PEP 503 says: `Foo__bar` is `foo-bar`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def escape(name: str) -> str:
    """Return a project name as the binary distribution format writes it in file names."""
    return normalize(name).replace("-", "_")


def escape_version(version: str) -> str:
    """Return a version for a file name: as given, `+cpu` included, but without hyphens."""
    return version.replace("-", "_")


def expand_tags(tags: Iterable[str]) -> list[str]:
    """Return every single tag of `tags`, each of which may be a compressed set, sorted.

    `py2.py3-none-any` gives `py2-none-any` and `py3-none-any` (PEP 425).
    """
    single: set[str] = set()
    for tag in tags:
        parts = (component.split(".") for component in _components(tag))
        single.update("-".join(combination) for combination in itertools.product(*parts))
    return sorted(single)


def compress_tags(tags: Sequence[str]) -> str:
    """Return `tags` as one compressed tag set for a file name.

    A single tag stays as it is spelt, so that a test can have any order; several are joined and
    sorted. Raises ValueError where the set would claim more than the tags, as the file name of
    `cp310-cp310-win_amd64` and `cp311-cp311-win_amd64` would claim cp310-cp311.
    """
    if len(tags) == 1:
        return tags[0]
    singles = [_components(tag) for tag in expand_tags(tags)]
    joined = "-".join(".".join(sorted(set(column))) for column in zip(*singles, strict=True))
    if len(expand_tags([joined])) != len(singles):
        raise ValueError(f"{', '.join(tags)}: no one file name says just these; make two wheels")
    return joined


def core_metadata(
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    provides_extra: Sequence[str] = (),
    requires_python: str | None = None,
    metadata_version: str = "2.4",
    headers: Sequence[str] = (),
) -> bytes:
    """Return a METADATA or PKG-INFO file; `requires` are Requires-Dist values as they stand, `headers` lines."""
    lines = [f"Metadata-Version: {metadata_version}", f"Name: {name}", f"Version: {version}"]
    lines.append("Summary: made by a test")
    if requires_python is not None:
        lines.append(f"Requires-Python: {requires_python}")
    lines += [f"Provides-Extra: {extra}" for extra in provides_extra]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    lines += headers
    return ("\n".join(lines) + "\n").encode()


def _components(tag: str) -> list[str]:
    """Return interpreter, ABI and platform of one (compressed) tag; ValueError if not three."""
    parts = tag.split("-")
    if len(parts) != 3:
        raise ValueError(f"{tag!r} is not <interpreter>-<abi>-<platform>")
    return parts
