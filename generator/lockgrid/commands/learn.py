"""What the index says, learnt as it is needed, and the cells that these facts alone rule out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockgrid.adapters.cache import Cache
from lockgrid.adapters.index import METADATA, Index
from lockgrid.adapters.wheel import (
    decode_licence,
    decode_metadata,
    encode_licence,
    encode_metadata,
    parse_licence,
    parse_metadata,
)
from lockgrid.core.candidates import Facts
from lockgrid.core.forced import Scan
from lockgrid.core.gitwheels import Identity, Known
from lockgrid.core.prove import listed_file
from lockgrid.core.remember import decode_scan, encode_scan, pages_of, scan_key, sdist_key
from lockgrid.core.sdist import build_requirements, pkg_info, static_metadata
from lockgrid.model.grid import Blockers, Pin
from lockgrid.model.index import DistMetadata, IndexFile, Licence, Sdist, page_key, split_key
from lockgrid.model.spec import Domain, Environment
from lockgrid.model.target import Target
from lockgrid.progress import Progress

# The pages of what is declared and the METADATA of that: enough to tell most cells that cannot be.
_GUESS_ROUNDS = 2
# Kinds of the cache, numbered by what is kept of METADATA.
_SDIST, _BUILT = "sdist-2", "sdist-built-2"


@dataclass(slots=True)
class Learner:
    """Fills ``facts`` from the index. ``now`` is in seconds since the epoch, ``git`` what is known of git sources."""

    index: Index
    facts: Facts
    progress: Progress
    cache: Cache
    now: float
    remembered: bool = False  # the scan was: then the proofs probably are too
    noted: set[str] = field(default_factory=set)
    git: Mapping[Identity, Known] = field(default_factory=dict)
    scanned: dict[tuple[Environment, ...], Blockers] = field(default_factory=dict)  # by this process

    def note_once(self, text: str) -> None:
        """Something that should stay readable after the run, however often it is met."""
        if text not in self.noted:
            self.noted.add(text)
            self.progress.note(text)

    def pages(self, keys: Iterable[str]) -> None:
        """Learn the pages (by key, ``model.index.page_key``) that are not known yet."""
        missing = {key for key in keys if key not in self.facts.pages}
        if not missing:
            return
        self.progress.step(f"reading {len(missing)} project pages")
        by_index: dict[str, list[str]] = {}
        for key in missing:
            name, index = split_key(key)
            by_index.setdefault(index, []).append(name)
        for index, names in sorted(by_index.items()):
            found = self.index.pages(names, self.progress.advance, index)
            self.facts.pages |= {page_key(name, index): page for name, page in found.items()}

    def metadata(self, pins: Iterable[Pin]) -> None:
        """Learn the METADATA of the wheels among the pins."""
        wheels = {pin.file.sha256: pin for pin in pins if pin.file.is_wheel}
        missing = [listed_file(pin, self.facts) for sha, pin in wheels.items() if sha not in self.facts.metadata]
        if missing:
            self.progress.step(f"reading METADATA of {len(missing)} wheels")
            self.facts.metadata |= self.index.metadata(missing, self.progress.advance)

    def sdists(self, pins: Iterable[Pin]) -> dict[str, Sdist]:
        """What the sdists among the pins say of themselves, by sha256; each is downloaded once, ever."""
        wanted = {pin.file.sha256: pin for pin in pins if not pin.file.is_wheel}
        found = {sha: _decode_sdist(value) for sha, value in self.cache.get(_SDIST, wanted).items()}
        for sha, pin in wanted.items():
            if sha not in found:
                self.progress.step(f"reading {pin.file.filename}")
                found[sha] = _read_sdist(file := listed_file(pin, self.facts), self.index.download(file))
                self.cache.put(_SDIST, {sha: _encode_sdist(found[sha])}, now=self.now)
        self.facts.metadata |= {sha: sdist.metadata for sha, sdist in found.items() if sdist.metadata}
        return found

    def recall_built(
        self, environment: Environment, targets: Sequence[Target], shas: Iterable[str]
    ) -> dict[str, DistMetadata]:
        """What uv learnt of sdists by building them when it resolved the same cells before, by sha256."""
        keys = {sdist_key(environment, targets, sha): sha for sha in shas}
        return {keys[key]: decode_metadata(value) for key, value in self.cache.get(_BUILT, keys).items()}

    def keep_built(self, domain: Domain, learnt: Mapping[str, DistMetadata]) -> None:
        """Keep what uv learnt of sdists by building them, for each environment of a resolution."""
        for environment, targets in domain:
            values = {sdist_key(environment, targets, sha): encode_metadata(m) for sha, m in learnt.items()}
            self.cache.put(_BUILT, values, now=self.now)

    def scan(self, environments: Sequence[Environment]) -> Blockers:
        """The cells that no resolution can save, with every reason (``core.forced``)."""
        self.progress.step("looking for cells that cannot be")
        scans = [Scan(environment) for environment in environments]
        while self._advance(scans):
            self._learn(scans)
        return self._blockers(scans, environments)

    def recall(self, environments: Sequence[Environment]) -> Blockers | None:
        """The outcome of an earlier scan, if all that it read is as it was; it may well be that there is no blocker."""
        outcome = self.scanned.get(_unheld(environments))
        if outcome is None:
            known = self.kept("scan", scan_key(environments))
            outcome = decode_scan(known, environments, self.facts) if known else None
        self.remembered = outcome is not None
        return outcome

    def remember(self, environments: Sequence[Environment], blockers: Blockers) -> None:
        """Keep the outcome of a scan for the next run. For input that was found faultless."""
        self.scanned[_unheld(environments)] = dict(blockers)
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


def kept_licences(cache: Cache, shas: Iterable[str]) -> dict[str, Licence]:
    """The licences of files whose METADATA the cache has, by sha256; nothing is asked."""
    wanted = list(shas)
    found = {sha: _decode_sdist(value).licence for sha, value in cache.get(_SDIST, wanted).items()}
    return found | {sha: decode_metadata(value).licence for sha, value in cache.get(METADATA, wanted).items()}


def _unheld(environments: Sequence[Environment]) -> tuple[Environment, ...]:
    """What a scan hangs on: no hold."""
    return tuple(replace(environment, holds=()) for environment in environments)


def _read_sdist(file: IndexFile, data: bytes) -> Sdist:
    info = pkg_info(file.filename, data)
    static = static_metadata(info)
    metadata = parse_metadata(file, static) if static is not None else None
    return Sdist(build_requires=build_requirements(file.filename, data), metadata=metadata, licence=parse_licence(info))


def _encode_sdist(sdist: Sdist) -> bytes:
    metadata = encode_metadata(sdist.metadata).decode() if sdist.metadata else None
    return json.dumps([sdist.build_requires, metadata, encode_licence(sdist.licence)]).encode()


def _decode_sdist(value: bytes) -> Sdist:
    """The inverse of ``_encode_sdist``."""
    build_requires, metadata, licence = json.loads(value)
    return Sdist(
        build_requires=tuple(build_requires),
        metadata=decode_metadata(metadata.encode()) if metadata else None,
        licence=decode_licence(licence),
    )
