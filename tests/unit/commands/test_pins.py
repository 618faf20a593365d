"""Check and sync over files on a disk: every byte outside the versions is kept, whatever the files hold."""

from __future__ import annotations

import datetime
import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.store import Store
from lockgrid.commands.context import Context
from lockgrid.commands.pins import Pins, check, moved, read_pins, sync
from lockgrid.core.render.requirements import render
from lockgrid.core.uvproject import read_locks
from lockgrid.errors import InputError
from lockgrid.model.grid import Lockfile
from lockgrid.model.pins import Kind, Match, Row, State
from lockgrid.terminal import PlainProgress
from unit.builders import locked
from unit.core.pins.samples import SAMPLES, Sample

NOON = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC).timestamp()


def lockfile(version: str) -> Lockfile:
    return Lockfile(
        environment="tosa",
        platform="linux-x86_64 (glibc 2.28)",
        pythons=("3.11",),
        sdists=(),
        pins=(locked("vela", version, ["3.11"]),),
    )


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def opened(project: Path, **options: Path | str) -> Pins:
    context = Context(store=Store(project), environ={}, clock=lambda: NOON, progress=PlainProgress(io.StringIO()))
    return read_pins(context, **options)  # type: ignore[arg-type]


def rows(pins: Pins) -> list[Row]:
    return [row for report in check(pins) for row in report.rows]


PINS = """
[pins.vela]
truth = { package = "vela" }
copies = [{ file = "a/r.txt", match = "requirement" }, { file = "b.sh", match = { shell = "V" } }]
"""
COPIES = {"a/r.txt": "vela==1.0\r\n", "b.sh": "V=1.0\n"}
LOCK = {"locks/tosa/linux-x86_64.txt": render(lockfile("2.0")), "locks/build.txt": "broken"}


def test_sync_then_check_is_in_step_and_sync_again_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS, **LOCK, **COPIES})
    assert [row.state for row in rows(opened(tmp_path))] == [State.DRIFT, State.DRIFT]
    done = sync(opened(tmp_path), dry_run=False)
    assert [(row.where, row.found, row.wanted) for row in done.changes] == [
        ("a/r.txt:1", "1.0", "2.0"), ("b.sh:1", "1.0", "2.0"),
    ]  # fmt: skip
    assert ((tmp_path / "a/r.txt").read_bytes(), (tmp_path / "b.sh").read_bytes()) == (b"vela==2.0\r\n", b"V=2.0\n")
    assert [row.state for row in rows(opened(tmp_path))] == [State.IN_STEP, State.IN_STEP]
    assert sync(opened(tmp_path), dry_run=False).texts == {}


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS, **LOCK, **COPIES})
    assert sync(opened(tmp_path), dry_run=True).texts == {"a/r.txt": "vela==2.0\r\n", "b.sh": "V=2.0\n"}
    assert (tmp_path / "b.sh").read_bytes() == b"V=1.0\n"


def test_one_copy_that_cannot_be_told_stops_all(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS, **LOCK, **COPIES, "b.sh": b"V=1.0\n# \xe9\n"})
    with pytest.raises(InputError) as caught:
        sync(opened(tmp_path), dry_run=False)
    assert [str(problem) for problem in caught.value.problems] == [
        "b.sh: pins.vela: line 2 is not UTF-8, and nothing else is read or rewritten"
    ]
    assert (tmp_path / "a/r.txt").read_bytes() == b"vela==1.0\r\n"


def test_the_copies_of_another_tree_and_the_truths_of_the_project(tmp_path: Path) -> None:
    pins = PINS + '[pins.x]\ntruth = { file = "v", match = { shell = "V" } }\n'
    pins += 'copies = [{ file = "v", match = { shell = "V" } }]\n'
    pins += '[pins.y]\ntruth = { file = "w", match = { shell = "V" }, tree = true }\n'
    pins += 'copies = [{ file = "v", match = { shell = "W" } }]\n'
    project = write(tmp_path / "project", {"pins.toml": pins, **LOCK, "v": "V=3\n"})
    tree = write(tmp_path / "tree", {**COPIES, "v": "V=1\nW=1\n", "w": "V=4\n"})
    sync(opened(project, tree=tree), dry_run=False)
    assert (tree / "v").read_bytes() == b"V=3\nW=4\n"
    assert (project / "v").read_bytes() == b"V=3\n"
    assert [row.state for row in rows(opened(project, tree=tree))] == [State.IN_STEP] * 4


