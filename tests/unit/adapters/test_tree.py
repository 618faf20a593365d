"""A tree of strangers: what is read of it, what is refused, and how it is rewritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lockgrid.adapters import tree as module
from lockgrid.adapters.tree import Tree, TreeFile
from lockgrid.errors import InputError, ToolError

posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes as on POSIX")


def test_text_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes("\ufeffé\r\nb\rc\n\n".encode())
    assert Tree(tmp_path).read("a/f") == TreeFile("a/f", "\ufeffé\r\nb\rc\n\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\nb\xe9\n", "line 2 is not UTF-8, and nothing else is read or rewritten"),
        ("x".encode("utf-16"), "line 1 is not UTF-8, and nothing else is read or rewritten"),
    ],
)
def test_another_encoding_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "f").write_bytes(content)
    assert Tree(tmp_path).read("f") == said


@pytest.mark.parametrize("path", ["no", "no/f", "f/g"])
def test_a_file_that_is_not_there(tmp_path: Path, path: str) -> None:
    (tmp_path / "f").write_text("")
    assert Tree(tmp_path).read(path) == "there is no such file"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert Tree(tmp_path).read("a") == "this is no file"


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST", 1 << 20)
    (tmp_path / "f").write_bytes(b" " * ((2 << 20) + 1))
    assert Tree(tmp_path).read("f") == "this file has 2 MB, and 1 are read"


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        Tree(tmp_path / "no")


@posix
def test_a_pipe_is_no_file_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Tree(tmp_path).read("pipe") == "this is no file"


@posix
def test_links_inside_the_tree_lead_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_text("x")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "l").symlink_to("b/f")
    tree = Tree(tmp_path)
    assert tree.read("b/f") is tree.read("l") is tree.read("a/f")
    assert tree.read("l") == TreeFile("a/f", "x")


@posix
@pytest.mark.parametrize("path", ["out", "folder/f", "up"])
def test_links_out_of_the_tree_are_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (tmp_path / "f").write_text("x")
    (root / "out").symlink_to(tmp_path / "f")
    (root / "folder").symlink_to(tmp_path)
    (root / "up").symlink_to("../f")
    assert Tree(root).read(path) == "this leads out of the tree"


@posix
def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    said = Tree(tmp_path).read("a")
    assert isinstance(said, str)


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("x")
    counted: list[Path] = []
    read = Path.read_bytes

    def counting(path: Path) -> bytes:
        counted.append(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counting)
    tree = Tree(tmp_path)
    assert tree.read("f") is tree.read("f")
    assert len(counted) == 1


@posix
def test_a_rewritten_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o751)
    (tmp_path / "l").symlink_to("f")
    tree = Tree(tmp_path)
    read = tree.read("l")
    assert isinstance(read, TreeFile)
    tree.replace({read.path: "\ufeffé\r\n"})
    assert (tmp_path / "f").read_bytes() == "\ufeffé\r\n".encode()
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o751
    assert (tmp_path / "l").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "l"]


def test_all_files_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target.name == "b":
            raise OSError(28, "no space")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(ToolError, match="no space"):
        Tree(tmp_path).replace({"a": "new", "b": "new", "c": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old", "b": "old", "c": "old"}


def test_a_read_only_file_is_refused_and_none_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).name != "b")  # root may write anything
    with pytest.raises(InputError, match="b: this file is read-only"):
        Tree(tmp_path).replace({"a": "new", "b": "new"})
    assert (tmp_path / "a").read_text() == "old"
