"""Puts ``refresh`` and its test together: candidates for the bisection, and what they came from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lockgrid.adapters.cache import Cache, cache_folder
from lockgrid.adapters.scratch import open_scratch
from lockgrid.commands.bisect import Bisection, Offer
from lockgrid.commands.candidate import Candidate, CandidateOptions, Workshop, make_candidate
from lockgrid.commands.context import Context
from lockgrid.commands.copies import Copies
from lockgrid.commands.refresh import propose_update
from lockgrid.commands.trials import Trials
from lockgrid.core.changes import loss
from lockgrid.core.holdback import HeldBack
from lockgrid.core.holding import Holding
from lockgrid.core.lockfile import parse_lockfile
from lockgrid.core.render.requirements import lockfile_key
from lockgrid.core.render.tested import failing
from lockgrid.core.spec import parse_spec
from lockgrid.core.updates import Requires, find_updates
from lockgrid.model.cutoff import Cutoff
from lockgrid.model.grid import OldLocks
from lockgrid.model.spec import Spec
from lockgrid.model.tested import TrialReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """``command`` is the words to run, ``timeout`` the seconds that a run of them may take.

    ``anew``: verdicts of earlier runs on the same bytes are not believed.
    """

    command: tuple[str, ...]
    timeout: float | None = None
    anew: bool = False


@dataclass(slots=True, kw_only=True)
class Candidates:
    """Makes candidates of changed texts of ``envs/``. ``spec`` is what stands there, ``back`` what was not taken."""

    context: Context
    spec: Spec
    cutoff: Cutoff
    workshop: Workshop
    copies: Copies
    allow_loss: bool = False
    back: tuple[HeldBack, ...] = ()

    def propose(self, envs: Mapping[str, str], keep: frozenset[str]) -> Offer:
        """A candidate of everything but ``keep``. Raises ``UnsatisfiableError``, also where a cell would be lost."""
        spec = self._spec(envs) if envs else self.spec
        if keep:
            options = CandidateOptions(cutoff=self.cutoff, keep=keep)
            candidate = make_candidate(self.context, spec, options, self.workshop, base=self.spec)
            if candidate.lost and not self.allow_loss:
                raise loss(candidate.lost)
        else:
            candidate, back = propose_update(
                self.context, spec, self.cutoff, self.workshop, allow_loss=self.allow_loss, base=self.spec
            )
            self.back += tuple(one for one in back if one not in self.back)
            self.cutoff = candidate.options.cutoff  # what would lose a cell once does so again
        candidate = self.copies.follow(candidate, envs)
        lockfiles = candidate.proposal.lockfiles
        return Offer(
            texts={**envs, **candidate.texts},
            removed=candidate.removed,
            locks={lockfile_key(path): parse_lockfile(path, text) for path, text in lockfiles.items()},
            digest=candidate.digest,
            candidate=candidate,
        )

    def requires(self, locks: OldLocks) -> Requires:
        """What moves between ``locks/`` and other locks requires, by one wheel of each release.

        Raises ``ToolError`` where the index cannot be asked for METADATA.
        """
        old, learner = self.workshop.old.locks, self.workshop.learner
        moved = {update.name for update in find_updates(old, locks)}
        pins = [pin for found in (old, locks) for lock in found.values() for pin in lock.pins if pin.name in moved]
        hashes = {sha256: (pin.name, pin.version) for pin in pins for sha256 in pin.hashes}
        listed = (file for page in learner.facts.pages.values() for files in page.releases.values() for file in files)
        chosen = {hashes[file.sha256]: file for file in listed if file.sha256 in hashes and file.is_wheel}
        known = learner.index.metadata(chosen.values())
        return {release: known[file.sha256].requires_dist for release, file in chosen.items()}

    def _spec(self, envs: Mapping[str, str]) -> Spec:
        texts = {file: text.replace("\r\n", "\n") for file, text in envs.items()}
        return parse_spec({**self.context.store.read_environments(), **texts})


def tested_refresh(context: Context, candidates: Candidates, options: TrialOptions) -> tuple[TrialReport, Candidate]:
    """The report, and the candidate that passed, with the changed texts of ``envs/`` in it.

    Raises ``InputError``, ``UnsatisfiableError`` or ``ToolError``, and ``FailingError`` where no update is to blame.
    """
    store, folder = context.store, cache_folder(context.environ)
    with ExitStack() as stack:
        scratch = stack.enter_context(open_scratch(store.root, folder, context.environ))
        cache = Cache(folder)
        stack.callback(cache.close)
        bisection = Bisection(
            command=shlex.join(options.command),
            tester=Trials(
                context=context,
                scratch=scratch,
                cache=cache,
                command=options.command,
                timeout=options.timeout,
                anew=options.anew,
            ),
            propose=candidates.propose,
            holding=Holding(
                envs={file: store.read(file) or "" for file in store.read_environments()},
                locks=candidates.workshop.old.locks,
                today=datetime.fromtimestamp(context.clock(), UTC).date(),
            ),
            requires=candidates.requires,
        )
        tested, offer = bisection.run()
    if offer is None or offer.candidate is None:
        raise failing(tested)
    texts = {**{file: text for file, text in offer.texts.items() if file.startswith("envs/")}, **offer.candidate.texts}
    proposal = replace(offer.candidate.proposal, texts=texts)
    return tested, replace(offer.candidate, proposal=proposal)