def test_the_tree_may_be_the_project_by_its_name(tmp_path: Path) -> None:
    place = '{ file = "v", match = { shell = "V" } }'
    pins = f"[pins.x]\ntruth = {place}\ncopies = [{place}]\n"
    write(tmp_path, {"pins.toml": pins, "v": "V=3\n"})
    assert [row.state for row in rows(opened(tmp_path, tree=tmp_path / "."))] == [State.IN_STEP]


def test_a_pins_toml_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"x/other.toml": PINS, **LOCK, **COPIES})
    assert len(rows(opened(tmp_path, file=str(tmp_path / "x/other.toml")))) == 2
    with pytest.raises(InputError, match=r"no\.toml: there is no such file"):
        opened(tmp_path, file=str(tmp_path / "no.toml"))
    with pytest.raises(InputError, match=r"pins\.toml: there is no such file beside envs/"):
        opened(tmp_path)


def test_what_lock_writes_is_no_copy(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS.replace("a/r.txt", "locks/tosa/linux-x86_64.txt"), **LOCK, **COPIES})
    with pytest.raises(InputError) as caught:
        opened(tmp_path)
    assert [str(problem) for problem in caught.value.problems] == [
        (
            "pins.toml: pins.vela.copies[0].file: "
            "locks/tosa/linux-x86_64.txt is written by `lockgrid lock`, so it is no copy"
        )
    ]


def test_a_commit_of_a_git_source_is_a_truth(tmp_path: Path) -> None:
    commit = "dbf45dbfcc515421dd6099037d3e2637b90748c8"
    pins = '[pins.nn]\ntruth = { git = "nn" }\ncopies = [{ file = "C.txt", match = { cmake-set = "NN" } }]\n'
    envs = {"envs/cortex_m.toml": f'[git]\nnn = {{ url = "u", rev = "{commit}" }}\n'}
    write(tmp_path, {"pins.toml": pins, **envs, "C.txt": "set(NN 0123abcd)\n"})
    sync(opened(tmp_path), dry_run=False)
    assert (tmp_path / "C.txt").read_text() == f"set(NN {commit[:8]})\n"


def test_truths_that_move_give_texts_and_write_nothing(tmp_path: Path) -> None:
    chain = '[pins.x]\ntruth = { file = "b.sh", match = { shell = "V" } }\n'
    chain += 'copies = [{ file = "c.sh", match = { shell = "V" } }]\n'
    write(tmp_path, {"pins.toml": chain + PINS, **LOCK, **COPIES, "c.sh": "V=1.0\n"})
    new = read_locks({"tosa/linux-x86_64.txt": render(lockfile("3.1"))})
    done = moved(opened(tmp_path), locks=new, texts={"b.sh": "# new\nV=1.0\n"})
    assert done.texts == {"a/r.txt": "vela==3.1\r\n", "b.sh": "# new\nV=3.1\n", "c.sh": "V=3.1\n"}
    assert {row.where for row in done.changes} == {"a/r.txt:1", "b.sh:2", "c.sh:1"}
    assert (tmp_path / "c.sh").read_bytes() == b"V=1.0\n"


def test_only_pins_whose_truth_moves_are_judged_and_rewritten(tmp_path: Path) -> None:
    """Drift and errors that stood before are no affair of what moves something else."""
    more = '[pins.drifts]\ntruth = { literal = "9" }\ncopies = [{ file = "c.sh", match = { shell = "V" } }]\n'
    more += '[pins.wrong]\ntruth = { literal = "9" }\ncopies = [{ file = "no.sh", match = { shell = "V" } }]\n'
    more += '[pins.unknown]\ntruth = { package = "no" }\ncopies = [{ file = "c.sh", match = { shell = "W" } }]\n'
    write(
        tmp_path, {"pins.toml": PINS + more, **LOCK, "a/r.txt": "vela==1.0\n", "b.sh": "V=2.0\n", "c.sh": "V=1\nW=1\n"}
    )
    same = read_locks({"tosa/linux-x86_64.txt": render(lockfile("2.0"))})
    assert moved(opened(tmp_path), locks=same).texts == {}
    new = read_locks({"tosa/linux-x86_64.txt": render(lockfile("3.0"))})
    assert moved(opened(tmp_path), locks=new).texts == {"a/r.txt": "vela==3.0\n", "b.sh": "V=3.0\n"}


