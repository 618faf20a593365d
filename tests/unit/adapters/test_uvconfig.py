"""What of uv's configuration is obeyed: the way to an index, strongest source first, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lockgrid.adapters.uvconfig import (
    IndexSource,
    UvConfig,
    index_faults,
    read_config,
    strip_credentials,
    uv_environment,
)
from lockgrid.errors import InputError

URL = "https://index.example/simple"
OTHER = "https://other.example/simple"
THIRD = "https://third.example/simple"


class Machine:
    """A project, a user's and a system's configuration in folders of their own."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.user = root / "user"
        self.system = root / "system"
        self.project.mkdir()
        self.environ = {
            "HOME": str(root / "home"),
            "XDG_CONFIG_HOME": str(self.user),
            "XDG_CONFIG_DIRS": f"{root / 'none'}:{self.system}",
        }

    def write(self, where: str, text: str) -> None:
        path = {
            "uv.toml": self.project / "uv.toml",
            "pyproject.toml": self.project / "pyproject.toml",
            "user": self.user / "uv" / "uv.toml",
            "system": self.system / "uv" / "uv.toml",
        }[where]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, **environ: str) -> UvConfig:
        return read_config(self.project, {**self.environ, **environ})

    def urls(self, **environ: str) -> list[str]:
        return [index.url for index in self.read(**environ).indexes]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def index(url: str, *more: str) -> str:
    return "\n".join(["[[index]]", f'url = "{url}"', *more]) + "\n"


def test_without_any_configuration_uvs_own_default_applies(machine: Machine) -> None:
    assert machine.read() == UvConfig(indexes=(), network={})
    assert machine.read().default is None


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("uv.toml", index(URL, "default = true")),
        ("uv.toml", f'index-url = "{URL}"\n'),
        ("pyproject.toml", f'[tool.uv]\nindex-url = "{URL}"\n'),
        ("pyproject.toml", f'[[tool.uv.index]]\nurl = "{URL}"\ndefault = true\n'),
        ("user", index(URL, "default = true")),
        ("system", f'index-url = "{URL}"\n'),
    ],
)
def test_a_default_index_is_read_from_every_file(machine: Machine, where: str, text: str) -> None:
    machine.write(where, text)
    default = machine.read().default
    assert default is not None
    assert (default.url, default.default) == (URL, True)


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_the_environment_beats_every_file(machine: Machine, variable: str) -> None:
    machine.write("uv.toml", index(OTHER, "default = true"))
    machine.write("user", index(THIRD, "default = true"))
    assert machine.urls(**{variable: URL}) == [URL]


def test_uv_toml_beats_pyproject_which_is_not_read_then(machine: Machine) -> None:
    machine.write("pyproject.toml", f'[tool.uv]\nindex-url = "{OTHER}"\nextra-index-url = ["{THIRD}"]\n')
    machine.write("uv.toml", f'index-url = "{URL}"\n')
    assert machine.urls() == [URL]


def test_the_project_beats_the_user_and_the_user_beats_the_system(machine: Machine) -> None:
    machine.write("system", f'index-url = "{THIRD}"\nhttp-proxy = "system"\nno-proxy = ["system"]\n')
    machine.write("user", f'index-url = "{OTHER}"\nhttp-proxy = "user"\n')
    assert machine.urls() == [OTHER]
    machine.write("uv.toml", f'index-url = "{URL}"\nnative-tls = true\n')
    config = machine.read()
    assert [i.url for i in config.indexes] == [URL]
    assert config.network == {"native-tls": True, "http-proxy": "user", "no-proxy": ["system"]}


def test_indexes_are_asked_in_uvs_order_the_default_last(machine: Machine) -> None:
    machine.write("uv.toml", index(URL, "default = true") + index(OTHER, 'name = "other"'))
    machine.write("user", f'extra-index-url = ["{THIRD}"]\n')
    environ = {"UV_INDEX": "https://a.example/ https://b.example", "UV_EXTRA_INDEX_URL": "https://c.example"}
    assert machine.urls(**environ) == [
        "https://a.example",
        "https://b.example",
        "https://c.example",
        OTHER,
        THIRD,
        URL,
    ]


def test_a_url_given_twice_is_asked_once(machine: Machine) -> None:
    machine.write("uv.toml", index(OTHER) + index(URL, "default = true"))
    assert machine.urls(UV_INDEX=OTHER) == [OTHER, URL]


