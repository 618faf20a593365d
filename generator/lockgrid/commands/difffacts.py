"""What a diff tells that is not in the locks: licences, advisories, names of files; from the cache, or asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from packaging.version import Version

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.index import Index
from lockgrid.commands.context import Context
from lockgrid.commands.learn import kept_licences
from lockgrid.commands.ports import open_ports
from lockgrid.commands.sources import index_config
from lockgrid.core.diff import moved_hashes, questions
from lockgrid.core.snapshot import Snapshot
from lockgrid.errors import LockgridError
from lockgrid.model.advisory import PinName
from lockgrid.model.diff import DiffFacts
from lockgrid.model.grid import Pin
from lockgrid.model.index import IndexFile, Licence, Page, page_key, split_key
from lockgrid.model.spec import Spec

_ASK = "lockgrid diff --licences asks the index"
_GONE = "the index has none of their files any more"

_Hashes = Mapping[PinName, set[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to look up: ``licences`` None takes what the cache knows, True asks the index for the rest.

    ``service``, ``osv_url`` and ``trust_silence`` are as for ``commands.advisories``.
    """

    licences: bool | None = None
    advisories: bool = False
    service: str = "pypi"
    osv_url: str = ""
    trust_silence: bool = False


def look_up(context: Context, old: Snapshot, new: Snapshot, options: Options) -> DiffFacts:
    """The facts about what moved, as far as they are asked for and can be had; that they cannot is a fact as well."""
    hashes = moved_hashes(old, new)
    facts = DiffFacts(filenames=_recorded(old, new))
    if hashes:
        facts = _licences(context, new, hashes, options, facts)
    if options.advisories:
        facts = _advisories(context, questions(old, new), options, facts)
    return facts


def _recorded(*sides: Snapshot) -> dict[str, str]:
    """The names that the grids themselves have: of files of ``[sources]``."""
    records = [record for side in sides if side.grid for record in side.grid.sources]
    return {sha.removeprefix("sha256:"): name for record in records for name, sha in record.files}


def _licences(context: Context, new: Snapshot, hashes: _Hashes, options: Options, facts: DiffFacts) -> DiffFacts:
    """Licences and names of files: what the cache knows of them, and then what the index says."""
    wanted = sorted({sha for some in hashes.values() for sha in some})
    names, licences, gap = dict(facts.filenames), dict[str, Licence](), _ASK
    cache = Cache(cache_folder(context.environ))
    try:
        licences |= kept_licences(cache, wanted)
        spec = context.spec()
        index = Index(index_config(context, spec, spec.environments), cache, context.environ, context.clock)
        for key in _keys(hashes, spec):
            names |= _names(index.kept_pages([split_key(key)[0]], split_key(key)[1]).values(), hashes)
    except LockgridError as error:
        gap = error.what
    finally:
        cache.close()
    if options.licences:
        try:
            asked = _asked(context, new, hashes, licences)
            names |= asked[0]
            licences |= asked[1]
            gap = _GONE
        except LockgridError as error:
            gap = f"the index could not be asked: {error.what}"
            context.progress.note(gap)
    if options.licences is False:
        return replace(facts, filenames=names, licences_why="--no-licences")
    return replace(facts, filenames=names, licences=licences, licences_why="", licences_gap=gap)


def _keys(hashes: _Hashes, spec: Spec) -> list[str]:
    """The pages that may list files of the pins."""
    packages = {name for name, _ in hashes}
    named = {
        page_key(source.name, source.index)
        for environment in spec.environments
        for source in environment.sources
        if source.name in packages
    }
    return sorted(packages | named)


def _names(pages: Iterable[Page], hashes: _Hashes) -> dict[str, str]:
    wanted = {sha for some in hashes.values() for sha in some}
    return {
        file.sha256: file.filename
        for page in pages
        for version in {str(Version(version)) for name, version in hashes if name == page.name}
        for file in page.releases.get(version, ())
        if file.sha256 in wanted
    }


def _asked(
    context: Context, new: Snapshot, hashes: _Hashes, known: Mapping[str, Licence]
) -> tuple[dict[str, str], dict[str, Licence]]:
    """Names of files, and the licence of one file of each pin of which none is known, from the index."""
    spec = context.spec()
    cutoff = new.grid.cutoff if new.grid else None
    assert cutoff is not None  # noqa: S101  # without a grid nothing moved
    with open_ports(context, spec, spec.environments, new.locks, cutoff) as (_, learner):
        learner.pages(_keys(hashes, spec))
        pages = learner.facts.pages
        names = _names(pages.values(), hashes)
        chosen: dict[str, tuple[str, PinName, IndexFile]] = {}
        for pin in sorted(hashes):
            if not any(sha in known for sha in hashes[pin]):
                for key in (key for key in pages if split_key(key)[0] == pin[0]):
                    files = pages[key].releases.get(str(Version(pin[1])), ())
                    having = sorted((f for f in files if f.sha256 in hashes[pin]), key=lambda f: f.filename)
                    for file in having[:1]:
                        chosen[file.sha256] = (split_key(key)[1], pin, file)
        pins = [Pin(name=p[0], version=p[1], file=file, index=index) for index, p, file in chosen.values()]
        learner.metadata(pins)
        sdists = learner.sdists(pins)
        licences = {sha: sdist.licence for sha, sdist in sdists.items()}
        metadata = learner.facts.metadata
        licences |= {p.file.sha256: metadata[p.file.sha256].licence for p in pins if p.file.is_wheel}
    return names, licences


def _advisories(context: Context, pins: list[PinName], options: Options, facts: DiffFacts) -> DiffFacts:
    """What the service says of the pins; that it could not be asked is why nothing is known."""
    from lockgrid.commands.advisories import ask

    if not pins:
        return replace(facts, advisories_why="", service=options.service)
    try:
        reports = ask(context, pins, options.service, options.osv_url, trust_silence=options.trust_silence)
    except LockgridError as error:
        why = " ".join(error.what.split())
        context.progress.note(f"advisories are not compared: {why}")
        return replace(facts, advisories_why=why, service=options.service)
    return replace(
        facts,
        advisories={pin: found for report in reports for pin, found in report.audited.items()},
        unaudited={pin: why for report in reports for pin, why in report.skipped.items()},
        advisories_why="",
        service=options.service,
    )
