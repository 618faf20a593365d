"""``lockgrid refresh --test``: what breaks a test is found in few runs, held back, and the rest is proposed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import Start, few_targets, fresh_caches
from integration.locked import Locks
from integration.test_refresh import LOCKED, NOW, lock
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

NAMES = [f"p{number:02}" for number in range(40)]
TARGETS = few_targets("3.12").replace("[targets]", '[targets]\ncooldown = "7 days"')
COOL, LATER = "2026-03-15T12:00:00Z", "2026-04-20T12:00:00Z"
NEXT = "2026-05-10"

#: Fails while the pins fit one of the lines of ``broken.txt``: ``p07==1.1 p08==1.1``. ``runs.txt`` counts its runs.
CHECK = """
import json, os, pathlib, re, sys
log = pathlib.Path(os.environ["RUNS"])
log.write_text((log.read_text() if log.exists() else "") + "run\\n")
assert os.environ["LOCKGRID_RESULTS"] and not list(pathlib.Path(os.environ["LOCKGRID_RESULTS"]).iterdir())
failed = []
for env in pathlib.Path("locks").glob("*/linux-x86_64.txt"):
    pins = set(re.findall(r"^([a-z0-9-]+==[^ ]+)", env.read_text(), re.M))
    failed += [(env.parent.name, line) for line in pathlib.Path("broken.txt").read_text().splitlines()
               if set(line.split()) <= pins]
if failed:
    cases = [{"case": "case " + line, "outcome": "failed", "message": "E   3 steps off"} for _, line in failed]
    report = {"schema": 1, "environment": failed[0][0], "status": "failed", "cases": cases}
    pathlib.Path(os.environ["LOCKGRID_RESULTS"], "app.json").write_text(json.dumps(report))
    print("it does not work")
    sys.exit(1)
"""


def project_of(names: list[str], more: str = "", env: str = "") -> str:
    packages = "".join(f'[[packages]]\nname = "{name}"\nversion = "1.0"\n' for name in names)
    return f"{packages}{more}[envs.app]\nrequires = {json.dumps(names)}\n{env}{TARGETS}"


def upgrade(index: LocalIndex, names: list[str], version: str = "1.1", uploaded: str = COOL) -> None:
    for name in names:
        index.add(wheel(name, version), core_metadata=True, uploaded=uploaded)


def begin(start: Start, text: str, broken: str, script: str = CHECK) -> Project:
    """A project, locked as of March, with a test that fails for the pins of a line of ``broken``."""
    project = start(text)
    (project.folder / "check.py").write_text(script, encoding="utf-8")
    (project.folder / "broken.txt").write_text(broken, encoding="utf-8")
    lock(project, "--as-of", LOCKED).expect(0)
    return project


def refresh(project: Project, *args: str, now: str = NOW, command: str = "check.py", fresh: bool = False) -> Result:
    """The pages of the index are asked anew; what is known of tests stays, unless ``fresh``."""
    env = {"RUNS": str(runs_file(project))} | ({} if fresh else {"LOCKGRID_CACHE_DIR": str(project.store)})
    caches = fresh_caches(project)
    forget_pages(project)
    words = f"{sys.executable} {command}"
    return project.run("refresh", "--as-of", now, "--test", words, *args, env={**caches, **env})


def forget_pages(project: Project) -> None:
    """Empty lockgrid's cache of pages, as ten minutes would."""
    import sqlite3

    for file in project.store.glob("cache-*.sqlite3"):
        with sqlite3.connect(file) as connection:
            connection.execute("delete from entries where kind like '%page%'")


def runs_file(project: Project) -> Path:
    return project.home / "runs.txt"


