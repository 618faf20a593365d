"""An export as a requirements file: without markers for one target, with them for many."""

from __future__ import annotations

from collections.abc import Iterator

from lockgrid.core.export import Export, IndexUrls, described, outside_marker
from lockgrid.core.render.requirements import option_lines, pin_lines

# Where the markers leave nothing to do, installers do nothing and succeed. This is asked for instead, and cannot be
# had: no file has this hash, whoever publishes something under the name.
_GUARD = "this-target-is-not-in-the-export"
_NO_HASH = "0" * 64


def render_requirements(export: Export, urls: IndexUrls | None) -> str:
    """The text for uv, pip and pip-sync; it names the indexes where ``urls`` are given."""
    return "".join(f"{line}\n" for line in _lines(export, urls))


def header_lines(export: Export) -> Iterator[str]:
    """What every export says of itself first, as comments."""
    yield f"# environment: {export.environment}"
    yield f"# targets: {described(export)}"
    yield "# Generated: do not edit. To regenerate, run `lockgrid export`."


def _lines(export: Export, urls: IndexUrls | None) -> Iterator[str]:
    yield "# lockgrid export, format: requirements"
    yield from header_lines(export)
    if export.single:
        yield "# For this target alone. It has no markers, so elsewhere too little might be installed without an error."
    if urls:
        yield ""
        yield from _index_lines(export, urls)
    yield ""
    yield from option_lines(export.sdists)
    for pin in export.pins:
        yield ""
        yield from pin_lines(pin.name, pin.version, pin.marker, sorted({file.sha256 for file in pin.files}))
    if not export.single:
        yield ""
        yield "# For every other target, so that no installation succeeds by installing nothing."
        yield from pin_lines(_GUARD, "0", outside_marker(export.targets), [_NO_HASH])


def _index_lines(export: Export, urls: IndexUrls) -> Iterator[str]:
    named = dict(urls.named)
    asked = dict.fromkeys([*urls.plain[-1:], *(named[index] for index in export.indexes), *urls.plain[:-1]])
    servers = [url for url in asked if not _is_folder(url)]
    if len(servers) > 1:
        yield "# uv needs --index-strategy unsafe-best-match to look at more than the first index that has a package."
    yield from (f"--index-url {url}" for url in servers[:1])
    yield from (f"--extra-index-url {url}" for url in servers[1:])
    if not servers:
        yield "--no-index"
    yield from (f"--find-links {url}" for url in asked if _is_folder(url))
    if export.built:
        yield f"# {', '.join(export.built)}: built from git, so give --find-links and the folder with the wheels."


def _is_folder(url: str) -> bool:
    """Whether an index is a folder of this machine, for which installers have another option."""
    return url.startswith("file:")


def mixed_sdists(export: Export) -> tuple[str, ...]:
    """Packages that some target builds and another does not: the options of a requirements file cannot say so."""
    wheels = {pin.name for pin in export.pins for file in pin.files if file.is_wheel}
    return tuple(name for name in export.sdists if name in wheels)
