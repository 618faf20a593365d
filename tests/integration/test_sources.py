"""``[sources]``: a package comes from the index that is named for it, and nothing else comes from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from integration.conftest import MakeProject
from integration.locked import Locks
from support import scenario
from support.index import LocalIndex
from support.sandbox import Project, Result
from support.wheels import wheel

#: The default index has a higher torch and lib's right versions; the index "cpu" a higher lib, which it does not own.
CONTENT = """
[[packages]]
name = "lib"
version = "1.0"
requires = ["torch>=1"]
[[packages]]
name = "torch"
version = "3.0"
requires = ["dep"]
[[packages]]
name = "torch"
version = "2.0"
requires = ["dep"]
[[packages]]
name = "dep"
version = "1.0"
[[packages]]
name = "torch"
version = "2.0+cpu"
requires = ["dep"]
index = "cpu"
[[packages]]
name = "lib"
version = "9.0"
index = "cpu"
[[packages]]
name = "dep"
version = "9.0"
index = "cpu"
"""
TARGETS = """
[targets]
pythons = ["3.11", "3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.windows-x86_64]
"""
APP = """
[envs.app]
requires = ["lib"]
[envs.app.sources]
torch = "cpu"
"""
Begin = Callable[..., Project]
LINUX, WINDOWS = ("app", "linux-x86_64", "3.12"), ("app", "windows-x86_64", "3.12")


@pytest.fixture
def cpu() -> Iterator[LocalIndex]:
    """The second index, which a test may change."""
    with LocalIndex() as running:
        yield running


@pytest.fixture
def begin(index: LocalIndex, cpu: LocalIndex, make_project: MakeProject) -> Begin:
    """Return a function from the text of a scenario to a project beside both indexes."""

    def start(text: str, packages: str = CONTENT) -> Project:
        content = scenario.parse(packages + TARGETS + text)
        content.populate(index)
        content.populate(cpu, "cpu")
        return make_project(content, index)

    return start


def lock(project: Project, cpu: LocalIndex, *args: str, **env: str | None) -> Result:
    """Run ``lockgrid lock`` with the second index as uv's users add one, and no retries."""
    return project.run("lock", *args, env={"UV_INDEX": f"cpu={cpu.url}", "UV_HTTP_RETRIES": "0", **env})


def again(project: Project, cpu: LocalIndex) -> None:
    """Assert that nothing changes: when locked again, and when locked from nothing."""
    before = project.snapshot(".")
    assert "nothing changed" in lock(project, cpu).expect(0).out
    assert project.snapshot(".") == before
    cutoff = Locks(project).cutoff
    for path in sorted((project.folder / "locks").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    lock(project, cpu, "--as-of", cutoff).expect(0)
    assert project.snapshot(".") == before


def test_a_package_that_others_ask_for_comes_from_its_index_and_nothing_else_does(
    begin: Begin, cpu: LocalIndex
) -> None:
    project = begin(APP)
    lock(project, cpu).expect(0)
    for cell in (LINUX, WINDOWS):
        assert Locks(project).versions(*cell) == {"lib": "1.0", "torch": "2.0+cpu", "dep": "1.0"}
    again(project, cpu)


def test_an_index_of_the_project_serves_as_one_of_uv_does_and_uv_has_the_last_word(
    begin: Begin, cpu: LocalIndex
) -> None:
    project = begin(APP)
    path = project.folder / "envs/targets.toml"
    path.write_text(path.read_text() + f'[indexes]\ncpu = "{cpu.url}"\n')
    lock(project, cpu, UV_INDEX=None).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    before = project.snapshot()
    path.write_text(path.read_text().replace(cpu.url, "https://index.example/simple"))
    lock(project, cpu).expect(0)
    assert project.snapshot() == before


@pytest.mark.parametrize("explicit", ["", "explicit = true", "default = false"])
def test_an_index_of_a_file_of_uv(begin: Begin, cpu: LocalIndex, explicit: str) -> None:
    project = begin(APP)
    (project.folder / "uv.toml").write_text(f'[[index]]\nname = "cpu"\nurl = "{cpu.url}/"\n{explicit}\n')
    lock(project, cpu, UV_INDEX=None).expect(0)
    assert Locks(project).versions(*LINUX) == {"lib": "1.0", "torch": "2.0+cpu", "dep": "1.0"}


def test_a_source_for_one_platform(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP.replace("torch =", '"torch@linux-x86_64" ='))
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    assert Locks(project).versions(*WINDOWS)["torch"] == "3.0"
    again(project, cpu)


def test_one_platform_from_another_index_than_the_others_in_one_version(begin: Begin, cpu: LocalIndex) -> None:
    """The same name, version and file name from two indexes in one lock, each with its own bytes."""
    project = begin(APP.replace("torch =", '"torch@linux-x86_64" ='))
    cpu.add(wheel("torch", "3.0", files={"torch.py": "cpu = True"}))
    lock(project, cpu).expect(0)
    locks = Locks(project)
    hashes = [locks[f"app/{cell[1]}"].hashes("torch") for cell in (LINUX, WINDOWS)]
    assert hashes[0] == {wheel("torch", "3.0", files={"torch.py": "cpu = True"}).sha256}
    assert not hashes[0] & hashes[1]
    again(project, cpu)


def test_environments_with_other_sources_are_locked_apart_and_that_is_said(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(
        APP + '[envs.plain]\nrequires = ["lib"]\n[envs.same]\nrequires = ["dep"]\nsources = { torch = "cpu" }\n'
    )
    result = lock(project, cpu).expect(0)
    said = "app and plain are locked apart: their [sources] differ over torch on linux-x86_64, torch on windows-x86_64"
    assert said in result.out
    assert said in project.run("show").expect(0).out
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    assert Locks(project).versions("plain", *LINUX[1:]) == {"lib": "1.0", "torch": "3.0", "dep": "1.0"}
    again(project, cpu)


def test_a_direct_requirement_without_the_local_part(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP.replace('["lib"]', '["lib", "torch==2.0"]'))
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    again(project, cpu)


def test_a_local_version_on_the_platforms_that_have_one(begin: Begin, cpu: LocalIndex) -> None:
    """As an index of CPU builds is: ``2.13.0+cpu`` for Linux and Windows, ``2.13.0`` for macOS."""
    packages = CONTENT.replace(
        'version = "2.0+cpu"', 'version = "2.0+cpu"\nwheels = ["py3-none-manylinux_2_28_x86_64"]'
    )
    project = begin(APP.replace('["lib"]', '["lib", "torch==2.0"]'), packages)
    cpu.add(wheel("torch", "2.0", tags=("py3-none-win_amd64",), requires=["dep"]))
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    assert Locks(project).versions(*WINDOWS)["torch"] == "2.0"
    again(project, cpu)


def test_a_lock_that_holds_is_kept_though_the_index_has_more(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP)
    lock(project, cpu).expect(0)
    before = project.snapshot()
    cpu.add(wheel("torch", "2.1+cpu", requires=["dep"]))
    project.store, project.cache = project.home / "s", project.home / "c"  # as on another machine
    assert "nothing changed" in lock(project, cpu).expect(0).out
    assert project.snapshot() == before
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace('["lib"]', '["lib", "dep>0"]'))  # resolved anew, on the old pins
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    lock(project, cpu, "-P", "torch").expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.1+cpu"


def test_the_grid_names_what_came_from_where_without_a_url(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP)
    result = lock(project, cpu).expect(0)
    (source,) = Locks(project).grid["sources"]
    built = wheel("torch", "2.0+cpu", requires=["dep"])
    assert source == {
        "environment": "app",
        "package": "torch",
        "index": "cpu",
        "platforms": ["linux-x86_64", "windows-x86_64"],
        "files": {"torch-2.0+cpu-py3-none-any.whl": source["files"][built.filename]},
    }
    lines = [
        "app: torch comes from the index cpu on linux-x86_64, windows-x86_64",
        'UV_INDEX="cpu=<its URL>" UV_INDEX_STRATEGY=unsafe-best-match',
    ]
    for out in (result.out, project.run("show").expect(0).out):
        assert all(line in out for line in lines)
    assert project.run("show", "--json").expect(0).json()["sources"] == [source]
    assert not [path for path, data in project.snapshot(".").items() if b"127.0.0.1" in data]
    assert "http" not in result.out
    project.run("check").expect(0)
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace('"cpu"', '"gpu"'))
    assert "envs/app.toml" in project.run("check").expect(1).out


def test_a_package_that_its_index_lacks(begin: Begin, cpu: LocalIndex) -> None:
    project = begin('[envs.app]\nrequires = ["other"]\nsources = { other = "cpu" }\n')
    said = lock(project, cpu).expect(2).err
    assert "the index cpu has no package other" in said
    assert project.snapshot() == {}


def test_a_package_that_others_ask_for_and_its_index_lacks(begin: Begin, cpu: LocalIndex) -> None:
    """Never taken from the index that has it, though uv would."""
    project = begin(APP.replace("torch =", "dep =") + '[envs.more]\nrequires = ["dep"]\n')
    cpu.remove("dep-9.0-py3-none-any.whl")
    said = " ".join(lock(project, cpu).expect(3).err.split())
    assert "depend on dep from the index cpu, which has no file of it that fits" in said
    assert "0.dev0" not in said
    assert project.snapshot() == {}


def test_a_cell_that_its_index_does_not_serve_says_which_one_was_asked(begin: Begin, cpu: LocalIndex) -> None:
    packages = CONTENT.replace('version = "2.0+cpu"', 'version = "2.0+cpu"\nwheels = ["py3-none-win_amd64"]')
    project = begin(APP.replace('["lib"]', '["lib==1.0"]'), packages)
    lock(project, cpu).expect(0)
    cell = Locks(project).cells[LINUX]
    assert (cell["status"], cell["failed"]) == ("unsupported", "tags")
    wanted = "has wheels for windows-x86_64, windows-arm64 only and no sdist (index cpu)"
    assert wanted.replace(", windows-arm64", "") in cell["because"]
    assert "(index cpu)" in project.run("explain", "app").expect(0).out
    again(project, cpu)


def test_a_cell_that_does_not_need_what_its_index_lacks_is_proven(begin: Begin, cpu: LocalIndex) -> None:
    packages = CONTENT.replace('["torch>=1"]', """["torch>=1 ; sys_platform == 'win32'"]""")
    packages = packages.replace('version = "2.0+cpu"', 'version = "2.0+cpu"\nwheels = ["py3-none-win_amd64"]')
    project = begin(APP, packages)
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX) == {"lib": "1.0"}
    assert Locks(project).versions(*WINDOWS)["torch"] == "2.0+cpu"
    again(project, cpu)


