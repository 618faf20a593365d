"""The outcome of ``lockgrid advisories`` as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from lockgrid.core.render.requirements import BUILD
from lockgrid.model.advisory import Advisories, Advisory, CellName

_DESCRIPTION = 300


def render_advisories(found: Advisories) -> str:
    """Advisories that are not accepted first, then the others; what was not audited; stale acceptances; a count."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: Advisories) -> Iterator[str]:
    for advisory in found.advisories:
        yield from _advisory(advisory)
    for pin in found.not_audited:
        yield f"not audited: {pin.name}=={pin.version} ({_counted(pin.cells)}): {pin.why}"
    for file, name in found.stale:
        yield f"{file} accepts {name}, which none of its pins has: remove it"
    accepted = sum(1 for advisory in found.advisories if not advisory.open)
    counted = f"{len(found.advisories)} advisories" + (f", {accepted} of them accepted" if accepted else "")
    audited = f"{found.pins - len(found.not_audited)} of {found.pins} pins audited, in {found.cells} cells"
    yield f"{audited}, by {found.service}: {counted}"


def _advisory(advisory: Advisory) -> Iterator[str]:
    also = f" ({', '.join(advisory.aliases)})" if advisory.aliases else ""
    text = advisory.description
    short = text if len(text) <= _DESCRIPTION else f"{text[:_DESCRIPTION].rstrip()} ..."
    yield f"{'' if advisory.open else 'accepted: '}{advisory.id}{also}"
    if short:
        yield f"  {short}"
    for pin in advisory.pins:
        fixed = f"first fixed in {pin.fixed}" if pin.fixed else "no later version is said to be fixed"
        yield f"  {pin.name}=={pin.version}: {fixed}"
        yield from _where(pin.cells)
    for environment, why in advisory.accepted:
        yield f"  accepted by {environment}: {why}"


def _where(cells: Sequence[CellName]) -> Iterator[str]:
    """The cells, those together that differ in one thing alone."""
    pythons: dict[tuple[str, str], list[str]] = {}
    for environment, platform, python in cells:
        pythons.setdefault((environment, platform), []).append(python)
    platforms: dict[tuple[str, str], list[str]] = {}
    for (environment, platform), some in pythons.items():
        platforms.setdefault((environment, " ".join(some)), []).append(platform)
    environments: dict[tuple[str, str], list[str]] = {}
    for (environment, versions), names in platforms.items():
        environments.setdefault((" ".join(names), versions), []).append(environment)
    for (where, versions), several in environments.items():
        whose = "locks/build.txt" if several == [BUILD] else f"{', '.join(several)}: {where}"
        yield f"    {whose}, Python {versions}"


def _counted(cells: Sequence[CellName]) -> str:
    counts = Counter(environment for environment, _, _ in cells if environment != BUILD)
    build = ["locks/build.txt"] if any(environment == BUILD for environment, _, _ in cells) else []
    return ", ".join([*build, *(f"{name} {count}" for name, count in counts.items())])
