"""Of uv's settings only those count that say how to reach an index; pip's never do."""

from __future__ import annotations

import pytest

from integration.conftest import MakeProject, few_targets
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project

TEXT = f"""
[[packages]]
name = "lib"
version = "1.0"
requires = ["dep"]
[[packages]]
name = "lib"
version = "2.0"
requires = ["dep"]
sdist = true
[[packages]]
name = "lib"
version = "3.0rc1"
requires = ["dep"]
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "dep"
version = "2.0"
{few_targets("3.11", "3.14")}
[envs.app]
requires = ["lib>=1"]
"""
AS_OF = ("--as-of", "2026-03-01")
CONTENT = scenario.parse(TEXT, name="settings")
POLICY = """
resolution = "lowest"
prerelease = "allow"
fork-strategy = "fewest"
exclude-newer = "2020-01-01T00:00:00Z"
no-binary-package = ["lib"]
reinstall = true
{constraints}
[pip]
resolution = "lowest-direct"
no-binary = ["dep"]
python-version = "3.9"
"""
CONSTRAINTS = """
constraint-dependencies = ["dep<2"]
override-dependencies = ["dep==1.0"]
environments = ["sys_platform == 'darwin'"]
"""
ENVIRONMENT = {
    "UV_PRERELEASE": "allow",
    "UV_RESOLUTION": "lowest",
    "UV_EXCLUDE_NEWER": "2020-01-01",
    "UV_FORK_STRATEGY": "fewest",
    "UV_NO_BINARY_PACKAGE": "lib",
    "UV_NO_BINARY": "1",
    "UV_FROZEN": "1",
    "UV_LOCKED": "1",
    "UV_CONSTRAINT": "/nonexistent",
    "UV_OVERRIDE": "/nonexistent",
    "UV_PYTHON": "3.9",
    "UV_PROJECT": "/nonexistent",
    "UV_NO_SOURCES": "1",
    "UV_INDEX_STRATEGY": "unsafe-best-match",
    "UV_LINK_MODE": "nonsense",
}
PIP = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "http://127.0.0.1:9/extra",
    "PIP_FIND_LINKS": "/nonexistent",
    "PIP_NO_INDEX": "1",
    "PIP_PRE": "1",
    "PIP_NO_BINARY": ":all:",
    "PIP_CONSTRAINT": "/nonexistent",
    "PIP_CONFIG_FILE": "/nonexistent",
    "PIP_REQUIRE_VIRTUALENV": "1",
    "VIRTUAL_ENV": "/nonexistent",
    "CONDA_PREFIX": "/nonexistent",
    "PYTHONPATH": "/nonexistent",
}


@pytest.fixture
def project(make_project: MakeProject, served: LocalIndex) -> Project:
    return make_project(CONTENT, served)


@pytest.fixture(scope="module")
def expected(make_project: MakeProject, served: LocalIndex) -> dict[str, bytes]:
    project = make_project(CONTENT, served)
    project.run("lock", *AS_OF).expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.11") == {"lib": "2.0", "dep": "2.0"}
    return project.snapshot()


def test_variables_of_uv_that_would_change_a_resolution(project: Project, expected: dict[str, bytes]) -> None:
    project.run("lock", *AS_OF, env=ENVIRONMENT).expect(0)
    assert project.snapshot() == expected


def test_variables_and_files_of_pip(project: Project, expected: dict[str, bytes]) -> None:
    for path in (".config/pip/pip.conf", ".pip/pip.conf"):
        file = project.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\npre = true\nno-index = true\n")
    project.run("lock", *AS_OF, env=PIP).expect(0)
    assert project.snapshot() == expected


