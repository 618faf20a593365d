"""What holds keep out of locks, and the texts of ``envs/`` with the holds of a refresh in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from lockgrid.core.holds import bases_of, drop_hold, hold_files, put_hold, read_holds, shorten
from lockgrid.core.requirement import admits, tidy
from lockgrid.core.updates import Update, bound
from lockgrid.model.grid import OldLocks
from lockgrid.model.tested import HoldEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An update to hold back in some environments, for a reason."""

    update: Update
    environments: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """``envs`` are the texts of ``envs/`` as they stand, ``locks`` the lockfiles, ``today`` the day of new holds."""

    envs: Mapping[str, str]
    locks: OldLocks
    today: date

    @property
    def entries(self) -> tuple[HoldEntry, ...]:
        """The holds as they stand."""
        return read_holds(self.envs)

    def passed_by(self, entry: HoldEntry, locks: OldLocks) -> bool:
        """Whether locks pin what a hold keeps out."""
        reached = self._reached(entry.file)
        return any(
            not admits(entry.version, pin.version)
            for (environment, _), lockfile in locks.items()
            if environment in reached
            for pin in lockfile.named(entry.name)
        )

    def texts(self, dropped: Iterable[HoldEntry], wanted: Iterable[Wanted] = ()) -> dict[str, str]:
        """The texts of ``envs/`` that change where some holds go and others come."""
        texts = dict(self.envs)
        for entry in dropped:
            texts[entry.file] = drop_hold(texts[entry.file], entry.name, entry.file)
        for one in wanted:
            if not self._barred(one, texts):
                self._put(texts, one)
        return {file: text for file, text in texts.items() if text != self.envs[file]}

    def _reached(self, file: str) -> set[str]:
        """The names of the environments that a file of ``envs/`` is part of."""
        return {PurePosixPath(one).stem for one, lineage in bases_of(self.envs).items() if file in lineage}

    def _barred(self, wanted: Wanted, texts: Mapping[str, str]) -> bool:
        """Whether holds that stand keep the update out of those environments already."""
        name = wanted.update.name
        bars = [(self._reached(entry.file), entry.version) for entry in read_holds(texts) if entry.name == name]
        return all(
            any(step.environment in reached and not admits(version, step.after) for reached, version in bars)
            for step in wanted.update.steps
            if step.environment in wanted.environments
        )

    def _put(self, texts: dict[str, str], wanted: Wanted) -> None:
        """Write a hold into the fewest of the texts; one that stood there is tightened, and its reason kept."""
        name = canonicalize_name(wanted.update.name)
        pinning = {environment for (environment, _), lockfile in self.locks.items() if lockfile.named(name)}
        known = {entry.file: entry for entry in read_holds(texts) if entry.name == name}
        for file in hold_files(name, wanted.environments, pinning, texts):
            version, why = bound(wanted.update, self._reached(file)), wanted.why
            if (old := known.get(file)) is not None:
                version, why = tidy([old.version, version]), f"{why}; before: {old.why}"
            entry = HoldEntry(file=file, name=name, version=version, why=shorten(why), since=self.today)
            texts[file] = put_hold(texts[file], entry)
