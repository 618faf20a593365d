"""The shape of envs/: types, unknown keys, missing keys, and the nearest right spelling."""

from __future__ import annotations

import pytest

from lockgrid.core.schema import ExceptionEntry, PlatformEntry, parse_environment, parse_targets
from lockgrid.core.table import nearest
from lockgrid.errors import Problem

FILE = "envs/app.toml"


def environment_problems(text: str) -> list[tuple[str, str]]:
    """Key and sentence of each problem of an environment's file."""
    return [(p.key, p.what) for p in parse_environment(FILE, text)[1]]


def test_a_full_environment_file_is_read_as_it_stands() -> None:
    value, problems = parse_environment(
        FILE,
        """
        summary = "s"
        abstract = true
        extends = ["base"]
        requires = ["a==1"]
        pythons = ["3.10"]
        platforms = ["linux-x86_64"]
        apart = true
        [sdists]
        b = "no wheel"
        [overrides]
        c = { version = "==2", why = "w" }
        [hold]
        d = { version = "<3", why = "v", since = 2026-11-30 }
        [smoke]
        imports = ["x.y"]
        commands = [["x", "--version"]]
        """,
    )
    assert problems == []
    assert value is not None
    assert (value.summary, value.abstract, value.apart) == ("s", True, True)
    assert (value.extends, value.requires, value.pythons) == (["base"], ["a==1"], ["3.10"])
    assert value.platforms == ["linux-x86_64"]
    assert value.sdists == {"b": "no wheel"}
    assert value.overrides == {"c": ExceptionEntry(version="==2", why="w")}
    assert value.hold == {"d": ExceptionEntry(version="<3", why="v")}
    assert (value.smoke.imports, value.smoke.commands) == (["x.y"], [["x", "--version"]])


def test_absent_keys_are_told_from_empty_ones() -> None:
    value, problems = parse_environment(FILE, "requires = []\n")
    assert problems == []
    assert value is not None
    assert (value.pythons, value.platforms, value.apart) == (None, None, None)
    empty, _ = parse_environment(FILE, "pythons = []\nplatforms = []\napart = false\n")
    assert empty is not None
    assert (empty.pythons, empty.platforms, empty.apart) == ([], [], False)


def test_targets_are_read_as_they_stand() -> None:
    value, problems = parse_targets(
        "envs/targets.toml",
        'cooldown = "7 days"\npythons = ["3.12"]\n[platforms.a]\nglibc = "2.28"\n[platforms.b]\nmacos = "15.0"\n',
    )
    assert problems == []
    assert value is not None
    assert (value.cooldown, value.pythons) == ("7 days", ["3.12"])
    assert value.platforms == {"a": PlatformEntry(glibc="2.28"), "b": PlatformEntry(macos="15.0")}


@pytest.mark.parametrize("read", [parse_environment, parse_targets])
def test_broken_toml_is_one_problem_and_no_value(read: object) -> None:
    value, problems = read(FILE, "requires = [\n")  # type: ignore[operator]
    assert value is None
    assert [problem.file for problem in problems] == [FILE]
    assert problems[0].what.startswith("broken TOML: ")


def test_a_byte_order_mark_is_told_as_one() -> None:
    _, problems = parse_environment(FILE, "\ufeff" + 'requires = ["a"]\n')
    assert [problem.what for problem in problems] == [
        "broken TOML: it begins with a byte order mark; save it as UTF-8 without one"
    ]


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("require = []", "require", "did you mean 'requires'?"),
        ('python = ["3.10"]', "python", "did you mean 'pythons'?"),
        ('[smoke]\nimport = ["a"]', "smoke.import", "did you mean 'imports'?"),
        (
            '[overrides]\na = { version = "==1", because = "w", why = "w" }',
            "overrides.a.because",
            "known: version, why",
        ),
        ('[overrides]\na = { version = "==1", why = "w", since = 2026-01-01 }', "overrides.a.since", ""),
        ('[hold]\na = { version = "<1", why = "w", sinse = 2026-01-01 }', "hold.a.sinse", "did you mean 'since'?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(text: str, key: str, hint: str) -> None:
    _, problems = parse_environment(FILE, text)
    assert [(p.key, p.what) for p in problems] == [(key, "unknown key")]
    assert hint in problems[0].hint


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('python = ["3.10"]\npythons = ["3.10"]\n[platforms.a]\n', "python"),
        ('pythons = ["3.10"]\n[platforms.a]\nglib = "2.28"\n', "platforms.a.glib"),
    ],
)
def test_targets_refuse_unknown_keys_too(text: str, key: str) -> None:
    _, problems = parse_targets(FILE, text)
    assert [(p.key, p.what) for p in problems] == [(key, "unknown key")]
    assert problems[0].hint.startswith("did you mean")


