"""Every fault of envs/ that needs no index, each with its file, key and hint, and all of them in one run."""

from __future__ import annotations

import pytest

from lockgrid.core.digest import digest_inputs
from lockgrid.core.spec import parse_spec
from lockgrid.errors import InputError, Problem
from unit.builders import TARGETS, parse, problems

APP = 'requires = ["a==1"]\n'
TARGETS_FILE = "envs/targets.toml"


def only(found: tuple[Problem, ...]) -> Problem:
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


@pytest.mark.parametrize(
    ("targets", "key", "what", "hint"),
    [
        (TARGETS.replace("linux-x86_64", "linux-x86-64"), "platforms.linux-x86-64", "unknown platform", "linux-x86_64"),
        (TARGETS.replace('"2.28"', '"2"'), "platforms.linux-x86_64.glibc", "'2' is no version such as 2.28", "oldest"),
        (TARGETS.replace('glibc = "2.28"', ""), "platforms.linux-x86_64.glibc", "this key is missing", "oldest"),
        (
            TARGETS.replace('macos = "15.0"', 'macos = "15.0"\nglibc = "2.28"'),
            "platforms.macos-arm64.glibc",
            "this platform has no such floor",
            "",
        ),
        (
            TARGETS + '[platforms.windows-x86_64]\nmacos = "15.0"\n',
            "platforms.windows-x86_64.macos",
            "this platform has no such floor",
            "",
        ),
        (TARGETS.replace('"3.10"', '"3.010"'), "pythons[0]", "'3.010' is no Python minor version", 'write "3.12"'),
        (TARGETS.replace('"3.10"', '"3.10.1"'), "pythons[0]", "'3.10.1' is no Python minor version", ""),
        (TARGETS.replace('"3.10"', '"2.7"'), "pythons[0]", "'2.7' is no Python minor version", ""),
        (TARGETS.replace('"3.10"', '"3.11"'), "pythons[1]", "3.11 is listed twice", ""),
        ('cooldown = "a week"\n' + TARGETS, "cooldown", "'a week' is no length of time", 'write "7 days"'),
    ],
)
def test_a_fault_of_targets_is_named_with_a_hint(targets: str, key: str, what: str, hint: str) -> None:
    problem = only(problems(targets, app=APP))
    assert (problem.file, problem.key, problem.what) == ("envs/targets.toml", key, what)
    assert hint in problem.hint


def test_pythons_as_floats_are_refused() -> None:
    found = problems(TARGETS.replace('["3.10", "3.11", "3.12"]', "[3.10]"), app=APP)
    assert ("pythons[0]", "must be a string") in [(p.key, p.what) for p in found]


@pytest.mark.parametrize(
    ("targets", "whats"),
    [
        ("pythons = []\n[platforms.windows-x86_64]\n", ["no Python is listed"]),
        ('pythons = ["3.12"]\n[platforms]\n', ["no platform is listed"]),
        ("pythons = []\n[platforms]\n", ["no platform is listed", "no Python is listed"]),
    ],
)
def test_targets_without_a_python_or_platform_are_refused(targets: str, whats: list[str]) -> None:
    assert [problem.what for problem in problems(targets, app=APP)] == whats


def test_missing_targets_are_one_problem_and_no_platform_is_blamed_for_it() -> None:
    problem = only(problems(None, app=APP + 'platforms = ["linux-x86_64"]\npythons = ["3.12"]\n'))
    assert (problem.file, problem.what) == ("envs/targets.toml", "this file is missing")


def test_a_folder_without_an_environment_is_refused() -> None:
    assert only(problems()).what == "there is no environment"


def test_a_folder_with_nothing_but_bases_is_refused() -> None:
    assert only(problems(base="abstract = true\n" + APP)).what == "there is no environment, only bases"