@pytest.mark.parametrize("warm", [False, True])
def test_an_index_that_fails_is_not_one_that_lacks_the_package(begin: Begin, cpu: LocalIndex, warm: bool) -> None:
    project = begin(APP)
    if warm:
        lock(project, cpu).expect(0)
        project.store, project.cache = project.home / "s", project.home / "c"
    before = project.snapshot()
    cpu.fault("torch", status=503)
    said = lock(project, cpu).expect(4).err
    assert "503" in said
    cpu.stop()
    assert "cannot be reached" in lock(project, cpu).expect(4).err
    assert project.snapshot() == before


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("which", ["torch", "lib"])
def test_an_index_that_refuses_uv_alone_is_not_one_that_lacks_the_package(
    begin: Begin, cpu: LocalIndex, index: LocalIndex, status: int, which: str
) -> None:
    """As when a password was changed: lockgrid knows the pages still, and uv takes a refusal for nothing."""
    project = begin(APP)
    lock(project, cpu).expect(0)
    before = project.snapshot()
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace('["lib"]', '["lib", "dep>0"]'))
    project.cache = project.home / "c"
    (cpu if which == "torch" else index).fault(which, status=status)
    assert "refuse" in lock(project, cpu).expect(4).err
    assert project.snapshot() == before


@pytest.mark.parametrize("how", ["url", "variables", "file"])
def test_credentials_of_the_second_index_reach_it_and_nothing_else(begin: Begin, how: str) -> None:
    with LocalIndex(credentials=("me", "s3cr3t/&")) as private:
        project = begin(APP)
        scenario.parse(CONTENT).populate(private, "cpu")
        env: dict[str, str | None] = {"UV_INDEX": f"cpu={private.url_with_credentials}"}
        if how == "variables":
            env = {"UV_INDEX": f"cpu={private.url}", "UV_INDEX_CPU_USERNAME": "me", "UV_INDEX_CPU_PASSWORD": "s3cr3t/&"}
        elif how == "file":
            (project.folder / "uv.toml").write_text(
                f'[[index]]\nname = "cpu"\nurl = "{private.url_with_credentials}"\n'
            )
            env = {"UV_INDEX": None}
        result = lock(project, private, **env).expect(0)
        assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
        written = {p: data for p, data in project.snapshot(".").items() if p != "uv.toml"}
        wrong = {key: (value or "").replace("s3cr3t", "wr0ng") or None for key, value in env.items()}
        if how != "file":
            project.store, project.cache = project.home / "s", project.home / "c"
            refused = lock(project, private, **wrong).expect(4)
            assert "401" in refused.err
            assert "wr0ng" not in refused.out + refused.err
    said = result.out + result.err
    for secret in ("s3cr3t", "s3cr3t/&", "s3cr3t%2F%26"):
        assert secret not in said
        assert not [path for path, data in written.items() if secret.encode() in data]
        caches = [p for folder in (project.store, project.cache) for p in folder.rglob("*") if p.is_file()]
        assert not [path for path in caches if secret.encode() in path.read_bytes()]


