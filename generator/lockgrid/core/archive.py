"""What is wrong with a wheel as an archive, as findings."""

from __future__ import annotations

from packaging.utils import parse_wheel_filename

from lockgrid.model.contents import Contents, Fault, FaultKind
from lockgrid.model.finding import FILES_SHOWN, KINDS, Finding

_WORDS: dict[FaultKind, str] = {
    "binary": "a file begins like a binary and is none that can be read",
    "corrupt": "it cannot be unpacked",
    "dist-info": "it holds more than one .dist-info folder, and installers refuse such a wheel",
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
            severity=KINDS[kind],
            wheels=(contents.filename,),
            what=f"{_WORDS[kind]}: {faults[0].what}" if faults[0].what else _WORDS[kind],
            files=tuple(paths[:FILES_SHOWN]),
            count=len(paths),
        )
        for kind, faults in kinds.items()
        for paths in (list(dict.fromkeys(fault.path for fault in faults if fault.path)),)
    ]