def marked(config: UvConfig) -> list[tuple[str, bool]]:
    return [(index.url, index.default) for index in config.indexes]


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        (URL, [URL]),
        (f"{URL}/", [URL]),
        (f"{OTHER} {URL}", [OTHER, URL]),
        (f"{URL} {OTHER}", [URL, OTHER]),
        (f"{THIRD} {URL} {OTHER} {URL}", [THIRD, URL, OTHER]),
    ],
)
def test_a_default_that_is_also_listed_before_is_asked_once_and_nothing_is_added(
    machine: Machine, before: str, asked: list[str]
) -> None:
    expected = [(url, url == asked[-1]) for url in asked]
    assert marked(machine.read(UV_INDEX=before, UV_DEFAULT_INDEX=URL)) == expected
    machine.write("uv.toml", index(URL, "default = true"))
    assert marked(machine.read(UV_INDEX=before)) == expected


def test_a_url_with_and_without_a_slash_is_the_same(machine: Machine) -> None:
    assert machine.urls(UV_INDEX=f"{OTHER}/ {OTHER}/", UV_DEFAULT_INDEX=URL) == [OTHER, URL]


def test_of_two_entries_with_one_url_the_named_one_is_kept_with_its_credentials(machine: Machine) -> None:
    credentials = {"UV_INDEX_CORP_USERNAME": "me", "UV_INDEX_CORP_PASSWORD": "secret"}
    (found,) = machine.read(UV_INDEX=URL, UV_DEFAULT_INDEX=f"corp={URL}", **credentials).indexes
    assert (found.name, found.default, found.password) == ("corp", True, "secret")


def test_an_explicit_index_and_the_default_may_have_one_url(machine: Machine) -> None:
    machine.write("uv.toml", index(URL, 'name = "torch"', "explicit = true"))
    explicit, default = machine.read(UV_DEFAULT_INDEX=URL).indexes
    assert (explicit.name, explicit.explicit, explicit.default) == ("torch", True, False)
    assert (default.name, default.explicit, default.default) == ("", False, True)


def test_an_explicit_default_leaves_no_index_that_is_asked_for_all(machine: Machine) -> None:
    machine.write("uv.toml", index(URL, 'name = "torch"', "explicit = true", "default = true") + index(OTHER))
    config = machine.read()
    assert [i.url for i in config.indexes if not i.explicit] == [OTHER]
    assert config.default == config.indexes[0]
    assert config.indexes[0].explicit


def test_an_explicit_index_is_kept_apart_with_all_that_its_table_says(machine: Machine) -> None:
    machine.write("uv.toml", index(URL, 'name = "torch"', "explicit = true", 'format = "flat"'))
    (found,) = machine.read().indexes
    assert (found.name, found.explicit, found.default) == ("torch", True, False)
    assert found.table == {"url": URL, "name": "torch", "explicit": True, "format": "flat"}


@pytest.mark.parametrize(
    ("word", "name", "url"),
    [
        (f"corp={URL}", "corp", URL),
        (URL, "", URL),
        (f"{URL}?x=y", "", f"{URL}?x=y"),
    ],
)
def test_an_index_of_the_environment_may_have_a_name(machine: Machine, word: str, name: str, url: str) -> None:
    for variable in ("UV_INDEX", "UV_DEFAULT_INDEX"):
        (found,) = machine.read(**{variable: word}).indexes
        assert (found.name, found.url) == (name, url)


@pytest.mark.parametrize(
    ("name", "key"), [("corp", "CORP"), ("my-corp.x", "MY_CORP_X"), ("Corp2", "CORP2"), ("a b", "A_B")]
)
def test_a_named_index_gets_its_credentials_from_the_environment(machine: Machine, name: str, key: str) -> None:
    machine.write("uv.toml", index(URL, f'name = "{name}"') + index(OTHER, "default = true"))
    environ = {f"UV_INDEX_{key}_USERNAME": "me", f"UV_INDEX_{key}_PASSWORD": "secret"}
    named, unnamed = machine.read(**environ).indexes
    assert (named.username, named.password) == ("me", "secret")
    assert (unnamed.username, unnamed.password) == ("", "")


def test_a_chosen_file_replaces_all_others(machine: Machine, tmp_path: Path) -> None:
    machine.write("uv.toml", index(OTHER))
    machine.write("user", index(THIRD))
    chosen = tmp_path / "chosen.toml"
    chosen.write_text(index(URL, "default = true"), encoding="utf-8")
    assert machine.urls(UV_CONFIG_FILE=str(chosen)) == [URL]


