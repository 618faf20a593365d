"""Digests of inputs by meaning, of outputs by bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from packaging.specifiers import SpecifierSet

from lockgrid.core.requirement import demand
from lockgrid.model.index import is_git
from lockgrid.model.spec import Declared, Environment, GitSource, Source, Spec

# Part of every input digest: raised when the same input is to mean another lock.
_MEANING = 1


def digest_text(text: str) -> str:
    """``sha256:...`` of the UTF-8 bytes."""
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def digest_texts(texts: Mapping[str, str]) -> str:
    """The same of several texts by their paths."""
    return digest_text("\n".join(f"{path} {digest_text(texts[path])}" for path in sorted(texts)))


def digest_inputs(spec: Spec) -> str:
    """The digest of all that decides the locks; comments, order, summaries and reasons do not."""
    return _digest([_MEANING, [_environment(environment) for environment in spec.environments]])


def digest_environment(environment: Environment) -> str:
    """The same for one environment with its targets."""
    return _digest([_MEANING, _environment(environment)])


def _digest(value: object) -> str:
    return digest_text(json.dumps(value, sort_keys=True, separators=(",", ":")))


def _environment(environment: Environment) -> dict[str, object]:
    accepts = sorted(a.name for a in environment.accepts if not a.name.startswith("advisory:"))
    sources = sorted(_source(source) for source in environment.sources if not is_git(source.index))
    return {
        "name": environment.name,
        "requires": sorted({_requirement(declared) for declared in environment.requires}),
        "targets": sorted({f"{t.platform.label} {t.python}" for t in environment.targets}),
        "apart": environment.apart,
        "sdists": sorted(environment.sdists),
        "overrides": sorted(f"{o.name}{SpecifierSet(o.specifier)}" for o in environment.overrides),
        "holds": sorted(f"{h.name}{SpecifierSet(h.specifier)}" for h in environment.holds),
        **({"sources": sources} if sources else {}),
        **({"git": sorted(map(_git, environment.git))} if environment.git else {}),
        **({"accepts": accepts} if accepts else {}),
    }


def _requirement(declared: Declared) -> str:
    """A requirement in one spelling."""
    asked = demand(declared.requirement)
    return f"{asked.name}[{','.join(sorted(asked.extras))}]{asked.specifier};{asked.marker}"


def _source(source: Source) -> str:
    return f"{source.name}@{source.platform}={source.index}" + (" dateless" if source.dateless else "")


def _git(source: GitSource) -> list[str]:
    return [source.name, source.url, source.rev, source.subdirectory]
