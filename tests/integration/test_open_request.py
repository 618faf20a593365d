"""`.github/open_request.py` with the real `gh`, against a stand-in for the forge's HTTP API."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.name == "nt":
    pytest.skip("the stand-in listens on a Unix socket", allow_module_level=True)

from lockgrid.core.render.request import BODY_LIMIT
from support.forge import Hub
from support.sandbox import Result

SCRIPT = Path(__file__).parents[2] / ".github/open_request.py"
BRANCH = "lockgrid/refresh"
GH = shutil.which("gh")
pytestmark = pytest.mark.skipif(not GH, reason="gh, which opens requests, is not installed: see .ci/run")


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        hub.state.tips = {"main": "a" * 40, BRANCH: "b" * 40}
        yield hub


class Caller:
    """Runs the script as the workflow does."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub = hub
        self.file = folder / "body.md"

    def run(self, body: str = "# A title\n\nWhy: *ünïcode* `code`\n", **environ: str) -> Result:
        self.file.write_text(body, encoding="utf-8")
        command = [sys.executable, str(SCRIPT), "--branch", BRANCH, "--base", "main", "--body", str(self.file)]
        env = {"PATH": os.pathsep.join([str(Path(GH or "gh").parent), "/usr/bin", "/bin"]), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            command,
            env={**env, **self.hub.environ, "HOME": str(self.file.parent), **environ},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
        return Result(args=tuple(command), code=done.returncode, out=done.stdout, err=done.stderr)

    def methods(self) -> list[str]:
        """The calls that changed something."""
        return [method for method, _, _ in self.hub.state.calls if method != "GET"]


@pytest.fixture
def caller(hub: Hub, tmp_path: Path) -> Caller:
    return Caller(hub, tmp_path)


def test_a_request_is_opened(caller: Caller, hub: Hub) -> None:
    result = caller.run().expect(0)
    assert result.out == "opened: https://forge.example/owner/repository/pull/1\n"
    assert hub.state.calls[-1] == (
        "POST",
        "/repos/owner/repository/pulls",
        {"title": "A title", "body": "Why: *ünïcode* `code`\n", "head": BRANCH, "base": "main"},
    )


def test_a_request_that_is_open_is_updated_and_not_doubled(caller: Caller, hub: Hub) -> None:
    caller.run().expect(0)
    result = caller.run("# Another\n\nMore.\n").expect(0)
    assert result.out.startswith("updated: ")
    assert [(r["title"], r["body"]) for r in hub.state.requests] == [("Another", "More.\r\n")]
    assert caller.methods() == ["POST", "PATCH"]


def test_a_request_that_says_this_already_is_left(caller: Caller) -> None:
    caller.run().expect(0)
    assert caller.run().expect(0).out.startswith("unchanged: ")
    assert caller.methods() == ["POST"]


def test_a_request_that_a_person_closed_is_left_until_the_branch_moves(caller: Caller, hub: Hub) -> None:
    caller.run().expect(0)
    hub.close(1)
    assert "left closed" in caller.run().expect(0).out
    hub.state.tips[BRANCH] = "c" * 40
    assert caller.run().expect(0).out.startswith("opened: ")
    assert [r["state"] for r in hub.state.requests] == ["closed", "open"]


def test_after_a_merge_the_next_one_is_opened(caller: Caller, hub: Hub) -> None:
    caller.run().expect(0)
    hub.close(1, merged=True)
    assert caller.run().expect(0).out.startswith("opened: ")


def test_the_longest_body_that_is_made_is_taken(caller: Caller) -> None:
    body = "# Long\n" + ("ü" * (BODY_LIMIT // 2 - 10)) + "\n"
    assert BODY_LIMIT - 100 < len(body.encode()) <= BODY_LIMIT
    caller.run(body).expect(0)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            (403, {"message": "GitHub Actions is not permitted to create or approve pull requests."}),
            "next: allow it in the repository's settings",
        ),
        ((403, {"message": "Resource not accessible by integration"}), "next: the token needs `pull-requests: write`"),
        ((422, {"message": "Validation Failed", "errors": [{"message": "No commits between"}]}), "No commits between"),
        ((500, {"message": "Server Error"}), "HTTP 500"),
    ],
)
def test_a_refusal_is_quoted_with_what_to_do(caller: Caller, hub: Hub, refusal: tuple[int, object], said: str) -> None:
    assert isinstance(refusal[1], dict)
    hub.state.refusal = (refusal[0], refusal[1])
    result = caller.run().expect(1)
    assert said in result.err
    assert "error: POST repos/{owner}/{repo}/pulls" in result.err
    assert "Traceback" not in result.err


def test_a_wrong_token_and_a_gh_that_is_not_there(caller: Caller) -> None:
    assert "Bad credentials" in caller.run(GH_TOKEN="another").expect(1).err
    assert "gh cannot be run" in caller.run(PATH="/nowhere").expect(1).err


@pytest.mark.parametrize("body", ["", "No title\n", "# \n\nbody\n", "\n# late\n"])
def test_a_body_without_a_title(caller: Caller, hub: Hub, body: str) -> None:
    assert "the first line is not `# title`" in caller.run(body).expect(2).err
    assert hub.state.calls == []
