"""What requirements files and pyproject.toml become, and that nothing is dropped without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.builders import golden
from unit.core.init.reading import Converted, converted

R = "requirements.txt"


def lines(*given: str) -> str:
    return "\n".join(given) + "\n"


def of(*given: str, **environ: str) -> Converted:
    return converted({R: lines(*given)}, environ=environ)


# -- one line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("lib", "lib"),
        ("lib == 1.0  # a remark", "lib==1.0"),
        ("lib[a, b]>=1,<2 ; sys_platform == 'win32'", 'lib[a,b]<2,>=1; sys_platform == "win32"'),
        ("Lib_x~=1.4", "Lib_x~=1.4"),
        ("lib===1.0", "lib===1.0"),
    ],
)
def test_a_requirement_is_carried_over_without_a_word(line: str, requirement: str) -> None:
    found = of(line)
    assert found.requires("main") == [requirement]
    assert found.notes == []


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("lib @ git+https://index.example/lib.git@v1.0", "lib"),
        ("lib[x] @ https://index.example/lib-1.5-py3-none-any.whl ; os_name == 'nt'", 'lib[x]==1.5; os_name == "nt"'),
        ("https://index.example/lib-1.5-py3-none-any.whl", "lib==1.5"),
        ("https://index.example/lib-1.5.tar.gz#sha256=aa", "lib==1.5"),
        ("./wheels/lib-1.5-py3-none-any.whl", "lib==1.5"),
        ("git+ssh://git@index.example/lib.git#egg=lib[x]&subdirectory=a", "lib[x]"),
        ("-e git+https://index.example/lib.git@main#egg=lib", "lib"),
        ("https://index.example/lib/archive/main.zip#egg=lib", "lib"),
    ],
)
def test_what_a_url_names_is_asked_of_the_index_and_told_in_two_places(line: str, requirement: str) -> None:
    found = of(line)
    assert found.requires("main") == [requirement]
    (note,) = found.notes
    assert note.startswith(f"{R}:1: ")
    assert ("[git] in its place builds that commit" in note) == ("git+" in line)
    assert f'lockfiles hold no URLs, so "{requirement.replace("; ", " ; ")}"'.split(";")[0].strip('" ') in note
    assert "Is it the same project?" in found.texts["envs/main.toml"]
    assert f"# - {R}:1: " in found.texts["envs/main.toml"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("https://index.example/lib/archive/v1.0.tar.gz", "it does not say which package it is"),
        ("git+https://index.example/lib.git", "it does not say which package it is"),
        ("./elsewhere", "no pyproject.toml there tells what this one requires"),
        ("-e ./elsewhere[x]", "no pyproject.toml there tells what this one requires"),
        ("-e file:///elsewhere", "no pyproject.toml there tells what this one requires"),
        ("lib2 ; platform_release == '6.1'", "uses platform_release"),
        ("lib2 ; extra == 'x'", "a marker on extra means nothing here"),
        ("-i https://index.example/simple", "no file of a lock names an index"),
        ("--extra-index-url https://index.example/more", "only where [sources] says so"),
        ("--extra-index-url https://index.example/${TOKEN}", "only where [sources] says so"),
        ("-f https://index.example/files", "lockgrid locks from indexes alone"),
        ("--no-index", "lockgrid locks from indexes alone"),
        ("--trusted-host index.example", "UV_INSECURE_HOST"),
        ("--pre", "no pre-release enters a lock unless a requirement names one"),
        ("--use-feature x", "it means something to pip alone"),
        ("lib2 --config-settings=a=b", "lockgrid builds nothing that it locks"),
        ("--no-binary :all:", "sdists are allowed one by one"),
        ("--only-binary :all:", "needs no word"),
        ("--prefer-binary", "needs no word"),
        ("--require-hashes", "needs no word"),
        ("lib2 -i https://index.example/simple", "pip overlooks --index-url beside a requirement"),
        ("-r https://index.example/more.txt", "is on another machine, and is not read"),
        ("-c https://index.example/bounds.txt", "is on another machine, and is not read"),
        ("lib2==1 --hash=sha256:aa --hash=sha256:bb", "hashes of line 2 left out, 2 in all"),
    ],
)
def test_what_is_lost_is_told_with_its_line_in_the_output_and_in_the_file(line: str, said: str) -> None:
    found = of("lib", line)
    (note,) = found.notes
    assert note.startswith(f"{R}:2: ")
    assert said in note
    comments = " ".join(
        text.removeprefix("#").strip() for text in found.texts["envs/main.toml"].splitlines() if text.startswith("#")
    )
    assert note in comments
    assert found.requires("main")[0] == "lib"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lib >= ", "line 1: 'lib >=' is no requirement"),
        ("lib ; python_version <", "is no requirement"),
        ("lib==${VERSION}", "set the environment variable for this run, or write its value"),
        ("--upgrade", "line 1: pip takes no such line: no such option: --upgrade (see pip's"),
        ("-r gone.txt", "line 1: gone.txt cannot be read: No such file or directory (a path is relative"),
        ("-c gone.txt", "line 1: gone.txt cannot be read"),
        (f"-r {R}", f"line 1: a circle: {R} -> {R} (take one of these lines out)"),
        ("-e . ", "nothing is found that an environment could require"),
        ("# nothing", "nothing is found that an environment could require"),
        ("lib ; extra == 'x'", "line 1: `lib ; extra == 'x'`: left out: a marker on extra means nothing here (give"),
        ("-e '. ; nonsense'", "'nonsense' is no marker"),
    ],
)
def test_what_is_wrong_is_a_problem_with_its_line_and_what_to_do(line: str, said: str) -> None:
    found = of(line)
    assert any(said in problem for problem in found.problems), found.problems
    assert all(problem.endswith(")") for problem in found.problems)


def test_all_problems_are_told_at_once() -> None:
    found = of("a >", "-r gone.txt", "--nope")
    assert [problem.split(": ")[1] for problem in found.problems] == ["line 3", "line 2", "line 1"]


def test_no_credentials_and_no_variables_are_written() -> None:
    found = of(
        "lib==1+cpu",
        "-i https://user:hunter2@index.example/simple",
        "--extra-index-url https://user:hunter2@index.example/cpu",
        "--extra-index-url https://index.example/${SECRET}",
        "a @ https://u:hunter2@index.example/${SECRET}/a-1.0-py3-none-any.whl",
        SECRET="hunter2",
    )
    assert "hunter2" not in "".join([*found.texts.values(), *found.notes])
    assert 'index-cpu = "https://index.example/cpu"' in found.texts["envs/targets.toml"]


def test_a_variable_in_a_requirement_is_replaced_and_told() -> None:
    found = of("lib==${VERSION}", VERSION="1.5")
    assert found.requires("main") == ["lib==1.5"]
    assert found.notes == [
        f"{R}:1: `lib==${{VERSION}}`: VERSION taken from this run's environment (envs/ says lib==1.5)"
    ]


def test_a_package_without_binaries_is_a_sdist_that_is_allowed() -> None:
    found = of("lib", "--no-binary lib")
    assert found.environment("main").sdists == ("lib",)


# -- several files ----------------------------------------------------------------------------------------


def test_a_file_that_others_include_is_a_base_and_an_environment_of_its_own() -> None:
    found = converted({R: "lib\n", "requirements-dev.txt": f"-r {R}\npytest\n"})
    assert set(found.texts) == {f"envs/{name}.toml" for name in ("targets", "main", "main-base", "dev")}
    assert (found.requires("main"), found.requires("dev")) == (["lib"], ["lib", "pytest"])


def test_common_is_a_base_alone_unless_it_is_asked_for() -> None:
    files = {"requirements/common.txt": "lib\n", "requirements/test.txt": "-r common.txt\npytest\n"}
    assert set(converted(files).texts) == {"envs/targets.toml", "envs/common.toml", "envs/test.toml"}
    assert "envs/common-base.toml" in converted(files, *files).texts


def test_an_included_file_that_nobody_named_is_a_base() -> None:
    files = {"a.txt": "-r sub/b.txt\nlib\n", "sub/b.txt": "-r c.txt\ndep\n", "sub/c.txt": "deep\n"}
    found = converted(files, "a.txt")
    assert set(found.texts) == {f"envs/{name}.toml" for name in ("targets", "a", "b", "c")}
    assert found.requires("a") == ["deep", "dep", "lib"]


def test_constraints_are_bounds_in_a_base() -> None:
    found = converted({R: "-c constraints.txt\nlib\n", "constraints.txt": "dep<2\nlib==1.0\nother\n"}, R)
    assert found.requires("main") == ["lib"]
    assert found.holds("main") == {"dep": "<2", "lib": "==1.0"}
    assert found.environment("main").holds[0].why == "a constraint of constraints.txt:1"
    assert found.notes == ["constraints.txt:3: `other`: left out: it bounds no version"]


def test_constraints_of_several_files_add_up() -> None:
    files = {R: "-c a.txt\n-c b.txt\nlib\n", "a.txt": "dep>=1,<3\n", "b.txt": "dep!=2,<4\n"}
    assert converted(files, R).holds("main") == {"dep": ">=1,<3,!=2"}


@pytest.mark.parametrize(
    ("marker", "held", "said"),
    [
        ("python_version >= '3.8'", {"dep": "<2"}, ""),
        ("python_version < '3.8'", {}, "its marker holds on no target of the grid"),
        ("sys_platform == 'win32'", {}, 'add "dep<2; sys_platform == "win32"" to requires'),
    ],
)
def test_a_constraint_with_a_marker(marker: str, held: dict[str, str], said: str) -> None:
    found = converted({R: "-c c.txt\nlib\n", "c.txt": f"dep<2 ; {marker}\n"}, R)
    assert found.holds("main") == held
    assert said in "".join(found.notes)
    assert len(found.notes) == bool(said)


@pytest.mark.parametrize("line", ["dep @ https://index.example/dep-1-py3-none-any.whl", "-e .", "./dep"])
def test_a_constraint_that_is_no_version_is_told(line: str) -> None:
    found = converted({R: "-c c.txt\nlib\n", "c.txt": line + "\n"}, R)
    assert (found.holds("main"), len(found.notes)) == ({}, 1)
    assert "[hold] takes a version" in found.notes[0]


def test_names_are_valid_and_unique() -> None:
    files = {
        "build-requirements.txt": "a\n",
        "requirements/build.txt": "b\n",
        "requirements-Dev.txt": "c\n",
        "requirements_dev.txt": "d\n",
        "requirements-targets.txt": "e\n",
        "requirements-été+x.txt": "f\n",
    }
    found = converted(files)
    assert found.spec is not None
    assert [e.name for e in found.spec.environments] == sorted(
        ["Dev", "build-requirements", "build-requirements-2", "dev-requirements", "t-x", "targets-requirements"]
    )


# -- another index ----------------------------------------------------------------------------------------

CPU = "--extra-index-url https://index.example/whl/cpu"


def test_a_local_version_is_of_the_one_other_index_where_its_marker_holds() -> None:
    found = of(CPU, "torch==2.9.1+cpu ; platform_machine == 'x86_64'", "torch==2.9.1 ; sys_platform == 'darwin'", "tv")
    sources = {(source.name, source.platform): source.index for source in found.environment("main").sources}
    assert sources == {("torch", "linux-x86_64"): "index-cpu"}
    assert found.spec is not None
    assert found.spec.indexes == (("index-cpu", "https://index.example/whl/cpu"),)
    assert "only packages under [sources] come from it" in found.notes[0]


def test_a_local_version_of_one_of_two_other_indexes_is_the_users_to_say() -> None:
    found = of(CPU, "--extra-index-url https://index.example/whl/cu", "torch==2.9.1+cpu")
    assert found.environment("main").sources == ()
    assert len(found.notes) == 3
    assert "torch==2.9.1+cpu`: a version with a local part is on an index of its own, and several" in found.notes[2]
    assert 'torch = "..." under [sources], with index-cpu or another of them' in found.notes[2]
    assert '# torch = "other"' in found.texts["envs/main.toml"]


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("torch==2.9.1+cpu", 'torch = "..."'),
        ("Torch===2.9.1+cpu", 'torch = "..."'),
        ("torch==2.9.1+cpu ; sys_platform == 'win32'", '"torch@windows-x86_64" = "..."'),
        ("torch==2.9.1+cpu ; platform_machine == 's390x'", ""),
        ("torch==2.9.1", ""),
    ],
)
def test_a_local_version_that_no_index_is_named_for_is_told(line: str, keys: str) -> None:
    """No lock would find it, for the usual index takes such versions from nobody."""
    found = of(line)
    assert len(found.requires("main")) == 1
    assert [f"write {keys} under [sources]" in note for note in found.notes] == ([True] if keys else [])
    assert all(note in found.texts["envs/main.toml"].replace("\n#   ", " ") for note in found.notes)


# -- pyproject.toml ---------------------------------------------------------------------------------------

PROJECT = """\
[project]
name = "My.App"
requires-python = ">=3.11"
classifiers = ["Programming Language :: Python :: 3.11", "Programming Language :: Python :: 3.12"]
dependencies = ["lib>=1"]
[project.optional-dependencies]
fast = ["speed"]
all = ["my-app[fast] ; sys_platform == 'linux'", "more"]
[dependency-groups]
test = ["pytest", { include-group = "lint" }]
lint = ["ruff", "my_app[fast]"]
"""


def test_extras_and_groups_are_environments_on_a_base() -> None:
    found = converted({"pyproject.toml": PROJECT})
    assert found.spec is not None
    assert {e.name: [d.text for d in e.requires] for e in found.spec.environments} == {
        "main": ["lib>=1"],
        "fast": ["lib>=1", "speed"],
        "all": ["lib>=1", 'speed; sys_platform == "linux"', "more"],
        "test": ["lib>=1", "pytest", "ruff", "speed"],
        "lint": ["lib>=1", "ruff", "speed"],
    }
    assert found.spec.pythons == ("3.11", "3.12")


def test_a_project_that_is_installed_from_here_gives_its_requirements() -> None:
    files = {"pyproject.toml": PROJECT, R: "-e .[fast]\npytest\n"}
    for roots in ((R,), ("pyproject.toml", R)):
        found = converted(files, *roots)
        name = "main" if len(roots) == 1 else "main-requirements"
        assert found.requires(name) == ["lib>=1", "speed", "pytest"]
        assert "itself it is in no lock" in found.notes[-1]
    found = converted({**files, R: "-e .[slow]\n"}, R)
    assert found.problems[0].startswith("requirements.txt: line 1: pyproject.toml has no extra 'slow'")


def test_extras_that_lockgrid_wrote_are_not_taken_for_the_projects_own() -> None:
    found = converted({"pyproject.toml": PROJECT + '[tool.lockgrid]\nextras = ["fast"]\n'})
    assert "envs/fast.toml" not in found.texts
    assert "speed" in found.requires("lint")
    assert "lockgrid keeps these extras" in found.notes[0]


def test_extras_that_ask_for_each_other_end() -> None:
    text = '[project]\nname = "a"\n[project.optional-dependencies]\nx = ["a[y]", "lib"]\ny = ["a[x]"]\n'
    found = converted({"pyproject.toml": text})
    assert (found.requires("x"), found.requires("y")) == (["lib"], ["lib"])


def test_bounds_overrides_and_sources_of_uv() -> None:
    text = """
