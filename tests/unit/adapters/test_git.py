"""What is read of a git repository, what of the environment reaches git, and how its failures are told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lockgrid.adapters.git import Git, git_environ
from lockgrid.errors import InputError, ToolError
from support.repository import commit_all, git

Commit = Callable[[Mapping[str, str | bytes]], str]
posix = pytest.mark.skipif(os.name == "nt", reason="a script stands in for git")


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """Return a function that commits files into the repository ``tmp_path`` and gives the commit."""
    git(tmp_path, "init", "-q")

    def make(files: Mapping[str, str | bytes]) -> str:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return commit_all(tmp_path)

    return make


FILES = {"envs/a.toml": "one\n", "locks/a/linux-x86_64.txt": "two\n", "README.md": "three", "envsx/no": "four"}


def test_files_of_revisions(tmp_path: Path, commit: Commit) -> None:
    first = commit(FILES)
    second = commit({"envs/a.toml": "changed\n", 'envs/\u00fcml "aut.toml': "", "locks/grid.toml": "x\n" * 100_000})
    (tmp_path / "envs" / "a.toml").write_text("not committed")
    repository = Git(tmp_path, os.environ)
    assert repository.files(first) == {"envs/a.toml": "one\n", "locks/a/linux-x86_64.txt": "two\n"}
    assert repository.files("HEAD")["envs/a.toml"] == "changed\n"
    assert repository.files("HEAD~1") == repository.files(first[:10])
    assert repository.files("main")["locks/grid.toml"] == "x\n" * 100_000
    assert 'envs/\u00fcml "aut.toml' in repository.files("HEAD")
    assert repository.files("HEAD", ["README.md"]) == {"README.md": "three"}
    assert repository.files("HEAD", ["nothing"]) == {}
    assert repository.resolve("HEAD") == second


def test_a_project_below_the_top_has_paths_of_its_own(tmp_path: Path, commit: Commit) -> None:
    commit({f"sub/project/{name}": text for name, text in FILES.items()} | {"envs/other.toml": "no"})
    found = Git(tmp_path / "sub" / "project", os.environ).files("HEAD")
    assert found == {"envs/a.toml": "one\n", "locks/a/linux-x86_64.txt": "two\n"}


def test_a_folder_that_was_not_there_has_no_files(tmp_path: Path, commit: Commit) -> None:
    commit(FILES)
    (tmp_path / "young").mkdir()
    assert Git(tmp_path / "young", os.environ).files("HEAD") == {}


def test_links_are_no_files_and_line_endings_are_as_committed(tmp_path: Path, commit: Commit) -> None:
    if os.name != "nt":
        (tmp_path / "envs").mkdir()
        (tmp_path / "envs" / "link.toml").symlink_to("a.toml")
    commit({"envs/a.toml": b"one\r\n"})
    assert Git(tmp_path, os.environ).files("HEAD") == {"envs/a.toml": "one\r\n"}


def test_what_is_no_text_is_an_error_only_where_it_ought_to_be(tmp_path: Path, commit: Commit) -> None:
    commit({"envs/a.toml": "one\n", "envs/picture.png": b"\xff\xfe"})
    assert Git(tmp_path, os.environ).files("HEAD") == {"envs/a.toml": "one\n"}
    assert Git(tmp_path, os.environ).blobs("HEAD")["envs/picture.png"] == b"\xff\xfe"
    commit({"locks/a/linux-x86_64.txt": b"\xff"})
    with pytest.raises(InputError, match=r"HEAD:locks/a/linux-x86_64\.txt"):
        Git(tmp_path, os.environ).files("HEAD")


@pytest.mark.parametrize("revision", ["nothing", "HEAD~9", "v1..v2", "", "--help", "-n", "a\nb", "0" * 40, "HEAD:envs"])
def test_a_revision_that_is_none_is_wrong_input(tmp_path: Path, commit: Commit, revision: str) -> None:
    commit(FILES)
    with pytest.raises(InputError, match="no revision"):
        Git(tmp_path, os.environ).files(revision)


def test_a_repository_without_a_commit_has_no_revision(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match="HEAD: is no revision"):
        Git(tmp_path, os.environ).resolve("HEAD")


def test_a_shallow_clone_says_how_to_get_the_rest(tmp_path: Path, commit: Commit) -> None:
    old = commit(FILES)
    commit({"envs/a.toml": "two"})
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}", "clone")
    with pytest.raises(InputError, match="fetch-depth: 0"):
        Git(tmp_path / "clone", os.environ).resolve(old)


def test_no_repository_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is in no git repository.*name a folder"):
        Git(tmp_path, {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}).resolve("HEAD")


def test_no_git_is_a_failure_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="git was not found") as caught:
        Git(tmp_path, {"PATH": str(tmp_path)})
    assert "a folder" in caught.value.next_step


def test_an_object_that_is_missing_is_a_failure(tmp_path: Path, commit: Commit) -> None:
    commit(FILES)
    name = git(tmp_path, "rev-parse", "HEAD:envs/a.toml")
    (tmp_path / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(ToolError, match="objects of the revision are missing"):
        Git(tmp_path, os.environ).files("HEAD")


def test_variables_of_another_repository_do_not_lead_astray(tmp_path: Path, commit: Commit) -> None:
    commit(FILES)
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q")
    environ = {**os.environ, "GIT_DIR": str(tmp_path / "other" / ".git"), "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": "/x"}
    assert Git(tmp_path, environ).files("HEAD")["envs/a.toml"] == "one\n"


def test_only_what_says_who_the_user_is_reaches_git() -> None:
    given = {
        "PATH": "p",
        "GIT_DIR": "no",
        "GIT_OBJECT_DIRECTORY": "no",
        "GIT_CONFIG_PARAMETERS": "no",
        "GIT_EXTERNAL_DIFF": "no",
        "GIT_AUTHOR_NAME": "a",
        "GIT_SSH_COMMAND": "ssh",
        "GIT_CONFIG_COUNT": "0",
        "LC_ALL": "de_DE",
    }
    seen = git_environ(given)
    assert not [name for name, value in seen.items() if value == "no"]
    assert (seen["PATH"], seen["GIT_AUTHOR_NAME"], seen["GIT_SSH_COMMAND"], seen["LC_ALL"]) == ("p", "a", "ssh", "C")
    assert seen["GIT_TERMINAL_PROMPT"] == "0"


@posix
def test_nothing_that_the_repository_names_is_run(tmp_path: Path, commit: Commit) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text("#!/bin/sh\ntouch " + str(tmp_path / "sprung") + "\ncat\n")
    trap.chmod(0o755)
    commit({**FILES, ".gitattributes": "* filter=trap diff=trap text eol=crlf\n"})
    for key in ("core.fsmonitor", "filter.trap.smudge", "filter.trap.clean", "diff.trap.textconv", "core.pager"):
        git(tmp_path, "config", key, str(trap))
    (tmp_path / "sprung").unlink(missing_ok=True)
    assert Git(tmp_path, os.environ).files("HEAD")["envs/a.toml"] == "one\n"
    assert not (tmp_path / "sprung").exists()
