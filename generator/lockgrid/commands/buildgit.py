"""One wheel of a git source: the commit's content, a venv with pinned files, the build, the wheel written anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lockgrid.adapters.contents import read_contents
from lockgrid.adapters.disk import hash_of
from lockgrid.adapters.gitbuild import Place, asked_by_backend, build, build_environ, fill_venv, last_lines
from lockgrid.adapters.gitfetch import Exported, GitFetch
from lockgrid.adapters.gitwheels import read_wheel
from lockgrid.adapters.rewheel import rewrite_wheel
from lockgrid.adapters.source import LocalFile
from lockgrid.commands.build import resolve_requirements
from lockgrid.commands.context import Context
from lockgrid.commands.locked import Locked
from lockgrid.commands.resolve import Resolver
from lockgrid.core.binaries import judge_binaries
from lockgrid.core.candidates import wheel_rank
from lockgrid.core.floor import target_floor
from lockgrid.core.git import build_digest, encode_provenance, tree_digest
from lockgrid.core.gitwheels import identity, tree_mismatch
from lockgrid.core.render.requirements import BUILD, pin_lines
from lockgrid.core.sdist import build_system
from lockgrid.core.targets import marker_applies
from lockgrid.errors import ToolError
from lockgrid.model.git import PROVENANCE, Provenance
from lockgrid.model.grid import ProvenCell
from lockgrid.model.spec import GitSource
from lockgrid.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A wheel that now stands in the folder. ``was``: the sha256 of what stood there, empty where nothing did."""

    source: GitSource
    python: str
    filename: str
    sha256: str
    size: int
    tree: str
    was: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A commit in its mirror. ``seconds`` since the epoch, when it was made."""

    source: GitSource
    mirror: Path
    seconds: int


@dataclass(frozen=True, slots=True)
class WheelBuild:
    """Builds wheels into the folder ``out``; ``old`` is what stands in ``locks/``."""

    context: Context
    resolver: Resolver
    git: GitFetch
    old: Locked
    out: Path

    def run(self, fetched: Fetched, target: Target, python: str, place: Place) -> Made:
        """The wheel, in its place."""
        source = fetched.source
        self.context.progress.step(f"building {source.label} for Python {target.python}")
        place.clear()
        exported = self.git.export(fetched.mirror, source.rev, place.source, fetched.seconds)
        self._say(source, exported)
        tree = tree_digest(exported.files)
        self._check_tree(source, tree)
        folder = place.source / source.subdirectory
        environ = self._environ(place, target, fetched.seconds)
        requires, cell = self._prepare(source, folder, target, python, (place, environ))
        wheel, said = build(self.resolver.uv, place, folder, environ)
        if wheel is None:
            raise ToolError(f"the build failed:\n    {said}", where=f"{source.label}, Python {target.python}")
        pins = [(pin.name, pin.version, (pin.file.sha256,)) for pin in cell.pins]
        provenance = Provenance(
            rev=source.rev,
            subdirectory=source.subdirectory,
            tree=tree,
            platform=target.platform.name,
            python=target.python,
            requires=requires,
            pins=tuple(f"{name}=={version}" for name, version, _ in pins),
            build=build_digest(pins),
        )
        return self._finish(wheel, fetched, target, provenance)

    def _environ(self, place: Place, target: Target, seconds: int) -> dict[str, str]:
        """The variables of the build: no login of an index is among them."""
        values = build_environ(place, target, seconds, self.context.environ.get("PATH", ""))
        return {**dict.fromkeys((key for key in self.resolver.uv.environ if key.startswith("UV_INDEX")), ""), **values}

    def _prepare(
        self, source: GitSource, folder: Path, target: Target, python: str, where: tuple[Place, Mapping[str, str]]
    ) -> tuple[tuple[str, ...], ProvenCell]:
        """The venv filled with what the build asks for: that, and its pins."""
        place, environ = where
        try:
            text = (folder / "pyproject.toml").read_bytes() if (folder / "pyproject.toml").exists() else b""
            if not text and not (folder / "setup.py").exists():
                raise ValueError("there is neither a pyproject.toml nor a setup.py")
            system = build_system(text)
        except ValueError as error:
            at = f"{source.label}, {source.subdirectory or 'its root'}"
            raise ToolError(str(error), where=at, next_step="check `rev` and `subdirectory`") from error
        requires = system.requires
        cell = self._fill(source, requires, target, python, place)
        names = {canonicalize_name(Requirement(line).name) for line in requires}
        environ = {**self.resolver.uv.environ, **environ}
        asked = asked_by_backend(place, folder, system.backend, system.path, environ)
        more = tuple(str(Requirement(line)) for line in asked)
        if any(canonicalize_name(Requirement(line).name) not in names or Requirement(line).specifier for line in more):
            requires = tuple(dict.fromkeys((*requires, *more)))
            cell = self._fill(source, requires, target, python, place)
        return tuple(sorted(requires)), cell

    def _fill(
        self, source: GitSource, requires: Sequence[str], target: Target, python: str, place: Place
    ) -> ProvenCell:
        """The venv with exactly what ``requires`` needs, out of locks/build.txt where that has it."""
        wanted = [line for line in requires if _applies(line, target)]
        if wanted:
            cell = resolve_requirements(self.resolver, wanted, [target], [source.label])[0]
        else:
            cell = ProvenCell(environment=BUILD, target=target, pins=())
        self._say_moved(cell, target)
        lines = [line for pin in cell.pins for line in pin_lines(pin.name, pin.version, "", [pin.file.sha256])]
        if said := fill_venv(self.resolver.uv, place, python, "".join(f"{line}\n" for line in lines)):
            raise ToolError(f"what builds it cannot be installed:\n    {last_lines(said)}", where=source.label)
        return cell

    def _say_moved(self, cell: ProvenCell, target: Target) -> None:
        locked = self.old.locks.get((BUILD, BUILD))
        for pin in cell.pins if locked else ():
            versions = [p.version for p in locked.named(pin.name) if target.python in p.pythons] if locked else []
            if versions and pin.version not in versions:
                what = (
                    f"{pin.name} {pin.version} builds it, and locks/build.txt has {versions[0]}: the bytes may differ"
                )
                self.resolver.learner.note_once(what)

    def _say(self, source: GitSource, exported: Exported) -> None:
        for paths, what in (
            (exported.submodules, "is a submodule, which is not fetched: its folder is empty"),
            (exported.pointers, "is kept by Git LFS, which is not asked: the file is a pointer"),
        ):
            for path in paths[:3]:
                self.resolver.learner.note_once(f"{source.label}: {path} {what}")
            if len(paths) > 3:
                self.resolver.learner.note_once(f"{source.label}: so do {len(paths) - 3} more that are like {paths[0]}")

    def _check_tree(self, source: GitSource, tree: str) -> None:
        for record in self.old.grid.git if self.old.grid else ():
            if (record.package, record.rev, record.subdirectory) == identity(source) and record.tree != tree:
                raise tree_mismatch(source.name, source.rev, record.tree, tree)

    def _finish(self, wheel: Path, fetched: Fetched, target: Target, provenance: Provenance) -> Made:
        source, final = fetched.source, self.out / wheel.name
        name = wheel.name.partition("-")[0]
        if canonicalize_name(name) != source.name:
            what = f"it builds the package {canonicalize_name(name)}"
            raise ToolError(
                what, where=f"{source.file}: {source.key}", next_step=f"write [git] {canonicalize_name(name)}"
            )
        if wheel_rank(wheel.name, target) is None:
            what = f"the build made {wheel.name}, which {target.label} does not take"
            raise ToolError(
                what, where=source.label, next_step="raise the floor in envs/targets.toml, or build elsewhere"
            )
        was = hash_of(final)
        digest = rewrite_wheel(wheel, final, {PROVENANCE: encode_provenance(provenance)}, fetched.seconds)
        built = read_wheel(final)
        with LocalFile(final) as file:
            findings = judge_binaries(read_contents(final.name, file), [target_floor(target)])
        for finding in findings:
            if finding.severity == "error":
                self.resolver.learner.note_once(f"{final.name}: {finding.what}, so `lock` will not take it as it is")
        self._say_other_bytes(source, final.name, digest)
        return Made(
            source=source,
            python=target.python,
            filename=final.name,
            sha256=digest,
            size=built.size,
            tree=provenance.tree,
            was=was,
        )

    def _say_other_bytes(self, source: GitSource, filename: str, digest: str) -> None:
        for record in self.old.grid.git if self.old.grid else ():
            for wheel in record.wheels if record.package == source.name and record.rev == source.rev else ():
                if wheel.filename == filename and wheel.sha256 != digest:
                    what = "has other bytes than the one that is locked: another compiler, or other build requirements"
                    self.context.progress.note(f"{filename} {what}")


def _applies(line: str, target: Target) -> bool:
    marker = Requirement(line).marker
    return marker is None or marker_applies(str(marker), target)