def test_no_config_leaves_the_environment_alone(machine: Machine) -> None:
    machine.write("uv.toml", index(OTHER) + 'http-proxy = "x"\n')
    config = machine.read(UV_NO_CONFIG="1", UV_INDEX=URL)
    assert [i.url for i in config.indexes] == [URL]
    assert config.network == {}


@pytest.mark.parametrize("value", ["0", "false", "False", "f", "no", "N", "off", ""])
def test_no_config_may_be_false(machine: Machine, value: str) -> None:
    machine.write("uv.toml", index(OTHER))
    assert machine.urls(UV_NO_CONFIG=value) == [OTHER]


@pytest.mark.parametrize("value", ["1", "true", "TRUE", "t", "yes", "y", "on"])
def test_no_config_may_be_true_in_every_spelling_of_uv(machine: Machine, value: str) -> None:
    machine.write("uv.toml", index(OTHER))
    assert machine.urls(UV_NO_CONFIG=value) == []


def test_no_config_that_is_no_boolean_is_wrong_input(machine: Machine) -> None:
    with pytest.raises(InputError, match="'perhaps' is no boolean") as caught:
        machine.read(UV_NO_CONFIG="perhaps")
    assert caught.value.problems[0].key == "UV_NO_CONFIG"


def test_what_could_change_a_resolution_is_not_taken(machine: Machine) -> None:
    text = 'prerelease = "allow"\nresolution = "lowest"\nexclude-newer = "2020-01-01"\nno-build = false\n'
    machine.write("uv.toml", text + 'cache-dir = "here"\n')
    assert machine.read() == UvConfig(indexes=(), network={"cache-dir": "here"})


@pytest.mark.parametrize("where", ["uv.toml", "pyproject.toml", "user", "system"])
def test_a_broken_file_is_wrong_input(machine: Machine, where: str) -> None:
    machine.write(where, "broken = [\n")
    with pytest.raises(InputError, match="broken TOML"):
        machine.read()


def test_a_chosen_file_that_is_not_there_is_wrong_input(machine: Machine) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        machine.read(UV_CONFIG_FILE=str(machine.project / "gone.toml"))


@pytest.mark.parametrize(
    ("where", "text", "key"),
    [
        ("uv.toml", f'index = "{URL}"\n', "index"),
        ("uv.toml", f'index = ["{URL}"]\n', "index"),
        ("uv.toml", 'index = [{ name = "a" }]\n', "index[0].url"),
        ("uv.toml", index(URL) + "[[index]]\nurl = 1\n", "index[1].url"),
        ("uv.toml", index(URL, "name = 1"), "index[0].name"),
        ("uv.toml", index(URL, 'default = "false"'), "index[0].default"),
        ("user", index(URL, "explicit = 1"), "index[0].explicit"),
        ("system", f'extra-index-url = "{URL}"\n', "extra-index-url"),
        ("uv.toml", "extra-index-url = [1]\n", "extra-index-url"),
        ("uv.toml", f'index-url = ["{URL}"]\n', "index-url"),
        ("pyproject.toml", "tool = 1\n", "tool"),
        ("pyproject.toml", "[tool]\nuv = []\n", "tool.uv"),
        ("pyproject.toml", f'[tool.uv]\nindex = "{URL}"\n', "tool.uv.index"),
    ],
)
def test_a_key_of_the_wrong_type_is_wrong_input(machine: Machine, where: str, text: str, key: str) -> None:
    machine.write(where, text)
    with pytest.raises(InputError) as caught:
        machine.read()
    (problem,) = caught.value.problems
    assert problem.key == key
    assert problem.file.endswith("pyproject.toml" if where == "pyproject.toml" else "uv.toml")
    assert problem.what.startswith("must be ")


def test_uv_gets_the_machines_environment_less_what_could_change_a_result() -> None:
    dropped = [
        "UV_INDEX",
        "UV_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "UV_PRERELEASE",
        "UV_RESOLUTION",
        "UV_EXCLUDE_NEWER",
        "UV_PYTHON",
        "UV_CONFIG_FILE",
        "UV_FIND_LINKS",
        "PIP_INDEX_URL",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    ]
    kept = {
        "PATH": "p",
        "HOME": "h",
        "HTTPS_PROXY": "x",
        "SSL_CERT_FILE": "c",
        "UV_CACHE_DIR": "d",
        "UV_HTTP_TIMEOUT": "9",
        "UV_NATIVE_TLS": "1",
        "UV_OFFLINE": "0",
        "UV_INDEX_CORP_USERNAME": "u",
        "UV_INDEX_CORP_PASSWORD": "s",
    }
    found = uv_environment({**dict.fromkeys(dropped, "x"), **kept})
    assert {key: value for key, value in found.items() if key in kept} == kept
    assert set(found) & set(dropped) == set()
    own = {key: value for key, value in found.items() if key not in kept}
    assert (own["UV_PYTHON_DOWNLOADS"], own["UV_NO_PROGRESS"]) == ("never", "1")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@index.example/simple/a/?q=1#f", "https://index.example/simple/a/?q=1#f"),
        ("https://me@index.example:8443/simple", "https://index.example:8443/simple"),
        ("https://me:p%40ss@word@index.example/", "https://index.example/"),
        (URL, URL),
    ],
)
def test_credentials_never_reach_a_message(url: str, shown: str) -> None:
    assert strip_credentials(url) == shown


