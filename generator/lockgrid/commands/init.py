"""``lockgrid init``: a first ``envs/`` from the pyproject.toml and the requirements files of a project."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockgrid.adapters.inputs import Inputs
from lockgrid.commands.context import Context
from lockgrid.core.init import reqfile
from lockgrid.core.init.convert import Found, convert
from lockgrid.core.init.follow import RequirementsFile, follow
from lockgrid.core.init.pyproject import ProjectFile, read_project
from lockgrid.core.init.targets import choose
from lockgrid.core.init.values import Collected, Note, Place
from lockgrid.core.init.write import file_texts, manifest
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError, Problem

_PYPROJECT = "pyproject.toml"
_OVERWRITE = "move it away, or let --force overwrite it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``files`` are paths, empty for those of the usual names; ``platforms`` are ``NAME`` or ``NAME=FLOOR``."""

    files: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InitResult:
    """The texts by path, why each is there, what was not carried over, and what else a user should know."""

    texts: Mapping[str, str]
    origins: Mapping[str, str]
    notes: tuple[Note, ...]
    advice: tuple[str, ...]


def init(context: Context, inputs: Inputs, options: Options) -> InitResult:
    """Read the project, and write ``envs/`` unless it is a dry run.

    Raises ``InputError`` with every fault, and then nothing is written; ``ToolError`` when it cannot be.
    """
    run = _Run(inputs, context.environ)
    run.read(options.files)
    first = run.projects[0] if run.projects else ProjectFile(file=_PYPROJECT)
    out = run.out
    choice = choose(
        first.requires_python,
        first.classifiers,
        Place(first.file),
        platforms=options.platforms,
        pythons=options.pythons,
        out=out,
    )
    found = Found(
        projects=run.projects,
        files=run.follow(),
        roots=run.roots,
        asked=bool(options.files),
        project=run.project,
    )
    drafts, others = convert(found, choice.targets, out)
    if out.problems:
        raise InputError(out.problems)
    notes = tuple(dict.fromkeys(out.notes))
    texts = file_texts(drafts, choice, others, notes)
    origins = {f"envs/{draft.name}.toml": ("base: " if draft.abstract else "") + draft.origin for draft in drafts}
    own = context.store.read(_PYPROJECT)
    _check(context, texts, force=options.force)
    if own is None:
        texts[_PYPROJECT] = manifest(f">={choice.pythons[0]}")
        origins[_PYPROJECT] = "lockgrid keeps an extra for each environment there"
    if not options.dry_run:
        context.store.replace(texts)
    advice = _advice(own, [draft.name for draft in drafts if not draft.abstract])
    doubtful = dict.fromkeys(str(one.requirement) for draft in drafts for one in draft.requires if one.doubt)
    if doubtful:
        said = f"These were URLs, and `lockgrid lock` asks the index for packages of that name: {', '.join(doubtful)}."
        advice.append(f"{said} Anyone may have such a name there: make sure of each, or take it out.")
    return InitResult(texts=texts, origins=origins, notes=notes, advice=tuple(advice))


def _check(context: Context, texts: Mapping[str, str], *, force: bool) -> None:
    """The files must be free, and good beside those that are there already."""
    there = [path for path in texts if context.store.read(path) is not None]
    if there and not force:
        raise InputError([Problem(file=path, what="exists already", hint=_OVERWRITE) for path in there])
    others = context.store.read_environments() if (context.store.root / "envs").is_dir() else {}
    parse_spec({**others, **texts})


def _advice(own: str | None, names: Sequence[str]) -> list[str]:
    """What ``lockgrid lock`` will do with the pyproject.toml that is there."""
    if own is None:
        return []
    project = read_project(_PYPROJECT, own, Collected())
    if not project.has_project:
        return ['pyproject.toml needs a [project] table with a name and version = "0" before `lockgrid lock`']
    changed = [name for name in names if project.of_extra(name) is not None]
    said = f"`lockgrid lock` keeps an extra in pyproject.toml for each environment: {', '.join(names)}."
    if changed:
        said += f" It adds what the project requires to those that are there ({', '.join(changed)})."
    said += (
        " To keep them out of a package that is published, use a folder: `lockgrid --project grid init pyproject.toml`"
    )
    return [said]


@dataclass(slots=True)
class _Run:
    """Reads what there is. ``roots`` are requirements files that were named, or found by their names."""

    inputs: Inputs
    environ: Mapping[str, str]
    out: Collected = field(default_factory=Collected)
    projects: list[ProjectFile] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    known: dict[str, ProjectFile | None] = field(default_factory=dict)

    def read(self, files: Sequence[str]) -> None:
        """Read the pyproject.toml files among the files, or among those of the usual names; the rest are roots."""
        paths = list(dict.fromkeys(posixpath.normpath(path) for path in files)) or self._usual()
        for path in paths:
            if path.endswith(".toml"):
                if (project := self._toml(path)) is not None:
                    self.projects.append(project)
                    self.known[path] = project
            else:
                self.roots.append(path)

    def _usual(self) -> list[str]:
        found = self.inputs.find()
        for path in [path for path in found if path.endswith(".in")]:
            compiled = f"{path[:-3]}.txt"
            if compiled in found:
                found.remove(compiled)
                what = f"left out: it looks as if it were compiled from {path}"
                self.out.notes.append(Note(Place(compiled), "", what, f"`lockgrid init {compiled}` takes its pins"))
        for path in self.inputs.unread():
            self.out.notes.append(
                Note(Place(path), "", "is not read", "export what it requires to a requirements file")
            )
        if not found:
            what = "there is neither a pyproject.toml nor a requirements file"
            self.out.problems.append(Problem(file=str(self.inputs.root), what=what, hint="name the files"))
        return found

    def _toml(self, path: str) -> ProjectFile | None:
        try:
            text = self.inputs.read(path).decode("utf-8")
        except OSError as error:
            self.out.problems.append(
                Place(path).problem(f"cannot be read: {error.strerror}", "name a file that exists")
            )
        except UnicodeDecodeError as error:
            self.out.problems.append(Place(path).problem(f"cannot be read as UTF-8: {error}", "save it as UTF-8"))
        else:
            return read_project(path, text, self.out)
        return None

    def follow(self) -> dict[str, RequirementsFile]:
        """The requirements files with all that they lead to."""
        return follow(self.roots, self.inputs.read, self.environ, self.out)

    def project(self, folder: str) -> ProjectFile | None:
        """The project in a folder, None where there is no pyproject.toml that can be read."""
        path = posixpath.normpath(posixpath.join(folder, _PYPROJECT))
        if path not in self.known:
            try:
                text = reqfile.decode(self.inputs.read(path))
            except (OSError, ValueError):
                self.known[path] = None
            else:
                aside = Collected(problems=self.out.problems)
                self.known[path] = read_project(path, text, aside)
        return self.known[path]