@pytest.mark.parametrize("where", ["home", "project", "pyproject", "chosen", "above"])
def test_files_of_uv_that_would_change_a_resolution(project: Project, expected: dict[str, bytes], where: str) -> None:
    own = POLICY.format(constraints=CONSTRAINTS)
    env = {}
    if where == "pyproject":
        path = project.folder / "pyproject.toml"
        text = own.replace("[pip]", "[tool.uv.pip]")
        path.write_text(path.read_text() + f"[tool.uv]\n{text}", encoding="utf-8")
    else:
        path = {
            "home": project.home / ".config/uv/uv.toml",
            "project": project.folder / "uv.toml",
            "chosen": project.home / "chosen.toml",
            "above": project.folder.parent / "uv.toml",
        }[where]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POLICY.format(constraints="" if where == "home" else CONSTRAINTS), encoding="utf-8")
        env = {"UV_CONFIG_FILE": str(path)} if where == "chosen" else {}
    project.run("lock", *AS_OF, env=env).expect(0)
    assert project.snapshot() == expected
    project.run("check").expect(0)


@pytest.mark.parametrize("where", ["home", "project", "pyproject", "index-url", "UV_INDEX_URL", "UV_INDEX"])
def test_the_index_comes_from_wherever_uv_reads_it(
    project: Project, expected: dict[str, bytes], served: LocalIndex, where: str
) -> None:
    env: dict[str, str | None] = {"UV_DEFAULT_INDEX": None}
    table = f'index]]\nname = "house"\nurl = "{served.url}"\ndefault = true\n'
    if where == "home":
        (project.home / ".config/uv").mkdir(parents=True)
        (project.home / ".config/uv/uv.toml").write_text("[[" + table)
    elif where == "project":
        (project.folder / "uv.toml").write_text("[[" + table)
    elif where == "pyproject":
        path = project.folder / "pyproject.toml"
        path.write_text(path.read_text() + "[[tool.uv." + table, encoding="utf-8")
    elif where == "index-url":
        (project.folder / "uv.toml").write_text(f'index-url = "{served.url}/"\n')
    elif where == "UV_INDEX":
        env = {"UV_INDEX": f"house={served.url}", "UV_DEFAULT_INDEX": f"{served.base_url}/nowhere"}
    else:
        env["UV_INDEX_URL"] = served.url
    project.run("lock", *AS_OF, env=env).expect(0)
    assert project.snapshot() == expected


@pytest.mark.parametrize("how", ["url", "variables"])
def test_credentials_reach_the_index_and_nothing_else(
    make_project: MakeProject, expected: dict[str, bytes], how: str
) -> None:
    with LocalIndex(credentials=("me", "s3cr3t/&")) as index:
        CONTENT.populate(index)
        project = make_project(CONTENT, index)
        env = {"UV_DEFAULT_INDEX": index.url_with_credentials}
        if how == "variables":
            env = {
                "UV_DEFAULT_INDEX": f"my-house={index.url}",
                "UV_INDEX_MY_HOUSE_USERNAME": "me",
                "UV_INDEX_MY_HOUSE_PASSWORD": "s3cr3t/&",
            }
        result = project.run("lock", *AS_OF, env=env).expect(0)
        assert project.snapshot() == expected
        wrong = {"UV_DEFAULT_INDEX": index.url_with_credentials.replace("s3cr3t", "wr0ng"), "UV_HTTP_RETRIES": "0"}
        project.store, project.cache = project.home / "s", project.home / "c"
        refused = project.run("lock", *AS_OF, env=wrong).expect(4)
        assert project.snapshot() == expected
    said = result.out + result.err + refused.out + refused.err
    assert "s3cr3t" not in said
    assert "wr0ng" not in said
    assert "401" in refused.err
    assert "next:" in refused.err


def test_an_index_before_the_default_serves_what_it_has(
    make_project: MakeProject, served: LocalIndex, expected: dict[str, bytes]
) -> None:
    """As uv does by default: the first index that has a project serves all of it."""
    with LocalIndex() as first:
        scenario.parse('[[packages]]\nname = "dep"\nversion = "0.5"\n').populate(first)
        project = make_project(CONTENT, served)
        env = {"UV_INDEX": first.url, "UV_INDEX_STRATEGY": "unsafe-best-match"}
        project.run("lock", *AS_OF, env=env).expect(0)
    assert Locks(project).versions("app", "linux-x86_64", "3.11") == {"lib": "2.0", "dep": "0.5"}
