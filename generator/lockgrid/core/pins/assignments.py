"""Assignments in shell scripts (and ``.env`` files, and ``ARG`` and ``ENV`` of a Dockerfile) and in Python."""

from __future__ import annotations

import ast
import re
import warnings

from lockgrid.core.pins.text import PlaceError, Region, Text

_SHELL = r"(?m)^[ \t]*(?:(?:export|readonly|local|declare|typeset|ARG|ENV)[ \t]+(?:-[A-Za-z]+[ \t]+)*)?{name}="
_SHELL_VALUE = re.compile(r"\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s;&|#\"'`]*)")
_DEFAULT = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*:?[-=](?P<value>[^{}$]*)\}")


def shell_values(text: Text, name: str) -> list[Region]:
    """The value of each ``NAME=value`` at the beginning of a line; of ``${NAME:-value}`` it is the default."""
    found = []
    for assignment in re.finditer(_SHELL.format(name=re.escape(name)), text.flat):
        match = _SHELL_VALUE.match(text.flat, assignment.end())
        if match is None:
            continue
        kind = str(match.lastgroup)
        region = Region(match.start(kind), match[kind])
        default = _DEFAULT.fullmatch(region.body)
        if default:
            region = Region(region.start + default.start("value"), default["value"])
        found.append(region)
    return found


def python_values(text: Text, name: str) -> list[Region]:
    """The string of each ``NAME = "value"`` or ``NAME = Version("value")``, anywhere in the file.

    Raises ``PlaceError`` for what this Python cannot parse, and for a value that is no plain string.
    """
    index = text.learnt.get("python")
    if not isinstance(index, dict):
        index = text.learnt["python"] = _assigned(text)
    return [_string(text, node) for node in index.get(name, ())]


def _assigned(text: Text) -> dict[str, list[ast.expr]]:
    source = text.text.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape of a stranger's file is not ours to tell
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        at = text.lines[error.lineno - 1][0] if isinstance(error, SyntaxError) and error.lineno else -1
        raise PlaceError(f"no Python that this one can parse: {error.args[0]}; use a regex", at) from error
    index: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets: list[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                index.setdefault(target.id, []).append(node.value)
    return index


def _string(text: Text, node: ast.expr) -> Region:
    inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else node
    start, end = _offset(text, inner.lineno, inner.col_offset), _offset(text, inner.end_lineno, inner.end_col_offset)
    raw = text.text[start:end]
    if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
        at = raw.find(inner.value)
        if at > 0 and raw in (f"{raw[:at]}{inner.value}{quote}" for quote in ("'", '"', "'''", '"""')):
            return Region(start + at, inner.value)
    raise PlaceError(f"{raw if len(raw) <= 60 else raw[:57] + '...'} is no plain string", start)


def _offset(text: Text, line: int | None, column: int | None) -> int:
    """The character at a line and at a column that counts bytes of UTF-8, as ``ast`` does."""
    start, end = text.lines[(line or 1) - 1]
    return start + len(text.text[start:end].encode()[: column or 0].decode(errors="ignore"))
