"""Proof 4: what is inside a wheel agrees with the floor that it has to work on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from packaging.utils import parse_wheel_filename

from lockgrid.core.floor import Floor, floors_of
from lockgrid.core.manylinux import is_offered, symbol_limits
from lockgrid.model.contents import Binary, Contents, Need, Version, version_text
from lockgrid.model.finding import FILES_SHOWN, KINDS, Finding

# Launchers that installers copy; no wheel for all platforms loads them.
_LAUNCHER = ".exe"
_FLOOR_WORDS = {"GLIBC": "glibc ", "GLIBCXX": "GLIBCXX_", "CXXABI": "CXXABI_", "GCC": "GCC_"}


def judge_binaries(
    contents: Contents, floors: Sequence[Floor], *, provided: Collection[str] = frozenset()
) -> list[Finding]:
    """What the binaries of a wheel need beyond ``floors``: those of its tags, or that of a target.

    ``provided``: names of the libraries in other wheels (``library_names``), which it may need.
    """
    linked = [binary for binary in contents.binaries if binary.linked]
    if not linked:
        return []
    judge = _Judge(contents)
    found: list[Finding] = []
    known = [floor for floor in floors if floor.format]
    if any(floor.kind == "any" for floor in floors_of(contents.filename)):
        linked = [binary for binary in linked if not binary.path.lower().endswith(_LAUNCHER)]
        if linked:
            what = "its tag says any platform, and it holds binaries of one"
            found.append(judge.finding("any", what, [binary.path for binary in linked]))
    elif known:
        found += judge.machines(linked, known)
    for floor in known:
        native = [b for b in linked if b.format == floor.format and floor.code in {c.machine for c in b.codes}]
        if floor.kind == "linux":
            own = library_names(contents)
            found += [*judge.symbols(native, floor, own), *judge.libraries(native, floor, own | set(provided))]
        elif floor.kind == "macos":
            found += judge.macos(native, floor)
    return list(dict.fromkeys(found))


def library_names(contents: Contents) -> frozenset[str]:
    """The names under which a dynamic linker may find the wheel's own libraries; those that cannot be read as well."""
    paths = [binary.path for binary in contents.binaries if binary.format == "ELF"]
    paths += [fault.path for fault in contents.faults if fault.kind in ("binary", "unread")]
    return frozenset(path.rpartition("/")[2] for path in paths)


class _Judge:
    """The findings on one wheel."""

    def __init__(self, contents: Contents) -> None:
        self._filename = contents.filename
        self._name = parse_wheel_filename(contents.filename)[0]

    def finding(self, kind: str, what: str, files: Sequence[str], *, needs: str = "", has: str = "") -> Finding:
        head, _, tail = kind.partition(":")
        return Finding(
            name=":".join(filter(None, (head, self._name, tail))),
            severity=KINDS[head],
            wheels=(self._filename,),
            what=what,
            files=tuple(files[:FILES_SHOWN]),
            count=len(files),
            needs=needs,
            has=has,
        )

    def machines(self, linked: Iterable[Binary], floors: Sequence[Floor]) -> Iterator[Finding]:
        """Binaries that none of the wheel's machines runs, and Mach-O files that lack one of its architectures."""
        form, codes = floors[0].format, {floor.code for floor in floors}
        native: list[Binary] = []
        foreign: list[Binary] = []
        partial: list[Binary] = []
        for binary in linked:
            present = codes & {code.machine for code in binary.codes} if binary.format == form else set()
            (native if present else foreign).append(binary)
            if present and form == "Mach-O" and present != codes:
                partial.append(binary)
        wanted = f"{form} for {' and '.join(sorted(codes))}"
        if foreign:
            what = f"{floors[0].label} does not run some of its binaries"
            has = f"{foreign[0].format} for {' and '.join(code.machine for code in foreign[0].codes)}"
            kind = "foreign" if native else "machine"
            yield self.finding(kind, what, [b.path for b in foreign], needs=wanted, has=has)
        if partial:
            what = f"{floors[0].label} promises architectures that some of its binaries lack"
            has = f"Mach-O for {' and '.join(code.machine for code in partial[0].codes)}"
            yield self.finding("architecture", what, [b.path for b in partial], needs=wanted, has=has)

    def symbols(self, native: Sequence[Binary], floor: Floor, names: Collection[str]) -> Iterator[Finding]:
        """Versions of symbols that the floor's libraries need not have."""
        limits = symbol_limits(floor.version, floor.machine) if floor.version else {}
        for prefix, limit in limits.items():
            over = [
                (need.number, binary.path, need)
                for binary in native
                for need in binary.needs
                if need.prefix == prefix
                and need.number
                and need.number > limit
                # A library that the wheel brings along satisfies its users; glibc cannot be brought along.
                and (prefix == "GLIBC" or need.library not in names)
            ]
            if over:
                yield self._over(prefix, limit, floor, sorted(over, key=_worst_first))
        private = [b.path for b in native if any(need.version == "GLIBC_PRIVATE" for need in b.needs)]
        if private:
            what = "it needs symbols that glibc keeps to itself and may change at any time"
            yield self.finding("glibc-private", what, private, needs="GLIBC_PRIVATE")

    def _over(self, prefix: str, limit: Version, floor: Floor, over: Sequence[tuple[Version, str, Need]]) -> Finding:
        number, _, need = over[0]
        word = _FLOOR_WORDS[prefix]
        what = f"it needs {word}{version_text(number)}, and {floor.label} promises {word}{version_text(limit)}"
        symbol = f" for {need.symbol}" if need.symbol else ""
        files = list(dict.fromkeys(path for _, path, _ in over))
        return self.finding(
            prefix.lower(), what, files,
            needs=f"{need.version} of {need.library}{symbol}", has=f"{word}{version_text(limit)}",
        )  # fmt: skip

    def libraries(self, native: Iterable[Binary], floor: Floor, names: Collection[str]) -> Iterator[Finding]:
        """Libraries that are neither in these wheels nor on every system of the platform."""
        users: dict[str, list[str]] = {}
        for binary in native:
            for library in binary.libraries:
                # A path is taken as it is; its last part is what a wheel would have to hold.
                if library.rpartition("/")[2] not in names and not is_offered(library, floor.version):
                    users.setdefault(library, []).append(binary.path)
        for library, files in sorted(users.items()):
            what = f"it needs {library}, which is in none of these wheels and not on every system of its platform"
            yield self.finding(f"library:{library}", what, files, needs=library)

    def macos(self, native: Iterable[Binary], floor: Floor) -> Iterator[Finding]:
        """Mach-O files for a newer macOS."""
        minimum: Callable[[Binary], Version] = lambda binary: max(  # noqa: E731
            (code.minimum or () for code in binary.codes if code.machine == floor.code), default=()
        )
        over = sorted((b for b in native if minimum(b) > (floor.version or ())), key=lambda b: b.path)
        if over and floor.version:
            worst = max(map(minimum, over))
            over.sort(key=lambda b: minimum(b) != worst)
            what = f"it needs macOS {version_text(worst)}, and {floor.label} promises {version_text(floor.version)}"
            needs, has = f"macOS {version_text(worst)}", f"macOS {version_text(floor.version)}"
            yield self.finding("macos", what, [b.path for b in over], needs=needs, has=has)


def _worst_first(item: tuple[Version, str, Need]) -> tuple[tuple[int, ...], str]:
    number, path, _ = item
    return tuple(-part for part in number), path