@pytest.mark.parametrize(
    ("text", "key", "what", "hint"),
    [
        ('platforms = ["linux-x86-64"]', "platforms[0]", "'linux-x86-64' is not in", "did you mean 'linux-x86_64'?"),
        ('platforms = ["linux-aarch64"]', "platforms[0]", "'linux-aarch64' is not in", "linux-x86_64"),
        ('pythons = ["3.10", "3.13"]', "pythons[1]", "'3.13' is not in envs/targets.toml", "did you mean"),
        ("pythons = []", "pythons", "the list is empty", "leave the key out for all of them"),
        ("platforms = []", "platforms", "the list is empty", "leave the key out for all of them"),
        ('[accept]\n"glibc:b" = " "', "accept.glibc:b", "an exception needs a reason", "say why"),
        ('[accept]\n"glibcx:b" = "y"', "accept.glibcx:b", "'glibcx:b' is no name of a finding", "mean 'glibcxx'?"),
        ('[accept]\nglibc = "y"', "accept.glibc", "'glibc' does not say which one", "`lockgrid show`"),
        ('[sdists]\nb = " "', "sdists.b", "an exception needs a reason", "say why"),
        ('[overrides]\nb = { version = "==1", why = "" }', "overrides.b.why", "an exception needs a reason", "say why"),
        ('[hold]\nb = { version = "<1", why = "\\n" }', "hold.b.why", "an exception needs a reason", "say why"),
        (
            '[overrides]\nb = { version = "1.0", why = "w" }',
            "overrides.b.version",
            "invalid specifier '1.0'",
            '"==1.2"',
        ),
        ('[hold]\nb = { version = "=>1", why = "w" }', "hold.b.version", "invalid specifier '=>1'", '"==1.2"'),
        ('[overrides]\nb = { version = "", why = "w" }', "overrides.b.version", "the specifier is empty", '"==1.2"'),
        ("[smoke]\ncommands = [[]]", "smoke.commands[0]", "the command is empty", ""),
        ('[smoke]\nimports = ["a-b"]', "smoke.imports[0]", "'a-b' is no module name", ""),
        ('[smoke]\nimports = ["a..b"]', "smoke.imports[0]", "'a..b' is no module name", ""),
    ],
)
def test_a_fault_of_an_environment_is_named_with_a_hint(text: str, key: str, what: str, hint: str) -> None:
    problem = only(problems(app=APP + text))
    assert (problem.file, problem.key) == ("envs/app.toml", key)
    assert problem.what.startswith(what)
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("requirement", "what"),
    [
        ("a ==", "invalid requirement 'a =='"),
        ("a b", "invalid requirement 'a b'"),
        ("", "invalid requirement ''"),
        ("a @ https://index.example/a.whl", "names a URL"),
        ("a; platform_release >= '5'", "the marker uses platform_release, which no target fixes"),
        ("a; 'x' in platform_version", "the marker uses platform_version, which no target fixes"),
        ("a; extra == 'x'", "a marker on extra means nothing here"),
    ],
)
def test_a_requirement_that_no_target_can_answer_is_refused(requirement: str, what: str) -> None:
    problem = only(problems(app=f'requires = ["b==1", {requirement!r}]\n'.replace('"x"', "'x'")))
    assert (problem.file, problem.key) == ("envs/app.toml", "requires[1]")
    assert what in problem.what


@pytest.mark.parametrize("text", ["requires = []\n", 'summary = "s"\n', "[smoke]\n"])
def test_an_environment_that_requires_nothing_is_refused(text: str) -> None:
    problem = only(problems(app=text))
    assert (problem.key, problem.what) == ("requires", "the environment requires nothing")


@pytest.mark.parametrize(
    ("entry", "key", "what", "hint"),
    [
        (
            '"torch@linux-x86" = "x"',
            "torch@linux-x86",
            "'linux-x86' is not in envs/targets.toml",
            "did you mean 'linux-x86_64'?",
        ),
        ('"-" = "x"', "-", "'-' is no name of a package", "use letters, digits, - _ ."),
        ('torch = ""', "torch", "'' is no name of an index", "use letters, digits, - _ ."),
        ('torch = "a b"', "torch", "'a b' is no name of an index", "use letters, digits, - _ ."),
        ('Torch = "x"\ntorch = "y"', "torch", "'Torch' is the same package", "leave one of them out"),
    ],
)
def test_a_source_that_cannot_be(entry: str, key: str, what: str, hint: str) -> None:
    problem = only(problems(app=f"{APP}[sources]\n{entry}\n"))
    assert (problem.file, problem.key) == ("envs/app.toml", f"sources.{key}")
    assert (problem.what, problem.hint) == (what, hint)


