"""What environments are called."""

from __future__ import annotations

import posixpath
import re

from packaging.utils import canonicalize_name

#: ``locks/build.txt`` and ``envs/targets.toml`` have these names already.
_TAKEN = ("build", "targets")
_WORD = re.compile(r"(?i)^requirements?[-_.]?|[-_.]?requirements?$|[-_.]?reqs?$|^reqs?[-_.]?")
#: What the environment of everything is called where nothing else is.
MAIN = "main"


def of_file(path: str) -> str:
    """The name that a path tells: ``requirements-dev.txt`` is ``dev``, ``requirements/test.in`` ``test``."""
    stem = posixpath.basename(path)
    stem = re.sub(r"\.(txt|in|pip|req)$", "", stem, flags=re.IGNORECASE)
    return _WORD.sub("", stem) or MAIN


class Names:
    """Gives each file of ``envs/`` a name of its own, valid as an extra and unique when normalised."""

    def __init__(self) -> None:
        self._known = {canonicalize_name(name) for name in _TAKEN}

    def give(self, wish: str, kind: str) -> str:
        """The name wished for, made valid; with ``-kind`` where it is taken, and then a number."""
        valid = re.sub(r"[^A-Za-z0-9._-]+", "-", wish)
        valid = valid.strip("._-") or kind
        name = valid
        number = 1
        while canonicalize_name(name) in self._known:
            name = f"{valid}-{kind}" if number == 1 else f"{valid}-{kind}-{number}"
            number += 1
        self._known.add(canonicalize_name(name))
        return name
