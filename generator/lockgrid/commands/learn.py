"""What the index says, learnt as it is needed, and the cells that these facts alone rule out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import Index
from lockgrid.core.candidates import Facts
from lockgrid.core.forced import Scan
from lockgrid.core.prove import listed_file
from lockgrid.core.remember import decode_scan, encode_scan, pages_of, scan_key
from lockgrid.model.grid import Blocker, Pin
from lockgrid.model.spec import Environment
from lockgrid.model.target import Target
from lockgrid.progress import Progress

Cell = tuple[str, Target]
Blockers = dict[Cell, tuple[Blocker, ...]]


@dataclass(slots=True)
class Learner:
    """Fills ``facts`` from the index. ``now`` is in seconds since the epoch."""

    index: Index
    facts: Facts
    progress: Progress
    cache: Cache
    now: float

    def pages(self, names: Iterable[str]) -> None:
        """Learn the pages that are not known yet."""
        missing = {name for name in names if name not in self.facts.pages}
        if missing:
            self.progress.step(f"reading {len(missing)} project pages")
            self.facts.pages |= self.index.pages(missing, self.progress.advance)

    def metadata(self, pins: Iterable[Pin]) -> None:
        """Learn the METADATA of the wheels among the pins."""
        wheels = {pin.file.sha256: pin for pin in pins if pin.file.is_wheel}
        missing = [listed_file(pin, self.facts) for sha, pin in wheels.items() if sha not in self.facts.metadata]
        if missing:
            self.progress.step(f"reading METADATA of {len(missing)} wheels")
            self.facts.metadata |= self.index.metadata(missing, self.progress.advance)

    def scan(self, environments: Sequence[Environment]) -> Blockers:
        """The cells that no resolution can save, with every reason (``core.forced``)."""
        self.progress.step("looking for cells that cannot be")
        key = scan_key(environments)
        if known := self.cache.get("scan", [key]):
            self.pages(pages_of(known[key]))
            kept = decode_scan(known[key], environments, self.facts)
            if kept is not None:
                return kept
        return self._scan([Scan(environment) for environment in environments], environments)

    def remember(self, environments: Sequence[Environment], blockers: Blockers) -> None:
        """Keep the outcome of a scan for the next run. For input that was found faultless."""
        value = encode_scan(blockers, self.facts)
        if value is not None:
            self.cache.put("scan", {scan_key(environments): value}, now=self.now)

    def guess(self, environments: Sequence[Environment]) -> Blockers:
        """The same, sooner and not to be trusted: from one platform and one wheel of each release."""
        self.progress.step("reading the requirements")
        found = self._scan([Scan(environment, stand_in=True) for environment in environments], environments)
        pythons = {(name, target.python): blockers for (name, target), blockers in found.items()}
        return {
            (e.name, target): pythons[e.name, target.python]
            for e in environments
            for target in e.targets
            if (e.name, target.python) in pythons
        }

    def prefetch(self, environments: Sequence[Environment], busy: Callable[[], bool]) -> None:
        """Learn what the answer of a resolution is likely to need, for as long as uv is ``busy`` with it."""
        scans = [Scan(environment, eager=True) for environment in environments]
        while busy() and self._advance(scans):
            self._learn(scans)

    def _scan(self, scans: Sequence[Scan], environments: Sequence[Environment]) -> Blockers:
        while self._advance(scans):
            self._learn(scans)
        return {
            (environment.name, target): blockers
            for environment, scan in zip(environments, scans, strict=True)
            for target, blockers in scan.blockers(self.facts).items()
        }

    def _advance(self, scans: Sequence[Scan]) -> bool:
        """Take every scan as far as it goes; whether any needs more facts."""
        complete = [scan.advance(self.facts) for scan in scans]
        return not all(complete)

    def _learn(self, scans: Sequence[Scan]) -> None:
        self.pages({name for scan in scans for name in scan.pages})
        files = {sha: file for scan in scans for sha, file in scan.files.items()}
        self.facts.metadata |= self.index.metadata(files.values())
