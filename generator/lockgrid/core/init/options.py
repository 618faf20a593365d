"""Options of requirements files: what ``envs/`` can hold of them, and what is said of the others."""

from __future__ import annotations

from lockgrid.core.init.follow import RequirementsFile
from lockgrid.core.init.reqfile import Entry
from lockgrid.core.init.values import Collected, Draft, Note, Place
from lockgrid.core.merge import EXTRA

_OTHER_INDEX = "name it under [indexes] in envs/targets.toml, and the packages it is for under [sources]: docs/envs.md"
_LOST = {
    "--index-url": ("no file of a lock names an index", "keep it in uv's configuration, or in UV_DEFAULT_INDEX"),
    "--extra-index-url": ("a package comes from another index only where [sources] says so", _OTHER_INDEX),
    "--find-links": ("lockgrid locks from indexes alone", "serve these files as an index, then " + _OTHER_INDEX),
    "--no-index": ("lockgrid locks from indexes alone", "name the index in uv's configuration, or in UV_DEFAULT_INDEX"),
    "--trusted-host": ("how an index is reached is uv's to know", "set UV_INSECURE_HOST if it must be"),
    "--pre": ("no pre-release enters a lock unless a requirement names one", "write name>=2.0rc1 in requires"),
    "--all-releases": ("no pre-release enters a lock unless a requirement names one", "write name>=2.0rc1 in requires"),
    "--use-feature": ("it means something to pip alone", ""),
    "--config-settings": ("lockgrid builds nothing that it locks", ""),
    "--global-option": ("lockgrid builds nothing that it locks", ""),
    "--install-option": ("lockgrid builds nothing that it locks", ""),
    "--no-require-hashes": ("every lock has hashes", ""),
}
#: What every lock does anyway.
_ALWAYS = ("--prefer-binary", "--require-hashes", "--only-final")


def lost_hashes(file: RequirementsFile, out: Collected) -> None:
    """Note, once for a file, that its hashes are left out."""
    lines = [entry.line for entry in file.entries if entry.values("--hash")]
    if lines:
        where = f"lines {lines[0]} to {lines[-1]}" if len(lines) > 1 else f"line {lines[0]}"
        count = sum(len(entry.values("--hash")) for entry in file.entries)
        what = f"hashes of {where} left out, {count} in all: `lockgrid lock` writes those of the files that it proved"
        out.notes.append(Note(Place(file.path, lines[0]), "--hash", what))


def lost_options(entry: Entry, place: Place, draft: Draft, out: Collected) -> None:
    """Carry the options of a line over to the draft, or note that they are not."""
    if entry.spare:
        out.notes.append(Note(place, entry.text, f"pip overlooks {' '.join(entry.spare)}, and so does this", ""))
    for option, value in entry.options:
        said = entry.text
        if entry.requirement and option in ("--requirement", "--constraint", *_GLOBAL):
            out.notes.append(Note(place, said, f"pip overlooks {option} beside a requirement, and so does this"))
        elif option in ("--no-binary", "--only-binary"):
            _binary(option, value, place, said, draft, out)
        elif option == "--extra-index-url" and not entry.variables and "$" not in value:
            continue  # core.init.sourcing says what becomes of it
        elif option in _LOST:
            what, hint = _LOST[option]
            out.notes.append(Note(place, said, f"{option} is not carried over: {what}", hint))
        elif option in _ALWAYS:
            out.notes.append(Note(place, said, "needs no word: every lock is so"))
        elif option == "--editable":
            out.notes.append(Note(place, said, f"pip overlooks a second -e {value} in one line, and so does this"))


_GLOBAL = tuple(
    option
    for option in (*_LOST, *_ALWAYS, "--no-binary", "--only-binary", "--editable")
    if option not in ("--config-settings", "--global-option", "--install-option")
)


def _binary(option: str, value: str, place: Place, said: str, draft: Draft, out: Collected) -> None:
    """``--no-binary NAME`` means that a package comes as a sdist, which ``[sdists]`` allows."""
    for name in (word.strip() for word in value.split(",")):
        if option == "--only-binary" or name == ":none:":
            out.notes.append(Note(place, said, "needs no word: wheels only, apart from [sdists], is the rule"))
        elif EXTRA.fullmatch(name):
            draft.sdists[name] = f"{place}: --no-binary {name}"
            what = f"{name} is under [sdists], so it may come as a sdist; a wheel is taken where there is one"
            out.notes.append(Note(place, said, what))
        else:
            what = "not carried over: sdists are allowed one by one, each with a reason"
            out.notes.append(Note(place, said, what, "name the packages under [sdists]"))
