"""One extra an environment in the root pyproject.toml, and nothing else touched."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from lockgrid.core.extras import check_manifest, extras_in_step, requires_python, update_extras
from lockgrid.core.fence import BEGIN, END
from lockgrid.core.uvproject import REQUIRED_UV, Hashed, UvProject
from lockgrid.errors import InputError
from unit.builders import golden

EXTRAS = {"tosa": ("a==1", 'b[x]>=2; sys_platform == "linux"'), "vgf": ("c",)}
SPEC = UvProject(extras=EXTRAS, lists={})
FULL = UvProject(
    extras=EXTRAS,
    lists={
        "environments": ("sys_platform == 'linux'",),
        "conflicts": (("tosa", "vgf"),),
        "constraint-dependencies": ("a==1", "b==2 ; python_version < '3.12'"),
        "build-constraint-dependencies": (Hashed("c==1", ("ab", "cd")),),
    },
    blocked=True,
    requires_python=">=3.10",
)
BARE = '[project]\nname = "x"\nversion = "0"\n'

HAND_WRITTEN = """\
# The project.
[build-system]
requires = ["flit_core"]          # kept

[project]
name = "x"                        # the name
version = "0"
dependencies = []

[project.optional-dependencies]
# mine, by hand
docs = ["sphinx"]
tosa = ["a==0"]                   # to be replaced
gone = ["z"]
vgf = ["c"]

[project.scripts]
run = "x:main"

[tool.uv]
package = false

[tool.lockgrid]
# what lockgrid keeps
extras = ["gone", "tosa", "vgf"]

