"""Where a scalar stands in a YAML file. PyYAML composes nodes with their marks; nothing is constructed or run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lockgrid.core.pins.text import PlaceError, Region
from lockgrid.model.pins import KeyPath

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # an anchor, a tag


def compose(text: str) -> list[Any]:
    """The documents of a YAML text as nodes. Raises ``PlaceError`` for what is no YAML."""
    import yaml  # type: ignore[import-untyped]

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return [node for node in yaml.compose_all(text.removeprefix("\ufeff"), loader) if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error)
        raise PlaceError(f"broken YAML: {said}", mark.index if mark else -1) from error
    except RecursionError as error:
        raise PlaceError("the YAML is nested too deeply") from error


def yaml_scalars(documents: list[Any], text: str, key: KeyPath) -> list[Region]:
    """The text of each scalar at ``key``: more than one where documents or repeated keys have it.

    ``1.10`` without quotes is a number to YAML; here it is the text that stands there. Raises ``PlaceError`` for a
    value that is none, or that is not written as it is meant.
    """
    nodes = documents
    for part in key:
        # The same node may be reached by two ways, through an alias.
        nodes = list({id(below): below for node in nodes for below in _below(node, part)}.values())
    return [_region(node, text) for node in nodes]


def _below(node: Any, part: str | int) -> Iterator[Any]:
    if node.id == "sequence":
        number = int(part) if isinstance(part, int) or part.isdecimal() else -1
        if 0 <= number < len(node.value):
            yield node.value[number]
    elif node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar" and key.value == str(part):
                yield value


def _region(node: Any, text: str) -> Region:
    mark = 1 if text.startswith("\ufeff") else 0
    start, end = node.start_mark.index + mark, node.end_mark.index + mark
    if node.id != "scalar":
        raise PlaceError("the key holds more than one value", start)
    start += len(_PROPERTIES.match(text[start:end])[0])  # type: ignore[index]  # it matches the empty text
    quoted = text[start : start + 1] in ("'", '"')
    start, end = (start + 1, end - 1) if quoted else (start, end)
    if text[start:end] != node.value:
        raise PlaceError("the value is not written as it is meant; use a regex", start)
    return Region(start, text[start:end])