def runs(project: Project) -> int:
    """How often the test ran since the last look."""
    file = runs_file(project)
    count = len(file.read_text().splitlines()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return count


def report(project: Project, *args: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(refresh(project, "--json", *args, **options).expect(0).out)
    return found


def versions(project: Project, environment: str = "app") -> dict[str, str]:
    return Locks(project).versions(environment, "linux-x86_64", "3.12")


def holds(project: Project, environment: str = "app") -> dict[str, Any]:
    text = (project.folder / f"envs/{environment}.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text).get("hold", {})
    return found


def test_all_that_passes_is_taken(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "")
    upgrade(index, NAMES[:3])
    result = report(project)["tested"]
    assert (result["state"], result["runs"], runs(project)) == ("passed", 1, 1)
    assert versions(project) == dict.fromkeys(NAMES[:3], "1.1")
    project.run("check").expect(0)


def test_one_of_forty_that_breaks_a_test_is_found_in_ten_runs(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES), "p23==1.1")
    upgrade(index, NAMES)
    result = report(project)["tested"]
    assert result["runs"] <= 10
    assert runs(project) == result["runs"] + result["reruns"] + 1  # and the baseline
    (culprit,) = result["culprits"]
    assert culprit["packages"] == ["p23"]
    assert culprit["trial"]["cases"] == [{"environment": "app", "case": "case p23==1.1", "message": "3 steps off"}]
    hold = holds(project)
    assert hold.keys() == {"p23"}
    assert hold["p23"]["version"] == "<1.1"
    assert hold["p23"]["why"] == "app: case case p23==1.1 failed: 3 steps off"
    assert versions(project) == {**dict.fromkeys(NAMES, "1.1"), "p23": "1.0"}
    project.run("check").expect(0)


def test_two_that_only_break_together_are_told_apart_in_eighteen_runs(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES), "p03==1.1 p31==1.1")
    upgrade(index, NAMES)
    result = report(project)["tested"]
    assert result["runs"] <= 18
    (culprit,) = result["culprits"]
    assert culprit["packages"] in (["p03"], ["p31"])
    assert list(versions(project).values()).count("1.1") == 39


def test_two_that_break_alone_are_both_held(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES), "p03==1.1\np31==1.1")
    upgrade(index, NAMES)
    result = report(project)["tested"]
    assert result["runs"] <= 18
    assert [c["packages"] for c in result["culprits"]] == [["p03"], ["p31"]]
    assert [c["trial"]["cases"][0]["case"] for c in result["culprits"]] == ["case p03==1.1", "case p31==1.1"]
    assert holds(project).keys() == {"p03", "p31"}


def test_a_second_run_changes_no_byte_and_tests_nothing(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:5]), "p03==1.1")
    upgrade(index, NAMES[:5])
    report(project)
    runs(project)
    before = project.snapshot(".")
    result = refresh(project).expect(0)
    assert result.out.startswith("nothing to refresh")
    assert len(result.out.splitlines()) == 1
    assert "still held: p03 <1.1" in result.err
    assert project.snapshot(".") == before
    assert runs(project) == 0


def test_a_hold_that_is_still_needed_stays_as_it_is_written(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:5]), "p03==1.1\np03==1.2")
    upgrade(index, NAMES[:5])
    report(project)
    written = (project.folder / "envs/app.toml").read_bytes()
    upgrade(index, ["p03", "p04"], "1.2", LATER)
    result = report(project, now=NEXT)["tested"]
    assert [(c["packages"], c["again"]) for c in result["culprits"]] == [(["p03"], True)]
    assert result["runs"] == 2  # suspected, so it is the first that is held
    assert (project.folder / "envs/app.toml").read_bytes() == written
    assert versions(project)["p03"] == "1.0"
    assert versions(project)["p04"] == "1.2"


def test_a_hold_that_is_no_longer_needed_goes(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:5]), "p03==1.1")
    before = (project.folder / "envs/app.toml").read_bytes()
    upgrade(index, NAMES[:5])
    report(project)
    upgrade(index, ["p03"], "1.2", LATER)
    result = report(project, now=NEXT)["tested"]
    assert [hold["package"] for hold in result["released"]] == ["p03"]
    assert (project.folder / "envs/app.toml").read_bytes() == before
    assert versions(project)["p03"] == "1.2"
    project.run("check").expect(0)


def test_a_hold_that_nothing_passes_is_not_touched(start: Start, index: LocalIndex) -> None:
    hold = '[envs.app.hold]\np01 = { version = "<2", why = "ported next year", since = 2026-01-01 }\n'
    project = begin(start, project_of(NAMES[:3], env=hold), "")
    upgrade(index, NAMES[:3])
    result = report(project)["tested"]
    assert [entry["package"] for entry in result["untried"]] == ["p01"]
    assert holds(project).keys() == {"p01"}