[tool.ruff]
line-length = 99
"""


def optional(text: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text)["project"]["optional-dependencies"]
    return found


def test_comments_and_order_are_kept_and_only_the_extras_change() -> None:
    text = update_extras(HAND_WRITTEN, SPEC)
    golden("manifest.txt", text)


def test_nothing_but_the_extras_means_another_thing_afterwards() -> None:
    before, after = tomllib.loads(HAND_WRITTEN), tomllib.loads(update_extras(HAND_WRITTEN, SPEC))
    for data in (before, after):
        del data["project"]["optional-dependencies"], data["tool"]["lockgrid"]
    assert before == after


def test_stale_extras_are_replaced_or_removed_and_a_users_own_is_kept() -> None:
    text = update_extras(HAND_WRITTEN, SPEC)
    assert optional(text) == {
        "docs": ["sphinx"],
        "tosa": ["a==1", 'b[x]>=2; sys_platform == "linux"'],
        "vgf": ["c"],
    }
    assert tomllib.loads(text)["tool"]["lockgrid"]["extras"] == ["tosa", "vgf"]


def test_an_extra_that_lockgrid_does_not_remember_is_a_users_own() -> None:
    text = BARE + '[project.optional-dependencies]\ngone = ["z"]\n'
    assert optional(update_extras(text, SPEC))["gone"] == ["z"]


def test_hashes_of_build_requirements_need_a_uv_that_reads_them() -> None:
    """uv looks at `required-version` before all else: an older one says that, and not where it failed to read."""
    for text in SHAPES:
        updated = update_extras(text, FULL)
        assert tomllib.loads(updated)["tool"]["uv"]["required-version"] == REQUIRED_UV
        lines = updated.splitlines(keepends=True)
        without = "".join(line for line in lines if not line.startswith("required-version"))
        assert extras_in_step(without, FULL) == ["[tool.uv] required-version is missing"]
        assert "required-version" not in tomllib.loads(update_extras(text, SPEC))["tool"].get("uv", {})


@pytest.mark.parametrize("own", ["==0.14.1", ">=0.5"])
def test_a_persons_own_required_version_stays(own: str) -> None:
    text = BARE + f'[tool.uv]\nrequired-version = "{own}"\n'
    assert tomllib.loads(update_extras(text, FULL))["tool"]["uv"]["required-version"] == own


SHAPES = [
    BARE,
    BARE + "[project.optional-dependencies]\n",
    BARE + "optional-dependencies = {}\n",
    BARE + "[tool.uv]\npackage = false\n",
    BARE + "[tool]\nx = { y = 1 }\n",
    BARE + '[tool.lockgrid]\nother = "kept"\n',
    'project.name = "x"\nproject.version = "0"\n',
    "[tool.uv]\npackage = false\n\n" + BARE,
    '[project]\nname = "x"\nversion = "0"\n[build-system]\nrequires = []\n[project.urls]\na = "b"\n',
    BARE.replace("\n", "\r\n"),
    BARE.rstrip("\n"),
    HAND_WRITTEN,
]


@pytest.mark.parametrize("text", SHAPES)
def test_any_shape_of_manifest_comes_into_step_and_stays(text: str) -> None:
    assert extras_in_step(text, SPEC)
    updated = update_extras(text, SPEC)
    assert extras_in_step(updated, SPEC) == []
    assert {name: tuple(optional(updated)[name]) for name in ("tosa", "vgf")} == EXTRAS
    assert update_extras(updated, SPEC) == updated
    kept = tomllib.loads(text).get("tool", {})
    assert tomllib.loads(updated)["tool"] == {
        **kept,
        "lockgrid": {**kept.get("lockgrid", {}), "extras": ["tosa", "vgf"]},
    }


def test_what_is_in_step_is_returned_byte_for_byte() -> None:
    text = (
        BARE
        + "[project.optional-dependencies]\nvgf  =  ['c']\ntosa = [ 'a==1', 'b[x]>=2; sys_platform == \"linux\"' ]\n"
        + "[tool.lockgrid]\nextras = [ 'vgf', 'tosa' ]\n"
    )
    assert extras_in_step(text, SPEC) == []
    assert update_extras(text, SPEC) == text


def test_each_difference_is_a_sentence() -> None:
    text = BARE + '[project.optional-dependencies]\ntosa = ["a==1"]\nold = ["z"]\n[tool.lockgrid]\nextras = ["old"]\n'
    assert extras_in_step(text, SPEC) == [
        "the extra tosa is not what envs/tosa.toml requires",
        "the extra vgf is missing",
        "[tool.lockgrid] extras does not list them",
        "the extra old has no environment any more",
    ]


def test_an_environment_that_moved_apart_loses_its_extra() -> None:
    text = update_extras(BARE, SPEC)
    spec = UvProject(extras={"tosa": ("a==1",)}, lists={})
    assert optional(update_extras(text, spec)) == {"tosa": ["a==1"]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("\ufeff[project]\n", "byte order mark"),
        ("[project\n", "broken TOML"),
        ("", "this table is missing"),
        ("project = 1\n", "this table is missing"),
    ],
)
def test_a_manifest_that_cannot_take_extras_is_wrong_input(text: str, what: str) -> None:
    for function in (
        lambda t: extras_in_step(t, SPEC),
        lambda t: update_extras(t, SPEC),
        check_manifest,
        requires_python,
    ):
        with pytest.raises(InputError) as caught:
            function(text)
        (problem,) = caught.value.problems
        assert problem.file == "pyproject.toml"
        assert what in problem.what


@pytest.mark.parametrize(
    "text",
    [BARE + "[tool]\nlockgrid = 1\n", BARE + "[tool]\nuv = 1\n", BARE + "optional-dependencies = 1\n"],
)
def test_a_table_of_the_wrong_type_is_wrong_input(text: str) -> None:
    with pytest.raises(InputError):
        extras_in_step(text, SPEC)


# -- [tool.uv] --------------------------------------------------------------------------------------------

USERS = """\
[tool.uv]
package = false
constraint-dependencies = ["mine<3"]   # mine
environments = [
    # by hand
    "sys_platform == 'emscripten'",
]
[[tool.uv.index]]
name = "internal"
url = "https://index.example/simple"
[tool.uv.sources]
mine = { index = "internal" }
[tool.ruff]
line-length = 99
"""


def uv(text: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text)["tool"].get("uv", {})
    return found


@pytest.mark.parametrize(
    "text",
    [
        *SHAPES,
        BARE + USERS,
        USERS + BARE,
        BARE + '[[tool.uv.index]]\nurl = "https://index.example/simple"\n',
        BARE + "[tool]\nuv = { package = false }\n",
        BARE + "[tool.uv]\npackage = false\n[tool.ruff]\n[tool.uv.sources]\nx = { index = 'a' }\n",
        BARE + "[tool.uv]\nconflicts = [[{ extra = 'x' }, { extra = 'y' }]]\n",
        BARE + "tool.uv.package = false\n",
    ],
)
def test_what_uv_needs_comes_into_step_in_any_shape_of_manifest_and_goes_again(text: str) -> None:
    before = tomllib.loads(text)
    updated = update_extras(text, FULL)
    assert extras_in_step(updated, FULL) == []
    assert update_extras(updated, FULL) == updated
    after = tomllib.loads(updated)
    assert after["project"]["requires-python"] == before["project"].get("requires-python", ">=3.10")
    assert uv(updated)["sources"]["lockgrid-unsupported"] == {"path": "locks/unsupported"}
    for key, value in before.get("tool", {}).get("uv", {}).items():
        if isinstance(value, list):
            assert uv(updated)[key][-len(value) :] == value
        elif isinstance(value, dict):
            assert value.items() <= uv(updated)[key].items()
        else:
            assert uv(updated)[key] == value
    none = UvProject(extras=EXTRAS, lists={})
    again = update_extras(updated, none)
    assert extras_in_step(again, none) == []
    # Which uv is needed was said where nobody had said it, and is a person's from then on, as `requires-python` is.
    assert uv(again) == {"required-version": REQUIRED_UV} | before.get("tool", {}).get("uv", {})


def test_entries_of_a_person_stand_beside_those_of_lockgrid_with_their_comments() -> None:
    updated = update_extras(BARE + USERS, FULL)
    golden("manifest-uv.txt", updated)
    more = UvProject(extras=EXTRAS, lists={**FULL.lists, "constraint-dependencies": ("a==2",)}, blocked=True)
    assert uv(update_extras(updated, more))["constraint-dependencies"] == ["a==2", "mine<3"]


def test_each_part_of_uvs_table_that_is_out_of_step_is_a_sentence() -> None:
    assert extras_in_step(update_extras(BARE, SPEC), FULL) == [
        "requires-python is missing",
        "[tool.uv] required-version is missing",
        "[tool.uv] environments is not what locks/ needs",
        "[tool.uv] conflicts is not what locks/ needs",
        "[tool.uv] constraint-dependencies is not what locks/ needs",
        "[tool.uv] build-constraint-dependencies is not what locks/ needs",
        "[tool.uv.sources] lockgrid-unsupported is not what locks/ needs",
    ]
    text = update_extras(BARE, FULL)
    assert extras_in_step(text, SPEC)[-1] == "[tool.uv.sources] lockgrid-unsupported is not what locks/ needs"
    for edited in (text.replace('"a==1",\n    "b==2', '"b==2'), text.replace("b==2", "b==3")):
        assert edited != text
        assert extras_in_step(edited, FULL) == ["[tool.uv] constraint-dependencies is not what locks/ needs"]


def test_without_its_comments_lockgrids_part_is_a_persons() -> None:
    """Else the next lock would leave old pins there."""
    text = update_extras(BARE, FULL)
    bare = text.replace(f"    {BEGIN}\n", "").replace(f"    {END}\n", "")
    assert len(extras_in_step(bare, FULL)) == 4


@pytest.mark.parametrize("comment", [BEGIN, END])
def test_a_list_with_one_of_the_two_comments_is_wrong_input(comment: str) -> None:
    text = update_extras(BARE, FULL).replace(f"    {comment}\n", "", 1)
    for function in (check_manifest, lambda t: extras_in_step(t, FULL), lambda t: update_extras(t, FULL)):
        with pytest.raises(InputError) as caught:
            function(text)
        (problem,) = caught.value.problems
        assert problem.key == "tool.uv.environments"
        assert "comments" in problem.what


@pytest.mark.parametrize("value", ["1", '"a"', "{}"])
def test_a_key_of_uv_that_is_no_list_is_wrong_input(value: str) -> None:
    text = BARE + f"[tool.uv]\nconstraint-dependencies = {value}\n"
    with pytest.raises(InputError) as caught:
        check_manifest(text)
    assert caught.value.problems[0].key == "tool.uv.constraint-dependencies"


def test_what_the_project_says_of_pythons() -> None:
    assert requires_python(BARE) is None
    assert requires_python(BARE + 'requires-python = ">=3.11"\n') == ">=3.11"
