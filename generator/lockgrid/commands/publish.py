"""One branch for one proposal: made from the base each time, pushed under a lease, never over somebody's work.

The order of steps makes it safe to kill at any moment: objects that nobody refers to, then the remote's branch, which
moves in one step or not at all, then the local one. What a killed run did not come to, the next one does.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from lockgrid.adapters.cache import cache_folder
from lockgrid.adapters.gitwrite import Desk, RemoteState, Repository
from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.core.published import foreign_files, is_own, same_but_for_dates, sign
from lockgrid.errors import InputError, Problem, ToolError
from lockgrid.model.branch import DEFAULT_BRANCH, Commit, Outcome

_THEIRS = (
    "merge the branch, or move these commits to another one and delete it, then run again; nothing of it was touched"
)
_NAMED = 5
_WALKED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the command line says. ``remote`` empty: only the local branch; ``base`` empty: see ``open_branch``."""

    branch: str = DEFAULT_BRANCH
    remote: str = ""
    base: str = ""


class Branch:
    """The branch of proposals as it was found: nobody but lockgrid has a commit on it, here or at the remote.

    ``base`` is the commit that a proposal is made of, ``base_name`` what it is called.
    """

    def __init__(self, repository: Repository, place: Place, remote: RemoteState | None, base: tuple[str, str]) -> None:
        self.repository = repository
        self.place = place
        self.base_name, self.base = base
        self._pushed = remote.tips.get(place.branch) if remote else None
        self._local = repository.branch(place.branch)
        self._refuse_work_of_others()

    def _refuse_work_of_others(self) -> None:
        """Raise ``InputError`` where a tip is neither lockgrid's own nor part of the base already."""
        for tip, where in ((self._pushed, self.place.remote), (self._local, "this repository")):
            if tip and not self._is_free(tip):
                lines = [f"{c.id[:12]} {c.subject!r} by {c.author}" for c in self._foreign(tip)]
                what = f"holds commits of others: {', '.join(lines)}"
                raise InputError([Problem(file=f"{self.place.branch} in {where}", what=what)], next_step=_THEIRS)

    def _is_free(self, tip: str) -> bool:
        return is_own(self.repository.commit(tip)) or self.repository.is_ancestor(tip, self.base)

    def _foreign(self, tip: str) -> list[Commit]:
        """The newest commits of others, down to one of lockgrid's own or of the base."""
        found: list[Commit] = []
        for _ in range(_WALKED):
            commit = self.repository.commit(tip)
            if is_own(commit) or self.repository.is_ancestor(tip, self.base):
                break
            found.append(commit)
            # A merge is named too; what it brought in from the side stands on the base, mostly.
            tip = commit.parents[0] if commit.parents else ""
            if not tip or not self.repository.resolve(tip) or len(found) == _NAMED:
                break
        return found

    def publish(self, commit: str) -> Outcome:
        """Let the branch be this commit of lockgrid's own; where it holds the same on the same base, leave it."""
        new = self.repository.commit(commit)
        wanted = next((tip for tip in (self._pushed, self._local) if tip and self._same(tip, new)), commit)
        before = self._pushed if self.place.remote else self._local
        if self.place.remote and self._pushed != wanted:
            self.repository.push(self.place.remote, self.place.branch, wanted, self._pushed)
        if self._local != wanted:
            self.repository.set_branch(self.place.branch, wanted, self._local)
        state = "opened" if before is None else "same" if before == wanted else "updated"
        return self._outcome(state, self.repository.commit(wanted))

    def _same(self, tip: str, new: Commit) -> bool:
        old = self.repository.commit(tip)
        if not is_own(old) or old.parents != new.parents:
            return False
        prefix = self.repository.prefix
        paths = self.repository.differing(old.tree, new.tree)
        if not all(path.startswith(prefix) for path in paths):
            return False
        old_files, new_files = (
            {path.removeprefix(prefix): self.repository.blob(tree, path) for path in paths}
            for tree in (old.tree, new.tree)
        )
        return same_but_for_dates(old_files, new_files)

    def close(self) -> Outcome:
        """There is nothing to propose: remove the branch, at the remote first."""
        if not self._pushed and not self._local:
            return self._outcome("none")
        if self._pushed:
            self.repository.push(self.place.remote, self.place.branch, None, self._pushed)
        if self._local:
            self.repository.set_branch(self.place.branch, None, self._local)
        return self._outcome("closed")

    def check_made_by_refresh(self, commit: str) -> list[str]:
        """Raise ``InputError`` where a commit from elsewhere is not what ``refresh`` makes of a base known here.

        Returns the files, from the project's folder, that ``refresh`` writes only if they are copies of ``pins.toml``.
        """
        known = self.repository.commit(commit)
        if not is_own(known) or len(known.parents) != 1 or not self.repository.is_ancestor(known.parents[0], self.base):
            what = f"{commit[:12]} is no commit that `lockgrid refresh` made on {self.base_name}, as it was made"
            raise InputError([Problem(file="command line", key="--from", what=what, hint="run refresh again")])
        prefix = self.repository.prefix
        paths = self.repository.differing(known.parents[0], commit)
        if outside := [path for path in paths if not path.startswith(prefix)]:
            raise _not_of_a_refresh(commit, outside)
        return foreign_files([path.removeprefix(prefix) for path in paths])

    def _outcome(self, state: str, commit: Commit | None = None) -> Outcome:
        return Outcome(
            state=state,
            branch=self.place.branch,
            base=self.base_name,
            remote=self.place.remote,
            commit=commit.id if commit else "",
            title=commit.subject if commit else "",
        )


