"""Which uv is run, what it is told, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lockgrid.adapters import uv as module
from lockgrid.adapters.cache import Cache
from lockgrid.adapters.uv import OLDEST_UV, Resolved, Uv, find_uv
from lockgrid.adapters.uvanswer import NoSolution, explain_failure
from lockgrid.adapters.uvconfig import IndexSource, UvConfig
from lockgrid.core.uvproject import REQUIRED_UV
from lockgrid.errors import ToolError
from lockgrid.model.index import DistMetadata

posix = pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for uv")
NAME = "uv.exe" if os.name == "nt" else "uv"


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_uv_beside_the_interpreter_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, elsewhere = tmp_path / "venv" / "python", program(tmp_path / "bin" / NAME)
    monkeypatch.setattr(sys, "executable", str(beside))
    assert find_uv({"PATH": str(elsewhere.parent)}) == str(elsewhere)
    own = program(beside.parent / NAME)
    assert find_uv({"PATH": str(elsewhere.parent)}) == str(own)


def test_a_chosen_uv_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / NAME).parent / "python"))
    chosen = program(tmp_path / "chosen" / NAME)
    assert find_uv({"LOCKGRID_UV": str(chosen)}) == str(chosen)


def test_a_chosen_uv_that_cannot_be_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="which cannot be run") as caught:
        find_uv({"LOCKGRID_UV": str(tmp_path / "gone")})
    assert str(tmp_path / "gone") in caught.value.what


def test_no_uv_at_all_is_an_error_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ToolError, match="uv was not found") as caught:
        find_uv({"PATH": str(tmp_path)})
    assert "pip install" in caught.value.next_step


SAID = """\
Using CPython 3.11.7 interpreter at: python
error: No solution found when resolving dependencies for split (markers: python_full_version == '3.12.*'):
  cause: Because lockgrid-resolution[vgf] depends on a>=2 and only a<2 is available,
      we can conclude that lockgrid-resolution[vgf]'s requirements are unsatisfiable.

