"""A project in memory, and its ``envs/``."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockgrid.core.init.convert import Found, convert
from lockgrid.core.init.follow import follow
from lockgrid.core.init.pyproject import ProjectFile, read_project
from lockgrid.core.init.targets import choose
from lockgrid.core.init.values import Collected, Place
from lockgrid.core.init.write import file_texts
from lockgrid.core.spec import parse_spec
from lockgrid.model.spec import Environment, Spec

PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The texts of ``envs/``, what they mean, and what was said."""

    texts: dict[str, str]
    spec: Spec | None
    notes: list[str]
    problems: list[str]

    def environment(self, name: str) -> Environment:
        assert self.spec is not None, self.problems
        return {e.name: e for e in self.spec.environments}[name]

    def requires(self, name: str) -> list[str]:
        return [declared.text for declared in self.environment(name).requires]

    def holds(self, name: str) -> dict[str, str]:
        return {hold.name: hold.specifier for hold in self.environment(name).holds}


def converted(
    files: Mapping[str, str],
    *roots: str,
    environ: Mapping[str, str] | None = None,
    platforms: Sequence[str] = (),
    pythons: Sequence[str] = (),
) -> Converted:
    """Convert files. ``roots`` are those on the command line; without any, all of them were come upon."""

    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return files[path].encode()

    out = Collected()
    named = list(roots) or list(files)
    projects = [read_project(path, files[path], out) for path in named if path.endswith(".toml")]
    first = projects[0] if projects else ProjectFile(file=PYPROJECT)
    choice = choose(
        first.requires_python, first.classifiers, Place(first.file), platforms=platforms, pythons=pythons, out=out
    )
    paths = [path for path in named if not path.endswith(".toml")]
    known = {project.file: project for project in projects}

    def project(folder: str) -> ProjectFile | None:
        path = posixpath.normpath(posixpath.join(folder, PYPROJECT))
        if path in files and path not in known:
            known[path] = read_project(path, files[path], Collected())
        return known.get(path)

    found = Found(
        projects=projects,
        files=follow(paths, read, environ or {}, out),
        roots=paths,
        asked=bool(roots),
        project=project,
    )
    drafts, others = convert(found, choice.targets, out)
    problems = [str(problem) for problem in out.problems]
    notes = [str(note) for note in dict.fromkeys(out.notes)]
    if problems:
        return Converted(texts={}, spec=None, notes=notes, problems=problems)
    texts = file_texts(drafts, choice, others, out.notes)
    return Converted(texts=texts, spec=parse_spec(texts), notes=notes, problems=[])
