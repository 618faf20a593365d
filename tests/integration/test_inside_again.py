"""Proofs 4 and 5 in the runs after the first: old pins, acceptances that serve nobody, wheels that changed."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import sqlite3
from dataclasses import replace

import pytest

from integration.conftest import Start
from integration.locked import Locks
from support.binaries import elf, macho
from support.index import LocalIndex
from support.responses import Response
from support.sandbox import Project
from support.wheels import wheel

TARGETS = """
[targets]
pythons = ["3.12"]
[targets.platforms.linux-x86_64]
glibc = "2.28"
[targets.platforms.macos-arm64]
macos = "15.0"
"""
LINUX, MAC = "py3-none-manylinux2014_x86_64", "py3-none-macosx_11_0_arm64"
NEW = elf([("libc.so.6", "GLIBC_2.38", "f")], ["libc.so.6"])


def offer(index: LocalIndex, name: str, version: str, *, linux: bool = True, mac: bool = True) -> None:
    """A package whose wheel for a platform keeps its promise or does not."""
    index.add(wheel(name, version, tags=[LINUX], files={f"{name}/x.so": elf() if linux else NEW}))
    index.add(wheel(name, version, tags=[MAC], files={f"{name}/x.so": macho((11 if mac else 26, 0, 0))}))


def forget(project: Project) -> None:
    """Pages and resolutions."""
    shutil.rmtree(project.store, ignore_errors=True)
    project.cache = project.home / "another-cache"


def require(project: Project, environment: str, names: str, rest: str = "") -> None:
    path = project.folder / f"envs/{environment}.toml"
    path.write_text(f"requires = [{names}]\n{rest}", encoding="utf-8")


def test_a_second_try_that_fails_elsewhere_is_not_taken(start: Start, index: LocalIndex) -> None:
    """Without the old pins more cells fail, or others: what was locked is not given up for that."""
    offer(index, "conv", "1.0")
    offer(index, "extra", "1.0", mac=False)
    project = start(f'[envs.one]\nrequires = ["conv"]\n{TARGETS}')
    project.run("lock").expect(0)
    offer(index, "conv", "2.0", linux=False)
    forget(project)
    require(project, "one", '"conv", "extra"')
    project.run("lock").expect(0)
    assert Locks(project).versions("one", "linux-x86_64", "3.12")["conv"] == "1.0"


def test_a_second_try_moves_no_pin_that_has_nothing_to_do_with_the_failure(start: Start, index: LocalIndex) -> None:
    offer(index, "conv", "1.0", mac=False)
    offer(index, "other", "1.0")
    accepted = '[accept]\n"macos:conv" = "x"\n'
    project = start(f'[envs.one]\nrequires = ["conv"]\n[envs.two]\nrequires = ["other"]\n{TARGETS}')
    require(project, "one", '"conv"', accepted)
    project.run("lock").expect(0)
    offer(index, "conv", "2.0")
    offer(index, "other", "2.0")
    forget(project)
    require(project, "one", '"conv"')
    project.run("lock").expect(0)
    assert Locks(project).versions("one", "linux-x86_64", "3.12")["conv"] == "2.0"
    assert Locks(project).versions("two", "linux-x86_64", "3.12")["other"] == "1.0"


def test_a_cell_that_stays_unsupported_costs_no_second_resolution(start: Start, index: LocalIndex) -> None:
    """It is in the grid with this very reason: to resolve twice in every lock to come finds nothing new."""
    offer(index, "conv", "1.0", mac=False)
    offer(index, "other", "1.0")
    project = start(f'[envs.one]\nrequires = ["conv", "other"]\n{TARGETS}')
    project.run("lock").expect(0)
    assert "resolving without the old pins" not in project.run("lock", "-P", "other").expect(0).err


def test_an_environment_without_a_cell_is_told_the_findings_and_what_to_do(start: Start, index: LocalIndex) -> None:
    """Nothing is written, so neither `show` nor `explain` can tell the name that [accept] wants."""
    offer(index, "conv", "1.0", linux=False, mac=False)
    project = start(f'[envs.one]\nrequires = ["conv"]\n{TARGETS}')
    error = project.run("lock").expect(3).err
    assert "glibc:conv" in error
    assert "macos:conv" in error
    assert "[accept]" in error
    assert "have files for these targets" not in error


@pytest.mark.parametrize("name", ["glibc:con", "glibc:Conv", "glibc:conv "])
def test_a_misspelt_acceptance_is_told_the_nearest_name(start: Start, index: LocalIndex, name: str) -> None:
    offer(index, "conv", "1.0", linux=False)
    project = start(f'[envs.one]\nrequires = ["conv"]\n{TARGETS}')
    require(project, "one", '"conv"', f'[accept]\n"{name}" = "x"\n')
    done = project.run("lock")
    shown = project.run("show").out
    assert re.search(r"did you mean .?glibc:conv\b", done.out + done.err + shown)


def test_an_acceptance_of_nothing_is_a_finding_of_audit_too(start: Start, index: LocalIndex) -> None:
    offer(index, "conv", "1.0")
    project = start(f'[envs.one]\nrequires = ["conv"]\n{TARGETS}')
    require(project, "one", '"conv"', '[accept]\n"shadow:x" = "x"\n')
    project.run("lock").expect(0)
    assert "accept:shadow:x" in project.run("show").expect(0).out
    assert "accept:shadow:x" in project.run("audit").expect(1).out


def test_audit_says_that_locks_are_out_of_date(start: Start, index: LocalIndex) -> None:
    """Its docstring: raises InputError where the locks are not in date."""
    offer(index, "conv", "1.0")
    project = start(f'[envs.one]\nrequires = ["conv"]\n{TARGETS}')
    project.run("lock").expect(0)
    (project.folder / "envs/two.toml").write_text('requires = ["conv"]\n', encoding="utf-8")
    project.run("check").expect(1)
    assert "lockgrid lock" in project.run("audit").err


def test_audit_and_show_count_the_same_cells(start: Start, index: LocalIndex) -> None:
    """A finding on a cell that another finding made unsupported: both count it, or neither does."""
    offer(index, "conv", "1.0", linux=False)
    index.add(wheel("tools", "1.0", files={"tools.py": "", "tests/__init__.py": ""}))
    project = start(f'[envs.one]\nrequires = ["conv", "tools"]\n{TARGETS}')
    project.run("lock").expect(0)
    counts = [re.findall(r"generic:tests \(cells: (.*)\)", project.run(verb).out) for verb in ("show", "audit")]
    assert counts[0] == counts[1]


def test_a_file_that_is_served_under_another_name_is_judged_anew(start: Start, index: LocalIndex) -> None:
    """Findings follow the tags too: the same bytes under a narrower tag are no longer "for any platform"."""
    broad, narrow = (wheel("lib", "1.0", tags=[tag], files={"lib/x.so": elf()}) for tag in ("py3-none-any", LINUX))
    index.add(broad)
    project = start(f'[envs.one]\nrequires = ["lib"]\nplatforms = ["linux-x86_64"]\n{TARGETS}')
    project.run("lock").expect(0)
    assert "any:lib" in project.run("show").out
    index.remove(broad.filename)
    index.add(replace(broad, filename=narrow.filename))
    project.cache = project.home / "another-cache"
    kept = next(project.store.glob("*.sqlite3"))
    with contextlib.closing(sqlite3.connect(kept, isolation_level=None)) as connection:
        connection.execute("delete from entries where kind not in ('judged', 'contents')")
    shutil.rmtree(project.folder / "locks")
    project.run("lock").expect(0)
    assert "any:lib" not in project.run("show").out


def test_no_fault_is_told_of_bytes_that_nobody_hashed(start: Start, index: LocalIndex) -> None:
    """docs/audit.md: a wheel that seems broken is fetched whole first. What is kept by the sha256 is kept for ever."""
    files = {"lib/x.so": elf(), "li/abc.txt": random.Random(0).randbytes(600_000)}
    index.add(wheel("lib", "1.0", tags=[LINUX], files=files))
    project = start(f'[envs.one]\nrequires = ["lib"]\nplatforms = ["linux-x86_64"]\n{TARGETS}')

    def spoil(answer: Response) -> Response:
        """Another path in the archive's directory alone."""
        body = b"../abc.txt".join(answer.body.rsplit(b"li/abc.txt", 1))
        return Response(status=answer.status, body=body, headers=answer.headers)

    index.fault("lib-*.whl", edit=spoil)
    assert "sha256" in project.run("lock").expect(4).err
    index.clear_faults()
    project.run("lock").expect(0)
