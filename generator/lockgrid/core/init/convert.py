"""Files of a project become drafts of ``envs/``: a base for what is shared, and one file for each set."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.requirements import Requirement

from lockgrid.core.init import names
from lockgrid.core.init.bounds import add_holds, add_overrides, join_holds
from lockgrid.core.init.carry import Local, carry, is_reference
from lockgrid.core.init.follow import RequirementsFile
from lockgrid.core.init.options import lost_hashes, lost_options
from lockgrid.core.init.pyproject import ProjectFile, under
from lockgrid.core.init.sourcing import Other, add_sources, other_indexes
from lockgrid.core.init.values import Collected, Draft, Note, Place, Wanted
from lockgrid.errors import Problem
from lockgrid.model.target import Target

_SHARED = ("base", "common")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is to convert: ``files`` with all that they lead to; ``roots`` are those that somebody named.

    ``asked``: named on the command line, and not come upon. ``project`` gives the project in a folder, None where
    there is none, for ``-e .``.
    """

    projects: Sequence[ProjectFile]
    files: Mapping[str, RequirementsFile]
    roots: Sequence[str]
    asked: bool
    project: Callable[[str], ProjectFile | None]


def convert(found: Found, targets: Sequence[Target], out: Collected) -> tuple[list[Draft], list[Other]]:
    """The drafts, bases first, and the indexes that their sources name.

    What is lost is noted in ``out`` and in the draft that it concerns.
    """
    conversion = _Conversion(found, targets, out)
    for project in found.projects:
        conversion.add_project(project)
    conversion.add_files()
    return conversion.finish()