def test_a_truth_that_is_lost_stops_what_moves_it(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS, **LOCK, **COPIES})
    with pytest.raises(InputError) as caught:
        moved(opened(tmp_path), locks={})
    assert [str(problem) for problem in caught.value.problems] == [
        "pins.toml: pins.vela.truth: there are no lockfiles: run `lockgrid lock`"
    ]


def test_copies_by_several_names_of_one_file_move_together(tmp_path: Path) -> None:
    pins = PINS.replace('"b.sh", match = { shell = "V" }', '"link.txt", match = { shell = "V" }')
    write(tmp_path, {"pins.toml": pins, **LOCK, "a/r.txt": "vela==1.0\nV=1.0\n"})
    link(tmp_path / "link.txt", "a/r.txt")
    new = read_locks({"tosa/linux-x86_64.txt": render(lockfile("3.0"))})
    done = moved(opened(tmp_path), locks=new, texts={"a/r.txt": "# new\nvela==1.0\nV=1.0\n"})
    assert done.texts == {"a/r.txt": "# new\nvela==3.0\nV=3.0\n"}


def test_a_link_to_what_lock_writes_is_no_copy(tmp_path: Path) -> None:
    write(tmp_path, {"pins.toml": PINS, **LOCK, "a/r.txt": "vela==1.0\n"})
    link(tmp_path / "b.sh", "locks/tosa/linux-x86_64.txt")
    with pytest.raises(InputError, match=r"b\.sh is a link to locks/tosa/linux-x86_64\.txt, which is written by"):
        opened(tmp_path)


def link(path: Path, to: str) -> None:
    try:
        path.symlink_to(to)
    except OSError:
        pytest.skip("no links here")


# -- every byte ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    """A file made of a sample, and the way to its copy."""

    name: str
    match: Match
    content: bytes


LEGAL = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff\u2028\u2029"))
VERSIONS = st.sampled_from(["1.2", "1.2.0", "v1.2", "2026.05.0", "1.2rc1", "10.0.0", "1.2.3.4", "1!2.0"])


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A sample with any version, comments of any text before and after it, any line ends, with or without a mark."""
    name = draw(st.sampled_from(sorted(SAMPLES)))
    sample: Sample = SAMPLES[name]
    text = sample.text.replace("v@", "@").replace("@", draw(VERSIONS))
    if sample.match.kind is not Kind.JSON:
        before = [f"# {line}" for line in draw(st.lists(LEGAL, max_size=3))]
        after = [f"# {line}" for line in draw(st.lists(LEGAL, max_size=3))]
        text = "".join(f"{line}\n" for line in before) + text + "\n".join(after)
    ends = st.sampled_from(["\n", "\r\n"])
    text = "".join(draw(ends) if letter == "\n" else letter for letter in text)
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
    return Document(name, sample.match, content)


def _pins_toml(match: Match, file: str, true: str) -> str:
    """The pin of a document, in the words of pins.toml."""
    value = "[" + ", ".join(repr(part) for part in match.key) + "]" if match.key else f"'{match.name}'"
    more = [f"{key} = '{word}'" for key in ("operator", "extra", "group") if (word := getattr(match, key))]
    more += ["build = true"] if match.build else []
    said = ", ".join([f"{match.kind.value} = {value}", *more])
    return f"truth = {{ literal = '{true}' }}\ncopies = [{{ file = '{file}', match = {{ {said} }} }}]\n"


@given(made=st.lists(documents(), min_size=1, max_size=4), true=VERSIONS)
def test_every_byte_outside_the_versions_is_kept(made: list[Document], true: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {f"f{number}": document.content for number, document in enumerate(made)}
        rules = [f"[pins.p{n}]\n{_pins_toml(document.match, f'f{n}', true)}" for n, document in enumerate(made)]
        root = write(Path(folder), {"pins.toml": "".join(rules), **files})
        before = rows(opened(root))
        sync(opened(root), dry_run=False)
        after = rows(opened(root))
        assert [row.state for row in after] == [State.IN_STEP] * len(made)
        for old, new in zip(before, after, strict=True):
            was, now = files[old.copy.file], (root / old.copy.file).read_bytes()
            assert old.place is not None
            head = len(was.decode()[: old.place.start].encode())
            tail = len(was.decode()[old.place.end :].encode())
            assert was[head : len(was) - tail].decode() == old.found
            assert now == was[:head] + new.found.encode() + was[len(was) - tail :]
        assert sync(opened(root), dry_run=False).texts == {}