def test_secrets_do_not_decide_whether_two_indexes_are_equal_by_table() -> None:
    tables: list[Mapping[str, str]] = [{"url": URL}, {"url": URL, "x": "y"}]
    one, other = (IndexSource(url=URL, table=table) for table in tables)
    assert one == other
    assert hash(one) == hash(other)


def names(machine: Machine, *sources: str, urls: Mapping[str, str] | None = None, **environ: str) -> UvConfig:
    """The configuration where ``[sources]`` names these indexes."""
    return read_config(machine.project, {**machine.environ, **environ}, sources, (urls or {}).items())


def test_an_index_that_a_source_names_is_asked_for_nothing_else(machine: Machine) -> None:
    machine.write(
        "uv.toml", index(URL, "default = true") + index("https://cpu.example/", 'name = "cpu"', "explicit = true")
    )
    machine.write("user", index("https://weak.example", 'name = "cpu"') + index("https://gpu.example", 'name = "gpu"'))
    config = names(machine, "cpu", urls={"cpu": "https://ours.example", "x": "https://x.example"})
    assert [i.url for i in config.indexes] == ["https://gpu.example", URL]
    assert [(name, i.url, i.explicit, i.default) for name, i in config.named.items()] == [
        ("cpu", "https://cpu.example", True, False)
    ]
    assert machine.read().named == {}


def test_an_index_of_the_project_stands_where_uv_has_none_of_that_name(machine: Machine) -> None:
    urls = {"cpu": "https://ours.example", "gpu": "https://gpu.example"}
    config = names(machine, "cpu", urls=urls, UV_INDEX_CPU_USERNAME="me", UV_INDEX_CPU_PASSWORD="secret")
    assert config.named == {
        "cpu": IndexSource(
            url="https://ours.example", name="cpu", explicit=True, username="me", password="secret", table={}
        )
    }
    assert names(machine, "cpu", "none", urls=urls, UV_INDEX="cpu=https://mirror.example").named["cpu"].url == (
        "https://mirror.example"
    )
    assert "none" not in names(machine, "cpu", "none", urls=urls).named


def test_the_url_of_a_named_index_holds_no_credentials_and_is_as_uv_writes_it(machine: Machine) -> None:
    found = names(machine, "cpu", UV_INDEX="cpu=https://me:s%2Fe@CPU.example:443/Simple/").named["cpu"]
    assert (found.url, found.username, found.password) == ("https://cpu.example/Simple", "me", "s/e")
    found = names(machine, "cpu", UV_INDEX="cpu=https://me:x@cpu.example", UV_INDEX_CPU_PASSWORD="y").named["cpu"]
    assert (found.url, found.password) == ("https://cpu.example", "y")


def test_a_plain_index_with_the_url_of_a_named_one_is_not_asked(machine: Machine) -> None:
    machine.write("uv.toml", 'extra-index-url = ["https://cpu.example/", "https://x.example"]\n')
    config = names(machine, "cpu", UV_INDEX="cpu=https://cpu.example other=https://me:pw@cpu.example")
    assert [i.url for i in config.indexes] == ["https://x.example"]


