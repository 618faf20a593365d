"""``[hold]`` in the texts of ``envs/``: read, written and taken out, with comments, order and line endings kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from packaging.utils import NormalizedName, canonicalize_name

from lockgrid.errors import InputError, Problem
from lockgrid.model.tested import HoldEntry

_LONE_NEWLINE = re.compile(r"(?<!\r)\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def read_holds(files: Mapping[str, str]) -> tuple[HoldEntry, ...]:
    """Every ``[hold]`` of the texts of ``envs/``, which are known to be valid (``core.spec``)."""
    return tuple(
        HoldEntry(
            file=file,
            name=canonicalize_name(key),
            version=entry["version"],
            why=entry["why"],
            since=entry.get("since"),
        )
        for file in sorted(files)
        for key, entry in tomllib.loads(files[file]).get("hold", {}).items()
    )


def put_hold(text: str, entry: HoldEntry) -> str:
    """The text of a file with the hold in it, in place of one of the same package; then its ``since`` stays.

    Raises ``InputError`` where ``[hold]`` is written in a way that cannot be edited.
    """
    data = tomllib.loads(text)
    holds: dict[str, Any] = data.setdefault("hold", {})
    key = next((key for key in holds if canonicalize_name(key) == entry.name), str(entry.name))
    since = holds.get(key, {}).get("since", entry.since)
    values = {"version": entry.version, "why": entry.why} | ({"since": since} if since else {})
    if holds.get(key) == values:
        return text
    holds[key] = values
    return _checked(_edited(text, key, values), data, entry.file)


def drop_hold(text: str, name: NormalizedName, file: str) -> str:
    """The text of a file without the hold of a package; of a ``[hold]`` that was all of it, without the header too."""
    data = tomllib.loads(text)
    holds: dict[str, Any] = data.get("hold", {})
    keys = [key for key in holds if canonicalize_name(key) == name]
    for key in keys:
        del holds[key]
        text = _edited(text, key)
    if keys and not holds:
        del data["hold"]
        text = _without_table(text)
    return _checked(text, data, file) if keys else text


def bases_of(files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """For each environment's file that is not abstract: itself and, directly or not, the files that it extends."""
    read = {file: tomllib.loads(text) for file, text in files.items()}

    def lineage(file: str, seen: tuple[str, ...]) -> tuple[str, ...]:
        for base in read[file].get("extends", ()):
            path = f"envs/{base}.toml"
            if path in read and path not in seen:
                seen = lineage(path, (*seen, path))
        return seen

    concrete = [f for f in sorted(read) if not read[f].get("abstract") and PurePosixPath(f).stem != "targets"]
    return {file: lineage(file, (file,)) for file in concrete}


def hold_files(
    name: NormalizedName, wanted: Collection[str], pinning: Collection[str], files: Mapping[str, str]
) -> tuple[str, ...]:
    """The fewest files of ``envs/`` in which a hold reaches the ``wanted`` environments, and no other that pins it.

    Environments by name; ``wanted`` are some of ``pinning``, those that pin the package. A file that has a hold of the
    package already is preferred, then the one nearest to the environments.
    """
    lineages = bases_of(files)
    missing = {f"envs/{environment}.toml" for environment in wanted}
    others = {f"envs/{environment}.toml" for environment in pinning} - missing
    # An environment's own entry beats that of its base, so whoever has one is served only there.
    own = {entry.file for entry in read_holds(files) if entry.name == name}

    def distance(file: str) -> int:
        return max(line.index(file) for line in lineages.values() if file in line)

    chosen = sorted(missing & own)
    missing -= own
    while missing:
        reach = {
            file: {e for e in missing if file in lineages.get(e, ())}
            for file in sorted({file for line in lineages.values() for file in line})
            if not any(file in lineages.get(other, ()) for other in others)
        }
        # Of files that reach as many, the nearest.
        best = min(reach, key=lambda file: (-len(reach[file]), file not in own, distance(file), file))
        chosen.append(best)
        missing -= reach[best]
    return tuple(sorted(chosen))


