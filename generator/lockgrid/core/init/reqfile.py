"""Requirements files, as pip's documentation and pip itself read them, one value a line and nothing followed.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import codecs
import optparse
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

_COMMENT = re.compile(r"(^|\s+)#.*$")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
_CODING = re.compile(rb"coding[:=]\s*([-\w.]+)")
# UTF-32's mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
#: The options that may stand in a requirements file, with a value and without.
_VALUED = {
    "--index-url": ("-i", "--index-url", "--pypi-url"),
    "--extra-index-url": ("--extra-index-url",),
    "--constraint": ("-c", "--constraint"),
    "--requirement": ("-r", "--requirement"),
    "--editable": ("-e", "--editable"),
    "--find-links": ("-f", "--find-links"),
    "--no-binary": ("--no-binary",),
    "--only-binary": ("--only-binary",),
    "--all-releases": ("--all-releases",),
    "--only-final": ("--only-final",),
    "--trusted-host": ("--trusted-host",),
    "--use-feature": ("--use-feature",),
    "--hash": ("--hash",),
    "--config-settings": ("-C", "--config-settings", "--config-setting"),
    "--global-option": ("--global-option",),
    "--install-option": ("--install-option",),
}
_FLAGS = ("--no-index", "--prefer-binary", "--require-hashes", "--no-require-hashes", "--pre")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One logical line. ``line`` is that of its first physical one, from 1.

    ``text`` is what stands there, without comments and with variables unreplaced; ``requirement`` what is to be
    installed (variables replaced, empty where the line has options alone), ``editable`` whether by ``-e``;
    ``options`` the others, each by its long name with its value, empty for a flag. ``spare`` are words that pip
    overlooks, ``variables`` the names of those that were replaced.
    """

    line: int
    text: str
    requirement: str = ""
    editable: bool = False
    options: tuple[tuple[str, str], ...] = ()
    spare: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def values(self, option: str) -> list[str]:
        """The values of an option."""
        return [value for name, value in self.options if name == option]


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that pip would refuse."""

    line: int
    what: str
    hint: str = ""


def decode(data: bytes) -> str:
    """The text of a file: a byte order mark or a comment in its first two lines (PEP 263) says how, else UTF-8.

    Raises ``ValueError`` for bytes that are no text of that encoding, and for an encoding that does not exist.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    for line in data.split(b"\n")[:2]:
        if line.startswith(b"#") and (match := _CODING.search(line)):
            encoding = match[1].decode("ascii")
            try:
                return data.decode(encoding)
            except LookupError as error:
                raise ValueError(f"there is no encoding {encoding!r}") from error
    return data.decode("utf-8")


def parse(text: str, environ: Mapping[str, str]) -> tuple[list[Entry], list[Fault]]:
    """The lines of a requirements file, and what is wrong with others. ``environ`` gives ``${VARIABLES}``."""
    entries: list[Entry] = []
    faults: list[Fault] = []
    for line, joined in _logical(text):
        stripped = _COMMENT.sub("", joined).strip()
        if not stripped:
            continue
        known = tuple(dict.fromkeys(name for name in _VARIABLE.findall(stripped) if environ.get(name)))
        full = stripped
        for name in known:
            full = full.replace(f"${{{name}}}", environ[name])
        try:
            entries.append(_entry(line, stripped, full, known))
        except _RefusedError as refused:
            faults.append(Fault(line, refused.what, refused.hint))
    return entries, faults


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations, by the number of the first; a comment ends a continuation."""
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        comment = _COMMENT.match(line)
        if line.endswith("\\") and not comment:
            begun = begun if parts else number
            parts.append(line.strip("\\"))
            continue
        yield (begun if parts else number), "".join([*parts, " " + line if comment else line])
        parts = []
    if parts:
        yield begun, "".join(parts)


def _entry(line: int, text: str, full: str, variables: tuple[str, ...]) -> Entry:
    words = full.split(" ")
    # Only options are split as a shell would: markers hold quotes.
    first = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    requirement = " ".join(words[:first]).strip()
    try:
        rest = shlex.split(" ".join(words[first:]))
    except ValueError as error:
        raise _RefusedError(f"the options cannot be told apart: {error}", "close the quotes") from error
    options, spare = _options(rest)
    editable = False
    if not requirement and (paths := [value for name, value in options if name == "--editable"]):
        requirement, editable = paths[0], True
        options = [option for option in options if option != ("--editable", paths[0])]
    return Entry(
        line=line,
        text=text,
        requirement=requirement,
        editable=editable,
        options=tuple(options),
        spare=tuple(spare),
        variables=variables,
    )


class _RefusedError(Exception):
    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class _Parser(optparse.OptionParser):
    """pip's own parser is one of these, so abbreviations and ``-rfile`` come out alike."""

    def error(self, msg: str) -> NoReturn:
        raise _RefusedError(f"pip takes no such line: {msg}", "see pip's requirements file format")


def _options(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    found: list[tuple[str, str]] = []

    def keep(option: optparse.Option, _given: str, value: str | None, _parser: object) -> None:
        found.append((str(option.dest), value or ""))

    parser = _Parser(add_help_option=False)
    for name, spellings in _VALUED.items():
        parser.add_option(*spellings, dest=name, type="str", action="callback", callback=keep)
    for name in _FLAGS:
        parser.add_option(name, dest=name, action="callback", callback=keep)
    _, spare = parser.parse_args(words)
    return found, spare
