"""Bad input: one clear error each that names file and key and says what to do; exit code 2; locks/ as it was."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

import pytest

from support import scenario
from support.sandbox import Project, Result

CONTENT = scenario.parse(
    """
[[packages]]
name = "lib"
version = "1.0"
extras = { ethos-u = ["vela"], vgf = ["vela"] }
[[packages]]
name = "lib"
version = "1.1"
extras = { ethos-u = ["vela"], vgf = ["vela"] }
[[packages]]
name = "vela"
version = "1.0"
[[packages]]
name = "source"
version = "1.0"
wheels = []
sdist = true
[[packages]]
name = "kit"
version = "1.0"
requires = ["lib<1.1"]
[targets]
pythons = ["3.12", "3.13"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
[envs.ground]
abstract = true
requires = ["lib"]
[envs.app]
extends = ["ground"]
""",
    name="input",
)
APP = "envs/app.toml"
TARGETS = "envs/targets.toml"
LINUX = '[platforms.linux-x86_64]\nglibc = "2.28"\n'

# What is written, the exit code, and what the error must hold.
OFFLINE: Mapping[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "broken TOML": ({APP: 'requires = ["lib"\n'}, (APP, "broken TOML")),
    "broken targets": ({TARGETS: "pythons = [\n"}, (TARGETS, "broken TOML")),
    "not UTF-8": ({APP: "summary = 'latin'\udce9\n"}, (APP,)),
    "unknown key": ({APP: 'requirs = ["lib"]\n'}, (APP, "requirs", "requires")),
    "unknown key in targets": ({TARGETS: f'python = ["3.12"]\n{LINUX}'}, (TARGETS, "python", "pythons")),
    "unknown key of a platform": (
        {TARGETS: 'pythons = ["3.12"]\n[platforms.linux-x86_64]\nglib = "2.28"\n'},
        (TARGETS, "platforms.linux-x86_64", "glibc"),
    ),
    "unknown platform": (
        {APP: 'requires = ["lib"]\nplatforms = ["linux-x86-64"]\n'},
        (APP, "platforms", "linux-x86-64", "linux-x86_64"),
    ),
    "unknown platform in targets": (
        {TARGETS: 'pythons = ["3.12"]\n[platforms.linux-amd64]\nglibc = "2.28"\n'},
        (TARGETS, "linux-amd64", "linux-"),
    ),
    "no floor": ({TARGETS: 'pythons = ["3.12"]\n[platforms.linux-x86_64]\n'}, (TARGETS, "glibc")),
    "unknown Python": ({APP: 'requires = ["lib"]\npythons = ["3.11"]\n'}, (APP, "pythons[0]", "3.11", TARGETS)),
    "a Python as a number": ({TARGETS: f"pythons = [3.10]\n{LINUX}"}, (TARGETS, "pythons", "string", "3.10")),
    "a Python with a patch": ({TARGETS: f'pythons = ["3.12.1"]\n{LINUX}'}, (TARGETS, "pythons", "3.12.1")),
    "no Python": ({TARGETS: f"pythons = []\n{LINUX}"}, (TARGETS, "pythons")),
    "unknown base": ({APP: 'extends = ["grond"]\n'}, (APP, "extends", "grond", "ground")),
    "a base that is none": (
        {APP: 'extends = ["solid"]\n', "envs/solid.toml": 'requires = ["lib"]\n'},
        (APP, "extends", "solid", "abstract"),
    ),
    "a cycle": (
        {
            "envs/ground.toml": 'abstract = true\nextends = ["sky"]\n',
            "envs/sky.toml": 'abstract=true\nextends=["ground"]',
        },
        ("extends", "cycle", "ground", "sky"),
    ),
    "a cycle of one": ({"envs/ground.toml": 'abstract = true\nextends = ["ground"]\n'}, ("ground", "cycle")),
    "a name that is no extra": ({"envs/-app!.toml": 'requires = ["lib"]\n'}, ("envs/-app!.toml", "name")),
    "two names alike": (
        {"envs/A.p.p.toml": 'requires = ["lib"]\n', "envs/a-p_p.toml": 'requires = ["lib"]\n'},
        ("A.p.p",),
    ),
    "invalid specifier": ({APP: 'requires = ["lib=>1"]\n'}, (APP, "requires[0]", "lib=>1")),
    "invalid marker": ({APP: "requires = [\"lib ; sys_platfrom == 'x'\"]\n"}, (APP, "requires[0]", "sys_platfrom")),
    "a forbidden marker": (
        {APP: "requires = [\"lib ; platform_release >= '6'\"]\n"},
        (APP, "requires[0]", "platform_release"),
    ),
    "a URL": ({APP: 'requires = ["lib @ https://x.invalid/lib-1-py3-none-any.whl"]\n'}, (APP, "requires[0]", "URL")),
    "requires as a string": ({APP: 'requires = "lib"\n'}, (APP, "requires", "list")),
    "nothing required": ({APP: "summary = 'nothing'\n"}, (APP, "requires")),
    "an override without a reason": (
        {APP: 'requires = ["lib"]\n[overrides]\nlib = { version = "==1.0" }\n'},
        (APP, "overrides.lib", "why"),
    ),
    "an override with an empty reason": (
        {APP: 'requires = ["lib"]\n[overrides]\nlib = { version = "==1.0", why = " " }\n'},
        (APP, "overrides.lib", "reason"),
    ),
    "an override as a string": (
        {APP: 'requires = ["lib"]\n[overrides]\nlib = "==1.0"\n'},
        (APP, "overrides.lib", "why"),
    ),
    "an override of no version": (
        {APP: 'requires = ["lib"]\n[overrides]\nlib = { version = "1.0", why = "so" }\n'},
        (APP, "overrides.lib", "1.0"),
    ),
    "an sdist without a reason": ({APP: 'requires = ["lib"]\n[sdists]\nlib = ""\n'}, (APP, "sdists.lib", "reason")),
    "a hold without a reason": (
        {APP: 'requires = ["lib"]\n[hold]\nlib = { version = "<2", why = "", since = 2026-01-01 }\n'},
        (APP, "hold.lib", "reason"),
    ),
    "no manifest that can take extras": ({"pyproject.toml": "[tool.uv]\n"}, ("pyproject.toml", "project")),
    "a broken manifest": ({"pyproject.toml": "[project\n"}, ("pyproject.toml", "TOML")),
}

ONLINE: Mapping[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "an extra that there is not": ({APP: 'requires = ["lib[ethosu]"]\n'}, (APP, "requires[0]", "ethosu", "ethos-u")),
    "an extra of a package without any": ({APP: 'requires = ["vela[fast]"]\n'}, (APP, "requires[0]", "vela", "fast")),
    "a package that there is not": ({APP: 'requires = ["lib", "libb"]\n'}, (APP, "requires[1]", "libb")),
    "a version that there is not": ({APP: 'requires = ["lib==1.2"]\n'}, (APP, "requires[0]", "lib==1.2", "1.1")),
    "all of them at once": (
        {APP: 'requires = ["libb", "lib==7", "lib[ethosu]"]\n', "envs/two.toml": 'requires = ["nowhere"]\n'},
        (APP, "libb", "lib==7", "envs/two.toml", "nowhere"),
    ),
}

UNSATISFIABLE: Mapping[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "a contradiction": ({APP: 'requires = ["lib>=1.1", "lib<1.1"]\n'}, (APP, "lib")),
    "a contradiction below": ({APP: 'requires = ["kit", "lib==1.1"]\n'}, (APP, "lib", "kit")),
    "an sdist that is not named": ({APP: 'requires = ["source"]\n'}, (APP, "source", "[sdists]")),
}


def write(project: Project, files: Mapping[str, str]) -> dict[str, bytes]:
    """Write files and return what the project then holds."""
    for path, text in files.items():
        (project.folder / path).write_bytes(text.encode(errors="surrogateescape"))
    return project.snapshot(".")


def assert_clear(result: Result, says: tuple[str, ...]) -> None:
    """Assert that stderr holds an error with all of that, and stdout nothing."""
    assert "error: " in result.err
    assert "Traceback" not in result.err
    said = result.err.partition("error: ")[2]
    assert [text for text in says if text not in said] == [], result.err
    assert result.out == ""


@pytest.mark.parametrize("name", OFFLINE)
def test_the_files_are_read_before_anything_is_asked(copy: Project, name: str) -> None:
    files, says = OFFLINE[name]
    before = write(copy, files)
    result = copy.run("lock", env={"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "LOCKGRID_UV": "/nonexistent"})
    assert_clear(result.expect(2), says)
    assert copy.snapshot(".") == before


@pytest.mark.parametrize("name", ONLINE)
def test_what_only_the_index_can_tell(copy: Project, name: str) -> None:
    files, says = ONLINE[name]
    before = write(copy, files)
    assert_clear(copy.run("lock").expect(2), says)
    assert copy.snapshot(".") == before


@pytest.mark.parametrize("name", UNSATISFIABLE)
def test_what_cannot_be_satisfied(copy: Project, name: str) -> None:
    files, says = UNSATISFIABLE[name]
    before = write(copy, files)
    result = copy.run("lock").expect(3)
    assert_clear(result, says)
    assert "next: " in result.err
    assert copy.snapshot(".") == before


def test_all_errors_of_all_files_come_at_once(copy: Project) -> None:
    names = (
        "unknown base",
        "unknown platform in targets",
        "no manifest that can take extras",
        "a name that is no extra",
    )
    for name in names:
        write(copy, OFFLINE[name][0])
    write(copy, {"envs/ground.toml": 'abstract = true\nrequires = ["lib==="]\nplatfroms = []\n'})
    before = copy.snapshot(".")
    result = copy.run("lock").expect(2)
    for text in (APP, TARGETS, "envs/-app!.toml", "envs/ground.toml: requires[0]", "envs/ground.toml: platfroms"):
        assert text in result.err, result.err
    assert copy.snapshot(".") == before


def test_a_cycle_among_bases_that_nobody_uses(copy: Project) -> None:
    write(copy, {"envs/sky.toml": 'abstract = true\nextends = ["sky"]\n'})
    assert "cycle" in copy.run("lock").expect(2).err


def test_extras_are_the_same_once_normalised(copy: Project) -> None:
    write(copy, {APP: 'requires = ["lib[Ethos_U]", "LIB[ethos.u]"]\n'})
    copy.run("lock").expect(0)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("lock", "--as-of", "yesterday"), "yesterday"),
        (("lock", "--as-of", "2026-13-01"), "2026-13-01"),
        (("lock", "nowhere"), "nowhere"),
        (("lock", "--upgrad"), "--upgrade"),
        (("--project", "/nonexistent", "lock"), "nonexistent"),
    ],
)
def test_a_command_line_that_means_nothing(copy: Project, args: tuple[str, ...], says: str) -> None:
    before = copy.snapshot(".")
    result = copy.run(*args).expect(2)
    assert says in result.err
    assert "Traceback" not in result.err
    assert copy.snapshot(".") == before


def test_a_folder_without_envs(copy: Project) -> None:
    shutil.rmtree(copy.folder / "envs")
    result = copy.run("lock").expect(2)
    assert "envs" in result.err
    assert "next: " in result.err


def test_no_environment_at_all(copy: Project) -> None:
    (copy.folder / APP).unlink()
    before = copy.snapshot(".")
    result = copy.run("lock").expect(2)
    assert "envs/" in result.err
    assert copy.snapshot(".") == before
