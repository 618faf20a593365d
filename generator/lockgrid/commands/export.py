"""``lockgrid export``: the pins of one environment in the format of another tool, for one target or many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.pylock import PylockValidationError, is_valid_pylock_path

from lockgrid.adapters.index import NOT_AT_HAND
from lockgrid.adapters.store import Store
from lockgrid.adapters.uvconfig import strip_credentials
from lockgrid.commands.cells import LockedCells, open_cells
from lockgrid.commands.context import Context, unknown_environment
from lockgrid.commands.explain import explain
from lockgrid.commands.sbom import sbom
from lockgrid.core.check import compare
from lockgrid.core.export import Export, IndexUrls, gather
from lockgrid.core.render.constraints import render_constraints
from lockgrid.core.render.exported import mixed_sdists, render_requirements
from lockgrid.core.render.pylock import render_pylock
from lockgrid.core.resolution import timestamp
from lockgrid.errors import InputError, Problem, ToolError, UnsatisfiableError
from lockgrid.model.grid import CellRecord, Pin, ProvenCell

_LINE = "command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """An environment, one or all of its platforms and Pythons, and how to write it; ``urls`` False: hashes alone."""

    environment: str
    platform: str | None = None
    python: str | None = None
    format: str = "requirements"
    urls: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The cells that were exported with their pins, the same as one value, and where the files come from."""

    options: Options
    cells: tuple[ProvenCell, ...]
    export: Export
    urls: IndexUrls

    @property
    def text(self) -> str:
        """The file in the format that was asked for."""
        return _render(self)


def export(context: Context, options: Options) -> Exported:
    """Look the pins up on the index.

    Raises ``InputError`` for unknown words, a format that cannot hold what is asked for, and locks that are not in
    date; ``UnsatisfiableError`` where no cell that is asked for is proven.
    """
    _refuse_impossible(options)
    records = _records(context, options)
    wanted = {(cell.platform, cell.python) for cell in records if cell.proven}
    with open_cells(context, [options.environment], wanted) as locked:
        cells = tuple(_without_credentials(cell) for cell in locked.cells.values())
        exported = Exported(options=options, cells=cells, export=gather(cells), urls=_urls(locked))
    _tell(context, records, options)
    mixed = mixed_sdists(exported.export)
    if options.format == "requirements" and mixed:
        what = f"{', '.join(mixed)}: some of these targets install a wheel and others build it"
        raise InputError([Problem(file=_LINE, key="--format requirements", what=what, hint="give one --platform")])
    return exported


def bill(context: Context, options: Options) -> str:
    """The bill of materials of one cell (CycloneDX); raises as ``export`` does."""
    if options.platform is None or options.python is None:
        what = "a bill of materials is of one cell"
        raise InputError(
            [Problem(file=_LINE, key="--format cyclonedx", what=what, hint="give --platform and --python")]
        )
    _records(context, options)
    return sbom(context, options.environment, options.platform, options.python)


def _refuse_impossible(options: Options) -> None:
    if options.format == "pylock" and not options.urls:
        what = "a pylock.toml needs the URL of each file (PEP 751)"
        hint = "`--format requirements --no-urls` holds names and hashes alone"
        raise InputError([Problem(file=_LINE, key="--no-urls", what=what, hint=hint)])


def _records(context: Context, options: Options) -> list[CellRecord]:
    """The cells that are asked for, as the grid has them, at least one of them proven."""
    spec, grid, name = context.spec(), context.require_grid(), options.environment
    environment = spec.environment(name)
    if environment is None:
        raise InputError([unknown_environment(name, spec)])
    stale = [
        d
        for d in compare(spec, grid, context.lockfile_texts())
        if d.where == environment.file or f"/{name}/" in d.where
    ]
    if stale:
        raise InputError([Problem(file=d.where, what=d.what) for d in stale], next_step="run `lockgrid lock`")
    _, records = explain(context, name, options.platform, options.python)
    if not any(record.proven for record in records):
        where = f"{name} on {options.platform or 'any platform'}, Python {options.python or 'any'}"
        reasons = "; ".join(dict.fromkeys(record.because for record in records))
        raise UnsatisfiableError(f"unsupported, so there is nothing to install: {reasons}", where=where,
                                 next_step=f"see `lockgrid explain {name}`")  # fmt: skip
    return records


