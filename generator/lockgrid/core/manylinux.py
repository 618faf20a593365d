"""What a manylinux platform offers: which versions of symbols, which libraries.

Source: pypa/auditwheel, ``src/auditwheel/policy/manylinux-policy.json``, which PEP 600 makes the authority.
For a glibc between two lines the lower line holds. Machines that came later than x86_64 started with a newer
GCC; what auditwheel has for aarch64 stands for them all.
"""

from __future__ import annotations

from lockgrid.model.contents import Version

_Line = tuple[Version, Version, Version, Version]

# glibc; then the highest versions of GLIBCXX, CXXABI and GCC symbols.
_X86: tuple[_Line, ...] = (
    ((2, 5), (3, 4, 8), (1, 3, 1), (4, 2, 0)),
    ((2, 12), (3, 4, 13), (1, 3, 3), (4, 3, 0)),
    ((2, 17), (3, 4, 19), (1, 3, 7), (4, 8, 0)),
    ((2, 24), (3, 4, 22), (1, 3, 10), (4, 8, 0)),
    ((2, 27), (3, 4, 24), (1, 3, 11), (7, 0, 0)),
    ((2, 31), (3, 4, 28), (1, 3, 12), (7, 0, 0)),
    ((2, 34), (3, 4, 29), (1, 3, 13), (7, 0, 0)),
    ((2, 35), (3, 4, 30), (1, 3, 13), (12, 0, 0)),
    ((2, 39), (3, 4, 33), (1, 3, 15), (14, 0, 0)),
)
_OTHER: tuple[_Line, ...] = (
    ((2, 17), (3, 4, 19), (1, 3, 7), (4, 7, 0)),
    ((2, 24), (3, 4, 22), (1, 3, 10), (4, 7, 0)),
    ((2, 26), (3, 4, 24), (1, 3, 11), (7, 0, 0)),
    ((2, 31), (3, 4, 28), (1, 3, 12), (7, 0, 0)),
    ((2, 34), (3, 4, 29), (1, 3, 13), (11, 0)),
    ((2, 35), (3, 4, 30), (1, 3, 13), (11, 0)),
    ((2, 39), (3, 4, 33), (1, 3, 15), (14, 0, 0)),
)
_LIBRARIES = frozenset(
    {
        "libGL.so.1", "libICE.so.6", "libSM.so.6", "libX11.so.6", "libXext.so.6", "libXrender.so.1", "libanl.so.1",
        "libatomic.so.1", "libc.so.6", "libdl.so.2", "libexpat.so.1", "libgcc_s.so.1", "libglib-2.0.so.0",
        "libgobject-2.0.so.0", "libgthread-2.0.so.0", "libm.so.6", "libmvec.so.1", "libnsl.so.1", "libpthread.so.0",
        "libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1", "libz.so.1",
    }
)  # fmt: skip
# Missing from the policies of older platforms: since glibc 2.22, and in manylinux since 2.24.
_SINCE = {"libmvec.so.1": (2, 24), "libexpat.so.1": (2, 12)}


def symbol_limits(glibc: Version, machine: str) -> dict[str, Version]:
    """The highest version of each kind of symbol on a system of this glibc; ``machine`` as in platform tags."""
    limits = {"GLIBC": glibc}
    lines = [line for line in (_X86 if machine in ("x86_64", "i686") else _OTHER) if line[0] <= glibc]
    if lines:
        limits.update(zip(("GLIBCXX", "CXXABI", "GCC"), lines[-1][1:], strict=True))
    return limits


def is_offered(library: str, glibc: Version | None) -> bool:
    """Whether every system of this glibc has the library (None: any glibc). Its own dynamic linker is one."""
    if library.startswith(("ld-linux", "ld64.so")):
        return True
    return library in _LIBRARIES and (glibc is None or glibc >= _SINCE.get(library, ()))
