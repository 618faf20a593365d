"""``[[git]]`` of ``locks/grid.toml``: between its tables and ``model.grid.GitRecord``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lockgrid.model.grid import GitRecord, GitWheel


def git_values(record: GitRecord) -> dict[str, Any]:
    """A git source in the words of ``grid.toml``, for TOML and for JSON; what is empty is left out."""
    wheels = [
        {
            "file": wheel.filename,
            "sha256": wheel.sha256,
            "size": wheel.size,
            "version": wheel.version,
            "platform": wheel.platform,
            "python": wheel.python,
            "build": wheel.build,
            "build-pins": list(wheel.pins),
            **({"requires": list(wheel.requires)} if wheel.requires else {}),
            **({"requires-python": wheel.requires_python} if wheel.requires_python else {}),
            **({"extras": list(wheel.extras)} if wheel.extras else {}),
        }
        for wheel in record.wheels
    ]
    return {
        "package": record.package,
        "url": record.url,
        "rev": record.rev,
        **({"subdirectory": record.subdirectory} if record.subdirectory else {}),
        "environments": list(record.environments),
        "tree": record.tree,
        "build-requires": list(record.build_requires),
        "wheels": wheels,
    }


def git_table(record: GitRecord) -> dict[str, Any]:
    """The same for tomlkit, with a line for each wheel."""
    import tomlkit

    values = git_values(record)
    wheels = tomlkit.array().multiline(True)
    for wheel in values["wheels"]:
        entry = tomlkit.inline_table()
        entry.update(wheel)
        wheels.append(entry)
    return {**values, "wheels": wheels}


def git_record(table: Mapping[str, Any]) -> GitRecord:
    """The inverse of ``git_values``. Raises ``KeyError`` or ``TypeError`` for something else."""
    return GitRecord(
        package=table["package"],
        url=table["url"],
        rev=table["rev"],
        subdirectory=table.get("subdirectory", ""),
        environments=tuple(table["environments"]),
        tree=table["tree"],
        build_requires=tuple(table["build-requires"]),
        wheels=tuple(
            GitWheel(
                filename=wheel["file"],
                sha256=wheel["sha256"],
                size=wheel["size"],
                version=wheel["version"],
                platform=wheel["platform"],
                python=wheel["python"],
                build=wheel["build"],
                pins=tuple(wheel["build-pins"]),
                requires=tuple(wheel.get("requires", ())),
                requires_python=wheel.get("requires-python", ""),
                extras=tuple(wheel.get("extras", ())),
            )
            for wheel in table["wheels"]
        ),
    )