@dataclass(slots=True)
class _Conversion:
    found: Found
    targets: Sequence[Target]
    out: Collected
    names: names.Names = field(default_factory=names.Names)
    drafts: list[Draft] = field(default_factory=list)
    bases: dict[str, Draft] = field(default_factory=dict)  # by the path of what they are made of

    # -- pyproject.toml --------------------------------------------------------------------------------

    def add_project(self, project: ProjectFile) -> None:
        """A base of what the project itself requires, ``main`` for it alone, one for each extra and group."""
        shared: list[str] = []
        if project.dependencies or project.constraints or project.overrides:
            base = self._draft("base", "project", f"{project.file}, [project] dependencies")
            base.abstract = True
            base.requires += project.dependencies
            base.places += [f"{project.file}: project.dependencies[", f"{project.file}: tool.uv."]
            add_holds(base, project.constraints, self.targets, self.out)
            add_overrides(base, project.overrides, self.out)
            self.bases[project.file] = base
            shared = [base.name]
        if project.dependencies:
            main = self._draft(names.MAIN, "project", f"{project.file}, [project] dependencies")
            main.summary = f"what {project.name or 'the project'} requires"
            main.extends += shared
        for kind, key, sets in (
            ("extra", "project.optional-dependencies", project.extras),
            ("group", "dependency-groups", project.groups),
        ):
            for name, wanted in sets.items():
                if kind == "extra" and name in project.kept:
                    continue
                draft = self._draft(name, kind, f"{project.file}, {key}.{name}")
                draft.summary = f"{kind} {name}" + (f" of {project.name}" if project.name else "")
                draft.extends += shared
                draft.requires += wanted
                draft.places.append(f"{project.file}: {key}.{name}[")
                if kind == "group" and project.dependencies:
                    draft.remark = (
                        f"As `uv sync --group {name}` installs it, with what the project requires. Take `extends` out "
                        f"for the group alone (`--only-group {name}`)."
                    )

    def _draft(self, wish: str, kind: str, origin: str) -> Draft:
        draft = Draft(name=self.names.give(wish, kind), origin=origin)
        self.drafts.append(draft)
        return draft

    # -- requirements files ----------------------------------------------------------------------------

    def add_files(self) -> None:
        """A base for each file that others include, one of bounds for each of constraints, the rest environments."""
        files = self.found.files
        included = {path for file in files.values() for path in file.included}
        bounding = {path for file in files.values() for path in file.constraints}
        roots = set(self.found.roots) - (set() if self.found.asked else bounding)
        for path in files:
            if path in bounding - roots - included:
                self._constraints(path)
        for path in _innermost_first(files):
            shared = path in included
            alone = path in roots and not (shared and not self.found.asked and names.of_file(path) in _SHARED)
            environment = self._draft(names.of_file(path), "requirements", path) if alone else None
            if environment is not None:
                environment.summary = path
            if shared:
                wish = names.of_file(path) + ("-base" if alone else "")
                base = self._draft(wish, "requirements", path)
                base.abstract = True
                self.bases[path] = base
                self._fill(base, path)
                if environment is not None:
                    environment.extends.append(base.name)
            elif environment is not None:
                self._fill(environment, path)

    def _fill(self, draft: Draft, path: str) -> None:
        file = self.found.files[path]
        draft.places.append(f"{path}:")
        for other in dict.fromkeys([*file.included, *file.constraints]):
            if other in self.bases and self.bases[other].name not in draft.extends:
                draft.extends.append(self.bases[other].name)
            elif other not in self.bases:
                add_holds(draft, self._wanted(other, draft, bounds=True), self.targets, self.out)
        draft.requires += self._wanted(path, draft)

    def _wanted(self, path: str, draft: Draft, *, bounds: bool = False) -> list[Wanted]:
        """The requirements of a file; what else its lines say goes to the draft, or is noted. ``bounds``: as by -c."""
        found: list[Wanted] = []
        file = self.found.files[path]
        lost_hashes(file, self.out)
        for entry in file.entries:
            place = Place(path, entry.line)
            lost_options(entry, place, draft, self.out)
            if bounds and entry.values("--requirement"):
                self.out.notes.append(
                    Note(place, entry.text, "left out: -r in a file of constraints", "name that by -c")
                )
            if not entry.requirement:
                continue
            if bounds and (entry.editable or is_reference(entry.requirement)):
                what = "left out: [hold] takes a version, and this is a URL or a path"
                self.out.notes.append(Note(place, entry.text, what, "write a version"))
                continue
            carried = carry(entry.requirement, place, entry.text, self.out, editable=entry.editable)
            if isinstance(carried, Local):
                found += self._local(carried, place, entry.text, draft)
            elif carried is not None:
                if entry.variables:
                    what = f"{', '.join(entry.variables)} taken from this run's environment"
                    self.out.notes.append(Note(place, entry.text, what, f"envs/ says {carried.requirement}"))
                found.append(carried)
        return found

    def _local(self, local: Local, place: Place, said: str, draft: Draft) -> list[Wanted]:
        """What a project of this machine requires; the project itself is in no lock."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(place.file), local.path))
        project = self.found.project(local.path) or self.found.project(beside)
        if project is None or not (project.has_project or project.groups):
            what = (
                "left out: a lock holds packages of an index, and no pyproject.toml there tells what this one requires"
            )
            self.out.notes.append(Note(place, said, what, "add what it requires to requires"))
            return []
        what = f"its requirements are carried over from {project.file}, itself it is in no lock"
        install = f"`uv pip install --no-deps -e {local.path}` after the lock" if local.path else ""
        self.out.notes.append(Note(place, said, what, install))
        marker = Requirement(f"x ; {local.marker}").marker if local.marker else None
        wanted: list[Wanted] = []
        base = self.bases.get(project.file)
        if base is not None and marker is None:
            draft.extends += [base.name] if base.name not in draft.extends else []
        else:
            wanted += project.dependencies
        for extra in local.extras:
            known = project.of_extra(extra)
            if known is None:
                problem = place.problem(f"{project.file} has no extra {extra!r}", "take it out, or name another")
                self.out.problems.append(problem)
            wanted += known or []
        return [under(each, marker) for each in wanted]

    def _constraints(self, path: str) -> None:
        draft = self._draft(names.of_file(path), "constraints", path)
        draft.abstract = True
        draft.places.append(f"{path}:")
        draft.remark = "Bounds only: nothing here is required, but where a package comes in, it is held to these."
        self.bases[path] = draft
        wanted = self._wanted(path, draft, bounds=True)
        for other in self.found.files[path].constraints:
            wanted += self._wanted(other, draft, bounds=True)
        add_holds(draft, wanted, self.targets, self.out)

    # -- the end ---------------------------------------------------------------------------------------

    def finish(self) -> tuple[list[Draft], list[Other]]:
        """The drafts that hold something, with the bounds of several bases put together, and their notes."""
        known = {draft.name: draft for draft in self.drafts}
        kept = []
        for draft in self.drafts:
            lineage = _lineage(draft, known)
            if not draft.abstract and not any(one.requires for one in lineage):
                what = "nothing is left to require, so no environment is made of it"
                place = draft.origin.partition(", ")
                self.out.notes.append(Note(Place(place[0], key=place[2]), "", what))
                continue
            if not draft.abstract:
                join_holds(draft, lineage)
            kept.append(draft)
        needed = {one.name for draft in kept if not draft.abstract for one in _lineage(draft, known)}
        kept = [draft for draft in kept if draft.name in needed]
        if not any(not draft.abstract for draft in kept) and not self.out.problems:
            what = "nothing is found that an environment could require"
            hint = "name a requirements file or a pyproject.toml with dependencies"
            self.out.problems.append(Problem(file="the project", what=what, hint=hint))
            # What was not read, or left out, is why.
            self.out.problems.extend(note.place.problem(note.text, note.hint) for note in self.out.notes if note.hint)
        others = other_indexes(self.found.files.values(), self.found.projects)
        used = add_sources(kept, others, self.found.projects, self.targets, self.out)
        files = list(dict.fromkeys(note.place.file for note in self.out.notes))
        self.out.notes.sort(key=lambda note: (files.index(note.place.file), note.place.line))
        for draft in kept:
            mine = tuple(draft.places)
            draft.notes += [note for note in dict.fromkeys(self.out.notes) if mine and str(note.place).startswith(mine)]
        return sorted(kept, key=lambda draft: not draft.abstract), used


def _innermost_first(files: Mapping[str, RequirementsFile]) -> list[str]:
    """The paths so that whatever a file includes comes before it."""
    order: dict[str, None] = {}

    def visit(path: str) -> None:
        if path not in order:
            for other in files[path].included:
                visit(other)
            order.setdefault(path)

    for path in files:
        visit(path)
    return list(order)


def _lineage(draft: Draft, known: Mapping[str, Draft]) -> list[Draft]:
    """The bases of a draft, and itself."""
    found: list[Draft] = []
    for name in draft.extends:
        found += [base for base in _lineage(known[name], known) if base not in found]
    return [*found, draft]
