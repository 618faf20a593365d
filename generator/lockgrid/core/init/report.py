"""What ``lockgrid init`` says when it is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lockgrid.core.init.values import Note


def render_init(
    origins: Mapping[str, str], texts: Iterable[str], notes: Sequence[Note], advice: Sequence[str], *, written: bool
) -> str:
    """The files with what they were made of, a line for each thing that is not carried over, what to do next."""
    paths = list(texts)
    width = max(map(len, paths))
    lines = [f"{path:{width}}  {origins.get(path, 'platforms and Pythons')}" for path in paths]
    if notes:
        lines += ["", "not carried over as it stood (the files say it too):"]
        lines += [f"  {note}" for note in notes]
    lines.append("")
    lines += advice
    lines.append("next: look through envs/, then `lockgrid lock`" if written else "nothing was written: --dry-run")
    return "\n".join(lines) + "\n"
