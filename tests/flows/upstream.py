"""Upstream's own tests, those that the executorch wheel ships, in this venv.

    python upstream.py ENVIRONMENT [--all] [MODULE ...] [-k EXPRESSION] [PYTEST ARGS]

Without MODULE the small selection of upstream.toml; `--all` takes every test module of the backend. A MODULE
(`executorch.backends.arm.test.ops.test_add`) or a case as pytest prints it (`executorch/.../test_add.py::name`)
replaces the modules, `-k` replaces the expression. Cases that need what is not on this machine are reported
with that reason, never as passed. The exit code is pytest's own; a run in which nothing passed fails.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import flow_report

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest itself requires tomli
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
SITE = Path(sysconfig.get_path("purelib"))
_LONGEST_REASON = 200


@dataclass(frozen=True)
class Need:
    r"""Something that a test may need: `what`, and the exception by which upstream tells that it is missing.

    `raises` is the exception's class by its bare name, `text` a regular expression for the start of its message,
    whose groups `what` may name as \1.
    """

    what: str
    raises: str
    text: str

    def told_by(self, error: BaseException) -> str | None:
        """What is missing, if this very exception says so; the same class with another message does not."""
        if type(error).__name__ != self.raises:
            return None
        found = re.match(self.text, _message(error), re.DOTALL)
        return found.expand(self.what) if found else None


@dataclass(frozen=True)
class Settings:
    """What upstream.toml says of one environment; `keyword` is for pytest's -k, empty for all cases.

    `excuses` are regular expressions for the reasons of upstream's xfail marks that mean a missing tool and no
    defect. `deselect` has a reason for each case. `paths` are folders of the wheel in which modules are looked for
    when they are nowhere else.
    """

    modules: tuple[str, ...]
    everything: tuple[str, ...]
    keyword: str
    deselect: dict[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    excuses: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class UsageError(Exception):
    """Wrong arguments, or a selection that the wheel does not have."""


def read_settings(file: Path, environment: str) -> Settings:
    """The table of one environment. Raises `UsageError` when it has none."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if environment not in table["environments"]:
        known = ", ".join(table["environments"])
        raise UsageError(f"upstream ships no tests for {environment}, as far as {file.name} knows; it has {known}")
    own = table["environments"][environment]
    return Settings(
        modules=tuple(own["modules"]),
        everything=tuple(own["all"]),
        keyword=own["keyword"],
        deselect={entry["case"]: entry["why"] for entry in own.get("deselect", ())},
        needs=tuple(Need(**need) for need in table.get("needs", ())),
        excuses=tuple(table.get("excuses", ())),
        paths=tuple(own.get("paths", ())),
    )