class Draft:
    """The files of the base in a folder apart, to be changed: ``project`` is the project's folder there."""

    def __init__(self, branch: Branch, desk: Desk) -> None:
        self._branch = branch
        self._desk = desk
        self.base_name = branch.base_name
        self.project = desk.tree / branch.repository.prefix
        branch.repository.lay_out(branch.base, desk)

    def propose(self, paths: Iterable[str], message: str) -> Outcome:
        """Put the files ``paths`` (from the project's folder), as they are now, onto the branch, or close it.

        ``message`` says what they change and why; its first line becomes the title.
        """
        repository = self._branch.repository
        tree = repository.write_tree(self._desk, [f"{repository.prefix}{path}" for path in paths])
        if tree == repository.commit(self._branch.base).tree:
            return self.close()
        signed = sign(message, tree, self._branch.base)
        return self._branch.publish(repository.make_commit(tree, self._branch.base, signed))

    def close(self) -> Outcome:
        """There is nothing to propose: remove the branch."""
        return self._branch.close()


def open_branch(context: Context, place: Place) -> Branch:
    """Look at the branch and its base, before anything costs time.

    The base: with a remote its branch ``place.base``, or its default branch; without one the revision ``place.base``,
    or HEAD. Raises ``InputError`` for a base that there is not, for a branch that is checked out, for commits of others
    on it, and where git knows no author; ``ToolError`` where the remote cannot be reached.
    """
    repository = Repository(context.store.root, context.environ)
    repository.check_identity()
    repository.check_branch(place.branch)
    if not place.remote:
        name = place.base or "HEAD"
        base = repository.resolve(name)
        if base is None:
            raise _no_base(name, "is no revision here", "name a branch that has a commit")
        _check_apart(place, name)
        return Branch(repository, place, None, (name, base))
    state = repository.remote_state(place.remote, [place.branch, *([place.base] if place.base else [])])
    name = place.base or state.default
    if not name:
        raise _no_base("", "the remote has no default branch", "name the branch to start from")
    _check_apart(place, name)
    if name not in state.tips:
        raise _no_base(name, "the remote has no such branch", "name one that it has")
    wanted = {name: state.tips[name]}
    if place.branch in state.tips:
        wanted[place.branch] = state.tips[place.branch]
    repository.fetch(place.remote, wanted)
    return Branch(repository, place, state, (name, state.tips[name]))