def test_what_is_held_moves_up_to_its_bound(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p01==1.2")
    upgrade(index, NAMES[:3])
    upgrade(index, NAMES[:3], "1.2")
    report(project)
    assert holds(project)["p01"]["version"] == "<1.2"
    assert versions(project) == {"p00": "1.2", "p01": "1.1", "p02": "1.2"}


def test_an_older_release_that_breaks_as_well_is_not_taken(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p01==1.2\np01==1.1")
    upgrade(index, NAMES[:3])
    upgrade(index, NAMES[:3], "1.2")
    report(project)
    assert versions(project) == {"p00": "1.2", "p01": "1.0", "p02": "1.2"}


def test_everything_breaks(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:2]), "p00==1.1\np01==1.1")
    upgrade(index, NAMES[:2])
    result = refresh(project).expect(0)
    assert "nothing can move: every update has to be held back" in result.out
    assert versions(project) == dict.fromkeys(NAMES[:2], "1.0")
    assert holds(project).keys() == set(NAMES[:2])


def test_a_test_that_fails_already_blames_no_update(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p00==1.0\np00==1.1")
    upgrade(index, NAMES[:3])
    before = project.snapshot(".")
    result = refresh(project).expect(4)
    assert "the test fails on the locks as they stand, so no update is to blame: app: case p00==1.0" in result.err
    assert "it does not work" in result.err
    assert project.snapshot(".") == before
    assert runs(project) == 4  # the candidate and the baseline, each twice


FLAKY = CHECK + "if log.read_text().count('run') == 1:\n    sys.exit('the network went away')\n"


def test_a_failure_counts_when_it_is_run_again(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "", FLAKY)
    upgrade(index, NAMES[:3])
    result = refresh(project).expect(0)
    assert "flaky: it failed and passed when it was run again: exit code 1: the network went away" in result.out
    assert versions(project) == dict.fromkeys(NAMES[:3], "1.1")
    assert not holds(project)


def test_a_test_that_hangs_is_ended_with_all_that_it_started(start: Start, index: LocalIndex) -> None:
    hangs = CHECK.replace("if failed:\n", "if failed:\n    import subprocess\n    subprocess.run(['sleep', '987'])\n")
    project = begin(start, project_of(NAMES[:2]), "p00==1.1", hangs)
    upgrade(index, NAMES[:2])
    result = report(project, "--test-timeout", "0.02")["tested"]
    assert [c["packages"] for c in result["culprits"]] == [["p00"]]
    assert result["candidate"]["timed-out"] is True
    assert "it took more than 2 s and was ended" in holds(project)["p00"]["why"]
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987" not in listed


def test_what_pins_another_exactly_is_held_with_it(start: Start, index: LocalIndex) -> None:
    head = '[[packages]]\nname = "head"\nversion = "1.0"\nrequires = ["tail-a==1.0", "tail-b==1.0"]\n'
    tails = "".join(f'[[packages]]\nname = "tail-{end}"\nversion = "1.0"\n' for end in "ab")
    text = project_of(NAMES[:6], head + tails).replace('= ["p00"', '= ["head", "p00"')
    project = begin(start, text, "tail-b==1.1")
    upgrade(index, [*NAMES[:6], "tail-a", "tail-b"])
    index.add(wheel("head", "1.1", requires=["tail-a==1.1", "tail-b==1.1"]), core_metadata=True, uploaded=COOL)
    result = report(project)["tested"]
    (culprit,) = result["culprits"]
    assert culprit["packages"] == ["head", "tail-a", "tail-b"]
    assert culprit["text"] == "head 1.0 -> 1.1, with 2 that move along"
    assert holds(project).keys() == {"head"}
    assert versions(project)["tail-b"] == "1.0"
    assert versions(project)["p05"] == "1.1"


def test_a_hold_that_cannot_be_resolved_is_passed_over(start: Start, index: LocalIndex) -> None:
    """What was locked is yanked now: such a package has to move, whatever else is held."""
    project = begin(start, project_of(NAMES[:8]), "p05==1.1")
    upgrade(index, NAMES[:8])
    for name in ("p02", "p03", "p04", "p06"):
        index.add(wheel(name, "1.0"), core_metadata=True, uploaded="2026-01-01T00:00:00Z", yanked="broken")
    result = report(project)["tested"]
    assert [c["packages"] for c in result["culprits"]] == [["p05"]]
    assert [text.split()[0] for text in result["moving"]] == ["p02", "p03", "p04", "p06"]
    assert versions(project) == {**dict.fromkeys(NAMES[:8], "1.1"), "p05": "1.0"}


def test_what_has_to_move_and_breaks_is_blamed_on_nothing_that_could_be_held(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p01==1.1")
    upgrade(index, NAMES[:3])
    index.add(wheel("p01", "1.0"), core_metadata=True, uploaded="2026-01-01T00:00:00Z", yanked="broken")
    before = project.snapshot(".")
    result = refresh(project).expect(4)
    assert "fails whatever update is held back: app: case p01==1.1: 3 steps off" in result.err
    assert "cannot be held, since no resolution keeps it: p01 1.0 -> 1.1" in result.err
    assert project.snapshot(".") == before


def test_the_hold_is_written_where_the_test_failed(start: Start, index: LocalIndex) -> None:
    text = project_of(NAMES[:3]) + '[envs.other]\napart = true\nrequires = ["p00", "p01"]\n'
    only_app = CHECK.replace('glob("*/', 'glob("app/')
    project = begin(start, text, "p01==1.1", only_app)
    upgrade(index, NAMES[:3])
    report(project)
    assert holds(project).keys() == {"p01"}
    assert not holds(project, "other")
    assert versions(project)["p01"] == "1.0"
    assert versions(project, "other")["p01"] == "1.1"


def test_every_environment_that_pins_it_gets_the_hold_where_nobody_says_which_failed(
    start: Start, index: LocalIndex
) -> None:
    text = project_of(NAMES[:3]) + '[envs.other]\napart = true\nrequires = ["p00", "p01"]\n'
    silent = CHECK.replace("write_text(json.dumps(report))", "touch()")
    project = begin(start, text, "p01==1.1", silent)
    upgrade(index, NAMES[:3])
    report(project)
    assert holds(project).keys() == holds(project, "other").keys() == {"p01"}
    assert holds(project)["p01"]["why"].endswith("check.py failed: exit code 1: it does not work")


def test_the_work_tree_is_only_read(start: Start, index: LocalIndex) -> None:
    """What the test does stays in the copy: also what it writes and removes there."""
    script = CHECK + "pathlib.Path('left.txt').write_text('x')\npathlib.Path('broken.txt').unlink()\n"
    project = begin(start, project_of(NAMES[:3]), "", script)
    upgrade(index, NAMES[:3])
    before = project.snapshot(".")
    report(project, "--dry-run")
    assert project.snapshot(".") == before


def test_what_a_person_writes_while_the_test_runs_is_not_lost(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p01==1.1")
    upgrade(index, NAMES[:3])
    env = project.folder / "envs/app.toml"
    before, mine = project.snapshot("."), env.read_text(encoding="utf-8") + "# mine\n"
    script = f"import pathlib\npathlib.Path({str(env)!r}).write_text({mine!r})\n" + CHECK
    (project.folder / "check.py").write_text(script, encoding="utf-8")
    result = refresh(project).expect(4)
    assert "error: envs/app.toml: was changed while this ran, and nothing was written over it" in result.err
    assert project.snapshot(".") == {**before, "envs/app.toml": mine.encode(), "check.py": script.encode()}
    refresh(project).expect(0)
    assert "# mine" in env.read_text(encoding="utf-8")
    assert holds(project).keys() == {"p01"}


def test_another_test_file_is_another_test(start: Start, index: LocalIndex) -> None:
    project = begin(start, project_of(NAMES[:3]), "p01==1.1")
    upgrade(index, NAMES[:3])
    assert report(project, "--dry-run")["tested"]["culprits"]
    assert runs(project)
    assert report(project, "--dry-run")["tested"]["runs"] == runs(project) == 0
    assert report(project, "--dry-run", "--retest")["tested"]["runs"] > 0
    (project.folder / "broken.txt").write_text("", encoding="utf-8")
    assert report(project, "--dry-run")["tested"]["state"] == "passed"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nox -s 'a", "no command line"),
        ("", "the command is empty"),
        ("true && true", "&& is for a shell"),
        ("A=1 true", "A=1 is for a shell"),
        ("no-such-program-here", "there is no program no-such-program-here on PATH"),
    ],
)
def test_a_command_that_cannot_be_run_is_told_before_anything_is_done(
    start_locked: Start, command: str, said: str
) -> None:
    project = start_locked(project_of(NAMES[:1]))
    result = project.run("refresh", "--test", command).expect(2)
    assert said in result.err
