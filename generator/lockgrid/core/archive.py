"""What is wrong with a wheel as an archive, as findings."""

from __future__ import annotations

from packaging.utils import parse_wheel_filename

from lockgrid.model.contents import Contents, Fault, FaultKind
from lockgrid.model.finding import FILES_SHOWN, Finding, Severity

# Error: installers refuse it, disagree about it, or write what nobody expects. Warning: something could not be judged.
_SEVERITIES: dict[FaultKind, Severity] = {
    "binary": "warning",
    "corrupt": "error",
    "duplicate": "error",
    "encrypted": "error",
    "entry-points": "warning",
    "member-path": "error",
    "record": "error",
    "size": "error",
    "symlink": "warning",
    "unlisted": "warning",
    "unread": "warning",
}
_WORDS: dict[FaultKind, str] = {
    "binary": "a file begins like a binary and is none that can be read",
    "corrupt": "a file cannot be unpacked",
    "duplicate": "the archive holds a path more than once, and installers differ in which they take",
    "encrypted": "a file is encrypted",
    "entry-points": "entry_points.txt cannot be read, so its scripts are not judged",
    "member-path": "a path leads out of the folder that it is installed to",
    "record": "RECORD is missing or cannot be read, and installers refuse such a wheel",
    "size": "the archive claims more than any honest wheel holds",
    "symlink": "a file is a symbolic link, which installers write as a file or refuse",
    "unlisted": "RECORD is not what the archive holds",
    "unread": "a file was not read, so it is not judged",
}


def judge_archive(contents: Contents) -> list[Finding]:
    """A finding for each kind of fault."""
    name = parse_wheel_filename(contents.filename)[0]
    kinds: dict[FaultKind, list[Fault]] = {}
    for fault in contents.faults:
        kinds.setdefault(fault.kind, []).append(fault)
    return [
        Finding(
            name=f"{kind}:{name}",
            severity=_SEVERITIES[kind],
            wheels=(contents.filename,),
            what=f"{_WORDS[kind]}: {faults[0].what}",
            files=tuple(fault.path for fault in faults[:FILES_SHOWN] if fault.path),
            count=sum(1 for fault in faults if fault.path),
        )
        for kind, faults in kinds.items()
    ]
