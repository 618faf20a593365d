"""Requirements files: every construct that pip documents, and pip's own reading as the judge."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.init.reqfile import Entry, decode, parse


def one(text: str, **environ: str) -> Entry:
    entries, faults = parse(text, environ)
    assert faults == []
    assert len(entries) == 1
    return entries[0]


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        ("pytest", "pytest"),
        ("docopt == 0.6.1", "docopt == 0.6.1"),
        (
            'requests [security] >= 2.8.1, == 2.8.* ; python_version < "2.7"',
            'requests [security] >= 2.8.1, == 2.8.* ; python_version < "2.7"',
        ),
        ("lib @ https://index.example/lib.zip", "lib @ https://index.example/lib.zip"),
        ("./downloads/numpy-1.9.2-cp34-none-win32.whl", "./downloads/numpy-1.9.2-cp34-none-win32.whl"),
        ("https://index.example/lib-1.0.whl", "https://index.example/lib-1.0.whl"),
        ("lib # a remark", "lib"),
        ("lib#1", "lib#1"),
        ("git+https://index.example/lib.git#egg=lib", "git+https://index.example/lib.git#egg=lib"),
        ("  lib\t", "lib"),
        ("lib \\\n  >= 1", "lib   >= 1"),
        ("lib \\\n# a remark\n", "lib"),
        ("lib \\", "lib"),
    ],
)
def test_what_is_to_be_installed(text: str, requirement: str) -> None:
    entry = one(text)
    assert (entry.line, entry.requirement, entry.editable, entry.options) == (1, requirement, False, ())


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark", "   # only a remark", "\\\n", "# remark \\\n"])
def test_lines_that_say_nothing(text: str) -> None:
    assert parse(text, {}) == ([], [])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("-r other.txt", (("--requirement", "other.txt"),)),
        ("-rother.txt", (("--requirement", "other.txt"),)),
        ("--requirement=other.txt", (("--requirement", "other.txt"),)),
        ("--requirement 'a file.txt'", (("--requirement", "a file.txt"),)),
        ("-c bounds.txt", (("--constraint", "bounds.txt"),)),
        ("--constr bounds.txt", (("--constraint", "bounds.txt"),)),
        ("-i https://index.example/simple", (("--index-url", "https://index.example/simple"),)),
        ("--pypi-url https://index.example/simple", (("--index-url", "https://index.example/simple"),)),
        ("--extra-index-url=https://index.example/a", (("--extra-index-url", "https://index.example/a"),)),
        ("-f ./wheels", (("--find-links", "./wheels"),)),
        ("--no-index --pre", (("--no-index", ""), ("--pre", ""))),
        ("--no-binary :all:", (("--no-binary", ":all:"),)),
        ("--only-binary a,b", (("--only-binary", "a,b"),)),
        ("--prefer-binary", (("--prefer-binary", ""),)),
        ("--require-hashes", (("--require-hashes", ""),)),
        ("--trusted-host index.example", (("--trusted-host", "index.example"),)),
        ("--use-feature fast-deps", (("--use-feature", "fast-deps"),)),
        ("--pre # a remark", (("--pre", ""),)),
    ],
)
def test_options_of_the_whole_file(text: str, options: tuple[tuple[str, str], ...]) -> None:
    entry = one(text)
    assert (entry.requirement, entry.options) == ("", options)


@pytest.mark.parametrize("text", ["-e .[dev]", "-e '.[dev]'", "--editable=.[dev]"])
def test_an_editable_is_to_be_installed(text: str) -> None:
    entry = one(text)
    assert (entry.requirement, entry.editable, entry.options) == (".[dev]", True, ())


def test_a_marker_after_an_editable_is_overlooked_by_pip_and_told() -> None:
    assert one("-e . ; python_version<'3'").spare == (";", "python_version<3")


def test_hashes_and_settings_of_a_requirement() -> None:
    text = "lib==1 \\\n    --hash=sha256:aa \\\n    --hash sha256:bb\nother --config-settings=a=b"
    entries, faults = parse(text, {})
    assert faults == []
    assert [(e.line, e.requirement) for e in entries] == [(1, "lib==1"), (4, "other")]
    assert entries[0].values("--hash") == ["sha256:aa", "sha256:bb"]
    assert entries[1].values("--config-settings") == ["a=b"]


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    entries, faults = parse("# one\n\na \\\n  ==1\r\n--nope\nb\n", {})
    assert [(e.line, e.requirement) for e in entries] == [(3, "a   ==1"), (6, "b")]
    assert [(f.line, f.what) for f in faults] == [(5, "pip takes no such line: no such option: --nope")]


def test_variables_are_replaced_where_they_are_set_and_never_in_what_is_repeated() -> None:
    entry = one("lib==${VERSION}", VERSION="1.0")
    assert (entry.requirement, entry.text, entry.variables) == ("lib==1.0", "lib==${VERSION}", ("VERSION",))
    for text in ("lib==${VERSION}", "lib==$VERSION", "lib==%VERSION%", "lib==${version}"):
        kept = one(text, VERSION="", version="1")
        assert (kept.requirement, kept.variables) == (text, ())


@pytest.mark.parametrize("text", ["lib --hash='x", "-r", "--no-index=1", "--upgrade"])
def test_what_pip_refuses_is_a_fault(text: str) -> None:
    entries, faults = parse(text, {})
    assert entries == []
    assert [fault.line for fault in faults] == [1]
    assert faults[0].hint


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_a_mark_tells_the_encoding(encoding: str) -> None:
    assert decode("é==1".encode(encoding)) == "é==1"


def test_a_comment_tells_the_encoding() -> None:
    assert decode("# -*- coding: latin-1 -*-\n# é".encode("latin-1")).endswith("é")
    with pytest.raises(ValueError, match="no encoding 'klingon'"):
        decode(b"# coding: klingon\n")
    with pytest.raises(ValueError, match="utf-8"):
        decode("# é".encode("latin-1"))


# -- pip as the judge -------------------------------------------------------------------------------------

_REQUIREMENTS = ("lib", "lib==1", "a[b]>=2", ".", "https://index.example/a#b", "é")
_OPTIONS = ("-r", "-e", "-i", "--hash=sha256:aa", "--pre", "--no-such", "-", "--")
_SIGNS = (";", "python_version<'3'", '"', "'", "#", "#x", "\\", "\\\\", "${V}", "${W}", "\t")
_WORDS = st.sampled_from([*_REQUIREMENTS, *_OPTIONS, *_SIGNS])
_LINES = st.lists(_WORDS, max_size=6).map(" ".join)
_TEXTS = st.lists(_LINES, max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\n\n", "\f"]).map(lambda end: end.join(lines))
)


@given(_TEXTS)
def test_pip_reads_the_same_lines(text: str) -> None:
    """Line by line: the same requirement, editable or not, with the same hashes; refused where pip refuses."""
    from pip._internal.req import req_file

    environ = {"V": "1.0"}
    before = os.environ.get("V")
    os.environ["V"] = "1.0"
    try:
        lines = list(req_file.preprocess(text))
    finally:
        os.environ.pop("V") if before is None else os.environ.update(V=before)
    reader = req_file.get_line_parser(None)
    expected: list[tuple[int, str, bool, int]] = []
    refused = []
    for number, line in lines:
        try:
            words, options = reader(line)
        except req_file.OptionParsingError:
            refused.append(number)
            continue
        editables = [] if words else options.editables[:1]
        hashes = sum(map(len, (options.hashes or {}).values()))
        expected.append((number, "".join([words.strip(), *editables]), bool(editables), hashes))
    entries, faults = parse(text, environ)
    assert [fault.line for fault in faults] == refused
    found = [(e.line, e.requirement, e.editable, len(e.values("--hash"))) for e in entries]
    assert found == expected