hint: While the active Python version is 3.11, the resolution failed for other Python versions.
"""


def test_an_explanation_names_no_interpreter_and_no_name_of_lockgrids_own() -> None:
    assert explain_failure(SAID) == (
        "Because envs[vgf] depends on a>=2 and only a<2 is available,\n"
        "we can conclude that envs[vgf]'s requirements are unsatisfiable."
    )


def test_an_explanation_says_the_same_for_each_cell_with_the_same_fault() -> None:
    said = "Because b==2.0 has no `python_full_version == '3.{}.*' and sys_platform == 'linux'`-compatible wheels and x"
    assert {explain_failure(said.format(minor)) for minor in (10, 11)} == {
        "Because b==2.0 has no wheel that fits and x"
    }


def test_an_explanation_of_another_kind_is_kept() -> None:
    assert explain_failure("error: it broke\n\n  badly\n") == "it broke\nbadly"
    assert explain_failure("") == ""


SCRIPT = """\
#!/bin/sh
echo "$@" >> "{log}"
case "$1" in
--version) echo "uv {version} (abc 2026-01-01)" ;;
pip) echo "--index-url https://index.example/simple/" ;;
lock) {lock} ;;
export) echo 'lock-version = "1.0"' ;;
esac
"""


class Fake:
    """A shell script in the place of uv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.cache = Cache(folder / "cache")

    def uv(self, *, version: str = "0.13.0", lock: str = "true", config: UvConfig | None = None) -> Uv:
        text = SCRIPT.format(log=self.log, version=version, lock=lock)
        binary = program(self.folder / "uv", text)
        environ = {"PATH": os.environ["PATH"], "UV_PRERELEASE": "allow"}
        return Uv(str(binary), config or UvConfig(indexes=(), network={}), environ, self.cache, 1.0)

    def runs(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Fake(tmp_path)
    yield made
    made.cache.close()


@posix
def test_uv_is_asked_once_for_its_default_index(fake: Fake) -> None:
    for _ in range(2):
        with fake.uv() as uv:
            assert uv.config.default == IndexSource(url="https://index.example/simple", default=True)
            assert uv.version == "0.13.0"
    assert fake.runs() == ["--version", "pip", "--version"]


@posix
def test_a_configured_default_is_not_asked_for(fake: Fake) -> None:
    config = UvConfig(indexes=(IndexSource(url="https://x.example", default=True),), network={})
    with fake.uv(config=config) as uv:
        assert uv.config == config
    assert fake.runs() == ["--version"]


@posix
@pytest.mark.parametrize(("version", "said"), [("0.12.24", "uv 0.12.24 is too old: 0.13.0"), ("x", "does not say")])
def test_an_old_or_unknown_uv_is_refused(fake: Fake, version: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        fake.uv(version=version)


def test_one_oldest_uv_stands_everywhere() -> None:
    """What is checked, what pyproject.toml asks for, and what lockgrid depends on."""
    oldest = Version(".".join(str(part) for part in OLDEST_UV))
    manifest = tomllib.loads((Path(__file__).parents[3] / "generator/pyproject.toml").read_text(encoding="utf-8"))
    (asked,) = (r for r in map(Requirement, manifest["project"]["dependencies"]) if r.name == "uv")
    for specifier in (asked.specifier, SpecifierSet(REQUIRED_UV)):
        (bound,) = specifier
        assert (bound.operator, Version(bound.version)) == (">=", oldest)


@posix
def test_a_lock_is_told_the_project_the_settings_and_the_indexes(fake: Fake) -> None:
    explicit = IndexSource(url="https://x.example", name="x", table={"name": "x", "url": "https://x.example"})
    config = UvConfig(indexes=(explicit,), network={"native-tls": True})
    with fake.uv(config=config) as uv:
        outcome = uv.lock("[project]\n", {"no-build": True}, "version = 1\n")
        assert isinstance(outcome, Resolved)
        assert (outcome.folder / "pyproject.toml").read_text() == "[project]\n"
        assert (outcome.folder / "uv.lock").read_text() == "version = 1\n"
        settings = (outcome.folder / "settings.toml").read_text()
        assert uv.export(outcome, "app") == 'lock-version = "1.0"\n'
    assert "no-build = true" in settings
    assert "native-tls = true" in settings
    assert settings.index("https://x.example") < settings.index("https://index.example/simple")
    assert settings.count("default = true") == 1
    assert not outcome.folder.exists()


@posix
def test_no_file_for_uv_holds_credentials(fake: Fake) -> None:
    """One in a URL goes by a name of its own, so that nothing else that is called alike gets the credentials."""
    plain = [
        IndexSource(url="https://a.example", name="corp", username="him", password="s3cret1"),
        IndexSource(url="https://me:s3cret%2F2@b.example", table={"url": "https://me:s3cret%2F2@b.example"}),
        IndexSource(url="https://token@c.example", name="corp", default=True),
    ]
    cpu = IndexSource(url="https://cpu.example", name="cpu", explicit=True, username="you", password="s3cret3")
    config = UvConfig(indexes=tuple(plain), network={}, named={"cpu": cpu})
    with fake.uv(lock='env | grep ^UV_INDEX_ >> "$0.env"', config=config) as uv:
        outcome = uv.lock("", {})
        assert isinstance(outcome, Resolved)
        text = (outcome.folder / "settings.toml").read_text()
        tables = uv.index_tables
    assert "s3cret" not in text + str(tables)
    assert "token" not in text
    indexes = tomllib.loads(text)["index"]
    assert [(i.get("name"), i["url"]) for i in indexes] == [
        ("corp", "https://a.example"),
        ("lockgrid-1", "https://b.example"),
        ("lockgrid-2", "https://c.example"),
    ]
    assert sorted((fake.folder / "uv.env").read_text().split()) == [
        "UV_INDEX_CORP_PASSWORD=s3cret1",
        "UV_INDEX_CORP_USERNAME=him",
        "UV_INDEX_CPU_PASSWORD=s3cret3",
        "UV_INDEX_CPU_USERNAME=you",
        "UV_INDEX_LOCKGRID_1_PASSWORD=s3cret/2",
        "UV_INDEX_LOCKGRID_1_USERNAME=me",
        "UV_INDEX_LOCKGRID_2_USERNAME=token",
    ]


@posix
def test_no_solution_is_an_outcome_and_any_other_failure_an_error(fake: Fake) -> None:
    with fake.uv(lock="echo 'error: No solution found: Because a' >&2; exit 1") as uv:
        assert isinstance(uv.lock("", {}), NoSolution)
    with fake.uv(lock="echo 'error: no network' >&2; exit 2") as uv, pytest.raises(ToolError, match="no network"):
        uv.lock("", {})


@posix
@pytest.mark.parametrize(
    "hint",
    [
        "An index URL (https://me:*@index.example/s) was not queried due to a lack of valid authentication credentials",
        "An index (https://me@index.example/s) returned a 403 Forbidden error. Check that the index URL",
    ],
)
def test_an_index_that_refuses_is_not_one_that_has_nothing(fake: Fake, hint: str) -> None:
    said = f"echo 'error: No solution found: Because a was not found' >&2; echo 'hint: {hint}' >&2; exit 1"
    with fake.uv(lock=said) as uv, pytest.raises(ToolError, match="refuses to answer") as caught:
        uv.lock("", {})
    assert "(https://index.example/s)" in str(caught.value)


@posix
def test_no_user_of_a_url_is_repeated_from_uv(fake: Fake) -> None:
    said = "echo 'error: Failed to fetch: `https://me:****@index.example/simple/a/`' >&2; exit 2"
    with fake.uv(lock=said) as uv, pytest.raises(ToolError, match="Failed to fetch") as caught:
        uv.lock("", {})
    assert "`https://index.example/simple/a/`" in str(caught.value)


@posix
def test_what_is_stopped_runs_no_more(fake: Fake) -> None:
    uv = fake.uv()
    with uv:
        uv.stop()
        with pytest.raises(ToolError, match="uv was stopped"):
            uv.lock("", {})


@posix
def test_in_a_pause_what_runs_is_ended_and_nothing_starts(fake: Fake, tmp_path: Path) -> None:
    mark = tmp_path / "locking"
    with fake.uv(lock=f"touch '{mark}'; sleep 60") as uv, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(uv.lock, "", {})
        while not mark.exists():
            assert not slow.done()
        with uv.paused():
            with pytest.raises(ToolError):
                slow.result(timeout=30)
            with pytest.raises(ToolError, match="uv was stopped"):
                uv.lock("", {})
        mark.unlink()
        again = pool.submit(uv.lock, "", {})
        while not mark.exists():
            assert not again.done()
        uv.stop()


LOCK = """\
[[package]]
name = "a"
version = "1.0"
dependencies = [
    { name = "b", marker = "sys_platform == 'win32'" },
    { name = "c", version = "2.0", extra = ["x", "y"] },
]
[package.optional-dependencies]
z = [{ name = "d", marker = "os_name == 'nt'" }, { name = "e" }]
"""


@posix
def test_what_a_sdist_requires_is_read_from_the_lock(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    with fake.uv() as uv:
        assert uv.sdist_metadata(Resolved(tmp_path), "a", "1.0") == DistMetadata(
            name="a",
            version="1.0",
            requires_dist=(
                "b ; (sys_platform == 'win32')",
                "c[x,y]==2.0",
                "d ; (os_name == 'nt') and extra == 'z'",
                "e ; extra == 'z'",
            ),
            provides_extra=("z",),
        )
        with pytest.raises(ToolError, match=r"does not hold a==2\.0"):
            uv.sdist_metadata(Resolved(tmp_path), "a", "2.0")


@posix
def test_of_the_extras_that_were_asked_for_uv_tells_which_are_missing(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    said = "warning: The package `a==1.0` does not have an extra named `gone`"
    with fake.uv(lock=f"echo '{said}' >&2") as uv:
        outcome = uv.lock("", {})
        assert isinstance(outcome, Resolved)
        resolved = replace(outcome, folder=tmp_path)
        asked = frozenset({"gone", "empty"})
        assert uv.sdist_metadata(resolved, "a", "1.0", asked).provides_extra == ("empty", "z")
        other = replace(resolved, lacking=frozenset({("a", "2.0", "gone")}))
        assert uv.sdist_metadata(other, "a", "1.0", asked).provides_extra == ("empty", "gone", "z")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[str]]]:
    """Every process that a test starts; what it leaves open is closed."""
    found: list[subprocess.Popen[str]] = []

    class Watched(subprocess.Popen[str]):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            found.append(self)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    yield found
    for process in found:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@posix
def test_a_uv_that_takes_too_long_is_ended(
    fake: Fake, started: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake.uv(lock="sleep 60") as uv:
        monkeypatch.setattr(module, "_LIMIT_SECONDS", 0.05)
        with pytest.raises(ToolError, match="took more than"):
            uv.lock("", {})
    assert started[-1].poll() is not None


@posix
def test_nothing_of_an_ended_uv_stays_open(
    fake: Fake, started: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake.uv(lock="sleep 60") as uv:
        monkeypatch.setattr(module, "_LIMIT_SECONDS", 0.05)
        with pytest.raises(ToolError):
            uv.lock("", {})
    for stream in (started[-1].stdout, started[-1].stderr):
        assert stream is not None
        assert stream.closed


@posix
@pytest.mark.parametrize("method", ["_check_version", "_with_default"])
@pytest.mark.parametrize("error", [ToolError("refused"), KeyboardInterrupt()])
def test_a_uv_that_cannot_be_made_leaves_no_folder_behind(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, method: str, error: BaseException
) -> None:
    def fail(*_given: Any) -> None:
        raise error

    monkeypatch.setattr(Uv, method, fail)
    with pytest.raises(type(error)):
        fake.uv()
    assert list(fake.folder.glob("lockgrid-*")) == []


@posix
def test_a_uv_that_is_refused_leaves_no_folder_behind(fake: Fake) -> None:
    with pytest.raises(ToolError):
        fake.uv(version="0.1.0")
    assert list(fake.folder.glob("lockgrid-*")) == []


@posix
def test_only_the_index_that_is_asked_last_is_told_to_be_the_default(fake: Fake) -> None:
    tables: list[tuple[str, dict[str, bool]]] = [("https://x.example", {"default": True}), ("https://y.example", {})]
    first, last = (IndexSource(url=url, table={"url": url, **more}) for url, more in tables)
    with fake.uv(config=UvConfig(indexes=(first, replace(last, default=True)), network={})) as uv:
        outcome = uv.lock("", {})
        assert isinstance(outcome, Resolved)
        told = tomllib.loads((outcome.folder / "settings.toml").read_text())["index"]
    assert [(i["url"], i.get("default", False)) for i in told] == [
        ("https://x.example", False),
        ("https://y.example", True),
    ]


@posix
def test_a_named_index_goes_into_the_project_and_its_credentials_into_no_file(fake: Fake) -> None:
    table = {"name": "my-cpu", "url": "https://me:s3cret@cpu.example", "default": True, "explicit": False}
    source = IndexSource(
        url="https://cpu.example", name="my-cpu", explicit=True, username="me", password="s3cret", table=table
    )
    default = IndexSource(url="https://x.example", default=True)
    config = UvConfig(indexes=(default,), network={}, named={"my-cpu": source})
    with fake.uv(config=config) as uv:
        (found,) = uv.index_tables
        assert {key: found[key] for key in ("name", "url", "explicit")} == {
            "name": "my-cpu",
            "url": "https://cpu.example",
            "explicit": True,
        }
        assert "default" not in found
        assert uv._environ["UV_INDEX_MY_CPU_USERNAME"] == "me"
        assert uv._environ["UV_INDEX_MY_CPU_PASSWORD"] == "s3cret"
        outcome = uv.lock("[project]\n", {})
        assert isinstance(outcome, Resolved)
        assert "cpu.example" not in (outcome.folder / "settings.toml").read_text()
