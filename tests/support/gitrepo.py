"""A git repository of the test's own with a small compiled extension, and the build backend that compiles it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.repository import git
from support.wheels import Built, wheel

PACKAGE = "cmsis-nn"

_KERNELS = """
#include <Python.h>
static PyObject *add(PyObject *self, PyObject *args) {
    int a, b;
    if (!PyArg_ParseTuple(args, "ii", &a, &b)) return NULL;
    return Py_BuildValue("is", a + b, __FILE__);
}
static PyMethodDef methods[] = {{"add", add, METH_VARARGS, "Add two numbers."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods};
PyMODINIT_FUNC PyInit__kernels(void) { return PyModule_Create(&module); }
"""

#: A backend that does what makes builds differ: absolute paths, debug information, the time of day, any order.
_BACKEND = """
import os, random, shlex, subprocess, sys, sysconfig, time, zipfile

def get_requires_for_build_wheel(config=None):
    return ["helper>=1"]

def build_wheel(out, config=None, metadata=None):
    import helper
    assert not os.path.exists(".git")
    assert not [name for name in os.environ if name.startswith("UV_INDEX") and os.environ[name]]
    values = dict(line.split(" = ") for line in open("package.txt").read().splitlines() if line)
    name, version = values["name"].replace("-", "_"), values["version"]
    tag = "cp%d%d" % sys.version_info[:2]
    library = name + "/_kernels" + sysconfig.get_config_var("EXT_SUFFIX")
    built = os.path.join(out, "made.so")
    flags = shlex.split(os.environ.get("CFLAGS", ""))
    command = ["cc", "-shared", "-fPIC", "-g", "-O1", *flags, "-I", sysconfig.get_path("include")]
    subprocess.run([*command, os.path.abspath("src/kernels.c"), "-o", built], check=True)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if sys.platform == "darwin":
        platform = "macosx_15_0_arm64"
    stem = name + "-" + version
    lines = ["Metadata-Version: 2.1", "Name: " + values["name"], "Version: " + version]
    lines += ["Requires-Dist: " + one for one in values.get("requires", "").split(",") if one]
    members = [
        (name + "/__init__.py", b"from ._kernels import add\\n"),
        (library, open(built, "rb").read()),
        (stem + ".dist-info/METADATA", ("\\n".join(lines) + "\\n").encode()),
        (stem + ".dist-info/WHEEL", ("Wheel-Version: 1.0\\nGenerator: cc\\nRoot-Is-Purelib: false\\nTag: %s-%s-%s\\n"
                                     % (tag, tag, platform)).encode()),
        (stem + ".dist-info/RECORD", b""),
    ]
    random.SystemRandom().shuffle(members)
    os.unlink(built)
    final = "%s-%s-%s-%s.whl" % (stem, tag, tag, platform)
    with zipfile.ZipFile(os.path.join(out, final), "w", random.SystemRandom().choice([0, 8])) as archive:
        for path, data in members:
            archive.writestr(zipfile.ZipInfo(path, time.localtime()[:6]), data)
    return final
"""


def build_tools() -> list[Built]:
    """The backend, and what it asks for when it is asked."""
    return [wheel("cc-backend", "1.0", files={"cc_backend.py": _BACKEND}), wheel("helper", "1.0")]


@functools.cache
def compiler() -> str:
    """Why nothing can be compiled here, empty where it can."""
    if os.name == "nt":
        return "the test's backend speaks to cc"
    missing = [tool for tool in ("cc", "git") if not shutil.which(tool)]
    return f"there is no {' and no '.join(missing)} here" if missing else ""


_PROBE = (
    "import os, sys, sysconfig, json; print(json.dumps(['%d.%d' % sys.version_info[:2],"
    " os.path.isfile(os.path.join(sysconfig.get_path('include'), 'Python.h')), sys.implementation.name,"
    " bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


@functools.cache
def pythons() -> dict[str, str]:
    """The interpreters of this machine that can compile an extension, by version from 3.10 on."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    candidates = [sys.executable, *(str(path) for root in roots for path in sorted(root.glob("3.*/bin/python")))]
    candidates += [path for minor in range(10, 15) if (path := shutil.which(f"python3.{minor}"))]
    found: dict[str, str] = {}
    for candidate in candidates:
        done = subprocess.run([candidate, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # a shim may stand for nothing
            version, headers, name, free_threaded = json.loads(done.stdout)
            if headers and name == "cpython" and not free_threaded and int(version.partition(".")[2]) >= 10:
                found.setdefault(version, candidate)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def two_pythons() -> tuple[str, ...]:
    """The versions that tests build for: that of the tests, which has pip, and another; fewer where there are fewer."""
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    chosen = sorted(pythons(), key=lambda python: python != mine)[:2]
    return tuple(sorted(chosen, key=lambda python: int(python.partition(".")[2])))


class Repository:
    """A repository in a folder, on the branch ``main``."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", *words)

    @property
    def url(self) -> str:
        """For ``[git]``."""
        return self.folder.resolve().as_uri()

    def git(self, *words: str) -> str:
        """Run git in it, with nobody's settings; what it printed."""
        names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}
        return git(self.folder, "-c", "protocol.file.allow=always", *words, environ=names)

    def commit(self, files: dict[str, str | bytes], *words: str) -> str:
        """Write files and commit everything; the commit. ``words`` are further ones for ``git commit``."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=one", *words)
        return self.git("rev-parse", "HEAD")


_WHO = {"NAME": "a", "EMAIL": "a@example.com", "DATE": "2026-05-05T05:05:05Z"}


def extension(version: str = "7.0.0", requires: str = "dep") -> dict[str, str | bytes]:
    """The files of a package whose extension says ``add``, the sum and the path of its source."""
    return {
        "pyproject.toml": '[build-system]\nrequires = ["cc-backend"]\nbuild-backend = "cc_backend"\n',
        "package.txt": f"name = {PACKAGE}\nversion = {version}\nrequires = {requires}\n",
        "src/kernels.c": _KERNELS,
    }
