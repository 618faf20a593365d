"""Proof 5: no two wheels install one path with different content, and none shadows another's module."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from packaging.utils import parse_wheel_filename

from lockgrid.model.contents import Contents, Member
from lockgrid.model.finding import FILES_SHOWN, KINDS, Finding

#: Top-level names that say nothing about whose they are: found in wheels that packed more than was meant.
GENERIC_NAMES = frozenset(
    {
        "benchmark", "benchmarks", "bin", "build", "checker", "ci", "common", "config", "conftest", "core", "data",
        "demo", "demos", "dist", "doc", "docs", "example", "examples", "generator", "helpers", "include", "lib",
        "main", "resources", "runner", "sample", "samples", "scripts", "serializer", "setup", "share", "src", "test",
        "testing", "tests", "tools", "util", "utils",
    }
)  # fmt: skip
_SITE = "site-packages/"
_BIN = "bin/"
_IMPORTABLE = (".py", ".so", ".pyd")
# What is run though it is no module: the lines of a .pth that begin with "import".
_CODE = (*_IMPORTABLE, ".pth", ".pyc")

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
        if (mine.crc, mine.size) != (theirs.crc, theirs.size):  # what the archive holds, whatever RECORD says of it
            return True
        return bool(mine.sha256 and theirs.sha256) and mine.sha256 != theirs.sha256


def install_path(path: str, name: str) -> str:
    """Where a member goes, relative to the venv; ``name`` is the package's. Schemes of the wheel specification."""
    path = posixpath.normpath(path)
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
        self._folders = {key: _folders(installed) for key, installed in files.items()}
        self._clashes = list(self._find_clashes(files))

    def findings(
        self, keys: Collection[str], stdlib: Collection[str], may_meet: MayMeet = lambda one, other: True
    ) -> list[Finding]:
        """The findings on these of the wheels. ``stdlib``: the modules of the standard library."""
        chosen = set(keys)
        groups: dict[tuple[bool, str], _Group] = {}
        for path, one, other in self._clashes:
            if one.key in chosen and other.key in chosen and may_meet(one.wheel, other.wheel):
                groups.setdefault((path.startswith(_BIN), _clash_name(path)), []).append((path, one, other))
        modules = {self._names[key]: self._modules[key] for key in keys}
        return [
            *(_clash(name, group) for (_, name), group in groups.items()),
            *_shared(modules, may_meet),
            *_alone(modules, {self._names[key]: self._folders[key] for key in keys}, stdlib),
        ]

    def _find_clashes(self, files: Mapping[str, Mapping[str, _Installed]]) -> Iterator[_Pair]:
        """Pairs of different files at one path. Wheels of one package are never installed together."""
        owners: dict[str, list[_Installed]] = {}
        for installed in files.values():
            for path, one in installed.items():
                owners.setdefault(path, []).append(one)
        for path, several in sorted(owners.items()):
            several.sort(key=lambda one: (one.wheel, one.key))
            if len({self._packages[one.key] for one in several}) > 1:
                for at, one in enumerate(several):
                    for other in several[at + 1 :]:
                        if self._packages[one.key] != self._packages[other.key] and one.differs(other):
                            yield path, one, other


def _installed(key: str, contents: Contents) -> Iterator[tuple[str, _Installed]]:
    """Install path and file."""
    name = parse_wheel_filename(contents.filename)[0]
    for member in contents.members:
        path = install_path(member.path, name)
        # On Windows an entry point becomes an .exe, and beside a file without it is what a shell finds.
        place = path.removesuffix(".exe") if path.startswith(_BIN) else path
        yield place, _Installed(key=key, wheel=contents.filename, member=member)
    for script, target in contents.scripts:
        member = Member(path="entry_points.txt", sha256="", crc=0, size=0)
        yield f"{_BIN}{script}", _Installed(key=key, wheel=contents.filename, member=member, content=target)


_Pair = tuple[str, _Installed, _Installed]
_Group = list[_Pair]


def _clash_name(path: str) -> str:
    if path.startswith(_BIN):
        return path.removeprefix(_BIN)
    if path.startswith(_SITE):
        head, slash, _ = path.removeprefix(_SITE).partition("/")
        return head + slash
    return path


def _clash(name: str, group: _Group) -> Finding:
    """The finding on clashes under one name, in order of their paths."""
    paths = list(dict.fromkeys(path for path, _, _ in group))
    files = {one.key: one for path, *pair in group for one in pair if path == paths[0]}
    code = any(path.startswith(_SITE) and path.endswith(_CODE) for path in paths)
    kind = "code-clash" if code else "file-clash"
    word = "command" if paths[0].startswith(_BIN) else "file"
    return Finding(
        name=f"{kind}:{name}",
        severity=KINDS[kind],
        wheels=tuple(sorted({one.wheel for _, *pair in group for one in pair})),
        what=f"each installs the {word} {paths[0]} with its own content, and whichever comes last wins",
        files=tuple(paths[:FILES_SHOWN]),
        count=len(paths),
        has="; ".join(_label(one) for one in sorted(files.values(), key=lambda one: (one.wheel, one.key))),
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


def _folders(installed: dict[str, _Installed]) -> set[str]:
    """Top-level folders, with or without modules in them."""
    paths = (path.removeprefix(_SITE) for path in installed if path.startswith(_SITE))
    return {path.partition("/")[0] for path in paths if "/" in path}


def _shared(modules: dict[str, dict[str, str]], may_meet: MayMeet) -> Iterator[Finding]:
    """A module of one wheel under another's top-level name, unless the two are shares of a namespace.

    Of different content at one path a clash tells; the same __init__.py in each is a namespace of the old kind.
    """
    owners: dict[str, list[str]] = {}
    for filename, names in modules.items():
        for name in names:
            owners.setdefault(name, []).append(filename)
    for name, several in sorted(owners.items()):
        for owner in sorted(several):
            mine = modules[owner][name]
            guests = [f for f in several if mine and may_meet(f, owner) and modules[f][name] != mine]
            if not guests:
                continue
            rival = any(modules[guest][name] for guest in guests)
            package = parse_wheel_filename(owner)[0]
            kind = "shadow" if rival else "guest"
            yield Finding(
                name=f"{kind}:{name}",
                severity=KINDS[kind],
                wheels=tuple(sorted({owner, *guests})),
                what=f"{name} is a module of {package}, and another wheel "
                + ("installs its own of this name" if rival else "installs modules into it"),
                has=mine,
            )
            break


def _alone(
    modules: Mapping[str, Mapping[str, str]], folders: Mapping[str, Collection[str]], stdlib: Collection[str]
) -> Iterator[Finding]:
    """Top-level names of the standard library, and those that could be anybody's."""
    installed = {filename: {*modules[filename], *folders[filename]} for filename in modules}
    for name in sorted({name for names in installed.values() for name in names}):
        wheels = tuple(sorted(filename for filename, names in installed.items() if name in names))
        if name in stdlib and any(name in names for names in modules.values()):
            kind, what = "stdlib", f"it installs {name}, a module of the standard library, which is found first"
        elif name.lower() in GENERIC_NAMES and any(parse_wheel_filename(w)[0] != name.lower() for w in wheels):
            kind, what = "generic", f"it installs a top-level {name}, a name that any project may use for its own"
        else:
            continue  # a project may well call its module what it is called itself
        yield Finding(name=f"{kind}:{name}", severity=KINDS[kind], wheels=wheels, what=what)
