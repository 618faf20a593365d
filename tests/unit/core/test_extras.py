"""One extra an environment in the root pyproject.toml, and nothing else touched."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from lockgrid.core.extras import extras_in_step, update_extras, wanted_extras
from lockgrid.errors import InputError
from unit.builders import environment, golden, spec_of

SPEC = spec_of(environment("a==1", "b[x]>=2; sys_platform == 'linux'", name="tosa"), environment("c", name="vgf"))
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


def test_environments_that_are_apart_have_no_extra() -> None:
    spec = spec_of(environment("a", name="dev", apart=True), environment("b==1", "c", name="app"))
    assert wanted_extras(spec) == {"app": ["b==1", "c"]}


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


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_any_shape_of_manifest_comes_into_step_and_stays(text: str) -> None:
    assert extras_in_step(text, SPEC)
    updated = update_extras(text, SPEC)
    assert extras_in_step(updated, SPEC) == []
    assert {name: optional(updated)[name] for name in ("tosa", "vgf")} == wanted_extras(SPEC)
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
    spec = spec_of(environment("a==1", name="tosa"), environment("c", name="vgf", apart=True))
    assert optional(update_extras(text, spec)) == {"tosa": ["a==1"]}


@pytest.mark.parametrize(
    ("text", "what"),
    [("[project\n", "broken TOML"), ("", "this table is missing"), ("project = 1\n", "this table is missing")],
)
def test_a_manifest_that_cannot_take_extras_is_wrong_input(text: str, what: str) -> None:
    for function in (extras_in_step, update_extras):
        with pytest.raises(InputError) as caught:
            function(text, SPEC)
        (problem,) = caught.value.problems
        assert problem.file == "pyproject.toml"
        assert what in problem.what


@pytest.mark.parametrize("text", [BARE + "[tool]\nlockgrid = 1\n", BARE + "optional-dependencies = 1\n"])
def test_a_table_of_the_wrong_type_is_wrong_input(text: str) -> None:
    with pytest.raises(InputError):
        extras_in_step(text, SPEC)
