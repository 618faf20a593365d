"""[git]: what may stand there, what an environment makes of it, and what a wheel says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.core.digest import digest_environment
from lockgrid.core.git import (
    build_digest,
    decode_provenance,
    encode_provenance,
    git_faults,
    is_commit,
    is_short,
    tree_digest,
    url_fault,
)
from lockgrid.model.git import Provenance, TreeFile
from lockgrid.model.spec import Environment
from unit.builders import digest, named, parse, problems

REV = "0123456789abcdef0123456789abcdef01234567"
NEWER = "f" * 40
URL = "https://git.example/cmsis-nn"


def entry(url: str = URL, rev: str = REV, more: str = "") -> str:
    return f'[git]\ncmsis-nn = {{ url = "{url}", rev = "{rev}"{more} }}\n'


def app(text: str, **bases: str) -> Environment:
    return named(parse(app=f'requires = ["cmsis-nn"]\n{text}', **bases), "app")


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "https://git.example:8443/a/b.git",
        "ssh://git@git.example/a/b.git",
        "ssh://git.example:22/~a/b",
        "file:///srv/git/b.git",
    ],
)
def test_urls_that_git_may_be_given(url: str) -> None:
    assert url_fault(url) is None
    assert git_faults(url, REV, "") == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "no URL"),
        ("ext::sh -c true", "blank"),
        ("ext::touch", "runs"),
        ("https::https://git.example/a", "may run any command"),
        ("ext::https://git.example/a", "may run any command"),
        ("http://git.example/a", "scheme 'http'"),
        ("git://git.example/a", "scheme 'git'"),
        ("ftp://git.example/a", "scheme"),
        ("git+https://git.example/a", "scheme"),
        ("https://user:s3cret@git.example/a", "credentials"),
        ("https://s3cret@git.example/a", "credentials"),
        ("ssh://git:s3cret@git.example/a", "credentials"),
        ("ssh://-oProxyCommand=s3cret/a", "no repository"),
        ("ssh://-oProxyCommand=s3cret@git.example/a", "no repository"),
        ("https:///a", "no repository"),
        ("https://git.example", "no repository"),
        ("https://git.example/a?token=s3cret", "query"),
        ("https://git.example/a#subdirectory=b", "fragment"),
        ("file://host/a", "path"),
        ("file:relative", "scheme"),
        ("../a", "scheme"),
        ("git@git.example:a", "scheme"),
        ("-uext", "scheme"),
        ("https://[git.example/a", "URL"),
        ("https://git.example/a\n", "blank"),
        ("https://git.example/a\x1b[2J", "control"),
    ],
)
def test_urls_that_git_may_not_be_given_and_no_message_repeats_them(url: str, said: str) -> None:
    fault = url_fault(url)
    assert fault is not None
    if said != "runs":
        assert said in fault[0]
    assert "s3cret" not in " ".join(fault)
    assert fault[1]


def test_what_is_a_commit() -> None:
    assert is_commit(REV)
    assert is_commit("0" * 64)
    assert not any(map(is_commit, (REV[:39], REV + "0", REV.upper(), f"{REV}\n", "main", "", f"-{REV[1:]}")))
    assert is_short("0123")
    assert is_short(REV[:39])
    assert not any(map(is_short, ("012", REV, "main", "v1.0")))


@pytest.mark.parametrize("path", ["/abs", "..", "a/../../b", "a\\b", "C:/a"])
def test_a_subdirectory_stays_inside(path: str) -> None:
    assert [where for where, _, _ in git_faults(URL, REV, path)] == ["subdirectory"]
    assert git_faults(URL, REV, "a/b..c") == []


def test_an_environment_has_its_source_on_every_platform_and_no_other() -> None:
    found = app(entry(more=', subdirectory = "./python/"'))
    (source,) = found.git
    assert (source.name, source.url, source.rev, source.subdirectory) == ("cmsis-nn", URL, REV, "python")
    assert source.index == "git.cmsis-nn.0123456789ab.python"
    assert {found.index("cmsis-nn", target) for target in found.targets} == {source.index}
    assert all(one.dateless for one in found.sources)


def test_the_nearest_entry_wins_however_it_is_spelled() -> None:
    base = f'abstract = true\n[git]\nCMSIS_NN = {{ url = "{URL}", rev = "{REV}" }}\n'
    (inherited,) = app('extends = ["base"]', base=base).git
    assert (inherited.rev, inherited.file) == (REV, "envs/base.toml")
    (own,) = app('extends = ["base"]\n' + entry(rev=NEWER), base=base).git
    assert (own.rev, own.file) == (NEWER, "envs/app.toml")


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ('[git]\ncmsis-nn = "main"\n', "git.cmsis-nn", "must be a table"),
        ('[git]\ncmsis-nn = { url = "https://git.example/a" }\n', "git.cmsis-nn.rev", "this key is missing"),
        (f'[git]\ncmsis-nn = {{ rev = "{REV}" }}\n', "git.cmsis-nn.url", "this key is missing"),
        (entry(more=', revs = "1"'), "git.cmsis-nn.revs", "did you mean 'rev'?"),
        (entry(rev="main"), "git.cmsis-nn.rev", "a branch or a tag, which may move"),
        (entry(rev=REV[:12]), "git.cmsis-nn.rev", "the beginning of a commit"),
        (entry(rev=REV[:12].upper()), "git.cmsis-nn.rev", "the beginning of a commit"),
        (entry(rev=REV.upper()), "git.cmsis-nn.rev", f'in capital letters (write rev = "{REV}")'),
        (entry(rev=""), "git.cmsis-nn.rev", "no commit is named"),
        (entry(url="ext::touch"), "git.cmsis-nn.url", "may run any command"),
        (entry(more=', subdirectory = ".."'), "git.cmsis-nn.subdirectory", "inside of the repository"),
        (entry() + f'Cmsis_NN = {{ url = "{URL}", rev = "{REV}" }}\n', "git.Cmsis_NN", "is the same package"),
        (entry() + '[sources]\n"CMSIS-NN@linux-x86_64" = "other"\n', "git.cmsis-nn", "in [sources] as well"),
        (f'[git]\n"a b" = {{ url = "{URL}", rev = "{REV}" }}\n', "git.a b", "no name of a package"),
        ('[sources]\na = "git.a"\n', "sources.a", "begins no name of an index"),
    ],
)
def test_each_fault_is_told_once_with_its_key(text: str, key: str, said: str) -> None:
    found = problems(app=f'requires = ["a"]\n{text}')
    assert [p.key for p in found] == [key]
    assert said in str(found[0])


def test_a_base_and_its_environment_cannot_name_both_for_a_package() -> None:
    base = f"abstract = true\n{entry()}"
    found = problems(base=base, app='extends = ["base"]\nrequires = ["a"]\n[sources]\ncmsis-nn = "other"\n')
    assert [(p.file, p.key) for p in found] == [("envs/base.toml", "git.cmsis-nn")]


def test_url_commit_and_folder_are_of_the_input_and_nothing_else_changes_it() -> None:
    plain = digest_environment(app(""))
    digests = {
        digest_environment(app(text))
        for text in (entry(), entry(rev=NEWER), entry(url=f"{URL}2"), entry(more=', subdirectory = "a"'))
    }
    assert len(digests | {plain}) == 5


FILES = [
    TreeFile(path=b"a", mode="100644", sha256=digest("a")),
    TreeFile(path=b"b/c", mode="100755", sha256=digest("b")),
]


def test_the_digest_of_a_tree_is_of_paths_modes_and_content_in_any_order() -> None:
    whole = tree_digest(FILES)
    assert whole == tree_digest(reversed(FILES))
    assert whole.startswith("sha256:")
    others = [
        [replace(FILES[0], path=b"x"), FILES[1]],
        [replace(FILES[0], mode="100755"), FILES[1]],
        [replace(FILES[0], sha256=digest("x")), FILES[1]],
        FILES[:1],
    ]
    assert len({whole, *map(tree_digest, others)}) == 5


def test_the_digest_of_a_build_is_of_names_versions_and_hashes() -> None:
    rows = [("a", "1", ["x", "y"]), ("b", "2", ["z"])]
    assert build_digest(rows) == build_digest([("b", "2", ["z"]), ("a", "1", ["y", "x"])])
    assert build_digest(rows) != build_digest([("a", "1", ["x"]), ("b", "2", ["z"])])


TEXTS = st.text(max_size=8)


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_what_a_wheel_says_of_itself_comes_back(rev: str, tree: str, requires: list[str], pins: list[str]) -> None:
    value = Provenance(
        rev=rev,
        subdirectory="",
        tree=tree,
        platform="linux-x86_64",
        python="3.12",
        requires=tuple(requires),
        pins=tuple(pins),
        build="sha256:0",
    )
    assert decode_provenance(encode_provenance(value)) == value


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"schema": 2}', b"\xff", b'{"schema": 1, "rev": "x"}', b"[" * 9999]
)
def test_what_lockgrid_did_not_write_says_nothing(data: bytes) -> None:
    assert decode_provenance(data) is None