def test_what_makes_an_index_useless_for_a_source(machine: Machine) -> None:
    good = names(machine, "cpu", UV_INDEX="cpu=https://cpu.example", UV_DEFAULT_INDEX=URL)
    assert index_faults(good) == {"cpu": ""}
    named = names(machine, "cpu", UV_DEFAULT_INDEX="cpu=https://cpu.example")
    assert "is the default index" in index_faults(named)["cpu"]
    same = names(machine, "cpu", UV_DEFAULT_INDEX="https://cpu.example/", UV_INDEX="cpu=https://CPU.example")
    assert "is the default index" in index_faults(same)["cpu"]
    twins = names(machine, "a", "b", UV_INDEX="a=https://cpu.example b=https://cpu.example/")
    assert index_faults(twins) == {
        "a": "has the URL of 'b': give both one name",
        "b": "has the URL of 'a': give both one name",
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('url = "https://cpu.example"\nformat = "simple"', ""),
        ('url = "ftp://cpu.example"', "is neither a folder nor an http or https URL, and lockgrid reads no other"),
        ('url = "file:///no/wheels"', "is a folder, and there is no folder /no/wheels"),
    ],
)
def test_an_index_that_lockgrid_cannot_read_is_told_before_it_is_asked(machine: Machine, text: str, fault: str) -> None:
    machine.write("uv.toml", f'[[index]]\nname = "cpu"\n{text}\n')
    assert index_faults(names(machine, "cpu", UV_DEFAULT_INDEX=URL)) == {"cpu": fault}


@pytest.mark.parametrize("word", ["/no/wheels", "../no/wheels", "corp=../no/wheels", "file:///no/wheels"])
@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX"])
def test_a_folder_that_is_not_there_is_told_before_it_is_asked(machine: Machine, variable: str, word: str) -> None:
    with pytest.raises(InputError, match="there is no folder") as refused:
        machine.read(**{variable: word})
    assert "no/wheels" in str(refused.value)
    assert 'format = "flat"' in refused.value.next_step


def wheels(machine: Machine, name: str = "wheels") -> Path:
    """A folder beside uv.toml with one file."""
    folder = machine.project / name
    folder.mkdir()
    (folder / "a-1.0-py3-none-any.whl").write_bytes(b"")
    return folder


@pytest.mark.parametrize("word", ["wheels", "./wheels", "PATH", "URL"])
@pytest.mark.parametrize("said", ["UV_DEFAULT_INDEX", "flat", "index-url"])
def test_a_folder_is_told_to_uv_as_a_flat_index(machine: Machine, word: str, said: str) -> None:
    folder = wheels(machine)
    word = {"PATH": folder.as_posix(), "URL": folder.as_uri()}.get(word, word)
    if said == "flat":
        machine.write("uv.toml", f'[[index]]\nurl = "{word}"\nformat = "flat"\ndefault = true\n')
    if said == "index-url":
        machine.write("uv.toml", f'index-url = "{word}"\n')
    found = machine.read(**({"UV_DEFAULT_INDEX": word} if said == "UV_DEFAULT_INDEX" else {}))
    (index,) = found.indexes
    assert index.folders == (folder,)
    assert index.default
    assert (index.table["url"], index.table["format"]) == (folder.as_uri(), "flat")


def test_find_links_are_all_there_is_where_no_index_may_be_asked(machine: Machine) -> None:
    one, two = wheels(machine), wheels(machine, "more")
    machine.write("uv.toml", 'no-index = true\nfind-links = ["more"]\nextra-index-url = ["https://x.example"]\n')
    (index,) = machine.read(UV_DEFAULT_INDEX=URL, UV_FIND_LINKS=str(one)).indexes
    assert index.folders == (one, two)
    cpu = "is no folder, and no index may be asked (uv's settings: no-index)"
    assert index_faults(names(machine, "cpu", UV_INDEX="cpu=https://cpu.example")) == {"cpu": cpu}


def test_a_folder_beside_a_server_is_refused(machine: Machine) -> None:
    folder = wheels(machine)
    for environ in ({"UV_DEFAULT_INDEX": URL, "UV_INDEX": str(folder)}, {"UV_INDEX": str(folder)}):
        with pytest.raises(InputError, match=r"is a folder, and .* index is asked as well"):
            machine.read(**environ)


@pytest.mark.parametrize("sources", [("a-b", "a_b"), ("a-b",)])
@pytest.mark.parametrize(
    ("login", "other", "good"),
    [("me:x@", "me:y@", False), ("me:x@", "", False), ("", "you:y@", False), ("me:x@", "me:x@", True), ("", "", True)],
)
def test_two_indexes_to_which_uv_would_give_the_credentials_of_one(
    machine: Machine, sources: tuple[str, ...], login: str, other: str, good: bool
) -> None:
    """uv spells both names alike in the variables by which it is told: the one would get what is the other's."""
    words = f"a-b=https://{login}a.example a_b=https://{other}b.example"
    found = index_faults(names(machine, *sources, UV_INDEX=words, UV_DEFAULT_INDEX=URL))
    said = "shares UV_INDEX_A_B_USERNAME with 'a_b', and their credentials differ: rename one"
    assert found["a-b"] == ("" if good else said)