def test_the_nearest_source_wins_and_one_for_a_platform_beats_one_for_all() -> None:
    base = 'abstract = true\n[sources]\na = "base"\n"b@linux-x86_64" = "base"\n'
    app = f'extends = ["base"]\n{APP}[sources]\n"A@linux-x86_64" = "near"\nb = "near"\n'
    app += 'c = "all"\n"c@macos-arm64" = "mac"\n'
    (environment,) = parse_spec({TARGETS_FILE: TARGETS, "envs/base.toml": base, "envs/app.toml": app}).environments
    found = {(s.name, s.platform): (s.index, s.file, s.key) for s in environment.sources}
    assert found == {
        ("a", "linux-x86_64"): ("near", "envs/app.toml", "sources.A@linux-x86_64"),
        ("a", "macos-arm64"): ("base", "envs/base.toml", "sources.a"),
        ("b", "linux-x86_64"): ("near", "envs/app.toml", "sources.b"),
        ("b", "macos-arm64"): ("near", "envs/app.toml", "sources.b"),
        ("c", "linux-x86_64"): ("all", "envs/app.toml", "sources.c"),
        ("c", "macos-arm64"): ("mac", "envs/app.toml", "sources.c@macos-arm64"),
    }


def test_a_source_that_names_a_platform_of_others_is_kept_apart() -> None:
    app = f'platforms = ["linux-x86_64"]\n{APP}[sources]\na = "all"\n"b@macos-arm64" = "mac"\n'
    (environment,) = parse_spec({TARGETS_FILE: TARGETS, "envs/app.toml": app}).environments
    assert [(s.name, s.platform) for s in environment.sources] == [("a", "linux-x86_64")]
    assert [(s.name, s.platform) for s in environment.idle] == [("b", "macos-arm64")]


def test_an_index_has_a_name_and_a_url() -> None:
    spec = parse_spec(
        {TARGETS_FILE: TARGETS + '[indexes]\nx = "https://index.example/simple/"\n', "envs/app.toml": APP}
    )
    assert spec.indexes == (("x", "https://index.example/simple"),)


@pytest.mark.parametrize(
    ("entry", "what", "hint"),
    [
        ('"a b" = "https://index.example"', "'a b' is no name of an index", "use letters, digits, - _ ."),
        ('x = "index.example/simple"', "is no URL of an index", "write https://index.example/simple"),
        ('x = "file:///simple"', "is no URL of an index", "write https://index.example/simple"),
        *(
            (
                f'x = "https://index.example/simple{tail}"',
                "the URL of an index has no query and no fragment",
                "leave out what follows ? or #",
            )
            for tail in ("?a=b", "#a")
        ),
        ('x = "https://[index"', "is no URL of an index", "write https://index.example/simple"),
        (
            'x-y = "https://me:s3cret@index.example"',
            "the URL holds credentials",
            "set UV_INDEX_X_Y_USERNAME and UV_INDEX_X_Y_PASSWORD",
        ),
    ],
)
def test_an_index_that_cannot_be(entry: str, what: str, hint: str) -> None:
    problem = only(problems(f"{TARGETS}[indexes]\n{entry}\n", app=APP))
    assert (problem.file, problem.what, problem.hint) == (TARGETS_FILE, what, hint)
    assert "s3cret" not in str(problem)


@pytest.mark.parametrize(
    ("envs", "file", "key", "what", "hint"),
    [
        (
            {"app": 'extends = ["bsae"]\n' + APP, "base": "abstract = true"},
            "app",
            "extends[0]",
            "unknown base 'bsae'",
            "did you mean 'base'?",
        ),
        ({"app": 'extends = ["base"]\n' + APP}, "app", "extends[0]", "unknown base 'base'", "there are none"),
        (
            {"app": 'extends = ["other"]\n' + APP, "other": APP},
            "app",
            "extends[0]",
            "'other' is not a base",
            "set abstract = true in envs/other.toml",
        ),
        ({"app": 'extends = ["app"]\n' + APP}, "app", "extends", "a cycle: app -> app", "break it"),
        (
            {
                "app": 'extends = ["b"]\n' + APP,
                "b": 'abstract = true\nextends = ["c"]\n',
                "c": 'abstract = true\nextends = ["b"]\n',
            },
            "b",
            "extends",
            "a cycle: b -> c -> b",
            "break it",
        ),
    ],
)
def test_a_base_that_cannot_be_is_named(envs: dict[str, str], file: str, key: str, what: str, hint: str) -> None:
    problem = only(problems(**envs))
    assert (problem.file, problem.key, problem.what) == (f"envs/{file}.toml", key, what)
    assert hint in problem.hint


