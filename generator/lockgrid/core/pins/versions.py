"""Versions and commits, compared and respelt in the grammar of the copy.

A version is one of PEP 440, in any of its spellings. A commit is 7 to 64 hexadecimal digits; two commits are the same
where one begins with the other.
"""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from lockgrid.model.pins import Place, Truth

_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
FULL_COMMIT = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_PARTS = re.compile(r"([vV]?)(?:[0-9]+!)?([0-9]+(?:\.[0-9]+)*)(.*?)(?:\+(.*))?", re.DOTALL)
_LONG = {"a": "alpha", "b": "beta"}
_WORDS = {"alpha": "a", "a": "a", "beta": "b", "b": "b", "c": "rc", "rc": "rc", "pre": "rc", "preview": "rc"}
_PRE = re.compile(r"([-_.]?)(alpha|a|beta|b|preview|pre|c|rc)([-_.]?)([0-9]*)", re.IGNORECASE)
_POST = re.compile(r"([-_.])(post|rev|r)([-_.]?)([0-9]*)", re.IGNORECASE)
_DEV = re.compile(r"([-_.]?)(dev)([-_.]?)([0-9]*)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def read_version(text: str) -> Version | None:
    """A version of PEP 440, None where it is none."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def read_truth(text: str, origin: str = "") -> Truth | None:
    """A truth out of its text, None where that is neither a version nor a commit.

    Digits that are both are a commit where it is a full one (40 or 64 of them), and a version otherwise.
    """
    if FULL_COMMIT.fullmatch(text):
        return Truth(text, origin, commit=True)
    if read_version(text) is not None:
        return Truth(text, origin)
    return Truth(text, origin, commit=True) if _COMMIT.fullmatch(text) else None


def comparable(truth: Truth, place: Place) -> bool:
    """Whether a copy holds what the truth is: a commit where that is one, else a version."""
    if truth.commit:
        return not place.wildcard and _COMMIT.fullmatch(place.text) is not None
    return read_version(place.text) is not None


def in_step(truth: Truth, place: Place) -> bool:
    """Whether a comparable copy says the same.

    A local part (``+cpu``) counts only where both have one. ``1.2.*`` is compared as far as it goes.
    """
    if truth.commit:
        one, other = truth.value.lower(), place.text.lower()
        return one.startswith(other) or other.startswith(one)
    want, have = Version(truth.value), Version(place.text)
    if place.wildcard:
        size = len(have.release)
        return want.epoch == have.epoch and _components(want, size)[:size] == list(have.release)
    if want.local is None or have.local is None:
        return Version(want.public) == Version(have.public)
    return want == have


def respell(truth: Truth, place: Place, size: int = 0) -> str | None:
    """The truth in the grammar of a comparable copy.

    A version keeps a ``v``, the number of components where the truth can be said in it, zeros before a component, the
    spelling of ``rc`` and the like, and a local part where the truth has none; of the beginning of a version ``size``
    components are said, or as many as there are. A commit keeps its length and case; None where the truth is shorter.
    """
    if truth.commit:
        return _respell_commit(truth.value, place.text)
    want = Version(truth.value)
    parts = _PARTS.fullmatch(place.text)
    if parts is None:
        return str(want.public)
    mark, release, rest, local = parts.groups()
    shown = release.split(".")
    size = size or len(shown)
    components = _components(want, size)
    if place.wildcard:
        components = components[:size]
    said = [
        str(number).zfill(len(shown[at])) if at < len(shown) and shown[at][0] == "0" else str(number)
        for at, number in enumerate(components)
    ]
    epoch = f"{want.epoch}!" if want.epoch else ""
    text = epoch + ".".join(said)
    if not place.wildcard:
        text += _suffix(want, rest)
        if local:
            text += f"+{want.local or local}"
    spelt = Place(place.start, place.end, text, place.wildcard)
    known = read_version(text) is not None and in_step(truth, spelt)
    return mark + text if known else str(want.public)


def _respell_commit(value: str, text: str) -> str | None:
    short = value if FULL_COMMIT.fullmatch(text) and FULL_COMMIT.fullmatch(value) else value[: len(text)]
    if len(short) < len(text):
        return None
    return short.upper() if text != text.lower() else short.lower()


def _components(version: Version, size: int) -> list[int]:
    """The release in ``size`` components, or as many more as it needs."""
    release = list(version.release) + [0] * (size - len(version.release))
    while len(release) > size and release[-1] == 0:
        release.pop()
    return release


def _suffix(version: Version, rest: str) -> str:
    """What follows the release, spelt as in ``rest`` where that has the same part."""
    text = ""
    if version.pre is not None:
        letter, number = version.pre
        text += _spelt(_PRE.search(rest), letter, number, ("", ""))
    if version.post is not None:
        text += _spelt(_POST.search(rest), "post", version.post, (".", ""))
    if version.dev is not None:
        text += _spelt(_DEV.search(rest), "dev", version.dev, (".", ""))
    return text


def _spelt(shown: re.Match[str] | None, word: str, number: int, usual: tuple[str, str]) -> str:
    if shown is None:
        return f"{usual[0]}{word}{usual[1]}{number}"
    before, old, between, _ = shown.groups()
    if _WORDS.get(old.lower(), word) == word:
        word = old
    elif old.lower() in ("alpha", "beta"):
        word = _LONG.get(word, word)
    return f"{before}{word}{between}{number}"
