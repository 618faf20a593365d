"""Proof 5: no two wheels install one path with different content, and none shadows another's module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from packaging.utils import parse_wheel_filename

from lockgrid.model.contents import Contents, Member
from lockgrid.model.finding import FILES_SHOWN, Finding, Severity

#: Top-level names that say nothing about whose they are: found in wheels that packed more than was meant.
GENERIC_MODULES = frozenset(
    {
        "benchmark", "benchmarks", "bin", "build", "checker", "ci", "common", "config", "conftest", "core", "data",
        "demo", "demos", "dist", "doc", "docs", "example", "examples", "generator", "helpers", "include", "lib",
        "main", "resources", "runner", "sample", "samples", "scripts", "serializer", "setup", "share", "src", "test",
        "testing", "tests", "tools", "util", "utils",
    }
)  # fmt: skip
_SITE = "site-packages/"
_IMPORTABLE = (".py", ".so", ".pyd")

#: Whether two wheels, by their file names, can be installed into one venv.
MayMeet = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installed:
    """A file in a venv. ``content`` is the entry point where an installer writes the file."""

    key: str
    wheel: str
    member: Member
    content: str = ""

    def differs(self, other: _Installed) -> bool:
        """Whether one would change the other's content."""
        if self.content or other.content:
            return self.content != other.content
        mine, theirs = self.member, other.member
        if mine.sha256 and theirs.sha256:
            return mine.sha256 != theirs.sha256
        return (mine.crc, mine.size) != (theirs.crc, theirs.size)


def install_path(path: str, name: str) -> str:
    """Where a member goes, relative to the venv; ``name`` is the package's. Schemes of the wheel specification."""
    head, _, rest = path.partition("/")
    scheme, _, below = rest.partition("/")
    if not head.endswith(".data") or not below:
        return _SITE + path
    if scheme in ("purelib", "platlib"):
        return _SITE + below
    if scheme == "scripts":
        return f"bin/{below}"
    return f"include/{name}/{below}" if scheme == "headers" else below


class FileJudge:
    """What wheels would do to each other, and to the standard library, in one venv.

    Of many wheels, each by a key, the paths are compared once; then any number of sets of them can be judged.
    """

    def __init__(self, wheels: Mapping[str, Contents]) -> None:
        files = {key: dict(_installed(key, contents)) for key, contents in wheels.items()}
        self._names = {key: contents.filename for key, contents in wheels.items()}
        self._packages = {key: parse_wheel_filename(filename)[0] for key, filename in self._names.items()}
        self._modules = {key: _modules(installed) for key, installed in files.items()}
        self._clashes = list(self._find_clashes(files))

    def findings(
        self, keys: Collection[str], stdlib: Collection[str], may_meet: MayMeet = lambda one, other: True
    ) -> list[Finding]:
        """The findings on these of the wheels. ``stdlib``: the modules of the standard library."""
        chosen = set(keys)
        groups: dict[str, _Group] = {}
        for path, one, other in self._clashes:
            if one.key in chosen and other.key in chosen and may_meet(one.wheel, other.wheel):
                groups.setdefault(_clash_name(path), []).append((path, one, other))
        modules = {self._names[key]: self._modules[key] for key in keys}
        shared = list(_shared(modules, may_meet))
        told = {finding.name for finding in shared}
        return [
            *(_clash(name, group) for name, group in groups.items()),
            *shared,
            *(finding for finding in _alone(modules, stdlib) if finding.name not in told),
        ]

    def _find_clashes(self, files: Mapping[str, Mapping[str, _Installed]]) -> Iterator[_Pair]:
        """Pairs of different files at one path. Wheels of one package are never installed together."""
        owners: dict[str, list[_Installed]] = {}
        for installed in files.values():
            for path, one in installed.items():
                owners.setdefault(path, []).append(one)
        for path, several in owners.items():
            if len({self._packages[one.key] for one in several}) > 1:
                for at, one in enumerate(several):
                    for other in several[at + 1 :]:
                        if self._packages[one.key] != self._packages[other.key] and one.differs(other):
                            yield path, one, other