def select(settings: Settings, given: Sequence[str], site: Path) -> list[str]:
    """pytest's arguments for what was given after the environment's name. Raises `UsageError`.

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
    deselect = [f"--deselect={case}" for case in settings.deselect]
    return [*paths, *(["-k", keyword] if keyword else []), *deselect, *rest]


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


class Upstream:
    """A pytest plugin: tells what a case needs apart from what fails, and refuses a run in which nothing passes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.passed = 0
        self.lines: dict[str, set[str]] = {}  # the cases of each line of the closing section

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Judge the exception itself: an xfail mark of upstream's takes any FileNotFoundError for a missing FVP."""
        report: Any = yield
        if call.excinfo is not None:
            self._judge(report, call.excinfo.value, bool(item.config.getoption("--require-all")))
        return report  # type: ignore[return-value]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """A module that cannot be imported for want of a package has a case of its own in the report."""
        report: Any = yield
        excinfo = report.call.excinfo if hasattr(report, "call") else None
        if excinfo is not None:
            # pytest wraps an ImportError in an error of its own
            error = excinfo.value.__cause__ or excinfo.value
            self._judge(report, error, bool(collector.config.getoption("--require-all")))
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            case = {"case": report.nodeid, "outcome": "skipped" if report.skipped else "error", "seconds": 0.0}
            message = reason.removeprefix("Skipped: ")[-4000:]
            collector.config.stash[flow_report._CASES][report.nodeid] = {**case, "figures": {}, "message": message}
        return report  # type: ignore[return-value]

    def _judge(self, report: Any, error: BaseException, require_all: bool) -> None:
        """Give the report of a case that did not pass the outcome and the reason that its exception tells."""
        need = next(filter(None, (need.told_by(error) for need in self.settings.needs)), None)
        excused = getattr(report, "wasxfail", None)
        if need is not None:
            reason = f"needs {need}: {_first_line(error)}"
            vars(report).pop("wasxfail", None)
            if require_all:
                report.outcome, report.longrepr = "failed", f"{reason}\n(refused by --require-all)"
            else:
                report.outcome, report.longrepr = "skipped", (report.nodeid.partition("::")[0], 0, f"Skipped: {reason}")
                self._count(f"needs {need}", report.nodeid)
        elif report.skipped and excused and any(re.match(text, excused) for text in self.settings.excuses):
            # the mark is for a missing tool alone, and this is something else
            del report.wasxfail
            report.outcome = "failed"
        elif report.skipped and excused is not None:
            self._count(f"upstream expects it to fail: {excused or 'no reason given'}", report.nodeid)
        elif report.skipped:
            self._count(f"upstream skips it: {_first_line(error)}", report.nodeid)

    def _count(self, line: str, case: str) -> None:
        self.lines.setdefault(line[:_LONGEST_REASON], set()).add(case)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what passed."""
        self.passed += report.when == "call" and report.passed

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Tell what upstream.toml leaves out; what -k leaves out is in pytest's own count."""
        for item in items:
            for case, why in self.settings.deselect.items():
                if item.nodeid.startswith(case):
                    self._count(f"left out by upstream.toml: {why}", item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """A run that only skips is no success."""
        result = yield
        if session.testscollected and not self.passed and not session.config.option.collectonly:
            raise session.Failed("nothing passed")
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Say what was not run to its end, and why: one line each reason."""
        if self.lines:
            terminalreporter.section("needs what is not here, or is known upstream")
            for line, cases in sorted(self.lines.items(), key=_needs_first):
                terminalreporter.line(f"{len(cases):5} {line}")
        if not self.passed and not config.option.collectonly:
            terminalreporter.line("nothing passed: a run that proves nothing is a failed run", red=True)


def _needs_first(line: tuple[str, set[str]]) -> tuple[bool, int, str]:
    return not line[0].startswith("needs "), -len(line[1]), line[0]


def _message(error: BaseException) -> str:
    """pytest's own outcomes (a skip, an xfail) say nothing by str(), but have a `msg`."""
    text = error.msg if isinstance(error, pytest.skip.Exception | pytest.fail.Exception) else None
    return str(error) if text is None else str(text)


def _first_line(error: BaseException) -> str:
    return (_message(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST_REASON]


def main(arguments: Sequence[str], file: Path = HERE / "upstream.toml", site: Path = SITE) -> int:
    """Run the tests and return pytest's exit code; 4, as pytest has it, for wrong arguments."""
    environment, *given = arguments
    try:
        settings = read_settings(file, environment)
        chosen = select(settings, _absolute(given), site)
    except UsageError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    # The modules next to this file are the flows'; upstream's tests must not find them.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    sys.path += [str(site / path) for path in settings.paths]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="lockgrid-", ignore_cleanup_errors=True) as folder:
        try:
            _stay_in(Path(folder))
            return int(pytest.main([*_options(Path(folder), site), *chosen], [flow_report, Upstream(settings)]))
        finally:
            os.chdir(before)


def _absolute(given: Sequence[str]) -> list[str]:
    """The arguments with the path of `--report` made absolute: the tests run in another folder."""
    found = list(given)
    for place, argument in enumerate(found):
        if argument == "--report" and place + 1 < len(found):
            found[place + 1] = str(Path(found[place + 1]).absolute())
        elif argument.startswith("--report="):
            found[place] = f"--report={Path(argument.partition('=')[2]).absolute()}"
    return found


def _stay_in(folder: Path) -> None:
    """Let what the tests write go to this folder, and no bytecode into the venv."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(folder / "tmp")
    tempfile.tempdir = None
    (folder / "tmp").mkdir()
    (folder / "work").mkdir()
    os.chdir(folder / "work")


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