def _tell(context: Context, records: Iterable[CellRecord], options: Options) -> None:
    """Say which of the cells that were asked for are not in it."""
    missing: dict[str, list[str]] = {}
    for record in records:
        if not record.proven:
            missing.setdefault(record.platform, []).append(record.python)
    if missing:
        said = "; ".join(f"{platform}, Python {' '.join(pythons)}" for platform, pythons in missing.items())
        name = options.environment
        context.progress.note(f"not in it, for it is unsupported: {said} (why: `lockgrid explain {name}`)")


def _urls(locked: LockedCells) -> IndexUrls:
    plain, named = locked.learner.index.urls()
    return IndexUrls(plain=plain, named=tuple(sorted(named.items())))


def _without_credentials(cell: ProvenCell) -> ProvenCell:
    pins = (replace(pin, file=replace(pin.file, url=_clean(pin.file.url))) for pin in cell.pins)
    return replace(cell, pins=tuple(pins))


def _clean(url: str) -> str:
    return strip_credentials(url.partition("#")[0])


def _render(exported: Exported) -> str:
    options, export = exported.options, exported.export
    if options.format == "constraints":
        return render_constraints(export)
    if options.format == "requirements":
        return render_requirements(export, exported.urls if options.urls else None)
    if away := [pin.name for pin in export.pins if not all(file.url for file in pin.files)]:
        what = f"a pylock.toml needs the place of each file, and the wheels of {', '.join(away)} are not at hand"
        raise ToolError(what, next_step=NOT_AT_HAND)
    try:
        return render_pylock(export, exported.urls)
    except PylockValidationError as error:
        raise ToolError(f"no pylock.toml can hold it: {error}", where=export.environment) from error


def check_output(store: Store, path: Path, kind: str) -> None:
    """Raises ``InputError`` for a file that must not be replaced, or that no tool would read under its name.

    ``store`` is that of the project.
    """
    store.check_foreign(path)
    if path.exists() and not path.is_file():
        what, hint = "this is no file that could be replaced", "without -o it goes to stdout"
        raise InputError([Problem(file=_LINE, key=f"-o {path}", what=what, hint=hint)])
    if kind == "pylock" and not is_valid_pylock_path(path):
        what = "installers read pylock.toml and pylock.<name>.toml alone (PEP 751), where <name> has no dot"
        raise InputError([Problem(file=_LINE, key=f"-o {path}", what=what)])


def write(path: Path, text: str) -> None:
    """Write a file beside its place, then rename it. Raises ``ToolError``; then whatever was there still is."""
    path = path.resolve()  # a link stays one
    Store(path.parent).replace({path.name: text})


def exported_as_json(exported: Exported) -> dict[str, Any]:
    """For ``--json``: each cell with its pins, each pin with its one file."""
    cells = [
        {
            "platform": cell.target.platform.name,
            "python": cell.target.python,
            "pins": [_pin_values(pin, exported) for pin in cell.pins],
        }
        for cell in sorted(exported.cells, key=lambda c: c.target.sort_key)
    ]
    return {"environment": exported.export.environment, "cells": cells}


def _pin_values(pin: Pin, exported: Exported) -> dict[str, Any]:
    values: dict[str, Any] = {"name": pin.name, "version": pin.version, "file": pin.file.filename}
    values |= {"sha256": pin.file.sha256, "size": pin.file.size}
    if pin.file.uploaded:
        values["upload-time"] = timestamp(pin.file.uploaded)
    if exported.options.urls:
        values |= {"url": pin.file.url, "index": exported.urls.of(pin.index)}
    return values
