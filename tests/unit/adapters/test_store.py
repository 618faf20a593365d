"""Files are replaced all together or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from lockgrid.adapters import store as module
from lockgrid.adapters.store import Store
from lockgrid.errors import InputError, ToolError

posix = pytest.mark.skipif(os.name == "nt", reason="modes and signals as on POSIX")
OLD = {"locks/a/x.txt": "old x\n", "locks/b/y.txt": "old y\n", "locks/grid.toml": "old grid\n", "README.md": "old\n"}
NEW = {"locks/a/x.txt": "new x\n", "locks/a/z.txt": "new z\n", "locks/grid.toml": "new grid\n"}


def tree(root: Path) -> dict[str, str]:
    """Every file below ``root`` with its text."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for path, text in OLD.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.fixture
def store(root: Path) -> Store:
    return Store(root)


def test_files_are_written_and_removed(store: Store, root: Path) -> None:
    store.replace(NEW, ("locks/b/y.txt",))
    assert tree(root) == {**NEW, "README.md": "old\n"}
    assert not (root / "locks" / "b").exists()


def test_a_folder_that_still_holds_a_file_stays(store: Store, root: Path) -> None:
    store.replace({}, ("locks/a/x.txt", "locks/a/never.txt"))
    (root / "locks" / "b" / "kept").write_text("")
    store.replace({}, ("locks/b/y.txt",))
    assert (root / "locks" / "b").is_dir()


def test_new_folders_are_made(store: Store, root: Path) -> None:
    store.replace({"locks/new/deep/x.txt": "x"})
    assert (root / "locks/new/deep/x.txt").read_text() == "x"


def test_texts_are_utf_8_with_their_own_line_ends(store: Store, root: Path) -> None:
    store.replace({"a.txt": "ä\r\nb\n"})
    assert (root / "a.txt").read_bytes() == "ä\r\nb\n".encode()
    assert store.read("a.txt") == "ä\r\nb\n"


@posix
def test_the_mode_of_a_file_is_kept_and_a_new_one_obeys_the_umask(store: Store, root: Path) -> None:
    (root / "README.md").chmod(0o664)
    before = os.umask(0o027)
    try:
        store.replace({"README.md": "new\n", "other.txt": "x"})
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((root / name).stat().st_mode) for name in ("README.md", "other.txt")]
    assert modes == [0o664, 0o640]


def fail_on(monkeypatch: pytest.MonkeyPatch, method: str, name: str) -> None:
    """Let ``Path.<method>`` fail for the file called ``name``: the target of a rename, the file of an unlink."""
    real = getattr(Path, method)

    def broken(self: Path, *given: Any, **options: Any) -> Any:
        subject = Path(given[0]) if method == "replace" else self
        if subject.name == name:
            raise OSError(errno.EACCES, "refused", str(subject))
        return real(self, *given, **options)

    monkeypatch.setattr(Path, method, broken)