def test_an_index_that_nobody_knows(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP.replace('"cpu"', '"gpu"'))
    said = lock(project, cpu, UV_INDEX=f"cpu={cpu.url} gpus={cpu.url}s").expect(2).err
    assert "envs/app.toml: sources.torch: neither uv's configuration nor [indexes] in envs/targets.toml" in said
    assert "did you mean 'gpus'?" in said
    assert cpu.url not in said


def test_the_default_index_is_no_source(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP)
    for env in ({"UV_DEFAULT_INDEX": f"cpu={cpu.url}"}, {"UV_DEFAULT_INDEX": cpu.url, "UV_INDEX": f"cpu={cpu.url}/"}):
        said = lock(project, cpu, **{"UV_INDEX": None, **env}).expect(2).err
        assert "envs/app.toml: sources.torch: 'cpu' is the default index" in said


def test_a_source_that_nothing_needs_is_said(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP.replace("torch =", 'troch = "cpu"\ntorch ='))
    for _ in range(2):
        said = lock(project, cpu).expect(0).err
        wanted = "envs/app.toml: sources.troch: no cell pins troch, so its source does nothing; did you mean 'torch'?"
        assert wanted in said
    assert [entry["package"] for entry in Locks(project).grid["sources"]] == ["torch"]


def test_what_is_said_of_a_source_does_not_hang_on_who_is_locked(begin: Begin, cpu: LocalIndex) -> None:
    """A base may serve environments that are not locked now, and a platform may be one that nobody has."""
    project = begin(
        """
        [envs.base]
        abstract = true
        sources = { torch = "cpu", "lib@windows-x86_64" = "cpu" }
        [envs.app]
        extends = ["base"]
        requires = ["lib"]
        platforms = ["linux-x86_64"]
        [envs.other]
        extends = ["base"]
        requires = ["dep"]
        platforms = ["linux-x86_64"]
        """
    )
    for names in ([], ["other"], ["app"]):
        said = lock(project, cpu, *names).expect(0).err
        assert "sources.torch: " not in said
        assert "envs/base.toml: sources.lib@windows-x86_64: no cell pins lib on windows-x86_64" in said


