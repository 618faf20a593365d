"""What [git] refuses: names that move, histories that were rewritten, and everything that would run foreign code."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.machine import HERE
from integration.test_git import Toolchain, make, pytestmark, tools, wheels_of
from support.gitrepo import PACKAGE, Repository, extension, pythons
from support.index import LocalIndex

__all__ = ["pytestmark", "tools"]  # the same marks, and a fixture


@pytest.fixture
def fresh(make_project: MakeProject, tools: LocalIndex, tmp_path: Path) -> Toolchain:
    """Return a toolchain with nothing built."""
    return make(make_project, tools, tmp_path)


def build_one(made: Toolchain, code: int = 0, **env: str) -> str:
    """Build for the first Python."""
    python = pythons()[made.two[0]]
    result = made.project.run("build", "app", "-o", str(made.wheels), "--python", python, env=env).expect(code)
    return result.out + result.err


@pytest.mark.parametrize("verb", ["lock", "build"])
@pytest.mark.parametrize("name", ["main", "v7", "v7-annotated", "refs/heads/main", "short"])
def test_a_name_is_refused_with_the_commit_to_write(fresh: Toolchain, verb: str, name: str) -> None:
    rev = fresh.repository.git("rev-parse", "HEAD")
    fresh.repository.git("tag", "v7")
    fresh.repository.git("tag", "--annotate", "--message=seven", "v7-annotated")
    fresh.repository.commit({"later.txt": "a later commit"})
    fresh.repository.git("branch", "--force", "newest")
    fresh.repository.git("reset", "--quiet", "--hard", rev)
    fresh.write(rev[:9] if name == "short" else name)
    words = {"lock": ("lock",), "build": ("build", "app", "-o", str(fresh.wheels))}[verb]
    said = fresh.project.run(*words).expect(2).err
    assert f"envs/app.toml: git.{PACKAGE}.rev" in said
    assert f'write rev = "{rev}"' in said


def test_a_name_that_the_repository_does_not_have(fresh: Toolchain) -> None:
    fresh.write("no-such-branch")
    said = fresh.project.run("lock").expect(2).err
    assert "the repository has no 'no-such-branch'" in said
    assert "git ls-remote" in said


def test_a_name_where_the_repository_cannot_be_reached(fresh: Toolchain, tmp_path: Path) -> None:
    fresh.write("main", url=(tmp_path / "nowhere").as_uri())
    said = fresh.project.run("lock").expect(2).err
    assert "could not be looked up" in said
    assert "git ls-remote" in said


def test_a_check_offline_refuses_a_name_too(fresh: Toolchain) -> None:
    fresh.write("main")
    said = fresh.project.run("check", env={"PATH": "/nowhere"}).expect(2).err
    assert "a branch or a tag, which may move" in said


def test_rewritten_history_is_found_out_and_named(fresh: Toolchain) -> None:
    rev = fresh.repository.git("rev-parse", "HEAD")
    build_one(fresh)
    before = wheels_of(fresh.wheels)
    fresh.repository.commit({"src/kernels.c": "int other;"}, "--amend")
    said = build_one(fresh, 4)
    assert f"no branch and no tag leads to commit {rev}" in said
    assert wheels_of(fresh.wheels) == before
    # The mirror is not to blame: one that never had the commit says the same.
    assert rev in build_one(fresh, 4, LOCKGRID_CACHE_DIR=str(fresh.wheels / "cache"))


def test_a_tag_keeps_a_commit_that_no_branch_leads_to(fresh: Toolchain) -> None:
    fresh.repository.git("tag", "v7")
    fresh.repository.commit({"src/kernels.c": "int other;"}, "--amend")
    build_one(fresh)


def test_the_id_of_a_tag_is_told_from_that_of_a_commit(fresh: Toolchain) -> None:
    fresh.repository.git("tag", "--annotate", "--message=seven", "v7")
    fresh.write(fresh.repository.git("rev-parse", "v7"))
    said = build_one(fresh, 4)
    assert "is a tag and no commit" in said
    assert f'write rev = "{fresh.repository.git("rev-parse", "HEAD")}"' in said


def test_a_repository_whose_commits_are_sha256(fresh: Toolchain, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    rev = repository.commit(extension())
    assert len(rev) == 64
    fresh.write(rev, url=repository.url)
    build_one(fresh)
    fresh.lock()


def test_another_content_under_the_same_commit_is_refused(fresh: Toolchain) -> None:
    build_one(fresh)
    fresh.lock()
    before = fresh.project.snapshot()
    (path,) = fresh.wheels.glob("*.whl")
    path.rename(fresh.wheels / "whole.zip")
    with zipfile.ZipFile(fresh.wheels / "whole.zip") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("lockgrid-git.json"):
                data = re.sub(rb"sha256:[0-9a-f]{64}", b"sha256:" + b"0" * 64, data)
            new.writestr(name, data)
    said = fresh.lock("-U", code=4)
    assert "the content of commit" in said
    assert "is not what it was" in said
    assert fresh.project.snapshot() == before


def test_nothing_of_a_repository_or_of_git_runs_while_it_is_fetched(fresh: Toolchain, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-merge", "fsmonitor"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        (hooks / name).chmod(0o755)
    (fresh.project.home / ".gitconfig").write_text(
        f"[core]\nhooksPath = {hooks}\nfsmonitor = {hooks}/fsmonitor\n[init]\ntemplateDir = {hooks}\n"
        f'[filter "lfs"]\nsmudge = echo smudge >> {ran}\nclean = echo clean >> {ran}\nrequired = true\n'
        "[core]\nautocrlf = true\n[protocol]\nallow = always\n"
    )
    files = extension()
    source = files["src/kernels.c"]
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    more = {".gitattributes": "*.c filter=lfs\n*.txt eol=crlf\n*.bin filter=lfs\n", "weights.bin": pointer}
    fresh.repository.git("config", "filter.lfs.clean", "cat")
    fresh.write(fresh.repository.commit({**files, **more}))
    said = build_one(fresh)
    assert not ran.exists()
    assert "weights.bin is kept by Git LFS, which is not asked" in said
    (place,) = (fresh.project.store / "git/build").iterdir()
    assert (place / "source/src/kernels.c").read_text() == source
    assert b"\r" not in (place / "source/package.txt").read_bytes()
    # Of two files none is newer, whichever was written first.
    assert len({path.stat().st_mtime for path in (place / "source").rglob("*.*") if path.is_file()}) == 1


def test_a_submodule_is_not_fetched_and_that_is_said(fresh: Toolchain, tmp_path: Path) -> None:
    fresh.repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},below")
    fresh.repository.git("commit", "--quiet", "--message=sub")
    fresh.write(fresh.repository.git("rev-parse", "HEAD"))
    assert "below is a submodule, which is not fetched" in build_one(fresh)


def test_a_link_out_of_the_repository_is_refused(fresh: Toolchain) -> None:
    (fresh.repository.folder / "out").symlink_to("../../../etc")
    fresh.write(fresh.repository.commit({}))
    assert "a link that leads out of it" in build_one(fresh, 4)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% ran",
        "ext::touch",
        "fd::17",
        "http://host.example/repo",
        "git://host.example/repo",
        "https://me:s3cret@host.example/repo",
        "https://s3cret@host.example/repo",
        "ssh://git:s3cret@host.example/repo",
        "ssh://-oProxyCommand=touch/repo",
        "-uext",
        "../repository",
        "git@host.example:repo",
    ],
)
def test_a_hostile_url_reaches_no_git_and_no_message(fresh: Toolchain, url: str) -> None:
    fresh.write(fresh.repository.git("rev-parse", "HEAD"), url=url)
    spy = fresh.wheels.parent / "spy"
    spy.mkdir()
    (spy / "git").write_text(f"#!/bin/sh\ntouch {spy}/called\n")
    (spy / "git").chmod(0o755)
    for words in (("build", "app", "-o", str(fresh.wheels)), ("lock",), ("check",)):
        result = fresh.project.run(*words, env={"LOCKGRID_GIT": str(spy / "git")}).expect(2)
        assert f"envs/app.toml: git.{PACKAGE}.url" in result.err
        assert "s3cret" not in result.err + result.out
        assert url not in result.err
    assert not (spy / "called").exists()


def test_credentials_that_git_itself_knows_are_in_no_output(fresh: Toolchain) -> None:
    (fresh.project.home / ".gitconfig").write_text(
        '[url "http://me:s3cret@127.0.0.1:9/"]\ninsteadOf = https://host.example/\n'
        '[url "https://me:s3cret@127.0.0.1:9/"]\ninsteadOf = https://other.example/\n'
    )
    for host in ("host", "other"):
        fresh.write(fresh.repository.git("rev-parse", "HEAD"), url=f"https://{host}.example/repo")
        said = build_one(fresh, 4)
        assert "git fetch failed" in said
        assert "s3cret" not in said


def test_a_build_that_fails_says_the_end_of_what_the_compiler_said(fresh: Toolchain) -> None:
    fresh.write(fresh.repository.commit({"src/kernels.c": "int broken(\n"}))
    said = build_one(fresh, 4)
    assert "the build failed" in said
    assert "kernels.c" in said
    assert wheels_of(fresh.wheels) == {}


def test_a_repository_that_builds_another_package(fresh: Toolchain) -> None:
    fresh.write(fresh.repository.commit({"package.txt": "name = other\nversion = 1\nrequires = \n"}))
    assert "it builds the package other" in build_one(fresh, 4)


def test_a_subdirectory_is_built_and_one_that_is_not_there_is_told(fresh: Toolchain) -> None:
    files = {f"python/{name}": content for name, content in extension().items()}
    fresh.repository.git("rm", "-r", "--quiet", ".")
    rev = fresh.repository.commit(files)
    fresh.write(rev)
    assert "neither a pyproject.toml nor a setup.py" in build_one(fresh, 4)
    row = f'requires = ["{PACKAGE}"]\n[git]\n{PACKAGE} = {{ url = "{fresh.repository.url}", rev = "{rev}", '
    (fresh.project.folder / "envs/app.toml").write_text(f'{row}subdirectory = "python/" }}\n')
    build_one(fresh)
    fresh.lock()
    assert fresh.grid()["git"][0]["subdirectory"] == "python"


def test_pythons_that_cannot_build_are_told(fresh: Toolchain, tmp_path: Path) -> None:
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\necho 'no such version is selected' >&2\nexit 127\n")
    shim.chmod(0o755)
    for word in (str(shim), "3.19"):
        result = fresh.project.run("build", "app", "-o", str(fresh.wheels), "--python", word).expect(2)
        assert "--python" in result.err
    nothing = fresh.project.run("build", "app", "-o", str(fresh.wheels), env={"PATH": f"{tmp_path}:/usr/bin"})
    assert nothing.code in (0, 4)  # 0 where the system's own Python has its headers


def test_an_environment_without_git_has_nothing_to_build(fresh: Toolchain) -> None:
    (fresh.project.folder / "envs/app.toml").write_text('requires = ["dep"]\n')
    assert "has no [git]" in build_one(fresh, 2)
    fresh.project.run("lock").expect(0)
    assert HERE in {cell["platform"] for cell in fresh.grid()["cells"]}
    assert "git" not in fresh.grid()