def shorten(text: str, limit: int = 200) -> str:
    """A reason on one line of at most ``limit`` characters."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."


def _key(key: str) -> str:
    import tomlkit

    return tomlkit.key(key).as_string() if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    import tomlkit

    return tomlkit.string(text).as_string()


def _inline(values: Mapping[str, Any]) -> str:
    """An inline table as people write them."""
    parts = [
        f"{key} = {value.isoformat() if isinstance(value, date) else _string(value)}" for key, value in values.items()
    ]
    return f"{{ {', '.join(parts)} }}"


def _newline(text: str) -> str:
    """The line ending of a text that has one kind."""
    return "\r\n" if "\r\n" in text and not _LONE_NEWLINE.search(text) else "\n"


def _section(lines: list[str]) -> range:
    """The lines of the table ``[hold]`` with its header; none where there is no such table, or more than one."""
    heads = [n for n, line in enumerate(lines) if re.fullmatch(r"\s*\[\s*hold\s*\]\s*(#.*)?", line.rstrip("\r\n"))]
    if len(heads) != 1:
        return range(0)
    ends = (n for n in range(heads[0] + 1, len(lines)) if lines[n].lstrip().startswith("["))
    return range(heads[0], next(ends, len(lines)))


def _line_edited(text: str, key: str, values: Mapping[str, Any] | None) -> str | None:
    """The text with the line of an entry changed, added (``[hold]`` too) or taken out; None where there is none.

    Lines, since tomlkit does not keep the space behind a date.
    """
    newline, lines = _newline(text), text.splitlines(keepends=True)
    section = _section(lines)
    line = next((n for n in section[1:] if _entry_of(lines[n]) == key), None)
    if line is not None:
        lines[line] = _changed(lines[line], values) if values else ""
        return "".join(lines)
    if values is None:
        return None
    added = f"{_key(key)} = {_inline(values)}{newline}"
    if not section:
        ending = "" if not text or text.endswith("\n") else newline
        return f"{text}{ending}{newline if text else ''}[hold]{newline}{added}"
    last = [n for n in section if lines[n].strip() and not lines[n].lstrip().startswith("#")][-1]
    lines[last] = lines[last].rstrip("\r\n") + newline + added
    return "".join(lines)


def _entry_of(line: str) -> str | None:
    """The key of an entry that is a line of its own."""
    data = _loads(line)
    return next(iter(data)) if data and len(data) == 1 else None


def _changed(line: str, values: Mapping[str, Any]) -> str:
    """The line of an entry with other values; what stands before and behind them stays."""
    begin = next(n for n, c in enumerate(line) if c == "{" and _loads(f"{line[:n]}{{}}") is not None)
    end = next(n for n, c in enumerate(line) if c == "}" and _loads(line[: n + 1]) is not None)
    return f"{line[:begin]}{_inline(values)}{line[end + 1 :]}"


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _edited(text: str, key: str, values: Mapping[str, Any] | None = None) -> str:
    """The text with an entry of ``[hold]`` changed to ``values`` or added, or without it."""
    wanted = tomllib.loads(text)
    holds = wanted.setdefault("hold", {})
    holds |= {key: values}
    if values is None:
        del holds[key]
    edited = _line_edited(text, key, values)
    if edited is not None and (_loads(edited) or {}) == wanted:
        return edited
    import tomlkit

    document = tomlkit.parse(text)
    table: Any = document["hold"]
    if values is None:
        table.remove(key)
    elif key in table:
        for name in [name for name in values if table[key].get(name) != values[name]]:
            table[key][name] = values[name]
    else:
        table[key] = tomlkit.parse(f"new = {_inline(values)}")["new"]
    newline, edited = _newline(text), tomlkit.dumps(document)
    return _LONE_NEWLINE.sub(newline, edited) if newline != "\n" else edited


def _without_table(text: str) -> str:
    """The text without an empty ``[hold]``; comments in it stay, and so does then the header."""
    lines = text.splitlines(keepends=True)
    section = _section(lines)
    if not section or any("#" in lines[n] for n in section) or any(lines[n].strip() for n in section[1:]):
        return text
    head, tail = lines[: section.start], lines[section.stop :]
    if not tail and head and not head[-1].strip():
        head.pop()
    return "".join([*head, *tail])


def _checked(text: str, wanted: Mapping[str, Any], file: str) -> str:
    """The text, which must mean what was wanted."""
    if (got := tomllib.loads(text)) != wanted and got != {**wanted, "hold": wanted.get("hold", {})}:
        raise InputError(
            [Problem(file=file, key="hold", what="cannot be edited", hint="write [hold] as one table, an entry a line")]
        )
    return text