@pytest.mark.parametrize(
    "package",
    [
        'version = "1.0"\nrequires = ["ghost"]',
        'version = "2.0rc1"',
        'version = "1.0"\nrequires = ["lib<1"]',
        'version = "1.0"\nrequires = ["torch<1"]',
    ],
)
def test_a_source_that_nothing_needs_bends_nothing_whatever_is_there(
    begin: Begin, cpu: LocalIndex, package: str
) -> None:
    packages = f'{CONTENT}[[packages]]\nname = "idle"\n{package}\nindex = "cpu"\n'
    project = begin(APP + 'idle = "cpu"\n', packages)
    said = lock(project, cpu).expect(0).err
    assert "sources.idle: no cell pins idle" in said
    assert Locks(project).versions(*LINUX) == {"lib": "1.0", "torch": "2.0+cpu", "dep": "1.0"}
    assert len([cell for cell in Locks(project).cells.values() if cell["status"] == "proven"]) == 4


@pytest.mark.parametrize("new_input", [False, True])
def test_bytes_that_changed_under_a_name_stop_the_run(begin: Begin, cpu: LocalIndex, new_input: bool) -> None:
    project = begin(APP)
    lock(project, cpu).expect(0)
    old = Locks(project)["app/linux-x86_64"].hashes("torch").pop()
    path = project.folder / "envs/app.toml"
    if new_input:
        path.write_text(path.read_text().replace('["lib"]', '["lib", "dep>0"]'))
    before = project.snapshot(".")
    new = wheel("torch", "2.0+cpu", requires=["dep"], files={"torch.py": "evil = True"})
    cpu.add(new)
    project.store, project.cache = project.home / "s", project.home / "c"
    said = lock(project, cpu).expect(4).err
    for text in (new.filename, old, new.sha256, "the index cpu serves other bytes", "-P torch"):
        assert text in said
    assert project.snapshot(".") == before
    lock(project, cpu, "-P", "torch").expect(0)
    assert Locks(project)["app/linux-x86_64"].hashes("torch") == {new.sha256}


