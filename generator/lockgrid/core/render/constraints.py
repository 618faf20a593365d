"""An export as a constraints file, for installing other packages beside these versions."""

from __future__ import annotations

from collections.abc import Iterator

from lockgrid.core.export import Export
from lockgrid.core.render.exported import header_lines


def render_constraints(export: Export) -> str:
    """One ``name==version`` a line. No hashes: one would make pip ask for those of everything else too."""
    return "".join(f"{line}\n" for line in _lines(export))


def _lines(export: Export) -> Iterator[str]:
    yield "# lockgrid export, format: constraints"
    yield from header_lines(export)
    yield "# No hashes: what is installed with these versions is not checked against the lock."
    yield ""
    for pin in export.pins:
        yield f"{pin.name}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "")
