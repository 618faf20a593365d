"""What the workflows run, without GitHub: the scripts in `.github/`, and the linters that keep the workflows safe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.publish import Place, open_draft
from lockgrid.core.gridfile import parse_grid
from lockgrid.model.branch import DEFAULT_BRANCH
from lockgrid.terminal import open_progress
from support.clones import GIT_ENVIRONMENT, Clone, Forge
from support.sandbox import Result

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
BRANCH = "lockgrid/refresh"
posix = pytest.mark.skipif(os.name == "nt" or not shutil.which("jq"), reason="the scripts are for bash with jq")


def run(folder: Path, *words: str, **environ: str) -> Result:
    env = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(folder.parent),
        "LOCKGRID_CACHE_DIR": str(folder.parent / "cache"),
        **GIT_ENVIRONMENT,
        **environ,
    }
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False, timeout=120)
    return Result(args=words, code=done.returncode, out=done.stdout, err=done.stderr)


def outputs(result: Result) -> dict[str, str]:
    """What a script wrote for $GITHUB_OUTPUT."""
    return dict(line.split("=", 1) for line in result.expect(0).out.splitlines())


# -- which cells ---------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Return this repository as it stands here, in one commit."""
    for name in ("envs", "locks", "tests/flows", "sessions", ".github"):
        # What nox and tests leave there is ignored by git.
        shutil.copytree(ROOT / name, tmp_path / "clone" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "noxfile.py", tmp_path / "clone/noxfile.py")
    clone = Clone(tmp_path / "clone")
    clone.git("init", "-q", "-b", "main")
    clone.commit("All", {})
    return clone


def cells(clone: Clone, **environ: str) -> set[str]:
    found = outputs(run(clone.folder, "bash", ".github/choose-cells.sh", **environ))
    jobs = json.loads(found["cells"])["include"]
    assert int(found["count"]) == len(jobs)
    assert all(job["runner"] and (job["session"] or job["environment"] == "dev") for job in jobs)
    return {f"{job['environment']} {job['platform']} {job['python']}" for job in jobs}


@posix
def test_all_proven_cells_without_a_request(clone: Clone) -> None:
    grid = parse_grid((ROOT / "locks/grid.toml").read_text(encoding="utf-8"))
    assert cells(clone) == {f"{c.environment} {c.platform} {c.python}" for c in grid.cells if c.proven}


@posix
@pytest.mark.parametrize(
    ("path", "environments"),
    [
        ("docs/x.md", set()),
        ("tests/flows/test_vgf.py", {"vgf"}),
        ("generator/x.py", {"dev"}),
        ("tests/unit/x.py", {"dev"}),
        ("sessions/x.py", {"cortex_m", "dev", "ethos_u", "tosa", "vgf"}),
        (".github/workflows/ci.yml", {"cortex_m", "dev", "ethos_u", "tosa", "vgf"}),
    ],
)
def test_of_a_request_what_it_changes(clone: Clone, path: str, environments: set[str]) -> None:
    clone.commit("A change", {path: "# changed\n"})
    chosen = cells(clone, ONLY_CHANGED="true")
    assert {cell.split()[0] for cell in chosen} == environments | ({"dev"} if path.startswith("tests/") else set())


@posix
def test_a_grid_that_is_broken_fails(clone: Clone) -> None:
    clone.write({"locks/grid.toml": "schema = 99\n"})
    result = run(clone.folder, "bash", ".github/choose-cells.sh")
    assert (result.code != 0, result.out) == (True, "")


# -- what one job made and another pushes ------------------------------------------------------------


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    script = ".github/push-branch.sh"
    return Forge.make(tmp_path, {"locks/a.txt": "a==1\n", script: (ROOT / script).read_text(encoding="utf-8")})