[project]
name = "a"
dependencies = ["lib", "torch", "tv"]
[tool.uv]
constraint-dependencies = ["dep<2"]
override-dependencies = ["odd==1", "odder ; sys_platform == 'win32'"]
dev-dependencies = ["pytest"]
prerelease = "allow"
[[tool.uv.index]]
name = "cpu"
url = "https://index.example/cpu"
[tool.uv.sources]
torch = [{ index = "cpu", marker = "sys_platform == 'linux'" }]
tv = { git = "https://index.example/tv" }
lib = { index = "gone" }
"""
    found = converted({"pyproject.toml": text}, platforms=["linux-x86_64", "macos-arm64"])
    main = found.environment("main")
    assert found.holds("main") == {"dep": "<2"}
    assert [(o.name, o.specifier) for o in main.overrides] == [("odd", "==1")]
    assert found.requires("dev") == ["lib", "torch", "tv", "pytest"]
    assert [(s.name, s.platform, s.index) for s in main.sources] == [("torch", "linux-x86_64", "cpu")]
    keys = [note.split(": ")[1] for note in found.notes]
    assert sorted(keys) == [
        "tool.uv.index",
        "tool.uv.override-dependencies[1]",
        "tool.uv.prerelease",
        "tool.uv.sources.lib",
        "tool.uv.sources.tv",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project = [\n", "pyproject.toml: broken TOML: "),
        ("\ufeff[project]\n", "pyproject.toml: broken TOML: it begins with a byte order mark"),
        ("project = 1\n", "pyproject.toml: project: must be a table"),
        ('[project]\ndependencies = "lib"\n', "project.dependencies: must be a list of strings"),
        ('[project]\ndependencies = ["lib >"]\n', "project.dependencies[0]: 'lib >' is no requirement"),
        ('[project]\ndependencies = ["./lib"]\n', "project.dependencies[0]: './lib' is no requirement"),
        ('[project]\nrequires-python = "3"\ndependencies = ["a"]', "project.requires-python: invalid specifier '3'"),
        ('[project]\nrequires-python = "<3.9"\ndependencies = ["a"]', "admits none of CPython 3.10 to 3.14"),
        ('[dependency-groups]\na = [{ include-group = "b" }]', "dependency-groups.a: "),
        ('[dependency-groups]\na = [{ include-group = "a" }]', "dependency-groups.a: Cyclic"),
        ('[dependency-groups]\na = "x"', "dependency-groups.a: "),
        ('[project]\nname = "a"\n[project.optional-dependencies]\nx = ["a[why]"]', "the project has no extra 'why'"),
    ],
)
def test_what_is_wrong_in_pyproject_is_a_problem_with_its_key(text: str, said: str) -> None:
    found = converted({"pyproject.toml": text})
    assert any(said in problem for problem in found.problems), found.problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[project]\nname = "a"\ndynamic = ["dependencies"]\n', "dependencies come from the build backend"),
        ('[tool.poetry.dependencies]\npython = "^3.12"\n', "let poetry export a requirements file"),
        ('[tool.uv.workspace]\nmembers = ["a"]\n', "name the pyproject.toml of each member"),
        ("[dependency-groups]\nempty = []\n", "nothing is left to require, so no environment is made of it"),
    ],
)
def test_what_of_pyproject_is_not_read_is_told(text: str, said: str) -> None:
    found = converted({"pyproject.toml": text, R: "lib\n"})
    assert any(said in note for note in found.notes), found.notes
    told = " ".join(line.lstrip("# ") for line in found.texts["envs/targets.toml"].splitlines())
    assert said in told


# -- the files --------------------------------------------------------------------------------------------


def test_the_files_that_are_written() -> None:
    found = converted(
        {
            "pyproject.toml": PROJECT + '[tool.uv]\nconstraint-dependencies = ["dep<2"]\n',
            "requirements/cpu.txt": lines(CPU, "torch==2.9.1+cpu", "-e .", "tool @ git+https://index.example/t@v1"),
        }
    )
    golden("init.txt", "".join(f"--- {path}\n{text}" for path, text in found.texts.items()))


_ODD = st.text(st.characters(codec="utf-8"), max_size=30)


@given(st.lists(st.one_of(_ODD, st.sampled_from(["lib", "-c c.txt", "-e .", "--pre", "a @ b"])), max_size=5), _ODD)
def test_whatever_is_there_what_is_written_can_be_read(texts: list[str], bound: str) -> None:
    """``converted`` parses what it wrote; a line is carried over, noted, or a problem."""
    found = converted({R: lines("lib", *texts), "c.txt": bound}, R)
    assert found.problems or "lib" in found.requires("main")