def test_another_file_under_the_name_of_a_plain_index_is_said(begin: Begin, cpu: LocalIndex, index: LocalIndex) -> None:
    project = begin(APP)
    lock(project, cpu).expect(0)
    index.add(wheel("dep", "1.0", files={"dep.py": "evil = True"}))
    project.store, project.cache = project.home / "s", project.home / "c"
    said = lock(project, cpu).expect(0).err
    where = "locks/app/linux-x86_64.txt, locks/app/windows-x86_64.txt"
    assert f"dep==1.0: the index no longer has a file pinned in {where}, and dep-1.0" in said


@pytest.mark.parametrize("where", ["indexes", "uv"])
def test_an_index_without_dates_serves_where_it_is_declared_so(begin: Begin, cpu: LocalIndex, where: str) -> None:
    """As the index of PyTorch's CPU builds: pages in HTML, without upload times and sizes."""
    cpu.html_only, cpu.relative_urls = True, True
    project = begin(APP)
    said = lock(project, cpu).expect(3).err
    assert "has no upload time on the index, so it cannot be held to the cut-off unless [indexes]" in " ".join(
        said.split()
    )
    path = project.folder / "envs/targets.toml"
    url = f'url = "{cpu.url}", ' if where == "indexes" else ""
    path.write_text(f"{path.read_text()}\n[indexes]\ncpu = {{ {url}dateless = true }}\n")
    env: dict[str, str | None] = {"UV_INDEX": None} if where == "indexes" else {}
    lock(project, cpu, **env).expect(0)
    assert Locks(project).versions(*LINUX) == {"lib": "1.0", "torch": "2.0+cpu", "dep": "1.0"}
    assert Locks(project).grid["sources"][0]["dateless"] is True
    if where == "uv":
        again(project, cpu)
    cpu.add(wheel("torch", "2.1+cpu", requires=["dep"]))
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace('["lib"]', '["lib", "dep>0"]'))
    project.store, project.cache = project.home / "s", project.home / "c"
    lock(project, cpu, **env).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"


def test_an_index_in_html_may_tell_dates(begin: Begin, cpu: LocalIndex) -> None:
    cpu.html_only, cpu.html_upload_time = True, True
    project = begin(APP)
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    again(project, cpu)


