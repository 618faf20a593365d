"""pip-compile, which takes the sha256 of a file from the index's page. Run by a Python that has pip-tools.

By itself it asks for a JSON API that few indexes have beside their pages, and of what that does not tell it downloads
every file for every platform to hash it: many gigabytes for torch and what comes with it on Linux.
"""

from __future__ import annotations

from typing import Any

from piptools.repositories.pypi import PyPIRepository
from piptools.scripts.compile import cli


def _stated(_repository: PyPIRepository, link: Any) -> str:
    if link.hash_name != "sha256" or not link.hash:
        raise SystemExit(f"the index states no sha256 of {link.filename}")
    return f"sha256:{link.hash}"


def main() -> None:
    """Run pip-compile; it is an error where it has no longer what is replaced here."""
    for name, function in (("_get_hashes_from_pypi", lambda _repository, _ireq: {}), ("_get_file_hash", _stated)):
        if not hasattr(PyPIRepository, name):
            raise SystemExit(f"pip-tools has no {name} any more: sessions/stated_hashes.py is to be adapted")
        setattr(PyPIRepository, name, function)
    cli()


if __name__ == "__main__":
    main()
