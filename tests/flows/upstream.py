"""Upstream's own tests, those that the executorch wheel ships, in this venv.

    python upstream.py ENVIRONMENT [--all] [MODULE ...] [-k EXPRESSION] [PYTEST ARGS]

Without arguments the small selection of upstream.toml; `--all` takes every test module of the backend. A MODULE
(`executorch.backends.arm.test.ops.test_add`) or a case as pytest prints it (`executorch/.../test_add.py::name`)
replaces the modules, `-k` replaces the expression, and either takes all cases that it means. Cases that need what is
not on this machine are reported with that reason, never as passed. The exit code is pytest's own; a run in which
nothing passed fails.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import flow_report
from upstream_plugin import Need, Rules, Upstream

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest itself requires tomli
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
SITE = Path(sysconfig.get_path("purelib"))


@dataclass(frozen=True)
class Settings:
    """What upstream.toml says of one environment.

    `keyword` is for pytest's -k, empty for all cases; `each` the most cases of one test in the default selection, 0
    for all; `paths` are folders of the wheel in which modules are looked for when they are nowhere else.
    """

    modules: tuple[str, ...]
    everything: tuple[str, ...]
    keyword: str
    each: int
    paths: tuple[str, ...]
    rules: Rules


class UsageError(Exception):
    """Wrong arguments, or a selection that the wheel does not have."""


def read_settings(file: Path, environment: str) -> Settings:
    """The table of one environment. Raises `UsageError` when it has none."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if environment not in table["environments"]:
        known = ", ".join(table["environments"])
        raise UsageError(f"upstream ships no tests for {environment}, as far as {file.name} knows; it has {known}")
    own = table["environments"][environment]
    rules = Rules(
        needs=[Need(**need) for need in table.get("needs", ())],
        excuses=table.get("excuses", ()),
        deselect={entry["case"]: entry["why"] for entry in own.get("deselect", ())},
    )
    modules, everything, paths = (tuple(own.get(key, ())) for key in ("modules", "all", "paths"))
    return Settings(modules, everything, own["keyword"], own.get("each", 0), paths, rules)


def select(settings: Settings, given: Sequence[str], site: Path) -> tuple[list[str], int]:
    """pytest's arguments for what was given, and the most cases of one test, 0 for all. Raises `UsageError`.

    What is named starts with `executorch` and is found in `site`; all other arguments are pytest's own.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--pyargs", action="store_true")  # implied: modules are always found by name
    parser.add_argument("-k", dest="keyword")
    own, rest = parser.parse_known_args(given)
    named = [argument for argument in rest if re.match(r"executorch[./\\]", argument)]
    rest = [argument for argument in rest if argument not in named]
    if own.all and named:
        raise UsageError(f"--all takes every test module of the backend: leave {named[0]} out, or --all")
    modules = named or (settings.everything if own.all else settings.modules)
    keyword = own.keyword
    if keyword is None:  # who names cases wants these and no filter
        keyword = "" if named and all("::" in name for name in named) else settings.keyword
    paths = [_find(name, site) for name in modules]
    deselect = [f"--deselect={case}" for case in settings.rules.deselect]
    chosen = bool(named or own.all or own.keyword is not None)
    return [*paths, *(["-k", keyword] if keyword else []), *deselect, *rest], 0 if chosen else settings.each


def _find(name: str, site: Path) -> str:
    """The absolute path of a module, or of a case in its file, for pytest."""
    module, colons, case = name.partition("::")
    file = site / module if module.endswith(".py") or not re.fullmatch(r"[\w.]+", module) else None
    for path in (file,) if file else (site / f"{module.replace('.', '/')}.py", site / module.replace(".", "/")):
        if path.exists():
            return f"{path}{colons}{case}"
    folder = (file or site / module.replace(".", "/")).parent
    known = [path.stem for path in folder.glob("test_*.py")]
    near = difflib.get_close_matches((file.stem if file else module.rpartition(".")[2]), known, 1)
    hint = f"; the nearest is {near[0]}" if near else ""
    raise UsageError(f"the executorch wheel of this venv ships no {module}{hint}")


def main(arguments: Sequence[str], file: Path = HERE / "upstream.toml", site: Path = SITE) -> int:
    """Run the tests and return pytest's exit code; 4, as pytest has it, for wrong arguments."""
    environment, *given = arguments
    try:
        settings = read_settings(file, environment)
        chosen, each = select(settings, _absolute(given), site)
    except UsageError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    # The modules next to this file are the flows'; upstream's tests must not find them.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    sys.path += [str(site / path) for path in settings.paths]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="lockgrid-", ignore_cleanup_errors=True) as folder:
        options = _options(Path(folder), site)
        plugin = Upstream(settings.rules, site, _litter(Path(folder)), each)
        try:
            return int(pytest.main([*options, *chosen], [flow_report, plugin]))
        finally:
            os.chdir(before)


def _absolute(given: Sequence[str]) -> list[str]:
    """The arguments with the path of `--report` made absolute: it is written from another folder."""
    found = list(given)
    for place, argument in enumerate(found):
        if argument == "--report" and place + 1 < len(found):
            found[place + 1] = str(Path(found[place + 1]).absolute())
        elif argument.startswith("--report="):
            found[place] = f"--report={Path(argument.partition('=')[2]).absolute()}"
    return found


def _litter(folder: Path) -> Path:
    """The folder to run in, with one for temporary files beside it; no bytecode goes into the venv."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    (folder / "tmp").mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(folder / "tmp")
    tempfile.tempdir = None
    work = folder / "work"
    work.mkdir()
    return work


def _options(folder: Path, site: Path) -> list[str]:
    """Settings of its own: neither those of this repository nor a plugin that happens to be installed."""
    settings = folder / "pytest.ini"
    ignored = "\n".join(f"    ignore::{name}Warning" for name in ("Deprecation", "Future", "Syntax", "User"))
    ignored += "\n    ignore::pytest.PytestUnknownMarkWarning"  # upstream registers its marks elsewhere
    settings.write_text(f"[pytest]\nlog_level = WARNING\nfilterwarnings =\n{ignored}\n", encoding="utf-8")
    roots = ["-c", str(settings), "--rootdir", str(site), "--confcutdir", str(site)]
    return [*roots, "--import-mode=importlib", "--disable-plugin-autoload", "-p", "no:cacheprovider", "--tb=short"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