def publish_commit(context: Context, place: Place, revision: str | None) -> Outcome:
    """Publish a commit that ``refresh`` made, maybe in another clone; None: there is nothing to propose any more.

    Raises ``InputError`` where it is not wholly of refresh's own making, and as ``open_branch`` does.
    """
    branch = open_branch(context, place)
    if revision is None:
        return branch.close()
    commit = branch.repository.resolve(revision)
    if commit is None:
        problem = Problem(file="command line", key="--from", what=f"{revision!r} is no revision here", hint="fetch it")
        raise InputError([problem])
    if others := branch.check_made_by_refresh(commit):
        with _desk(context) as desk:
            _check_copies(context, branch, desk, commit, others)
    return branch.publish(commit)


def _check_copies(context: Context, branch: Branch, desk: Desk, commit: str, paths: Sequence[str]) -> None:
    """Raise ``InputError`` where files are anything but copies of the base's ``pins.toml``, rewritten for its locks.

    Whoever could write the commit may have chosen versions in its locks, and no other character of these files.
    """
    from lockgrid.commands.copies import rewritten

    repository, (parent,) = branch.repository, branch.repository.commit(commit).parents
    prefix = repository.prefix
    repository.lay_out(parent, desk)
    project = Store(desk.tree / prefix)
    own = [path.removeprefix(prefix) for path in repository.differing(parent, commit)]
    new = {path: repository.blob(commit, f"{prefix}{path}") for path in own if path not in paths}
    texts = {path: None if data is None else data.decode("utf-8", "replace") for path, data in new.items()}
    copies = {path: text for path, text in rewritten(replace(context, store=project), texts).items() if path in paths}
    project.replace(copies)
    tree = repository.write_tree(desk, [f"{prefix}{path}" for path in copies])
    differing = {path.removeprefix(prefix) for path in repository.differing(tree, commit)}
    if wrong := [path for path in paths if path in differing]:
        raise _not_of_a_refresh(commit, wrong)


def _not_of_a_refresh(commit: str, paths: Sequence[str]) -> InputError:
    what = f"{commit[:12]} changes files that no refresh writes: {', '.join(paths[:_NAMED])}"
    return InputError([Problem(file="command line", key="--from", what=what, hint="do not use it")])


def _check_apart(place: Place, base: str) -> None:
    if base == place.branch:
        raise _no_base(base, "is the branch of the proposal itself", "name another one")


def _no_base(name: str, what: str, hint: str) -> InputError:
    return InputError([Problem(file="command line", key=f"--base {name}".strip(), what=what, hint=hint)])


@contextmanager
def open_draft(context: Context, place: Place) -> Iterator[Draft]:
    """The branch, and the files of its base in a folder of lockgrid's own; see ``open_branch`` for errors.

    One run at a time for each project; what a killed one left there is cleared away by the next.
    """
    with _desk(context) as desk:
        yield Draft(open_branch(context, place), desk)


@contextmanager
def _desk(context: Context) -> Iterator[Desk]:
    """An empty folder of lockgrid's own for the files of a commit."""
    cache = cache_folder(context.environ)
    name = sha256(str(context.store.root.resolve()).encode()).hexdigest()[:16]
    folder = cache / "proposals" / name
    with Store(folder).exclusive(cache, context.progress.note):
        try:
            _clear(folder)
            folder.mkdir(parents=True)
        except OSError as error:
            raise ToolError(
                f"cannot be cleared: {error}", where=str(folder), next_step="remove it, or set LOCKGRID_CACHE_DIR"
            ) from error
        try:
            yield Desk(folder)
        finally:
            with suppress(OSError):
                _clear(folder)


def _clear(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
