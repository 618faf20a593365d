"""What an index, often a mirror, does not have of a lock, pin by pin and by the names of the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from lockgrid.core.candidates import Facts, at_index, refusal, wheel_rank
from lockgrid.model.grid import LockedPin, OldLocks
from lockgrid.model.index import page_key
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A pin of which the index has no file that a cell may install; ``what`` is the end of a sentence.

    ``replaced``: the index has a file in its place, with another hash.
    """

    pin: str
    what: str
    replaced: bool = False

    @property
    def text(self) -> str:
        """One sentence."""
        return f"{self.pin}: {self.what}"


def missing_files(environment: Environment, target: Target, old: OldLocks, facts: Facts) -> list[Missing]:
    """The pins of a cell of which ``locked_pins`` finds no file, and what the index has instead."""
    lockfile = old.get((environment.name, target.platform.name))
    if lockfile is None:
        return []
    pins = [pin for pin in lockfile.pins if target.python in pin.pythons]
    return [one for pin in pins for one in _missing(environment, target, pin, facts)]


def _missing(environment: Environment, target: Target, pin: LockedPin, facts: Facts) -> Iterator[Missing]:
    project = page_key(pin.name, environment.index(pin.name, target))
    files = facts.release(project, Version(pin.version))
    fitting = [f for f in files if not f.is_wheel or wheel_rank(f.filename, target) is not None]
    allowed = pin.name in environment.sdists
    locked = [f for f in fitting if f.sha256 in pin.hashes]
    refusals = [refusal(file, target, facts, sdist_allowed=allowed, name=project) for file in locked]
    if locked and None in refusals:
        return
    name, where = f"{pin.name}=={pin.version}", at_index(project)
    if facts.pages[project].missing:
        yield Missing(pin=name, what=f"the index does not have the project{where}")
    elif locked:
        reasons = dict.fromkeys(f"{f.filename} {r.reason}" for f, r in zip(locked, refusals, strict=True) if r)
        yield Missing(pin=name, what="; ".join(reasons))
    elif not fitting:
        yield Missing(pin=name, what=f"the index has no file of it for {target.label}{where}")
    else:
        shown = "; ".join(f"{f.filename} with sha256 {f.sha256 or '(none)'}" for f in fitting)
        hashes = " or ".join(pin.hashes)
        what = f"the index serves another file than the lock has (sha256 {hashes}){where}: {shown}"
        yield Missing(pin=name, what=what, replaced=True)
