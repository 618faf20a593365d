"""A bundle is the same whoever makes it, holds one cell and nothing else, and names what is wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from integration import bundles
from integration.bundles import assert_complete, content, make
from integration.conftest import MakeProject, Start
from integration.locked import Locks
from integration.machine import HERE, PYTHON
from support.index import LocalIndex
from support.sandbox import Project
from support.wheels import wheel

CONTENT = bundles.CONTENT
TARGETS = [("windows-x86_64", "3.11"), ("macos-arm64", "3.12"), ("linux-aarch64", "3.10"), ("linux-x86_64", "3.13")]


@pytest.fixture(scope="module")
def served(served: LocalIndex) -> LocalIndex:
    bundles.serve(served)
    return served


@pytest.mark.parametrize(("platform", "python"), TARGETS)
def test_it_holds_the_wheels_of_any_target_and_nothing_else(
    locked: Project, tmp_path: Path, platform: str, python: str
) -> None:
    told = make(locked, tmp_path / "b", "app", "--json", platform=platform, python=python).expect(0).json()
    assert_complete(tmp_path / "b")
    lockfile = Locks(locked)[f"app/{platform}"]
    pins = [pin for pin in lockfile.pins if pin.applies(python)]
    files = content(tmp_path / "b")
    wheels = {sha256(data).hexdigest() for path, data in files.items() if path.startswith("wheels/")}
    assert len(wheels) == len(pins) == told["packages"]
    assert all(wheels & set(pin.hashes) for pin in pins)
    assert set(files) - {p for p in files if p.startswith("wheels/")} == {
        *("SHA256SUMS", "bundle.json", "install.bat", "install.py", "install.sh", "requirements.txt")
    }
    requirements = files["requirements.txt"].decode()
    assert set(re.findall(r"^(\S+==\S+) ", requirements, re.MULTILINE)) == {f"{p.name}=={p.version}" for p in pins}
    assert set(re.findall(r"sha256:(\w+)", requirements)) == wheels
    assert told["bytes"] == sum(map(len, files.values()))
    assert told["received"] == sum(len(data) for path, data in files.items() if path.startswith("wheels/"))
    assert (told["fetched"], told["kept"], told["files"]) == (len(pins), 0, len(files))


def test_no_url_host_date_or_path_is_in_a_text(locked: Project, tmp_path: Path) -> None:
    make(locked, tmp_path / "b", "source").expect(0)
    for path, data in content(tmp_path / "b").items():
        if "/" not in path:
            assert not re.search(rb"https?://|127\.0\.0\.1|20\d\d-\d\d", data), path
            assert str(tmp_path).encode() not in data


def test_the_same_locks_give_the_same_bytes_from_another_index_and_folder(
    locked: Project, make_project: MakeProject, tmp_path: Path
) -> None:
    make(locked, tmp_path / "one", "source").expect(0)
    with LocalIndex(html_only=True, relative_urls=True) as mirror:
        bundles.serve(mirror)
        other = make_project(CONTENT, mirror)
        for path, data in locked.snapshot().items():
            (other.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (other.folder / path).write_bytes(data)
        make(other, tmp_path / "two", "source").expect(0)
        assert mirror.seen("*.whl")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_an_unsupported_cell_says_why(locked: Project, tmp_path: Path) -> None:
    refused = make(locked, tmp_path / "b", python="3.14").expect(3)
    assert "compiled==2.0" in refused.err or "compiled" in refused.err
    assert "3.10 to 3.13" in refused.err
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("environment", "platform", "python", "hint"),
    [
        ("ap", HERE, PYTHON, "did you mean 'app'?"),
        ("app", "linux-x86", PYTHON, "did you mean 'linux-x86_64'?"),
        ("app", HERE, "3.9", "known: 3.10, 3.11"),
        ("app", "3.11", "linux-x86_64", ""),  # the wrong way round is understood
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    locked: Project, tmp_path: Path, environment: str, platform: str, python: str, hint: str
) -> None:
    result = make(locked, tmp_path / "b", environment, platform=platform, python=python)
    result.expect(2 if hint else 0)
    assert hint in result.err
    assert (tmp_path / "b").exists() == (not hint)


def test_a_lockfile_that_was_edited_is_not_bundled(copy: Project, tmp_path: Path) -> None:
    path = copy.folder / f"locks/app/{HERE}.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("plain==1.0+cpu", "plain==1.0"), encoding="utf-8")
    refused = make(copy, tmp_path / "b").expect(2)
    assert f"locks/app/{HERE}.txt: was edited since the lock" in refused.err


# -- the folder ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notes.txt", "wheels/other-1.0-py3-none-any.whl", "install.sh", "SHA256SUMS"])
def test_a_folder_with_something_else_is_refused_and_stays(locked: Project, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "b"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine", encoding="utf-8")
    refused = make(locked, folder).expect(2)
    assert "it is not empty" in refused.err
    assert content(folder) == {name: b"mine"}


@pytest.mark.parametrize("name", ["notes.txt", "wheels/other-1.0-py3-none-any.whl", "sdists/x.tar.gz", "a/bundle.json"])
def test_a_bundle_with_something_else_in_it_is_refused(locked: Project, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "b"
    make(locked, folder).expect(0)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine", encoding="utf-8")
    before = content(folder)
    refused = make(locked, folder).expect(2)
    assert f"not of this bundle: {name}" in refused.err
    assert content(folder) == before


def test_a_bundle_of_another_cell_is_something_else(locked: Project, tmp_path: Path) -> None:
    make(locked, tmp_path / "b", platform="windows-x86_64", python="3.11").expect(0)
    before = content(tmp_path / "b")
    for platform, python, environment in [
        ("windows-x86_64", "3.12", "app"),
        ("macos-arm64", "3.11", "app"),
        ("windows-x86_64", "3.11", "source"),
    ]:
        refused = make(locked, tmp_path / "b", environment, platform=platform, python=python).expect(2)
        assert "no bundle of this cell" in refused.err
    assert content(tmp_path / "b") == before


@pytest.mark.skipif(sys.platform == "win32", reason="making links takes rights there")
def test_nothing_is_written_through_a_link(locked: Project, tmp_path: Path) -> None:
    make(locked, tmp_path / "b").expect(0)
    outside = tmp_path / "outside"
    (tmp_path / "b" / "wheels").rename(outside)
    (tmp_path / "b" / "wheels").symlink_to(outside)
    refused = make(locked, tmp_path / "b").expect(2)
    assert "not of this bundle: wheels" in refused.err


def test_a_file_in_place_of_the_folder_is_told(locked: Project, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine", encoding="utf-8")
    assert "no folder" in make(locked, tmp_path / "b").expect(2).err


def test_a_complete_bundle_is_left_as_it_is(locked: Project, tmp_path: Path, served: LocalIndex) -> None:
    make(locked, tmp_path / "b", "source").expect(0)
    before = content(tmp_path / "b")
    del served.requests[:]
    told = make(locked, tmp_path / "b", "source", "--json").expect(0).json()
    assert (told["fetched"], told["received"], told["kept"]) == (0, 0, 2)
    assert not served.seen("*.whl")
    assert not served.seen("*.tar.gz")
    assert content(tmp_path / "b") == before


def test_a_file_that_was_damaged_is_fetched_again(locked: Project, tmp_path: Path) -> None:
    make(locked, tmp_path / "b").expect(0)
    before = content(tmp_path / "b")
    for path in ("wheels/plain-1.0+cpu-py3-none-any.whl", "requirements.txt", "install.py"):
        (tmp_path / "b" / path).write_bytes(b"x" * 10)
    assert make(locked, tmp_path / "b", "app", "--json").expect(0).json()["fetched"] == 1
    assert content(tmp_path / "b") == before


# -- what an index lacks -------------------------------------------------------------------------------------


def test_what_the_index_lacks_or_replaced_is_named_all_at_once(copy: Project, tmp_path: Path) -> None:
    with LocalIndex() as mirror:
        bundles.serve(mirror)
        mirror.remove("plain-1.0+cpu-py3-none-any.whl")
        evil = wheel("app-kit", "1.0", files={"evil.py": ""})
        mirror.remove("app_kit-1.0-py3-none-any.whl")
        mirror.add(evil)
        copy.index = mirror
        refused = make(copy, tmp_path / "b").expect(4)
    assert "plain==1.0+cpu: the index has no file of it" in refused.err
    assert "app-kit==1.0: the index serves another file than the lock has" in refused.err
    assert f"app_kit-1.0-py3-none-any.whl with sha256 {evil.sha256}" in refused.err
    assert not (tmp_path / "b").exists()


def test_a_project_that_the_index_does_not_have_is_named(copy: Project, tmp_path: Path) -> None:
    with LocalIndex() as mirror:
        bundles.serve(mirror)
        mirror.fault("builder", status=404)
        copy.index = mirror
        refused = make(copy, tmp_path / "b", "source").expect(4)
        assert "builder==1.0: the index does not have the project" in refused.err
        make(copy, tmp_path / "c", "app").expect(0)  # which needs no builder


def test_a_mirror_that_got_the_files_later_serves_as_well(copy: Project, tmp_path: Path) -> None:
    with LocalIndex() as mirror:
        bundles.serve(mirror)
        for built in CONTENT.builts:
            mirror.add(built, uploaded="2090-01-01T00:00:00Z")
        copy.index = mirror
        make(copy, tmp_path / "b").expect(0)
    assert_complete(tmp_path / "b")


# -- interrupted ---------------------------------------------------------------------------------------------

BIG = wheel("big", "1.0", files={"big.bin": b"".join(sha256(b"%d" % n).digest() for n in range(100_000))})
WITH_BIG = """
[[packages]]
name = "small"
version = "1.0"
[envs.app]
requires = ["small", "big"]
[targets]
pythons = ["3.11"]
[targets.platforms.windows-x86_64]
"""


@pytest.fixture
def big(start: Start, index: LocalIndex) -> Project:
    project = start(WITH_BIG)
    index.add(BIG)
    project.run("lock").expect(0)
    del index.requests[:]
    return project


def bundle_big(project: Project, folder: Path, *more: str) -> str:
    result = make(project, folder, "app", *more, platform="windows-x86_64", python="3.11").expect(0)
    assert_complete(folder)
    assert not (folder / ".partial").exists()
    assert (folder / "wheels" / BIG.filename).read_bytes() == BIG.data
    return result.out


def ranges(index: LocalIndex) -> list[str | None]:
    return [request.range for request in index.seen(BIG.filename) if request.status in (200, 206)]


def test_a_connection_that_breaks_off_is_continued(big: Project, index: LocalIndex, tmp_path: Path) -> None:
    index.fault(BIG.filename, truncate=1_000_000, times=5)
    told = json.loads(bundle_big(big, tmp_path / "b", "--json"))
    assert ranges(index)[0] is None
    assert len(ranges(index)) == 4  # the index has 3.2 MB to send, in parts of at most one
    assert told["received"] == len(BIG.data) + len(content(tmp_path / "b")["wheels/small-1.0-py3-none-any.whl"])


def test_after_a_run_that_was_killed_nothing_is_fetched_twice(big: Project, index: LocalIndex, tmp_path: Path) -> None:
    index.fault(BIG.filename, drip=1_000_000, times=1)
    words = ("bundle", "app", "--platform", "windows-x86_64", "--python", "3.11", "-o", str(tmp_path / "b"))
    with pytest.raises(AssertionError, match="not done after"):
        big.run(*words, timeout=2.5)
    assert not (tmp_path / "b" / "SHA256SUMS").exists()
    here = (tmp_path / "b" / ".partial" / BIG.sha256).stat().st_size
    assert 0 < here < len(BIG.data)
    del index.requests[:]
    told = json.loads(bundle_big(big, tmp_path / "b", "--json"))
    assert not index.seen("small-*.whl")
    assert ranges(index) == [f"bytes={here}-"]
    assert (told["kept"], told["fetched"], told["received"]) == (1, 1, len(BIG.data) - here)


@pytest.mark.parametrize("left", [b"other bytes than the file's", BIG.data[:-1] + b"x", BIG.data + b"x"])
def test_what_is_not_the_beginning_of_the_file_is_told_or_begun_anew(
    big: Project, index: LocalIndex, tmp_path: Path, left: bytes
) -> None:
    """Its hash is another in the end; then it is gone, and the next run succeeds."""
    bundle_big(big, tmp_path / "b")
    (tmp_path / "b" / "wheels" / BIG.filename).unlink()
    (tmp_path / "b" / ".partial").mkdir()
    (tmp_path / "b" / ".partial" / BIG.sha256).write_bytes(left)
    first = make(big, tmp_path / "b", platform="windows-x86_64", python="3.11")
    assert first.code in (0, 4)
    assert first.code == 0 or BIG.filename in first.err
    bundle_big(big, tmp_path / "b")


def test_a_server_without_ranges_begins_anew(big: Project, index: LocalIndex, tmp_path: Path) -> None:
    index.ranges = False
    index.fault(BIG.filename, truncate=1_000_000, times=2)
    bundle_big(big, tmp_path / "b")
    assert [request.status for request in index.seen(BIG.filename)] == [200, 200, 200]


def test_a_server_that_answers_with_another_part_is_told(big: Project, index: LocalIndex, tmp_path: Path) -> None:
    index.fault(BIG.filename, truncate=1_000_000, times=1)
    index.fault(BIG.filename, status=206, body=BIG.data[5:], headers={"Content-Range": f"bytes 5-9/{len(BIG.data)}"})
    refused = make(big, tmp_path / "b", platform="windows-x86_64", python="3.11").expect(4)
    assert "answers with another part of the file than the one from byte 1000000" in refused.err


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 500}, "status 500"),
        ({"status": 404}, "status 404"),
        ({"close": True}, "cannot be reached"),
        ({"body": BIG.data[:-1] + b"x"}, f"{BIG.filename}: its bytes have sha256"),
        ({"body": BIG.data + b"x"}, "sends more than"),
        ({"body": BIG.data[:-1]}, "and the index states"),
        ({"endless": True}, "sends more than"),
    ],
)
def test_a_fault_is_one_clear_error_and_what_is_whole_stays(
    big: Project, index: LocalIndex, tmp_path: Path, fault: dict[str, object], said: str
) -> None:
    index.fault(BIG.filename, **fault)  # type: ignore[arg-type]
    refused = make(big, tmp_path / "b", platform="windows-x86_64", python="3.11").expect(4)
    assert said in refused.err
    assert refused.err.count("error:") == 1
    assert "Traceback" not in refused.err
    assert not (tmp_path / "b" / "SHA256SUMS").exists()
    whole = (tmp_path / "b" / "wheels" / "small-1.0-py3-none-any.whl").exists()  # a quick fault ends its download
    index.clear_faults()
    del index.requests[:]
    bundle_big(big, tmp_path / "b")
    assert bool(index.seen("small-*.whl")) == (not whole)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ulimit")
def test_a_full_disk_is_one_clear_error_and_what_is_there_stays(
    big: Project, index: LocalIndex, tmp_path: Path
) -> None:
    """A limit on the size of files stands in for the disk."""
    words = ["bundle", "app", "--platform", "windows-x86_64", "--python", "3.11", "-o", str(tmp_path / "b")]
    command = ["/bin/sh", "-c", 'ulimit -f 3000; exec "$@"', "sh", sys.executable, "-m", "lockgrid", *words]
    env = big.environment()
    done = subprocess.run(command, cwd=big.folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert BIG.filename in done.stderr
    assert "free space" in done.stderr
    here = (tmp_path / "b" / ".partial" / BIG.sha256).stat().st_size
    assert here > 0
    del index.requests[:]
    bundle_big(big, tmp_path / "b")
    assert ranges(index) == [f"bytes={here}-"]
