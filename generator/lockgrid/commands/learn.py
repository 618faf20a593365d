"""What the index says, learnt as it is needed, and the cells that these facts alone rule out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import Index
from lockgrid.adapters.wheel import decode_metadata, encode_metadata
from lockgrid.core.candidates import Facts
from lockgrid.core.forced import Scan
from lockgrid.core.prove import listed_file
from lockgrid.core.remember import decode_scan, encode_scan, pages_of, scan_key
from lockgrid.model.grid import Blockers, Pin
from lockgrid.model.index import DistMetadata
from lockgrid.model.spec import Environment
from lockgrid.progress import Progress

# The pages of what is declared and the METADATA of that: enough to tell most cells that cannot be.
_GUESS_ROUNDS = 2


@dataclass(slots=True)
class Learner:
    """Fills ``facts`` from the index. ``now`` is in seconds since the epoch."""

    index: Index
    facts: Facts
    progress: Progress
    cache: Cache
    now: float
    remembered: bool = False  # the scan was: then the proofs probably are too

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

    def sdist_metadata(self, shas: Iterable[str]) -> dict[str, DistMetadata]:
        """What uv learnt of sdists in earlier runs, by sha256: a hash never means another sdist."""
        return {sha: decode_metadata(value) for sha, value in self.cache.get("sdist-metadata", shas).items()}

    def keep_sdist_metadata(self, learnt: Mapping[str, DistMetadata]) -> None:
        """Keep what uv learnt of sdists, by sha256."""
        values = {sha: encode_metadata(metadata) for sha, metadata in learnt.items()}
        self.cache.put("sdist-metadata", values, now=self.now)

    def scan(self, environments: Sequence[Environment]) -> Blockers:
        """The cells that no resolution can save, with every reason (``core.forced``)."""
        self.progress.step("looking for cells that cannot be")
        outcome = self.recall(environments)
        return self._scan([Scan(e) for e in environments], environments) if outcome is None else outcome

    def recall(self, environments: Sequence[Environment]) -> Blockers | None:
        """The outcome of an earlier scan, if all that it read is as it was."""
        known = self.kept("scan", scan_key(environments))
        outcome = decode_scan(known, environments, self.facts) if known else None
        self.remembered = outcome is not None
        return outcome

    def remember(self, environments: Sequence[Environment], blockers: Blockers) -> None:
        """Keep the outcome of a scan for the next run. For input that was found faultless."""
        value = encode_scan(blockers, self.facts)
        if value is not None:
            self.keep("scan", scan_key(environments), value)

    def kept(self, kind: str, key: str) -> bytes | None:
        """An outcome that was kept, the pages that it hangs on being learnt; None when there is none."""
        found = self.cache.get(kind, [key]).get(key)
        if found:
            self.pages(pages_of(found))
        return found

    def keep(self, kind: str, key: str, value: bytes) -> None:
        """Keep an outcome for later runs (``core.remember``)."""
        self.cache.put(kind, {key: value}, now=self.now)

    def guess(self, environments: Sequence[Environment]) -> Blockers:
        """The same, sooner and not to be trusted: from one platform and one wheel of each release."""
        self.progress.step("reading the requirements")
        scans = [Scan(environment, stand_in=True) for environment in environments]
        for _ in range(_GUESS_ROUNDS):
            if not self._advance(scans):
                break
            self._learn(scans)
        self._advance(scans)
        found = self._blockers(scans, environments)
        pythons = {(name, target.python): blockers for (name, target), blockers in found.items()}
        return {
            (e.name, target): pythons[e.name, target.python]
            for e in environments
            for target in e.targets
            if (e.name, target.python) in pythons
        }

    def prefetch(self, environments: Sequence[Environment], busy: Callable[[], bool]) -> None:
        """Learn what the answer of a resolution is likely to need, for as long as uv is ``busy`` with it."""
        for stand_in in (True, False):  # first which pages, from few wheels; then the METADATA of all
            chosen = [] if self.remembered else environments
            scans = [Scan(environment, stand_in=stand_in, eager=True) for environment in chosen]
            while busy() and self._advance(scans):
                self._learn(scans)

    def _scan(self, scans: Sequence[Scan], environments: Sequence[Environment]) -> Blockers:
        while self._advance(scans):
            self._learn(scans)
        return self._blockers(scans, environments)

    def _blockers(self, scans: Sequence[Scan], environments: Sequence[Environment]) -> Blockers:
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