def _installed(key: str, contents: Contents) -> Iterator[tuple[str, _Installed]]:
    """Install path and file; .dist-info is the wheel's own by its name."""
    name = parse_wheel_filename(contents.filename)[0]
    for member in contents.members:
        if not member.path.partition("/")[0].endswith(".dist-info"):
            path = install_path(member.path, name)
            # On Windows an entry point becomes an .exe, and beside a file without it is what a shell finds.
            place = path.removesuffix(".exe") if path.startswith("bin/") else path
            yield place, _Installed(key=key, wheel=contents.filename, member=member)
    for script, target in contents.scripts:
        member = Member(path="entry_points.txt", sha256="", crc=0, size=0)
        yield f"bin/{script}", _Installed(key=key, wheel=contents.filename, member=member, content=target)


_Pair = tuple[str, _Installed, _Installed]
_Group = list[_Pair]


def _clash_name(path: str) -> str:
    head, _, rest = path.partition("/")
    if head == "bin":
        return rest
    if path.startswith(_SITE):
        head, slash, _ = rest.partition("/")
        return head + slash
    return path


def _clash(name: str, group: _Group) -> Finding:
    paths = sorted({path for path, _, _ in group})
    wheels = sorted({one.wheel for _, *pair in group for one in pair})
    code = any(path.startswith(_SITE) and path.endswith(_IMPORTABLE) for path in paths)
    script = all(path.startswith("bin/") for path in paths)
    severity: Severity = "error" if code else "warning"
    _, one, other = group[0]
    kind = "command" if script else "file"
    return Finding(
        name=f"file-clash:{name}",
        severity=severity,
        wheels=tuple(wheels),
        what=f"each installs the {kind} {paths[0]} with its own content, and whichever comes last wins",
        files=tuple(paths[:FILES_SHOWN]),
        count=len(paths),
        has=f"{_label(one)}; {_label(other)}",
    )


def _label(one: _Installed) -> str:
    package = parse_wheel_filename(one.wheel)[0]
    if one.content:
        return f"{package}: entry point {one.content}"
    return f"{package}: {one.member.path}, {one.member.size} bytes"


def _modules(installed: dict[str, _Installed]) -> dict[str, str]:
    """Top-level names that can be imported, each with the file that makes it a module or a regular package.

    Without such a file the name is a share of a namespace (PEP 420), and the file is empty.
    """
    found: dict[str, str] = {}
    for path in installed:
        if not path.startswith(_SITE) or not path.endswith(_IMPORTABLE):
            continue
        head, slash, rest = path.removeprefix(_SITE).partition("/")
        name = head if slash else head.partition(".")[0]
        if name.isidentifier():
            regular = not slash or rest.startswith("__init__.")
            found[name] = path if regular else found.get(name, "")
    return found


def _shared(modules: dict[str, dict[str, str]], may_meet: MayMeet) -> Iterator[Finding]:
    """A module of one wheel under another's top-level name, unless the two are shares of a namespace.

    Of different content at one path a clash tells; the same __init__.py in each is a namespace of the old kind.
    """
    owners: dict[str, list[str]] = {}
    for filename, names in modules.items():
        for name in names:
            owners.setdefault(name, []).append(filename)
    for name, several in sorted(owners.items()):
        for owner in several:
            mine = modules[owner][name]
            guests = [f for f in several if mine and may_meet(f, owner) and modules[f][name] != mine]
            if not guests:
                continue
            rival = any(modules[guest][name] for guest in guests)
            package = parse_wheel_filename(owner)[0]
            yield Finding(
                name=f"shadow:{name}",
                severity="error" if rival else "warning",
                wheels=tuple(sorted({owner, *guests})),
                what=f"{name} is a module of {package}, and another wheel "
                + ("installs its own of this name" if rival else "installs modules into it"),
                has=mine,
            )
            break


def _alone(modules: dict[str, dict[str, str]], stdlib: Collection[str]) -> Iterator[Finding]:
    """Top-level names of the standard library, and those that could be anybody's."""
    for name in sorted({name for owned in modules.values() for name in owned}):
        wheels = tuple(sorted(filename for filename, owned in modules.items() if name in owned))
        if name in stdlib:
            what = f"it installs {name}, a module of the standard library, which is found first"
        elif name.lower() in GENERIC_MODULES and any(parse_wheel_filename(w)[0] != name.lower() for w in wheels):
            what = f"it installs a top-level {name}, a name that any project may use for its own"
        else:
            continue  # a project may well call its module what it is called itself
        yield Finding(name=f"shadow:{name}", severity="warning", wheels=wheels, what=what)