def test_a_cycle_among_unused_bases_is_found() -> None:
    found = problems(app=APP, b='abstract = true\nextends = ["c"]\n', c='abstract = true\nextends = ["b"]\n')
    assert "a cycle" in only(found).what


@pytest.mark.parametrize("name", ["-app", "app-", "a b", "ä"])
def test_a_name_that_is_no_extra_is_refused(name: str) -> None:
    problem = only(problems(**{name: APP}))
    assert (problem.file, problem.what) == (f"envs/{name}.toml", f"{name!r} is no valid name of an extra")


@pytest.mark.parametrize(("one", "other"), [("ethos-u", "ethos_u"), ("Tosa", "tosa"), ("a.b", "a__b")])
def test_two_names_that_normalise_alike_are_refused(one: str, other: str) -> None:
    problem = only(problems(**{one: APP, other: APP}))
    assert problem.what.endswith("are the same name once normalised")
    assert repr(one) in problem.what
    assert repr(other) in problem.what


def test_a_broken_file_still_counts_when_names_are_compared() -> None:
    found = problems(**{"ethos-u": "broken = [", "ethos_u": APP})
    assert any("same name once normalised" in problem.what for problem in found)


def test_the_name_of_the_build_lockfile_is_not_free() -> None:
    assert problems(build=APP)


@pytest.mark.parametrize(
    "text",
    ['[sdists]\n"a b" = "w"', '[overrides]\n"a b" = { version = "==1", why = "w" }'],
)
def test_a_package_name_that_is_none_is_refused(text: str) -> None:
    assert problems(app=APP + text)


def test_all_faults_of_all_files_come_in_one_run_sorted_by_file() -> None:
    found = problems(
        'pythons = ["3.12", "x"]\n[platforms.linux]\n',
        a="requires = [\n",
        b='extends = ["nowhere"]\nrequires = ["a ==", "b @ https://index.example/b.whl"]\n',
        c='require = ["a"]\n[overrides]\nd = { version = "1", why = "" }\n',
        **{"-": APP},
    )
    assert [(p.file.removeprefix("envs/"), p.key) for p in found] == [
        ("-.toml", ""),
        ("a.toml", ""),
        ("b.toml", "extends[0]"),
        ("b.toml", "requires[0]"),
        ("b.toml", "requires[1]"),
        ("c.toml", "overrides.d.version"),
        ("c.toml", "overrides.d.why"),
        ("c.toml", "require"),
        ("targets.toml", "platforms.linux"),
        ("targets.toml", "pythons[1]"),
    ]


def test_a_base_that_is_broken_is_reported_once_and_not_as_unknown() -> None:
    problem = only(problems(app='extends = ["base"]\n' + APP, base="abstract = \n"))
    assert problem.file == "envs/base.toml"
    assert problem.what.startswith("broken TOML")


def test_wrong_input_has_exit_code_2() -> None:
    with pytest.raises(InputError) as caught:
        parse_spec({})
    assert caught.value.exit_code == 2


def test_right_input_has_no_problem() -> None:
    assert [e.name for e in parse(app=APP).environments] == ["app"]


@pytest.mark.parametrize("value", ["1", "[]", '""', '" "', '["a", 1]', '["a", ""]', "{ group = 'x' }"])
def test_a_runner_is_a_label_or_labels(value: str) -> None:
    problem = only(problems(TARGETS + f"runner = {value}\n", app=APP))
    assert (problem.file, problem.key) == ("envs/targets.toml", "platforms.macos-arm64.runner")
    assert "must be a label or a list of labels" in problem.what


def test_a_runner_decides_nothing_in_a_lock() -> None:
    plain, named = parse(app=APP), parse(TARGETS + 'runner = "my-mac"\n', app=APP)
    assert named.runners == (("macos-arm64", ("my-mac",)),)
    assert digest_inputs(named) == digest_inputs(plain)
    assert named.platforms == plain.platforms