def make(forge: Forge, folder: Path, texts: Mapping[str, str]) -> None:
    """Do what the first job does: commit without pushing, and bundle the commit."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    environ = {"PATH": os.environ["PATH"], "LOCKGRID_CACHE_DIR": str(folder.parent / "cache"), **GIT_ENVIRONMENT}
    store = Store(forge.clone.folder)
    context = Context(store=store, environ=environ, clock=time.time, progress=open_progress(quiet=True))
    with open_draft(context, Place()) as draft:
        for path, text in texts.items():
            (draft.project / path).write_text(text, encoding="utf-8")
        draft.propose(texts, "Refresh")
    forge.clone.git("bundle", "create", "-q", str(folder / "commit.bundle"), f"HEAD..refs/heads/{BRANCH}")


@posix
def test_the_branch_is_pushed_updated_and_removed(forge: Forge, tmp_path: Path) -> None:
    folder = tmp_path / "refresh"
    words = ("bash", ".github/push-branch.sh", str(folder))

    def push() -> str:
        return outputs(run(forge.person.folder, *words, BRANCH=BRANCH, BASE="main"))["state"]

    make(forge, folder, {"locks/a.txt": "a==2\n"})
    assert push() == "opened"
    assert forge.remote.tip(BRANCH) == forge.clone.tip(BRANCH)
    assert push() == "same"
    make(forge, folder, {"locks/a.txt": "a==3\n"})
    assert push() == "updated"
    assert forge.remote.show(BRANCH, "locks/a.txt") == "a==3"
    (folder / "commit.bundle").unlink()
    assert "neither a commit nor word" in run(forge.person.folder, *words, BRANCH=BRANCH, BASE="main").expect(1).err
    (folder / "nothing").touch()
    assert push() == "closed"
    assert forge.remote.tip(BRANCH) == ""


@posix
def test_a_bundle_with_more_than_locks_is_not_pushed(forge: Forge, tmp_path: Path) -> None:
    """A job that runs new packages may be anybody's; the job that pushes trusts nothing of it."""
    make(forge, tmp_path / "refresh", {".github/push-branch.sh": "echo mine\n"})
    words = ("bash", ".github/push-branch.sh", str(tmp_path / "refresh"))
    result = run(forge.person.folder, *words, BRANCH=BRANCH, BASE="main").expect(2)
    assert "changes files that no refresh writes: .github/push-branch.sh" in result.err
    assert forge.remote.tip(BRANCH) == ""


# -- linters -----------------------------------------------------------------------------------------

GOOD = """
name: x
on: push
permissions: {}
concurrency: {group: x, cancel-in-progress: false}
jobs:
  job:
    name: Job
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: {persist-credentials: false}
      - name: Say
        run: echo hello
"""


BAD = {
    "template-injection": ("echo hello", "echo ${{ github.event.head_commit.message }}"),
    "unpinned-uses": ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7"),
    "excessive-permissions": ("permissions: {}\n", ""),
    "artipacked": ("{persist-credentials: false}", "{fetch-depth: 1}"),
    "dangerous-triggers": ("on: push", "on: pull_request_target"),
    "timeout-minutes": ("    timeout-minutes: 5\n", ""),
    "stepz": ("steps:", "stepz:"),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what the linters, run as the lint session does, say of each workflow; empty where nothing is wrong."""
    from noxfile import SCHEMAS, ZIZMOR

    folder = tmp_path_factory.mktemp("lint")
    texts = {"good": GOOD, **{name: GOOD.replace(old, new) for name, (old, new) in BAD.items()}}
    assert len(set(texts.values())) == len(texts)
    paths = {name: folder / ".github/workflows" / f"{name}.yml" for name in texts}
    paths["good"].parent.mkdir(parents=True)
    for name, text in texts.items():
        paths[name].write_text(text, encoding="utf-8")
    bin_ = Path(sys.executable).parent
    files = [str(path) for path in paths.values()]
    heard = [
        run(folder, str(bin_ / "check-jsonschema"), "--builtin-schema", schema, "--output-format", "json", *files).out
        for schema in SCHEMAS
    ]
    schema_errors = [error for text in heard for error in json.loads(text)["errors"]]
    files.remove(str(paths["stepz"]))  # zizmor stops at it
    found = json.loads(run(folder, str(bin_ / "zizmor"), *ZIZMOR, "--format", "json", *files).out)
    every = [*map(json.dumps, schema_errors), *map(json.dumps, found)]
    return {name: "\n".join(one for one in every if f"/{name}.yml" in one) for name in texts}


def test_a_sound_workflow_passes(said: Mapping[str, str]) -> None:
    assert said["good"] == ""


@pytest.mark.parametrize("name", BAD)
def test_the_linters_find_what_they_are_there_for(said: Mapping[str, str], name: str) -> None:
    assert name in said[name].replace(f"{name}.yml", "")


def test_the_bots_branch_has_one_name() -> None:
    assert DEFAULT_BRANCH == BRANCH
    assert all(BRANCH in workflow.read_text(encoding="utf-8") for workflow in WORKFLOWS)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_scheduled_run_knows_its_branch(workflow: Path) -> None:
    """The event of a schedule tells nothing of the repository, so its default branch is empty there."""
    text = workflow.read_text(encoding="utf-8")
    if "schedule:" in text:
        asked = [line.strip() for line in text.splitlines() if "github.event.repository" in line]
        assert asked == ["BASE: ${{ github.event.repository.default_branch || github.ref_name }}"]
