"""The lockfile as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from lockgrid.core.render.requirements import render
from lockgrid.model.grid import Lockfile
from unit.builders import golden
from unit.grids import BUILD, EMPTY_BUILD, LOCKFILE


@pytest.mark.parametrize(
    ("name", "lockfile"),
    [("lockfile.txt", LOCKFILE), ("build.txt", BUILD), ("build-empty.txt", EMPTY_BUILD)],
)
def test_a_lockfile_as_it_is_written(name: str, lockfile: Lockfile) -> None:
    golden(name, render(lockfile))


def test_wheels_only_but_for_the_named_sdists_comes_before_the_pins() -> None:
    lines = render(LOCKFILE).splitlines()
    options = [line for line in lines if line.startswith("--")]
    assert options == ["--only-binary :all:", "--no-binary antlr4-python3-runtime", "--no-binary other"]
    assert lines.index(options[-1]) < next(n for n, line in enumerate(lines) if "==" in line)


def test_every_pin_is_a_requirement_of_one_version_with_hashes() -> None:
    logical = re.sub(r"\\\n", " ", render(LOCKFILE))
    pins = [line for line in logical.splitlines() if "==" in line and not line.lstrip().startswith("#")]
    assert len(pins) == len(LOCKFILE.pins)
    for line, pin in zip(pins, LOCKFILE.pins, strict=True):
        head, *hashes = line.split("--hash=sha256:")
        requirement = Requirement(head)
        assert (requirement.name, str(requirement.specifier)) == (pin.name, f"=={pin.version}")
        assert tuple(h.strip() for h in hashes) == pin.hashes
        variables = re.findall(r"[a-z_]+(?= [<>=])", str(requirement.marker or ""))
        assert set(variables) <= {"python_version"}


def test_no_url_host_date_or_absolute_path_is_in_it() -> None:
    for lockfile in (LOCKFILE, BUILD, EMPTY_BUILD):
        assert not re.search(r"https?:|file:|\d{4}-\d\d-\d\d|(^|\s)/\w", render(lockfile))


def test_build_requirements_say_nothing_of_binaries() -> None:
    assert not re.search(r"^--(only|no)-binary", render(BUILD), re.MULTILINE)


def test_the_same_value_gives_the_same_bytes() -> None:
    assert render(LOCKFILE) == render(replace(LOCKFILE))


def test_no_line_ends_in_a_space() -> None:
    for lockfile in (LOCKFILE, BUILD, EMPTY_BUILD):
        assert not re.search(r"[ \t]$", render(lockfile), re.MULTILINE)
