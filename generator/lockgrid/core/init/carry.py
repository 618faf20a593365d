"""One requirement as people write it, and what of it ``envs/`` can hold."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from lockgrid.core.init.values import Collected, Note, Place, Wanted, public
from lockgrid.core.targets import forbidden_marker, marker_applies
from lockgrid.model.target import Target

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".tar.lzma", ".tlz", ".tbz", ".txz")
_EXTRAS = re.compile(r"(.*?)(\[[^\]]*\])?")
_EXTRA_MARKER = re.compile(r"\bextra\b")
_NO_URL = "lockfiles hold no URLs"


@dataclass(frozen=True, slots=True)
class Local:
    """A folder of this machine that pip would build and install: its path, extras and marker."""

    path: str
    extras: tuple[str, ...] = ()
    marker: str = ""


def carry(text: str, place: Place, said: str, out: Collected, *, editable: bool = False) -> Wanted | Local | None:
    """What ``envs/`` can hold of a requirement; a ``Local`` is left to the caller.

    ``text`` is the requirement (PEP 508, or a URL or a path as pip takes them); ``said`` is what stands there, to be
    repeated to people. What is lost is noted in ``out``, what is no requirement at all is a problem there.
    """
    body, _, marker = (part.strip() for part in _split_marker(text))
    if _is_local(body, editable=editable):
        return _local(body, marker, place, said, out)
    if " @ " not in body and (_SCHEME.match(body) or body.endswith(_ARCHIVES)):
        return _from_url(body, "", marker, place, said, out)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        what = f"{public(said)!r} is no requirement: {str(error).splitlines()[0]}"
        hint = 'write name>=1.0 ; python_version < "3.13" (PEP 508)'
        if "${" in text:
            hint = "set the environment variable for this run, or write its value"
        out.problems.append(place.problem(what, hint))
        return None
    if requirement.url:
        return _from_url(requirement.url, _named(requirement), str(requirement.marker or ""), place, said, out)
    return _checked(requirement, place, said, out)


def is_reference(text: str) -> bool:
    """Whether a requirement is a URL or a path, or names one."""
    body = _split_marker(text)[0].strip()
    return " @ " in body or bool(_SCHEME.match(body)) or _is_local(body, editable=False) or body.endswith(_ARCHIVES)


def _split_marker(text: str) -> tuple[str, str, str]:
    """A URL or path may hold a semicolon, so only one after a space begins a marker, as for pip."""
    separator = " ;" if _SCHEME.match(text) or " @ " in text else ";"
    return text.partition(separator)


def _named(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}"


def _checked(requirement: Requirement, place: Place, said: str, out: Collected, doubt: str = "") -> Wanted | None:
    """The requirement unless its marker is one that no target answers."""
    marker = str(requirement.marker or "")
    if variable := forbidden_marker(marker):
        what = f"left out: its marker uses {variable}, which differs between machines of one target"
        out.notes.append(Note(place, said, what, "write it with another marker, such as sys_platform"))
        return None
    if _EXTRA_MARKER.search(re.sub(r"\"[^\"]*\"|'[^']*'", "", marker)):
        out.notes.append(Note(place, said, "left out: a marker on extra means nothing here", "give it its own file"))
        return None
    return Wanted(requirement, place, doubt)


def _is_local(body: str, *, editable: bool) -> bool:
    if body.startswith("file:"):
        return not body.partition("#")[0].endswith(_ARCHIVES)
    if _SCHEME.match(body) or " @ " in body:
        return False
    path = _EXTRAS.fullmatch(body)
    bare = path[1] if path else body
    if bare.endswith(_ARCHIVES):
        return False
    return editable or bare.startswith(".") or "/" in bare or "\\" in bare


def _local(body: str, marker: str, place: Place, said: str, out: Collected) -> Local | None:
    if body.startswith("file:"):
        body = unquote(urlsplit(body).path) or body.removeprefix("file:")
    match = _EXTRAS.fullmatch(body)
    path, extras = (match[1], match[2] or "") if match else (body, "")
    names = tuple(name.strip() for name in extras.strip("[]").split(",") if name.strip())
    try:
        if marker:
            Marker(marker)
    except InvalidMarker as error:
        out.problems.append(place.problem(f"{marker!r} is no marker: {str(error).splitlines()[0]}", "see PEP 508"))
        return None
    return Local(posixpath.normpath(path), names, marker)


def _from_url(url: str, named: str, marker: str, place: Place, said: str, out: Collected) -> Wanted | None:
    """What a URL names, to be had from the index: the name of the requirement, of the file or of its fragment.

    A lock that silently lacked the package would seem to hold and then not run, so the name is kept; where it comes
    from changes, which is said in both places.
    """
    name, version = _of_file(url)
    if not named:
        egg = re.search(r"[#&]egg=([^&]+)", url)
        named = unquote(egg[1]) if egg else name
    text = f"{named}=={version}" if named and version else named
    try:
        requirement = Requirement(f"{text} ; {marker}" if marker else text)
    except InvalidRequirement:
        what = f"left out: {_NO_URL}, and it does not say which package it is"
        out.notes.append(Note(place, said, what, 'add "name==version" to requires if the index has it'))
        return None
    doubt = f"{public(said)}: {_NO_URL}, so the index's release is asked for. Is it the same project?"
    wanted = _checked(requirement, place, said, out, doubt)
    if wanted is not None:
        what = f'{_NO_URL}, so "{text}" of the index is required instead'
        hint = "make sure that it is the same project, or take the line out"
        if url.startswith("git+"):
            hint += "; [git] in its place builds that commit: docs/git.md"
        out.notes.append(Note(place, said, what, hint))
    return wanted


def _of_file(url: str) -> tuple[str, str]:
    """Name and version that a wheel's or a sdist's file name tells, empty where it is neither."""
    file = unquote(posixpath.basename(urlsplit(url).path if _SCHEME.match(url) else url))
    try:
        if file.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(file)
            return name, str(version)
        # Hosts of sources call an archive after a tag or a branch alone.
        if "/archive/" not in url and file.endswith((".tar.gz", ".zip")):
            sdist, version = parse_sdist_filename(file)
            return sdist, str(version)
    except (InvalidWheelFilename, InvalidSdistFilename):
        pass
    return "", ""


def applies(requirement: Requirement, targets: Sequence[Target]) -> tuple[bool, bool]:
    """Whether a requirement's marker holds on any of the targets, and whether on all of them."""
    text = str(requirement.marker or "")
    if not text:
        return True, True
    where = [marker_applies(text, target) for target in targets]
    return any(where), all(where)