def test_an_override_and_a_hold_of_a_package_with_a_source(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP + '[envs.app.overrides]\ntorch = { version = "==2.0", why = "tried" }\n')
    cpu.add(wheel("torch", "2.1+cpu", requires=["dep"]))
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    again(project, cpu)
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace("overrides", "hold").replace("==2.0", "<2.1").replace("tried", "broke"))
    lock(project, cpu, "--upgrade").expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"


def test_a_local_version_that_does_not_serve_gives_way(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP)
    cpu.add(wheel("torch", "2.1+cpu", tags=("py3-none-manylinux_2_38_x86_64", "py3-none-win_amd64"), requires=["dep"]))
    lock(project, cpu).expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    assert Locks(project).versions(*WINDOWS)["torch"] in ("2.0+cpu", "2.1+cpu")
    again(project, cpu)


def test_a_source_that_changes_moves_the_pins_and_nobody_is_accused(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP.replace("[envs.app.sources]", "").replace('torch = "cpu"', ""))
    cpu.add(wheel("torch", "3.0", requires=["dep"], files={"torch.py": "cpu = True"}))
    lock(project, cpu).expect(0)
    before = Locks(project)["app/linux-x86_64"].hashes("torch")
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text() + '[sources]\ntorch = "cpu"\n')
    project.run("check").expect(1)
    result = lock(project, cpu).expect(0)
    assert "takes its place" not in result.err
    assert Locks(project).versions(*LINUX)["torch"] == "3.0"
    assert Locks(project)["app/linux-x86_64"].hashes("torch") != before


def test_a_lock_of_one_environment_keeps_what_the_grid_knows_of_the_others(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(
        APP + 'apart = true\n[envs.app2]\napart = true\nrequires = ["torch"]\nsources = { torch = "cpu" }\n'
    )
    path = project.folder / "envs/app.toml"
    path.write_text(path.read_text().replace("apart = true\n", "").replace("[sources]", "apart = true\n[sources]"))
    lock(project, cpu).expect(0)
    before = project.snapshot(".")
    assert "nothing changed" in lock(project, cpu, "app").expect(0).out
    assert project.snapshot(".") == before
    path.write_text(path.read_text().replace('["lib"]', '["dep"]'))
    lock(project, cpu, "app").expect(0)
    assert [entry["environment"] for entry in Locks(project).grid["sources"]] == ["app2"]
    project.run("check").expect(0)


def test_an_index_that_dates_some_of_its_files(begin: Begin, cpu: LocalIndex) -> None:
    """What is dated is held to the cut-off, though uv is told of none for the package."""
    cpu.html_only, cpu.html_upload_time = True, True
    project = begin(APP)
    cpu.add(wheel("torch", "2.1+cpu", requires=["dep"]), uploaded="2026-05-01T00:00:00Z")
    cpu.add(wheel("torch", "2.0+cpu", requires=["dep"]), uploaded=None)
    lock(project, cpu, "--as-of", "2026-03-01").expect(3)
    path = project.folder / "envs/targets.toml"
    path.write_text(f"{path.read_text()}\n[indexes]\ncpu = {{ dateless = true }}\n")
    lock(project, cpu, "--as-of", "2026-03-01").expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.0+cpu"
    lock(project, cpu, "-P", "torch").expect(0)
    assert Locks(project).versions(*LINUX)["torch"] == "2.1+cpu"
    again(project, cpu)


def test_an_audit_of_the_locks_reads_each_wheel_where_it_came_from(begin: Begin, cpu: LocalIndex) -> None:
    project = begin(APP)
    lock(project, cpu).expect(0)
    project.store = project.home / "s"
    del cpu.requests[:]
    found = project.run("audit", "--json", env={"UV_INDEX": f"cpu={cpu.url}"}).expect(0).json()
    names = {wheel["filename"] for wheel in found["wheels"]}
    assert names == {"lib-1.0-py3-none-any.whl", "torch-2.0+cpu-py3-none-any.whl", "dep-1.0-py3-none-any.whl"}
    assert {request.path for request in cpu.seen("*.whl")} == {"/files/torch/torch-2.0%2Bcpu-py3-none-any.whl"}
