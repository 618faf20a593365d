"""The texts of a bundle that install it: the requirements files, and the scripts for POSIX and for Windows.

Both scripts only look for the right Python and leave the rest to ``install.py``, which is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from lockgrid.core.bundle import BUILD, REQUIREMENTS, SCRIPTS, Plan
from lockgrid.core.render.requirements import option_lines, pin_lines

_ENDS = {".bat": "\r\n"}


def requirements_text(plan: Plan, hashes: Mapping[str, str], *, built_there: Iterable[str]) -> str:
    """A requirements file for this target alone: each pin with the one sha256 in ``hashes`` (by name).

    ``built_there`` are the names of the pins that are in the bundle as sdists.
    """
    return _text(_lines(plan, hashes, sorted(built_there)))


def build_text(plan: Plan) -> str:
    """The same for the build requirements: wheels alone, without options, so that it serves as constraints too."""
    title = f"# What the sdists of this bundle are built with: {plan.environment}, {plan.target.label}"
    lines = [title]
    for pin in plan.build:
        lines += ["", *pin_lines(pin.name, pin.version, "", [pin.file.sha256])]
    return _text(lines)


def script_text(name: str, plan: Plan) -> str:
    """One of ``core.bundle.SCRIPTS``, for the bundle's Python; batch files have the line ends of Windows."""
    text = (files(__package__) / f"{name}.template").read_text(encoding="utf-8")
    values = {
        "@ENVIRONMENT@": plan.environment,
        "@PLATFORM@": plan.target.platform.name,
        "@PYTHON@": plan.target.python,
        "@VERSION@": plan.target.python.replace(".", ", "),
    }
    for key, value in values.items():
        text = text.replace(key, value)
    return text.replace("\n", _ENDS.get(name[name.rindex(".") :], "\n"))


def texts(plan: Plan, hashes: Mapping[str, str], built_there: Iterable[str]) -> dict[str, str]:
    """Every text of a complete bundle but ``bundle.json`` and the sums, by name."""
    names = set(built_there)
    found = {REQUIREMENTS: requirements_text(plan, hashes, built_there=names)}
    if names:
        found[BUILD] = build_text(plan)
    return found | {name: script_text(name, plan) for name in SCRIPTS}


def _lines(plan: Plan, hashes: Mapping[str, str], built_there: list[str]) -> Iterator[str]:
    yield f"# {plan.environment}, {plan.target.label}: the {len(plan.pins)} packages of the bundle in this folder"
    yield ""
    yield from option_lines(built_there)
    for pin in plan.pins:
        yield ""
        yield from pin_lines(pin.name, pin.version, "", [hashes[pin.name]])


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
