"""``lockgrid pins check`` and ``lockgrid pins sync``: the copies of a version held against its truth.

``read_pins`` reads everything into values. What follows is pure: ``judge`` for check, ``plan`` for sync and for whoever
moves a truth and wants the rewritten texts in a commit of its own (``moved``).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lockgrid.adapters.tree import Tree
from lockgrid.commands.context import Context
from lockgrid.core.pins.judge import Plan, in_one_tree, judge, plan, wanted_files
from lockgrid.core.pins.rules import PATH, parse_pins
from lockgrid.core.pins.text import Text
from lockgrid.core.pins.truths import FileKey, World
from lockgrid.core.uvproject import read_locks
from lockgrid.errors import InputError, Problem
from lockgrid.model.grid import Lockfile
from lockgrid.model.pins import GitTruth, PackageTruth, PinReport, PinRule, Row, State

_BUILD = "build.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The rules and all that they need, read; ``file`` is where the rules stand, for messages."""

    file: str
    tree: Tree
    rules: tuple[PinRule, ...]
    world: World
    today: datetime.date


def read_pins(context: Context, *, tree: Path | None = None, file: str = "") -> Pins:
    """``pins.toml`` (or ``file``, from the current folder), the truths' files and the copies.

    The copies are those of ``tree``, of the project where that is None. Raises ``InputError`` for a pins.toml that is
    missing or wrong, for a tree that is not there, and for broken lockfiles.
    """
    text = context.store.read(PATH) if not file else _other(file)
    name = file or PATH
    if text is None:
        what = "there is no such file" if file else "there is no such file beside envs/"
        raise InputError(
            [Problem(file=name, what=what)], next_step="write it: docs/pins.md tells how, or name it by --pins"
        )
    rules = parse_pins(text, name)
    project = Tree(context.store.root)
    copies = project if tree is None else Tree(tree)
    if copies.root == project.root:
        rules = in_one_tree(rules)
        _refuse_locks(name, rules)
    sources = {type(rule.truth) for rule in rules}
    world = World(
        locks=locks_of(context.lockfile_texts()) if PackageTruth in sources else {},
        environments=context.store.read_environments() if GitTruth in sources else {},
        files=_files(rules, project, copies),
    )
    today = datetime.datetime.fromtimestamp(context.clock(), datetime.UTC).date()
    if copies.root == project.root:
        _refuse_links_to_locks(name, rules, world)
    return Pins(file=name, tree=copies, rules=rules, world=world, today=today)


def locks_of(texts: Mapping[str, str]) -> dict[tuple[str, str], Lockfile]:
    """The lockfiles in which truths are looked up, of the texts below ``locks/``. Raises ``InputError``."""
    return read_locks({path: text for path, text in texts.items() if path != _BUILD})


def check(pins: Pins) -> tuple[PinReport, ...]:
    """Every pin with its copies."""
    return judge(pins.rules, pins.world, pins.today)


def moved(
    pins: Pins, *, locks: Mapping[tuple[str, str], Lockfile] | None = None, texts: Mapping[str, str] | None = None
) -> Plan:
    """What brings the copies in step with truths that moved: new lockfiles, and new texts of files in the tree by path.

    Only the pins count whose truth moves with these; of others nothing is judged. Pure: nothing is written, so that a
    refresh can put the plan's texts and changes into the commit that moves the truth. Raises ``InputError`` as ``sync``
    does.
    """
    world = pins.world if locks is None else replace(pins.world, locks=locks)
    if texts:
        environments = {path: texts.get(path, text) for path, text in world.environments.items()}
        made = {path: Text(text, path) for path, text in texts.items()}
        files = {
            key: made.get(text.path, text) if isinstance(text, Text) else text for key, text in world.files.items()
        }
        world = replace(world, environments=environments, files=files)
    return _checked(pins, plan(pins.rules, world, pins.today, since=pins.world))


def _checked(pins: Pins, planned: Plan) -> Plan:
    problems = report_problems(pins, planned.reports, planned.errors)
    if problems:
        raise InputError(problems, next_step="nothing was changed; `lockgrid pins check` shows every copy")
    return planned


def sync(pins: Pins, *, dry_run: bool) -> Plan:
    """Bring every copy in step, all files or none.

    Raises ``InputError`` where a copy or a truth cannot be told, ``ToolError`` where a file cannot be written.
    """
    planned = _checked(pins, plan(pins.rules, pins.world, pins.today))
    if planned.texts and not dry_run:
        pins.tree.replace(planned.texts)
    return planned


def report_problems(pins: Pins, reports: tuple[PinReport, ...], more: tuple[Row, ...] = ()) -> list[Problem]:
    """The truths that cannot be told and the copies that cannot be judged, as faults of the input."""
    problems = [
        Problem(file=pins.file, key=f"pins.{report.name}.truth", what=report.what)
        for report in reports
        if report.truth is None
    ]
    rows = [row for report in reports if report.truth for row in report.rows if row.state is State.ERROR]
    problems += [Problem(file=row.where, key=f"pins.{row.pin}", what=row.what) for row in [*rows, *more]]
    return problems


def before(pins: Pins, path: str) -> str:
    """The text of a file of the tree as it was read, by its own path."""
    return next(
        text.text
        for (of_tree, _), text in pins.world.files.items()
        if of_tree and isinstance(text, Text) and text.path == path
    )


def _other(file: str) -> str | None:
    from lockgrid.adapters.store import Store

    path = Path(file)
    return Store(path.parent).read(path.name)


def _files(rules: tuple[PinRule, ...], project: Tree, copies: Tree) -> dict[FileKey, Text | str]:
    """Every file that is wanted; one that is named in several ways is one ``Text``."""
    known: dict[tuple[bool, str], Text] = {}
    found: dict[FileKey, Text | str] = {}
    for of_tree, path in wanted_files(rules):
        read = (copies if of_tree else project).read(path)
        if isinstance(read, str):
            found[of_tree, path] = read
        else:
            found[of_tree, path] = known.setdefault((of_tree, read.path), Text(read.text, read.path))
    return found


def _refuse_locks(file: str, rules: tuple[PinRule, ...]) -> None:
    problems = [
        Problem(
            file=file,
            key=f"pins.{rule.name}.copies[{index}].file",
            what=f"{copy.file} is written by `lockgrid lock`, so it is no copy",
        )
        for rule in rules
        for index, copy in enumerate(rule.copies)
        if copy.file.startswith("locks/")
    ]
    if problems:
        raise InputError(problems)


def _refuse_links_to_locks(file: str, rules: tuple[PinRule, ...], world: World) -> None:
    problems = []
    for rule in rules:
        for index, copy in enumerate(rule.copies):
            text = world.files[True, copy.file]
            if isinstance(text, Text) and text.path.startswith("locks/"):
                what = f"{copy.file} is a link to {text.path}, which is written by `lockgrid lock`, so it is no copy"
                problems.append(Problem(file=file, key=f"pins.{rule.name}.copies[{index}].file", what=what))
    if problems:
        raise InputError(problems)