@pytest.mark.parametrize("name", ["x.txt", "z.txt", "grid.toml"])
def test_a_rename_that_fails_puts_back_what_was_there(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fail_on(monkeypatch, "replace", name)
    with pytest.raises(ToolError) as caught:
        store.replace(NEW, ("locks/b/y.txt",))
    assert tree(root) == OLD
    assert caught.value.exit_code == 4
    assert caught.value.where == str(root / next(path for path in NEW if path.endswith(name)))
    assert "put back" in caught.value.next_step


def test_a_removal_that_fails_puts_back_what_was_there(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_on(monkeypatch, "unlink", "y.txt")
    with pytest.raises(ToolError):
        store.replace(NEW, ("locks/b/y.txt",))
    assert tree(root) == OLD


def test_a_second_removal_that_fails_puts_back_the_first(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_on(monkeypatch, "unlink", "x.txt")
    with pytest.raises(ToolError):
        store.replace({}, ("locks/b/y.txt", "locks/a/x.txt"))
    assert tree(root) == OLD


def test_a_file_is_put_back_even_where_another_program_removed_its_folder(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def tidied(self: Path, *given: Any, **options: Any) -> None:
        if self.name == "x.txt":
            (root / "locks" / "b").rmdir()
            raise OSError(errno.EACCES, "refused", str(self))
        unlink(self, *given, **options)

    monkeypatch.setattr(Path, "unlink", tidied)
    with pytest.raises(ToolError):
        store.replace({}, ("locks/b/y.txt", "locks/a/x.txt"))
    assert tree(root) == OLD


def test_every_folder_that_was_emptied_is_removed(store: Store, root: Path) -> None:
    store.replace({}, ("locks/b/y.txt", "locks/a/x.txt", "locks/never/z.txt"))
    assert [path.name for path in (root / "locks").iterdir()] == ["grid.toml"]


def test_a_folder_in_the_place_of_a_file_changes_nothing(store: Store, root: Path) -> None:
    (root / "locks" / "grid.toml").unlink()
    (root / "locks" / "grid.toml").mkdir()
    before = tree(root)
    with pytest.raises(ToolError):
        store.replace(NEW)
    assert tree(root) == before


def no_space(*_given: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("function", ["fsync", "fdopen"])
def test_a_full_disk_changes_nothing_and_leaves_nothing(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    real: Callable[..., Any] = getattr(os, function)
    calls = []

    def once_full(*given: Any, **options: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            return no_space()
        return real(*given, **options)

    monkeypatch.setattr(os, function, once_full)
    with pytest.raises(ToolError, match="nothing was changed") as caught:
        store.replace(NEW, ("locks/b/y.txt",))
    assert os.strerror(errno.ENOSPC) in caught.value.what
    assert tree(root) == OLD


def test_every_text_is_synced_before_the_first_rename(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        events.append("sync")
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    store.replace(NEW)
    assert events == ["sync"] * 3 + ["rename"] * 3


def test_a_folder_that_refuses_new_files_is_found_before_anything_is_written(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).name != "b")
    with pytest.raises(ToolError, match="the folder is read-only") as caught:
        store.replace(NEW, ("locks/b/y.txt",))
    assert caught.value.where == str(root / "locks" / "b")
    assert tree(root) == OLD


def test_an_error_that_is_no_system_error_leaves_no_temporary_file(store: Store, root: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        store.replace({**NEW, "README.md": "\ud800"})
    assert tree(root) == OLD


@posix
def test_an_interrupt_waits_until_all_files_are_in_place(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def interrupting(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupting)
    with pytest.raises(KeyboardInterrupt):
        store.replace(NEW)
    assert tree(root) == {**OLD, **NEW}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_may_write_too(store: Store, root: Path) -> None:
    thread = threading.Thread(target=store.replace, args=(NEW,))
    thread.start()
    thread.join()
    assert tree(root) == {**OLD, **NEW}


def test_reading(store: Store, root: Path) -> None:
    assert store.read("README.md") == "old\n"
    assert store.read("gone.txt") is None
    assert store.read("README.md/below.txt") is None
    (root / "broken.txt").write_bytes(b"\xff")
    for path in ("broken.txt", "locks"):
        with pytest.raises(InputError) as caught:
            store.read(path)
        assert caught.value.problems[0].file == path


def test_environments_are_the_toml_files_of_envs(store: Store, root: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        store.read_environments()
    (root / "envs").mkdir()
    (root / "envs" / "b.toml").write_bytes(b"x = 1\r\n")
    (root / "envs" / "a.toml").write_bytes(b"")
    (root / "envs" / "notes.txt").write_bytes(b"no")
    assert store.read_environments() == {"envs/a.toml": "", "envs/b.toml": "x = 1\n"}
    assert list(store.read_environments()) == ["envs/a.toml", "envs/b.toml"]


def test_lockfiles_are_the_text_files_below_locks(store: Store, root: Path) -> None:
    (root / "locks" / "build.txt").write_text("")
    assert store.lockfiles() == ["a/x.txt", "b/y.txt", "build.txt"]
    assert Store(root / "nowhere").lockfiles() == []


def test_one_writer_holds_the_project_and_leaves_nothing_in_it(store: Store, root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    said: list[str] = []
    with store.exclusive(cache, said.append):
        (lock,) = cache.glob("*.lock")
        with pytest.raises(Timeout):
            FileLock(lock).acquire(timeout=0)
    FileLock(lock).acquire(timeout=0).lock.release()
    assert said == []
    assert tree(root) == OLD


def test_a_second_run_waits_and_says_so_and_gives_up_in_the_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.01)
    said: list[str] = []
    with (
        store.exclusive(tmp_path, said.append),
        pytest.raises(ToolError, match="another lockgrid"),
        Store(store.root).exclusive(tmp_path, said.append),
    ):
        raise AssertionError("two writers at once")
    assert said == ["another lockgrid works in this project; waiting for it"]


@pytest.mark.parametrize("meanwhile", ["changed", "removed", "made"])
@pytest.mark.parametrize("how", ["to write", "to remove"])
def test_what_somebody_changed_since_it_was_read_is_not_lost(
    store: Store, root: Path, meanwhile: str, how: str
) -> None:
    path = "locks/a/z.txt" if meanwhile == "made" else "locks/a/x.txt"
    store.read(path)
    if meanwhile == "removed":
        (root / path).unlink()
    else:
        (root / path).write_text("theirs\n", encoding="utf-8")
    before = tree(root)
    with pytest.raises(ToolError, match=f"{path}: was changed while this ran"):
        store.replace(*(({**NEW, path: "ours\n"},) if how == "to write" else ({"locks/grid.toml": "x"}, (path,))))
    assert tree(root) == before


def test_what_a_store_wrote_itself_it_may_write_again(store: Store, root: Path) -> None:
    for path in (*NEW, "locks/b/y.txt"):
        store.read(path)
    store.replace(NEW, ("locks/b/y.txt",))
    store.replace({**OLD, "locks/a/z.txt": "again\n"})
    assert tree(root) == {**OLD, "locks/a/z.txt": "again\n"}


def test_what_was_read_before_the_project_was_held_does_not_count(store: Store, root: Path, tmp_path: Path) -> None:
    store.read("README.md")
    (root / "README.md").write_text("another run's\n", encoding="utf-8")
    with store.exclusive(tmp_path / "cache", print):
        store.replace({"README.md": "new\n"})
    assert store.read("README.md") == "new\n"


def test_what_a_killed_run_left_beside_files_is_cleared_away_and_nothing_else(
    store: Store, root: Path, tmp_path: Path
) -> None:
    for path in ("locks/a/x.txt", "locks/grid.toml", "envs/app.toml", "pyproject.toml", "README.md"):
        (root / path).parent.mkdir(exist_ok=True)
        module._write_beside(root / path, "half")
    kept = (".mine.abcdefgh.new", "locks/.mine.new", "envs/a.abcdefgh.new", "src/.x.py.abcdefgh.new")
    (root / "src").mkdir()
    for path in kept:
        (root / path).write_text("mine")
    with store.exclusive(tmp_path / "cache", print):
        assert tree(root) == {**OLD, **dict.fromkeys(kept, "mine")}


def test_another_project_need_not_wait(store: Store, tmp_path: Path) -> None:
    said: list[str] = []
    with store.exclusive(tmp_path, said.append), Store(tmp_path).exclusive(tmp_path, said.append):
        assert said == []


def test_the_project_is_free_again_after_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="x"), store.exclusive(tmp_path, print):
        raise RuntimeError("x")
    with store.exclusive(tmp_path, print):
        pass


def test_a_cache_that_cannot_be_written_is_a_tool_error(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="set LOCKGRID_CACHE_DIR"), store.exclusive(tmp_path / "file" / "x", print):
        raise AssertionError("no lock was taken")
