"""The answer of ``lockgrid audit`` as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lockgrid.model.contents import Contents
from lockgrid.model.finding import Finding


def render_findings(findings: Sequence[Finding]) -> str:
    """A paragraph for each finding, a line with their number."""
    lines = [line for finding in findings for line in _finding(finding)]
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if findings:
        lines.append(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}")
    else:
        lines.append("no findings")
    return "\n".join(lines) + "\n"


def read_text(contents: Iterable[Contents]) -> str:
    """One sentence: into how many wheels was looked, and how much of them was read for that, now or earlier."""
    wheels = list(contents)
    read, size = sum(one.read for one in wheels), sum(one.size for one in wheels)
    binaries = [binary for one in wheels for binary in one.binaries]
    partial = sum(binary.partial for binary in binaries)
    said = f" ({partial:,} of them in part)" if partial else ""
    return (
        f"looked into {_count(len(wheels), 'wheel')} with {_count(len(binaries), 'binary', 'binaries')}{said}: "
        f"{read / 1e6:,.1f} MB of {size / 1e6:,.1f} MB were read"
    )


def render_wheel(filename: str, floors: Sequence[str], *, binaries: int, read: int, size: int) -> str:
    """One line: what a wheel was judged against, and what was read of it."""
    against = "; ".join(floors)
    return f"{filename}: {_count(binaries, 'binary', 'binaries')} against {against}; {read:,} bytes read of {size:,}\n"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {finding.name}"
    yield f"  {finding.what}"
    for wheel in finding.wheels:
        yield f"  wheel  {wheel}"
    for path in finding.files:
        yield f"  file   {path}"
    more = finding.count - len(finding.files)
    if more > 0:
        yield f"         and {more:,} more"
    if finding.needs:
        yield f"  needs  {finding.needs}"
    if finding.has:
        yield f"  has    {finding.has}"


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