@pytest.mark.parametrize(
    ("text", "key", "what"),
    [
        ("summary = 1", "summary", "must be a string"),
        ('abstract = "yes"', "abstract", "must be true or false"),
        ("apart = 1", "apart", "must be true or false"),
        ('extends = "base"', "extends", "must be a list of strings"),
        ('requires = "a==1"', "requires", "must be a list of strings"),
        ('requires = ["a", 1]', "requires[1]", "must be a string"),
        ("pythons = [3.10]", "pythons[0]", "must be a string"),
        ("platforms = [true]", "platforms[0]", "must be a string"),
        ('sdists = ["a"]', "sdists", "must be a table"),
        ("[sdists]\na = true", "sdists.a", "the reason must be a string"),
        ('[overrides]\na = "==1"', "overrides.a", "must be a table"),
        ('[overrides]\na = { version = 1, why = "w" }', "overrides.a.version", "must be a string"),
        ('[hold]\na = { version = "<1", why = "w", since = "soon" }', "hold.a.since", "must be a date"),
        ("smoke = 1", "smoke", "must be a table"),
        ('[smoke]\nimports = "a"', "smoke.imports", "must be a list of strings"),
        ('[smoke]\ncommands = [["a", 1]]', "smoke.commands[0][1]", "must be a string"),
        ('[smoke]\ncommands = ["a"]', "smoke.commands[0]", "must be a list of strings"),
        ("accept = 1", "accept", "must be a table"),
        ('[accept]\n"glibc:a" = 1', "accept.glibc:a", "the reason must be a string"),
        ("sources = 1", "sources", "must be a table"),
        ("[sources]\ntorch = 1", "sources.torch", "must be the name of an index"),
        ("[sources]\njaraco.text = 'x'", "sources.jaraco", "must be the name of an index"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_by_its_key(text: str, key: str, what: str) -> None:
    assert environment_problems(text) == [(key, what)]


def test_a_python_without_quotes_is_explained() -> None:
    _, problems = parse_environment(FILE, "pythons = [3.10]")
    assert problems == [
        Problem(
            file=FILE,
            key="pythons[0]",
            what="must be a string",
            hint='write it in quotes, "3.10"; to TOML 3.10 is the number 3.1',
        )
    ]


def test_a_date_time_is_a_date() -> None:
    assert environment_problems('[hold]\na = { version = "<1", why = "w", since = 2026-11-30T00:00:00Z }') == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('[overrides]\na = { version = "==1" }', ["overrides.a.why"]),
        ("[overrides]\na = {}", ["overrides.a.version", "overrides.a.why"]),
        ('[hold]\na = { version = "<1" }', ["hold.a.why"]),
    ],
)
def test_an_exception_needs_a_version_and_a_reason(text: str, missing: list[str]) -> None:
    assert environment_problems(text) == [(key, "this key is missing") for key in missing]


def test_targets_need_pythons_and_platforms() -> None:
    _, problems = parse_targets("envs/targets.toml", "")
    assert [(p.key, p.what) for p in problems] == [
        ("pythons", "this key is missing"),
        ("platforms", "this key is missing"),
    ]


def test_faults_of_several_keys_are_all_found_at_once() -> None:
    found = environment_problems('summary = 1\nrequires = "a"\nnonsense = 2\n[smoke]\ncommands = 3\n')
    assert sorted(key for key, _ in found) == ["nonsense", "requires", "smoke.commands", "summary"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("pythons = [3.10, 3.11]", ["pythons[0]", "pythons[1]"]),
        ("[sdists]\na = 1\nb = 2", ["sdists.a", "sdists.b"]),
    ],
)
def test_every_wrong_item_of_a_list_is_found_at_once(text: str, keys: list[str]) -> None:
    assert [key for key, _ in environment_problems(text)] == keys


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("tossa", ["tosa", "vgf"], "did you mean 'tosa'?"),
        ("Linux_x86_64", ["linux-x86_64", "macos-arm64"], "did you mean 'linux-x86_64'?"),
        ("MACOS_ARM64", ["linux-x86_64", "macos-arm64"], "did you mean 'macos-arm64'?"),
        ("zzz", ["b", "a"], "known: a, b"),
        ("zzz", [], "there are none"),
    ],
)
def test_nearest_names_the_closest_word_or_all_of_them(word: str, known: list[str], said: str) -> None:
    assert nearest(word, known) == said
