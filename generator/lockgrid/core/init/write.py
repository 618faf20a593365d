"""Drafts as the files of ``envs/``, each key explained where it stands."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import tomlkit
from tomlkit.items import Array, Item, Table

from lockgrid.core.init.sourcing import Other, is_local
from lockgrid.core.init.targets import Choice
from lockgrid.core.init.values import Bound, Draft, Note, Wanted
from lockgrid.core.merge import TARGETS

_WIDTH = 116
_FURTHER = """\
Further keys, all in docs/envs.md:
[sdists]      # packages that may come as a sdist: `lockgrid lock` says which have no wheel
name = "why"
[overrides]   # against what packages themselves ask for
name = { version = "==1.0", why = "..." }
[sources]     # a package from another index, which [indexes] in targets.toml names
name = "index"
[smoke]       # must hold in the finished venv
imports = ["module"]"""


def environment_file(draft: Draft, example: str = "") -> str:
    """The text of ``envs/<name>.toml``. ``example`` is the file that tells of further keys, empty for this one."""
    document = tomlkit.document()
    _comment(document, f"Written by `lockgrid init` from {draft.origin}. It is yours now: change what you like.")
    if draft.remark:
        _comment(document, draft.remark)
    _notes(document, draft.notes)
    if draft.abstract:
        document["abstract"] = _said(True, "a base: others extend it, it is locked with them")
    if draft.summary:
        document["summary"] = _said(draft.summary, "for people")
    if draft.extends:
        document["extends"] = _said(draft.extends, "bases in envs/, whose keys come first")
    if draft.requires or not draft.abstract:
        if draft.requires:
            document.add(tomlkit.comment("Requirements (PEP 508), without URLs."))
        document["requires"] = _requires(draft.requires)
    for name, entries, why in (
        ("sdists", {key: tomlkit.item(value) for key, value in draft.sdists.items()}, "may come as a sdist"),
        ("overrides", _bounds(draft.overrides), "replaces what packages ask of these"),
        ("sources", {key: tomlkit.item(index) for key, index in draft.packages.items()}, "come from this index alone"),
        ("hold", _bounds(draft.holds), "bounds these packages wherever they come in"),
    ):
        if entries:
            document.add(tomlkit.nl())
            document[name] = _table(entries, why)
    local = {str(one.requirement): one.requirement.name for one in draft.requires if is_local(one.requirement)}
    if local and not draft.packages:
        document.add(tomlkit.nl())
        _comment(document, _LOCAL + ", ".join(local))
        for line in ("[sources]", *dict.fromkeys(f'{name} = "other"' for name in local.values())):
            document.add(tomlkit.comment(line))
    if not draft.abstract:
        document.add(tomlkit.nl())
        further = f"Further keys: see {example}, and docs/envs.md." if example else _FURTHER
        for line in further.splitlines():
            document.add(tomlkit.comment(line))
    return tomlkit.dumps(document)


_LOCAL = (
    "A local version is on an index of its own as a rule. Name that index under [indexes] in targets.toml and take "
    "these lines in (package@platform for one platform): "
)


def targets_file(choice: Choice, others: Sequence[Other], notes: Iterable[Note]) -> str:
    """The text of ``envs/targets.toml``. ``notes`` are those that concern no environment in particular."""
    document = tomlkit.document()
    _comment(document, "Written by `lockgrid init`. It is yours now: change what you like.")
    _notes(document, list(notes))
    _comment(document, f"Pythons: {choice.why_pythons}.")
    document["pythons"] = list(choice.pythons)
    document.add(tomlkit.nl())
    _comment(
        document, f"Platforms: {choice.why_platforms}. Each has a floor, the oldest system that must do. {_FLOORS}"
    )
    tables = tomlkit.table(is_super_table=True)
    for platform in choice.platforms:
        table = tomlkit.table()
        if platform.floor is not None:
            table[platform.kind.floor_key] = "{}.{}".format(*platform.floor)
        tables[platform.name] = table
    document["platforms"] = tables
    document.add(tomlkit.nl())
    if others:
        _comment(document, _NAMED)
        document["indexes"] = {other.name: other.url for other in others}
    else:
        for line in _INDEXES.splitlines():
            document.add(tomlkit.comment(line))
    return tomlkit.dumps(document)


_FLOORS = (
    "A lower one reaches more machines, a higher one more wheels. Nearly all wheels serve glibc 2.28 (manylinux_2_28 "
    "and older) and macOS 15.0; where one does not, `lockgrid explain` says so."
)
_NAMED = (
    "Only packages under [sources] of an environment come from these. Where one tells no upload times: "
    'name = { url = "...", dateless = true } (docs/envs.md).'
)
_INDEXES = """\
Other indexes, for [sources] of an environment (docs/envs.md); the index for all else is uv's own:
[indexes]
other = "https://index.example/simple"\
"""


def manifest(requires_python: str) -> str:
    """A ``pyproject.toml`` for a project that has none: ``lockgrid lock`` keeps an extra an environment there."""
    document = tomlkit.document()
    _comment(document, "Written by `lockgrid init`: `lockgrid lock` keeps one extra for each environment here.")
    document["project"] = {"name": "environments", "version": "0", "requires-python": requires_python}
    document.add(tomlkit.nl())
    document["tool"] = {"uv": {"package": False}}
    return tomlkit.dumps(document)


def file_texts(
    drafts: Sequence[Draft], choice: Choice, others: Sequence[Other], notes: Sequence[Note]
) -> dict[str, str]:
    """All of ``envs/`` by path; notes that no draft tells go to ``targets.toml``."""
    told = {note for draft in drafts for note in draft.notes}
    rest = [note for note in dict.fromkeys(notes) if note not in told]
    texts = {TARGETS: targets_file(choice, others, rest)}
    example = ""
    for draft in drafts:
        path = f"envs/{draft.name}.toml"
        texts[path] = environment_file(draft, example)
        example = example or ("" if draft.abstract else path)
    return texts


def _printable(text: str) -> str:
    """TOML forbids control characters in comments."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def _comment(document: tomlkit.TOMLDocument, text: str, indent: str = "") -> None:
    wrapper = textwrap.TextWrapper(_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    for line in wrapper.wrap(_printable(text)):
        document.add(tomlkit.comment(line))


def _notes(document: tomlkit.TOMLDocument, notes: Sequence[Note]) -> None:
    if notes:
        document.add(tomlkit.comment(""))
        document.add(tomlkit.comment("Not carried over as it stood:"))
        for note in notes:
            _comment(document, f"- {note}", "  ")
        document.add(tomlkit.comment(""))


def _said(value: object, why: str) -> Item:
    return tomlkit.item(value).comment(why)


def _requires(wanted: Sequence[Wanted]) -> Array:
    """Each requirement once, on a line of its own, with what is doubtful about it."""
    array = tomlkit.array()
    rows = {str(one.requirement): one.doubt for one in wanted}
    for text, doubt in rows.items():
        array.add_line(
            tomlkit.string(text, literal='"' in text and "'" not in text),
            indent="    ",
            comment=_printable(doubt) or None,
        )
    if rows:
        array.add_line(indent="")
    return array


def _bounds(bounds: Sequence[Bound]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for bound in sorted(bounds, key=lambda bound: bound.name):
        entry = tomlkit.inline_table()
        entry.update({"version": bound.version, "why": bound.why})
        found[str(bound.name)] = entry
    return found


def _table(entries: Mapping[str, Item], why: str) -> Table:
    table = tomlkit.table()
    table.comment(why)
    table.update(entries)
    return table
